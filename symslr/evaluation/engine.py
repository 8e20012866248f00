"""``evaluate``: an expression and values in, a ``Value`` out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, Integral, Symbol

from symslr.budget import LONGEST, OutOfTime, processor_time
from symslr.evaluation.admission.admitted import check_admitted, check_differentiable, check_means_exist
from symslr.evaluation.admission.guard import unheld
from symslr.evaluation.admission.inputs import PLAIN, Inputs, checked_digits, checked_inputs, one_point
from symslr.evaluation.certified.backend import METHOD, are_on_lattices, evaluate_arb
from symslr.evaluation.errors import CannotEvaluate, FloatOnly, OutOfDigits, beside
from symslr.evaluation.nodes.node import Context, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.balls import Multiprecision
from symslr.evaluation.open_kernel import with_open_kernel
from symslr.evaluation.plan import canonical, plan, reduced_form, with_derivatives
from symslr.evaluation.routes import Need, Route, tried
from symslr.evaluation.strong_signal import by_expansion, is_strong
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.expression.quantity import conditioned, sources_of
from symslr.expression.value import Kind, Value
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, x
from symslr.parallel.serial import one_at_a_time

EXPONENTIAL = "arb-exponential"
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
        expr: any expression of the toolkit: elementary functions of expectations, definitions, integrals, sums, minima.
        values, digits, backend, seconds: as of ``symslr.evaluate``.

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


@dataclass(frozen=True)
class Request:
    """What ``evaluate`` is asked, checked.

    Attributes:
        digits, backend: as for ``evaluate``; arrays go through numpy unless another backend is named.
    """

    expr: Expr
    inputs: Inputs
    digits: int | None
    backend: str | None

    @property
    def wanted(self) -> int:
        """The digits that a method of any precision is asked for."""
        return self.digits or MULTIPRECISION_DIGITS

    def part(self, expr: Expr, digits: int) -> Value:
        """A term of an expansion: proved if it is elementary; for one-dimensional integrals over Phi^L there is no proof."""
        if self.backend in ("arb", EXPONENTIAL) or not expr.has(Integral, ScalarExpectation):
            backend = EXPONENTIAL
        else:
            backend = "numpy" if digits <= FLOAT_DIGITS else "mpmath"
        return _by_backends(Request(expr, self.inputs, digits, backend), None)


@one_at_a_time
def _evaluated(expr: Expr, values: Mapping[Any, object] | None, digits: int | None, backend: str | None) -> Value:
    """As ``evaluate``, without a budget of time."""
    start = time.perf_counter()
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend: found {backend!r}; expected one of {', '.join(BACKENDS)}")
    digits = None if digits is None else checked_digits(digits)
    given = expr if isinstance(expr, Expr) else exact(expr, "expression")
    expr = with_derivatives(given)
    sources = sources_of(expr)
    inputs = checked_inputs(*symbols_of(expr), values or {})
    check_differentiable(given, inputs)
    check_admitted(expr, inputs)
    if not inputs.arrays:
        check_means_exist(expr, inputs.given)
    asked = Request(expr, inputs, digits, backend or ("numpy" if inputs.arrays else None))
    far = tried((EXPANSION,), asked)
    value = far if far is not None and far.digits >= asked.wanted else _by_backends(asked, far)
    if value is not far:
        said = unheld(expr, one_point(inputs), value if value.method == FLOAT_METHOD and not inputs.arrays else None)
        value = replace(value, method=f"{value.method}; {said}") if said else value
    return replace(value, seconds=time.perf_counter() - start, sources=sources)


def _by_backends(asked: Request, poor: Value | None) -> Value:
    """The value by the backend that is named, else by the first of the usual ones that reaches the digits.

    Args:
        poor: a value with too few digits, which is better than none where no digits are asked for.

    Raises:
        CannotEvaluate: why the last backend that was tried fails; where only float64 will do, why that does.
    """
    met: dict[str, CannotEvaluate] = {}
    for name, usual in USUAL.items() if asked.backend is None else [(asked.backend, 0)]:
        lacks = BACKENDS[name].lacks(asked)
        try:
            if lacks is None:
                value: Value = BACKENDS[name].numbers(asked)
            elif asked.backend is None:
                continue
            else:
                raise CannotEvaluate(f"{as_asked(name)}: needs {lacks}")
        except CannotEvaluate as reason:
            for other in met.values():
                beside(reason, other)
            met[name] = reason
            continue
        if asked.backend is not None or value.digits >= (asked.digits or usual):
            return value
        poor = value if poor is None or value.digits > poor.digits else poor
    if poor is not None and poor.digits > 0 and asked.digits is None:
        return poor
    last = [*met.values()][-1]
    if isinstance(last, FloatOnly) and poor is not None:
        raise _too_few(poor.digits, asked.digits or 1) from last
    raise met.get("numpy", last) if isinstance(last, FloatOnly) else last


def as_asked(backend: str) -> str:
    """How a proof is asked for on the command line; other backends by their name."""
    return "certified" if backend in ("arb", EXPONENTIAL) else backend


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


def _on_lattices(asked: Request) -> Value:
    return evaluate_arb(canonical(asked.expr), asked.inputs.scalars, asked.wanted)


def _in_balls(asked: Request) -> Value:
    return evaluate_arb(canonical(asked.expr), asked.inputs.scalars, asked.wanted, on_panels=True)


def _estimated(asked: Request) -> Value:
    try:
        value, error = raised(plan(asked.expr).evaluate, asked.inputs.scalars, asked.wanted)
        return _packed(value, error, asked.wanted)
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


def _in_floats(asked: Request) -> Value:
    """At one point, or at every point of arrays; refined as far as digits are asked for, and refused below only by name."""
    if asked.inputs.arrays:
        return _arrays(asked.expr, asked.inputs, asked.digits or 0)
    required = asked.digits if asked.backend == "numpy" else None
    return _scalars(asked.expr, asked.inputs, asked.digits or FLOAT_AIM, required or 0)


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


ONE_POINT = Need("single numbers, no arrays", lambda asked: not asked.inputs.arrays)
NO_SEARCH = Need("no minimum that is searched", lambda asked: not canonical(asked.expr).has(Minimum))
SINGLE_TOKENS = Need("integrals over single tokens", lambda asked: not canonical(asked.expr).has(SequenceExpectation))
EXPANSION = Route(
    (
        ONE_POINT,
        Need("a backend other than numpy", lambda asked: asked.backend != "numpy"),
        Need(
            "the Bayes risk at a signal too strong for meshes", lambda asked: is_strong(asked.expr, asked.inputs.given)
        ),
    ),
    "strong-signal expansion, its remainder bounded by the rules that derive it",
    "any that its remainder leaves",
    lambda asked: by_expansion(asked.expr, asked.inputs.given, asked.wanted, asked.part),
)
"""Tried before all others; its ``numbers`` may have few digits."""
BACKENDS = {
    "numpy": Route(
        (
            Need(
                f"up to {FLOAT_DIGITS} digits, or numpy by name",
                lambda asked: asked.backend is not None or asked.wanted <= FLOAT_DIGITS or asked.digits is None,
            ),
        ),
        FLOAT_METHOD,
        "10 to 14",
        _in_floats,
    ),
    EXPONENTIAL: Route(
        (
            ONE_POINT,
            NO_SEARCH,
            SINGLE_TOKENS,
            Need(
                "exponential kernels under Gaussian laws",
                lambda asked: are_on_lattices(canonical(asked.expr), asked.inputs.scalars),
            ),
        ),
        "Arb: trapezoid rule in log u",
        "any, with proof",
        _on_lattices,
    ),
    "arb": Route((ONE_POINT, NO_SEARCH, SINGLE_TOKENS), METHOD, "any, with proof", _in_balls),
    "mpmath": Route((ONE_POINT,), MULTIPRECISION_METHOD, "any", _estimated),
}
"""Ways to evaluate an expression, by the name under which one is asked for."""
USUAL = {"numpy": DEFAULT_DIGITS, "arb": MULTIPRECISION_DIGITS, "mpmath": MULTIPRECISION_DIGITS}
"""Those that are tried where none is named, and the digits with which each is content where none are asked for."""
