"""Gauss-Legendre panels, halved until kernels and weights are proved analytic around each, with a bound of every token integral.

On the Bernstein ellipse of a panel (the sum RHO of its half axes, in units of the half width h) let Re kappa >= low > 0,
|kappa| <= high and |w| <= top. Then for every u >= 0 and m >= 0

    |rule - integral of w (u kappa)^m e^{-u kappa}|  <=  (64/15) RHO^{-2n}/(1 - RHO^{-2}) h top (u high)^m e^{-u low} .

What is left out (beside a kink, a zero, beyond an end) is mass of w, and is in the bound. Where u high <= 1 for all u that
occur, nothing is asked of Re kappa off the line: there |e^{-u kappa}| <= e. On the line kappa >= 0 is proved everywhere.
docs/proofs.md, section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, inf, log
from typing import Any

import numpy as np
from flint import arb, ctx

from symslr.evaluation.errors import CannotEvaluate, NotProved, TooDear
from symslr.evaluation.panels.functions import Chart, Regions
from symslr.evaluation.panels.tails import beyond

RHO = 4.0
"""Sum of the half axes of an ellipse. Wider ones are refused more often, narrower ones take more nodes."""
AXES = (RHO + 1 / RHO) / 2 * (1 + 1e-12), (RHO - 1 / RHO) / 2 * (1 + 1e-12)
LEAST_ORDER = 2
"""The constant 64/15 is for two nodes or more."""
LOG_RULE = log(64 / 15 / (1 - RHO**-2))
BUDGET = 20_000
"""Balls of one set of panels, half a second; what is not resolved by then is refused."""
SHARES = 1024
"""One panel or piece may be off by this part of the tolerance."""
NARROWEST = 2.0**-48
"""Half width, relative to the place, below which a panel is not halved."""


@dataclass(frozen=True)
class Panels:
    """Panels of a token.

    Attributes:
        charts: of every panel.
        middle, half, order: of every panel in its chart (order: nodes).
        sizes: log of the half widths on the line.
        low, high: log of bounds of every kernel on every panel, (kernels, panels).
        tops: log of bounds of every weight, (weights, panels).
        lost: for every weight the log of a bound of the mass that is left out.
        masses: for every weight the log of an upper bound of its mass.
    """

    charts: list[Chart]
    middle: Any
    half: Any
    order: Any
    sizes: Any
    low: Any
    high: Any
    tops: Any
    lost: Any
    masses: Any

    @cached_property
    def errors(self) -> Any:
        """log of the factor of (u high)^m e^{-u low} in the error of every weight on every panel, (weights, panels)."""
        return LOG_RULE - 2 * self.order * log(RHO) + self.sizes + self.tops

    def nodes(self) -> tuple[list[Any], list[Any]]:
        """Nodes and Gauss weights, as balls at the precision of the context."""
        x, w = [], []
        for chart, *panel, order in zip(self.charts, self.middle.tolist(), self.half.tolist(), self.order.tolist()):
            middle, half = map(arb, panel)
            middle, half = chart.origin + chart.scale * middle, abs(chart.scale) * half
            for t, own in gauss(order, ctx.prec):
                x.append(middle + half * t)
                w.append(half * own)
        return x, w


@lru_cache(maxsize=512)
def gauss(order: int, bits: int) -> list[tuple[Any, Any]]:
    """Nodes and weights of the Gauss-Legendre rule, as balls."""
    with ctx.workprec(bits):
        return [arb.legendre_p_root(order, i, weight=True) for i in range(order)]


class Search:
    """The search for panels with which every token integral is right to e^-nats of the mass of its weight.

    Raises:
        CannotEvaluate: where the mass of a weight is not seen to fall.
    """

    def __init__(self, regions: Regions, nats: float) -> None:
        self.regions, self.nats = regions, nats
        self.degrees = np.array(regions.functions.degrees, dtype=float)
        edges, self.beyond = self._edges(*regions.functions.ends(*regions.scope.values()))
        self.pieces, self.masses, self._tops, self._lows = self._masses(edges)
        self.most_nodes = ceil((nats + log(SHARES) + 6) / (2 * log(RHO)))
        self.allowed = self.masses - nats - log(SHARES)

    def _edges(self, low: Any, high: Any) -> tuple[list[Piece], Any]:
        """(the first pieces, log of the mass of every weight beyond the last)."""
        lost = np.full(len(self.degrees), -inf)
        kinks = [own for own in self.regions.kinks() if not (own[0] <= low or own[0] >= high)]
        aim = self.nats + log(SHARES)
        reach = {side: inf for side in (-1, 1)}
        for side, end in ((-1, low), (1, high)):
            if not end.is_finite():
                reach[side], tails = beyond(self.regions, side, aim)
                lost = np.logaddexp(lost, tails)
        signs = {turns: -sign for _, turns, sign in kinks}
        places = [low, *(place for place, *_ in kinks), high]
        pieces: list[Piece] = []
        for n, (left, right) in enumerate(pairwise(places)):
            pieces += self._part(left, right, dict(signs), reach)
            if n < len(kinks):
                signs[kinks[n][1]] *= -1
        return pieces, lost

    def _part(self, low: Any, high: Any, signs: dict[Any, int], reach: dict[int, float]) -> list[Piece]:
        """The first pieces between two ends or kinks."""
        if low.is_finite() and high.is_finite():
            half = (high - low) / 2
            if not half > 0:
                return []
            return [(chart, 0.0, 1.0) for chart in (Chart(low, half, signs), Chart(high, -half, signs))]
        if low.is_finite() or high.is_finite():
            side, end = (1, low) if low.is_finite() else (-1, high)
            edges = _doubled(max(reach[side] - side * float(end.mid()), 1.0) * (1 + 1e-12))
            return [(Chart(end, arb(side), signs), *own) for own in pairwise(edges)]
        plain = Chart(arb(0), arb(1))
        edges = [*(-edge for edge in _doubled(reach[-1])[:0:-1]), *_doubled(reach[1])]
        return [(plain, *own) for own in pairwise(edges)]

    def kept(self, axis: int, v: float) -> Any:
        """log of bounds of E[|g| e^{-u kappa}] of every weight, u = e^v, by the largest and smallest values on the pieces."""
        parts = self._tops - np.exp(np.minimum(v + self._lows[:, axis : axis + 1], 700.0))
        return np.logaddexp(np.logaddexp.reduce(parts), self.beyond)

    def _masses(self, first: list[Piece]) -> tuple[list[Piece], Any, Any, Any]:
        """(pieces, log of the mass of every weight within a factor of some four, log of bounds of the masses on every piece, and
        of the kernels from below): the largest pieces are halved.
        """
        pieces: dict[Piece, Any] = {own: self._mass(own) for own in first}
        for _ in range(MOST_ROUNDS):
            tops, middles, _ = (np.array(column) for column in zip(*pieces.values()))
            whole, bottoms = np.logaddexp.reduce(tops), np.logaddexp.reduce(middles)
            with np.errstate(invalid="ignore"):  # where a weight is not bounded both are infinite
                rough = ~(whole - bottoms <= LOOSE)
                if not rough.any():
                    break
                share = np.where(np.isfinite(tops), tops - whole, tops)[:, rough].max(axis=1)
            for place in np.flatnonzero((share > share.max() - LOOSE) | (share == inf)):
                own = list(pieces)[place]
                pieces |= {half: self._mass(half) for half in _halves(own)}
                pieces[own] = None
            pieces = {own: found for own, found in pieces.items() if found is not None}
        for _ in range(KERNEL_ROUNDS):  # where a wide ball of a kernel reaches 0, narrower ones may not
            if self.regions.count > BUDGET // 10:
                break
            wide = [
                own for own, (top, _, low) in pieces.items() if (low == -inf).any() and (top > whole - self.nats).any()
            ]
            for own in wide:
                pieces |= {half: self._mass(half) for half in _halves(own)}
                del pieces[own]
        tops, _, lows = (np.array(column) for column in zip(*pieces.values()))
        whole = np.where(np.isfinite(whole), whole, bottoms + LOOSE)  # where a weight is not bounded
        return list(pieces), whole, tops, lows

    def _mass(self, piece: Piece) -> tuple[Any, Any, Any]:
        """log of an upper bound of the mass of every weight on a piece, of a value from its middle, and of every kernel from
        below.
        """
        chart, middle, half = _centred(piece)
        size = log(2 * half) + chart.log_scale
        tops, lows = self._bounds(chart, middle, half, inf)
        centre, _ = self._bounds(chart, middle, 0.0, -inf)
        return tops + size, centre + size, lows

    def _bounds(self, chart: Chart, middle: float, half: float, unknown: float) -> tuple[Any, Any]:
        """log of bounds of every weight on an interval, and of the kernels from below; ``unknown`` where none are found."""
        try:
            kernels, tops = self.regions(chart.line(middle, half), chart.signs)
        except NotProved:
            return np.full(len(self.degrees), unknown), np.full(len(self.regions.functions.kernels), -inf)
        return np.array(tops), np.array([_log_below(kernel) for kernel in kernels])

    def panels(self, limits: Sequence[float]) -> Panels:
        """The panels, for all u of the variable i up to e^limits[i].

        Raises:
            CannotEvaluate: where they are not found within the budget, or a kernel is not proved to be >= 0.
        """
        self.limits = limits
        todo, done, lost = list(self.pieces), [], [self.beyond]
        while todo:
            piece = todo.pop()
            chart, middle, half = _centred(piece)
            if self.regions.count > BUDGET:
                place = float((chart.origin + chart.scale * middle).mid())
                raise TooDear(
                    f"a kernel or a law is not resolved by {BUDGET} balls at {place:.6g}; expected a smaller scale or signal"
                )
            found = self._panel(chart, middle, half)
            if found is None and (gone := self._negligible(chart, middle, half)) is not None:
                lost.append(gone)
            elif found is None:
                todo += _halves(piece)
            elif isinstance(found, tuple):
                done.append((chart, middle, half, *found))
            else:
                lost.append(found)
        if not done:
            raise CannotEvaluate("a law has no mass where it was looked for")
        done.sort(key=lambda own: float((own[0].origin + own[0].scale * own[1]).mid()))
        charts, *found = zip(*done)
        middles, halves, order, low, high, tops = (np.array(column) for column in found)
        sizes = np.log(halves) + [chart.log_scale for chart in charts]
        left_out = np.logaddexp.reduce(np.array(lost))
        return Panels(list(charts), middles, halves, order, sizes, low.T, high.T, tops.T, left_out, self.masses)

    def _panel(self, chart: Chart, middle: float, half: float) -> Any:
        """(order, log low, log high, log tops) of a panel that is accepted, None where it has to be halved, or the log of the
        masses where they are negligible.
        """
        size = log(half) + chart.log_scale
        try:
            kernels, bounds = self.regions(chart.ellipse(middle, half, AXES), chart.signs)
        except NotProved:
            return None
        if not all(kernel.is_finite() for kernel in kernels):
            return None
        highs = np.array([_log_above(kernel) for kernel in kernels])
        lows = np.where(highs + self.limits <= 0, -inf, [_log_below(kernel) for kernel in kernels])
        if ((highs + self.limits > 0) & (lows == -inf)).any():
            return None
        if (lows == -inf).any() and not self._are_nonnegative(chart, middle, half):
            return None
        tops = np.array(bounds)
        if (tops + size + log(2) <= self.allowed).all() and (lows > -inf).all():
            return tops + size + log(2)
        tops = tops + np.count_nonzero(lows == -inf)
        steep = self.degrees @ np.where(lows > -inf, highs - lows, 0.0) if kernels else 0.0
        order = ceil(max(((LOG_RULE + size + tops + steep - self.allowed) / (2 * log(RHO))).max(), LEAST_ORDER))
        return (order, lows, highs, tops) if order <= self.most_nodes else None

    def _are_nonnegative(self, chart: Chart, middle: float, half: float) -> bool:
        """Whether all kernels are proved to be >= 0 on an interval of the line."""
        known = self.regions.functions.are_nonnegative
        if all(known):
            return True
        try:
            kernels, _ = self.regions(chart.line(middle, half), chart.signs)
        except NotProved:
            return False
        return all(is_known or kernel.real >= 0 for kernel, is_known in zip(kernels, known))

    def _negligible(self, chart: Chart, middle: float, half: float) -> Any:
        """The log of the masses of a piece that is left out; None where it counts.

        Raises:
            CannotEvaluate: where a kernel is not proved to be >= 0 on it.
        """
        is_narrow = half < NARROWEST * abs(middle) or half < 1e-290
        try:
            _, tops = self.regions(chart.line(middle, half), chart.signs)
        except NotProved:
            if is_narrow:
                raise
            return None
        masses = np.array(tops) + log(2 * half) + chart.log_scale
        if is_narrow and not (masses < inf).all():
            place = float((chart.origin + chart.scale * middle).mid())
            raise CannotEvaluate(f"a weight or an integrand is not bounded at {place:.6g}; expected a bounded one")
        if not is_narrow and not (masses <= self.allowed).all():
            return None
        if not self._are_nonnegative(chart, middle, half):
            if is_narrow:
                raise CannotEvaluate(
                    f"a kernel may be negative at {middle:.6g}; expected one that is positive at every token"
                )
            return None
        return masses


Piece = tuple[Chart, float, float]
"""An interval of a chart."""


def _centred(piece: Piece) -> tuple[Chart, float, float]:
    chart, low, high = piece
    return chart, (low + high) / 2, (high - low) / 2


def _halves(piece: Piece) -> list[Piece]:
    chart, low, high = piece
    middle = (low + high) / 2
    return [(chart, low, middle), (chart, middle, high)]


def _doubled(reach: float) -> list[float]:
    """0, 1, 2, 4, ... up to a reach."""
    edges = [0.0]
    while edges[-1] < reach:
        edges.append(min(max(2 * edges[-1], 1.0), reach))
    return edges


def _log_below(kernel: Any) -> float:
    """log of a lower bound of the real part of a ball; -oo where it may be 0 or less."""
    return float(kernel.real.lower().log().lower()) - 1e-9 if kernel.is_finite() and kernel.real > 0 else -inf


def _log_above(kernel: Any) -> float:
    size = abs(kernel).upper()
    return float(size.log().upper()) + 1e-9 if size > 0 else -1e6


LOOSE = log(4.0)
"""Masses are known within about this."""
KERNEL_ROUNDS = 10
"""Of halving pieces on which a kernel is not seen to be positive."""
MOST_ROUNDS = 64
"""Of halving the largest pieces."""
