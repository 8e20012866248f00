"""The least value of a function of one scale on an interval, enclosed: branch and bound with Taylor models."""

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
from symslr.evaluation.certified.least.bounded import LONGEST, MIDDLE, Bounded, Folded, enough, lacking, rate, terms
from symslr.evaluation.certified.least.model import Moving
from symslr.evaluation.errors import CannotEvaluate, NotProved
from symslr.evaluation.plan import canonical
from symslr.expression.value import Kind, Value
from symslr.parallel.serial import one_at_a_time

ZERO = 0.5
"""Scales below it are one stretch, on which tokens are counted as they are; beyond, stretches are of one ratio."""
RATIO = 1.4
"""Between the ends of a stretch beyond ``ZERO``."""
COARSE = 9.0
"""Nats of the first models, which tell values apart that differ by 1e-3 or so."""
SHORT = 0.1
"""A part so much shorter than its stretch becomes one of its own."""
MOST_LACKING = 12.0
"""Nats: more are not made up for by sharper sums, but by shorter stretches."""
CLEAR = 4.0
"""A part that lies within so many of its model's errors of the least value seen is not told apart by halving it alone."""
CUT = 0.4
"""Of a part that is cut in two the length of the first: a place in its middle, as the guess may be, is not cut in two."""
SMALLEST = 1e-4
"""Parts on which nothing can be proved are halved down to this size, relative to the scale."""
NARROWEST = 0.02
"""Stretches are halved down to this size, relative to the scale."""
MOST = 2000
"""Models that are made at most."""
ATTEMPTS = 4
"""The sums are made sharper so often where the digits are not reached."""
DOUBLES = 2.0**-52
"""Relative: places are floats."""


@dataclass(frozen=True)
class Part:
    """[low, high] in a stretch, on which the function is above ``below``; its last model had sums to e^-nats.

    Attributes:
        width: of the part that was modelled.
        place, reach: where the function is about least there, and how far from it that may be.
        error: of the values of its model.
        is_convex: whether its model is.
        is_blurred: whether its values have an error above e^-nats somewhere on the part.
    """

    stretch: Moving
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
    """The infimum over an interval lies in ``value``, every scale that attains it between the ends of one of ``places``."""

    value: Any
    places: list[tuple[float, float]]


def stretches(low: float, high: float, guess: float) -> list[tuple[float, float]]:
    """The interval cut at 0 +- ZERO and beyond at one ratio, with ``guess`` in the middle of its piece."""
    cuts = {low, high}
    steps = log(abs(guess) / ZERO) / log(RATIO) - 0.5 if abs(guess) > ZERO else 0.0
    first = ZERO * RATIO ** (steps - floor(steps))
    for side in (-1.0, 1.0):
        at = ZERO
        while at < max(-low, high):
            cuts |= {side * at} if low < side * at < high else set()
            at = first if at < first else at * RATIO
    return list(itertools.pairwise(sorted(cuts)))


def parts(low: float, high: float, count: int) -> list[tuple[float, float]]:
    """A stretch cut in so many parts of one length."""
    cuts = [low + (high - low) * i / count for i in range(count)]
    return list(itertools.pairwise([*cuts, high]))


class Search:
    """The infimum of a function of one scale.

    Args:
        stretch: the function on an interval of the scale.
        digits: relative digits wanted.
    """

    def __init__(self, stretch: Callable[[float, float], Moving], digits: int) -> None:
        self.stretch, self.digits = stretch, digits
        self.above: Any = None
        self.waiting: list[Part] = []
        self.made, self.extra, self.shorter, self.guess = 0, 0.0, 1.0, 0.0

    def over(self, low: float, high: float, guess: float) -> Enclosed:
        """The infimum over [low, high]; ``guess`` is where it is looked for first.

        Raises:
            NotProved: where it cannot be told.
        """
        is_even = low < 0 < high and self.stretch(low, high).period % 2 == 0
        if is_even:
            ends, low, high, guess = (low, high), 0.0, max(-low, high), abs(guess)
        with ctx.workprec(line_bits(self.digits * log(10)) + 20):
            self.guess = guess
            for piece in sorted(stretches(low, high, guess), key=self._distance):
                self._cover(*piece)
            for _ in range(ATTEMPTS):
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
        """Of the middle of an interval from the guess."""
        return abs(sum(ends) / 2 - self.guess)

    def _lowest(self) -> Any:
        found = self.above
        for part in self.waiting:
            found = found.min(part.below)
        return found.lower()

    def _missing(self) -> float:
        """Nats that the enclosure lacks."""
        width = self.above - self._lowest()
        if not width > 0:
            return 0.0
        return float((width / abs(self.above)).log()) + self.digits * log(10) + log(2)

    def _finest(self) -> float:
        size = 0.0 if self.above is None else float(abs(self.above).log())
        needed = max(COARSE, self.digits * log(10) + 1 - size) + self.extra
        return ceil(4 * needed) / 4  # so that a value seen that is a little lower makes no new sums

    def _refined(self) -> None:
        """Parts are made smaller and sharper until the enclosure is narrow, or none can be."""
        while self._missing() > 0:
            self.waiting = [part for part in self.waiting if not part.below > self.above]
            part = min(self.waiting, key=lambda part: float(part.below - self.above))
            sharper = self._sharper(part)
            if part.nats >= self._finest() and part.is_convex:
                return
            self.waiting.remove(part)
            if part.is_convex:
                self._look(self._narrowed(part), part.low, part.high, sharper, part)
            else:
                is_clear = self.above - part.below > CLEAR * part.error
                self._halved(part.stretch, part.low, part.high, part.nats if is_clear else sharper)

    def _sharper(self, part: Part) -> float:
        """Nats of its next model: as many as before where that has shown a far shorter part, which shows the place better."""
        if part.nats < MIDDLE:
            return min(MIDDLE, self._finest())
        is_shorter = part.high - part.low < SHORT * part.width
        return part.nats if part.is_convex and is_shorter else self._finest()

    def _narrowed(self, part: Part) -> Moving:
        """Its stretch, or a short one on which all bounds are sharper where it is but a small part of that."""
        if part.high - part.low > SHORT * (part.stretch.high - part.stretch.low):
            return part.stretch
        try:
            own = self.stretch(part.low, part.high)
            own.prepare(COARSE)
            return own
        except NotProved:
            return part.stretch

    def _halved(self, stretch: Moving, low: float, high: float, nats: float) -> None:
        middle = low + CUT * (high - low)
        self._look(stretch, low, middle, nats)
        self._look(stretch, middle, high, nats)

    def _cover(self, low: float, high: float) -> None:
        """Model an interval in parts of stretches, these cut in two from where a model is not as sharp as was asked.

        Over a long part a last coefficient is enclosed e^{uK} times as widely as uK moves with the scale, and over a long stretch
        the M_j fall far below their errors: so neither a shorter part nor a shorter stretch does alone.
        """
        for own in self._proved(low, high):
            for left, right in parts(own.low, own.high, self._count(own)):
                seen, is_narrow = len(self.waiting), _width(left, own.high) < NARROWEST
                try:
                    self._modelled(own, left, right, COARSE, None)
                    is_sharp = not any(part.is_blurred for part in self.waiting[seen:])
                except NotProved:
                    is_sharp = False
                    if is_narrow:
                        self._look(own, left, right, COARSE)
                if not is_sharp and not is_narrow:
                    del self.waiting[seen:]
                    middle = (left + own.high) / 2
                    for half in sorted([(left, middle), (middle, own.high)], key=self._distance):
                        self._cover(*half)
                    break

    def _count(self, stretch: Moving) -> int:
        """Of the first parts of a stretch: one where a model that is not longer than others is likely to do on all of it."""
        likely = (stretch.high - stretch.low) / 2 / _size(stretch, stretch.low, stretch.high) / self.shorter
        return 1 if likely < exp(-COARSE / LONGEST) else stretch.parts

    def _look(self, stretch: Moving, low: float, high: float, nats: float, before: Part | None = None) -> None:
        """Model a part, and keep what of it may hold the infimum.

        Args:
            before: what is known of it, where the function is convex there: then the model is about its place.
        """
        try:
            self._modelled(stretch, low, high, nats, before)
        except NotProved:
            if (stretch.low, stretch.high) != (low, high):  # which may be too long for so many nats
                self._look(self.stretch(low, high), low, high, nats, before)
                return
            if high - low < 2 * SMALLEST * max(1.0, abs(low + high) / 2):
                raise
            self._halved(stretch, low, high, min(1.5 * nats, self._finest()))

    def _modelled(self, stretch: Moving, low: float, high: float, nats: float, before: Part | None) -> None:
        """As ``_look``, of one model; a first one that is too wide is made again, longer or of sharper sums, as long as that helps.

        Raises:
            NotProved: where there is none.
        """
        self.made += 1
        if self.made > MOST:
            raise NotProved("certified: the least value lies where the risk is too flat in the scale")
        period = stretch.period if low <= 0 <= high and stretch.period % 2 == 0 else 1
        centre = (low + high) / 2 if before is None else min(max(before.place, low), high)
        if period > 1:
            centre = 0.0
        radius = nextafter(max(high - centre, centre - low), inf)
        size = _size(stretch, low, high)
        reach = radius if before is None else min(before.reach, radius)
        length, sharp = terms(reach / size, radius / size, nats)
        if nats == COARSE:
            length = max(length, enough(radius / size / self.shorter, nats))
        error = arb(inf)
        while True:
            if period > 1:
                length = period * max(2, ceil(length / period))
            model = stretch.model(centre, radius, nats, length, sharp)
            ends = arb(low) - centre, arb(high) - centre
            bounded = Bounded(model, *ends) if period == 1 else Folded(model, *ends, period)
            self.above = bounded.above if self.above is None else self.above.min(bounded.above)
            is_blurred = not bounded.is_convex and bool(model.error > arb(-nats).exp())
            if nats == COARSE:
                seen = min(1.0, radius / size / rate(model))
                self.shorter = seen if is_blurred else max(seen, self.shorter)
            if bounded.below > self.above:
                return
            longer, lacks = enough(rate(model), nats), lacking(model, nats)
            may_do = longer > length or 0 < lacks < MOST_LACKING
            if not (is_blurred and nats == COARSE and may_do and model.error < error / 2):
                break
            length, error = max(length, longer), model.error
            stretch.sharpen(lacks)
        left, right = (float(centre + t) for t in bounded.near(self.above))
        place, reach = float(centre + bounded.lowest), max(float(bounded.reach), DOUBLES * max(abs(centre), ZERO))
        width, low, high = high - low, max(low, nextafter(left, -inf)), min(high, nextafter(right, inf))
        error = model.rest.rad() + model.polynomial[0].rad()
        self.waiting.append(
            Part(stretch, low, high, nats, width, bounded.below, place, reach, error, bounded.is_convex, is_blurred)
        )

    def _proved(self, low: float, high: float) -> list[Moving]:
        """The interval as stretches on which strips and tails are proved."""
        stretch = self.stretch(low, high)
        try:
            stretch.prepare(COARSE)
            return [stretch]
        except NotProved:
            middle = (low + high) / 2
            if _width(low, high) < NARROWEST:
                raise
            return self._proved(low, middle) + self._proved(middle, high)


def _width(low: float, high: float) -> float:
    """Of an interval, relative to the scale."""
    return (high - low) / max(abs(low), abs(high), SMALLEST)


def _size(stretch: Moving, low: float, high: float) -> float:
    """About the length over which the coefficients of a model grow."""
    return stretch.reach * max(abs(low), abs(high), 0.0 if stretch.is_by_scores else ZERO)


@one_at_a_time
def least_certified(
    expr: Expr,
    scale: Symbol,
    values: Mapping[Any, Any],
    digits: int,
    interval: tuple[float, float],
    guess: float,
) -> tuple[Value, Value]:
    """(the infimum over an interval of the scale, a place near which every scale lies that attains it), both proved.

    Args:
        expr: as for ``evaluate``, with one attention; its kernel positive and analytic.
        scale: the symbol that moves.
        values: exact numbers, and length laws, for all other symbols.
        digits: significant digits of the infimum.
        interval: low < high.
        guess: where the least value is looked for first; nothing is believed of it.

    Raises:
        CannotEvaluate: where no proof is found, with the reason.
    """
    begin = perf_counter()
    formula = canonical(expr)
    if not formula.has(scale):
        raise CannotEvaluate(f"certified: {scale} has no least value to search; the quantity does not depend on it")

    lost: dict[tuple[Expr, ...], float] = {}

    def stretch(low: float, high: float) -> Moving:
        return Moving(formula, values, scale, low, high, lost)

    found = Search(stretch, digits).over(*interval, guess)
    value, error = centred(found.value, digits)
    method = f"Arb: Taylor models, branch and bound over {interval[0]!r} <= {scale} <= {interval[1]!r}"
    seconds = perf_counter() - begin
    infimum = Value(value, error, Kind.CERTIFIED, correct_digits(value, error), method, seconds)
    return infimum, _place(found, method, seconds)


def _place(found: Enclosed, method: str, seconds: float) -> Value:
    """The middle of all places, and how far it is to the farthest."""
    low, high = min(low for low, _ in found.places), max(high for _, high in found.places)
    middle = (low + high) / 2
    error = mpf(max(high - middle, middle - low)) * (1 + mpf(2) ** -50)
    return Value(mpf(middle), error, Kind.CERTIFIED, correct_digits(mpf(middle), error), method, seconds)
