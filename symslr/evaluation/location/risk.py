"""The risk of an attention under a law of location, at a given scale or at its best parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import scipy
from mpmath import inf, mpf, workdps
from numpy.polynomial import Chebyshev
from sympy import Expr, N, S, exp, sqrt

from symslr.evaluation.engine import digits_of, evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attend import Parameters, Place
from symslr.evaluation.location.bayes import GUARD, SECONDS, handed_out, valued
from symslr.evaluation.location.extent import LARGEST_SCALE, Valley, averaged, descended, valley
from symslr.evaluation.location.means import Part
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.samples.points import REPLICATIONS
from symslr.evaluation.location.tables.rules import COARSE, SEARCH, Rule
from symslr.evaluation.minima.least import least_risk
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.location.attention import LocatedAttention, Selection
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.task import LocationTask
from symslr.model.symbols import x
from symslr.parallel.blas import on_one_blas_thread
from symslr.theory.population import population_risk

SCALES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.2, 1.6, 2.1, 2.8, 4.0, 6.0, 10.0, 20.0)
"""Scales, of either sign, at which a search begins."""
FAR = 0.99 * LARGEST_SCALE
"""A place of this size lies where parameters grow without end, if the risk still falls towards it."""
ROUNDED = 1e-14
"""Risks at two places that differ by no more may differ by rounding: each is 1 less a quotient of sums of many terms."""
UNKNOWN = 3.0
"""Relative to 1 + the size of a parameter: one that may lie so far off is said to be unknown, with the ends of where it may lie."""
LONGEST_TAIL = 0.75
"""The largest ratio of a fall of the risk, as parameters double, to the one before: 2^-p where it goes like their power -p."""
SHARE = 1e-3
"""Of the error that a place is printed with, to which it is searched: what the risk still falls goes with its square."""
DEGREE, NARROWER, POLYNOMIALS = 6, 10.0, 8
"""Of the polynomials through a risk; each is on a part half so many times shorter than the one before; and how many at most."""
LEVEL = 1e-12
"""Relative difference of risks that is rounding."""
SEARCHES, ALIKE = 8, 6
"""Searches over several parameters, from the best starts whose risks differ in so many digits: two heads may be exchanged.
A sigmoid with a free bias is least from a start that is the fifth, for a signal of either sign at nu = 4."""
BIASES, STEP = (-20.0, -8.0, -3.0, -1.0, 1.0, 3.0, 8.0, 20.0), 1e-3
"""Where a search begins of a free bias, and half of a difference that gives the slope of the kernel's log there."""
STRENGTHS = (0.1, 0.5, 1.0, 2.0)
"""Times the values of theta at the root of the signal strength, where heads stand when a search begins."""
FURTHER = 2.0
"""Times a value of theta, of a second head at it when a search begins."""
COARSELY, FINELY = (1e-2, 1e-9), ((1e-3, 1e-15), (1e-4, 1e-15))
"""Steps of differences, relative to 1 + the size of a parameter, and a fall of the risk that is none: while all searches go on, and
of the two, one after the other, that go on from the best place by values with all their digits. A place is off by the square of the
steps, and the longer ones come through flat valleys, where the shorter ones see rounding.
"""
Found = tuple[Value, dict[str, Value]]


@on_one_blas_thread
def risk_value(
    task: LocationTask,
    attention: LocatedAttention | Attention,
    scale: object,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    seconds: float = SECONDS,
) -> Value:
    """The risk of an attention with one head along one direction at the scale a, and at its best value vector.

    Args:
        task, values, digits, seconds: as for ``bayes_value``.
        attention: one head, without parameters of its own.
        scale: of the key.

    Raises:
        CannotEvaluate: where more than a scale is to be known, or the digits are out of reach.
    """
    began, here = time.perf_counter(), valued(task, values)
    plain, chosen, unit = _prepared(here, attention)
    standard = _standard(plain, chosen)
    if standard is not None and isinstance(chosen.base, Attention) and not chosen.base.parameters:
        expr = population_risk(standard, chosen.base, exact(scale, "scale") * unit)
        return evaluate(expr, {}, digits)
    risks = Risk.of(chosen, plain, seconds)
    if chosen.heads > 1 or risks.attend.setting.directions > 1 or risks.attend.own or chosen.bias == "free":
        raise CannotEvaluate(
            "scale: given to an attention with more parameters than one scale; leave it out to find the best ones"
        )
    if exact(scale, "scale") == 0 and _is_silent(chosen):
        return handed_out(_of_silence(plain, seconds), here.noise, digits, began)
    place = Place(np.array([[float(exact(scale, "scale") * unit)]]), np.zeros(1), 0.0, ())
    return handed_out(risks.value(place), here.noise, digits, began)


def _is_silent(attention: LocatedAttention) -> bool:
    """Whether all weights are 0 at the scale 0."""
    base = attention.base
    if not isinstance(base, Attention) or base.is_normalised or attention.bias is not None:
        return False
    return bool(base.kernel.subs(x, 0) == 0)


def _of_silence(task: LocationTask, seconds: float) -> Part:
    """The risk above Delta^2 where all weights are 0: E r^T C_v r, which stands beside the moments of any attention."""
    constant = LocatedAttention(Attention(exp(x), normaliser=None, name="constant"))
    place = Place(np.zeros((1, 1)), np.zeros(1), 0.0, ())
    return Risk.of(constant, task, seconds).value(place, lambda row: float(row[0]))


@on_one_blas_thread
def least_value(
    task: LocationTask,
    attention: LocatedAttention | Attention,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    seconds: float = SECONDS,
) -> Found:
    """The least risk of an attention over its scales, head weights and own parameters, and where it is attained.

    Where the tokens are exchangeable and one is relevant, as ``least_risk``. Elsewhere the value is the risk at the
    place that a search found, and its error that of the risk there, with what it may still fall around it or where a
    parameter grows without end; of several parameters there is then no best place. The error of a parameter reaches to
    where the risk is larger by more than its own, and is infinite where that is nowhere near.

    Args:
        task, values, digits, seconds: as for ``bayes_value``.
        attention: with any heads, bias and filter. Of two separate heads that come together the method says so: their
            value vectors grow without bound, and the risk is that of the limit.

    Raises:
        CannotEvaluate: where the search fails or the digits are out of reach.
    """
    began, here = time.perf_counter(), valued(task, values)
    plain, chosen, unit = _prepared(here, attention)
    standard = _standard(plain, chosen)
    if standard is not None:
        assert isinstance(chosen.base, Attention)
        value, places = least_risk(standard, chosen.base, {}, digits)
        return value, {name: _rescaled(found, unit) if name == "a" else found for name, found in places.items()}
    risks, one = Risk.of(chosen, plain, seconds), None
    if chosen.heads > 1:
        with suppress(CannotEvaluate):
            one = _alone(Risk.of(replace(chosen, heads=1, separate=False), plain, seconds))
    return found_least(risks, here.noise, digits, began, float(unit), one)


def found_least(
    risks: Risk,
    noise: Expr,
    digits: int | None,
    began: float,
    unit: float = 1.0,
    one: tuple[Any, Any] | None = None,
) -> Found:
    """The least risk and where it is attained, as ``least_value`` says.

    Args:
        risks: the risk above Delta^2.
        noise: Delta.
        began: at a time of ``perf_counter``.
        unit: of the scales.
        one: where one head alone is best, from which several begin, too.
    """
    parameters = Parameters.of(risks.attend)
    value_at = _kept(risks, parameters)
    found = _valley(risks, parameters, value_at, _best(risks, parameters, one))
    reached, falls = value_at(found.place), _falls_beyond(risks, parameters, value_at, found)
    is_far = falls > 0
    reached = replace(reached, error=reached.error + (falls if is_far else found.fall))
    together = parameters.together(found.place)
    if together is not None:  # the risk goes with the square of their distance
        wider = risks.value(replace(parameters, spacing=2 * parameters.spacing).placed(found.place))
        reached = replace(reached, error=reached.error + abs(wider.value - reached.value))
    value = handed_out(reached, noise, digits, began)
    if is_far:
        value = replace(value, method=f"{value.method}; the risk falls as parameters grow beyond {LARGEST_SCALE:g}")
    if together is not None:
        said = "heads {} and {} come together, to be the kernel and its slope".format(*together)
        value = replace(value, method=f"{value.method}; {said}")
    return value, _places(parameters, found, unit, is_far)


def _falls_beyond(risks: Risk, parameters: Parameters, value_at: Callable[[Any], Part], found: Valley) -> float:
    """What the risk may still fall where parameters grow whose place its error does not tell; 0 where it falls no more.

    The falls from a quarter of these parameters to a half and from there to the place, at the best of the others, shrink by a
    ratio that goes on where the risk goes with a power of them: what is left is their geometric series, taken twice.
    """
    grow = _unknown(found)
    if not np.any(grow):
        return 0.0
    risk = _searched(risks, parameters, rule=SEARCH if risks.is_random else COARSE)

    def shortened(times: float) -> Part:
        place = np.where(grow, found.place / times, found.place)
        if not risks.is_random and not np.all(grow):

            def of_others(others: Any) -> float:
                vector = place.copy()
                vector[~grow] = others
                return risk(vector)

            place[~grow] = descended(of_others, place[~grow], FINELY[0])
        return value_at(place)

    try:
        here, half, quarter = value_at(found.place), shortened(2.0), shortened(4.0)
    except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
        return 0.0
    last, before = float(half.value - here.value), float(quarter.value - half.value)
    if last <= float(here.error + half.error):
        return 0.0
    ratio = min(last / before, LONGEST_TAIL) if before > 0 else LONGEST_TAIL
    return 2 * last * ratio / (1 - ratio)


def _unknown(found: Valley) -> Any:
    """Which parameters the error of the risk does not tell, (n,)."""
    ends = found.place + np.array([[-1.0], [1.0]]) * found.extents
    far = np.max(np.abs(ends), axis=0) >= LARGEST_SCALE
    return far | (np.max(found.extents, axis=0) >= UNKNOWN * (1 + np.abs(found.place))) | (np.abs(found.place) >= FAR)


def _kept(risks: Risk, parameters: Parameters) -> Callable[[Any], Part]:
    """The risk at the vector of all parameters with its error, each computed once."""
    value = cache(lambda vector: risks.value(parameters.placed(np.array(vector))))
    return lambda vector: value(tuple(vector))


def _valley(risks: Risk, parameters: Parameters, value_at: Callable[[Any], Part], place: Any) -> Valley:
    """The places that the error of the risk does not tell from the one that a search found.

    Of a risk that is sampled every value takes long: there the points of the search stand for it, and how far those of other seeds
    are apart says how far the risk may fall.
    """
    rough = _searched(risks, parameters)
    if not risks.is_random:

        def valued(vector: Any) -> tuple[float, float]:
            try:
                found = value_at(vector)
            except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
                return np.inf, 0.0
            return float(found.value), float(found.error) + ROUNDED

        return valley(rough, valued, _descent(risks, parameters), place, risks.place_error * (1 + np.abs(place)))
    seeds = [_searched(risks, parameters, seed) for seed in range(REPLICATIONS)]

    def mean(vector: Any) -> float:
        return float(np.mean([one(vector) for one in seeds]))

    at, off, fall = averaged(seeds, place)
    if np.isfinite(fall):
        return Valley(at, np.array([off, off]), fall)
    error = float(value_at(place).error) + ROUNDED
    off = risks.place_error * (1 + np.abs(place))
    found = valley(mean, lambda vector: (mean(vector), error), lambda vector: vector, place, off)
    return replace(found, fall=2 * error)


def _prepared(
    task: LocationTask, attention: LocatedAttention | Attention
) -> tuple[LocationTask, LocatedAttention, Expr]:
    """The task, the attention with constants inside, and the unit of keys: without a shift of all keys that is not seen.

    Keys of one correlation rho and variance v are such a shift and independent keys of the variance v (1 - rho), whatever is
    relevant; and C^-1 is 1/(v (1 - rho)) and a shift.
    """
    located = attention if isinstance(attention, LocatedAttention) else LocatedAttention(attention)
    attention = located.with_constant_inside()
    base = attention.base
    blind = isinstance(base, Selection) or (base.kernel == exp(x) and base.is_normalised and base.offset == 0)
    found = None if task.key_covariance is None else task.key_covariance.structure
    if not isinstance(found, Equicorrelated) or not blind or attention.filter not in (None, "matched"):
        return task, attention, S.One
    plain = replace(task, strength=task.strength / found.own_variance, key_covariance=None)
    unit = sqrt(found.own_variance)
    return plain, replace(attention, filter=None), unit if attention.filter is None else 1 / unit


def _standard(task: LocationTask, attention: LocatedAttention) -> Any:
    """The task as one with exchangeable tokens, where the attention is a plain one."""
    plain = attention.heads == 1 and attention.bias is None and attention.filter in (None, "matched")
    if isinstance(attention.base, Selection) or not plain or task.key_covariance is not None:
        return None
    return task.reduced()


def _rescaled(value: Value, unit: Expr) -> Value:
    with workdps(value.digits + GUARD):
        factor = mpf(str(N(unit, value.digits + GUARD)))
        return replace(value, value=value.value / factor, error=value.error / factor)


def _places(parameters: Parameters, found: Valley, unit: float, is_far: bool) -> dict[str, Value]:
    """Every parameter where the risk is least; with an infinite error where the risk's does not tell where that is."""
    if is_far and parameters.count > 1:
        return {}
    if is_far:
        return {"a": Value(inf, mpf(0), Kind.ESTIMATED, 4, "the risk falls as the scale grows")}
    printed = parameters.printed(found.place, found.extents, unit)
    return {name: _printed(name, *ends, bool(wide)) for (name, ends), wide in zip(printed.items(), _unknown(found))}


def _printed(name: str, number: float, low: float, high: float, is_unknown: bool) -> Value:
    if is_unknown:
        said = f"{name} between about {low:.3g} and {high:.3g}: where in between, the risk's error does not tell"
        return Value(mpf(number), inf, Kind.ESTIMATED, 2, said)
    # one digit more than is known, so that the risk at what is printed is the one beside it
    error = max(number - low, high - number)
    digits = max(digits_of(mpf(number), mpf(error)), 1) + 1
    return Value(mpf(number), mpf(error), Kind.ESTIMATED, digits, "search in float64")


def _searched(risks: Risk, parameters: Parameters, seed: int = 0, rule: Rule = SEARCH) -> Callable[[Any], float]:
    """The risk for a search by a rule, at the vector of all parameters; infinite without a value, and beyond the largest scale."""

    def risk(vector: Any) -> float:
        if np.max(np.abs(vector)) > LARGEST_SCALE * 1.0001:
            return np.inf
        try:
            found = risks.search(parameters.placed(np.asarray(vector, dtype=float)), seed, rule)
        except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
            return np.inf
        return found if np.isfinite(found) else np.inf

    return risk


def _alone(risks: Risk) -> tuple[Any, Any]:
    """Where a search finds the least risk of one head: its scale (p,), and the bias and own parameters."""
    parameters = Parameters.of(risks.attend)
    found = _best(risks, parameters)
    return found[: parameters.directions], found[parameters.directions :]


def _best(risks: Risk, parameters: Parameters, one: tuple[Any, Any] | None = None) -> Any:
    """The vector of all parameters where a search found the least risk.

    Args:
        one: where one head alone is best, from which several begin, too.

    Raises:
        CannotEvaluate: where no place gives a number.
    """
    risk = _searched(risks, parameters)
    if parameters.count == 1:
        return np.array([_along_line(lambda a: risk(np.array([a])), SHARE * risks.place_error)])
    starts = _starts(risks, parameters.joint, int(parameters.has_bias))
    if one is not None:
        starts.insert(0, np.concatenate([np.tile(one[0], parameters.heads), np.zeros(parameters.joint), one[1]]))
    chosen = [*_lowest(risk, starts), *_lowest(risk, _far_biases(risks, parameters))]
    if not chosen:
        raise CannotEvaluate(f"attention {risks.attend.attention.name}: no finite risk at any scale that was tried")
    rough = partial(descended, risk, fineness=COARSELY)
    place = min(map(rough, chosen), key=risk)
    return place if risks.is_random else _descent(risks, parameters)(place)


def _lowest(risk: Callable[[Any], float], starts: Sequence[Any]) -> list[Any]:
    """The best of the starts, of which no two are alike."""
    tried: dict[float, Any] = {}
    for start in starts:
        tried.setdefault(float(f"{risk(start):.{ALIKE}g}"), start)
    return [tried[height] for height in sorted(tried)[:SEARCHES] if np.isfinite(height)]


def _far_biases(risks: Risk, parameters: Parameters) -> list[Any]:
    """Where searches of one head with a free bias begin, too: at other parts of its kernel, whose log a scale moves by order 1."""
    if risks.is_random or parameters.heads > 1 or not parameters.has_bias or risks.attend.own:
        return []
    log = risks.attend.signed_log_kernel
    theta = np.sqrt(max(risks.attend.setting.strength, 0.1)) * risks.attend.setting.values[0]
    starts = []
    for bias in BIASES:
        low, high = log(np.array([bias - STEP, bias + STEP]))[1]
        slope = abs(high - low) / (2 * STEP) if np.isfinite(low) and np.isfinite(high) else 0.0
        unit = 1 / slope if slope > 1 / LARGEST_SCALE else 1.0
        starts += [
            np.array([*(strength * unit * theta), bias]) for strength in (0.0, *STRENGTHS, *(-s for s in STRENGTHS))
        ]
    return starts


def _descent(risks: Risk, parameters: Parameters) -> Callable[[Any], Any]:
    """From the vector of all parameters to one where the risk is least, by values with all their digits."""
    risk = _searched(risks, parameters, rule=COARSE)

    def descend(place: Any) -> Any:
        for fineness in FINELY:
            place = descended(risk, place, fineness)
        return place

    return descend


def _along_line(risk: Callable[[float], float], error: float) -> float:
    """The best single scale to an error: a grid of both signs, then Brent's search in each valley that may be the deepest."""
    grid = sorted({sign * a for a in (*SCALES, LARGEST_SCALE) for sign in (-1.0, 1.0)})
    risks = [risk(a) for a in grid]
    place = int(np.argmin(risks))
    if not np.isfinite(risks[place]):
        raise CannotEvaluate("attention: no finite risk at any scale that was tried")
    lowest, best = risks[place], grid[place]
    for i in sorted(range(1, len(grid) - 1), key=lambda k: risks[k]):
        beside = risks[i - 1], risks[i + 1]
        if risks[i] > min(beside) or 2 * risks[i] - max(beside) > lowest - LEVEL * abs(lowest):
            continue  # a smooth function falls no lower between this point and its neighbours
        value, at = _bottom(risk, grid[i - 1], grid[i + 1], error)
        if value < lowest:
            lowest, best = value, at
    # of an even function the positive place
    return abs(best) if risk(abs(best)) - lowest <= LEVEL * abs(lowest) else best


def _bottom(risk: Callable[[float], float], low: float, high: float, error: float) -> tuple[float, float]:
    """(value, place) of the least value in an interval: of polynomials on shorter and shorter parts, or by Brent's search."""
    before, start, end = np.inf, low, high
    for _ in range(POLYNOMIALS):
        with suppress(np.linalg.LinAlgError), np.errstate(invalid="ignore"):  # of values that are infinite
            line: Any = Chebyshev.interpolate(np.vectorize(risk, otypes=[float]), DEGREE, (start, end))
            if np.max(np.abs(line.coef[1:])) <= LEVEL * abs(line.coef[0]):
                return float(line.coef[0]), (start + end) / 2
            level = [float(x.real) for x in line.deriv().roots() if abs(x.imag) <= error and start < x.real < end]
            place = min(level, key=lambda x: float(line(x)), default=np.inf)
            if abs(place - before) <= error:
                return risk(place), place
            if np.isfinite(place):
                reach, before = (end - start) / NARROWER, place
                start, end = max(low, place - reach), min(high, place + reach)
                continue
        break
    with np.errstate(invalid="ignore"):  # beside a scale without a value
        found = scipy.optimize.minimize_scalar(risk, bounds=(low, high), method="bounded", options={"xatol": error})
    return float(found.fun), float(found.x)


def _starts(risks: Risk, joint: int, free: int) -> list[Any]:
    """Where a search over several parameters begins: heads along the values of theta at several strengths, at random, and at 0.

    Further heads stand at larger values, of either sign: where two are one, their weights have no slope.
    """
    setting, heads = risks.attend.setting, risks.attend.attention.heads
    kinds, random = len(setting.shares), np.random.default_rng(0)
    starts = []
    sides = (FURTHER, -FURTHER) if heads > kinds else (1.0,)
    signs = (1.0, -1.0) if heads > 1 else (1.0,)  # a kernel may fall
    for strength, further, sign, turn in product(STRENGTHS, sides, signs, range(kinds)):
        chosen = [(turn + h) % kinds for h in range(heads)]
        theta = sign * setting.values[chosen] * further ** (np.arange(heads) // kinds)[:, None]
        scales = strength * np.sqrt(max(setting.strength, 0.1)) * theta
        logs = np.log(setting.shares[chosen]) - setting.strength / 2 * np.sum(theta**2, axis=1)
        biases = (0.0, -np.log(setting.length)) if free else (None,)
        for bias in biases:
            rest = [*(logs - logs[0])[1 : joint + 1], *([] if bias is None else [bias])]
            starts.append(np.array([*scales.ravel(), *rest, *[0.0] * len(risks.attend.own)]))
    starts += [start + random.normal(size=len(start)) for start in starts[:4] if heads <= kinds]
    if heads == 1:
        starts.append(np.zeros(len(starts[0])))
    return starts
