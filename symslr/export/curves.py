"""The points of a drawing's curves, so that the page can show the value under the pointer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from symslr.export.typed import text_to_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D

POINTS_PER_INCH = 72
"""Of an SVG that Matplotlib writes."""
MOST = 400
"""Points of one curve that are kept; a longer one is thinned."""
DIGITS = 5
"""Significant digits that are shown."""


def computed(line: Line2D, at: object, values: object) -> None:
    """Say that a line was drawn through points: those are shown, and not the places between them."""
    line._symslr_computed = np.column_stack([np.asarray(at, float), np.asarray(values, float)])  # type: ignore[attr-defined]


def curves(drawing: Drawing) -> str:
    """The lines of a drawing as JSON: a list of {name, of, at, x, y}, ``at`` the places x0, y0, x1, y1, ... in
    its SVG, and ``of`` what x is, such as "ν = ", where the axis has a label.

    To be called when the SVG was written, and before the drawing is laid out for anything else. A line without points
    that are finite, and one that is no curve of the data (a grid line, a line across the axes), is left out.
    """
    scale = POINTS_PER_INCH / drawing.dpi
    height = drawing.get_figheight() * POINTS_PER_INCH
    found = [_curve(axes, line, scale, height) for axes in drawing.axes for line in axes.lines if _is_data(axes, line)]
    return json.dumps([item for item in found if item is not None], separators=(",", ":"), ensure_ascii=False)


def _is_data(axes: Axes, line: Line2D) -> bool:
    return bool(line.get_transform() == axes.transData and line.get_visible())


def _curve(axes: Axes, line: Line2D, scale: float, height: float) -> dict[str, object] | None:
    drawn = np.column_stack([np.asarray(part, dtype=float) for part in line.get_data(orig=False)])
    values = getattr(line, "_symslr_computed", drawn)
    places = axes.transData.transform(values) * scale
    box = axes.bbox
    inside = (places >= np.array([box.x0, box.y0]) * scale - 1) & (places <= np.array([box.x1, box.y1]) * scale + 1)
    shown = np.isfinite(values).all(axis=1) & np.isfinite(places).all(axis=1) & inside.all(axis=1)
    values, places = values[shown], places[shown]
    every = max(1, math.ceil(len(values) / MOST))
    values, places = values[::every], places[::every]
    if not len(values):
        return None
    at = np.column_stack([places[:, 0], height - places[:, 1]]).round(1)
    columns = ([float(f"{value:.{DIGITS}g}") for value in column] for column in values.T)
    of = _abscissa(axes)
    return {
        "name": ", ".join(_named(axes, line)),
        "of": of,
        "at": at.ravel().tolist(),
        **dict(zip("xy", columns, strict=True)),
    }


def _abscissa(axes: Axes) -> str:
    """The formula that ends the label of the horizontal axis, its own or that of the panel below it, with an equals sign."""
    panels = [axes, *axes.get_shared_x_axes().get_siblings(axes)]
    label = next((panel.get_xlabel() for panel in panels if panel.get_xlabel()), "")
    formula = re.search(r"\$[^$]*\$$", label)
    return f"{text_to_plain(formula[0])} = " if formula else ""


def _named(axes: Axes, line: Line2D) -> Iterator[str]:
    """The panel and the curve, as far as they have names."""
    label = str(line.get_label())
    if axes.get_title():
        yield text_to_plain(axes.get_title())
    if label.startswith("_"):
        label = _alike(axes, line)
    if label:
        yield text_to_plain(label)


def _alike(axes: Axes, line: Line2D) -> str:
    """The label of the one curve of the drawing that looks the same; empty where there is none, or several differ."""
    assert axes.figure is not None
    others = (
        other for panel in axes.figure.axes for other in panel.lines if not str(other.get_label()).startswith("_")
    )
    labels = {str(other.get_label()) for other in others if _look(other) == _look(line)}
    return labels.pop() if len(labels) == 1 else ""


def _look(line: Line2D) -> tuple[str, str]:
    from matplotlib.colors import to_hex

    return to_hex(line.get_color()), str(line.get_linestyle())
