"""Values over grids of parameters: a small table with errors."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import product, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Value
from symslr.extras import MissingExtra, need
from symslr.model.exact import exact

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS = {"nu": r"$\nu$", "length": "$L$", "L": "$L$", "alpha": r"$\alpha$", "a": "$a$", "scale": "$a$"}
"""How a parameter is named on an axis."""
DOTS = 200
"""Per inch, of a picture that is made of dots."""


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
            value: takes {name: number}; a point at which it raises ``ValueError`` is kept with the reason.
            axes: a number or a sequence of numbers for every name.
            progress: called after every point with how many are done and how many there are.

        Raises:
            ValueError: for an empty axis, and where every point fails by what is asked, as by a name that is unknown.
        """
        found = {name: _axis(name, numbers) for name, numbers in axes.items()}
        points: list[Value | str] = []
        total = int(np.prod([len(own) for own in found.values()]))
        problems: list[ValueError] = []
        for place in product(*found.values()):
            try:
                points.append(value(dict(zip(found, place))))
            except ValueError as reason:
                problems += [] if isinstance(reason, CannotEvaluate) else [reason]
                points.append(str(reason))
            if progress is not None:
                progress(len(points), total)
        if problems and len(problems) == len(points):
            raise problems[0]
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
        """An xarray Dataset along the axes of the columns of the DataFrame that are no axes."""
        xr, frame = need("xarray", "a Dataset"), self.to_dataframe()
        coordinates = {name: [_number(own) for own in numbers] for name, numbers in self.axes.items()}
        columns = [name for name in frame if name not in self.axes]
        data = {name: (list(self.axes), frame[name].to_numpy().reshape(self.shape)) for name in columns}
        return xr.Dataset(data, coordinates)

    def _repr_html_(self) -> str | None:
        """The DataFrame, as a notebook shows it; where there is no pandas, the text."""
        try:
            return str(self.to_dataframe()._repr_html_())
        except MissingExtra:
            return None

    def to_latex(self) -> str:
        """A tabular of parameters and values, each with the digits that its error leaves."""
        head = " & ".join([*(LETTERS.get(name, name) for name in self.axes), "value"])
        lines = [
            " & ".join([*map(_in_latex, place), f"${v.latex()}$" if isinstance(v, Value) else "--"]) + r" \\"
            for place, v in zip(product(*self.axes.values()), self.points)
        ]
        return "\n".join(
            [rf"\begin{{tabular}}{{{'r' * len(self.axes)}l}}", head + r" \\ \hline", *lines, r"\end{tabular}"]
        )

    def plot(self, path: str | Path | None = None, label: str = "value", ax: Axes | None = None) -> Figure:
        """A matplotlib figure: the longest axis of numbers as abscissa, a line for every point of the others, errors as bands.

        Args:
            path: a file to which it is written as well.
            label: what the values are called: the ordinate, or in axes that are given the lines.
            ax: axes that are drawn into, beside the lines that they have.

        Raises:
            ValueError: for a curve without axes, and for axes over another abscissa.
        """
        if not self.axes:
            raise ValueError("plot: found a curve without an axis; expected at least one list of numbers")
        from symslr.export.figures import STYLE, line

        place = int(np.argmax([0 if isinstance(_number(own[0]), str) else len(own) for own in self.axes.values()]))
        others = list(self.axes.items())
        name, numbers = others.pop(place)
        over, abscissa = LETTERS.get(name, name), [float(_number(own)) for own in numbers]
        tables = (np.moveaxis(table, place, 0) for table in (self.values, self.errors))
        values, errors = (table.reshape(len(abscissa), -1) for table in tables)
        with need("matplotlib", "a plot").rc_context(STYLE):
            figure: Any = _shown()(figsize=(5.0, 3.4)) if ax is None else ax.figure
            axes = figure.subplots() if ax is None else ax
            if axes.get_xlabel() not in ("", over):
                raise ValueError(
                    f"plot: found axes over {axes.get_xlabel()} and a curve over {over}; expected the same"
                )
            ordinate = axes.get_ylabel()
            for own in axes.lines if ordinate != label else ():  # what they are is said there no more
                told = str(own.get_label())
                own.set_label(f"{ordinate}, {told}" if " = " in told and ordinate not in told else told)
            for n, point in enumerate(product(*(own for _, own in others))):
                said = [f"{LETTERS.get(o, o)} = {own}" for (o, many), own in zip(others, point) if len(many) > 1]
                named = ", ".join(said if said and ax is None else [label, *said])
                line(axes, abscissa, values[:, n], named, errors=errors[:, n])
            axes.set_xlabel(over)
            axes.set_ylabel(label if ax is None or ordinate == label else "")
            if len(axes.lines) > 1:
                axes.legend()
            if path is not None:
                figure.savefig(path, dpi=DOTS)
        found: Figure = figure
        return found

    def __add__(self, other: object) -> Curve:
        """With a number, a Value or a curve over the same axes, point by point; a reason at either stays."""
        return self._with(other, operator.add)

    def __radd__(self, other: object) -> Curve:
        return self._with(other, lambda own, one: one + own)

    def __sub__(self, other: object) -> Curve:
        return self._with(other, operator.sub)

    def __rsub__(self, other: object) -> Curve:
        return self._with(other, lambda own, one: one - own)

    def __mul__(self, other: object) -> Curve:
        return self._with(other, operator.mul)

    def __rmul__(self, other: object) -> Curve:
        return self._with(other, lambda own, one: one * own)

    def __truediv__(self, other: object) -> Curve:
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other: object) -> Curve:
        return self._with(other, lambda own, one: one / own)

    def _with(self, other: object, of: Callable[[Any, Any], Value]) -> Curve:
        def combined(own: Value | str, one: Any) -> Value | str:
            if isinstance(own, str) or (isinstance(other, Curve) and isinstance(one, str)):
                return own if isinstance(own, str) else str(one)
            try:
                return of(own, one)
            except ZeroDivisionError as reason:
                return str(reason)

        if _is_many(other):
            return NotImplemented
        if isinstance(other, Curve) and other._places != self._places:
            raise ValueError(f"curves: found {self!r} and {other!r}; expected the same numbers on the same axes")
        points = other.points if isinstance(other, Curve) else repeat(other)
        return Curve(self.axes, [combined(own, one) for own, one in zip(self.points, points)])

    __array_ufunc__ = None  # NumPy would hand over the numbers of an array one by one

    @property
    def _places(self) -> list[tuple[str, list[Any]]]:
        return [(name, list(map(_number, numbers))) for name, numbers in self.axes.items()]


@cache
def _shown() -> Any:
    """A figure that a notebook shows where it is the last line of a cell; one made without pyplot is not."""

    class Shown(need("matplotlib.figure", "a plot").Figure):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            from symslr.export.figures import STYLE

            out = BytesIO()
            with need("matplotlib", "a plot").rc_context(STYLE):
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


def _in_latex(own: Any) -> str:
    return re.sub(r"\b(oo|inf)\b", r"\\infty", f"${own}$")


def _number(own: Any) -> Any:
    """A number, or its formula, as an int or in float64; a law of the length and the like as it prints."""
    if isinstance(own, (int, float)):
        return own
    try:
        found = exact(own)
        return int(found) if found.is_Integer else float(found)
    except (TypeError, ValueError):
        return str(own)
