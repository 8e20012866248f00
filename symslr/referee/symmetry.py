"""Is an integrand symmetric in the tokens other than the relevant one? A look at where indices stand, nothing else."""

from __future__ import annotations

from sympy import Basic, Expr, Indexed, KroneckerDelta, Product, Sum

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.symbols import OTHERS, epsilon, m
from symslr.referee.scope import symbols_of


def symmetric(node: SequenceExpectation) -> bool:
    """Whether weight times body has one mean at every position of the relevant token, so that one position may stand for all.

    It has where every token is the relevant one, one of the named others, or runs through all of them in a sum or a product,
    and where no index is used as a number.
    """
    length = node.law.length
    named = frozenset({epsilon, *OTHERS})
    return all(_even(part, named, length) for part in (node.law.weight, node.body))


def _even(node: Basic, indices: frozenset[Basic], length: Expr) -> bool:
    if node in indices:
        return False
    if isinstance(node, Indexed):
        return all(index in indices for index in node.indices)
    if isinstance(node, KroneckerDelta):
        return all(index in indices for index in node.args[:2]) or not symbols_of(node) & indices
    if isinstance(node, IsLargest):
        return node.args[1] in indices and node.args[2] == length
    if isinstance(node, (Sum, Product)):
        return _even_series(node, indices, length)
    if isinstance(node, (Activation, ScoredActivation)):
        index, *_, size = node.args
        score = node.score if isinstance(node, ScoredActivation) else None
        return index in indices and size == length and (score is None or _even(score, indices | {m}, length))
    if isinstance(node, (Posterior, ConditionalMean)):
        law = node.law
        label = node.label if isinstance(node, ConditionalMean) else None
        placed = node.index in indices if isinstance(node, Posterior) else _even(label, indices, length)
        return placed and law.length == length and _even(law.weight, indices, length)
    return all(_even(arg, indices, length) for arg in node.args)


def _even_series(node: Sum | Product, indices: frozenset[Basic], length: Expr) -> bool:
    """A sum over all tokens, or one that has nothing to do with tokens."""
    inside = set(indices)
    for limit in node.limits:
        index, low, high = limit
        if any(symbols_of(end) & indices for end in (low, high)):
            return False
        if low == 1 and high == length and _even(node.function, frozenset({*inside, index}), length):
            inside.add(index)
    return _even(node.function, frozenset(inside), length)
