"""Arb balls in object arrays, at the precision of the current Arb context, and mpmath numbers.

A ball encloses its number, so that rounding errors need no account. Not proved are only the convergence of a quadrature, and
functions that Arb lacks, which mpmath evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from operator import methodcaller
from typing import Any, cast

import mpmath
import numpy as np
from flint import arb, ctx, fmpq
from sympy import Expr, Symbol, lambdify
from sympy.printing.pycode import MpmathPrinter

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.arithmetic import ObjectArrays
from symslr.evaluation.numbers.compiled import stable
from symslr.evaluation.numbers.elementary import FUNCTIONS, whole_power


class Balls(ObjectArrays):
    """Arb balls in object arrays."""

    name = "balls"
    exp = staticmethod(np.frompyfunc(methodcaller("exp"), 1, 1))
    log = staticmethod(np.frompyfunc(methodcaller("log"), 1, 1))

    @property
    def eps(self) -> Any:
        return arb((1, -self.bits))

    @property
    def pi(self) -> Any:
        return arb.pi()

    def number(self, value: Any) -> Any:
        return from_mpf(value) if isinstance(value, mpmath.mpf) else arb(value)

    def middle(self, value: Any) -> Any:
        """The centre as an mpmath number, exactly."""
        return centre(value)

    def more_bits(self, bits: int) -> AbstractContextManager[Any]:
        return cast(AbstractContextManager[Any], ctx.workprec(ctx.prec + bits))

    def masses(self, values: Any) -> list[Any]:
        """Sums of absolute values of the centres for every entry of the first axis, as mpmath numbers."""
        return [centre(sum((abs(ball.mid()) for ball in np.ravel(own)), arb(0))) for own in values]

    def pair(self, total: Any, error: Any, factor: Any) -> tuple[Any, Any]:
        """(value, error) as mpmath numbers of a sum with an additional error, times a factor."""
        found = (total + arb(0, from_mpf(mpmath.mpf(error)).upper())) * factor
        return centre(found), radius(found)

    def function(self, symbols: Sequence[Symbol], exprs: Sequence[Expr]) -> Callable[..., Sequence[Any]]:
        function = _compiled(tuple(symbols), tuple(exprs))
        return lambda *numbers: tuple(v if isinstance(v, arb) else arb(v) for v in function(*numbers))


class Multiprecision(ObjectArrays):
    """mpmath numbers at the current working precision; functions are those of balls at the centres."""

    name = "mpmath"
    tiny = 0
    exp = staticmethod(np.frompyfunc(mpmath.exp, 1, 1))
    log = staticmethod(np.frompyfunc(mpmath.log, 1, 1))

    @property
    def eps(self) -> Any:
        return mpmath.ldexp(1, -self.bits)

    @property
    def pi(self) -> Any:
        return +mpmath.pi

    def more_bits(self, bits: int) -> AbstractContextManager[Any]:
        return cast(AbstractContextManager[Any], mpmath.workprec(mpmath.mp.prec + bits))

    def number(self, value: Any) -> Any:
        if isinstance(value, Expr):
            return (
                mpmath.mpf(value.p) / value.q
                if value.is_Rational
                else mpmath.mpf(value.evalf(int(self.decades) + 5)._mpf_)
            )
        return mpmath.mpf(value)

    def function(self, symbols: Sequence[Symbol], exprs: Sequence[Expr]) -> Callable[..., Sequence[Any]]:
        function = Balls(self.bits).function(symbols, exprs)

        def call(*numbers: Any) -> list[Any]:
            with ctx.workprec(mpmath.mp.prec + GUARD):
                return [+nearest_mpf(found) for found in function(*map(nearest_ball, numbers))]

        return call


GUARD = 16
"""Extra bits for elementary functions: about a hundred operations may be rounded on the way."""


def nearest_ball(value: Any) -> Any:
    """An mpmath number, which may be infinite, as a ball."""
    return from_mpf(value) if mpmath.isfinite(value) else arb(float(value))


def nearest_mpf(number: Any) -> Any:
    """The centre of a ball, infinite where it is.

    Raises:
        CannotEvaluate: as ``centre``, where it may be any number.
    """
    return (
        mpmath.inf if number == arb(float("inf")) else -mpmath.inf if number == arb(float("-inf")) else centre(number)
    )


def array(numbers: Sequence[Any]) -> Any:
    """An object array of one axis."""
    found = np.empty(len(numbers), dtype=object)
    found[:] = numbers
    return found


OCTAVES = 16
"""Octaves of u between two rows that are computed as exponentials. The squarings between them cost as many bits; an exponential
costs about twenty squarings."""


def exponentials(slopes: Sequence[Any], first: int, per_octave: int, count: int) -> list[list[Any]]:
    """Rows e^{-us} for every slope s, one for each u = 2^{i/per_octave}, i = first, ..., first + count - 1.

    A row is the square of the row one octave before; every squaring doubles the relative error.
    """
    rows: list[list[Any]] = []
    with ctx.workprec(ctx.prec + OCTAVES + 8):
        for i in range(count):
            if i % (OCTAVES * per_octave) < per_octave:
                minus = -(arb.const_log2() * (first + i) / per_octave).exp()
                rows.append([(minus * s).exp() for s in slopes])
            else:
                rows.append([t * t for t in rows[-per_octave]])
    return rows


def to_one_unit(balls: Any) -> Any:
    """An array of balls rounded to the absolute error 2^-precision.

    Arb multiplies matrices of such balls like matrices of integers, in a twentieth of the time for exponentials of all sizes.
    """
    return (balls + arb(1)) - arb(1)


def from_mpf(value: Any, error: Any = 0) -> Any:
    """The ball around an mpmath number."""
    if not mpmath.isfinite(value):
        raise CannotEvaluate(f"found {mpmath.nstr(value)}; expected a finite number")
    centre = arb(value)
    return centre if not error else centre + arb(0, from_mpf(mpmath.mpf(error)).upper())


def centre(number: Any) -> Any:
    """The middle of a ball as an mpmath number, exactly."""
    if not number.is_finite():
        raise CannotEvaluate("balls: a division by an enclosure of zero or a value outside a domain")
    return mpmath.mp.make_mpf(number._mpf_)


def radius(number: Any) -> Any:
    """The radius of a ball: how far the number may lie from its centre."""
    return centre(number.rad())


class _Printer(MpmathPrinter):
    """Names without a module, found in the table below; powers by name: Arb's own is undefined on a ball around 0."""

    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})

    def _print_Pow(self, expr: Expr, rational: bool = False) -> str:
        if expr.exp.is_Rational and expr.exp.q == 2 and expr.exp.p in (1, -1):
            root = f"sqrt({self._print(expr.base)})"
            return root if expr.exp.p == 1 else f"(1/{root})"
        return f"power({self._print(expr.base)}, {self._print(expr.exp)})"

    def _print_Pi(self, expr: Expr) -> str:
        return "pi()"

    def _print_Exp1(self, expr: Expr) -> str:
        return "e()"


def power(base: Any, exponent: Any) -> Any:
    """base^exponent."""
    base = arb(base)
    if isinstance(exponent, int):
        return whole_power(base, exponent)
    return base ** arb(exponent)


_NAMES = """
    gammainc digamma polygamma beta zeta besselj bessely besseli besselk expint ei ci si hyp1f1 hyp2f1 floor ceil
"""
"""Functions that mpmath alone has, under the names that the printer gives them."""


def _log1pexp(y: Any) -> Any:
    y = arb(y)
    return y + (-y).exp().log1p() if y > 0 else y.exp().log1p()


def _sign(y: Any) -> Any:
    y = arb(y)
    return arb(1) if y > 0 else arb(-1) if y < 0 else arb(0)


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of balls as a function of any numbers."""
    return lambda *numbers: function(*map(arb, numbers))


def _by_mpmath(name: str) -> Callable[..., Any]:
    """A function that Arb lacks, at the centres of its arguments; its change within the balls is estimated from their ends."""
    function = getattr(mpmath, name)

    def call(*arguments: Any) -> Any:
        balls = [arb(y) for y in arguments]
        with mpmath.workprec(ctx.prec + 10):
            middle = function(*map(centre, balls))
            ends = [function(*(centre(y) + side * radius(y) for y in balls)) for side in (-1, 1)]
            error = sum(abs(end - middle) for end in ends) + abs(middle) * mpmath.ldexp(1, 4 - ctx.prec)
        return from_mpf(middle, error)

    return call


@lru_cache(maxsize=4096)
def _compiled(symbols: tuple[Symbol, ...], exprs: tuple[Expr, ...]) -> Callable[..., Sequence[Any]]:
    return lambdify(symbols, [stable(e) for e in exprs], modules=[_namespace()], printer=_Printer(), cse=True)


def _namespace() -> dict[str, Any]:
    names: dict[str, Any] = {name: _by_mpmath(name) for name in _NAMES.split()}
    names |= {name: _lifted(function) for name, function in FUNCTIONS.items()}
    return names | {
        "mpf": lambda y: arb(fmpq(y)) if isinstance(y, int) else from_mpf(mpmath.mpf(y)),
        "power": power,
        "pi": arb.pi,
        "e": arb.const_e,
        "sqrt": _lifted(methodcaller("sqrt")),
        "lambertw": names["LambertW"],
        "log1pexp": _log1pexp,
        "sign": _sign,
        "fabs": names["Abs"],
        "Heaviside": lambda y, half=0.5: arb(1) if arb(y) > 0 else arb(0) if arb(y) < 0 else arb(half),
        "max": names["Max"],
        "min": names["Min"],
        "abs": names["Abs"],
        "inf": arb(float("inf")),
        "ninf": arb(float("-inf")),
    }
