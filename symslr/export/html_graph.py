"""How the results hang together, on the page: results that cite one another, under the definitions and postulates they rest on."""

from __future__ import annotations

import re

from symslr.check.graph import Graph, Kind
from symslr.check.report import Verdict
from symslr.export import html
from symslr.export.text import GREEK
from symslr.export.verdicts import SIGNS, STEP_WORDS, UNCHECKED

HEADING = "How the results hang together"
OPENING = (
    "Results that cite one another stand together, in the order of proof, under the definitions and postulates that they"
    " rest on. Each carries the weakest verdict on its way from those."
)
SHORT = 20
"""Letters of the longest weight that a heading spells out."""
PERSONS = {"Bayes"}
"""Of names in several words, those that keep their capital."""
LETTERS = {name: letter for letter, name in GREEK.items()}
STARTS = (Kind.DEFINITION, Kind.POSTULATE)
NO_DEFINITION = "means, integrals and derivatives alone"


def graph_to_html(graph: Graph) -> str:
    """A region with one list for each set of definitions."""
    groups = (
        html.folded(f"{count(len(names))} from {starts}", f"<ol>{''.join(names)}</ol>")
        for starts, names in _listed(graph).items()
    )
    return html.part("graph", HEADING, f"<p>{OPENING}</p>", *groups)


def count(number: int) -> str:
    """So many results, in words."""
    return f"{number} result{'s' * (number != 1)}"


def _listed(graph: Graph) -> dict[str, list[str]]:
    """The results under each heading, as items of a list."""
    found: dict[str, list[str]] = {}
    for starts, names in groups(graph).items():
        heading = ", ".join(in_words(graph, name) for name in starts) or NO_DEFINITION
        found.setdefault(heading, []).extend(_item(graph, name) for name in names)
    return found


def _item(graph: Graph, name: str) -> str:
    """A result with its weakest verdict, and those that it uses at once."""
    node, weak = graph.nodes[name], graph.weakest(name)
    word = UNCHECKED.word if weak is None or weak.verdict is None else STEP_WORDS[Verdict(weak.verdict)]
    used = "; ".join(html.result(before) for before in node.rests_on if graph.nodes[before].kind not in STARTS)
    after = f' <span class="meta">from {used}</span>' if used else ""
    bare = " starts at no definition" * (node.kind is Kind.HANGING)
    return f"<li>{html.marked(*SIGNS[word][:2])} {html.result(name)}{bare}{after}</li>"


def in_words(graph: Graph, name: str) -> str:
    """A definition without the spelling of a program: a class by its words, a long weight by that it is one."""
    head, _, weight = name.partition("-")
    if head == "weight":
        said = re.sub(r"[A-Za-z]+", lambda word: LETTERS.get(word[0], word[0]), weight).replace("*", "\u00a0")
        return f"weight {said}" if len(said) < SHORT and "…" not in said else "a weight of its own"
    first, *others = re.split(r"(?<=[a-z])(?=[A-Z])", name) if "-" not in name else [name]
    said = " ".join([first, *(word if word in PERSONS else word.lower() for word in others)])
    return f"{said} (postulate)" if graph.nodes[name].kind is Kind.POSTULATE else said


def groups(graph: Graph) -> dict[tuple[str, ...], list[str]]:
    """Under the definitions and postulates that a lot of results rests on: those that cite one another, in the order of proof."""
    lots: dict[str, list[str]] = {}
    for name, node in graph.nodes.items():
        if node.kind in STARTS:
            continue
        joined = {id(lots[before]): lots[before] for before in node.rests_on if before in lots}
        lot = [*(member for found in joined.values() for member in found), name]
        lots.update(dict.fromkeys(lot, lot))
    place = {name: i for i, name in enumerate(graph.nodes)}
    found: dict[tuple[str, ...], list[str]] = {}
    for lot in {id(lot): lot for lot in lots.values()}.values():
        starts = {node.name for name in lot for node in graph.way(name) if node.kind in STARTS}
        found.setdefault(tuple(sorted(starts, key=place.__getitem__)), []).extend(sorted(lot, key=place.__getitem__))
    return found
