"""The graph of citations: what each derivation rests on, and the weakest verdict among it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from sympy import Derivative, Integral, S

from symslr.algebra.derivation import Derivation
from symslr.check.report import CheckReport, Verdict
from symslr.expression.convolution import GaussianConvolution
from symslr.expression.expectation import Expectation
from symslr.expression.folded import FOLDED, ConditionalMean, Minimum
from symslr.expression.quantity import Quantity
from symslr.model.catalogue import TASKS
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L

STRENGTH = {Verdict.TRUE: 3, Verdict.DIFFERS: 3, Verdict.UNKNOWN: 1, Verdict.FALSE: 0}
"""A quoted formula that differs does not weaken what is derived."""


class Kind(StrEnum):
    """What a node of the graph is."""

    DEFINITION = "definition"
    POSTULATE = "postulate"
    RESULT = "result"
    HANGING = "formula without a definition"


@dataclass(frozen=True)
class Node:
    """One definition, postulate or result.

    Attributes:
        name: of the derivation, or of the class of the quantity.
        kind: what it is.
        rests_on: names of the nodes that it uses at once.
        verdict: of the derivation itself; None for definitions, postulates and what was not checked.
    """

    name: str
    kind: Kind
    rests_on: tuple[str, ...] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Graph:
    """The nodes by name, each after those that it rests on."""

    nodes: Mapping[str, Node]

    @cached_property
    def hanging(self) -> tuple[str, ...]:
        """Derivations that start neither at a definition, a postulate nor the result of another."""
        return tuple(node.name for node in self.nodes.values() if node.kind is Kind.HANGING)

    def way(self, name: str) -> tuple[Node, ...]:
        """The nodes that a result rests on, at once or through others, itself last."""
        found: dict[str, Node] = {}

        def visit(at: str) -> None:
            for before in self.nodes[at].rests_on:
                if before not in found:
                    visit(before)
            found.setdefault(at, self.nodes[at])

        visit(name)
        return tuple(found.values())

    def weakest(self, name: str) -> Node | None:
        """The node with the weakest verdict on the way to a result; None where nothing on it was checked."""
        judged = [node for node in self.way(name) if node.verdict is not None]
        return min(judged, key=lambda node: STRENGTH[node.verdict], default=None)  # type: ignore[index]

    def postulates(self, name: str) -> tuple[str, ...]:
        """The postulates on the way to a result."""
        return tuple(node.name for node in self.way(name) if node.kind is Kind.POSTULATE)

    def depth(self, name: str) -> int:
        """Length of the longest way from a definition."""
        return max((1 + self.depth(before) for before in self.nodes[name].rests_on), default=0)


def graph(derivations: Sequence[Derivation], checks: CheckReport | None = None) -> Graph:
    """The graph of derivations with names of their own, and of what they cite.

    A cited result that stands in no file has a node too: nothing is used that is not shown.
    """
    found = {item.name: item.verdict for item in checks.derivations} if checks is not None else {}
    nodes: dict[str, Node] = {}

    def add(item: Derivation) -> str:
        name = node_name(item)
        if name in nodes:
            return name
        used = [add(theorem) for theorem in item.cited]
        for quantity in item.quantities:
            kind = Kind.POSTULATE if quantity.postulate else Kind.DEFINITION
            nodes.setdefault(_called(quantity), Node(_called(quantity), kind))
            used.append(_called(quantity))
        for law in sorted(item.start.atoms(SequenceLaw), key=str):
            nodes.setdefault(_law_name(law), Node(_law_name(law), Kind.DEFINITION))
            used.append(_law_name(law))
        kind = Kind.RESULT if used or _is_defined(item) else Kind.HANGING
        nodes[name] = Node(name, kind, tuple(dict.fromkeys(used)), found.get(name))
        return name

    for item in derivations:
        add(item)
    return Graph(nodes)


def node_name(item: Derivation) -> str:
    """What a derivation is called in the graph."""
    return item.name or item.title or str(item.start)


def _called(quantity: Quantity) -> str:
    return type(quantity).__name__


def _law_name(law: SequenceLaw) -> str:
    """The task of the catalogue that has this weight, or the weight itself."""
    if law.weight == S.One:
        return "independent-tokens"
    known = {make().law.weight: f"{name}-SLR" for name, make in TASKS.items()}
    at_any_length = law.weight.subs(law.length, L) if law.length.is_number else law.weight
    own = f"weight-{law.weight}".replace(" ", "")
    return known.get(law.weight) or known.get(at_any_length) or (own if len(own) <= 32 else own[:31] + "…")


def _is_defined(item: Derivation) -> bool:
    """Whether the first line is written in nodes that have a definition of their own: a mean, an integral, a derivative."""
    means = (Expectation, GaussianConvolution, ConditionalMean)
    return bool(item.start.has(*means, Minimum, Integral, Derivative, *FOLDED))
