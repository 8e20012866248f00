"""The dense table exp(-u kappa) in float64, the moments that it gives, and what they tell of their own rounding.

A moment is a matrix product of the table with weights wherever that keeps its digits; where it sinks below what float64
can name beside its largest weight, the same sum is taken from logarithms, entry by entry.
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
"""In the place of 0 below a fraction or in a logarithm, with room above the least float64 number."""
UNDERFLOW = 1e-200
"""A sum of weights this far below the largest one may have lost terms to underflow."""
UNDERFLOW_ROUNDING = 1000.0
"""Roundings of a moment taken from logarithms, which are of the size of some hundreds there, besides those of its top and scale."""
BLOCK = 400_000
"""Numbers in one array of logarithms: what stays in the cache."""
CROWDED = 1e-6
"""Between nodes nearer than so much of the largest, differences of log kappa are rounding: nodes crowd where mesh pieces end."""
ENDS = ((0, -1), (1, -2))
"""The first and the last node of a mesh, and the next ones in."""
TAME = 600.0
"""Logarithms below this have an exponential in float64, and two of them a product."""
LARGEST = {1: 2e8, 2: 2.5e7}
"""Numbers in one table, by the number of axes: with one, a part of it is held at a time."""
MOST_WORK = 4e9
"""Multiplications in one contraction: half a second."""


class Table:
    """exp(-u kappa) at outer nodes ``v`` (one array per Laplace variable) and the tokens of every kernel.

    Its moments are those of so many ``rules``: of the token meshes, and of those with twice and with four times their step.
    """

    def __init__(self, family: Family, tokens: list[Tokens], v: list[Any], rules: int = 1) -> None:
        counts, nodes = [len(w) for w in v], max(len(own.mesh.nodes) for own in tokens)
        if max(counts) * nodes > LARGEST[len(v)] or float(np.prod(counts)) * nodes > MOST_WORK:
            raise TooDear("the table of exponentials is too large for float64; ask for fewer digits")
        self.family, self.tokens, self.v, self.rules = family, tokens, v, rules
        self.shape = tuple(counts)

    @cached_property
    def loads(self) -> list[list[Any]]:
        """u kappa at every outer node and token, for every kernel and axis."""
        return [[_load(w, slope) for w, slope in zip(self.v, own.slopes)] for own in self.tokens]

    @cached_property
    def factors(self) -> list[list[Any]]:
        """exp(-u kappa) likewise."""
        return [[np.exp(-load) for load in own] for own in self.loads]

    @property
    def grid(self) -> list[Any]:
        """Outer nodes shaped for the product mesh."""
        return self.v if len(self.v) == 1 else [self.v[0][:, None], self.v[1][None, :]]

    @cached_property
    def moments(self) -> Moments:
        """Of every moment and rule at the product of the outer nodes."""
        nodes = max(len(own.mesh.nodes) for own in self.tokens)
        parts = -(-len(self.v[0]) * nodes // BLOCK)
        if len(self.v) == 1 and parts > 1:
            blocks = np.array_split(self.v[0], parts)
            return joined_moments([Table(self.family, self.tokens, [v], self.rules).moments for v in blocks])
        return self._moments()

    def _moments(self) -> Moments:
        shape = (self.rules, *self.shape)
        found, is_small = Moments.zeros(len(self.family.form.moments), shape), False
        least = UNDERFLOW ** (1.0 / max(self.family.together, 1.0))
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

        What lies below UNDERFLOW of its largest possible term has lost digits: it is taken from logarithms where it decides.
        """
        places, sunk = [], np.zeros((len(found.means), self.rules, *self.shape), dtype=bool)
        for k, own in enumerate(self.family.moments_of):
            for n, i in enumerate(own):
                for rule, (mean, scale) in enumerate(zip(found.means[i], found.scales[i])):
                    log, small = self.tokens[k].log(n, rule), np.abs(mean) < least
                    if small.any() and np.any(log > -np.inf):
                        places.append((k, n, i, rule, log))
                        sunk[i, rule] = self._raised(k, n, i, log, mean, scale, small)
        if sunk.any():
            decides = self._deciding(found, sunk)
            for k, n, i, rule, log in places:
                mean, scale = found.means[i][rule], found.scales[i][rule]
                mean[sunk[i, rule]] = 0.0
                self._sum_logs(k, n, i, log, mean, scale, sunk[i, rule] & decides[rule])

    def _raised(self, k: int, n: int, i: int, log: Any, mean: Any, scale: Any, small: Any) -> Any:
        """Sets mean and scale of a moment; where it is sunk, which is returned, to those of the bound UNDERFLOW."""
        if len(self.v) == 2:  # with the weights relative to the largest that is left at each node of the last axis
            own = np.flatnonzero(np.any(np.abs(mean) < UNDERFLOW, axis=0))
            sizes = log - self.loads[k][1][own]
            highest = _finite(np.max(sizes, axis=1))
            mean[:, own] = self.factors[k][0] @ (np.exp(sizes - highest[:, None]) * self._sign(k, n, i)).T
            scale[:, own] += highest
        sunk = np.abs(mean) < UNDERFLOW
        mean[sunk] = UNDERFLOW
        scale[small] += np.log(np.abs(mean[small]))
        mean[small] = np.sign(mean[small])
        return sunk

    def _sign(self, k: int, n: int, i: int) -> Any:
        """Of a moment's weights at the tokens."""
        return self.tokens[k].signs[n] if i in self.family.form.alternating else np.ones(1)

    def _deciding(self, found: Moments, sunk: Any) -> Any:
        """Where a term may count for its integral: from moments that are bounds where they are sunk, beside those that are not."""
        family = self.family
        if np.any(family.constants.powers < 0):
            return np.ones(sunk.shape[1:], dtype=bool)
        logs = [np.log(np.abs(mean)) + scale for mean, scale in zip(found.means, found.scales)]
        bounds = Moments(list(found.means), logs, list(found.scales))
        for i in family.form.survivors:
            bounds.means[i], bounds.scales[i] = np.exp(logs[i]), np.zeros(1)
        known, decides = ~sunk.any(axis=0), np.zeros(sunk.shape[1:], dtype=bool)
        for size in family.logs(self.grid, bounds):
            decides |= ~(size < np.fmax.reduce(size, axis=None, where=known, initial=-np.inf) - family.depth)
        return decides

    def _sum_logs(self, k: int, n: int, i: int, log: Any, mean: Any, scale: Any, chosen: Any) -> None:
        """Sets mean and scale of a moment at the chosen outer nodes from logarithms."""
        keep, sign = np.flatnonzero(log > -np.inf), self._sign(k, n, i)
        sign = np.broadcast_to(sign, log.shape)[keep]
        for place, load in self._loads_at(k, chosen, keep):
            size = log[keep] - load
            highest = _finite(np.max(size, axis=1))
            mean[place] = np.exp(size - highest[:, None]) @ sign
            scale[place] = self.tokens[k].tops[n] + highest

    def _loads_at(self, k: int, chosen: Any, keep: Any) -> Iterator[tuple[Any, Any]]:
        """Places of the chosen outer nodes, a few at a time, with the sum of their loads at some tokens."""
        index = np.nonzero(chosen)
        some = max(1, BLOCK // len(keep))
        for start in range(0, len(index[0]), some):
            place = tuple(part[start : start + some] for part in index)
            yield place, sum(load[i][:, keep] for load, i in zip(self.loads[k], place))

    def _log_survival(self, k: int, n: int, mean: Any, scale: Any) -> Any:
        """log M for every rule; from 1 - M where M is near 1 and its power large."""
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
        """For every kernel and token the log of its largest share in a moment that counts, times the ``size`` of the integrands.

        ``size`` is the log of the largest of them, relative to its largest value; below -depth they are left out.
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
        """Rounding error of log |M| for every moment at the outer nodes, (moments, *outer nodes), in units of the roundoff.

        A weight is rounded by the size of its exponent, of that relative to the top and of the top; u kappa by log u, by
        log kappa and by the node, which is rounded as the largest of them.
        """
        family, found = self.family, np.zeros((len(self.family.form.moments), *self.shape))
        for k, own in enumerate(family.moments_of):
            nodes, tops = self.tokens[k].mesh.nodes, self.tokens[k].tops
            slopes, weights = family.code.shaken(k, nodes, family.p)
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
                    elif np.any(sunk := error < 0):  # from logarithms
                        moved = np.abs(tops[n]) + np.abs(tops[n] - self.moments.scales[own[n]][0])
                        error = np.where(sunk, UNDERFLOW_ROUNDING + moved, error)
                    found[own[n]] = error
        return found

    def _rounding(self, k: int, chosen: list[int], sizes: Any, shaken: Any, *, near_one: bool) -> Any:
        """Relative, of some moments, or of 1 - M, from the rounding of their weights and of log kappa (``shaken``).

        Negative where a moment is sunk.
        """
        tokens, factors, count = self.tokens[k], self.factors[k], len(chosen)
        rows = tokens.rows[chosen]
        row = np.abs(rows)
        size = row * np.where(row > 0, sizes, 0.0)
        both = np.zeros((2 * count, 1)) if near_one else self._pairs(factors, np.concatenate([row, size]))
        whole, error = both[:count], both[count:]
        for axis, (load, slope) in enumerate(zip(self.loads[k], tokens.slopes)):
            moved = -np.expm1(-load) if near_one else np.where(factors[axis] > 0, load * factors[axis], 0.0)
            own = row * (2.0 + np.where(np.isfinite(slope), np.abs(slope), 0.0) + shaken[axis])
            pair = [moved if m == axis else factor for m, factor in enumerate(factors)]
            both = self._pairs(pair, np.concatenate([row, own + size if near_one else own]))
            share = both[:count]
            error = error + both[count:] + np.abs(self.grid[axis]) * share
            whole = whole + share if near_one else whole
        cancelled = whole
        if np.min(rows) < 0.0:
            cancelled = np.minimum(np.abs(self._pairs(factors, rows)), whole)
        sunk = UNDERFLOW_ROUNDING if near_one else -1.0
        return np.where(whole > UNDERFLOW, error / np.maximum(cancelled, TINY), sunk)

    def lost(self) -> Any:
        """What the ends of the token meshes leave out, relative to every moment: (moments, *outer nodes)."""
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
        """Sums over the tokens for every row, (rows, *outer nodes)."""
        if len(factors) == 1:
            return rows @ factors[0].T
        return np.array([(factors[0] * row) @ factors[1].T for row in rows])


def _of_nodes(slopes: Any, nodes: Any) -> Any:
    """Rounding of log kappa through that of the nodes, half a roundoff of the largest of them; not between nodes that crowd."""
    largest, steps, found = max(-nodes.min(), nodes.max()), np.diff(nodes), np.zeros_like(slopes)
    moved = np.abs(np.diff(slopes)) * (largest / 2.0 / steps)
    found[:, :-1] = np.where(np.isfinite(moved) & (steps > CROWDED * largest), moved, 0.0)
    return found


def _finite(highest: Any) -> Any:
    """Logarithms to subtract: 0 where there is none."""
    return np.where(np.isfinite(highest), highest, 0.0)


def _load(v: Any, slope: Any) -> Any:
    """exp(v + slope) for all pairs; by one product where no factor overflows."""
    if np.max(np.abs(v)) < TAME and np.max(slope) < TAME:
        return np.multiply.outer(np.exp(v), np.exp(slope))
    return np.exp(v[:, None] + slope)


def joined_moments(parts: list[Moments]) -> Moments:
    """Moments at one set of outer nodes after another, the last axis."""
    columns = zip(*((part.means, part.logs, part.scales) for part in parts))
    return Moments(*([np.concatenate(own, axis=-1) for own in zip(*column)] for column in columns))
