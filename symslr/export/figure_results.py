"""The graph of results: theorems in groups under the definitions and postulates they rest on, arcs between them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from symslr.check.graph import Graph, Kind
from symslr.check.report import Verdict
from symslr.export.figures import TEXT_WIDTH, Figure, Table
from symslr.export.text import GREEK, anchor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

NAME = "graph-of-results"
"""Of the figure."""

COLUMNS = 3
ROW = 0.108
"""Inches between two names; a page has room for some 85 of them."""
TALLEST = 9.2
"""Inches that a page has for a figure; where there are more names the rows are closer."""
TYPE_SIZE = 5.0
MARGIN = 0.3
"""Inches at the left of a column for the arcs."""
SHORT = 20
"""Letters of the longest weight that a heading spells out."""
PERSONS = {"Bayes"}
"""Of names in several words, those that keep their capital."""
HEADING = 42
"""Letters on a line of a heading."""

COLOURS = {"true": "#1b6e3a", "false": "#b3261e", "unknown": "#8a5a00", "differs": "#8a5a00", "": "#333333"}
SIGNS = {"true": "✓ ", "false": "✗ ", "unknown": "? ", "differs": "≠ ", "": ""}
KINDS = {Kind.DEFINITION: "definition", Kind.POSTULATE: "postulate", Kind.RESULT: "result", Kind.HANGING: "hanging"}
LETTERS = {name: letter for letter, name in GREEK.items()}
STARTS = (Kind.DEFINITION, Kind.POSTULATE)
NO_DEFINITION = "means, integrals and derivatives alone"


def results_figure(graph: Graph) -> Figure:
    """The picture of a graph; names link to the derivations, colours are the weakest verdict on the way."""
    return Figure(
        NAME,
        "Results and what they rest on. A heading names the definitions and postulates on which a group"
        " rests, each with a number; the numbers behind a result are those that it uses at once. An arc leads down from"
        " a result to one that cites it, and a result carries the weakest verdict on its way. A mean that is written"
        " out in a first line stands under the task whose law it is taken over.",
        lambda: _table(graph),
        _draw,
        alt="Results in groups under the definitions and postulates they rest on, with arcs between those that cite one another.",
    )


def _table(graph: Graph) -> Table:
    """One row for each line of the picture: its place, its kind, what it rests on, and the weakest verdict."""
    numbers = {name: i + 1 for i, name in enumerate(n for n in graph.nodes if graph.nodes[n].kind in STARTS)}
    named = {name: _named(graph, name, number) for name, number in numbers.items()}
    lines = list(_placed(_groups(graph), named))
    nodes = [None if heading else graph.nodes[name] for name, _, _, heading in lines]
    weakest = [graph.weakest(node.name) if node else None for node in nodes]
    return {
        "name": [name for name, _, _, _ in lines],
        "column": [column for _, column, _, _ in lines],
        "row": [row for _, _, row, _ in lines],
        "kind": [KINDS[node.kind] if node else "heading" for node in nodes],
        "rests_on": [" ".join(node.rests_on) if node else "" for node in nodes],
        "numbers": [" ".join(str(numbers[b]) for b in node.rests_on if b in numbers) if node else "" for node in nodes],
        "weakest": [_word(weak.verdict if weak else None) for weak in weakest],
    }


def _named(graph: Graph, name: str, number: int) -> str:
    """A definition as a heading has it; a space that does not break keeps its number beside it."""
    said = f"{number}\u00a0{_in_words(name)}"
    return f"{said}\u00a0(postulate)" if graph.nodes[name].kind is Kind.POSTULATE else said


def _in_words(name: str) -> str:
    """A definition without the spelling of a program: a class by its words, a weight that is too long for a line by that."""
    head, _, weight = name.partition("-")
    if head == "weight":
        weight = re.sub(r"[A-Za-z]+", lambda word: LETTERS.get(word[0], word[0]), weight).replace("*", "\u00a0")
        return f"weight {weight}" if len(weight) < SHORT and "…" not in weight else "a weight of its own"
    if "-" in name:
        return name
    first, *others = re.split(r"(?<=[a-z])(?=[A-Z])", name)
    return " ".join([first, *(word if word in PERSONS else word.lower() for word in others)])


def _word(verdict: Verdict | None) -> str:
    return "" if verdict is None else str(verdict)


def _groups(graph: Graph) -> dict[tuple[str, ...], list[list[str]]]:
    """The results that cite one another, each lot in the order of proof, under all definitions that a lot rests on."""
    lots: dict[str, list[str]] = {}
    for name, node in graph.nodes.items():
        if node.kind in STARTS:
            continue
        joined = {id(lots[before]): lots[before] for before in node.rests_on if before in lots}
        lot = [*(member for found in joined.values() for member in found), name]
        lots.update(dict.fromkeys(lot, lot))
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    place = {name: i for i, name in enumerate(graph.nodes)}
    for lot in {id(lot): lot for lot in lots.values()}.values():
        under = {node.name for name in lot for node in graph.way(name) if node.kind in STARTS}
        groups.setdefault(tuple(sorted(under, key=place.__getitem__)), []).append(sorted(lot, key=place.__getitem__))
    return groups


def _placed(
    groups: Mapping[tuple[str, ...], Sequence[Sequence[str]]], named: Mapping[str, str]
) -> Iterator[tuple[str, int, float, bool]]:
    """(line, column, row, whether it is a heading): a group goes to the next column where it would overfill its own."""
    blocks = []
    for under, lots in groups.items():
        said = ", ".join(map(named.__getitem__, under)) or NO_DEFINITION
        blocks.append((textwrap.wrap(said, HEADING, break_on_hyphens=False), [name for lot in lots for name in lot]))
    most = sum(len(heading) + len(names) + 1 for heading, names in blocks) / COLUMNS
    column, row = 0, 0.0
    for heading, names in blocks:
        size = len(heading) + len(names) + 1
        if column < COLUMNS - 1 and row and row + size / 2 > most:
            column, row = column + 1, 0.0
        for i, line in enumerate((*heading, *names)):
            yield line, column, row + i, i < len(heading)
        row += len(heading) + len(names)
        row += 0.8


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    height = max((float(str(row["row"])) for row in rows), default=1) + 1
    drawing, axes = plt.subplots(figsize=(TEXT_WIDTH, min(height * ROW, TALLEST)))
    axes.set(xlim=(0, TEXT_WIDTH), ylim=(height - 0.5, -0.5))
    axes.axis("off")
    wide = TEXT_WIDTH / COLUMNS
    place = {
        str(row["name"]): (int(str(row["column"])) * wide + MARGIN, float(str(row["row"])))
        for row in rows
        if row["kind"] != "heading"
    }
    for row in rows:
        if row["kind"] == "heading":
            _heading(axes, int(str(row["column"])) * wide, row)
            continue
        x, y = place[str(row["name"])]
        for before in str(row["rests_on"]).split():
            if before in place:
                _arc(axes, x - 0.03, place[before][1], y)
        _result(axes, x, y, row)
    return drawing


def _heading(axes: Axes, x: float, row: Mapping[str, object]) -> None:
    axes.text(
        x, float(str(row["row"])), str(row["name"]), fontsize=TYPE_SIZE, va="center", fontweight="bold", family="DejaVu Sans"
    )  # fmt: skip


def _arc(axes: Axes, x: float, above: float, below: float) -> None:
    """From a result down to one that cites it, further out the longer it is."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    out = x - min(MARGIN - 0.05, 0.06 + 0.03 * abs(below - above))
    path = Path([(x, above), (out, above), (out, below), (x, below)], [1, 4, 4, 4])
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor="#8899aa", linewidth=0.45))
    axes.plot([x], [below], marker=">", markersize=1.6, color="#8899aa", markeredgewidth=0)


def _result(axes: Axes, x: float, y: float, row: Mapping[str, object]) -> None:
    word, name = str(row["weakest"]), str(row["name"])
    said = axes.text(
        x,
        y,
        SIGNS[word] + name,
        fontsize=TYPE_SIZE,
        va="center",
        family="DejaVu Sans",
        color="#b3261e" if row["kind"] == "hanging" else COLOURS[word],
        url=f"#{anchor(name)}",
    )
    axes.annotate(
        str(row["numbers"]), (1, 0.5), xycoords=said, xytext=(2, 0), textcoords="offset points",
        fontsize=TYPE_SIZE - 1, va="center", color="#888888",
    )  # fmt: skip
