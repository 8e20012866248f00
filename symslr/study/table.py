"""A store as a table: one line per point and quantity, as CSV, Parquet or an xarray data set."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symslr.extras import need
from symslr.study.store import Row

ANSWER = ("quantity", "value", "error", "error_kind", "method", "state", "reason", "key")
"""Columns after the kind and the parameters."""

DENSEST = 4
"""A data set is a grid where the grid has at most so many times the points; else it has one dimension, ``point``."""


@dataclass(frozen=True)
class Table:
    """Columns and lines, all text, None where there is nothing: numbers are decimal strings as they were stored."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str | None, ...], ...]

    @property
    def as_csv(self) -> str:
        """The table as CSV text; a ratio among the parameters is a decimal, as else it is sorted as text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        asked = range(1, len(self.columns) - len(ANSWER))
        for line in self.lines:
            writer.writerow([_decimal(cell) if n in asked else cell for n, cell in enumerate(line)])
        return text.getvalue()


def table_of(rows: Sequence[Row]) -> Table:
    """One line per quantity of a finished point, one line for a point that failed or waits."""
    parameters = parameter_names(rows)
    lines: list[tuple[str | None, ...]] = []
    for row in rows:
        asked = dict(row.point.parameters)
        start = (row.point.kind, *(asked.get(name) or None for name in parameters))
        answers = json.loads(row.answers or "{}")
        found = [(name, *(answer[part] for part in _PARTS)) for name, answer in answers.items()]
        for answer in found or [(None,) * 5]:
            lines.append((*start, *answer, row.state, row.reason, row.key))
    return Table(("kind", *parameters, *ANSWER), tuple(lines))


_PARTS = ("value", "error", "kind", "method")


def parameter_names(rows: Sequence[Row]) -> list[str]:
    """Every parameter that some point has, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name, value in row.point.parameters if value))


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write the table as CSV."""
    path.write_text(table_of(rows).as_csv, encoding="utf-8")


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write the table as Parquet: the same text columns, and value and error once more as float64.

    Raises:
        MissingExtra: where pyarrow is not installed.
    """
    pyarrow = need("pyarrow", "--parquet")
    parquet = need("pyarrow.parquet", "--parquet")
    table = table_of(rows)
    columns: dict[str, Any] = {
        name: pyarrow.array([line[i] for line in table.lines], pyarrow.string()) for i, name in enumerate(table.columns)
    }
    for name in ("value", "error"):
        texts = [line[table.columns.index(name)] for line in table.lines]
        columns[f"{name}_float"] = pyarrow.array([None if text is None else float(text) for text in texts])
    parquet.write_table(pyarrow.table(columns), path)


def as_xarray(rows: Sequence[Row]) -> Any:
    """The finished points as an ``xarray.Dataset``.

    Parameters that vary are dimensions; each quantity is a float64 variable, named kind.quantity where there are
    several kinds, with its error beside it as NAME_error; NaN where nothing was computed. Parameters that do not
    vary are attributes. Points that fill less than a quarter of their grid lie along one dimension, ``point``.

    Raises:
        MissingExtra: where xarray is not installed.
        ValueError: where nothing is finished.
    """
    import numpy as np

    xarray = need("xarray", "--xarray")
    done = [row for row in rows if row.state == "done"]
    if not done:
        raise ValueError("store: found no finished point; expected at least one")
    asked = [dict(row.point.parameters) for row in done]
    seen = {name: list(dict.fromkeys(each.get(name, "") for each in asked)) for name in parameter_names(done)}
    axes = {name: _ordered(values) for name, values in seen.items() if len(values) > 1}
    fixed = {name: values[0] for name, values in seen.items() if len(values) == 1}
    is_grid = math.prod(map(len, axes.values())) <= DENSEST * len(done)
    shape = tuple(map(len, axes.values())) if is_grid else (len(done),)
    several = len({row.point.kind for row in done}) > 1
    data: dict[str, Any] = {}
    for i, (row, each) in enumerate(zip(done, asked, strict=True)):
        place = tuple(values.index(each.get(name, "")) for name, values in axes.items()) if is_grid else (i,)
        for quantity, answer in json.loads(row.answers or "{}").items():
            name = f"{row.point.kind}.{quantity}" if several else quantity
            for column, part in ((name, "value"), (f"{name}_error", "error")):
                data.setdefault(column, np.full(shape, np.nan))[place] = float(answer[part])
    dimensions = tuple(axes) if is_grid else ("point",)
    coordinates = {
        name: (name, as_numbers(values)) if is_grid else ("point", as_numbers([each.get(name, "") for each in asked]))
        for name, values in axes.items()
    }
    return xarray.Dataset({name: (dimensions, array) for name, array in data.items()}, coordinates, fixed)


def write_xarray(rows: Sequence[Row], path: Path) -> None:
    """Write ``as_xarray`` as netCDF (version 3, through SciPy)."""
    as_xarray(rows).to_netcdf(path, engine="scipy")


def _ordered(values: list[str]) -> list[str]:
    numbers = {value: _float(value) for value in values}
    return values if None in numbers.values() else sorted(values, key=lambda value: numbers[value] or 0.0)


def as_numbers(values: list[Any]) -> list[Any]:
    """Texts as float64, NaN for None, where every text is a number; else as they are."""
    floats = [math.nan if value is None else _float(value) for value in values]
    return values if None in floats or all(value is None for value in values) else floats


def _decimal(cell: str | None) -> str | None:
    number = _float(cell) if cell and "/" in cell else None
    return cell if number is None else repr(number)


def _float(text: str) -> float | None:
    top, _, bottom = text.partition("/")
    try:
        return float(top) / float(bottom or 1)
    except ValueError:
        return None
