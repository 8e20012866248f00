"""A product of functions of single tokens, summed over a product grid: one short sum for each token, at any length."""

from __future__ import annotations

from functools import lru_cache

from sympy import Add, Expr, Indexed, Integer, Mul, S, Sum, exp, expand_mul

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import FOLDED, ConditionalMean
from symslr.model.put_in import put_in
from symslr.model.symbols import OTHERS, chi, epsilon, x, xi


@lru_cache(maxsize=256)
def separated(node: SequenceExpectation, length: int) -> Expr | None:
    """E_0[prod_l f_l(chi_l)] as the product of the one-token expectations, with epsilon = 1; None for any other body.

    A sum over an L-dimensional product grid of a product over tokens is the product of the sums over the tokens: the same
    grid, summed in another order. The referee needs it where the full grid has too many points.
    """
    body = node.law.weight * node.body
    if body.has(*FOLDED, ConditionalMean, xi) or any(item.base != chi for item in body.atoms(Indexed)):
        return None
    body = body.subs({node.law.length: Integer(length)}) if not node.law.length.is_Integer else body
    marked = {epsilon: Integer(1), **{other: Integer(i) for i, other in enumerate(OTHERS, 2)}}
    body = put_in(body, marked)
    factors: dict[int, Expr] = dict.fromkeys(range(1, length + 1), S.One)
    rest = S.One
    for factor in Mul.make_args(body):
        for piece in _pieces(factor):
            tokens = {item.indices[0] for item in piece.atoms(Indexed)}
            if piece.has(Sum) or len(tokens) > 1:
                return None
            if tokens:
                (token,) = tokens
                factors[int(token)] *= piece.subs(chi[token], x)
            else:
                rest *= piece
    return rest * Mul(*(ScalarExpectation(f, x, node.law.base) for f in factors.values()))


def _pieces(factor: Expr) -> list[Expr]:
    """An exponential of a sum as exponentials, one for each token of each sum over tokens."""
    if not isinstance(factor, exp):
        return [factor]
    result = []
    for term in Add.make_args(expand_mul(factor.exp)):
        sums = [part for part in Mul.make_args(term) if isinstance(part, Sum)]
        if len(sums) != 1:
            result.append(exp(term))
            continue
        (total,) = sums
        index, low, high = total.limits[0]
        if not (isinstance(low, Integer) and isinstance(high, Integer)):
            return [factor]
        result += [exp(term / total * total.function.subs(index, i)) for i in range(int(low), int(high) + 1)]
    return result
