"""Weights whose ratio between two positions is exponential in the difference of their key projections."""

from __future__ import annotations

from sympy import Expr, Float, Rational, simplify

from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x

TOLD_APART = 1e-8
"""Relative difference of numbers of 15 digits that rounding does not make."""


def exponential_slope(law: SequenceLaw) -> Expr | None:
    """c with g(l, chi)/g(m, chi) = exp(c (chi_l - chi_m)) for all l, m; None where the ratio is not of that form.

    The posterior kernel w solves w' = c w with a constant c exactly then.

    Source: arXiv 2509.21936, Prop. 4.2.
    """
    kernel = law.posterior_kernel
    if kernel is None:
        return None
    slope = kernel.diff(x) / kernel
    if slope.free_symbols == {x} and _differs(slope):
        return None
    if slope.has(x):  # not asked for where it need not be: simplify imports SymPy's physical units, a fifth of a second
        slope = simplify(slope)
    return None if slope.has(x) else slope


def _differs(slope: Expr) -> bool:
    """Whether a function of x is seen not to be constant, at two points at which few functions jump or vanish."""
    first, second = (slope.subs(x, at).evalf() for at in (Rational(-2, 7), Rational(5, 9)))
    told = all(isinstance(number, (Float, Rational)) for number in (first, second))
    return told and bool(abs(first - second) > TOLD_APART * (abs(first) + abs(second)))
