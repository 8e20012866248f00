"""The list of symslr's own derivations, kept beside them: names, titles and verdicts are read without running a file.

``python -m tests.derivations.index`` writes it. A file that changed since is not in the list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from symslr.library.folders import BUNDLED, PACKAGE

NAME = "_index.json"


@dataclass(frozen=True)
class Entry:
    """One derivation of the list.

    Attributes:
        name, title: of the derivation.
        file: the name of its file.
        function: of the file's functions the one that makes it; empty for an object of the file.
        verdict: of its last check ("true", "false", "unknown"); empty before the first.
        seconds: of processor time that the check took.
    """

    name: str
    title: str
    file: str
    function: str = ""
    verdict: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Index:
    """The entries of a folder in the order of its files, and the versions of what they were read from.

    Attributes:
        entries: in the order of the files and of the derivations in them.
        files: the hash of each file's content by its name.
        code: ``rooms_version`` of ``ROOMS`` (``symslr.cache.code``) ``with_files`` at the last check.
        text: ``checked_text`` then: where the text is the same the code need not be read.
    """

    entries: tuple[Entry, ...]
    files: dict[str, str]
    code: str = ""
    text: str = ""

    def of_file(self, file: Path) -> tuple[Entry, ...] | None:
        """The entries of a file, or None where it changed since the list was written."""
        if self.files.get(file.name) != content_of(file):
            return None
        return tuple(entry for entry in self.entries if entry.file == file.name)

    def write(self, folder: Path) -> None:
        """Keep the list in the folder."""
        text = json.dumps(
            {"code": self.code, "text": self.text, "files": self.files, "entries": list(map(asdict, self.entries))},
            indent=1,
        )
        (folder / NAME).write_text(text + "\n", encoding="utf-8")


def read_index(folder: Path) -> Index:
    """The list of a folder; an empty one where it has none or a damaged one."""
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return Index(
            tuple(Entry(**entry) for entry in found["entries"]),
            dict(found["files"]),
            found["code"],
            found.get("text", ""),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return Index((), {})


def content_of(file: Path) -> str:
    """SHA-256 of a file's text; line ends do not count."""
    return hashlib.sha256(b"\n".join(file.read_bytes().splitlines())).hexdigest()


ROOMS = ("model", "expression", "referee", "algebra", "theory", "evaluation", "check")
"""The rooms on whose code a verdict depends besides the derivation's own.

They count whole: rules and nodes come with the derivation, and are not named by the code that checks it. Comments and
docstrings do not count: a check reads those of derivations alone.
"""


def with_files(version: str, files: Mapping[str, str]) -> str:
    """SHA-256 of a version of the code and of the derivations, which may cite one another.

    Args:
        version: of the code.
        files: the hash of each file of derivations by its name.
    """
    return hashlib.sha256(f"{version} {sorted(files.items())}".encode()).hexdigest()


def checked_text(files: Mapping[str, str]) -> str:
    """SHA-256 over the text of symslr and over the derivations: where it is the same, verdicts are those of this code."""
    return with_files(text_version(), files)


@lru_cache(maxsize=1)
def text_version() -> str:
    """SHA-256 over the text of every module of symslr; folders that an installed one carries inside do not count."""
    total = hashlib.sha256()
    for file in sorted(file for file in PACKAGE.rglob("*.py") if BUNDLED not in file.parents):
        total.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + content_of(file).encode() + b"\0")
    return total.hexdigest()
