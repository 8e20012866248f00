"""Values over grids of parameters: a small table with errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Value
from symslr.extras import need
from symslr.model.exact import exact

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

LETTERS = {"nu": r"$\nu$", "length": "$L$", "L": "$L$", "alpha": r"$\alpha$", "a": "$a$", "scale": "$a$"}
"""How a parameter is named on an axis."""
DOTS = 200
"""Per inch, of a picture that is made of dots."""
BAND = 0.2
"""Opacity of the band of errors."""


@dataclass(frozen=True)
class Curve:
    """Values over the outer product of axes.

    Attributes:
        axes: the numbers of every parameter, by its name.
        points: the Value at every point in C order, or the reason, a text, where there is none.
    """

    axes: dict[str, list[Any]]
    points: list[Value | str]

    @classmethod
    def over(
        cls,
        value: Callable[[dict[str, Any]], Value],
        axes: Mapping[str, Any],
        progress: Callable[[int, int], None] | None = None,
    ) -> Curve:
        """The curve of a function of a point.

        Args:
            value: takes {name: number}; a point at which it raises ``CannotEvaluate`` is kept with the reason.
            axes: a number or a sequence of numbers for every name.
            progress: called after every point with how many are done and how many there are.

        Raises:
            ValueError: for an empty axis, and whatever ``value`` raises else.
        """
        found = {name: _axis(name, numbers) for name, numbers in axes.items()}
        points: list[Value | str] = []
        total = int(np.prod([len(own) for own in found.values()]))
        for place in product(*found.values()):
            try:
                points.append(value(dict(zip(found, place))))
            except CannotEvaluate as reason:
                points.append(str(reason))
            if progress is not None:
                progress(len(points), total)
        return cls(found, points)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(own) for own in self.axes.values())

    @property
    def values(self) -> Any:
        """float64 numbers in the shape of the axes; nan where there is none."""
        return np.array([float(v) if isinstance(v, Value) else np.nan for v in self.points]).reshape(self.shape)

    @property
    def errors(self) -> Any:
        """Their errors."""
        found = [float(v.error) if isinstance(v, Value) else np.nan for v in self.points]
        return np.array(found).reshape(self.shape)

    @property
    def reasons(self) -> dict[tuple[Any, ...], str]:
        """Why there is no value, by the point."""
        places = product(*self.axes.values())
        return {place: own for place, own in zip(places, self.points) if isinstance(own, str)}

    @property
    def sources(self) -> tuple[str, ...]:
        """Key and place of what its values rest on, for ``symslr.cite``."""
        return tuple(dict.fromkeys(source for v in self.points if isinstance(v, Value) for source in v.sources))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values, dtype)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        said = ", ".join(f"{name}: {len(own)}" for name, own in self.axes.items())
        missing = f"; {len(self.reasons)} without a value" if self.reasons else ""
        return f"Curve({said}{missing})"

    def rows(self) -> list[dict[str, Any]]:
        """One row a point: its parameters, value and error as decimal text, kind, digits, and the reason where it has none."""
        rows = []
        for place, own in zip(product(*self.axes.values()), self.points):
            row = dict(zip(self.axes, map(_number, place)))
            if isinstance(own, Value):
                said = own.as_json()
                row |= {name: said[name] for name in ("value", "error", "kind", "digits")} | {"reason": ""}
                row |= {f"at_{name}": str(at) for name, at in own.at.items()}
            else:
                row |= {"value": "nan", "error": "nan", "kind": "", "digits": 0, "reason": own}
            rows.append(row)
        return rows

    def to_csv(self, path: str | Path | None = None) -> str:
        """The rows as CSV with numbers in decimals; written to a path where one is given."""
        import csv
        import io

        rows, out = self.rows(), io.StringIO()
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        if path is not None:
            Path(path).write_text(out.getvalue())
        return out.getvalue()

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas DataFrame of the rows, with value and error as float64."""
        pd = need("pandas", "a DataFrame")
        frame = pd.DataFrame(self.rows())
        numbers = [name for name in frame if name in ("value", "error") or str(name).startswith("at_")]
        return frame.assign(**{str(name): frame[name].map(float) for name in numbers})

    def to_xarray(self) -> xr.Dataset:
        """An xarray Dataset with ``value`` and ``error`` along the axes."""
        xr = need("xarray", "a Dataset")
        coordinates = {name: [_number(own) for own in numbers] for name, numbers in self.axes.items()}
        return xr.Dataset(
            {"value": (list(self.axes), self.values), "error": (list(self.axes), self.errors)}, coordinates
        )

    def to_latex(self) -> str:
        """A tabular of parameters and values, each with the digits that its error leaves."""
        head = " & ".join([*(LETTERS.get(name, name) for name in self.axes), "value"])
        lines = [
            " & ".join([*(f"${own}$" for own in place), f"${v.latex()}$" if isinstance(v, Value) else "--"]) + r" \\"
            for place, v in zip(product(*self.axes.values()), self.points)
        ]
        return "\n".join(
            [rf"\begin{{tabular}}{{{'r' * len(self.axes)}l}}", head + r" \\ \hline", *lines, r"\end{tabular}"]
        )

    def plot(self, path: str | Path | None = None, label: str = "value") -> Figure:
        """A matplotlib figure: the longest axis of numbers as abscissa, a line for every point of the others, errors as bands.

        Raises:
            ValueError: for a curve without axes.
        """
        if not self.axes:
            raise ValueError("plot: found a curve without an axis; expected at least one list of numbers")
        figure: Figure = _shown()(figsize=(5.0, 3.4), layout="constrained")
        axes = figure.subplots()
        place = int(np.argmax([0 if isinstance(_number(own[0]), str) else len(own) for own in self.axes.values()]))
        others = list(self.axes.items())
        name, numbers = others.pop(place)
        abscissa = [float(_number(own)) for own in numbers]
        tables = (np.moveaxis(table, place, 0) for table in (self.values, self.errors))
        values, errors = (table.reshape(len(abscissa), -1) for table in tables)
        for n, point in enumerate(product(*(own for _, own in others))):
            said = ", ".join(
                f"{LETTERS.get(other, other)} = {own}" for (other, many), own in zip(others, point) if len(many) > 1
            )
            (line,) = axes.plot(abscissa, values[:, n], label=said or None)
            low, high = values[:, n] - errors[:, n], values[:, n] + errors[:, n]
            axes.fill_between(abscissa, low, high, color=line.get_color(), alpha=BAND, linewidth=0)
        axes.set_xlabel(LETTERS.get(name, name))
        axes.set_ylabel(label)
        if any(len(own) > 1 for _, own in others):
            axes.legend(frameon=False)
        if path is not None:
            figure.savefig(path, dpi=DOTS)
        return figure


@cache
def _shown() -> Any:
    """A figure that a notebook shows where it is the last line of a cell; one made without pyplot is not."""

    class Shown(need("matplotlib.figure", "a plot").Figure):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            out = BytesIO()
            self.savefig(out, format="png", dpi=DOTS / 2)
            return out.getvalue()

    return Shown


def _axis(name: str, numbers: Any) -> list[Any]:
    found = list(numbers.tolist() if hasattr(numbers, "tolist") else numbers) if _is_many(numbers) else [numbers]
    if not found:
        raise ValueError(f"{name}: found an empty axis; expected at least one number")
    if any(isinstance(own, list | tuple | set) for own in found):
        raise ValueError(f"{name}: found a table; expected a list of numbers")
    return found


def _is_many(numbers: Any) -> bool:
    return not isinstance(numbers, (str, Mapping)) and (
        getattr(numbers, "ndim", 0) > 0 or (hasattr(numbers, "__iter__") and not hasattr(numbers, "ndim"))
    )


def _number(own: Any) -> Any:
    """A number, or its formula, as an int or in float64; a law of the length and the like as it prints."""
    if isinstance(own, (int, float)):
        return own
    try:
        found = exact(own)
        return int(found) if found.is_Integer else float(found)
    except (TypeError, ValueError):
        return str(own)
