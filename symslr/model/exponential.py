"""Weights whose ratio between two positions is exponential in the difference of their key projections."""

from __future__ import annotations

from sympy import Expr, Float, Rational, preorder_traversal, simplify

from symslr.model.powers import HIGHEST, highest_power
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
    return constant_value(kernel.diff(x) / kernel)


def constant_value(function: Expr) -> Expr | None:
    """The value of a function of x that is the same at every x; None where it moves, or where that takes too long to tell."""
    if not function.has(x):
        return function
    # not simplified where it need not be: that imports SymPy's physical units, a fifth of a second
    if _differs(function) or max(map(highest_power, preorder_traversal(function))) > HIGHEST:
        return None
    found = simplify(function)
    return None if found.has(x) else found


def _differs(function: Expr) -> bool:
    """Whether a function of x is seen not to be constant, at two points at which few functions jump or vanish."""
    others = sorted(function.free_symbols - {x}, key=str)
    at_numbers = function.xreplace({symbol: Rational(7, 5 + place) for place, symbol in enumerate(others)})
    first, second = (at_numbers.subs(x, at).evalf() for at in (Rational(-2, 7), Rational(5, 9)))
    told = all(isinstance(number, (Float, Rational)) for number in (first, second))
    return told and bool(abs(first - second) > TOLD_APART * (abs(first) + abs(second)))
