"""The referee: the value of an expression by its definition, by routes that share no code with ``symslr.evaluation``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import ctx
from mpmath import mp, mpf
from sympy import Basic, Expr, Float, Limit, Rational, Symbol

from symslr.expression.value import Kind, Value
from symslr.model.length_law import LengthLaw
from symslr.referee import definitions, extrema, joint, signs
from symslr.referee.arithmetic import Arithmetic, Balls, CannotReferee, Floats, bits_for
from symslr.referee.interpreter import Interpreter
from symslr.referee.plans import NotFinite, NotPlanned, Quadrature, TooCostly
from symslr.referee.randomised import NOTHING_SAMPLED, sampled_value
from symslr.referee.scope import Frame, Scope

FLOAT_DIGITS = 13
ROUNDING = 2e-15
"""Rounding of a float pass, relative to the largest absolute integral or term: 1e-15 was the worst seen."""

DOUBT = 2
"""Two passes of like fineness may err on the same side: softmax-1 at L = 4, nu = 92.3 was off by 1.1 of their difference."""

BALL_SHARE = 0.4
"""Part of the time after which the full precision is given up for floats."""

FLOAT_SHARE = 0.6
"""The same for floats, where samples may still do."""

__all__ = ["CannotReferee", "definitions", "extrema", "joint", "referee", "signs"]


def referee(expr: Expr, values: Mapping[Any, Any], digits: int = 30, seconds: float = 20.0) -> Value:
    """``expr`` at ``values`` by definition: expectations on explicit grids against their densities, sums written out.

    A first pass in floats finds where every integrand has its mass and how many nodes resolve it. Two passes with
    different grids at the full precision follow (one, where floats are all that is asked for); twice the difference is
    the claimed error, and the grids of the last are finer, wider and shifted. Where ``digits`` would take too long, floats
    have to do. Where no grid is affordable, as for five tokens and more, sequences are sampled: the value is statistical,
    its error one standard error, and ``digits`` of it says how many digits are certain.

    Args:
        expr: an expression of the algebra.
        values: symbol or name -> int, Fraction, Rational or decimal float; ``"P_L"`` -> ``LengthLaw``.
        digits: significant digits aimed at.
        seconds: time after which a precision is given up.

    Raises:
        CannotReferee: where no definition-level route exists or none is affordable; the message names the reason.
    """
    return measured(expr, values, digits, seconds)[0]


def measured(expr: Expr, values: Mapping[Any, Any], digits: int = 30, seconds: float = 20.0) -> tuple[Value, float]:
    """``referee``'s value, and the largest mean of an absolute integrand on the way: the scale of a mean that vanishes."""
    began = time.process_time()
    attempts: list[tuple[Any, int]] = (
        [(Balls, digits)] if digits > FLOAT_DIGITS and not expr.has(*joint.FLOATS_ONLY) else []
    )
    attempts += [(np.float64, min(digits, FLOAT_DIGITS)), (np.longdouble, min(digits, FLOAT_DIGITS))]
    reason: CannotReferee | None = None
    for kind, aim in attempts:
        left = seconds - (time.process_time() - began)
        if left <= 0:
            break
        share = BALL_SHARE if kind is Balls else FLOAT_SHARE
        try:
            value, error, method, scale = _attempt(expr, values, kind, aim, left * share)
        except (NotFinite, NotPlanned) as elsewhere:
            reason = elsewhere
            continue
        except TooCostly as cost:
            reason = cost
            if kind is np.float64:
                break
            continue
        except CannotReferee as refusal:
            reason = refusal
            break
        return _value(value, error, method, time.process_time() - began), scale
    left = seconds - (time.process_time() - began)
    try:
        return sampled_value(partial(_evaluate, expr, values), left)
    except CannotReferee as refusal:
        if reason is None or str(refusal) == NOTHING_SAMPLED:
            raise reason or refusal from None
        raise type(reason)(f"{reason}; samples: {refusal}") from None


def _attempt(
    expr: Expr, values: Mapping[Any, Any], kind: Any, digits: int, seconds: float
) -> tuple[mpf, mpf, str, float]:
    deadline = time.process_time() + seconds
    floats = Floats(np.longdouble if kind is np.longdouble else np.float64)
    plans: dict[Any, Any] = {}
    places: dict[Any, Any] = {}
    with np.errstate(all="ignore"), _precision(64):
        planning = Quadrature(floats, digits, plans, planning=True, deadline=deadline)
        planned = _evaluate(expr, values, planning, places)
    if kind is Balls and planning.floats_only:
        raise NotPlanned("floats found a route that balls do not have")
    arithmetic: Arithmetic = Balls(bits_for(digits)) if kind is Balls else floats
    bits = arithmetic.bits if isinstance(arithmetic, Balls) else 64
    magnitude = planning.magnitude
    with np.errstate(all="ignore"), _precision(bits), mp.workprec(bits):
        results = [] if kind is Balls else [_midpoint(planned)]
        for scale, shifted in ((0.8, False), (1.0, True)) if kind is Balls else ((1.1, True),):
            pass_ = Quadrature(arithmetic, digits, plans, scale=scale, shifted=shifted, deadline=deadline)
            results.append(_midpoint(_evaluate(expr, values, pass_, dict(places))))
        magnitude = max(magnitude, *(abs(float(value)) for value, _ in results))
        rounding = ROUNDING * magnitude if kind is not Balls else 0
        (first, _), (value, radius) = results
        error = DOUBT * abs(value - first) + radius + rounding + planning.noise
        if expr.has(Limit):
            error *= 10
    where = "balls" if kind is Balls else "long double" if kind is np.longdouble else "float64"
    return value, error, f"definition on explicit grids, {where}", planning.magnitude


def _evaluate(expr: Expr, values: Mapping[Any, Any], quadrature: Quadrature, places: dict[Any, Any]) -> Any:
    integers: dict[Basic, int] = {}
    numbers: dict[Basic, Any] = {}
    laws: dict[str, LengthLaw] = {}
    by_name = {str(key): value for key, value in values.items()}
    laws.update({name: value for name, value in by_name.items() if isinstance(value, LengthLaw)})
    for symbol in expr.free_symbols:
        if not isinstance(symbol, Symbol) or str(symbol) not in by_name or str(symbol) in laws:
            continue
        number = _fraction(by_name[str(symbol)], symbol)
        if isinstance(number, Fraction) and number.denominator == 1 and symbol.is_integer:
            integers[symbol] = int(number)
        else:
            numbers[symbol] = number if isinstance(number, Fraction) else None
    interpreter = Interpreter(quadrature.arithmetic, quadrature, laws, places)
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


def _value(value: mpf, error: mpf, method: str, seconds: float) -> Value:
    digits = 0 if error >= abs(value) else int(mp.log10(abs(value) / error)) if error > 0 else mp.dps
    return Value(value, error, Kind.ESTIMATED, digits, method, seconds)


@contextmanager
def _precision(bits: int) -> Iterator[None]:
    """Arb's global precision, put back on the way out."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before
