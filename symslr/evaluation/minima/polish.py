"""A minimum on a line refined from a place near it, at any precision: quartics through five values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.function import Function, Least

MOST_ROUNDS = 24
"""Rounds of five values each: enough to shorten the step from 1/50 to 1e-15."""
BENT = 0.1
"""Largest distance between the vertices of the parabola and of the quartic, in steps; else the step is shortened."""
SEEN_IN_ERRORS = 30.0
"""A second difference must be so many errors of the values."""
LESS = 0.7
"""The five values have this part of the digits: the place then has enough."""
INSIDE = 0.02
"""Least distance of a minimum from the ends of the interval that is searched, relative to its length; else it is moved."""
TURNED = 0.2
"""Largest relative change of the second derivative from the middle to the vertex; else another round follows."""
LONGEST = 0.25
"""Longest step, relative to the place."""


def polished(f: Function, start: float, unit: float) -> Least:
    """The minimum near a place, by quartics through five values whose step falls with the tolerance.

    With e the distance between the vertices of parabola and quartic, in steps h, or h relative to the place where that is
    more, the quartic's is off by about e^3. Thirty times that is claimed, and what errors of the values move it; values at that
    distance on both sides must not be lower, else another round follows. The value is one at the vertex; its error has what the
    curvature makes of the place's.

    Args:
        f: a function of one variable.
        start, unit: a place near its minimum; steps are relative to the place, or to ``unit`` where that is more.

    Raises:
        CannotEvaluate: where this does not come to a minimum.
    """
    number = f.context.arithmetic.number
    place, scale = number(start), max(abs(start), unit)
    near = replace(f, context=replace(f.context, tolerance=f.context.tolerance**LESS))
    finest = number(scale) * number(float(near.context.tolerance) ** 0.2)
    h = finest
    level: tuple[Any, Any, Any] | None = None
    blind = number(0)
    for _ in range(MOST_ROUNDS):
        values, errors = zip(*(near.pair([place + k * h]) for k in (-2, -1, 0, 1, 2)))
        error = max(errors)
        first, second, third, fourth = _differences(values)
        noise = error + number(4) * f.context.arithmetic.eps * max(map(abs, values))
        if not second > SEEN_IN_ERRORS * noise:
            blind, spread = max(blind, h), max(values) - min(values)
            if spread > 2 * SEEN_IN_ERRORS * noise:  # it falls on to one side
                place = place + (-2 if values[0] < values[4] else 2) * h
            elif level is None:
                lowest = min(range(5), key=lambda k: values[k])
                level = values[lowest], errors[lowest] + spread, place + (lowest - 2) * h
            if 4 * h > LONGEST * scale and level is not None:
                if near is f:
                    return level[0], level[1], [(level[2], 4 * h)]
                near, level, blind = f, None, number(0)  # more digits may show where the bottom is
                continue
            h = min(4 * h, number(LONGEST * scale))
            continue
        by_parabola = -first / second
        if abs(by_parabola) > 2:
            place = place + max(number(-20), min(number(20), by_parabola)) * h
            continue
        vertex = by_parabola
        for _ in range(8):
            slope = first + vertex * (second + vertex * (third / 2 + vertex * fourth / 6))
            bend = second + vertex * (third + vertex * fourth / 2)
            if not bend > 0:
                break
            vertex = vertex - slope / bend
        off = abs(vertex - by_parabola)
        is_bent = not bend > 0 or off > BENT
        if is_bent and h / 4 > blind:
            h = h / 4
            if h < finest / 4096:
                break
            continue
        if is_bent and near is not f:
            near, level, blind, h = f, None, number(0), h / 4
            continue
        if is_bent:
            vertex = by_parabola
        place = place + vertex * h
        if abs(vertex) > 1 or (abs(vertex * third) > TURNED * second and not is_bent):
            continue
        doubt = noise / second + (number(2) if is_bent else 30 * max(off, h / number(scale)) ** 3)
        if not is_bent and second * doubt * doubt > error + number(f.context.tolerance) * abs(values[2]) and h > finest:
            h = max(finest, h / 16)
            continue
        value, own = f.pair([place])
        if value - own > min(values) + error:
            break  # a kink
        beside = [(*f.pair([place + side * doubt * h]), side) for side in (-1, 1)]
        lower, off, side = min(beside, key=lambda one: one[0])
        if lower + off < value - own:  # the minimum is further away than claimed
            place, h = place + side * doubt * h, h / 4
            continue
        return value, own + second * doubt * doubt, [(place, doubt * h)]
    raise OutOfDigits("the minimum could not be refined: the function is flat or not smooth there")


def _differences(values: Any) -> tuple[Any, Any, Any, Any]:
    """The first to fourth derivatives in the middle of five values, in units of the step: those of the quartic."""
    a, b, c, d, e = values
    return (
        (a - 8 * b + 8 * d - e) / 12,
        (-a + 16 * b - 30 * c + 16 * d - e) / 12,
        (-a + 2 * b - 2 * d + e) / 2,
        a - 4 * b + 6 * c - 4 * d + e,
    )


def lowest_between(f: Function, low: float, high: float) -> Least:
    """The minimum between two places in float64 by Brent's bounded search: of a function with a kink, or one that is level.

    The error of the place is the distance at which the function has risen by more than its errors on both sides.
    """
    from scipy.optimize import minimize_scalar  # takes 0.2 s to load

    def seen(*places: float) -> Any:
        return f.pairs([[place] for place in places])

    for _ in range(MOST_ROUNDS):
        tight = {"xatol": 1e-9 * (high - low)}
        at = float(
            minimize_scalar(lambda a: float(seen(a)[0, 0]), bounds=(low, high), method="bounded", options=tight).x
        )
        if min(at - low, high - at) > INSIDE * (high - low):
            break
        low, high = 1.5 * low - 0.5 * high + (at - (low + high) / 2), 1.5 * high - 0.5 * low + (at - (low + high) / 2)
    else:
        raise OutOfDigits("the minimum could not be refined: the function falls on beside it")
    off = 1e-7 * (high - low)
    value, error = seen(at)[0]
    if not np.isfinite(value):
        raise CannotEvaluate("the minimum could not be refined: there is no value beside it")
    error += 4.0 * f.context.arithmetic.eps * abs(value)
    change = float(np.max(np.abs(seen(at - off, at + off)[:, 0] - value)))
    while off < high - low and np.any((beside := seen(at - off, at + off))[:, 0] - beside[:, 1] <= value + error):
        off *= 2.0
    return value, error + change, [(at, 2.0 * off)]
