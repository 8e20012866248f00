"""The list of symslr's own derivations, kept beside them: names, titles and verdicts are read without running a file.

``python -m tests.derivations.index`` writes it. A verdict belongs to a statement, whatever becomes of the code; of a file whose
text is another one the names are read by running it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "_index.json"


@dataclass(frozen=True)
class Entry:
    """One derivation of the list.

    Attributes:
        name, title: of the derivation.
        file: the name of its file.
        function: of the file's functions the one that makes it; empty for an object of the file.
        verdict: of its last check ("true", "false", "unknown"); empty before the first.
        version: of symslr, which made that check.
        statement: what was checked, see ``symslr.check.known.statement``.
        check: what that check found, see ``symslr.check.known.told``.
    """

    name: str
    title: str
    file: str
    function: str = ""
    verdict: str = ""
    version: str = ""
    statement: str = ""
    check: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Index:
    """The entries of a folder in the order of its files, and the hash of each file's text by its name."""

    entries: tuple[Entry, ...]
    files: dict[str, str]

    def of_file(self, file: Path) -> tuple[Entry, ...] | None:
        """The entries of a file, or None where it changed since the list was written."""
        if self.files.get(file.name) != content_of(file):
            return None
        return tuple(entry for entry in self.entries if entry.file == file.name)

    def write(self, folder: Path) -> None:
        """Keep the list in the folder, an entry on a line."""
        entries = ",\n".join(json.dumps(asdict(entry), ensure_ascii=False) for entry in self.entries)
        text = f'{{"files": {json.dumps(self.files, indent=1)},\n"entries": [\n{entries}]}}\n'
        (folder / NAME).write_text(text, encoding="utf-8")


def read_index(folder: Path) -> Index:
    """The list of a folder; an empty one where it has none or a damaged one."""
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return Index(tuple(Entry(**entry) for entry in found["entries"]), dict(found["files"]))
    except (OSError, ValueError, TypeError, KeyError):
        return Index((), {})


def content_of(file: Path) -> str:
    """SHA-256 of a file's text; line ends do not count."""
    return hashlib.sha256(b"\n".join(file.read_bytes().splitlines())).hexdigest()
