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
from symslr.evaluation.minima.at_infinity import limit_of_large_scales, limit_of_scale
from symslr.evaluation.minima.far import (
    RISK,
    Answers,
    answered,
    far_signal,
    in_the_limit,
    met_at,
    numbers_of,
    of_the_limit,
    with_largest,
)
from symslr.evaluation.minima.minimise import minimise
from symslr.evaluation.minima.search.grid import other_bottoms, scan_points
from symslr.evaluation.numbers.exponent import exponential
from symslr.expression.folded import Activation
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.exact import check_is
from symslr.model.exponential import exponential_slope
from symslr.model.homogeneous import degree, has_parity
from symslr.model.symbols import a, epsilon, x
from symslr.model.task import Task
from symslr.theory.population import matched_scale, minimal_risk, population_risk

NARROW, FAR_OUT = 0.25, 1 / 16
"""Below this, the scale from which on tokens meet all that a kernel does is the unit of the search; below the second, that from
which on the relevant token does."""
AROUND, SMALL = (0.5, 1.5), 0.5
"""Where no bounds are given, a least risk is proved for scales between these multiples of the one that a search finds, or for
|a| <= SMALL where that is smaller."""

SURE, SHORT = 10.0, 1e-6
"""The short interval on which a minimum is proved reaches so many errors of the search, or so much of the scale, to both sides."""

FEW, NEAR = 3, 0.1
"""Digits of the risks that tell whether another scale may be the best one, and the part of their distance that they may move."""

OUTWARDS, HALVED = (32.0, 64.0, 128.0), (0.4, 0.6)
"""Scales beyond a scan; what a doubled scale leaves of a risk above its limit lies between these where it falls as 1/a."""

TOWARDS_ZERO = "as a goes to 0"
"""Where a least risk is only approached; at 0 itself the kernel vanishes."""

PLACE_DIGITS = 10
"""Digits of a search that is made for the place alone, the least value being known in another way."""


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
    check_is(attention, Attention, "attention", "softmax")
    check_is(values, Mapping, "values", '{"L": 3, "nu": 2}')
    unit = _unit(*met_at(task, attention, values))
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
    moving = list(least.variables)
    if bounds:
        if backend == "arb":
            return _certified(task, attention, values, digits, bounds)
        value, places = minimise(risk, moving, values, digits, bounds)
        return value, _named(places)
    if least.is_alone:
        value = evaluate(least, values, digits, backend)
        exactly = replace(value, value=mpmath.mpf(0), error=mpmath.mpf(0))
        anywhere = replace(exactly, error=mpmath.inf, digits=1)
        return value, {str(s): exactly if s == a else replace(anywhere, method=f"any {s}") for s in moving}
    if moving == [a] and attention.offset == 0 and degree(attention.kernel) is not None:
        return _without_scale(task, attention, values, digits, backend)
    scale = _matched_scale(Activation.of(epsilon, attention, a), task.law)
    if scale is not None:
        return evaluate(least, values, digits, backend), {"a": _scale(scale, values)}

    def answers(own: Task, at: Mapping[Any, object], wanted: int | None, is_near: bool) -> Answers:
        # a limit may be known without a search
        value, places = (_by_search if own is task else least_risk)(own, attention, at, wanted, backend)
        return {RISK: value, **places}

    far = None if backend is not None else far_signal(task, values)
    strong = None if backend is not None else with_largest(task, attention, values)
    if far is not None or strong is not None:
        found = answered(answers, task, values, digits, far, strong)
        return found.pop(RISK), found
    try:
        return _by_search(task, attention, values, digits, backend)
    except CannotEvaluate as refusal:
        if backend is not None:
            raise
        found = in_the_limit(answers, task, attention, values, digits, refusal)
        return found.pop(RISK), found


_matched_scale = lru_cache(maxsize=512)(matched_scale)


def _unit(met: float, by_relevant: float) -> Expr:
    """1/n where tokens meet all that the kernel does from about that scale on, which is then the unit of the search; else 1.

    At the scales of a search 1/(1 + e^(-100 x)) is as steep as 1/(1 + e^(-x)) at a thousand. So it is for the relevant token
    alone where that lies far out: at nu = 10^6 it stands at 1000, and no scale of the search is as small as 1/1000.
    """
    found = met if met < NARROW else by_relevant if by_relevant < FAR_OUT else 0.0
    return Rational(1, round(1 / found)) if found > 0.0 else S.One


def _by_search(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, backend: str | None
) -> tuple[Value, dict[str, Value]]:
    """On meshes, whatever the size of the parameters."""
    risk, least = population_risk(task, attention), minimal_risk(task, attention)
    moving = list(least.variables)
    limit = limit_of_scale(task, attention) if moving == [a] else None
    if limit is not None and limit == task.noise**2:  # no risk is less
        return all_on_the_largest(evaluate(limit, values, digits, backend))
    if moving == [a] and backend is None and limit_of_large_scales(risk, 1) == task.noise**2:  # as it is seen to grow
        return all_on_the_largest(replace(evaluate(task.noise**2, values, digits), kind=Kind.ESTIMATED))
    if backend == "arb" and least.closed() is None:
        return _certified(task, attention, values, digits)
    if backend == EXPONENTIAL and least.closed() is None:
        raise CannotEvaluate(f"{EXPONENTIAL}: found no closed form of the least risk; ask arb for an interval")
    if backend is not None or least.closed() is not None:
        value = evaluate(least, values, digits, backend)
        _, places = minimise(risk, moving, values, PLACE_DIGITS)
        return value, _named(places)
    if limit is not None:
        value = evaluate(limit, values, digits)
        if _is_lowest(risk, values, float(value.value)):
            value = replace(value, kind=Kind.ESTIMATED, method="limit of large scales, below all risks of a scan")
            return value, {"a": replace(value, value=mpmath.inf, error=mpmath.mpf(0), digits=15)}
    if moving == [a] and digits is not None and digits > MULTIPRECISION_DIGITS:  # up to so many the search is as fast
        try:
            return _at_the_bottom(risk, values, digits)
        except CannotEvaluate:
            pass
    start = _place_in_the_limit(task, attention, moving, values)
    # where there is no value there, as at the strongest signals, a search in vain takes half a minute
    if start is not None:
        evaluate(risk, {**values, **start}, digits, "numpy")
    value, places = minimise(risk, moving, values, digits, start=start)
    if moving == [a] and places[a].value == 0 and attention.kernel.subs(x, 0) == 0:
        places = {a: replace(places[a], method=TOWARDS_ZERO)}
    if moving == [a] and places[a].value < 0 and has_parity(attention.kernel):  # of two alike the positive one
        places = {a: replace(places[a], value=-places[a].value)}
    return value, _named(places)


def all_on_the_largest(value: Value) -> tuple[Value, dict[str, Value]]:
    """The noise alone, where the largest token is the relevant one: no risk is less."""
    value = replace(value, method="limit of large scales: all weight on the largest token")
    return value, {"a": replace(value, value=mpmath.inf, error=mpmath.mpf(0), digits=15)}


def _place_in_the_limit(
    task: Task, attention: Attention, moving: list[Symbol], values: Mapping[Any, object]
) -> dict[Symbol, float] | None:
    """Where the least risk lies under the limit of a strong selection, where values cost little.

    Where that is at infinity, the scale at which an exponential kernel selects as sharply as the law does: beside an offset the
    best one is near that. None where there is no such, or a scan shows another bottom that may be lower before the limit: by the
    bound on what the limit moves, and unless it lies well above and its own risk moves by little of that.
    """
    near = with_largest(task, attention, values)
    if near is None:
        return None
    limit, moved = near.task, near.moves()
    at = of_the_limit(task, values)
    try:
        least, places = least_risk(limit, attention, at, PLACE_DIGITS // 2)
        found = {symbol: float(places[str(symbol)]) for symbol in moving}
        if moving == [a] and found[a] == inf:
            found[a] = _as_the_law(task, attention, values)
        if not all(map(isfinite, found.values())):
            return None
    except CannotEvaluate:
        return None

    def risk(own: Task, known: Mapping[Any, object], place: Any) -> float:
        return _between(population_risk(own, attention), {**known, **dict(zip(moving, map(float, place)))})[1]

    grid = list(itertools.product(scan_points(len(moving)), repeat=len(moving)))
    risks = np.array([risk(limit, at, place) for place in grid])
    for k in other_bottoms(risks, list(found.values())):
        gap = float(risks[k]) - float(least.value)
        if gap > 2.0 * moved:
            continue
        if gap < NEAR * least.value or not abs(risk(task, values, grid[k]) - risks[k]) < NEAR * gap:
            return None
    return found


def _as_the_law(task: Task, attention: Attention, values: Mapping[Any, object]) -> float:
    """The scale at which an exponential kernel grows as the posterior of the law does; infinite where either is none."""
    kernel, slope = exponential(attention.kernel, x), exponential_slope(task.law)
    if kernel is None or slope is None or not kernel.rate.is_positive:
        return inf
    return float(slope.xreplace(numbers_of(slope, values)) / kernel.rate)


def _is_lowest(risk: Expr, values: Mapping[Any, object], limit: float) -> bool:
    """Whether no scale has a lower risk than the limit of large ones: none of a scan, nor a smooth risk between its places.

    Further out the risk falls to the limit as 1/a: what is left of it halves, nearly, when the scale is doubled.
    """
    places = [*scan_points(1).tolist(), *OUTWARDS]
    left = np.array([_between(risk, {**values, a: place})[0] - limit for place in places])
    if not (np.all(np.isfinite(left)) and np.all(left > 0.0)):
        return False
    around = np.array([left[:-2], left[1:-1], left[2:]])
    is_bottom = (around[1] <= around[0]) & (around[1] <= around[2])
    outer = left[-len(OUTWARDS) :]
    halved = outer[1:] / outer[:-1]
    return not np.any(is_bottom & (2.0 * around[1] <= around.max(axis=0))) and bool(
        np.all((HALVED[0] < halved) & (halved < HALVED[1]))
    )


def _between(risk: Expr, values: Mapping[Any, object]) -> tuple[float, float]:
    """The least and the most that a risk may be, to few digits; -oo and oo where it is not known."""
    try:
        one = evaluate(risk, values, FEW, "numpy")
    except CannotEvaluate:  # where digits are lost, as where all weights vanish
        return -np.inf, np.inf
    return float(one.value) - float(one.error), float(one.value) + float(one.error)


def _at_the_bottom(risk: Expr, values: Mapping[Any, object], digits: int) -> tuple[Value, dict[str, Value]]:
    """By a proof on a short interval around the scale that a search finds; that no other scale is lower is the search's word.

    Raises:
        CannotEvaluate: where no proof is found, or the minimum is not inside.
    """
    _, places = minimise(risk, [a], values, PLACE_DIGITS)
    guess = float(places[a])
    reach = max(SURE * float(places[a].error), SHORT * abs(guess))
    interval = (guess - reach, guess + reach)
    if not 0 < reach < np.inf:  # it is nothing where the risk is only approached at 0
        raise CannotEvaluate("the minimum lies at no finite scale")
    value, place = _enclosed(risk, values, digits, interval, guess)
    if value.digits < digits or not abs(place.value - guess) + place.error < reach / 2:
        raise CannotEvaluate("the minimum is not seen inside of a short interval")
    method = f"{places[a].method}; there {value.method}"
    estimated = [replace(found, kind=Kind.ESTIMATED, method=method) for found in (value, place)]
    return estimated[0], {"a": estimated[1]}


def _certified(
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> tuple[Value, dict[str, Value]]:
    """Proved over an interval of the scale: the one given, else one around the scale that a search finds."""
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
        ends = [float(f"{factor * guess:.2g}") for factor in AROUND]
        interval = (min(ends), max(ends)) if vanishes or abs(guess) > SMALL else (-SMALL, SMALL)
    wanted = MULTIPRECISION_DIGITS if digits is None else checked_digits(digits)
    value, place = _enclosed(risk, values, wanted, interval, guess)
    return value, {"a": place}


def _enclosed(
    risk: Expr, values: Mapping[Any, object], digits: int, interval: tuple[float, float], guess: float
) -> tuple[Value, Value]:
    """As ``least_certified`` over the scale."""
    from symslr.evaluation.certified.least.search import least_certified

    needed, known = symbols_of(risk)
    inputs = checked_inputs(needed - {a}, known - {a}, values)
    if inputs.arrays:
        raise CannotEvaluate("certified: found an array in values; expected single numbers")
    return least_certified(risk, a, inputs.scalars, digits, interval, guess)


def _without_scale(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, backend: str | None
) -> tuple[Value, dict[str, Value]]:
    """The risk of a homogeneous kernel, the same at every scale of one sign: the lower of the two.

    The place has an infinite error.
    """
    sides = [S.One] if has_parity(attention.kernel) else [S.One, S.NegativeOne]
    found = [evaluate(population_risk(task, attention, side), values, digits, backend) for side in sides]
    lowest = min(range(len(sides)), key=lambda i: found[i].value)
    value = replace(found[lowest], error=max(item.error for item in found))
    which = "every a != 0" if len(sides) == 1 else f"every a {'>' if sides[lowest] > 0 else '<'} 0"
    place = Value(mpmath.mpf(int(sides[lowest])), mpmath.inf, value.kind, 1, f"{which}: the kernel is homogeneous")
    return value, {"a": place}


def _named(places: Mapping[Symbol, Value]) -> dict[str, Value]:
    return {str(symbol): place for symbol, place in places.items()}


def _scale(scale: Expr, values: Mapping[Any, object]) -> Value:
    """The scale at which the attention is the posterior."""
    if scale == oo:
        return Value(
            mpmath.inf, mpmath.mpf(0), Kind.ESTIMATED, 15, "matched scale: the posterior is the limit of the attention"
        )
    names = {str(symbol) for symbol in scale.free_symbols}
    return evaluate(scale, {name: value for name, value in values.items() if str(name) in names})
