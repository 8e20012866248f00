"""Means inside a mean: those that do not depend on its variables are evaluated first, as numbers.

The two use the same letters for what they integrate out, so that whatever replaces a letter in the body would reach into them.
"""

from __future__ import annotations

from functools import lru_cache

from sympy import Add, Basic, Dummy, Expr, Function, Mul, Pow, Product, Sum

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.expression.scored import ScoredActivation
from symslr.model.symbols import BOUND_IN_SEQUENCE
from symslr.referee.scope import symbols_of

OPENED = (Add, Mul, Pow, Function, Sum, Product, Activation, ScoredActivation)
"""What is looked into; everything else may bind letters of its own."""


@lru_cache(maxsize=1024)
def lifted(node: SequenceExpectation) -> tuple[SequenceExpectation, tuple[tuple[Dummy, Expr], ...]]:
    """The expectation with a symbol for each mean in its body that depends on no token, and what the symbols stand for."""
    if not node.body.has(SequenceExpectation):
        return node, ()
    found = dict.fromkeys(_closed(node.body, BOUND_IN_SEQUENCE))
    symbols = {inner: Dummy(f"mean_{i}", real=True) for i, inner in enumerate(found)}
    body = node.body.xreplace(symbols)
    return Expr.__new__(SequenceExpectation, body, node.law), tuple((s, inner) for inner, s in symbols.items())


def _closed(node: Basic, bound: frozenset[Basic]) -> list[Expr]:
    if not node.has(SequenceExpectation):
        return []
    if isinstance(node, Expr) and not symbols_of(node) & bound:
        return [node]
    if not isinstance(node, OPENED):
        return []
    inside = bound | set(node.variables) if isinstance(node, (Sum, Product)) else bound
    return [inner for arg in node.args for inner in _closed(arg, frozenset(inside))]
