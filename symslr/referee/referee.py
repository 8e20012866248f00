"""The referee: the value of an expression by its definition, by routes that share no code with ``symslr.evaluation``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isclose
from typing import Any

import numpy as np
from flint import ctx
from mpmath import mp, mpf
from sympy import Basic, Expr, Float, Limit, Rational, Symbol

from symslr.expression.value import Kind, Value
from symslr.model.length_law import LengthLaw
from symslr.parallel.serial import one_at_a_time
from symslr.referee import configurations, definitions, extrema, joint, signs
from symslr.referee.arithmetic import Balls, CannotReferee, Floats, NoDensity, bits_for
from symslr.referee.interpreter import Interpreter, may_be_sampled
from symslr.referee.plans import DOUBT, NotPlanned, Quadrature
from symslr.referee.randomised import NOTHING_SAMPLED, sampled_value
from symslr.referee.rounding import Rounding
from symslr.referee.scan import Diverges, NotFinite
from symslr.referee.scope import Frame, Scope, symbols_of
from symslr.referee.work import METER, SECOND, TooCostly

FLOAT_DIGITS = 13
FIRST_SCALE = 0.8
"""Nodes of the first pass in balls beside those of the last."""

BALL_SHARE = 0.2
"""Part of the work after which the full precision is given up for floats."""

LEAST = mpf(2) ** -1022
"""What float64 may take for 0."""
SAME_TAIL = 1e-6
"""Difference of two logarithms, in float64 and in long doubles, of a tail that is no rounding."""

FLOAT_SHARE = 0.6
"""The same for floats, where samples may still do."""

WORK = 20 * SECOND
"""What one value may take by default."""

__all__ = ["CannotReferee", "configurations", "definitions", "extrema", "joint", "referee", "signs"]


@one_at_a_time
def referee(expr: Expr, values: Mapping[Any, Any], digits: int = 30, work: float = WORK) -> Value:
    """``expr`` at ``values`` by definition: expectations on explicit grids against their densities, sums written out.

    A first pass in floats finds where every integrand has its mass and how many nodes resolve it. Two passes with
    different grids at the full precision follow (one, where floats are all that is asked for); twice the difference is
    the claimed error, and the grids of the last are finer, wider and shifted. Where ``digits`` would take too much work, floats
    have to do. Where no grid is affordable, as for five tokens and more, sequences are sampled: the value is statistical,
    its error one standard error, and ``digits`` of it says how many digits are certain.

    Args:
        expr: an expression of the algebra.
        values: symbol or name -> int, Fraction, Rational or decimal float; ``"P_L"`` -> ``LengthLaw``.
        digits: significant digits aimed at.
        work: count of ``symslr.referee.work`` after which a precision is given up; no clock decides.

    Raises:
        CannotReferee: where no definition-level route exists or none is affordable; the message names the reason.
    """
    return measured(expr, values, digits, work)[0]


def measured(expr: Expr, values: Mapping[Any, Any], digits: int = 30, work: float = WORK) -> tuple[Value, float]:
    """``referee``'s value, and the largest mean of an absolute integrand on the way: the scale of a mean that vanishes."""
    with METER.within(work):
        return _measured(expr, values, digits, work)


def _measured(expr: Expr, values: Mapping[Any, Any], digits: int, work: float) -> tuple[Value, float]:
    reason = CannotReferee("no work is allowed")
    balls = digits > FLOAT_DIGITS and not expr.has(*joint.FLOATS_ONLY)
    for kind in (np.longdouble,) if expr.has(*joint.FLOATS_ONLY) else (np.float64, np.longdouble):
        try:
            with METER.within(METER.left * FLOAT_SHARE):
                with np.errstate(all="ignore"), _precision(64):
                    planned = _Planned.of(expr, values, Floats(kind), min(digits, FLOAT_DIGITS))
                floats = _Floats.read(expr, values, planned)
        except Diverges as seen:
            if isinstance(reason, Diverges) and isclose(reason.tail, seen.tail, abs_tol=SAME_TAIL):
                raise
            reason = seen
            continue
        except (NotFinite, NotPlanned) as elsewhere:
            reason = elsewhere
            continue
        except NoDensity:
            raise
        except CannotReferee as refusal:
            reason = refusal
            break
        found = floats.value, floats.error, floats.method
        if floats.blind or balls:
            try:
                with METER.within(work * BALL_SHARE):
                    found = _sharpened(expr, values, floats, digits)
            except (TooCostly, NotPlanned, NotFinite) as refusal:
                if floats.blind:  # the zero of an integrand, or of floats: only balls tell
                    reason = NotFinite(str(refusal))
                    continue
        return _value(*found), floats.magnitude
    if isinstance(reason, Diverges):
        reason = NotFinite("the tail of an integral is not told from rounding")
    if not may_be_sampled(expr):
        raise reason
    try:
        return sampled_value(partial(_evaluate, expr, values))
    except CannotReferee as refusal:
        if str(refusal) == NOTHING_SAMPLED:
            raise reason from None
        raise type(reason)(f"{reason}; samples: {refusal}") from None


@dataclass(frozen=True)
class _Floats:
    """What two passes in floats found.

    Attributes:
        kind: float64 or long double.
        magnitude: the largest mean of an absolute integrand.
        blind: whether an integrand was 0 in floats wherever it was looked at.
    """

    value: mpf
    error: mpf
    method: str
    kind: Any
    magnitude: float
    blind: bool

    @classmethod
    def read(cls, expr: Expr, values: Mapping[Any, Any], planned: _Planned) -> _Floats:
        """A pass on finer grids than those that were laid, moved and widened."""
        floats, aim = planned.floats, planned.quadrature.digits
        with np.errstate(all="ignore"), _precision(64):
            again = Quadrature(floats, aim, planned.plans, scale=1.1, shifted=True)
            rounding = Rounding(again)
            result = _evaluate(expr, values, again, dict(planned.places), rounding)
            value, _ = _midpoint(result)
            moved = rounding.error(lambda moving: _evaluate(expr, values, again, dict(planned.places), moving), result)
        error = DOUBT * abs(value - planned.value) + mpf(moved) + LEAST
        if expr.has(Limit):
            error *= 10
        where = "long double" if floats.dtype is np.longdouble else "float64"
        method = f"definition {_told(planned.quadrature.routes | again.routes)}, {where}"
        return cls(value, error, method, floats.dtype, planned.quadrature.magnitude, again.blind)


@dataclass(frozen=True)
class _Planned:
    """A pass in floats that lays the grids: where the mass of every integrand is, how many nodes resolve it, where minima are."""

    value: mpf
    floats: Floats
    quadrature: Quadrature
    plans: dict[Any, Any]
    places: dict[Any, Any]

    @classmethod
    def of(cls, expr: Expr, values: Mapping[Any, Any], floats: Floats, digits: int) -> _Planned:
        plans: dict[Any, Any] = {}
        places: dict[Any, Any] = {}
        quadrature = Quadrature(floats, digits, plans, planning=True)
        value, _ = _midpoint(_evaluate(expr, values, quadrature, places))
        return cls(value, floats, quadrature, plans, places)


def _sharpened(expr: Expr, values: Mapping[Any, Any], floats: _Floats, digits: int) -> tuple[mpf, mpf, str]:
    """Value, error and method of two passes in balls, on grids that reach as far as the digits ask.

    Raises:
        TooCostly: where that takes too much work.
    """
    with np.errstate(all="ignore"), _precision(64):
        planned = _Planned.of(expr, values, Floats(floats.kind), digits)
    arithmetic = Balls(bits_for(digits))
    results, routes = [], set(planned.quadrature.routes)
    with np.errstate(all="ignore"), _precision(arithmetic.bits), mp.workprec(arithmetic.bits):
        for scale, shifted in ((FIRST_SCALE, False), (1.0, True)):
            pass_ = Quadrature(arithmetic, digits, planned.plans, scale=scale, shifted=shifted)
            results.append(_midpoint(_evaluate(expr, values, pass_, dict(planned.places))))
            routes |= pass_.routes
        (first, _), (value, radius) = results
        error = DOUBT * abs(value - first) + radius
    if expr.has(Limit):
        error *= 10
    return value, error, f"definition {_told(routes)}, balls"


def _told(routes: Iterable[str]) -> str:
    """How the expectations were summed, in words."""
    return ", ".join(sorted(routes)) or "as a formula"


def _evaluate(
    expr: Expr,
    values: Mapping[Any, Any],
    quadrature: Quadrature,
    places: dict[Any, Any],
    rounding: Rounding | None = None,
) -> Any:
    integers: dict[Basic, int] = {}
    numbers: dict[Basic, Any] = {}
    laws: dict[str, LengthLaw] = {}
    by_name = {str(key): value for key, value in values.items()}
    laws.update({name: value for name, value in by_name.items() if isinstance(value, LengthLaw)})
    for symbol in symbols_of(expr):
        if not isinstance(symbol, Symbol) or str(symbol) not in by_name or str(symbol) in laws:
            continue
        number = _fraction(by_name[str(symbol)], symbol)
        if isinstance(number, Fraction) and number.denominator == 1 and symbol.is_integer:
            integers[symbol] = int(number)
        else:
            numbers[symbol] = number if isinstance(number, Fraction) else None
    interpreter = Interpreter(quadrature.arithmetic, quadrature, laws, places, rounding)
    result = interpreter.value(expr, Scope(Frame(numbers), integers))
    if np.ndim(result) > 0:
        raise CannotReferee(f"{expr} is not a number at these values")
    return result


def _fraction(value: object, symbol: Symbol) -> Fraction:
    if isinstance(value, Rational):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    if isinstance(value, (float, Float)):
        return Fraction(str(value))
    raise CannotReferee(f"{symbol}: found {value!r}; expected a rational number")


def _midpoint(result: Any) -> tuple[mpf, mpf]:
    """The number and its rounding error, as mpmath numbers."""
    if hasattr(result, "mid"):
        if not result.is_finite():
            raise NotFinite("the value is not finite")
        man, exp = (int(part) for part in result.mid().man_exp())
        radius, power = (int(part) for part in result.rad().man_exp())
        return mpf(man) * mpf(2) ** exp, mpf(radius) * mpf(2) ** power
    if not np.isfinite(result):
        raise NotFinite("the value is not finite")
    head = float(result)
    return mpf(head) + mpf(float(result - type(result)(head))), mpf(0)


def _value(value: mpf, error: mpf, method: str) -> Value:
    digits = 0 if error >= abs(value) else int(mp.log10(abs(value) / error)) if error > 0 else mp.dps
    return Value(value, error, Kind.ESTIMATED, digits, method)


@contextmanager
def _precision(bits: int) -> Iterator[None]:
    """Arb's global precision, put back on the way out."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before
