"""A number with its error, the kind of that error, and the method that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import fneg, inf, isfinite, log10, mp, mpf, nstr, workdps

from symslr.model.exact import exact

NOTHING = 0.01
"""Part of its error up to which a number is printed as 0: 7e-109 +- 7e-4 has no digits."""
STANDARD_ERRORS = 4
"""By which statistical values differ where one is said to be larger."""
SPARE_DIGITS = 5
"""Beyond those of the numbers, in which sums and products are formed."""
HUGE = 20_000
"""Power of two beyond which a number is not written out as a fraction."""


class Kind(StrEnum):
    """What the error of a Value means."""

    CERTIFIED = "certified"
    """A proved enclosure: |true - value| <= error."""
    ESTIMATED = "estimated"
    """A numerical estimate of the error of a deterministic method, meant to be an upper bound."""
    STATISTICAL = "statistical"
    """One standard error of a random method."""


@dataclass(frozen=True, repr=False)
class Value:
    """``value`` +- ``error``; mpmath numbers, or float64 arrays where parameters were arrays.

    Attributes:
        value, error: the number and its error, absolute.
        kind: what the error means.
        digits: correct significant digits that the error leaves (the smallest over an array).
        method: how it was made, in words.
        seconds: wall time.
        at: of a least value the place at which it is attained, by the name of the parameter.
        exact: the number as a formula, where a closed form gives one.
        sources: key and place of what it rests on, for ``symslr.cite``.
        result: what it is one number of, with all else that was found: a fit, simulated runs, a report; else None.

    Values and numbers add, subtract, multiply and divide; errors are carried through, as bounds, or as independent standard
    errors where one is statistical. ``<`` and ``>`` are told where the errors (four standard ones) leave no
    doubt, else they raise ``ValueError``.
    """

    value: Any
    error: Any
    kind: Kind
    digits: int
    method: str
    seconds: float = field(default=0.0, compare=False)
    at: Mapping[str, Value] = field(default_factory=dict, compare=False)
    exact: str | None = field(default=None, compare=False)
    sources: tuple[str, ...] = field(default=(), compare=False)
    result: Any = field(default=None, compare=False)

    def __float__(self) -> float:
        return float(self.value)

    __array_ufunc__ = None  # an array on the left hands its sum to the value, which knows its error

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.value if isinstance(self.value, np.ndarray) else float(self.value), dtype)

    def __format__(self, spec: str) -> str:
        """As a decimal number is formatted; the number and its digits without a format."""
        return format(Decimal(nstr(self.value, max(self.digits, 17) + 3)), spec) if spec else str(self)

    def __add__(self, other: object) -> Value:
        return _combined(self, other, "+", lambda x, y: x + y, lambda x, y: (1, 1))

    def __radd__(self, other: object) -> Value:
        return self + other

    def __sub__(self, other: object) -> Value:
        return _combined(self, other, "-", lambda x, y: x - y, lambda x, y: (1, 1))

    def __rsub__(self, other: object) -> Value:
        return -self + other

    def __mul__(self, other: object) -> Value:
        return _combined(self, other, "*", lambda x, y: x * y, lambda x, y: (abs(y), abs(x)))

    def __rmul__(self, other: object) -> Value:
        return self * other

    def __truediv__(self, other: object) -> Value:
        return NotImplemented if _answers(other) else self * _value_of(other, self).inverse()

    def __rtruediv__(self, other: object) -> Value:
        return self.inverse() * other

    def __neg__(self) -> Value:
        negative = -self.value if isinstance(self.value, np.ndarray) else fneg(self.value, exact=True)
        return replace(self, value=negative)

    def __abs__(self) -> Value:
        if isinstance(self.value, np.ndarray):
            return replace(self, value=abs(self.value))
        return -self if self.value < 0 else self

    def __pow__(self, power: Any) -> Value:
        """Whole powers, and real ones of a value whose error excludes 0.

        Raises:
            ValueError: for another power of a value that may be 0 or negative.
        """
        number = exact(power, "power")
        p: Any = int(number) if number.is_Integer else float(number)
        if p < 0:
            return self.inverse() ** -number
        size = abs(self.value)
        if not isinstance(p, int) and not np.all(self.value > self.error):
            raise ValueError(f"({self!r})^{power}: expected a whole power, or a value above its error")
        with workdps(max(self.digits, 15) + SPARE_DIGITS):
            p = p if isinstance(p, int) or isinstance(size, np.ndarray) else mpf(number._to_mpmath(mp.prec))
            above = (size + self.error) ** p - size**p
            below = 0 if isinstance(p, int) else size**p - (size - self.error) ** p
            error = (above + below + abs(above - below)) / 2  # the larger one: powers are monotone on either side of 0
            if self.kind is Kind.STATISTICAL:
                error = p * size ** (p - 1) * self.error if p else 0 * self.error
            found = _made(self.value**p, error, self.kind, f"({self.method})^{power}")
            return replace(found, sources=self.sources)

    def __round__(self, places: int = 0) -> float:
        return round(float(self.value), places)

    def inverse(self) -> Value:
        """1 over the value.

        Raises:
            ZeroDivisionError: where its error does not exclude 0.
        """
        if not np.all(abs(self.value) > self.error):
            raise ZeroDivisionError(f"1/({self!r}): the error does not exclude 0")
        with workdps(max(self.digits, 15) + SPARE_DIGITS):
            error = self.error / (abs(self.value) * (abs(self.value) - self.error))
            return replace(_made(1 / self.value, error, self.kind, f"1/({self.method})"), sources=self.sources)

    def __lt__(self, other: object) -> bool:
        return self._is_beside(other, -1)

    def __gt__(self, other: object) -> bool:
        return self._is_beside(other, 1)

    __le__, __ge__ = __lt__, __gt__  # what errors tell apart is not equal

    def _is_beside(self, other: object, side: int) -> bool:
        difference = self - other
        doubt = difference.error * (STANDARD_ERRORS if difference.kind is Kind.STATISTICAL else 1)
        if not np.all(abs(difference.value) > doubt):
            raise ValueError(f"{self!r} and {other!r} are not told apart by their errors")
        return bool(np.all(side * difference.value > 0))

    def z_score(self, other: object) -> Any:
        """How many standard errors this lies above another value, or a number: a float, or an array of them.

        Errors of deterministic values are bounds: what of the difference they may explain is left out, so that |z| is the least
        that they allow. Standard errors, of independent values, are added in quadrature.

        Raises:
            ValueError: where neither value has a standard error.
        """
        gap = np.asarray((self - other).value, float)
        spread: Any = 0.0
        bound: Any = 0.0
        for own in (self, other):
            if isinstance(own, Value) and own.kind is Kind.STATISTICAL:
                spread = np.hypot(spread, np.asarray(own.error, float))
            elif isinstance(own, Value):
                bound = bound + np.asarray(own.error, float)
        if not np.all(spread > 0):
            raise ValueError(f"z_score: found {self!r} and {other!r}; expected a standard error of one of them")
        found = np.sign(gap) * np.maximum(abs(gap) - bound, 0) / spread
        return found if found.ndim else float(found)

    def latex(self) -> str:
        """The number as LaTeX, with the digits that its error leaves."""
        return _latex(str(self))

    def __str__(self) -> str:
        """The number with as many digits as its error leaves; an array prints as an array."""
        return str(self.value) if isinstance(self.value, np.ndarray) else self.as_json()["value"]

    def __repr__(self) -> str:
        return f"{self} ± {self._printed_error(2)} ({self.kind})"

    def _repr_latex_(self) -> str | None:
        if isinstance(self.value, np.ndarray):
            return None
        return rf"${_latex(str(self))} \pm {_latex(self._printed_error(2))}\ \text{{({self.kind})}}$"

    def as_json(self) -> dict[str, Any]:
        """Numbers as decimal strings: value, error, kind, digits, method, seconds.

        The error is that of the number as printed: its own, and what the last digit leaves out.
        """
        return {
            "value": self._printed(),
            "error": self._printed_error(3),
            "kind": str(self.kind),
            "digits": self.digits,
            "method": self.method,
            "seconds": round(self.seconds, 6),
        }

    def _printed(self) -> str:
        if not isinstance(self.value, np.ndarray) and 0 < abs(self.value) <= NOTHING * self.error < inf:
            return "0.0"
        return nstr(self.value, max(self.digits, 1), strip_zeros=False)

    def _printed_error(self, digits: int) -> str:
        """The error with so many digits, rounded upwards; of an array the largest, without any text's rounding."""
        if isinstance(self.value, np.ndarray):
            return _upwards(_exact(np.max(self.error)), digits)
        text = self._printed()
        if not isfinite(self.value) or not isfinite(self.error):
            return nstr(mpf(self.error), digits)
        if max(_exponent(self.value), _exponent(self.error)) > HUGE:
            return _huge_error(self.value, self.error, text, digits)
        return _upwards(_exact(self.error) + abs(Fraction(Decimal(text)) - _exact(self.value)), digits)


def _answers(other: object) -> bool:
    """Whether it reckons with values itself, as a curve does."""
    return not isinstance(other, Value) and getattr(other, "__array_ufunc__", other) is None


def _value_of(number: object, beside: Value) -> Value:
    """A number, an array, a formula or its text as a value without an error but that of its rounding."""
    if isinstance(number, Value):
        return number
    if isinstance(number, np.ndarray):
        return Value(number.astype(float), np.zeros(number.shape), beside.kind, beside.digits, "array")
    found = exact(number, "number")
    with workdps(max(beside.digits, 15) + 2 * SPARE_DIGITS):
        return _made(mpf(found._to_mpmath(mp.prec)), mpf(0), beside.kind, str(number))


def _combined(one: Value, other: object, sign: str, of: Any, slopes: Any) -> Value:
    """A value of two, of which the second may be a number. Source of the bound: |x y - x' y'| <= |y| e + |x| e' + e e'."""
    if _answers(other):
        return NotImplemented
    second = _value_of(other, one)
    if isinstance(one.value, np.ndarray) or isinstance(second.value, np.ndarray):
        one, second = (
            replace(own, value=np.asarray(own.value, float), error=np.asarray(own.error, float))
            for own in (one, second)
        )
    with workdps(max(one.digits, second.digits, 15) + SPARE_DIGITS):
        first, last = slopes(one.value, second.value)
        kinds = (one.kind, second.kind)
        if other is one and sign == "-":
            error = 0 * one.error
        elif Kind.STATISTICAL in kinds and other is not one:
            error = ((first * one.error) ** 2 + (last * second.error) ** 2) ** 0.5
        else:
            error = first * one.error + last * second.error + (one.error * second.error if sign == "*" else 0)
        kind = next(own for own in (Kind.STATISTICAL, Kind.ESTIMATED, Kind.CERTIFIED) if own in kinds)
        found = _made(of(one.value, second.value), error, kind, f"{one.method} {sign} {second.method}")
    return replace(found, sources=tuple(dict.fromkeys((*one.sources, *second.sources))))


def _made(value: Any, error: Any, kind: Kind, method: str) -> Value:
    """A value with the rounding of its last operation in its error."""
    if isinstance(value, np.ndarray):
        error = error + np.abs(value) * 2.0**-52
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = float(np.max(np.where(value != 0, error / np.abs(value), 1.0)))
    else:
        error = error + abs(value) * mpf(10) ** (1 - mp.dps)
        worst = error / abs(value) if value != 0 else mpf(1)
    digits = max(0, int(-log10(worst))) if 0 < worst < 1 else 0
    return Value(value, error, kind, digits, method)


def _exact(number: Any) -> Fraction:
    """A float or an mpmath number as a fraction: nothing here depends on the precision that mpmath is at."""
    if not isinstance(number, mpf):
        return Fraction(float(number))
    sign, mantissa, exponent, _ = number._mpf_
    size = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -size if sign else size


def _exponent(number: Any) -> int:
    """Size of the power of two in a number."""
    return abs(int(number._mpf_[2])) if isinstance(number, mpf) else 0


def _huge_error(value: Any, error: Any, text: str, digits: int) -> str:
    """The error of a number as printed, no smaller, where fractions would have millions of digits.

    A power of two is rounded some hundred times on its way, each time by half a unit of the ``precision`` digits.
    """
    precision = len(text) + digits + 20
    with localcontext(Context(precision, ROUND_CEILING, MIN_EMIN, MAX_EMAX)):
        own, exact = _decimal(error), _decimal(value)
        slack = (own + abs(exact)).scaleb(3 - precision)
        total = own + abs(Decimal(text) - exact) + slack
    with localcontext(Context(digits, ROUND_CEILING, MIN_EMIN, MAX_EMAX)):
        return str(+total).lower()


def _decimal(number: Any) -> Decimal:
    """A number in the digits of the context."""
    if not isinstance(number, mpf):
        return Decimal(float(number))
    sign, mantissa, exponent, _ = number._mpf_
    size = Decimal(int(mantissa)) * Decimal(2) ** int(exponent)
    return -size if sign else size


def _upwards(number: Fraction, digits: int) -> str:
    """A positive number in decimals that is no smaller."""
    with localcontext(Context(digits, ROUND_CEILING, MIN_EMIN, MAX_EMAX)) as context:
        rounded = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return nstr(mpf(str(rounded)), digits)


def _latex(number: str) -> str:
    """A decimal number with its power of ten as LaTeX."""
    digits, _, power = number.partition("e")
    return rf"{digits}\times10^{{{int(power)}}}" if power else digits
