"""The least risk of an attention and where it is attained: the best scale of the key, and the kernel's own parameters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import inf, isfinite
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, Rational, S, Symbol, oo

from symslr.evaluation.admission.inputs import checked_digits, checked_inputs
from symslr.evaluation.engine import EXPONENTIAL, MULTIPRECISION_DIGITS, evaluate, symbols_of
from symslr.evaluation.errors import CannotEvaluate, NoLeastValue
from symslr.evaluation.minima.at_infinity import limit_of_large_scales, limit_where_largest_is_relevant
from symslr.evaluation.minima.large import (
    RISK,
    Answers,
    feature_scales,
    in_the_limit,
    large_signal,
    limit_of_strong_selection,
    numbers_of,
    risk_by_best_method,
    without_weight_parameters,
)
from symslr.evaluation.minima.minimise import minimise
from symslr.evaluation.minima.search.grid import other_local_minima, scan_points
from symslr.evaluation.numbers.exponent import exponential
from symslr.expression.folded import Activation
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of
from symslr.model.exact import check_is
from symslr.model.exponential import exponential_slope
from symslr.model.homogeneous import degree, has_parity
from symslr.model.symbols import a, epsilon, x
from symslr.model.task import Task
from symslr.theory.population import matched_scale, minimal_risk, population_risk

FINE_FEATURES = 0.25
"""Where tokens reach every feature of the kernel from a scale below this on, that scale is the unit of the search."""
FINE_FOR_RELEVANT = 1 / 16
"""The same for the scale at which the relevant token does."""

CERTIFIED_MULTIPLES = (0.5, 1.5)
"""Without bounds a minimum is proved between these multiples of the scale that the search finds."""
CERTIFIED_NEAR_ZERO = 0.5
"""Where that one is smaller than this, and the kernel does not vanish at 0, it is proved within |a| <= 0.5."""

COARSE_DIGITS = 3
"""Digits of the risks that show whether another scale may be the best one."""
SMALL_CHANGE = 0.1
"""Part of a distance between two risks, relative, below which a difference or a change counts as small."""

OUTER_SCALES = (32.0, 64.0, 128.0)
"""Scales beyond the scan, at which a risk is compared with its limit."""
HALVING = (0.4, 0.6)
"""Where a risk approaches its limit as 1/a, doubling the scale leaves a part between these of its distance from the limit."""

TOWARDS_ZERO = "as a goes to 0"
"""The method of a best scale 0 that is only approached, as the kernel vanishes at 0 itself."""

PLACE_DIGITS = 10
"""Digits of a search that is made for the place alone, where the least value is known otherwise."""


def least_risk(
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None = None,
    backend: str | None = None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> tuple[Value, dict[str, Value]]:
    """(least risk, {"a": best scale, "c": ...}); a place may be infinite where the risk is only approached.

    The value is that of ``minimal_risk``: exact where the attention is Bayes-optimal or a closed form is derived, else by search.

    Args:
        task, attention: as for ``minimal_risk``.
        values, digits, backend: as for ``evaluate``.
        bounds: for a variable by symbol, the interval in which it is searched; the whole line otherwise.

    Raises:
        CannotEvaluate: where the minimum is not found, or the digits are out of reach.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    attention = kernel_attention_of(attention)
    check_is(values, Mapping, "values", '{"L": 3, "nu": 2}')
    unit = _unit_of_scale(*feature_scales(task, attention, values))
    if unit != 1:
        own = replace(attention, kernel=attention.kernel.subs(x, unit * x))
        within = dict(bounds or {})
        if a in within:
            within[a] = (within[a][0] / float(unit), within[a][1] / float(unit))
        said = f"a in units of {unit}"
        try:
            value, found = least_risk(task, own, values, digits, backend, within)
        except NoLeastValue as refusal:
            raise refusal.times(float(unit)) from refusal
        except CannotEvaluate as refusal:
            raise CannotEvaluate(f"{refusal}; {said}") from refusal
        place = replace(found["a"], value=found["a"].value * unit, error=found["a"].error * unit)
        return replace(value, method=f"{value.method}; {said}"), {**found, "a": place}
    risk, least = population_risk(task, attention), minimal_risk(task, attention)
    variables = list(least.variables)
    if bounds:
        if backend == "arb":
            return _certified(task, attention, values, digits, bounds)
        value, places = minimise(risk, variables, values, digits, bounds)
        return value, _by_name(places)
    if least.is_alone:
        value = evaluate(least, values, digits, backend)
        exactly = replace(value, value=mpmath.mpf(0), error=mpmath.mpf(0))
        anywhere = replace(exactly, error=mpmath.inf, digits=1)
        return value, {str(s): exactly if s == a else replace(anywhere, method=f"any {s}") for s in variables}
    if variables == [a] and attention.offset == 0 and degree(attention.kernel) is not None:
        return _for_homogeneous_kernel(task, attention, values, digits, backend)
    scale = _matched_scale(Activation.of(epsilon, attention, a), task.law)
    if scale is not None:
        return evaluate(least, values, digits, backend), {"a": _value_of_matched_scale(scale, values)}

    def answers(own: Task, at: Mapping[Any, object], wanted: int | None, is_near: bool) -> Answers:
        # a limit may be known without a search
        value, places = (_by_search if own is task else least_risk)(own, attention, at, wanted, None)
        return {RISK: value, **places}

    if backend is not None:
        return _by_search(task, attention, values, digits, backend)
    large, strong = large_signal(task, values), limit_of_strong_selection(task, attention, values)
    if large is None and strong is None:
        try:
            return _by_search(task, attention, values, digits, None)
        except CannotEvaluate as refusal:
            found = in_the_limit(answers, task, attention, values, digits, refusal)
    else:
        found = risk_by_best_method(answers, task, attention, values, digits, large, strong)
    return found.pop(RISK), found


_matched_scale = lru_cache(maxsize=512)(matched_scale)


def _unit_of_scale(met: float, by_relevant: float) -> Expr:
    """The unit of the search for a scale: 1/n with n an integer near 1/``met``, where the features of the kernel are that fine,
    else 1.

    1/(1 + e^(-100 x)) at a scale a is 1/(1 + e^(-x)) at 100 a, so its search is made in units of 1/100. The same holds for a
    relevant token far out: at nu = 10^6 it stands at 1000, and no scale of the search is as small as 1/1000.

    Args:
        met: the scale at which tokens reach every feature of the kernel; 0 where there is none.
        by_relevant: the same for the relevant token.
    """
    found = met if met < FINE_FEATURES else by_relevant if by_relevant < FINE_FOR_RELEVANT else 0.0
    return Rational(1, round(1 / found)) if found > 0.0 else S.One


def _by_search(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, backend: str | None
) -> tuple[Value, dict[str, Value]]:
    """The least risk by a limit, a closed form, a proof or a search by quadrature; ``least_risk`` has treated the other cases."""
    risk, least = population_risk(task, attention), minimal_risk(task, attention)
    variables = list(least.variables)
    limit = limit_where_largest_is_relevant(task, attention) if variables == [a] else None
    if limit is not None and limit == task.noise**2:  # no risk is less
        return all_on_the_largest(evaluate(limit, values, digits, backend))
    # the limit of a kernel as it is seen to grow
    if variables == [a] and backend is None and limit_of_large_scales(risk, 1) == task.noise**2:
        return all_on_the_largest(replace(evaluate(task.noise**2, values, digits), kind=Kind.ESTIMATED))
    if backend == "arb" and least.closed() is None:
        return _certified(task, attention, values, digits)
    if backend == EXPONENTIAL and least.closed() is None:
        raise CannotEvaluate(f"{EXPONENTIAL}: found no closed form of the least risk; ask arb")
    if backend is not None or least.closed() is not None:
        value = evaluate(least, values, digits, backend)
        _, places = minimise(risk, variables, values, PLACE_DIGITS)
        return value, _by_name(places)
    if limit is not None:
        value = evaluate(limit, values, digits)
        if _limit_is_lowest(risk, values, float(value.value)):
            value = replace(value, kind=Kind.ESTIMATED, method="limit of large scales, below all risks of a scan")
            return value, {"a": replace(value, value=mpmath.inf, error=mpmath.mpf(0), digits=15)}
    start = _place_in_the_limit(task, attention, variables, values)
    # where there is no value there, as at the strongest signals, a search in vain takes half a minute
    if start is not None:
        evaluate(risk, {**values, **start}, digits, "numpy")
    value, places = minimise(risk, variables, values, digits, start=start)
    if variables == [a] and places[a].value == 0 and attention.kernel.subs(x, 0) == 0:
        places = {a: replace(places[a], method=TOWARDS_ZERO)}
    if variables == [a] and places[a].value < 0 and has_parity(attention.kernel):  # of two alike the positive one
        places = {a: replace(places[a], value=-places[a].value)}
    return value, _by_name(places)


def all_on_the_largest(value: Value) -> tuple[Value, dict[str, Value]]:
    """The answer where the largest token is the relevant one: the noise alone, the least possible risk, at an infinite scale."""
    value = replace(value, method="limit of large scales: all weight on the largest token")
    return value, {"a": replace(value, value=mpmath.inf, error=mpmath.mpf(0), digits=15)}


def _place_in_the_limit(
    task: Task, attention: Attention, variables: list[Symbol], values: Mapping[Any, object]
) -> dict[Symbol, float] | None:
    """The place of the least risk in the limit of a strong selection, where values are cheap; None where it does not show the
    place.

    Where that place is infinite, it is the scale at which an exponential kernel is as steep as the selection; with an offset
    the best scale is near it.

    None also where a coarse scan of the limit shows another local minimum that may be the lower one for the task itself. It is
    ruled out where it lies higher by more than twice the bound on what the limit changes, or where it lies well above the least
    risk and its own risk changes by a small part of that.
    """
    near = limit_of_strong_selection(task, attention, values)
    if near is None:
        return None
    limit, moved = near.task, near.largest_change()
    at = without_weight_parameters(task, values)
    try:
        least, places = least_risk(limit, attention, at, PLACE_DIGITS // 2)
        found = {symbol: float(places[str(symbol)]) for symbol in variables}
        if variables == [a] and found[a] == inf:
            found[a] = _scale_matching_selection(task, attention, values)
        if not all(map(isfinite, found.values())):
            return None
    except CannotEvaluate:
        return None

    def risk(own: Task, known: Mapping[Any, object], place: Any) -> float:
        return _risk_interval(population_risk(own, attention), {**known, **dict(zip(variables, map(float, place)))})[1]

    grid = list(itertools.product(scan_points(len(variables)), repeat=len(variables)))
    risks = np.array([risk(limit, at, place) for place in grid])
    for k in other_local_minima(risks, list(found.values())):
        gap = float(risks[k]) - float(least.value)
        if gap > 2.0 * moved:
            continue
        if gap < SMALL_CHANGE * least.value or not abs(risk(task, values, grid[k]) - risks[k]) < SMALL_CHANGE * gap:
            return None
    return found


def _scale_matching_selection(task: Task, attention: Attention, values: Mapping[Any, object]) -> float:
    """The scale at which an exponential kernel has the slope of the law's selection; infinite where either is no exponential."""
    kernel, slope = exponential(attention.kernel, x), exponential_slope(task.law)
    if kernel is None or slope is None or not kernel.rate.is_positive:
        return inf
    return float(slope.xreplace(numbers_of(slope, values)) / kernel.rate)


def _limit_is_lowest(risk: Expr, values: Mapping[Any, object], limit: float) -> bool:
    """Whether no scale has a lower risk than the limit of large scales, as far as a scan shows for a smooth risk.

    The scan must lie above the limit everywhere and have no local minimum deep enough to fall below it between its points.
    Further out the distance from the limit must fall as 1/a: it nearly halves when the scale is doubled.
    """
    places = [*scan_points(1).tolist(), *OUTER_SCALES]
    left = np.array([_risk_interval(risk, {**values, a: place})[0] - limit for place in places])
    if not (np.all(np.isfinite(left)) and np.all(left > 0.0)):
        return False
    around = np.array([left[:-2], left[1:-1], left[2:]])
    is_bottom = (around[1] <= around[0]) & (around[1] <= around[2])
    outer = left[-len(OUTER_SCALES) :]
    halved = outer[1:] / outer[:-1]
    return not np.any(is_bottom & (2.0 * around[1] <= around.max(axis=0))) and bool(
        np.all((HALVING[0] < halved) & (halved < HALVING[1]))
    )


def _risk_interval(risk: Expr, values: Mapping[Any, object]) -> tuple[float, float]:
    """(lower, upper) bounds of a risk, to few digits; (-oo, oo) where it is not known."""
    try:
        one = evaluate(risk, values, COARSE_DIGITS, "numpy")
    except CannotEvaluate:  # where digits are lost, as where all weights vanish
        return -np.inf, np.inf
    return float(one.value) - float(one.error), float(one.value) + float(one.error)


def _certified(
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> tuple[Value, dict[str, Value]]:
    """A local minimum proved inside an interval of the scale: the one given, else one around the scale that the search finds."""
    risk, variables = population_risk(task, attention), minimal_risk(task, attention).variables
    if variables != (a,):
        raise CannotEvaluate(
            f"certified: no proof is available for a minimum over {', '.join(map(str, variables))} at once"
        )
    _, places = minimise(risk, [a], values, PLACE_DIGITS, bounds)
    guess = float(places[a])
    if bounds:
        interval = bounds[a]
    else:
        vanishes = attention.kernel.subs(x, 0) == 0
        if not isfinite(guess) or (guess == 0 and vanishes):
            raise NoLeastValue(
                "certified: the risk falls as the scale {}, to a limit that is not proved; give a scale (--scale 1) or a short "
                "interval of scales (--bounds a:1:2)",
                "vanishes" if guess == 0 else "grows",
            )
        ends = [float(f"{factor * guess:.2g}") for factor in CERTIFIED_MULTIPLES]
        interval = (
            (min(ends), max(ends))
            if vanishes or abs(guess) > CERTIFIED_NEAR_ZERO
            else (-CERTIFIED_NEAR_ZERO, CERTIFIED_NEAR_ZERO)
        )
    wanted = MULTIPRECISION_DIGITS if digits is None else checked_digits(digits)
    value, place = _enclosed(risk, values, wanted, interval, guess)
    return value, {"a": place}


def _enclosed(
    risk: Expr, values: Mapping[Any, object], digits: int, interval: tuple[float, float], guess: float
) -> tuple[Value, Value]:
    """(least risk, best scale) by ``least_certified`` inside an interval of the scale, ``guess`` being near the minimum."""
    from symslr.evaluation.certified.least import least_certified

    needed, known = symbols_of(risk)
    inputs = checked_inputs(needed - {a}, known - {a}, values)
    if inputs.arrays:
        raise CannotEvaluate("certified: found an array in values; expected single numbers")
    return least_certified(risk, a, inputs.scalars, digits, interval, guess)


def _for_homogeneous_kernel(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, backend: str | None
) -> tuple[Value, dict[str, Value]]:
    """The least risk of a homogeneous kernel: it is the same at all scales of one sign, so the lower of the two values.

    The scale is 1 or -1 with an infinite error.
    """
    sides = [S.One] if has_parity(attention.kernel) else [S.One, S.NegativeOne]
    found = [evaluate(population_risk(task, attention, side), values, digits, backend) for side in sides]
    lowest = min(range(len(sides)), key=lambda i: found[i].value)
    value = replace(found[lowest], error=max(item.error for item in found))
    which = "every a != 0" if len(sides) == 1 else f"every a {'>' if sides[lowest] > 0 else '<'} 0"
    place = Value(mpmath.mpf(int(sides[lowest])), mpmath.inf, value.kind, 1, f"{which}: the kernel is homogeneous")
    return value, {"a": place}


def _by_name(places: Mapping[Symbol, Value]) -> dict[str, Value]:
    return {str(symbol): place for symbol, place in places.items()}


def _value_of_matched_scale(scale: Expr, values: Mapping[Any, object]) -> Value:
    """The value of the scale at which the attention is the posterior."""
    if scale == oo:
        return Value(
            mpmath.inf, mpmath.mpf(0), Kind.ESTIMATED, 15, "matched scale: the posterior is the limit of the attention"
        )
    names = {str(symbol) for symbol in scale.free_symbols}
    return evaluate(scale, {name: value for name, value in values.items() if str(name) in names})
