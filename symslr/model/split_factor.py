"""Separate what does not depend on x from a function of one token."""

from __future__ import annotations

from sympy import Expr, Mul, exp, expand

from symslr.model.symbols import x


def split_factor(h: Expr) -> tuple[Expr, Expr]:
    """h = d * r with d free of x, also where the factor sits in an exponent: exp(s x - c) = exp(-c) exp(s x)."""
    deterministic, random = h.as_independent(x, as_Add=False)
    factors = []
    for factor in Mul.make_args(random):
        if isinstance(factor, exp):
            fixed, moving = expand(factor.exp).as_independent(x, as_Add=True)
            deterministic *= exp(fixed)
            factors.append(exp(moving))
        else:
            factors.append(factor)
    return deterministic, Mul(*factors)
