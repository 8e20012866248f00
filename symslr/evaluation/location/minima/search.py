"""Where the risk of an attention is least, over scales, head weights, biases and own parameters: a search in float64."""

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
from symslr.evaluation.location.attend import Parameters
from symslr.evaluation.location.minima.extent import LARGEST_SCALE, descended
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.tables.rules import COARSE, SEARCH, Rule

SCALES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.2, 1.6, 2.1, 2.8, 4.0, 6.0, 10.0, 20.0)
"""Scales, of either sign, at which a search begins."""
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


def searched(risks: Risk, parameters: Parameters, seed: int = 0, rule: Rule = SEARCH) -> Callable[[Any], float]:
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


def best_head(risks: Risk) -> tuple[Any, Any]:
    """Where a search finds the least risk of one head: its scale (p,), and the bias and own parameters."""
    parameters = Parameters.of(risks.attend)
    found = best(risks, parameters)
    return found[: parameters.directions], found[parameters.directions :]


def best(risks: Risk, parameters: Parameters, one: tuple[Any, Any] | None = None) -> Any:
    """The vector of all parameters where a search found the least risk.

    Args:
        one: where one head alone is best, from which several begin, too.

    Raises:
        CannotEvaluate: where no place gives a number.
    """
    risk = searched(risks, parameters)
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
    return place if risks.is_random else descent(risks, parameters)(place)


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


def descent(risks: Risk, parameters: Parameters) -> Callable[[Any], Any]:
    """From the vector of all parameters to one where the risk is least, by values with all their digits."""
    risk = searched(risks, parameters, rule=COARSE)

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
