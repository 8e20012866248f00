"""One point of a study: its kind and parameters, and the key under which its answer is kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A kind of computation at given parameters.

    Attributes:
        kind: name of a registered kind.
        parameters: (name, canonical text) pairs in the order of the kind's declaration, defaults filled in.
        files: (path, text) of the model files the parameters name; the text is part of the content.
    """

    kind: str
    parameters: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...] = ()

    @property
    def content(self) -> str:
        """SHA-256 of what is asked, whatever code answers it."""
        asked = {"kind": self.kind, "parameters": dict(self.parameters), "files": dict(self.files)}
        return _digest(json.dumps(asked, sort_keys=True))

    def key(self, version: str) -> str:
        """SHA-256 of the content and of the code that answers it: equal keys have equal answers."""
        return _digest(f"{self.content} {version}")

    @property
    def seed(self) -> int:
        """A seed of 63 bits from the content: the same point draws the same numbers in every study and version."""
        return int(self.content[:16], 16) >> 1

    def as_json(self) -> str:
        """The point as text, from which ``from_json`` makes it again."""
        return json.dumps({"kind": self.kind, "parameters": dict(self.parameters), "files": dict(self.files)})

    @classmethod
    def from_json(cls, text: str) -> Point:
        """The point of such a text."""
        found = json.loads(text)
        return cls(found["kind"], tuple(found["parameters"].items()), tuple(found["files"].items()))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
