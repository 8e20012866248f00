"""A proved enclosure of the least value of a function of one scale on an interval, by branch and bound with Taylor models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, exp, floor, inf, log, nextafter
from time import perf_counter
from typing import Any

from flint import arb, ctx
from mpmath import mpf
from sympy import Expr, Symbol

from symslr.evaluation.certified.analytic.transform import line_bits
from symslr.evaluation.certified.backend import centred, correct_digits
from symslr.evaluation.certified.least.bounded import (
    FLOAT_NATS,
    MOST_TERMS,
    Bounded,
    BoundedInPower,
    lacking_nats,
    last_term_rate,
    model_terms,
    terms_for,
)
from symslr.evaluation.certified.least.model import ExpressionInScale
from symslr.evaluation.errors import CannotEvaluate, NotProved
from symslr.evaluation.plan import canonical
from symslr.expression.value import Kind, Value
from symslr.parallel.serial import one_at_a_time

NEAR_ZERO = 0.5
"""Scales of size up to this form one segment, on which the token's key is the variable of integration; further segments have a
constant ratio of their ends."""
SEGMENT_RATIO = 1.4
"""Ratio of the ends of a segment beyond ``NEAR_ZERO``."""
FIRST_NATS = 9.0
"""Accuracy of the first models, in nats: they distinguish values that differ by about 1e-3."""
SHORT_PART = 0.1
"""A part shorter than this share of its segment becomes a segment of its own."""
MOST_LACKING = 12.0
"""If a model lacks more nats than this, shorter segments are tried instead of more accurate sums."""
CLEAR = 4.0
"""A part whose lower bound is within this many errors of its model of the least value seen needs a more accurate model, not only
bisection."""
CUT_RATIO = 0.4
"""Where a part is cut in two, as a share of its length: not in the middle, where the minimiser may lie."""
SMALLEST_PART = 1e-4
"""Smallest size, relative to the scale, of a part that is cut because nothing could be proved on it."""
SHORTEST_SEGMENT = 0.02
"""Smallest size, relative to the scale, of a segment that is bisected."""
MOST_MODELS = 2000
"""Most Taylor models of one search."""
MOST_SHARPENINGS = 4
"""How often the accuracy of the sums is raised where the digits are not reached."""
FLOAT_SPACING = 2.0**-52
"""Relative spacing of floats, which represent scales."""


@dataclass(frozen=True)
class Part:
    """A node of the branch and bound: [low, high] within a segment, on which the function is >= ``below``.

    Attributes:
        nats: accuracy of the sums of its last model.
        width: of the part that was modelled, before it was narrowed to [low, high].
        place, reach: an approximate minimiser there, and how far it may be off.
        error: of the values of its model at the centre.
        is_convex: whether its model is convex.
        is_blurred: whether its model is not convex and has an error above e^-nats somewhere on the part.
    """

    segment: ExpressionInScale
    low: float
    high: float
    nats: float
    width: float
    below: Any
    place: float
    reach: float
    error: Any
    is_convex: bool
    is_blurred: bool


@dataclass(frozen=True)
class Enclosed:
    """The result: the infimum lies in the ball ``value``, and every minimiser in one of the intervals ``places``."""

    value: Any
    places: list[tuple[float, float]]


def segments(low: float, high: float, guess: float) -> list[tuple[float, float]]:
    """The interval cut into segments at +-``NEAR_ZERO`` and beyond in constant ratios, such that ``guess`` is in the middle of
    one."""
    cuts = {low, high}
    steps = log(abs(guess) / NEAR_ZERO) / log(SEGMENT_RATIO) - 0.5 if abs(guess) > NEAR_ZERO else 0.0
    first = NEAR_ZERO * SEGMENT_RATIO ** (steps - floor(steps))
    for side in (-1.0, 1.0):
        at = NEAR_ZERO
        while at < max(-low, high):
            cuts |= {side * at} if low < side * at < high else set()
            at = first if at < first else at * SEGMENT_RATIO
    return list(itertools.pairwise(sorted(cuts)))


def parts(low: float, high: float, count: int) -> list[tuple[float, float]]:
    """[low, high] cut into ``count`` parts of equal length."""
    cuts = [low + (high - low) * i / count for i in range(count)]
    return list(itertools.pairwise([*cuts, high]))


class Search:
    """The infimum of a function of one scale.

    Args:
        segment: (low, high) -> the function on that interval of the scale.
        digits: significant digits wanted.
    """

    def __init__(self, segment: Callable[[float, float], ExpressionInScale], digits: int) -> None:
        self.segment, self.digits = segment, digits
        self.above: Any = None
        self.waiting: list[Part] = []
        self.made, self.extra, self.shorter, self.guess = 0, 0.0, 1.0, 0.0

    def over(self, low: float, high: float, guess: float) -> Enclosed:
        """The infimum over [low, high]; the search starts near ``guess``.

        Raises:
            NotProved: where no proof is found.
        """
        is_even = low < 0 < high and self.segment(low, high).period % 2 == 0
        if is_even:
            ends, low, high, guess = (low, high), 0.0, max(-low, high), abs(guess)
        with ctx.workprec(line_bits(self.digits * log(10)) + 20):
            self.guess = guess
            for piece in sorted(segments(low, high, guess), key=self._distance):
                self._cover(*piece)
            for _ in range(MOST_SHARPENINGS):
                self._refined()
                if self._missing() <= 0:
                    break
                self.extra += self._missing() + 2
            value = self._lowest().union(self.above)
        places = [(part.low, part.high) for part in self.waiting if not part.below > self.above]
        if is_even:
            both = [*places, *((-high, -low) for low, high in places)]
            places = [(max(low, ends[0]), min(high, ends[1])) for low, high in both if low < ends[1] and high > ends[0]]
        return Enclosed(value, places)

    def _distance(self, ends: tuple[float, float]) -> float:
        """The distance of the middle of an interval from the guess."""
        return abs(sum(ends) / 2 - self.guess)

    def _lowest(self) -> Any:
        found = self.above
        for part in self.waiting:
            found = found.min(part.below)
        return found.lower()

    def _missing(self) -> float:
        """Nats that the enclosure of the infimum lacks."""
        width = self.above - self._lowest()
        if not width > 0:
            return 0.0
        return float((width / abs(self.above)).log()) + self.digits * log(10) + log(2)

    def _finest(self) -> float:
        size = 0.0 if self.above is None else float(abs(self.above).log())
        needed = max(FIRST_NATS, self.digits * log(10) + 1 - size) + self.extra
        return ceil(4 * needed) / 4  # rounded, so that a slightly lower value does not require new sums

    def _refined(self) -> None:
        """Branch and bound: parts are discarded, cut or modelled more accurately until the enclosure is narrow or cannot
        improve."""
        while self._missing() > 0:
            self.waiting = [part for part in self.waiting if not part.below > self.above]
            part = min(self.waiting, key=lambda part: float(part.below - self.above))
            sharper = self._sharper(part)
            if part.nats >= self._finest() and part.is_convex:
                return
            self.waiting.remove(part)
            if part.is_convex:
                self._examine(self._own_segment(part), part.low, part.high, sharper, part)
            else:
                is_clear = self.above - part.below > CLEAR * part.error
                self._halved(part.segment, part.low, part.high, part.nats if is_clear else sharper)

    def _sharper(self, part: Part) -> float:
        """Accuracy of the next model of a part, in nats: unchanged where the last model narrowed a convex part to a short one."""
        if part.nats < FLOAT_NATS:
            return min(FLOAT_NATS, self._finest())
        is_shorter = part.high - part.low < SHORT_PART * part.width
        return part.nats if part.is_convex and is_shorter else self._finest()

    def _own_segment(self, part: Part) -> ExpressionInScale:
        """The segment of a part; a new one of its own, with sharper bounds, where it is a small part of its segment."""
        if part.high - part.low > SHORT_PART * (part.segment.high - part.segment.low):
            return part.segment
        try:
            own = self.segment(part.low, part.high)
            own.prepare(FIRST_NATS)
            return own
        except NotProved:
            return part.segment

    def _halved(self, segment: ExpressionInScale, low: float, high: float, nats: float) -> None:
        middle = low + CUT_RATIO * (high - low)
        self._examine(segment, low, middle, nats)
        self._examine(segment, middle, high, nats)

    def _cover(self, low: float, high: float) -> None:
        """Model an interval by parts of segments; from the first model that is not accurate enough on, the rest is cut in two
        segments.

        Over a long part the remainder is enclosed too widely, as e^{uK} varies with the scale; over a long segment the M_j may be
        far smaller than their errors. So both parts and segments have to be shortened.
        """
        for own in self._proved(low, high):
            for left, right in parts(own.low, own.high, self._count(own)):
                seen, is_narrow = len(self.waiting), _width(left, own.high) < SHORTEST_SEGMENT
                try:
                    self._modelled(own, left, right, FIRST_NATS, None)
                    is_sharp = not any(part.is_blurred for part in self.waiting[seen:])
                except NotProved:
                    is_sharp = False
                    if is_narrow:
                        self._examine(own, left, right, FIRST_NATS)
                if not is_sharp and not is_narrow:
                    del self.waiting[seen:]
                    middle = (left + own.high) / 2
                    for half in sorted([(left, middle), (middle, own.high)], key=self._distance):
                        self._cover(*half)
                    break

    def _count(self, segment: ExpressionInScale) -> int:
        """Number of first parts of a segment: 1 where a model of usual length is likely to suffice on all of it."""
        likely = (segment.high - segment.low) / 2 / _size(segment, segment.low, segment.high) / self.shorter
        return 1 if likely < exp(-FIRST_NATS / MOST_TERMS) else segment.parts

    def _examine(
        self, segment: ExpressionInScale, low: float, high: float, nats: float, before: Part | None = None
    ) -> None:
        """Model a part, and keep the subinterval that may contain the minimiser; cut it where no model is proved.

        Args:
            before: the last result for this part, where it was convex: the model is then centred at its minimiser.
        """
        try:
            self._modelled(segment, low, high, nats, before)
        except NotProved:
            if (segment.low, segment.high) != (low, high):  # which may be too long for so many nats
                self._examine(self.segment(low, high), low, high, nats, before)
                return
            if high - low < 2 * SMALLEST_PART * max(1.0, abs(low + high) / 2):
                raise
            self._halved(segment, low, high, min(1.5 * nats, self._finest()))

    def _modelled(self, segment: ExpressionInScale, low: float, high: float, nats: float, before: Part | None) -> None:
        """As ``_examine`` by one model. A first model that is too wide is computed again, with more terms or more accurate sums,
        as long as that at least halves its error.

        Raises:
            NotProved: where no model is proved.
        """
        self.made += 1
        if self.made > MOST_MODELS:
            raise NotProved("certified: the least value lies where the risk is too flat in the scale")
        period = segment.period if low <= 0 <= high and segment.period % 2 == 0 else 1
        centre = (low + high) / 2 if before is None else min(max(before.place, low), high)
        if period > 1:
            centre = 0.0
        radius = nextafter(max(high - centre, centre - low), inf)
        size = _size(segment, low, high)
        reach = radius if before is None else min(before.reach, radius)
        length, sharp = model_terms(reach / size, radius / size, nats)
        if nats == FIRST_NATS:
            length = max(length, terms_for(radius / size / self.shorter, nats))
        error = arb(inf)
        while True:
            if period > 1:
                length = period * max(2, ceil(length / period))
            model = segment.model(centre, radius, nats, length, sharp)
            ends = arb(low) - centre, arb(high) - centre
            bounded = Bounded(model, *ends) if period == 1 else BoundedInPower(model, *ends, period)
            self.above = bounded.above if self.above is None else self.above.min(bounded.above)
            is_blurred = not bounded.is_convex and bool(model.error > arb(-nats).exp())
            if nats == FIRST_NATS:
                seen = min(1.0, radius / size / last_term_rate(model))
                self.shorter = seen if is_blurred else max(seen, self.shorter)
            if bounded.below > self.above:
                return
            longer, lacks = terms_for(last_term_rate(model), nats), lacking_nats(model, nats)
            may_do = longer > length or 0 < lacks < MOST_LACKING
            if not (is_blurred and nats == FIRST_NATS and may_do and model.error < error / 2):
                break
            length, error = max(length, longer), model.error
            segment.sharpen(lacks)
        left, right = (float(centre + t) for t in bounded.sublevel_interval(self.above))
        place, reach = (
            float(centre + bounded.lowest),
            max(float(bounded.reach), FLOAT_SPACING * max(abs(centre), NEAR_ZERO)),
        )
        width, low, high = high - low, max(low, nextafter(left, -inf)), min(high, nextafter(right, inf))
        error = model.rest.rad() + model.polynomial[0].rad()
        self.waiting.append(
            Part(segment, low, high, nats, width, bounded.below, place, reach, error, bounded.is_convex, is_blurred)
        )

    def _proved(self, low: float, high: float) -> list[ExpressionInScale]:
        """The interval as segments on which strips and tails are proved, by bisection."""
        segment = self.segment(low, high)
        try:
            segment.prepare(FIRST_NATS)
            return [segment]
        except NotProved:
            middle = (low + high) / 2
            if _width(low, high) < SHORTEST_SEGMENT:
                raise
            return self._proved(low, middle) + self._proved(middle, high)


def _width(low: float, high: float) -> float:
    """The width of an interval relative to the scale."""
    return (high - low) / max(abs(low), abs(high), SMALLEST_PART)


def _size(segment: ExpressionInScale, low: float, high: float) -> float:
    """An estimate of the length over which the coefficients of a model grow."""
    return segment.reach * max(abs(low), abs(high), 0.0 if segment.is_by_scores else NEAR_ZERO)


@one_at_a_time
def least_certified(
    expr: Expr,
    scale: Symbol,
    values: Mapping[Any, Any],
    digits: int,
    interval: tuple[float, float],
    guess: float,
) -> tuple[Value, Value]:
    """(the infimum over an interval of the scale, a scale with an error that covers every minimiser), both proved.

    Args:
        expr: as for ``evaluate``, with one attention; its kernel positive and analytic.
        scale: the symbol of the scale.
        values: exact numbers, and length laws, for all other symbols.
        digits: significant digits of the infimum.
        interval: low < high.
        guess: where the search starts; the proof does not depend on it.

    Raises:
        CannotEvaluate: where no proof is found, with the reason.
    """
    begin = perf_counter()
    formula = canonical(expr)
    if not formula.has(scale):
        raise CannotEvaluate(f"certified: {scale} has no least value to search; the quantity does not depend on it")

    lost: dict[tuple[Expr, ...], float] = {}

    def segment(low: float, high: float) -> ExpressionInScale:
        return ExpressionInScale(formula, values, scale, low, high, lost)

    found = Search(segment, digits).over(*interval, guess)
    value, error = centred(found.value, digits)
    method = f"Arb: Taylor models, branch and bound over {interval[0]!r} <= {scale} <= {interval[1]!r}"
    seconds = perf_counter() - begin
    infimum = Value(value, error, Kind.CERTIFIED, correct_digits(value, error), method, seconds)
    return infimum, _place(found, method, seconds)


def _place(found: Enclosed, method: str, seconds: float) -> Value:
    """The middle of all intervals of minimisers, with the distance to the farthest as its error."""
    low, high = min(low for low, _ in found.places), max(high for _, high in found.places)
    middle = (low + high) / 2
    error = mpf(max(high - middle, middle - low)) * (1 + mpf(2) ** -50)
    return Value(mpf(middle), error, Kind.CERTIFIED, correct_digits(mpf(middle), error), method, seconds)
