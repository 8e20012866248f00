"""Risks at a scale or a signal so large that quadrature ends: by the limit itself, or by extrapolation from smaller values.

The same choice is made for the risk at a scale and for the least risk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, S, Symbol, cancel, sign

from symslr.evaluation.engine import DEFAULT_DIGITS, digits_of, evaluate
from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.at_infinity import growth
from symslr.evaluation.minima.features import Attended
from symslr.evaluation.minima.search.series import CONVERGED, LARGEST_ERROR, Series, converged
from symslr.evaluation.numbers.exponent import exponential
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.exponential import exponential_slope
from symslr.model.largest import IsLargest
from symslr.model.length_law import LengthLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, epsilon, x
from symslr.model.task import Task
from symslr.theory import bayes_risk

LARGE_SCALE = 300.0
"""Scale of a key from which extrapolation is tried. A softplus value takes half a second at 128; its table is too large at
1000."""

LARGE_SLOPE = 1500.0
"""Slope of the posterior kernel for a shifted token, sqrt(nu), from which extrapolation is tried: quadrature takes seconds at
1000."""

STRONG_SELECTION = 300.0
"""Slope of a selection from which its limit is tried first: quadrature takes seconds at 64."""

SAMPLE_SIZES = 24.0 * 1.6 ** np.arange(6.0)
"""Scales, or slopes, whose values are extrapolated: 24 to 252. There series in the inverse converge, and quadrature takes well
under a second."""

STEEPEST_DECAY = 10
"""A risk that falls faster than this power of 1/size, as e^(-nu/8) does, has no series in it."""

GUARD_DIGITS = 4
"""Digits of the values beyond those of the risk: a series through six values amplifies their errors about a thousandfold."""

METHOD = "series in 1/{name} through values at {low:g} to {high:g}, its error what the last of them changed"

DIGITS_OF_LIMIT = 4
"""Where no digits are asked for and the limit of a strong selection has at least so many, it is taken in place of a series,
which takes seconds."""

Answers = dict[str, Value]
"""Numbers by name: the risk, and where it is attained."""

RISK = "risk"


@dataclass(frozen=True)
class LargeParameter:
    """A scale or a signal beyond the reach of quadrature, of size = unit |value|^power.

    Attributes:
        symbol, sign, size, unit, power: of the parameter.
        name: of its size, in messages.
        decays: the powers of 1/size with which a value may begin to fall.
        tries_quadrature_first: whether quadrature may succeed, as under an exponential kernel, and comes before the series.
        feature_scale: the size from which on tokens reach every feature of the kernel; smaller values do not show the limit.
    """

    symbol: Symbol
    sign: Expr
    size: float
    unit: Expr
    power: Expr
    name: str
    decays: tuple[int, ...]
    tries_quadrature_first: bool = False
    feature_scale: float = 0.0

    @property
    def sizes(self) -> Any:
        """The sizes whose values are extrapolated. All are beyond the features of the kernel, before which it looks constant."""
        return SAMPLE_SIZES * max(1.0, self.feature_scale / SAMPLE_SIZES[0])

    def value_at(self, size: float) -> Expr:
        """The value of the parameter that has a given size."""
        return exact((self.sign * (exact(size) / self.unit) ** (1 / self.power)).evalf(20))


def feature_scales(task: Task, attention: Attention, values: Mapping[Any, object]) -> tuple[float, float]:
    """(the scale from which on tokens reach every feature of the kernel, the same for the relevant token).

    0 where the kernel has no features, or a parameter has no number.
    """
    base, weight = task.law.base, task.law.relevant_factor or S.One
    numbers = numbers_of(attention.kernel + base.density + weight, values)
    relevant = base.func(base.density * weight, *base.support)
    met = Attended((attention.kernel,), base).feature_scale(numbers)
    is_exponential = exponential(attention.kernel, x) is not None  # alike at every token, up to a factor
    return met, met if is_exponential else Attended((attention.kernel,), relevant).feature_scale(numbers)


def large_scale(scale: Expr, task: Task, attention: Attention, values: Mapping[Any, object]) -> LargeParameter | None:
    """The scale of a key as a parameter for extrapolation; None where it is below ``LARGE_SCALE``.

    Quadrature is tried first in three cases: an exponential kernel without an offset; a kernel whose features lie so far out
    that the smaller values do not show them; and one that grows as no exponential, as there quadrature takes no longer, and
    under a logarithm the values follow no series. With an offset, which acts as a token at 0, an exponential kernel is steep as
    well.
    """
    size = float(abs(scale))
    if size < LARGE_SCALE:
        return None
    met, _ = feature_scales(task, attention, values)
    slope, is_selection = _posterior(task.law)
    # before a kernel selects as sharply as the law does, values do not show the limit
    if slope is not None and is_selection:
        selects = abs(slope.xreplace(numbers_of(slope, values)))
        met = max(met, float(selects)) if selects.is_number else met
    is_exponential = exponential(attention.kernel, x) is not None and attention.offset == 0
    sides = [growth(attention.kernel, side) for side in (1, -1)]
    may_be_subexponential = any(own is None for own in sides) or all(own is not None and own.rate == 0 for own in sides)
    return LargeParameter(
        a,
        sign(scale),
        size,
        S.One,
        S.One,
        "the scale",
        (0,),
        is_exponential or may_be_subexponential or met > SAMPLE_SIZES[0],
        met,
    )


@lru_cache(maxsize=512)
def _posterior(law: SequenceLaw) -> tuple[Expr | None, bool]:
    """(slope of the posterior kernel of a law, None where that is no exponential; whether the law selects a token)."""
    return exponential_slope(law), law.is_selection


def large_signal(task: Task, values: Mapping[Any, object]) -> LargeParameter | None:
    """The signal strength as a parameter for extrapolation; None unless the posterior is an exponential that is steep enough."""
    slope, is_selection = _posterior(task.law)
    if slope is None or len(slope.free_symbols) != 1:
        return None
    (symbol,) = slope.free_symbols
    value = numbers_of(slope, values).get(symbol)
    if value is None:
        return None
    size = abs(slope.subs(symbol, value))
    if not (size.is_finite and float(size) >= (STRONG_SELECTION if is_selection else LARGE_SLOPE)):
        return None
    power = cancel(symbol * slope.diff(symbol) / slope)
    if not (power.is_Rational and power.is_positive):
        return None
    name = str(symbol) if power == 1 else f"{symbol}^({power})"
    return LargeParameter(symbol, sign(value), float(size), size / abs(value) ** power, power, name, (0, 1, 2))


@dataclass(frozen=True)
class StrongSelection:
    """The limit of a strong selection, with a bound on the distance from it.

    Attributes:
        task: the limit, whose relevant token is the largest.
        bayes_risk: an upper bound of the Bayes risk without noise, r = E[1 - sum p_l^2] with the posterior p.
        kind: of that number.
        longest: the greatest length where the attention has weights >= 0 of sum 1; else None.
    """

    task: Task
    bayes_risk: Any
    kind: Kind
    longest: int | None

    def largest_change(self, share: Any = 1) -> Any:
        """An upper bound of the distance between a risk and its limit.

        Let e_l be 1 for the largest token and 0 for the others, M = E sum p_l A_l and Q = E sum A_l^2 for weights A. By Cauchy
        and Schwarz M/sqrt(Q) <= 1 changes by at most sqrt(E sum (p_l - e_l)^2), for any A. With d = E[1 - max_l p_l] <= r that
        is sqrt(2 d - r) <= sqrt(r). For weights A_l >= 0 of sum 1, M changes by d <= r at most and Q >= 1/L, so that M/sqrt(Q)
        changes by at most r sqrt(L).

        Args:
            share: M^2/Q of the risk or of its limit, or an upper bound.
        """
        moved = mpmath.sqrt(self.bayes_risk)
        if self.longest is not None:
            moved = min(moved, self.bayes_risk * mpmath.sqrt(self.longest))
        return moved * min(2, 2 * mpmath.sqrt(max(share, 0)) + moved)


def limit_of_strong_selection(
    task: Task, attention: Attention, values: Mapping[Any, object], steep: float = STRONG_SELECTION
) -> StrongSelection | None:
    """The limit of a strong selection; None where the law does not select, or its slope is less than ``steep`` or not known."""
    slope, is_selection = _posterior(task.law)
    if slope is None or not is_selection:
        return None
    size = slope.xreplace(numbers_of(slope, values))
    if not (size.is_number and size >= steep):
        return None
    missed = evaluate(
        bayes_risk(replace(task, noise=S.Zero)), {key: values[key] for key in values if str(key) != "Delta"}, 6
    )
    longest = None
    if attention.is_normalised and attention.offset == 0:
        length = task.length if task.length != L else exact(next(values[key] for key in values if str(key) == "L"))
        longest = max(int(n) for n, _ in length) if isinstance(length, LengthLaw) else int(length)
    limit = Task(L * IsLargest.of(epsilon, L), task.length, task.noise, task.law.base, task.name)
    return StrongSelection(limit, missed.value + missed.error, missed.kind, longest)


def numbers_of(expr: Expr, values: Mapping[Any, object]) -> dict[Symbol, Expr]:
    """{symbol: number} for the symbols of an expression that have one in ``values``, whose keys are names or symbols."""
    given = {str(key): value for key, value in values.items()}
    return {s: exact(given[s.name]) for s in expr.free_symbols if isinstance(given.get(s.name), (int, float, Expr))}


Compute = Callable[[Task, Mapping[Any, object], "int | None", bool], Answers]
"""(task, values, digits, for_series) to the answers. Values for a series are computed in float64."""


def risk_by_best_method(
    compute: Compute,
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None,
    large: LargeParameter | None,
    strong: StrongSelection | None,
) -> Answers:
    """The answers by the limit of a strong selection, by quadrature, or by extrapolation.

    Without a strong selection: by quadrature or extrapolation, and by the limit only where both fail. With one: by the limit
    where it has the digits, else by quadrature. Where that fails, by the limit or the series, whichever has more digits.

    Args:
        compute: the answers by quadrature for a given task, values and digits.
        large: a parameter that may be too large for quadrature, if there is one.
        strong: the limit of a strong selection, if the law is one.

    Raises:
        CannotEvaluate: where no method reaches the digits.
    """
    if strong is None:
        try:
            return _by_series_or_quadrature(compute, task, values, digits, large)
        except CannotEvaluate as reason:
            return in_the_limit(compute, task, attention, values, digits, reason)
    # the limit may have the digits of a risk below 1
    if strong.largest_change() < mpmath.mpf(10) ** -(digits or DEFAULT_DIGITS):
        found = _by_limit(compute, task, values, digits, strong)
        if found[RISK].digits >= (digits or 1):
            return found
    try:
        return compute(task, values, digits, False)
    except CannotEvaluate as reason:
        refusal = reason
    found = _by_limit(compute, task, values, digits, strong)
    is_finite = all(mpmath.isfinite(place.value) for name, place in found.items() if name != RISK)
    # where the place is infinite, nearer values take the longest
    if found[RISK].digits < (digits or DIGITS_OF_LIMIT) and large is not None and is_finite:
        with suppress(CannotEvaluate):
            found = max(_by_series(compute, task, values, digits, large), found, key=lambda one: one[RISK].digits)
    if found[RISK].digits < (digits or 1):
        raise refusal
    return found


def in_the_limit(
    compute: Compute,
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None,
    refusal: CannotEvaluate,
) -> Answers:
    """The answers by the limit of a selection of any strength, where quadrature has refused.

    Raises:
        CannotEvaluate: the refusal, where the law is no selection or its limit lacks the digits.
    """
    strong = limit_of_strong_selection(task, attention, values, steep=1.0)
    found = None if strong is None else _by_limit(compute, task, values, digits, strong)
    if found is None or found[RISK].digits < (digits or 1):
        raise refusal
    return found


def _by_limit(
    compute: Compute, task: Task, values: Mapping[Any, object], digits: int | None, limit: StrongSelection
) -> Answers:
    """The answers for the limit of a strong selection, with an error that covers the distance from it.

    The bound on that distance grows as the risk falls, but by less than the fall. So the bound for the limit holds for the
    least risk as for the risk at a scale.
    """
    at = without_weight_parameters(task, values)
    found = compute(limit.task, at, digits, False)
    value = found.pop(RISK)
    noise = evaluate(task.noise**2, {name: own for name, own in at.items() if str(name) == "Delta"}).value
    error = value.error + limit.largest_change(1 + noise - value.value + value.error)
    kind = value.kind if value.kind == limit.kind else Kind.ESTIMATED
    method = f"limit of a strong signal, its remainder bounded by the Bayes risk: {value.method}"
    risk = replace(value, error=error, kind=kind, digits=digits_of(value.value, error), method=method)
    return {RISK: risk, **{name: _place_in_limit(name, place) for name, place in found.items()}}


def without_weight_parameters(task: Task, values: Mapping[Any, object]) -> dict[Any, object]:
    """The values without those of the parameters of the weight, which the limit of a strong selection does not have."""
    names = {symbol.name for symbol in task.law.weight.free_symbols} - {"L"}
    return {key: value for key, value in values.items() if str(key) not in names}


def _place_in_limit(name: str, place: Value) -> Value:
    """A place found for the limit, with an infinite error, as it may be far from that of the task itself."""
    return replace(place, error=mpmath.inf, digits=1, method=f"{name} = {place} in the limit")


def _by_series_or_quadrature(
    compute: Compute, task: Task, values: Mapping[Any, object], digits: int | None, large: LargeParameter | None
) -> Answers:
    """The answers by the series where a parameter is large and the series has the digits asked for, else by quadrature.

    Raises:
        CannotEvaluate: where quadrature fails as well; the message names the digits that the series has.
    """

    def by_quadrature() -> Answers:
        return compute(task, values, digits, False)

    if large is None:
        return by_quadrature()
    if large.tries_quadrature_first:
        try:
            return by_quadrature()
        except CannotEvaluate as reason:
            if not large.sizes[-1] < large.size:
                raise CannotEvaluate(
                    f"{reason}; a series in 1/{large.name} has no values to go by, as the kernel changes so far out that "
                    f"{large.name} meets it from about {large.feature_scale:.2g} on"
                ) from reason
    elif not large.sizes[-1] < large.size:
        return by_quadrature()
    try:
        answers = _by_series(compute, task, values, digits, large)
    except CannotEvaluate:
        return by_quadrature()
    known = answers[RISK].digits
    if known >= (digits or 1):
        return answers
    try:
        return by_quadrature()
    except CannotEvaluate as reason:
        raise OutOfDigits(
            f"{reason}; by a series in 1/{large.name} at most {known} digits are known (--digits {known})"
        ) from reason


def _by_series(
    compute: Compute, task: Task, values: Mapping[Any, object], digits: int | None, large: LargeParameter
) -> Answers:
    """The answers by extrapolation of values at smaller sizes, as a polynomial in 1/size.

    Raises:
        CannotEvaluate: where they do not converge.
    """
    others = {key: value for key, value in values.items() if str(key) != large.symbol.name}
    each, enough = (None, CONVERGED) if digits is None else (digits + GUARD_DIGITS, 0.1 ** (digits + 1))

    risks: list[float] = []

    def answers_at(size: float) -> Answers:
        found = compute(task, {**others, large.symbol: large.value_at(float(size))}, each, True)
        risks.append(float(found[RISK].value))
        before = risks[-2] if len(risks) > 1 else large.sizes[0] ** -float(STEEPEST_DECAY)
        if risks[-1] < before * (large.sizes[0] / large.sizes[1]) ** STEEPEST_DECAY:
            raise CannotEvaluate(f"the risk falls faster than powers of {large.name} do")
        return found

    def fit(found: list[Answers]) -> tuple[Answers, float, float]:
        answers = {name: _extrapolated(large, [own[name] for own in found]) for name in found[0]}
        return answers, float(answers[RISK].value), float(answers[RISK].error)

    return converged(large.sizes, answers_at, fit, enough, max(LARGEST_ERROR, enough))


def _extrapolated(large: LargeParameter, values: list[Value]) -> Value:
    """The extrapolated value at the parameter's size: of the decays allowed, the one with the least relative error."""
    sizes = large.sizes[: len(values)]
    numbers, errors = (np.array([float(part) for part in own]) for own in zip(*((v.value, v.error) for v in values)))
    seconds = sum(v.seconds for v in values)
    if np.all(np.isinf(numbers)) and np.ptp(np.sign(numbers)) == 0:
        return replace(values[-1], seconds=seconds)
    if not np.all(np.isfinite(numbers + errors)):
        raise CannotEvaluate(f"a place at infinity has no series in {large.name}")
    candidates = [_series_value(large.size, sizes, numbers, errors, decay) for decay in large.decays]
    value, error = min(candidates, key=lambda pair: pair[1] / abs(pair[0]) if pair[0] else np.inf)
    method = METHOD.format(name=large.name, low=sizes[0], high=sizes[-1])
    return Value(mpmath.mpf(value), mpmath.mpf(error), Kind.ESTIMATED, digits_of(value, error), method, seconds)


def _series_value(size: float, sizes: Any, numbers: Any, errors: Any, decay: int) -> tuple[float, float]:
    """(value, error) at a size, for values that are size^-decay times a polynomial in 1/size."""
    grown, at = (sizes / sizes[0]) ** decay, sizes[0] / size
    own = Series(numbers * grown, sizes[1] / sizes[0], float(np.max(errors * grown)))
    value = float(own(at))
    return value * at**decay, (own.error_at(at) + 1e-15 * abs(value)) * at**decay
