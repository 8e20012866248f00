"""Kept numbers: what long computations were asked and what they found, as text files beside the code that computes them."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = "data"
"""Stands in a folder of figures or validations and holds one file for each of them whose numbers are kept."""


@dataclass(frozen=True)
class Point:
    """One job: what was asked, what was found (``plain``), and the processor time that it took."""

    asked: object
    found: object
    seconds: float


@dataclass(frozen=True)
class Part:
    """What one function made of its jobs.

    Attributes:
        sizes: its arguments that are the same for all jobs.
        points: one for each job, in their order.
        drawn: whether chance enters, so that errors are standard errors.
    """

    sizes: object
    points: tuple[Point, ...]
    drawn: bool = False


@dataclass(frozen=True)
class Record:
    """The slow parts of a figure or a validation.

    Attributes:
        name: of the figure or the validation.
        seeds: where chance enters, the seeds in words.
        versions: of symslr, Python and the libraries that computed it.
        parts: by the names of their functions, in the order in which they are asked for.
    """

    name: str
    seeds: str
    versions: Mapping[str, str]
    parts: Mapping[str, Part]

    @property
    def command(self) -> str:
        """Computes it anew and stores it."""
        return f"symslr compute {self.name}"

    @property
    def seconds(self) -> float:
        """Processor time of all parts."""
        return sum(point.seconds for part in self.parts.values() for point in part.points)

    def write(self, path: Path) -> None:
        """Write the record as JSON, one point on a line; floats with the digits that give them back."""
        head = json.dumps({"name": self.name, "seeds": self.seeds, "versions": self.versions}, ensure_ascii=False)
        parts = ",\n".join(f'"{name}": {_written(part)}' for name, part in self.parts.items())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{head.removesuffix("}")},\n"parts": {{\n{parts}\n}}}}\n', encoding="utf-8")


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
        if found["name"] != path.stem:
            raise ValueError(f"found the numbers of {found['name']}")
        return Record(found["name"], found["seeds"], dict(found["versions"]), parts)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        again = "compute it anew or delete it"
        raise ValueError(f"{path}: {type(problem).__name__} {problem}; expected a record, so {again}") from None


LIBRARIES = ("symslr", "sympy", "mpmath", "numpy", "scipy", "python-flint", "numba", "torch")
"""Whose numbers enter a result."""


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """The versions of Python, symslr and the libraries that compute, "not installed" where one is missing."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def said(asked: object) -> object:
    """A job as a record tells it: plain values as they are, models and functions by their names, others by what they hold."""
    if asked is None or isinstance(asked, (bool, int, float, str)):
        return plain(asked)
    if isinstance(asked, Mapping):
        return {str(key): said(one) for key, one in asked.items()}
    if isinstance(asked, (tuple, list)):
        return [said(one) for one in asked]
    if isinstance(asked, partial):
        return [*map(said, asked.args), *(said({key: one}) for key, one in asked.keywords.items())]
    if name := getattr(asked, "name", None) or getattr(asked, "__name__", None):
        return str(name)
    if is_dataclass(asked):
        return {field.name: said(getattr(asked, field.name)) for field in fields(asked)}
    return str(asked)


def plain(value: object) -> object:
    """A result as it comes back from a record: tuples as lists, numbers of NumPy as Python's."""
    return _value(json.loads(json.dumps(_text(value))))


def _written(part: Part) -> str:
    points = ",\n".join(json.dumps(_text([p.asked, p.found, round(p.seconds, 2)])) for p in part.points)
    return f'{{"sizes": {json.dumps(_text(part.sizes))}, "drawn": {json.dumps(part.drawn)}, "points": [\n{points}]}}'


def _read(part: Mapping[str, Any]) -> Part:
    points = tuple(Point(_value(asked), _value(found), float(seconds)) for asked, found, seconds in part["points"])
    return Part(_value(part["sizes"]), points, part["drawn"] is True)


def _text(value: object) -> object:
    """A value as JSON has it: what it has no word for, infinities and what is no number, as {"float": "inf"}."""
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return _text(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_text(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _text(one) for key, one in value.items()}
    if value is None or isinstance(value, (bool, str, int)):
        return value
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else {"float": str(number)}


def _value(text: object) -> object:
    if isinstance(text, list):
        return [_value(one) for one in text]
    if isinstance(text, dict):
        return float(text["float"]) if list(text) == ["float"] else {key: _value(one) for key, one in text.items()}
    return text
