"""The least value on a line: a Chebyshev proxy of the function, of a risk's logarithm, whose lowest minima are polished.

With t = a/(unit + |a|) the line is (-1, 1), and its cells end at t = 0, 3/4, 15/16, 63/64, ... On each the function is
interpolated at 5, 9 or 17 Chebyshev points, and the cell is halved until the last coefficients are small, unless all of it lies
clearly above the lowest value known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from symslr.evaluation.errors import CannotEvaluate, NoLeastValue, OutOfDigits
from symslr.evaluation.minima.function import Function, Least
from symslr.evaluation.minima.polish import lowest_between, polished
from symslr.evaluation.minima.tokens import View
from symslr.evaluation.nodes.node import Pair

ROUGH, MIDDLE, FINE = 1e-5, 1e-8, 1e-13
"""Tolerances of the values of the proxy: a smaller one where errors hide what the function does."""
LEAST_DIGITS = 1e-10
"""Tolerance of the values at a minimum, also where fewer digits are asked for."""
DEGREES = (4, 8, 16)
"""Degrees of a panel's polynomial, each with the points of the one before."""
TAIL = 1e-3
"""Last coefficients, as a part of the panel's range of values, from which on the polynomial is the function."""
MARGIN = 4.0
"""A value is lower for certain by more than so many times the last coefficients."""
NARROWEST = 1e-6
"""Least width of a panel, in t or relative to its distance from 0: it has a kink, which a bounded search follows."""
LEAST_REACH, FARTHEST = 15.0, 4.0
"""A search always extends to so many units, and to so many times as many where the function still falls."""
FARTHER = 16.0
"""So many times as far where the function has fallen below its limit."""
FALLS_LEFT = 3.0
"""The most that a function may fall beyond a panel, in units of its slope at the end times half the panel: as 1/a it is 2/3."""
REFUSALS = 4
"""How often the way to a place without a value is halved until there is one; then it is walked in at most twice as many steps."""
BESIDE_ZERO = 1e-6
"""The first place beside 0 where there is no value at 0 itself, in units."""
AT_THE_END = 1e-9
"""Nearer to the end of a search, in t, a place is the end."""
MOST_CANDIDATES = 6
EQUAL_ERRORS = 10.0
"""Of minima that are equal within their errors those count whose errors are at most so many times the smallest one."""
UNDERFLOW = 1e-300
"""A value below this has underflowed in float64: no risk is lower."""
POWERS, POWER_CHANGE = (0.6, 1.3), 0.3
"""Near 1/a a function approaches its limit from above for certain; so much may the powers of two doublings differ. Where a higher
power leads, a shallow bottom below the limit may lie further out."""


Limit = Callable[[int], Pair | None]
"""From the sign of an infinite place to (limit, error); None where it is not known."""


@dataclass(frozen=True)
class Panel:
    """An interval of t with the polynomial through the values at its Chebyshev points, the largest error of these, and the size of
    the last coefficients.
    """

    low: float
    high: float
    values: Any
    error: float
    coefficients: Any
    tail: float

    @property
    def floor(self) -> float:
        """The function lies above this on the panel, as far as the last coefficients tell."""
        lowest = float(np.min(chebyshev.chebval(np.linspace(-1.0, 1.0, 65), self.coefficients)))
        return min(lowest, float(np.min(self.values))) - MARGIN * self.tail - self.error

    @property
    def is_resolved(self) -> bool:
        return self.tail <= TAIL * float(np.ptp(self.values)) or self.tail <= 2.0 * self.error

    def at(self, t: float) -> float:
        return float(chebyshev.chebval((2.0 * t - self.low - self.high) / (self.high - self.low), self.coefficients))

    def minima(self) -> Iterator[tuple[float, float]]:
        """(value, t) at the local minima of the polynomial, the ends among them."""
        slope = chebyshev.chebder(self.coefficients)
        roots = chebyshev.chebroots(chebyshev.chebtrim(slope)) if np.any(slope[1:]) else np.array([])
        bent = chebyshev.chebder(slope)
        z = [float(own.real) for own in roots if abs(own.imag) < 1e-6 and abs(own.real) < 1.0]
        z = [own for own in z if float(chebyshev.chebval(own, bent)) > 0.0]
        z += [end for end in (-1.0, 1.0) if end * float(chebyshev.chebval(end, slope)) <= 0.0]
        if not self.is_resolved:
            z.append(float(np.cos(np.pi * int(np.argmin(self.values)) / (len(self.values) - 1))))
        for own in z:
            yield (
                float(chebyshev.chebval(own, self.coefficients)),
                (self.low + self.high) / 2 + own * (self.high - self.low) / 2,
            )


class Vanished(Exception):
    """A value has underflowed; the arguments are its place and an upper bound."""


class Line:
    """The search on one line.

    Attributes:
        best, lowest: the lowest upper bound of a height, and its place.
        ends: for each side where the search ended, and the last panel.
        refusal: why it ended where values end.
    """

    def __init__(self, f: Function, interval: tuple[float, float], view: View, steepness: float, limit: Limit) -> None:
        self.limit = cache(limit)
        self.interval, self.view, self.unit = interval, view, view.unit
        self.must = max(LEAST_REACH * view.unit, view.reach)
        self.shown = 4.0 * steepness * max(view.unit, 1.0)
        self.most = max(FARTHEST * LEAST_REACH * view.unit, self.shown, 4.0 * view.reach)
        self.f, self.rough, self.fine = f, f.in_float(ROUGH), f.in_float(FINE)
        self.best, self.lowest, self.ends = np.inf, 0.0, dict[int, tuple[float, Panel]]()
        self.refusal: CannotEvaluate | None = None

    def place(self, t: float) -> float:
        return self.unit * t / (1.0 - abs(t))

    def t(self, place: float) -> float:
        return place / (self.unit + abs(place)) if np.isfinite(place) else float(np.sign(place))

    def seen(self, function: Function, places: list[float]) -> Any:
        """``heights`` at some places, which update ``best``.

        Raises:
            Vanished: where a value underflows.
        """
        found = function.pairs([[place] for place in places])
        most = found.sum(axis=1)
        k = int(np.argmin(most))
        if self.f.is_risk and most[k] <= UNDERFLOW:
            raise Vanished(places[k], float(most[k]))
        found = self.heights(found)
        k = int(np.argmin(found.sum(axis=1)))
        if found[k].sum() < self.best:
            self.best, self.lowest = float(found[k].sum()), places[k]
        return found

    def heights(self, found: Any) -> Any:
        """(value, error) of what is approximated: of a risk its logarithm, as risks fall by hundreds of decades."""
        if not self.f.is_risk:
            return found
        value, error = np.array(found).T
        is_known = value > error
        with np.errstate(all="ignore"):
            return np.where(is_known, [np.log(value), error / value], np.inf).T

    def height(self, value: float) -> float:
        return float(np.log(max(value, UNDERFLOW))) if self.f.is_risk else value

    def panel(self, low: float, high: float, degree: int) -> Panel:
        """The panel with a polynomial of a degree.

        Raises:
            NoLeastValue: where there is no value at one of its points.
        """
        z = np.cos(np.pi * np.arange(degree + 1) / degree)
        places = [self.place((low + high) / 2 + s * (high - low) / 2) for s in z.tolist()]
        found = self.seen(self.rough, places)
        for tolerance in (MIDDLE, FINE):
            has_values = np.isfinite(self.rough.pairs([[place] for place in places])).all()
            if not has_values or np.max(found[:, 1]) <= TAIL / 2 * np.ptp(found[np.isfinite(found[:, 0]), 0]):
                break
            finer = self.seen(self.f.in_float(tolerance), places)
            found = np.where(np.isfinite(finer), finer, found)
        missing = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(missing):
            raise self.rough.without_value([min((places[k] for k in missing), key=abs)])
        coefficients = chebyshev.chebfit(z, found[:, 0], degree)
        tail = float(np.max(np.abs(coefficients[-2:])))
        return Panel(low, high, found[:, 0], float(np.max(found[:, 1])), coefficients, tail)

    def resolved(self, low: float, high: float) -> list[Panel]:
        """Panels that cover [low, high] between them, each resolved or clearly above the lowest value.

        A polynomial must also hold at the places where tokens meet the kernel.

        Raises:
            NoLeastValue: where there is no value.
        """
        found, todo = list[Panel](), [(low, high)]
        while todo:
            low, high = todo.pop()
            looks = [t for t in map(self.t, (*self.view.places, self.lowest)) if low < t < high]
            at_looks = self.seen(self.rough, [self.place(t) for t in looks]) if looks else []
            for degree in DEGREES:
                panel = self.panel(low, high, degree)
                is_high = panel.floor > self.best and not low <= self.t(self.lowest) <= high
                if is_high or panel.is_resolved:
                    break
            wrong = [
                t
                for t, (value, error) in zip(looks, at_looks)
                if value - error <= self.best
                and abs(value - panel.at(t)) > MARGIN * (panel.tail + panel.error + error) + TAIL * np.ptp(panel.values)
            ]
            if not wrong and (is_high or panel.is_resolved):
                found.append(panel)
                continue
            middle = wrong[0] if wrong else (low + high) / 2
            if high - low < NARROWEST * min(1.0, max(abs(middle), 1e-3)):  # a kink, or a jump
                found.append(panel)
                continue
            width = min(high - middle, middle - low) / 4
            cuts = [low, middle - width, middle + width, high] if wrong else [low, middle, high]
            todo += itertools.pairwise(cuts)
        return found

    def outwards(self, sign: int, start: float) -> list[Panel]:
        """Panels from ``start`` outwards, until the function no longer falls, the search ends or values do."""
        last, found = self.t(self.interval[1 if sign > 0 else 0]), list[Panel]()
        inner, k, refusals = self.t(start), 1, 0
        while True:
            outer = (inner + last) / 2 if refusals else sign * (1.0 - 4.0**-k)
            k += 1
            if sign * outer <= sign * inner:
                continue
            outer = last if sign * outer >= sign * last else outer
            try:
                more = self.resolved(min(inner, outer), max(inner, outer))
            except NoLeastValue as reason:
                self.refusal, refusals, last = reason, refusals + 1, outer
                if refusals < REFUSALS:
                    continue
                if found:
                    self.ends[sign] = self.place(inner), found[-1]
                return found
            found += sorted(more, key=lambda one: sign * one.low)
            inner, refusals = outer, refusals + (refusals > 0)
            at, farther = abs(self.place(inner)), 1.0
            is_lowest = abs(self.t(self.lowest) - inner) <= AT_THE_END  # of all places, by less than errors tell
            falls = is_lowest or self.falls(found[-1], sign)
            known = (
                self.limit(sign)
                if falls and at >= self.must and np.isinf(self.interval[1 if sign > 0 else 0])
                else None
            )
            self.ends[sign] = self.place(inner), found[-1]
            if known is not None:
                is_above = self.distance(*known, sign) == known[1]
                falls = falls and not (is_above and at >= self.shown)  # a bottom further out is not in sight
                farther = FARTHER if found[-1].at(inner) < self.height(float(known[0] - known[1])) else 1.0
            is_short = refusals > 2 * REFUSALS or at >= farther * self.most
            if inner == last or is_short or ((at >= self.must or refusals) and not falls):
                return found

    def falls(self, panel: Panel, sign: int) -> bool:
        """Whether a function that falls on outwards from a panel may get below the lowest value."""
        outside = panel.at(panel.high if sign > 0 else panel.low)
        fall = -sign * float(chebyshev.chebval(float(sign), chebyshev.chebder(panel.coefficients)))
        return fall > 2.0 * panel.error and outside - FALLS_LEFT * fall < self.best

    def bottom(self, at: float, width: float) -> Least:
        """The minimum in float64 near a place, ``width`` being what is known of it."""
        tolerance = min(max(float(self.f.context.tolerance), FINE), LEAST_DIGITS)
        f = self.f.in_float(tolerance)
        try:
            return polished(f, at, min(self.unit, max(abs(at), BESIDE_ZERO * self.unit)))
        except CannotEvaluate:
            return lowest_between(self.fine, at - width, at + width)

    def at_zero(self) -> Least | None:
        """The minimum at 0, and how far from there the function is the same within its errors; None where it falls to one side."""
        value, error = self.fine.pair([0.0])
        off = BESIDE_ZERO * self.unit
        lowest = value
        while off < self.unit:
            beside = self.fine.pairs([[off]] if self.f.is_even else [[off], [-off]])
            if np.any(beside.sum(axis=1) < value - error):
                self.seen(self.fine, [off] if self.f.is_even else [off, -off])
                return None
            lowest = min(lowest, float(np.min(beside[:, 0])))
            if np.all(beside[:, 0] - beside[:, 1] > value + error):
                break
            off *= 4.0
        return value, error + (value - lowest), [(0.0, off)]

    def towards_zero(self, sign: int) -> Least:
        """The limit at 0, where there is no value."""
        off = sign * BESIDE_ZERO * self.unit
        for _ in range(REFUSALS):
            (value, error), (other, more) = self.fine.pairs([[off], [2.0 * off]])
            if not abs(other - value) > error + more:
                break
            off /= 16.0
        return value, error + abs(other - value), [(0.0, 2.0 * abs(off))]

    def distance(self, value: Any, error: Any, side: int) -> Any:
        """The error of a known limit as an infimum: with the distance of the last value, unless that falls as a power of 1/a."""
        end = self.ends[side][0]
        for tolerance in (FINE, MIDDLE, ROUGH):
            left = self.f.in_float(tolerance).pairs([[end], [end / 2], [end / 4]])
            if np.isfinite(left).all():
                break
        else:
            raise self.fine.without_value([end])
        distance, doubt = left[:, 0] - float(value), left[:, 1] + float(error)
        if np.all(distance > 10.0 * doubt):
            powers = np.log2(distance[1:] / distance[:-1])
            if POWERS[0] < min(powers) and max(powers) < POWERS[1] and abs(powers[0] - powers[1]) < POWER_CHANGE:
                return error
        return error + abs(distance[0]) + doubt[0]


def least_on_line(
    f: Function,
    interval: tuple[float, float],
    view: View,
    steepness: float = 0.0,
    limit: Limit = lambda side: None,
) -> tuple[Any, Any, list[Pair], str]:
    """(least value, its error, [(place, error)], where it was sought in words).

    Args:
        f, interval: the function of one variable, and the ends, which may be infinite.
        view, steepness: of ``Attended``.
        limit: the limit as the variable goes to plus (1) or minus infinity (-1), where it is known.

    Raises:
        CannotEvaluate: where there is no interior minimum and no known limit, or the minimum is not resolved.
    """
    line, number, (low, high) = Line(f, interval, view, steepness, limit), f.context.arithmetic.number, interval
    inside, is_mirrored = low < 0.0 < high, f.is_even and low == -high
    try:
        has_zero = inside and bool(np.isfinite(line.seen(line.rough, [0.0])).all())
        beside = 0.0 if has_zero or not inside else BESIDE_ZERO * line.unit
        signs = [1] * (high > 0.0) + [-1] * (low < 0.0 and not is_mirrored)
        panels = [
            one for sign in signs for one in line.outwards(sign, max(sign * (low, 0.0, high)[1 - sign], beside) * sign)
        ]
    except Vanished as at:
        return number(0), number(at.args[1]), [(number(at.args[0]), np.inf)], ""
    if not panels:
        raise line.refusal or CannotEvaluate("the function to minimise has no finite value")
    ends = {sign: end for sign, (end, _) in line.ends.items()}
    left, right = ends.get(-1, -ends[1] if is_mirrored else max(low, 0.0)), ends.get(1, min(high, 0.0))
    said = f"searched for {left:.3g} <= {f.variables[0]} <= {right:.3g}"
    least = _lowest(line, panels, has_zero, beside)
    for sign, (_, panel) in line.ends.items():
        if np.isfinite(interval[1 if sign > 0 else 0]) or not line.falls(panel, sign):
            continue
        known = line.limit(sign)
        if known is None and least is not None and line.height(float(least[0])) <= panel.at(line.t(line.ends[sign][0])):
            continue  # lower inside, as far as the search goes
        if known is None:
            raise _without_minimum(line, sign)
        if least is None or known[0] + known[1] < least[0] - least[1]:
            error = line.distance(*known, sign)
            least = number(known[0]), number(error), [(number(sign * np.inf), number(0))]
    if least is None:
        raise line.refusal or _without_minimum(line, signs[0])
    if line.height(float(least[0] - least[1])) > line.best:
        raise OutOfDigits("the minimum could not be refined: lower values lie beside it")
    if not f.is_float and np.isfinite(float(least[2][0][0])):
        least = _in_full(f, least, interval, line.unit, has_zero)
    return *least, said


def _lowest(line: Line, panels: list[Panel], has_zero: bool, beside: float) -> Least | None:
    """The lowest of the polished minima; of equal ones that at a positive place. None where there is none but at open ends."""
    (low, high), found, tried = line.interval, list[Least](), list[float]()
    at_zero = line.at_zero() if has_zero and float(line.seen(line.rough, [0.0])[0] @ [1.0, -1.0]) <= line.best else None
    if at_zero is not None:
        found.append(at_zero)
    minima = [(*one, own) for own in panels for one in own.minima()]
    minima = [one for one in minima if one[0] <= line.best + MARGIN * (one[2].tail + one[2].error)]
    lowest_first, nearest_first = (sorted(minima, key=key) for key in (lambda one: one[0], lambda one: abs(one[1])))
    seen = [(line.best, line.t(line.lowest), own) for own in panels if own.low < line.t(line.lowest) < own.high]
    for value, t, panel in [*lowest_first[:MOST_CANDIDATES], *nearest_first[:MOST_CANDIDATES], *seen]:
        if (value, t, panel) in seen and any(line.height(one[0] - one[1]) <= value for one in found):
            continue
        at, width = line.place(t), panel.high - panel.low
        if any(abs(t - other) < 1e-3 * width for other in tried):
            continue
        tried.append(t)
        bound = next((end for end in line.interval if np.isfinite(end) and abs(at - end) <= 1e-9 * abs(end)), None)
        one: Least | None
        if bound is not None:
            one = *line.fine.pair([bound]), [(bound, 0.0)]
        elif any(abs(at - end) <= 1e-9 * abs(end) for end, _ in line.ends.values()):
            continue
        elif at_zero is not None and abs(at) <= at_zero[2][0][1]:
            one = None
        elif beside and abs(at) <= 1.5 * beside:
            one = line.towards_zero(1 if at > 0 else -1)
        else:
            one = line.bottom(
                at,
                abs(line.place(min(t + width / 2, 1.0 - width / 2)) - line.place(max(t - width / 2, width / 2 - 1.0))),
            )
            if beside and abs(one[2][0][0]) <= one[2][0][1]:  # there is no value at 0, which may be the place
                one = line.towards_zero(1 if at > 0 else -1)
        if one is not None and low <= one[2][0][0] <= high:
            found.append(one)
    if not found:
        return None
    lowest = min(found, key=lambda one: float(one[0]))
    equal = [one for one in found if one[0] - one[1] <= lowest[0] + lowest[1]]
    sharp = EQUAL_ERRORS * min(one[1] for one in equal) + FINE * abs(lowest[0])
    places = {float(one[2][0][0]): one for one in equal if one[1] <= sharp}
    return places[min(places, key=lambda at: (1.0 if at >= 0.0 else 1.01) * abs(at))]


def _without_minimum(line: Line, sign: int) -> CannotEvaluate:
    """The error where the function still falls at an end of the search."""
    end, panel = line.ends[sign]
    why = f" ({line.refusal})" if line.refusal is not None else ""
    text = "no interior minimum up to {} = {}, where it is {} and falls on{}; give bounds (--bounds {}:LOW:HIGH)"
    name, height = line.f.variables[0], panel.at(panel.high if sign > 0 else panel.low)
    value = np.exp(height) if line.f.is_risk else height
    return NoLeastValue(text, name, end, f"{value:.6g}", why, name)


def _in_full(f: Function, least: Least, interval: tuple[float, float], unit: float, has_zero: bool) -> Least:
    """A minimum found in float64 with the digits of the function's own numbers."""
    number, (at, doubt) = f.context.arithmetic.number, (float(part) for part in least[2][0])
    if at in interval or (at == 0.0 and has_zero):
        return *f.pair([at]), [(number(at), number(doubt))]
    if at == 0.0:
        return number(least[0]), number(least[1]), [(number(at), number(doubt))]
    return polished(f, at, min(unit, abs(at)))
