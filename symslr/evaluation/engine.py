"""``evaluate``: an expression and values in, a ``Value`` out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, Integral, Symbol

from symslr.budget import LONGEST, OutOfTime, processor_time
from symslr.evaluation.admission.admitted import check_admitted, check_means_exist
from symslr.evaluation.admission.guard import unheld
from symslr.evaluation.admission.inputs import PLAIN, Inputs, checked_digits, checked_inputs, one_point
from symslr.evaluation.errors import CannotEvaluate, FloatOnly, OutOfDigits, beside
from symslr.evaluation.nodes.node import Context, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.balls import Multiprecision
from symslr.evaluation.open_kernel import with_open_kernel
from symslr.evaluation.plan import canonical, plan, reduced_form, with_derivatives
from symslr.evaluation.strong_signal import by_expansion
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.quantity import conditioned, sources_of
from symslr.expression.value import Kind, Value
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, x
from symslr.parallel.serial import one_at_a_time

EXPONENTIAL = "arb-exponential"
BACKENDS = ("numpy", "mpmath", "arb", EXPONENTIAL)
FLOAT_DIGITS = 13
"""The float64 plan is tried first for at most so many digits."""
FLOAT_AIM = 12
"""Digits that float64 meshes aim at where none are asked for."""
DEFAULT_DIGITS = 10
"""Where no digits are asked for, a float64 value with so many is accepted."""
MULTIPRECISION_DIGITS = 15
"""Digits computed with more precision where none are asked for and float64 fails: as many as it has at its best."""
FLOAT_METHOD = "numpy: nested trapezoid rules in float64"
MULTIPRECISION_METHOD = "mpmath: nested trapezoid rules"
ATTEMPTS = 5
"""Of increasing precision; each adds the digits that were missing and one more. Where the loss does not grow with the
precision, the second succeeds."""


def evaluate(
    expr: Expr,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    backend: str | None = None,
    seconds: float | None = None,
    **named: object,
) -> Value:
    """The value of an expression at given parameters, with its error, which is proved or estimated as its ``kind`` says.

    Args:
        expr: any expression of the toolkit: elementary functions of expectations, quantities, integrals, sums, minima.
        values: a number for every free symbol, by name or symbol: integers, fractions, decimal floats, SymPy numbers;
            lists or arrays (broadcast) in float64; ``"P_L"`` takes a ``LengthLaw``.
        digits: significant digits. By default what float64 gives where that is ten digits or more (its error and digits
            are in the result), else 15.
        backend: ``"numpy"`` (float64), ``"mpmath"`` (any digits), ``"arb"`` (certified), ``"arb-exponential"`` (certified,
            for exponential kernels under Gaussian laws only, where it takes milliseconds). By default numpy for arrays and up
            to 13 digits where it reaches them, else Arb for exponential kernels, else mpmath.
        seconds: processor time after which it is given up; without limit by default, on Windows, and in threads other than
            the first.

    The Bayes risk at a signal too strong for any mesh comes from its expansion, as ``method`` says.

    Raises:
        CannotEvaluate: when the digits are out of reach, with the reason, when the first number of a task differs from its
            definition, or when the seconds are used up.
        ValueError: for missing, unknown or inadmissible values, digits or backends.
    """
    values = {**(values or {}), **named} if named else values
    if seconds is None:
        return _evaluated(expr, values, digits, backend)
    if isinstance(seconds, bool) or not (isinstance(seconds, (int, float)) and 0 < seconds <= LONGEST):
        raise ValueError(f"seconds: found {seconds!r}; expected a number above 0 and up to {LONGEST:g}")
    try:
        with processor_time(seconds):
            return _evaluated(expr, values, digits, backend)
    except OutOfTime:
        raise CannotEvaluate(
            f"no answer in {seconds:g} s of processor time; ask for fewer digits or give more"
        ) from None


@one_at_a_time
def _evaluated(expr: Expr, values: Mapping[Any, object] | None, digits: int | None, backend: str | None) -> Value:
    """As ``evaluate``, without a budget of time."""
    start = time.perf_counter()
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend: found {backend!r}; expected one of {', '.join(BACKENDS)}")
    wanted = MULTIPRECISION_DIGITS if digits is None else checked_digits(digits)
    expr = with_derivatives(expr if isinstance(expr, Expr) else exact(expr, "expression"))
    sources = sources_of(expr)
    inputs = checked_inputs(*symbols_of(expr), values or {})
    check_admitted(expr, inputs)
    if not inputs.arrays:
        check_means_exist(expr, inputs.given)
    far = None
    if not inputs.arrays and backend != "numpy":
        far = by_expansion(expr, inputs.given, wanted, lambda part, n: _of_expansion(part, inputs, n, backend))
    if far is not None and far.digits >= wanted:
        return replace(far, seconds=time.perf_counter() - start, sources=sources)
    try:
        value = _on_meshes(expr, inputs, digits, backend)
    except CannotEvaluate:
        if far is None or far.digits < (1 if digits is None else digits):
            raise
        return replace(far, seconds=time.perf_counter() - start, sources=sources)
    said = unheld(expr, one_point(inputs), value if value.method == FLOAT_METHOD and not inputs.arrays else None)
    method = f"{value.method}; {said}" if said else value.method
    return replace(value, method=method, seconds=time.perf_counter() - start, sources=sources)


def _of_expansion(expr: Expr, inputs: Inputs, digits: int, backend: str | None) -> Value:
    """A term of an expansion: proved if it is elementary; for one-dimensional integrals over Phi^L there is no proof."""
    if backend in ("arb", EXPONENTIAL) or not expr.has(Integral, ScalarExpectation):
        return _certified(expr, inputs, digits, EXPONENTIAL)
    if digits <= FLOAT_DIGITS:
        return _scalars(expr, inputs, digits, digits)
    return _estimated(expr, inputs, digits)


def _on_meshes(expr: Expr, inputs: Inputs, digits: int | None, backend: str | None) -> Value:
    """The value by reduction to integrals over few variables."""
    wanted = MULTIPRECISION_DIGITS if digits is None else digits
    if inputs.arrays:
        if backend not in (None, "numpy"):
            raise ValueError(f"backend {backend!r} takes single numbers; arrays go through backend 'numpy'")
        return _arrays(expr, inputs, digits or 0)
    if backend in ("arb", EXPONENTIAL):
        return _certified(expr, inputs, wanted, backend)
    if backend == "numpy":
        return _scalars(expr, inputs, digits or FLOAT_AIM, digits or 0)
    if backend is None and (digits is None or wanted <= FLOAT_DIGITS):
        return _float_first(expr, inputs, digits)
    return _any_digits(expr, inputs, wanted) if backend is None else _estimated(expr, inputs, wanted)


def symbols_of(expr: Expr) -> tuple[frozenset[Any], frozenset[Any]]:
    """(symbols that need a value, symbols that may have one though the reduced formula no longer contains them)."""
    found, kernel = reduced_form(expr)
    needed = symbols_in(found)
    if kernel is not None:
        needed |= symbols_in(kernel) - {x}
    opened, _ = with_open_kernel(expr)
    return needed, needed | (symbols_in(conditioned(opened)) - BOUND_IN_SEQUENCE) | symbols_in(expr)


@lru_cache(maxsize=512)
def symbols_in(expr: Expr) -> frozenset[Any]:
    """The free symbols of an expression, cached."""
    return frozenset(s for s in expr.free_symbols if isinstance(s, Symbol))


def _certified(expr: Expr, inputs: Inputs, digits: int, backend: str = "arb") -> Value:
    """A proved value: by the normal form of exponential kernels under Gaussian laws, the fastest of all ways, else on lines.

    By that form alone as the backend ``EXPONENTIAL``.
    """
    from symslr.evaluation.certified.backend import evaluate_arb

    return evaluate_arb(canonical(expr), inputs.scalars, digits, on_panels=backend != EXPONENTIAL)


def _estimated(expr: Expr, inputs: Inputs, digits: int) -> Value:
    try:
        value, error = raised(plan(expr).evaluate, inputs.scalars, digits)
        return _packed(value, error, digits)
    except OverflowError as fault:
        raise CannotEvaluate(f"mpmath: a mesh is placed with float64, which overflows here: {fault}") from fault


def _scope(scalars: Mapping[Symbol, Any], arithmetic: Multiprecision) -> dict[Symbol, Pair]:
    scope: dict[Symbol, Any] = {}
    for symbol, value in scalars.items():
        if isinstance(value, LengthLaw):
            scope[symbol] = value
        else:
            number = arithmetic.number(value)
            scope[symbol] = (number, mpmath.mpf(0) if value.is_Integer else abs(number) * arithmetic.eps)
    return scope


def raised(
    carry_out: Callable[[Context, dict[Symbol, Pair]], tuple[Any, ...]], scalars: Mapping[Symbol, Any], digits: int
) -> tuple[Any, ...]:
    """Carry a plan out at growing precision until value and error, its first two results, have the digits.

    Raises:
        CannotEvaluate: when they do not after a few rounds.
    """
    lost = 0
    for _ in range(ATTEMPTS):
        bits = int((digits + lost) * 3.3220) + 24
        with mpmath.workprec(bits):
            arithmetic = Multiprecision(bits)
            tolerance = mpmath.mpf(10) ** -(digits + lost + 1)
            result = carry_out(Context(arithmetic, tolerance), _scope(scalars, arithmetic))
            value, error = result[:2]
            if not (mpmath.isfinite(value) and mpmath.isfinite(error)):
                raise CannotEvaluate(f"mpmath gave {mpmath.nstr(value, 5)}; expected a finite number")
            wanted = abs(value) * mpmath.mpf(10) ** -digits
            if error <= wanted:
                return result
            missing = int(mpmath.ceil(mpmath.log10(error / wanted))) if value != 0 else digits
        lost += max(2, missing + 1)
    raise OutOfDigits(f"mpmath: {digits} digits are out of reach; {max(0, digits - missing)} were obtained")


def _packed(value: Any, error: Any, digits: int) -> Value:
    """A Value rounded to a little more than its digits."""
    reached = digits
    if value != 0 and error != 0:
        reached = max(digits, int(mpmath.floor(-mpmath.log10(error / abs(value)))))
    return Value(value, error, Kind.ESTIMATED, min(reached, digits + 5), MULTIPRECISION_METHOD)


def _any_digits(expr: Expr, inputs: Inputs, digits: int) -> Value:
    """A certified value, which is also the faster, where there is a proof that reaches the digits; else an estimated one."""
    try:
        value = _certified(expr, inputs, digits)
    except CannotEvaluate as no_proof:
        try:
            return _estimated(expr, inputs, digits)
        except CannotEvaluate as reason:
            beside(reason, no_proof)
            raise
    return value if value.digits >= digits else _estimated(expr, inputs, digits)


def float_scope(given: Mapping[Symbol, Any]) -> dict[Symbol, Pair]:
    """Parameters as (float, rounding error); length laws as they are. A float stands for the decimal that it prints as."""
    scope: dict[Symbol, Any] = {}
    for symbol, value in given.items():
        if isinstance(value, LengthLaw):
            scope[symbol] = value
        else:
            number = float(value) if type(value) in PLAIN else nearest(value)
            exact_here = number.is_integer() and (number != 0 or value == 0)
            scope[symbol] = (number, 0.0 if exact_here else abs(number) * FLOAT.eps + FLOAT.lost(number))
    return scope


def nearest(value: Expr) -> float:
    """The float64 next to a SymPy number; a ratio of integers is divided without the way through mpmath."""
    if value.is_Rational and abs(value.p) < 2**1000 and value.q < 2**1000:
        return value.p / value.q
    return float(value)


def finite(compute: Callable[[], Pair]) -> tuple[float, float]:
    """What a node gives in float64, as a finite number with a finite error.

    Raises:
        CannotEvaluate: when it is none.
    """
    try:
        with np.errstate(all="ignore"):  # what overflows is no number, and refused below
            value, error = (float(part) for part in compute())
    except (OverflowError, ZeroDivisionError, FloatingPointError) as fault:
        raise CannotEvaluate(f"float64 overflows: {fault}") from fault
    if not (np.isfinite(value) and np.isfinite(error)):
        raise CannotEvaluate(f"float64 gave {value} +- {error}; expected a finite number")
    return value, error


def digits_of(value: Any, error: Any) -> int:
    """Significant digits of a value with this error."""
    if error == 0:
        return 17
    if value == 0 or not mpmath.isfinite(error):
        return 0
    relative = abs(error / value)
    if isinstance(relative, float) and relative > 0:
        return max(0, math.floor(-math.log10(relative)))
    return max(0, int(mpmath.floor(-mpmath.log10(relative))))


def digits_of_arrays(values: Any, errors: Any) -> int:
    """The smallest number of digits over an array."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(errors == 0, 1e-17, errors / np.abs(values))
    return max(0, int(np.floor(-np.log10(np.max(relative))))) if np.all(np.isfinite(relative)) else 0


def grid_scopes(inputs: Inputs) -> tuple[tuple[int, ...], list[dict[Symbol, Pair]]]:
    """The shape of the broadcast arrays, and the float64 scope of each of their points in C order.

    Raises:
        ValueError: where they do not broadcast together.
    """
    try:
        grids = np.broadcast_arrays(*inputs.arrays.values())
    except ValueError:
        shapes = ", ".join(f"{s}: {np.shape(a)}" for s, a in inputs.arrays.items())
        raise ValueError(f"arrays do not broadcast together ({shapes}); give them one shape") from None
    fixed = float_scope(inputs.given)
    columns = zip(*(grid.ravel().tolist() for grid in grids))
    points = [fixed | {s: (v, abs(v) * FLOAT.eps) for s, v in zip(inputs.arrays, point)} for point in columns]
    return grids[0].shape, points


COARSEST = 1e-5
"""Largest tolerance: coarser meshes have fewer nodes but errors of their own size, so that one digit costs as much as four."""


def tolerance_of(digits: int) -> float:
    """The relative error aimed at for so many digits: one digit beyond them."""
    return min(max(10.0 ** -(digits + 1), 2e-15), COARSEST)


def _scalars(expr: Expr, inputs: Inputs, aim: int, required: int) -> Value:
    """The float64 value, refined to ``aim`` digits where they can be had.

    Raises:
        CannotEvaluate: when fewer digits than ``required`` are reached.
    """
    enough = 10.0 ** -(required or DEFAULT_DIGITS)  # another formula may take many times as long
    wanted = own = min(aim, FLOAT_DIGITS)
    while True:
        context = Context(FLOAT, tolerance_of(own), enough=enough)
        value, error = finite(partial(plan(expr).evaluate, context, float_scope(inputs.given)))
        reached = digits_of(value, error)
        if reached >= wanted or own >= FLOAT_AIM:
            break
        own = min(own + wanted - reached, FLOAT_AIM)  # a formula may lose digits that its integrals have
    if reached < required:
        raise _too_few(reached, required, "use backend 'mpmath'")
    return Value(mpmath.mpf(value), mpmath.mpf(error), Kind.ESTIMATED, reached, FLOAT_METHOD)


def _too_few(reached: int, required: int, instead: str = "") -> OutOfDigits:
    """The error where float64 has fewer digits than needed, with what to ask instead."""
    instead = instead or (f"ask for at most {reached}" if reached else "expected a smaller scale or signal")
    return OutOfDigits(f"float64 reaches {reached} of {required} digits here; {instead}")


def _float_first(expr: Expr, inputs: Inputs, digits: int | None) -> Value:
    """float64 where its error allows, else mpmath; without digits asked for, a poor float64 value is better than none."""
    more = digits or MULTIPRECISION_DIGITS
    try:
        found = _scalars(expr, inputs, digits or FLOAT_AIM, 0)
    except CannotEvaluate as refusal:
        try:
            return _any_digits(expr, inputs, more)
        except FloatOnly:
            pass
        except CannotEvaluate as reason:
            beside(reason, refusal)
            raise
        raise  # the reason is why float64 failed
    if found.digits >= (digits or DEFAULT_DIGITS):
        return found
    try:
        return _any_digits(expr, inputs, more)
    except CannotEvaluate as reason:
        if digits is None and found.digits > 0:
            return found
        if isinstance(reason, FloatOnly):
            raise _too_few(found.digits, digits or 1) from reason
        raise


def _arrays(expr: Expr, inputs: Inputs, digits: int) -> Value:
    """The plan at every point of the broadcast arrays; one point costs well under a millisecond where kernels are exponentials."""
    node = plan(expr)
    shape, points = grid_scopes(inputs)
    tolerance = tolerance_of(min(digits, FLOAT_DIGITS) if digits else FLOAT_AIM)
    found = [finite(get) for get in node.at(Context(FLOAT, tolerance, {}), points)]
    values, errors = (np.array(column).reshape(shape) for column in zip(*found))
    reached = digits_of_arrays(values, errors)
    if digits and reached < digits:
        raise OutOfDigits(f"float64 reaches {reached} of {digits} digits somewhere on the grid; ask for fewer digits")
    return Value(values, errors, Kind.ESTIMATED, reached, FLOAT_METHOD)
