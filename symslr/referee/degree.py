"""The degree of a body in values and noise, so that a polynomial quadrature of that degree is exact."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sympy import Add, Expr, Indexed, Mul, Pow, Sum

from symslr.expression.folded import ConditionalMean
from symslr.referee.arithmetic import CannotReferee
from symslr.referee.scope import symbols_of


def degree_in(node: Expr, symbols: Iterable[Any]) -> int:
    """Degree of a body as a polynomial in the values z (or zeta, eta, or xi).

    Raises:
        CannotReferee: when it is no polynomial in them.
    """
    symbols = set(symbols)
    if not symbols_of(node) & symbols and not (isinstance(node, ConditionalMean) and symbols_of(node.label) & symbols):
        return 0
    if node in symbols or (isinstance(node, Indexed) and node.base.label in symbols):
        return 1
    if isinstance(node, Add):
        return max(degree_in(arg, symbols) for arg in node.args)
    if isinstance(node, Mul):
        return sum(degree_in(arg, symbols) for arg in node.args)
    if isinstance(node, Pow) and node.exp.is_Integer and node.exp > 0:
        return int(node.exp) * degree_in(node.base, symbols)
    if isinstance(node, Sum):
        return degree_in(node.function, symbols)
    if isinstance(node, ConditionalMean):
        return degree_in(node.label, symbols)
    raise CannotReferee(f"{node} is not a polynomial in the values or the noise of a sequence")
