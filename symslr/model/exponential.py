"""Weights whose ratio between two positions is exponential in the difference of their key projections."""

from __future__ import annotations

from functools import reduce

from sympy import Expr, Float, Rational, exp, gcd, simplify

from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x

TOLD_APART = 1e-8
"""Relative difference of numbers of 15 digits that rounding does not make."""

HIGHEST = 1000
"""Power of an exponential up to which SymPy divides sums of them in a moment."""


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
    if _differs(function) or _has_high_powers(function):
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


def _has_high_powers(function: Expr) -> bool:
    """Whether its exponentials are powers of one with far more terms than fit: e^x is the 10^9th one beside e^{0.123456789 x}."""
    rates = [step.exp.coeff(x) for step in function.atoms(exp) if step.exp.has(x)]
    rational = [rate for rate in rates if rate.is_Rational and rate != 0]
    step = reduce(gcd, rational) if len(rational) > 1 else None
    return step is not None and max(map(abs, rational)) > HIGHEST * step
