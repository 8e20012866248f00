"""Sums that cancel, rewritten so that floats keep their relative accuracy."""

from __future__ import annotations

from functools import lru_cache

from sympy import Add, Expr, Integer, Pow, S, erf, erfc, exp, tanh

from symslr.expression.folded import Posterior


@lru_cache(maxsize=2**16)
def complement(node: Add) -> Posterior | None:
    """p_i of a sum 1 - p_i + ...; None of any other."""
    if S.One not in node.args:
        return None
    return next((-arg for arg in node.args if arg.is_Mul and arg.args[0] == -1 and isinstance(-arg, Posterior)), None)


@lru_cache(maxsize=2**12)
def with_others(node: Add, posterior: Posterior, own: int, length: int) -> tuple[Expr, ...]:
    """The terms, with 1 - p_i as the sum of the other p_m, since posteriors sum to 1; 0 where there is none.

    Args:
        posterior: what ``complement`` has of the node, and the numbers that its index and its length are.
    """
    others = tuple(posterior.at(Integer(m)) for m in range(1, length + 1) if m != own) or (S.Zero,)
    return (*(arg for arg in node.args if arg not in (S.One, -posterior)), *others)


@lru_cache(maxsize=2**16)
def with_tails(node: Add) -> tuple[Expr, ...]:
    """The terms, where a number is what a sigmoid beside it tends to by what is left of both.

    With float64's erf, 1 + erf(u) is 0 from u = -6 on, and the weight of such a kernel 0/0.
    """
    number, *terms = node.args
    if not number.is_Number:
        return node.args
    for term in terms:
        factor, sigmoid = term.as_coeff_Mul()
        for sign in (1, -1):
            if (tail := _tail(sigmoid, sign)) is not None and number == sign * factor * tail[0]:
                rest = tuple(other for other in terms if other is not term)
                return (sign * factor * tail[1], *rest)
    return node.args


def _tail(sigmoid: Expr, sign: int) -> tuple[int, Expr] | None:
    """A number c and c + s f, in digits that it keeps, for f that tends to -s c; None for other functions."""
    if isinstance(sigmoid, erf):
        return 1, erfc(-sign * sigmoid.args[0], evaluate=False)
    if isinstance(sigmoid, tanh):
        return 1, 2 * Pow(1 + exp(-2 * sign * sigmoid.args[0]), -1)
    if isinstance(sigmoid, erfc) and sign == -1:
        return 2, erfc(-sigmoid.args[0], evaluate=False)
    return None
