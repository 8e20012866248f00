"""Search for the least risk of an attention over scales, head weights, biases and the kernel's own parameters, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy
from numpy.polynomial import Chebyshev

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attention_function import ParameterSpace
from symslr.evaluation.location.minima.extent import LARGEST_SCALE, newton_descent
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.tables.rules import COARSE, SEARCH, Rule

START_SCALES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.2, 1.6, 2.1, 2.8, 4.0, 6.0, 10.0, 20.0)
"""Scales, of either sign, at which a search begins."""
ERROR_SHARE = 1e-3
"""A single scale is searched to this share of the error it is reported with."""
DEGREE, NARROWING, MOST_POLYNOMIALS = 6, 10.0, 8
"""Degree of the Chebyshev interpolants of a risk; how many times shorter the half width of the next one is than the width of the
one before; and how many there are at most."""
ROUNDING_LEVEL = 1e-12
"""Relative difference of risks below which they count as equal: rounding."""
MOST_SEARCHES, COMPARED_DIGITS = 8, 6
"""Number of local searches over several parameters, from the best starts; starts whose risks agree in the second number of digits
count once, as heads may be exchanged. Five are needed: a sigmoid with a free bias finds its minimum from the fifth best start, for
a signal of either sign at nu = 4."""
START_BIASES, SLOPE_STEP = (-20.0, -8.0, -3.0, -1.0, 1.0, 3.0, 8.0, 20.0), 1e-3
"""Starts of a free bias, and the step of the central difference that gives the slope of log kappa there."""
START_STRENGTHS = (0.1, 0.5, 1.0, 2.0)
"""Start scales of heads, in units of sqrt(nu) theta."""
FURTHER_HEADS = 2.0
"""Start scale of a second head at the same value of theta, in units of that of the first."""
COARSE_DESCENT, FINE_DESCENTS = (1e-2, 1e-9), ((1e-3, 1e-15), (1e-4, 1e-15))
"""(step of differences relative to 1 + the size of a parameter, decrease at which to stop) for ``newton_descent``: of all first
searches, and of the two that follow from the best point with risks of full accuracy. The minimiser is off by the square of the
step; longer steps make way in flat valleys, where shorter ones see rounding.
"""


def search_risk(risks: Risk, parameters: ParameterSpace, seed: int = 0, rule: Rule = SEARCH) -> Callable[[Any], float]:
    """The risk by one rule as a function of the vector of parameters; inf where it has no value and beyond ``LARGEST_SCALE``."""

    def risk(vector: Any) -> float:
        if np.max(np.abs(vector)) > LARGEST_SCALE * 1.0001:
            return np.inf
        try:
            found = risks.search(parameters.unpacked(np.asarray(vector, dtype=float)), seed, rule)
        except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
            return np.inf
        return found if np.isfinite(found) else np.inf

    return risk


def best_head(risks: Risk) -> tuple[Any, Any]:
    """The best parameters of one head: its scale (p,), and its bias and own parameters in one array."""
    parameters = ParameterSpace.of(risks.attend)
    found = minimiser(risks, parameters)
    return found[: parameters.directions], found[parameters.directions :]


def minimiser(risks: Risk, parameters: ParameterSpace, one: tuple[Any, Any] | None = None) -> Any:
    """The vector of parameters (count,) of the least risk that a search found.

    Args:
        one: best (scale, bias and own parameters) of a single head, a further start for several heads.

    Raises:
        CannotEvaluate: where no start has a finite risk.
    """
    risk = search_risk(risks, parameters)
    if parameters.count == 1:
        return np.array([_least_scale(lambda a: risk(np.array([a])), ERROR_SHARE * risks.place_error)])
    starts = _starts(risks, parameters.joint, int(parameters.has_bias))
    if one is not None:
        starts.insert(0, np.concatenate([np.tile(one[0], parameters.heads), np.zeros(parameters.joint), one[1]]))
    chosen = [*_lowest(risk, starts), *_lowest(risk, _far_biases(risks, parameters))]
    if not chosen:
        raise CannotEvaluate(f"attention {risks.attend.attention.title}: no finite risk at any scale that was tried")
    rough = partial(newton_descent, risk, fineness=COARSE_DESCENT)
    place = min(map(rough, chosen), key=risk)
    return place if risks.is_random else fine_descent(risks, parameters)(place)


def _lowest(risk: Callable[[Any], float], starts: Sequence[Any]) -> list[Any]:
    """The ``MOST_SEARCHES`` best starts of finite risk, those of equal risk counted once."""
    tried: dict[float, Any] = {}
    for start in starts:
        tried.setdefault(float(f"{risk(start):.{COMPARED_DIGITS}g}"), start)
    return [tried[height] for height in sorted(tried)[:MOST_SEARCHES] if np.isfinite(height)]


def _far_biases(risks: Risk, parameters: ParameterSpace) -> list[Any]:
    """Further starts for one head with a free bias: at several biases, with scales that change log kappa there by order 1."""
    if risks.is_random or parameters.heads > 1 or not parameters.has_bias or risks.attend.own:
        return []
    log = risks.attend.signed_log_kernel
    theta = np.sqrt(max(risks.attend.setting.strength, 0.1)) * risks.attend.setting.values[0]
    starts = []
    for bias in START_BIASES:
        low, high = log(np.array([bias - SLOPE_STEP, bias + SLOPE_STEP]))[1]
        slope = abs(high - low) / (2 * SLOPE_STEP) if np.isfinite(low) and np.isfinite(high) else 0.0
        unit = 1 / slope if slope > 1 / LARGEST_SCALE else 1.0
        starts += [
            np.array([*(strength * unit * theta), bias])
            for strength in (0.0, *START_STRENGTHS, *(-s for s in START_STRENGTHS))
        ]
    return starts


def fine_descent(risks: Risk, parameters: ParameterSpace) -> Callable[[Any], Any]:
    """Local search with risks of full accuracy, from a vector of parameters to a minimiser."""
    risk = search_risk(risks, parameters, rule=COARSE)

    def descend(place: Any) -> Any:
        for fineness in FINE_DESCENTS:
            place = newton_descent(risk, place, fineness)
        return place

    return descend


def _least_scale(risk: Callable[[float], float], error: float) -> float:
    """The best single scale, to ``error``: a grid of both signs, then a search between the neighbours of each low grid point."""
    grid = sorted({sign * a for a in (*START_SCALES, LARGEST_SCALE) for sign in (-1.0, 1.0)})
    risks = [risk(a) for a in grid]
    place = int(np.argmin(risks))
    if not np.isfinite(risks[place]):
        raise CannotEvaluate("attention: no finite risk at any scale that was tried")
    lowest, minimiser = risks[place], grid[place]
    for i in sorted(range(1, len(grid) - 1), key=lambda k: risks[k]):
        beside = risks[i - 1], risks[i + 1]
        if risks[i] > min(beside) or 2 * risks[i] - max(beside) > lowest - ROUNDING_LEVEL * abs(lowest):
            continue  # a smooth function falls no lower between this point and its neighbours
        value, at = _least_in_interval(risk, grid[i - 1], grid[i + 1], error)
        if value < lowest:
            lowest, minimiser = value, at
    # of an even function the positive place
    return abs(minimiser) if risk(abs(minimiser)) - lowest <= ROUNDING_LEVEL * abs(lowest) else minimiser


def _least_in_interval(risk: Callable[[float], float], low: float, high: float, error: float) -> tuple[float, float]:
    """(least risk, scale) in an interval, by Chebyshev interpolants on shrinking intervals, else by Brent's method."""
    before, start, end = np.inf, low, high
    for _ in range(MOST_POLYNOMIALS):
        with suppress(np.linalg.LinAlgError), np.errstate(invalid="ignore"):  # of values that are infinite
            line: Any = Chebyshev.interpolate(np.vectorize(risk, otypes=[float]), DEGREE, (start, end))
            if np.max(np.abs(line.coef[1:])) <= ROUNDING_LEVEL * abs(line.coef[0]):
                return float(line.coef[0]), (start + end) / 2
            level = [float(x.real) for x in line.deriv().roots() if abs(x.imag) <= error and start < x.real < end]
            place = min(level, key=lambda x: float(line(x)), default=np.inf)
            if abs(place - before) <= error:
                return risk(place), place
            if np.isfinite(place):
                reach, before = (end - start) / NARROWING, place
                start, end = max(low, place - reach), min(high, place + reach)
                continue
        break
    with np.errstate(invalid="ignore"):  # beside a scale without a value
        found = scipy.optimize.minimize_scalar(risk, bounds=(low, high), method="bounded", options={"xatol": error})
    return float(found.fun), float(found.x)


def _starts(risks: Risk, joint: int, free: int) -> list[Any]:
    """Starts of a search over several parameters: heads along the values of theta at several scales, some perturbed at random, and
    0.

    Where there are more heads than values, the further ones are longer, of either sign: two equal heads would be a stationary
    point.
    """
    setting, heads = risks.attend.setting, risks.attend.attention.heads
    kinds, random = len(setting.shares), np.random.default_rng(0)
    starts = []
    sides = (FURTHER_HEADS, -FURTHER_HEADS) if heads > kinds else (1.0,)
    signs = (1.0, -1.0) if heads > 1 else (1.0,)  # a kernel may fall
    for strength, further, sign, turn in product(START_STRENGTHS, sides, signs, range(kinds)):
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
