"""The graph of results: from definitions and postulates on the left to the theorems that rest on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from symslr.check.graph import Graph, Kind
from symslr.check.report import Verdict
from symslr.export.content import anchor
from symslr.export.figures import TEXT_WIDTH, Figure, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ROW = 0.135
"""Inches between two names in a column."""

TYPE_SIZE = 6.0
LETTER = 0.58 * TYPE_SIZE / 72
"""Width of a letter in inches, a little more than it is on average."""

COLOURS = {"true": "#1b6e3a", "false": "#b3261e", "unknown": "#8a5a00", "differs": "#8a5a00", "": "#555555"}
SIGNS = {"true": "✓ ", "false": "✗ ", "unknown": "? ", "differs": "≠ ", "": ""}
KINDS = {Kind.DEFINITION: "definition", Kind.POSTULATE: "postulate", Kind.RESULT: "result", Kind.HANGING: "hanging"}


def results_figure(graph: Graph) -> Figure:
    """The picture of a graph; names link to the derivations, colours are the weakest verdict on the way."""
    return Figure(
        "graph-of-results",
        "Results and what they rest on. Definitions and postulates stand at the left; a line leads from each to what uses it, "
        "and a result carries the weakest verdict on its way. A mean that is written out "
        "in a first line stands under the task whose law it is taken over.",
        lambda: _table(graph),
        _draw,
        alt="Graph from definitions and postulates to derived results.",
    )


def _table(graph: Graph) -> Table:
    """One row for each node: its place, its kind, what it rests on, and the weakest verdict."""
    order = _order(graph)
    weakest = {name: graph.weakest(name) for name in graph.nodes}
    return {
        "name": [name for name, _, _ in order],
        "column": [column for _, column, _ in order],
        "row": [row for _, _, row in order],
        "kind": [KINDS[graph.nodes[name].kind] for name, _, _ in order],
        "rests_on": [" ".join(graph.nodes[name].rests_on) for name, _, _ in order],
        "weakest": [_word(weakest[name].verdict if weakest[name] else None) for name, _, _ in order],  # type: ignore[union-attr]
    }


def _word(verdict: Verdict | None) -> str:
    return "" if verdict is None else str(verdict)


def _order(graph: Graph) -> list[tuple[str, int, float]]:
    """(name, column, row): columns by depth, rows near the mean row of what a node rests on."""
    depths = {name: graph.depth(name) for name in graph.nodes}
    first = [name for name in graph.nodes if graph.nodes[name].kind in (Kind.DEFINITION, Kind.POSTULATE)]
    columns: list[list[str]] = [[] for _ in range(max(depths.values(), default=0) + 1)]
    for name, depth in depths.items():
        # what starts at a mean written out stands beside the results and not among the definitions
        columns[depth if name in first else max(depth, 1) if len(columns) > 1 else depth].append(name)
    height = max(map(len, columns), default=1)
    rows: dict[str, float] = {}
    for column in columns:
        wanted = {
            name: _mean(
                [rows[before] for before in graph.nodes[name].rests_on if before in rows], rows.get(name, height)
            )
            for name in column
        }
        spread = height / max(len(column), 1)
        for i, name in enumerate(sorted(column, key=lambda name: (wanted[name], column.index(name)))):
            rows[name] = (i + 0.5) * spread
    return [(name, i, rows[name]) for i, column in enumerate(columns) for name in sorted(column, key=rows.__getitem__)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    height = max((float(str(row["row"])) for row in rows), default=1) + 0.5
    columns = max((int(str(row["column"])) for row in rows), default=0) + 1
    longest = [max((len(str(r["name"])) + 2 for r in rows if r["column"] == c), default=1) for c in range(columns)]
    gap = max(0.35, (TEXT_WIDTH - LETTER * sum(longest)) / max(columns - 1, 1))
    left = [sum(longest[:c]) * LETTER + c * gap for c in range(columns)]
    width = left[-1] + longest[-1] * LETTER
    drawing, axes = plt.subplots(figsize=(max(width, TEXT_WIDTH), height * ROW + 0.2))
    axes.set(xlim=(0, max(width, TEXT_WIDTH)), ylim=(height, -0.5))
    axes.axis("off")
    place = {str(row["name"]): (left[int(str(row["column"]))], float(str(row["row"]))) for row in rows}
    for row in rows:
        x, y = place[str(row["name"])]
        for before in str(row["rests_on"]).split():
            x0, y0 = place[before]
            x0 += LETTER * (len(before) + 2)
            middle = (x0 + x) / 2
            path = Path([(x0, y0), (middle, y0), (middle, y), (x - 0.02, y)], [1, 4, 4, 4])
            axes.add_patch(PathPatch(path, facecolor="none", edgecolor="#bbbbbb", linewidth=0.4))
    for row in rows:
        x, y = place[str(row["name"])]
        word, kind = str(row["weakest"]), str(row["kind"])
        result = kind in ("result", "hanging")
        axes.text(
            x,
            y,
            (SIGNS[word] if result else "") + str(row["name"]),
            fontsize=TYPE_SIZE,
            va="center",
            family="DejaVu Sans",
            color="#b3261e" if kind == "hanging" else COLOURS[word] if result else "#000000",
            fontweight="normal" if result else "bold",
            fontstyle="italic" if kind == "postulate" else "normal",
            url=f"#{anchor(str(row['name']))}" if result else None,
        )
    return drawing
