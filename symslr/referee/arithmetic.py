"""Two arithmetics for the referee behind one face: machine floats, and balls of any precision (Arb).

Arrays are NumPy arrays in both: of floats, or of ``flint.arb`` objects. A ball carries its own rounding error.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from operator import methodcaller
from typing import Any, final

import numpy as np
from flint import arb, ctx, fmpq
from scipy import special
from sympy import Float, NumberSymbol, Rational

Array = Any
"""A NumPy array, or one number of the arithmetic at hand."""


class CannotReferee(ValueError):
    """The referee knows no definition-level route to this expression; the message says which node and why."""


class NoDensity(CannotReferee):
    """What stands for the density of a law is negative somewhere or does not integrate to 1: no route helps."""


class Arithmetic(ABC):
    """Abstract: exact constants become numbers, names of functions become array functions."""

    dtype: Any
    block: int
    """Elements of one array beyond which it is cut into blocks: what a processor's cache holds, or the memory."""
    price: int
    """Work of one operation on one number."""

    coarseness: float
    """Rounding beside that of double precision."""

    @abstractmethod
    def rational(self, value: Fraction) -> Array:
        """The number nearest to a fraction."""

    @abstractmethod
    def pi(self) -> Array:
        """pi."""

    @abstractmethod
    def constant(self, value: NumberSymbol) -> Array:
        """pi, E, EulerGamma, ... as a number."""

    @abstractmethod
    def function(self, name: str) -> Callable[..., Array] | None:
        """The array function called ``name`` in SymPy, or None."""

    @abstractmethod
    def midpoint(self, value: Array) -> float:
        """A scalar as a float."""

    def exact(self, value: object) -> Array:
        """An int, a Fraction, a dyadic float or a SymPy number as a number of this arithmetic."""
        if isinstance(value, (int, np.integer)):
            return self.rational(Fraction(int(value)))
        if isinstance(value, (float, np.floating)):
            return self.rational(Fraction(float(value)))
        if isinstance(value, Fraction):
            return self.rational(value)
        if isinstance(value, Rational):
            return self.rational(Fraction(int(value.p), int(value.q)))
        if isinstance(value, Float):
            return self.rational(Fraction(str(value)))
        if isinstance(value, NumberSymbol):
            return self.constant(value)
        raise CannotReferee(f"{value!r} is not a real number")

    def array(self, values: list[Any]) -> Array:
        """A one-dimensional array of numbers that are exact in double precision."""
        result = np.empty(len(values), dtype=self.dtype)
        result[:] = [arb(float(v)) for v in values]
        return result

    def call(self, name: str, *arguments: Array) -> Array:
        """``function(name)`` applied."""
        function = self.function(name)
        if function is None:
            raise CannotReferee(f"the function {name} has no definition here")
        return function(*arguments)


@final
class Floats(Arithmetic):
    """float64, or long double where a float64 overflows."""

    block = 100_000

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype = dtype
        self.coarseness = float(np.finfo(dtype).eps / np.finfo(np.float64).eps)
        self.price = 1 if dtype is np.float64 else 20

    def array(self, values: list[Any]) -> Array:
        return np.array([float(v) for v in values], dtype=self.dtype)

    def rational(self, value: Fraction) -> Array:
        if self.dtype is np.float64:
            return np.float64(value.numerator / value.denominator)
        return self.dtype(str(value.numerator)) / self.dtype(str(value.denominator))

    def pi(self) -> Array:
        return 4 * np.arctan(self.dtype(1))

    def constant(self, value: NumberSymbol) -> Array:
        return self.dtype(str(value.evalf(25)))

    def midpoint(self, value: Array) -> float:
        return float(value)

    def function(self, name: str) -> Callable[..., Array] | None:
        found = _FLOAT.get(name)
        if found is None or self.dtype is np.float64 or name in _WIDE:
            return found
        self.coarseness = 1.0
        return lambda *arguments: found(*(np.asarray(a, dtype=np.float64) for a in arguments)).astype(self.dtype)


@final
class Balls(Arithmetic):
    """Real balls with ``bits`` of precision; the caller keeps ``flint.ctx.prec`` at ``bits`` while they are in use."""

    dtype = object
    block = 10_000
    price = 80
    coarseness = 0.0

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def rational(self, value: Fraction) -> Array:
        return arb(fmpq(value.numerator, value.denominator))

    def pi(self) -> Array:
        return arb.pi()

    def constant(self, value: NumberSymbol) -> Array:
        return arb(str(value.evalf(int(ctx.prec * 0.302) + 10)))

    def midpoint(self, value: Array) -> float:
        return float(value.mid())

    def function(self, name: str) -> Callable[..., Array] | None:
        return _BALL.get(name)


def _binomial(n: Array, k: Array, gamma: Callable[[Array], Array]) -> Array:
    return gamma(n + 1) / gamma(k + 1) / gamma(n - k + 1)


_ELEMENTARY = (
    *("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
_SPECIAL = ("erf", "erfc", "erfi", "erfinv", "erfcinv", "gamma", "digamma")
_WIDE = frozenset({*_ELEMENTARY, "Abs", "sign", "floor", "ceiling", "Max", "Min", "Heaviside"})
"""Functions that NumPy itself computes in long double."""

_FLOAT: dict[str, Callable[..., Array]] = {
    **{name: getattr(np, f"arc{name[1:]}" if name[0] == "a" else name) for name in (*_ELEMENTARY, "sign", "floor")},
    **{name: getattr(special, name) for name in (*_SPECIAL, "erfcx", "beta", "zeta")},
    "Abs": np.abs,
    "ceiling": np.ceil,
    "Max": np.maximum,
    "Min": np.minimum,
    "Heaviside": lambda t: np.where(t > 0, 1.0, np.where(t < 0, 0.0, 0.5)),
    "factorial": lambda t: special.gamma(t + 1),
    "loggamma": special.gammaln,
    "LambertW": lambda t: special.lambertw(t).real,
    "lowergamma": lambda s, t: special.gammainc(s, t) * special.gamma(s),
    "uppergamma": lambda s, t: special.gammaincc(s, t) * special.gamma(s),
    "binomial": special.binom,
    "Ei": special.expi,
    "besselj": special.jv,
    "besseli": special.iv,
    "besselk": special.kv,
}


def _each(function: Callable[..., Any], arity: int = 1) -> Callable[..., Array]:
    return np.frompyfunc(function, arity, 1)


_BALL: dict[str, Callable[..., Array]] = {
    **{
        name: _each(methodcaller(name))  # arb.exp(2.0) would read a float's memory as that of a ball
        for name in (*_ELEMENTARY, *_SPECIAL, "floor")
    },
    "Abs": _each(abs),
    "sign": _each(methodcaller("sgn")),
    "ceiling": _each(methodcaller("ceil")),
    "Max": _each(lambda s, t: s.max(t), 2),
    "Min": _each(lambda s, t: s.min(t), 2),
    "Heaviside": _each(lambda t: (1 + t.sgn()) / 2),
    "erfcx": _each(lambda t: (t * t).exp() * t.erfc()),
    "factorial": _each(lambda t: (t + 1).gamma()),
    "loggamma": _each(methodcaller("lgamma")),
    "LambertW": _each(lambda t: t.lambertw()),
    "lowergamma": _each(lambda s, t: t.gamma_lower(s), 2),
    "uppergamma": _each(lambda s, t: t.gamma_upper(s), 2),
    "beta": _each(lambda s, t: s.gamma() * t.gamma() / (s + t).gamma(), 2),
    "binomial": _each(lambda n, k: _binomial(n, k, methodcaller("gamma")), 2),
    "Ei": _each(methodcaller("ei")),
    "besselj": _each(lambda order, t: t.bessel_j(order), 2),
    "besseli": _each(lambda order, t: t.bessel_i(order), 2),
    "besselk": _each(lambda order, t: t.bessel_k(order), 2),
    "zeta": _each(methodcaller("zeta")),
}


def bits_for(digits: int) -> int:
    """Binary precision that leaves ``digits`` decimal digits after the sums of a large grid."""
    return math.ceil(digits * 3.33) + 40
