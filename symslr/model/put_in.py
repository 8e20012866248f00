"""Simultaneous substitution of expressions for several symbols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from sympy import Dummy, Expr


def put_in(expr: Expr, values: Mapping[Expr, object]) -> Expr:
    """``expr.subs(values, simultaneous=True)`` of symbols, by letters that are known to be what the symbols are.

    Of SymPy's own letters nothing is known: it would look for the signs and the real parts of everything anew, and takes several
    times as long.
    """
    if len(values) == 1:
        return expr.subs(values)
    return expr.subs({symbol: _letter(symbol) for symbol in values}).subs(
        {_letter(symbol): value for symbol, value in values.items()}
    )


@lru_cache(maxsize=1024)
def _letter(symbol: Expr) -> Dummy:
    """The same each time: SymPy remembers what it found of expressions in it."""
    return Dummy(str(symbol), **symbol.assumptions0)
