"""The dense table exp(-u kappa) in float64, the moments computed from it, and their rounding errors.

A moment is a matrix product of the table with weights where that keeps its digits. Where it underflows relative to its largest
weight, it is summed from logarithms, entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from symslr.evaluation.errors import TooDear
from symslr.evaluation.laplace.code import LARGE_POWER, Family, Moments, log_near_one
from symslr.evaluation.laplace.tokens import Tokens
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.convergence import tail_in_last_terms

EPS = FLOAT.eps
TINY = 1e-300
"""In place of 0 below a fraction or in a logarithm; well above the least float64 number."""
UNDERFLOW = 1e-200
"""A sum of weights this far below the largest one may have lost terms to underflow."""
UNDERFLOW_ROUNDING = 1000.0
"""Roundings of a moment computed from logarithms, which are then some hundreds in size, besides those of its top and scale."""
BLOCK = 400_000
"""Numbers in one array of logarithms, so that it stays in the processor's cache."""
CROWDED = 1e-6
"""Between nodes nearer than this part of the largest node, differences of log kappa are rounding: nodes crowd where pieces end."""
ENDS = ((0, -1), (1, -2))
"""Indices of the last node and the one before it, at both ends of a mesh: (0, -1) and (1, -2)."""
LARGEST_EXPONENT = 600.0
"""Two numbers below this have exponentials in float64, and these a product."""
MOST_ENTRIES = {1: 2e8, 2: 2.5e7}
"""Entries of one table, by the number of axes; with one axis, a part of it is held at a time."""
MOST_WORK = 4e9
"""Multiplications in one matrix product: half a second."""


class Table:
    """exp(-u kappa) at outer nodes ``v`` (one array per Laplace variable) and the tokens of every kernel.

    Its moments are those of ``rules`` rules: the token meshes with once, twice and four times their step.
    """

    def __init__(self, family: Family, tokens: list[Tokens], v: list[Any], rules: int = 1) -> None:
        counts, nodes = [len(w) for w in v], max(len(own.mesh.nodes) for own in tokens)
        if max(counts) * nodes > MOST_ENTRIES[len(v)] or float(np.prod(counts)) * nodes > MOST_WORK:
            raise TooDear("the table of exponentials is too large for float64; ask for fewer digits")
        self.family, self.tokens, self.v, self.rules = family, tokens, v, rules
        self.shape = tuple(counts)

    @cached_property
    def loads(self) -> list[list[Any]]:
        """u kappa at every outer node and token, for every kernel and axis."""
        return [[_load(w, slope) for w, slope in zip(self.v, own.slopes)] for own in self.tokens]

    @cached_property
    def factors(self) -> list[list[Any]]:
        """exp(-u kappa), in the same order as ``loads``."""
        return [[np.exp(-load) for load in own] for own in self.loads]

    @property
    def grid(self) -> list[Any]:
        """The outer nodes, shaped to broadcast over their product."""
        return self.v if len(self.v) == 1 else [self.v[0][:, None], self.v[1][None, :]]

    @cached_property
    def moments(self) -> Moments:
        """The moments under every rule at the product of the outer nodes."""
        nodes = max(len(own.mesh.nodes) for own in self.tokens)
        parts = -(-len(self.v[0]) * nodes // BLOCK)
        if len(self.v) == 1 and parts > 1:
            blocks = np.array_split(self.v[0], parts)
            return joined_moments([Table(self.family, self.tokens, [v], self.rules).moments for v in blocks])
        return self._moments()

    def _moments(self) -> Moments:
        shape = (self.rules, *self.shape)
        found, is_small = Moments.zeros(len(self.family.form.moments), shape), False
        least = UNDERFLOW ** (1.0 / max(self.family.most_factors, 1.0))
        for k, own in enumerate(self.family.moments_of):
            means = self._pairs(self.factors[k], self.tokens[k].of_rules(self.rules)).reshape(len(own), *shape)
            is_small = is_small or bool((np.abs(means) < least).any())
            for i, mean, top in zip(own, means, self.tokens[k].tops):
                found.means[i], found.scales[i] = mean, np.full(shape, top)
        if is_small:
            self._take_from_logs(found, least)
        for k, own in enumerate(self.family.moments_of):
            for n, i in enumerate(own):
                if i in self.family.form.survivors:
                    mean, scale = found.means[i], found.scales[i]
                    found.logs[i] = self._log_survival(k, n, mean, scale)
                    found.means[i], found.scales[i] = mean * np.exp(scale), np.zeros(shape)
        return found

    def _take_from_logs(self, found: Moments, least: float) -> None:
        """Sets the moments below ``least`` as sign and scale, so that none underflows in a product with others.

        One below UNDERFLOW of its largest possible term has lost digits; it is summed from logarithms where it contributes.
        """
        places, underflowed = [], np.zeros((len(found.means), self.rules, *self.shape), dtype=bool)
        for k, own in enumerate(self.family.moments_of):
            for n, i in enumerate(own):
                for rule, (mean, scale) in enumerate(zip(found.means[i], found.scales[i])):
                    log, small = self.tokens[k].log(n, rule), np.abs(mean) < least
                    if small.any() and np.any(log > -np.inf):
                        places.append((k, n, i, rule, log))
                        underflowed[i, rule] = self._with_scale(k, n, i, log, mean, scale, small)
        if underflowed.any():
            contributes = self._contributing(found, underflowed)
            for k, n, i, rule, log in places:
                mean, scale = found.means[i][rule], found.scales[i][rule]
                mean[underflowed[i, rule]] = 0.0
                self._sum_logs(k, n, i, log, mean, scale, underflowed[i, rule] & contributes[rule])

    def _with_scale(self, k: int, n: int, i: int, log: Any, mean: Any, scale: Any, small: Any) -> Any:
        """Sets mean and scale of a small moment; returns where it has underflowed, and is set to the bound UNDERFLOW."""
        if len(self.v) == 2:  # with the weights relative to the largest that is left at each node of the last axis
            own = np.flatnonzero(np.any(np.abs(mean) < UNDERFLOW, axis=0))
            sizes = log - self.loads[k][1][own]
            highest = _finite(np.max(sizes, axis=1))
            mean[:, own] = self.factors[k][0] @ (np.exp(sizes - highest[:, None]) * self._sign(k, n, i)).T
            scale[:, own] += highest
        underflowed = np.abs(mean) < UNDERFLOW
        mean[underflowed] = UNDERFLOW
        scale[small] += np.log(np.abs(mean[small]))
        mean[small] = np.sign(mean[small])
        return underflowed

    def _sign(self, k: int, n: int, i: int) -> Any:
        """Signs of a moment's weights at the tokens."""
        return self.tokens[k].signs[n] if i in self.family.form.alternating else np.ones(1)

    def _contributing(self, found: Moments, underflowed: Any) -> Any:
        """Where a term may contribute to its integral, with bounds in place of the moments that have underflowed."""
        family = self.family
        if np.any(family.constants.powers < 0):
            return np.ones(underflowed.shape[1:], dtype=bool)
        logs = [np.log(np.abs(mean)) + scale for mean, scale in zip(found.means, found.scales)]
        bounds = Moments(list(found.means), logs, list(found.scales))
        for i in family.form.survivors:
            bounds.means[i], bounds.scales[i] = np.exp(logs[i]), np.zeros(1)
        known, contributes = ~underflowed.any(axis=0), np.zeros(underflowed.shape[1:], dtype=bool)
        for size in family.logs(self.grid, bounds):
            contributes |= ~(size < np.fmax.reduce(size, axis=None, where=known, initial=-np.inf) - family.depth)
        return contributes

    def _sum_logs(self, k: int, n: int, i: int, log: Any, mean: Any, scale: Any, chosen: Any) -> None:
        """Sets mean and scale of a moment at the chosen outer nodes by a sum from logarithms."""
        keep, sign = np.flatnonzero(log > -np.inf), self._sign(k, n, i)
        sign = np.broadcast_to(sign, log.shape)[keep]
        for place, load in self._loads_at(k, chosen, keep):
            size = log[keep] - load
            highest = _finite(np.max(size, axis=1))
            mean[place] = np.exp(size - highest[:, None]) @ sign
            scale[place] = self.tokens[k].tops[n] + highest

    def _loads_at(self, k: int, chosen: Any, keep: Any) -> Iterator[tuple[Any, Any]]:
        """Yields places of the chosen outer nodes, a block at a time, with the sum of their loads at the tokens ``keep``."""
        index = np.nonzero(chosen)
        some = max(1, BLOCK // len(keep))
        for start in range(0, len(index[0]), some):
            place = tuple(part[start : start + some] for part in index)
            yield place, sum(load[i][:, keep] for load, i in zip(self.loads[k], place))

    def _log_survival(self, k: int, n: int, mean: Any, scale: Any) -> Any:
        """log M for every rule; computed from 1 - M where M is near 1 and its power large."""
        logs = np.log(np.maximum(mean, TINY)) + scale
        if self.family.power <= LARGE_POWER:
            return logs
        count, lost = self.rules, [-np.expm1(-load) for load in self.loads[k]]
        rows = self.tokens[k].of_rules(count)[n * count : (n + 1) * count] * np.exp(self.tokens[k].tops[n])
        missing = rows @ lost[0].T
        if len(lost) == 2:
            missing = missing[:, :, None] + self._pairs([self.factors[k][0], lost[1]], rows)
        return log_near_one(missing, logs)

    def largest_shares(self, size: Any, depth: float) -> list[Any]:
        """For every kernel and token the log of its largest share in a moment that contributes, times the ``size`` of the
        integrands.

        Args:
            size: log of the largest integrand at the outer nodes, relative to its largest value; nodes below -depth are left
                out.
        """
        found, inside = [], size > -depth
        for k, own in enumerate(self.family.moments_of):
            best = np.full(len(self.tokens[k].mesh.nodes), -np.inf)
            every, logs = np.arange(len(best)), self.tokens[k].logs + self.tokens[k].tops[:, None]
            relative = {}
            for n, i in enumerate(own):
                if self.family.largest[i] > 0:
                    with np.errstate(divide="ignore"):
                        relative[n] = size - np.log(np.abs(self.moments.means[i][0])) - self.moments.scales[i][0]
            for place, load in self._loads_at(k, inside, every):
                for n, least in relative.items():
                    best = np.maximum(best, np.max(least[place][:, None] - load, axis=0) + logs[n])
            found.append(best)
        return found

    def roundings(self) -> Any:
        """Rounding errors of log |M| for every moment at the outer nodes, (moments, *outer nodes), in units of the roundoff.

        A weight is rounded in its exponent, in that relative to the top, and in the top. u kappa is rounded in log u, in log
        kappa and in the node, whose rounding is that of the largest node.
        """
        family, found = self.family, np.zeros((len(self.family.form.moments), *self.shape))
        for k, own in enumerate(family.moments_of):
            nodes, tops = self.tokens[k].mesh.nodes, self.tokens[k].tops
            slopes, weights = family.code.roundings_at_nodes(k, nodes, family.p)
            slopes = slopes + _of_nodes(self.tokens[k].slopes, nodes)
            below = np.where(np.isfinite(own_logs := self.tokens[k].logs), np.abs(own_logs), 0.0)
            below = below + np.abs(tops)[:, None]
            sizes = 4.0 + family.code.token_sizes(k, nodes, family.p) + weights + below
            survive = [family.power > LARGE_POWER and i in family.form.survivors for i in own]
            for near_one in set(survive):
                chosen = [n for n, survives in enumerate(survive) if survives == near_one]
                each = self._rounding(k, chosen, sizes[chosen], slopes, near_one=near_one)
                for n, error in zip(chosen, each):
                    if near_one:
                        error = error * np.abs(self.moments.logs[own[n]][0])
                    elif np.any(underflowed := error < 0):  # from logarithms
                        moved = np.abs(tops[n]) + np.abs(tops[n] - self.moments.scales[own[n]][0])
                        error = np.where(underflowed, UNDERFLOW_ROUNDING + moved, error)
                    found[own[n]] = error
        return found

    def _rounding(self, k: int, chosen: list[int], sizes: Any, log_kappa_rounding: Any, *, near_one: bool) -> Any:
        """Relative rounding error of some moments, or of 1 - M, from the rounding of their weights and of log kappa.

        Negative where a moment has underflowed.
        """
        tokens, factors, count = self.tokens[k], self.factors[k], len(chosen)
        rows = tokens.rows[chosen]
        row = np.abs(rows)
        size = row * np.where(row > 0, sizes, 0.0)
        both = np.zeros((2 * count, 1)) if near_one else self._pairs(factors, np.concatenate([row, size]))
        whole, error = both[:count], both[count:]
        for axis, (load, slope) in enumerate(zip(self.loads[k], tokens.slopes)):
            moved = -np.expm1(-load) if near_one else np.where(factors[axis] > 0, load * factors[axis], 0.0)
            own = row * (2.0 + np.where(np.isfinite(slope), np.abs(slope), 0.0) + log_kappa_rounding[axis])
            pair = [moved if m == axis else factor for m, factor in enumerate(factors)]
            both = self._pairs(pair, np.concatenate([row, own + size if near_one else own]))
            share = both[:count]
            error = error + both[count:] + np.abs(self.grid[axis]) * share
            whole = whole + share if near_one else whole
        cancelled = whole
        if np.min(rows) < 0.0:
            cancelled = np.minimum(np.abs(self._pairs(factors, rows)), whole)
        underflowed = UNDERFLOW_ROUNDING if near_one else -1.0
        return np.where(whole > UNDERFLOW, error / np.maximum(cancelled, TINY), underflowed)

    def lost(self) -> Any:
        """Bounds of the tails beyond the ends of the token meshes, relative to every moment: (moments, *outer nodes)."""
        found = np.zeros((len(self.family.form.moments), *self.shape))
        for k, own in enumerate(self.family.moments_of):
            factors, rows = self.factors[k], np.abs(self.tokens[k].rows)
            size = self._pairs(factors, rows)
            last, before = (
                np.array([self._pairs([f[:, [at]] for f in factors], rows[:, [at]]) for at in ends]) for ends in ENDS
            )
            ends = np.sum(last * tail_in_last_terms(last / before), axis=0)
            found[own] = np.where(size > UNDERFLOW, ends / np.maximum(size, TINY), 8.0 * np.exp(-self.family.depth))
        return found

    @staticmethod
    def _pairs(factors: list[Any], rows: Any) -> Any:
        """Sums over the tokens of ``rows`` times the factors, (rows, *outer nodes)."""
        if len(factors) == 1:
            return rows @ factors[0].T
        return np.array([(factors[0] * row) @ factors[1].T for row in rows])


def _of_nodes(slopes: Any, nodes: Any) -> Any:
    """Rounding of log kappa due to that of the nodes, half a roundoff of the largest node; 0 between nodes that crowd."""
    largest, steps, found = max(-nodes.min(), nodes.max()), np.diff(nodes), np.zeros_like(slopes)
    moved = np.abs(np.diff(slopes)) * (largest / 2.0 / steps)
    found[:, :-1] = np.where(np.isfinite(moved) & (steps > CROWDED * largest), moved, 0.0)
    return found


def _finite(highest: Any) -> Any:
    """The logarithms, with 0 in place of those that are not finite."""
    return np.where(np.isfinite(highest), highest, 0.0)


def _load(v: Any, slope: Any) -> Any:
    """exp(v + slope) for all pairs, as an outer product where no factor overflows."""
    if np.max(np.abs(v)) < LARGEST_EXPONENT and np.max(slope) < LARGEST_EXPONENT:
        return np.multiply.outer(np.exp(v), np.exp(slope))
    return np.exp(v[:, None] + slope)


def joined_moments(parts: list[Moments]) -> Moments:
    """Moments at consecutive parts of the outer nodes, joined along the last axis."""
    columns = zip(*((part.means, part.logs, part.scales) for part in parts))
    return Moments(*([np.concatenate(own, axis=-1) for own in zip(*column)] for column in columns))
