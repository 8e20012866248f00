"""Numbers that take long, kept as small text files beside the code that computes them, with what made them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from symslr.cache.content import content
from symslr.cache.results import library_versions

FOLDER = "data"
"""Stands in a folder of figures or validations and holds one file for each of them whose numbers are kept."""

Columns = Mapping[str, Sequence[object]]
"""A table: columns by name, all of one length, of texts, booleans, whole numbers and floats."""

FIELDS = ("name", "command", "fingerprint", "versions", "seeds", "seconds", "table")


@dataclass(frozen=True)
class Record:
    """A table and what made it.

    Attributes:
        name: of the figure or the validation.
        command: computes it anew.
        fingerprint: of the sizes and of the code that computed it, see ``fingerprint``.
        versions: of the libraries that computed it.
        seeds: where chance enters, the seeds in words.
        seconds: processor time that it took, of all processes together.
        table: the numbers.
    """

    name: str
    command: str
    fingerprint: str
    versions: Mapping[str, str]
    seeds: str
    seconds: float
    table: Columns

    def write(self, path: Path) -> None:
        """Write the record as JSON, one column on a line; floats with the digits that give them back."""
        head = {key: value for key, value in asdict(self).items() if key != "table"}
        lines = [f'"{name}": {json.dumps(list(map(_plain, column)))}' for name, column in self.table.items()]
        opening = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{opening},\n "table": {{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")

    @property
    def duration(self) -> str:
        """The processor time in words, such as "3 min"."""
        if self.seconds < 90:
            return f"{self.seconds:.0f} s"
        return f"{self.seconds / 60:.0f} min" if self.seconds < 5400 else f"{self.seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Recorded:
    """A record as a report shows it: whether the code that is there now is the code that made it."""

    record: Record
    stale: bool


def record_file(file: Path, name: str) -> Path:
    """Where the numbers of ``name`` are kept that ``file`` computes."""
    return file.parent / FOLDER / f"{name}.json"


def read_record(path: Path) -> Record | None:
    """The record of a file; None where there is no such file.

    Raises:
        ValueError: in one line, for a file that is not a record.
    """
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        fields = {key: found[key] for key in FIELDS}
        fields["table"] = {name: [_number(cell) for cell in column] for name, column in found["table"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        again = "compute it anew or delete it"
        raise ValueError(f"{path}: {type(problem).__name__} {problem}; expected a record, so {again}") from None
    return Record(**fields)


def recorded(path: Path, mark: str) -> Recorded | None:
    """The record of a file beside the fingerprint ``mark`` of the code that is there now; None where there is none."""
    record = read_record(path)
    return None if record is None else Recorded(record, record.fingerprint != mark)


def fingerprint(compute: Callable[[], object]) -> str:
    """SHA-256 of what a computation is asked and of the code that it can reach; the same on every machine.

    Raises:
        NoContent: for a function that has no name, or arguments that are no plain values.
    """
    return hashlib.sha256(content(compute).encode()).hexdigest()


def made(name: str, command: str, mark: str, seeds: str, seconds: float, table: Columns) -> Record:
    """A record by the libraries that are installed."""
    return Record(name, command, mark, library_versions(), seeds, round(seconds, 1), table)


def _plain(cell: object) -> object:
    """A cell as JSON has it: what it has no word for, infinities and what is no number, as {"float": "inf"}."""
    if isinstance(cell, (bool, str)) or cell is None:
        return cell
    if isinstance(cell, int):
        return int(cell)
    number = float(cell)  # type: ignore[arg-type]
    return number if math.isfinite(number) else {"float": str(number)}


def _number(cell: object) -> object:
    return float(cell["float"]) if isinstance(cell, dict) else cell
