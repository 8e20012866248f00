"""The zeros of a kernel and the form in which it is written, so that values near zeros and bends keep their digits."""

from __future__ import annotations

from sympy import Expr, Mul, PolynomialError, S, Symbol, sqf_list
from sympy.core.function import Function
from sympy.polys.rings import sring

from symslr.model.breakpoints import CUT, bends, solved
from symslr.model.powers import highest_power

HIGHEST_DEGREE = 40
"""Degree up to which powers are factored: it takes minutes for e^(289 x/5) and e^(-x/500), the former a power of e^(x/5)."""


def centre(rest: Expr, x: Symbol) -> Expr:
    """The place where ``rest`` bends, if there is exactly one; else 0."""
    places = {solved(equation, x) for _, equation in bends(rest, x)} - {None}
    return places.pop() or S.Zero if len(places) == 1 else S.Zero


def centred(expr: Expr, place: Expr, x: Symbol) -> Expr:
    """``expr`` as a function of x - place: 1/(1 + a^2 (x + b)^2) becomes 1/(1 + a^2 x^2) for the place -b.

    Expanded about 0 that denominator would lose its digits by cancellation where it is small.
    """
    moved = expr.xreplace({x: x + place})
    return moved.replace(lambda part: part.is_Add and part.is_polynomial(x), lambda part: part.expand())


def in_powers(expr: Expr, x: Symbol) -> Expr:
    """``expr`` with polynomial factors, in x or in functions of x, written as powers: x**2 + 2*x + 1 as (x + 1)**2.

    A double zero then shows, and values near it keep their digits.
    """
    return Mul(*(_powers(factor, x) for factor in Mul.make_args(expr)))


def _powers(expr: Expr, x: Symbol) -> Expr:
    if not expr.is_Add or not expr.has(x) or _is_plain(expr, x) or highest_power(expr) > HIGHEST_DEGREE:
        return expr
    try:
        ring, _ = sring(expr, x) if expr.is_polynomial(x) else sring(expr)
        number, parts = sqf_list(expr, *ring.symbols)
    except PolynomialError:
        return expr
    return Mul(number, *(base**power for base, power in parts)) if any(power > 1 for _, power in parts) else expr


def _is_plain(total: Expr, x: Symbol) -> bool:
    """Whether a sum is a number and a power of one function of x, or the inverse of a sum: then it has no double zero."""
    if len(total.args) > 2 or not total.args[0].is_Number:
        return False
    _, rest = total.args[1].as_independent(x, as_Add=False)
    base, power = (rest, S.One) if isinstance(rest, Function) else rest.as_base_exp()
    return bool(power.is_Integer and (base.is_Symbol or isinstance(base, Function) or (base.is_Add and power < 0)))


def vanishing_factors(expr: Expr, x: Symbol) -> tuple[Expr, ...]:
    """The factors of ``expr`` that may vanish: those linear in x, as x in x**2; bases of powers; x for another that vanishes at
    0, as tanh(x).

    Near their zeros exp(-u expr) varies on ever smaller scales as u grows.
    """
    pairs = [factor.as_base_exp() for factor in Mul.make_args(expr)]
    bases = [base for base, power in pairs]
    powers = {base for base, power in pairs if power != 1 and base.has(x) and base.is_polynomial(x)}
    linear = [base for base in bases if base in powers or solved(base, x) is not None]
    others = (base for base in bases if base.has(x) and base not in linear and not base.is_positive)
    at_zero = any(base.xreplace({x: S.Zero}) == 0 for base in others)
    return (*linear, x) if at_zero else tuple(linear)


def may_touch_zero(expr: Expr, x: Symbol) -> tuple[Expr, ...]:
    """The derivative of a function that may touch 0 without a change of sign, such as 1 + cos(x), as a tuple; () where it
    cannot.

    Zeros of the function are among those of the derivative.
    """
    if expr.is_positive or vanishing_factors(expr, x):
        return ()
    if any(part.has(x) for part in expr.atoms(*CUT)):
        return ()
    slope = expr.diff(x)
    return () if not slope.has(x) or slope.is_positive or slope.is_negative else (slope,)
