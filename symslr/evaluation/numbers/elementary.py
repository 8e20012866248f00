"""Exact SymPy numbers to balls: a table of functions, one entry each, at the precision of the current Arb context."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import methodcaller
from typing import Any

import sympy
from flint import acb, arb, ctx, fmpq
from sympy import Dummy, Expr

from symslr.evaluation.errors import CannotEvaluate


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T(h, a) = (1/2 pi) int_0^a e^{-h^2 (1 + x^2)/2} / (1 + x^2) dx.

    With x = a y the path is [0, 1], and a factor e^{-h^2/2} is taken out, which keeps relative accuracy at large h.
    ``acb.integral`` encloses the rest; the integrand is meromorphic, so that its flag for analyticity may be ignored.
    """
    h, a = arb(h), arb(a)
    square = (a * a) * (h * h) / 2

    def integrand(y: Any, _: bool) -> Any:
        return (-square * y * y).exp() / (1 + a * a * y * y)

    return (-h * h / 2).exp() * a / (2 * arb.pi()) * acb.integral(integrand, 0, 1).real


def normal_cdf(y: Any) -> Any:
    """Phi(y), of a ball, a complex ball or a series."""
    return (-y / arb(2).sqrt()).erfc() / 2


def skew_normal(h: Any, a: Any) -> Any:
    """F(h, a) = 2 int_{-oo}^h phi Phi(a .) = Phi(h) - 2 T(h, a), a difference that cancels where a or -h is large.

    Below the median Phi(h) = 2 T(h, oo), so F is int_a^oo e^{-h^2 (1 + x^2)/2} / (1 + x^2) dx / pi. Its tail beyond X is at
    most the integrand at X over h^2 X.
    """
    h, a = arb(h), arb(a)
    if not h < 0 or not a >= 0 or (h > -1 and a < 1):
        return normal_cdf(h) - 2 * owens_t(h, a)
    square = h * h / 2
    length = ((a * a + ctx.prec / square).sqrt() - a).mid()

    def integrand(s: Any, _: bool = True) -> Any:
        return (-square * s * (2 * a + s)).exp() / (1 + (a + s) * (a + s))

    beyond = integrand(length) / (2 * square * (a + length))
    whole = acb.integral(integrand, 0, length).real + beyond.union(arb(0))
    return (-square * (1 + a * a)).exp() / arb.pi() * whole


ArbFunction = Callable[..., Any]
Descend = Callable[[Expr], Any]

CONSTANTS: dict[Expr, Callable[[], Any]] = {
    sympy.pi: arb.pi,
    sympy.E: arb.const_e,
    sympy.EulerGamma: arb.const_euler,
    sympy.Catalan: arb.const_catalan,
}

_METHODS = (
    *("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "erfi", "gamma"),
)

FUNCTIONS: dict[str, ArbFunction] = {
    **{name: methodcaller(name) for name in _METHODS},  # arb.exp(2.0) would read a float's memory as that of a ball
    "loggamma": methodcaller("lgamma"),
    "factorial": lambda n: (n + 1).gamma(),
    "LambertW": methodcaller("lambertw"),
    "Abs": abs,
    "Modulus": abs,
    "OwensT": owens_t,
    "NormalCdf": normal_cdf,
    "SkewNormal": skew_normal,
    "Max": lambda *balls: reduce(arb.max, balls),
    "Min": lambda *balls: reduce(arb.min, balls),
}
"""Name of a function -> the same function on balls. A special-function node is added by its class name."""


class Between(Dummy):
    """A real number with a known enclosing ball; the same number wherever it occurs in an expression."""

    enclosure: Any

    def __new__(cls, name: str, enclosure: Any) -> Between:
        made: Between = super().__new__(cls, name, real=True)
        made.enclosure = enclosure
        return made

    def _sympystr(self, printer: object) -> str:
        return str(self.name)


def elementary_ball(expr: Expr, descend: Descend) -> Any:
    """A ball that contains ``expr``; its arguments are enclosed by ``descend``.

    Raises:
        CannotEvaluate: for a symbol without value, an inexact or infinite number, or a function outside the table.
    """
    if expr.is_Rational:
        return arb(fmpq(int(expr.p), int(expr.q)))
    if expr in CONSTANTS:
        return CONSTANTS[expr]()
    if isinstance(expr, Between):
        return expr.enclosure
    if expr.is_Add:
        return sum((descend(arg) for arg in expr.args), arb(0))
    if expr.is_Mul:
        product = arb(1)
        for arg in expr.args:
            product *= descend(arg)
        return product
    if expr.is_Pow:
        return _power(descend(expr.base), expr.exp, descend)
    name = type(expr).__name__
    if expr.args and name in FUNCTIONS:
        return FUNCTIONS[name](*(descend(arg) for arg in expr.args))
    if expr.is_Symbol:
        raise CannotEvaluate(f"certified: symbol {expr} has no value; give it one in values")
    if expr.is_Float:
        raise CannotEvaluate(f"certified: found the inexact number {expr}; expected an exact one, such as 1/10")
    raise CannotEvaluate(f"certified: no proof is available for {name}: {expr}")


def _power(base: Any, exponent: Expr, descend: Descend) -> Any:
    if exponent.is_Integer:
        return whole_power(base, int(exponent))
    if exponent == sympy.S.Half:
        return base.sqrt()
    return base ** descend(exponent)


def whole_power(base: Any, n: int) -> Any:
    """base^n; Arb's own power is undefined on a ball centred at 0."""
    if n > 0 and base.contains(0):
        low = arb(0) if n % 2 == 0 else base.lower() ** n
        return low.union((base if n % 2 else abs(base)).upper() ** n)
    return base**n


def by_squaring(base: Any, n: int, one: Any = None) -> Any:
    """base^n for n >= 0 by repeated squaring, for anything that multiplies; ``one`` is returned for n = 0."""
    result, square = None, base
    while n:
        if n % 2:
            result = square if result is None else result * square
        n //= 2
        square = square * square if n else square
    return one if result is None else result


def ball(expr: Expr) -> Any:
    """A ball that contains the elementary number ``expr``, at the current precision."""
    return elementary_ball(expr, ball)


def sign(expr: Expr) -> int:
    """The sign of an exact elementary number, decided by balls of growing precision.

    Raises:
        CannotEvaluate: when 2000 bits do not tell the number from zero.
    """
    if expr.is_zero:
        return 0
    for bits in (64, 300, 2000):
        with ctx.workprec(bits):
            enclosure = ball(expr)
        if not enclosure.contains(0):
            return 1 if enclosure > 0 else -1
    raise CannotEvaluate(f"certified: cannot tell whether {expr} is zero; simplify it")


def nearest_float(expr: Expr) -> float:
    """``expr`` to 53 bits, for planning only: no proof rests on it."""
    with ctx.workprec(80):
        return float(ball(expr).mid())
