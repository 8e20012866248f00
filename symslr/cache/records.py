"""Results of long computations as text files beside the code that computes them, with versions, seeds and fingerprints."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from symslr.cache.content import content

FOLDER = "data"
"""Stands in a folder of figures or validations and holds one file for each of them whose numbers are kept."""


@dataclass(frozen=True)
class Part:
    """What one function made of its jobs.

    Attributes:
        fingerprint: of the function with its sizes and of the code that it could reach, see ``fingerprint``.
        jobs: the digest of each job.
        results: of each job: texts, truth values, numbers, and lists and mappings of them.
        seconds: processor time that it took, of all processes together.
        versions: of the libraries that computed it.
    """

    fingerprint: str
    jobs: tuple[str, ...]
    results: tuple[object, ...]
    seconds: float
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Record:
    """The slow parts of a figure or a validation.

    Attributes:
        name: of the figure or the validation.
        seeds: where chance enters, the seeds in words.
        parts: by the names of their functions, in the order in which they are asked for.
    """

    name: str
    seeds: str
    parts: Mapping[str, Part]

    @property
    def command(self) -> str:
        """Computes it anew."""
        return f"symslr compute {self.name}"

    @property
    def seconds(self) -> float:
        """Processor time of all parts."""
        return sum(part.seconds for part in self.parts.values())

    @property
    def digest(self) -> str:
        """SHA-256 of the results, by which what is made from them is found again."""
        return hashlib.sha256(repr([(key, part.results) for key, part in self.parts.items()]).encode()).hexdigest()

    def write(self, path: Path) -> None:
        """Write the record as JSON, one result on a line; floats with the digits that give them back."""
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = ",\n".join(f'"{name}": {_written(part)}' for name, part in self.parts.items())
        head = json.dumps({"name": self.name, "seeds": self.seeds}, indent=1, ensure_ascii=False).removesuffix("\n}")
        path.write_text(f'{head},\n "parts": {{\n{parts}\n}}}}\n', encoding="utf-8")


def duration(seconds: float) -> str:
    """Processor time in words, such as "3 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Recorded:
    """A record as a report shows it, and the parts of it that the code or the sizes that are there now did not make."""

    record: Record
    aged: tuple[str, ...] = ()

    @property
    def stale(self) -> bool:
        return bool(self.aged)


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
        parts = {name: _read(part) for name, part in found["parts"].items()}
        return Record(found["name"], found["seeds"], parts)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        again = "compute it anew or delete it"
        raise ValueError(f"{path}: {type(problem).__name__} {problem}; expected a record, so {again}") from None


def fingerprint(compute: Callable[[], object]) -> str:
    """SHA-256 of what a computation is asked and of the code that it can reach; the same on every machine.

    Raises:
        NoContent: for a function that has no name, or arguments that are no plain values.
    """
    return hashlib.sha256(content(compute).encode()).hexdigest()


def plain(value: object) -> object:
    """A result as it comes back from a record: tuples as lists, numbers of NumPy as Python's."""
    return _value(json.loads(json.dumps(_text(value))))


def _written(part: Part) -> str:
    head = {"fingerprint": part.fingerprint, "seconds": round(part.seconds, 1), "versions": part.versions}
    opening = json.dumps(head, indent=1).removesuffix("\n}")
    return (
        f'{opening},\n "jobs": {json.dumps(part.jobs)},\n "results": [\n'
        + ",\n".join(json.dumps(_text(one)) for one in part.results)
        + "\n]}"
    )


def _read(part: Mapping[str, object]) -> Part:
    jobs, results = part["jobs"], part["results"]
    if not isinstance(jobs, list) or not isinstance(results, list) or len(jobs) != len(results):
        raise ValueError("found jobs without results")
    return Part(
        str(part["fingerprint"]),
        tuple(jobs),
        tuple(map(_value, results)),
        float(part["seconds"]),  # type: ignore[arg-type]
        dict(part["versions"]),  # type: ignore[call-overload]
    )


def _text(value: object) -> object:
    """A value as JSON has it: what it has no word for, infinities and what is no number, as {"float": "inf"}."""
    if isinstance(value, np.ndarray):
        return _text(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_text(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _text(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else {"float": str(number)}


def _value(text: object) -> object:
    if isinstance(text, list):
        return [_value(one) for one in text]
    if isinstance(text, dict):
        return float(text["float"]) if list(text) == ["float"] else {key: _value(one) for key, one in text.items()}
    return text
