"""Exact SymPy numbers to balls: a table of functions, one entry each, at the precision of the current Arb context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from flint import arb, ctx, fmpq
from sympy import Dummy, Expr

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.special import normal_cdf, owens_t, skew_normal

ArbFunction = Callable[..., Any]
Descend = Callable[[Expr], Any]

CONSTANTS: dict[Expr, Callable[[], Any]] = {
    sympy.pi: arb.pi,
    sympy.E: arb.const_e,
    sympy.EulerGamma: arb.const_euler,
    sympy.Catalan: arb.const_catalan,
}

FUNCTIONS: dict[str, ArbFunction] = {
    "exp": arb.exp,
    "log": arb.log,
    "sin": arb.sin,
    "cos": arb.cos,
    "tan": arb.tan,
    "sinh": arb.sinh,
    "cosh": arb.cosh,
    "tanh": arb.tanh,
    "asin": arb.asin,
    "acos": arb.acos,
    "atan": arb.atan,
    "asinh": arb.asinh,
    "acosh": arb.acosh,
    "atanh": arb.atanh,
    "erf": arb.erf,
    "erfc": arb.erfc,
    "erfi": arb.erfi,
    "gamma": arb.gamma,
    "loggamma": arb.lgamma,
    "factorial": lambda n: (n + 1).gamma(),
    "LambertW": arb.lambertw,
    "Abs": abs,
    "OwensT": owens_t,
    "NormalCdf": normal_cdf,
    "SkewNormal": skew_normal,
    "Max": lambda *balls: _fold(arb.max, balls),
    "Min": lambda *balls: _fold(arb.min, balls),
}
"""Name of a function -> the same function on balls. A special-function node is added by its class name."""


class Between(Dummy):
    """A real number of which an enclosing ball is known; the same number wherever it stands in an expression."""

    enclosure: Any

    def __new__(cls, name: str, enclosure: Any) -> Between:
        made: Between = super().__new__(cls, name, real=True)
        made.enclosure = enclosure
        return made


def _fold(pair: ArbFunction, balls: tuple[Any, ...]) -> Any:
    result = balls[0]
    for ball in balls[1:]:
        result = pair(result, ball)
    return result


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
    """base^n; Arb's own power is undefined on a ball centred at 0, where a product is not."""
    if n > 0 and n % 2 == 0 and base.contains(0):
        return arb(0).union(abs(base).upper() ** n)
    return _fold(arb.__mul__, (base,) * n) if n > 0 and base.contains(0) else base**n


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
