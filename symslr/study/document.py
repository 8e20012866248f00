"""Study files: sweeps of parameters in TOML become a list of points."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from symslr.study.parameter import Parameter, Raw
from symslr.study.point import Point
from symslr.study.registry import PointKind, kind_named, kind_names

LARGEST_FILE = 1_000_000
MOST_POINTS = 1_000_000
SPACING = ("linear", "log")


def read_study(path: Path) -> list[Point]:
    """The points of a study file, in order, each once.

    ``[common]`` holds parameters of every point; each ``[[sweep]]`` has a ``kind`` (or takes that of ``[common]``)
    and parameters of its own. A list is an axis, and so is a table {from, to, count, spacing = "linear" | "log"}; the
    axes of a sweep are crossed, the last one runs fastest. A sweep without lists is a single point.

    Raises:
        ValueError: in one line naming the file, the sweep, what was found and what was expected.
    """
    document = _parsed(path)
    unknown = sorted(set(document) - {"common", "sweep"})
    if unknown:
        raise ValueError(f"{path}: found {unknown[0]!r}; expected [common] and [[sweep]]")
    common, sweeps = document.get("common", {}), document.get("sweep", [])
    if not isinstance(common, dict):
        raise ValueError(f"{path}: found common = {ascii(common)[:40]}; expected a table [common]")
    if not isinstance(sweeps, list) or not sweeps or not all(isinstance(sweep, dict) for sweep in sweeps):
        raise ValueError(f"{path}: found no [[sweep]]; expected at least one, such as [[sweep]] with kind = 'bayes'")
    _check_common(common, sweeps, path)
    points: dict[Point, None] = {}
    for i, sweep in enumerate(sweeps, start=1):
        try:
            for point in _swept({**common, **sweep}, set(sweep), path.parent):
                points[point] = None
                if len(points) > MOST_POINTS:
                    raise ValueError(f"found more than {MOST_POINTS} points; expected fewer")
        except (ValueError, TypeError) as problem:
            raise ValueError(f"{path}: sweep {i}: {problem}") from problem
    return list(points)


def _check_common(common: Mapping[str, Any], sweeps: Sequence[Mapping[str, Any]], path: Path) -> None:
    """[common] may hold what only some kinds have, and nothing that none has.

    Raises:
        ValueError: for a name that is no parameter of any kind.
    """
    own = {str(sweep.get("kind", common.get("kind"))) for sweep in sweeps} & set(kind_names())
    unknown = set(common) - {"kind"}
    for kind in (*sorted(own), *kind_names()):  # those of the file are loaded anyway
        if not unknown:
            return
        unknown -= {parameter.name for parameter in kind_named(kind).parameters}
    if unknown:
        raise ValueError(f"{path}: found {min(unknown)!r} in [common]; expected parameters that one of the kinds has")


def _parsed(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError(f"{path}: larger than {LARGEST_FILE} bytes; expected a study file")
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise ValueError(f"{path}: cannot be read ({problem.strerror}); expected a file such as study.toml") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError(f"{path}: not a TOML file ({problem})") from None


def _swept(table: Mapping[str, Any], own: set[str], folder: Path) -> list[Point]:
    """The points of one sweep; parameters of [common] that its kind does not have are left out."""
    if "kind" not in table:
        raise ValueError("found no kind; expected one, such as kind = 'bayes'")
    kind = kind_named(str(table["kind"]))
    declared = {parameter.name: parameter for parameter in kind.parameters}
    unknown = sorted(own - set(declared) - {"kind"})
    if unknown:
        raise ValueError(f"found {unknown[0]!r} for the kind {kind.name}; expected {', '.join(declared)}")
    given = [name for name in table if name in declared]
    missing = [name for name, parameter in declared.items() if parameter.default is None and name not in given]
    if missing:
        raise ValueError(f"found no {missing[0]}; expected one for the kind {kind.name}")
    axes = [_texts(declared[name], table[name]) for name in given]
    if math.prod(len(axis) for axis in axes) > MOST_POINTS:
        raise ValueError(f"found {math.prod(len(axis) for axis in axes)} points; expected at most {MOST_POINTS}")
    texts: dict[str, str] = {}
    points = [_point(kind, declared, dict(zip(given, values)), folder, texts) for values in itertools.product(*axes)]
    kind.check(dict(points[0].parameters), dict(points[0].files))
    return points


def _texts(parameter: Parameter, value: object) -> list[str]:
    """The canonical texts along one axis."""
    values: list[Any] = value if isinstance(value, list) else [value]
    if isinstance(value, dict):
        values = _spaced(parameter.name, value)
    if not values:
        raise ValueError(f"{parameter.name}: found an empty list; expected at least one value")
    for item in values:
        if not isinstance(item, (str, int, float)):
            raise ValueError(f"{parameter.name}: found {ascii(item)[:40]}; expected numbers or text")
    return [parameter.read(item, parameter.name) for item in values]


def _spaced(name: str, table: Mapping[str, Any]) -> list[Raw]:
    """{from, to, count, spacing}: both ends included; a logarithmic axis is rounded to six digits."""
    expected = "expected {from = 1, to = 10, count = 4, spacing = 'linear' or 'log'}"
    if set(table) - {"from", "to", "count", "spacing"} or not {"from", "to", "count"} <= set(table):
        raise ValueError(f"{name}: found {', '.join(table) or 'an empty table'}; {expected}")
    low, high, steps, spacing = table["from"], table["to"], table["count"], table.get("spacing", "linear")
    numbers = all(isinstance(item, (int, float)) and math.isfinite(item) for item in (low, high))
    if not numbers or not isinstance(steps, int) or not 2 <= steps <= MOST_POINTS or spacing not in SPACING:
        raise ValueError(f"{name}: found {ascii(dict(table))[:80]}; {expected}")
    if spacing == "linear":
        return [round(low + (high - low) * i / (steps - 1), 12) for i in range(steps)]
    if not 0 < low < high:
        raise ValueError(f"{name}: found a logarithmic axis from {low} to {high}; expected 0 < from < to")
    return [float(f"{low * (high / low) ** (i / (steps - 1)):.6g}") for i in range(steps)]


def _point(
    kind: PointKind, declared: Mapping[str, Parameter], given: Mapping[str, str], folder: Path, texts: dict[str, str]
) -> Point:
    parameters = tuple((name, given.get(name, parameter.default or "")) for name, parameter in declared.items())
    for name, value in parameters:
        if declared[name].is_file and value.endswith(".toml") and value not in texts:
            texts[value] = _file_text(folder / value)
    files = tuple((value, texts[value]) for name, value in parameters if declared[name].is_file and value in texts)
    return Point(kind.name, parameters, files)


def _file_text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError(f"{path}: larger than {LARGEST_FILE} bytes; expected a model file")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"{path}: cannot be read; expected a model file such as model.toml") from None
