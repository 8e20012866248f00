"""The least value of a function of one scale on an interval, enclosed: branch and bound with Taylor models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, inf, log, nextafter
from typing import Any

from flint import arb, ctx

from symslr.evaluation.certified.analytic.form import line_bits
from symslr.evaluation.certified.analytic.proof import NotProved
from symslr.evaluation.certified.least.bounded import Bounded
from symslr.evaluation.certified.least.model import Moving

ZERO = 0.5
"""Scales below it are one stretch, on which tokens are counted as they are; beyond, stretches are of one ratio."""
RATIO = 1.4
"""Between the ends of a stretch beyond ``ZERO``."""
PARTS = 3
"""First parts of a stretch that is not short: models of longer ones are of no use, and an odd number keeps the guess in the middle
of one."""
COARSE = 9.0
"""Nats of the first models: they tell values apart that differ by 1e-3."""
DOUBLE = 2.0
"""Every model on a part is at most so much sharper: the part left is then so short that the next, dearer one needs few terms."""
MARGIN = 2
"""Terms more than REACH alone asks for: it is the one of the middle, not of the whole part."""
TERMS = (4, 11)
"""The fewest and the most terms of the models: on a short part few do."""
REACH = 0.15
"""The coefficients of a model grow about like (REACH a)^-k; where sums are made sharper than the models nothing is won."""
SMALLEST = 1e-4
"""Parts on which nothing can be proved are halved down to this size, relative to the scale, ..."""
SHARPER = 1.5
"""... with sums so much sharper."""
NARROWEST = 0.02
"""Stretches are halved down to this size, relative to the scale."""
MOST = 2000
"""Models that are made at most."""
ATTEMPTS = 4
"""The sums are made sharper so often where the digits are not reached."""


@dataclass(frozen=True)
class Part:
    """[low, high] in a stretch, on which the function is above ``below``; its last model had sums to e^-nats."""

    stretch: Moving
    low: float
    high: float
    nats: float
    below: Any


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
        self.made, self.extra = 0, 0.0

    def over(self, low: float, high: float, guess: float) -> Enclosed:
        """The infimum over [low, high]; ``guess`` is where it is looked for first.

        Raises:
            NotProved: where it cannot be told.
        """
        with ctx.workprec(line_bits(self.digits * log(10)) + 20):
            for left, right in sorted(stretches(low, high, guess), key=lambda ends: abs(sum(ends) / 2 - guess)):
                for own in self._proved(left, right):
                    nats = self._nats(own.low, own.high)
                    for part in parts(own.low, own.high, PARTS if nats <= COARSE else 1):
                        self._look(own, *part, nats)
            for _ in range(ATTEMPTS):
                self._refined()
                if self._missing() <= 0:
                    break
                self.extra += self._missing() + 2
            value = self._lowest().union(self.above)
        return Enclosed(value, [(part.low, part.high) for part in self.waiting if not part.below > self.above])

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
        return max(COARSE, self.digits * log(10) + 4 - size) + self.extra

    def _nats(self, low: float, high: float) -> float:
        """As sharp as a model on this part can be, in steps, so that sums serve several parts."""
        wanted = TERMS[1] * _per_term(low, high)
        if wanted > self._finest():
            return self._finest()
        return min(self._finest(), max(COARSE, 8.0 * ceil(wanted / 8.0)))

    def _refined(self) -> None:
        """Parts are made smaller and sharper until the enclosure is narrow, or none can be."""
        while self._missing() > 0:
            self.waiting = [part for part in self.waiting if not part.below > self.above]
            part = min(self.waiting, key=lambda part: float(part.below - self.above))
            nats = min(self._nats(part.low, part.high), DOUBLE * part.nats)
            if nats <= part.nats and nats >= self._finest():
                return
            self.waiting.remove(part)
            if nats > part.nats:
                self._look(part.stretch, part.low, part.high, nats)
            else:
                self._halved(part.stretch, part.low, part.high, nats)

    def _halved(self, stretch: Moving, low: float, high: float, nats: float) -> None:
        middle = (low + high) / 2
        self._look(stretch, low, middle, nats)
        self._look(stretch, middle, high, nats)

    def _look(self, stretch: Moving, low: float, high: float, nats: float) -> None:
        """Model a part, and keep what of it may hold the infimum."""
        self.made += 1
        if self.made > MOST:
            raise NotProved("certified: the least value lies where the risk is too flat in the scale")
        centre = (low + high) / 2
        radius = nextafter(max(high - centre, centre - low), inf)
        try:
            model = stretch.model(centre, radius, nats, _terms(low, high, nats))
        except NotProved:
            if radius < SMALLEST * max(1.0, abs(centre)):
                raise
            self._halved(stretch, low, high, min(SHARPER * nats, self._finest()))
            return
        bounded = Bounded(model, arb(low) - centre, arb(high) - centre)
        self.above = bounded.above if self.above is None else self.above.min(bounded.above)
        if not bounded.below > self.above:
            left, right = (float(centre + t) for t in bounded.near(self.above))
            low, high = max(low, nextafter(left, -inf)), min(high, nextafter(right, inf))
            self.waiting.append(Part(stretch, low, high, nats, bounded.below))

    def _proved(self, low: float, high: float) -> list[Moving]:
        """The interval as stretches on which strips and tails are proved."""
        stretch = self.stretch(low, high)
        try:
            stretch.prepare(COARSE)
            return [stretch]
        except NotProved:
            middle = (low + high) / 2
            if high - low < NARROWEST * max(abs(low), abs(high), SMALLEST):
                raise
            return self._proved(low, middle) + self._proved(middle, high)


def _per_term(low: float, high: float) -> float:
    """Nats that every further term of a model on a part wins."""
    return log(max(1.0, 2 * REACH * max(abs(low), abs(high), ZERO) / (high - low))) if low < high else inf


def _terms(low: float, high: float, nats: float) -> int:
    """So many that what is left out is as small as the errors of the sums, as far as that can be."""
    fewest, most = TERMS
    return max(fewest, ceil(min(most, MARGIN + nats / max(_per_term(low, high), nats / most))))
