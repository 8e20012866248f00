"""Means over sequences: trapezoid rules in few dimensions, randomised quasi-Monte Carlo in many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.location.means import Means
from symslr.evaluation.location.posterior import configurations, ways
from symslr.evaluation.location.setting import Setting, times_keys
from symslr.evaluation.location.tables.rules import COARSE, FINE, Rule
from symslr.evaluation.sampling.points import SOBOL_DIMENSIONS, uniforms
from symslr.expression.value import Kind
from symslr.model.location.where import Independent

MOST_DIMENSIONS = 4
"""Of a trapezoid rule over all keys."""
REACH, NEARER = 8.6, 8.0
"""Standard deviations that two rules go out to: beyond, a normal density is below the rounding of its top. What grows as fast
as the density falls shows in their difference."""
STEPS = {1: 0.12, 2: 0.18, 3: 0.285, 4: 0.37}
"""Of a trapezoid rule, by dimensions: its error falls as exp(-c/step)."""
MOST_STRATA = 40
"""Hidden configurations under each of which keys are drawn."""
MOST_MIXED = 128
"""Hidden configurations whose densities are summed at every node of a rule."""
SHOWN = 0.05
"""Of the processor time that a rule may take, so much shows what the whole of it takes."""
PART = 2**13
"""Nodes of a rule looked at in one go."""
FURTHER, LEAST_MASS = 27.0, 1e-24
"""Nodes are left out where the squared distance from every mean is beyond REACH^2 by this, and where their mass is below this."""
FIRST = 2**18
"""Coordinates that a first replication draws, in at most 256 points."""
REPLICATIONS = 16
"""Randomisations of a set of points: their spread gives the standard error, known to 18 per cent then."""
PRECISE = 1e-5
"""Relative standard error at which sampling stops."""
Integrand = Callable[[Any, Any], Any]
"""Keys (n, L, p) and their masses (n,) to sums over them (k,)."""
Strata = tuple[Any, Any]
"""Hidden configurations: their probabilities (M,) and signals (M, L, p)."""


def dimensions(setting: Setting) -> int:
    return setting.length * setting.directions


def strata(setting: Setting, alike: bool, most: int = MOST_STRATA) -> Strata | None:
    """All hidden configurations; None where there are more than ``most``.

    Args:
        alike: whether the integrand does not tell positions apart; where the setting does not either, configurations that
            differ by a permutation are one.
    """
    kinds, length = len(setting.shares), setting.length
    if not (alike and setting.is_exchangeable):
        if ways(setting) > most:
            return None
        every = configurations(setting)
        return np.exp(every.logs), every.signals
    counts, chances = [setting.size], np.ones(1)
    if isinstance(setting.task.location, Independent):
        counts = list(range(length + 1))
        chances = scipy.stats.binom.pmf(counts, length, float(setting.coins[0]))
    if sum(float(kinds) ** min(count, 60) for count in counts) > most:
        return None
    shares, signals = [], []
    for count, chance in zip(counts, chances.tolist()):
        for chosen in map(list, product(range(kinds), repeat=count)):
            signals.append(np.zeros((length, setting.directions)))
            signals[-1][:count] = setting.values[chosen]
            shares.append(chance * float(np.prod(setting.shares[chosen])))
    return np.array(shares), np.array(signals)


def quadrature(setting: Setting, integrand: Integrand, seconds: float, alike: bool = True) -> Means | None:
    """The means by two trapezoid rules over all keys, whose difference is the error; None where they are out of reach.

    Args:
        seconds: processor time after which the rules are given up, as soon as a part of them shows it.
    """
    if not is_griddable(setting, alike):
        return None
    grids = [Grid.of(setting, rule, alike, reach) for rule, reach in ((FINE, REACH), (COARSE, NEARER))]
    began, rows, done, whole = time.process_time(), [], 0, sum(grid.work for grid in grids)
    for grid in grids:
        row: Any = 0.0
        for keys, mass, count in grid.parts():
            row = row + integrand(keys, mass)
            done += count
            spent = time.process_time() - began
            if spent > SHOWN * seconds and spent * whole > seconds * done:
                return None
        rows.append(row)
    return Means(np.array(rows), Kind.ESTIMATED, f"trapezoid rule over {dimensions(setting)} keys")


def is_griddable(setting: Setting, alike: bool) -> bool:
    """Whether a rule over all keys has few dimensions, and few hidden configurations to weigh a point by."""
    return dimensions(setting) <= MOST_DIMENSIONS and strata(setting, alike, MOST_MIXED) is not None


@dataclass(frozen=True)
class Grid:
    """A trapezoid rule over the keys of a setting under all hidden configurations at once.

    Attributes:
        shares, centres: the hidden configurations, and the means of the keys under them in units of their noise, (M, L p).
        axis: nodes of the first coordinate; ``inner`` those of all others.
        root: the square root of C.
    """

    setting: Setting
    shares: Any
    centres: Any
    step: float
    axis: Any
    inner: Any
    root: Any

    @classmethod
    def of(cls, setting: Setting, rule: Rule, alike: bool, reach: float = REACH) -> Grid:
        """With the nodes that are near the mean of a configuration."""
        step = rule.key * STEPS[dimensions(setting)]
        found = strata(setting, alike, MOST_MIXED)
        assert found is not None
        shares, signals = found
        root, shift = np.linalg.cholesky(setting.key_matrix), np.sqrt(setting.strength) * signals
        centres = times_keys(np.linalg.inv(root), shift).reshape(len(shift), -1)
        low = np.floor((centres.min(axis=0) - reach) / step).astype(int)
        high = np.ceil((centres.max(axis=0) + reach) / step).astype(int)
        axes = [step * np.arange(first, last + 1) for first, last in zip(low, high)]
        inner = np.zeros((1, 0))
        for column, axis in enumerate(axes[1:], 1):
            inner = np.concatenate([np.repeat(inner, len(axis), axis=0), np.tile(axis, len(inner))[:, None]], axis=1)
            away = [np.sum((inner - centre[1 : column + 1]) ** 2, axis=1) for centre in centres]
            inner = inner[np.min(away, axis=0) < reach**2 + FURTHER]
        return cls(setting, shares, centres, step, axes[0], inner, root)

    @property
    def work(self) -> int:
        """The number of all nodes."""
        return len(self.axis) * len(self.inner)

    def parts(self) -> Iterator[tuple[Any, Any, int]]:
        """Keys (n, L, p) with their masses (n,), which sum to 1 in all, and how many nodes were looked at since the part before."""
        shape = (self.setting.length, self.setting.directions)
        squares, count = np.sum(self.centres**2, axis=1) / 2, 0
        starts = range(0, len(self.inner), PART)
        # in random order, so that the first ones show what all of them cost
        for number in np.random.default_rng(0).permutation(len(self.axis) * len(starts)):
            first, start = self.axis[number // len(starts)], starts[number % len(starts)]
            inner = self.inner[start : start + PART]
            noise = np.concatenate([np.full((len(inner), 1), first), inner], axis=1)
            logs = noise @ self.centres.T - squares - np.sum(noise**2, axis=1)[:, None] / 2
            density = np.exp(logs) @ self.shares * (self.step / np.sqrt(2 * np.pi)) ** noise.shape[1]
            kept, count = density > LEAST_MASS, count + len(inner)
            if np.any(kept):
                keys = times_keys(self.root, noise[kept].reshape(-1, *shape))
                yield keys, density[kept], count
                count = 0


def hidden(setting: Setting, alike: bool) -> int:
    """Coordinates that draw the hidden configuration where it is not laid out in strata."""
    if strata(setting, alike) is not None:
        return 0
    choices = setting.length if setting.size != 1 else 1
    return choices if len(setting.shares) == 1 else 2 * choices


def batches(setting: Setting, alike: bool, size: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Randomised keys (n, L, p) of ``size`` sequences under each stratum, with weights (n,) that sum to 1 over all batches."""
    found, count_of_keys = strata(setting, alike), dimensions(setting)
    root = None if setting.are_keys_independent else np.linalg.cholesky(setting.key_matrix)
    for uniform in uniforms(count_of_keys + hidden(setting, alike), size, seed):
        normal = scipy.special.ndtri(uniform[:, :count_of_keys]).reshape(-1, setting.length, setting.directions)
        noise = normal if root is None else times_keys(root, normal)
        strata_here = [(1.0, _drawn(setting, uniform[:, count_of_keys:]))] if found is None else zip(*found)
        for share, signal in strata_here:
            yield noise + np.sqrt(setting.strength) * signal, np.full(len(uniform), share / size)


def _drawn(setting: Setting, uniform: Any) -> Any:
    """Signals (n, L, p) from uniform numbers."""
    count = len(uniform)
    signal = np.zeros((count, setting.length, setting.directions))
    many = len(setting.shares) > 1
    if setting.size == 1:
        place = np.minimum(np.searchsorted(np.cumsum(np.exp(setting.log_prior)), uniform[:, 0]), setting.length - 1)
        kind = _kind(setting, uniform[:, 1]) if many else np.zeros(count, dtype=int)
        signal[np.arange(count), place] = setting.values[kind]
        return signal
    chosen = uniform[:, : setting.length]
    relevant = chosen < setting.coins if setting.size == 0 else _drawn_subset(setting, chosen)
    kind = _kind(setting, uniform[:, setting.length :]) if many else np.zeros((count, setting.length), dtype=int)
    return np.where(relevant[..., None], setting.values[kind], signal)


def _kind(setting: Setting, uniform: Any) -> Any:
    return np.minimum(np.searchsorted(np.cumsum(setting.shares), uniform), len(setting.shares) - 1)


def _drawn_subset(setting: Setting, uniform: Any) -> Any:
    """Positions drawn one after another: l is in S with pi_l e_{r-1}(after l) / e_r(from l), r those that are missing."""
    length, size = setting.length, setting.size
    suffix = np.full((length + 1, size + 1), -np.inf)
    suffix[length, 0] = 0.0
    for place in range(length - 1, -1, -1):
        suffix[place, 0] = 0.0
        suffix[place, 1:] = np.logaddexp(suffix[place + 1, 1:], setting.log_prior[place] + suffix[place + 1, :-1])
    missing = np.full(len(uniform), size)
    chosen = np.zeros(uniform.shape, dtype=bool)
    for place in range(length):
        taken = setting.log_prior[place] + suffix[place + 1, np.maximum(missing - 1, 0)] - suffix[place, missing]
        chosen[:, place] = (missing > 0) & (uniform[:, place] < np.exp(taken))
        missing = missing - chosen[:, place]
    return chosen


def sampled(setting: Setting, integrand: Integrand, size: int, alike: bool = True) -> Means:
    """The means by independent replications of randomised points."""
    rows = [sum(integrand(*batch) for batch in batches(setting, alike, size, seed)) for seed in range(REPLICATIONS)]
    width = dimensions(setting) + hidden(setting, alike)
    points = "Sobol" if width <= SOBOL_DIMENSIONS else "random"
    method = f"{REPLICATIONS} replications of {size} {points} points in {width} dimensions"
    return Means(np.array(rows), Kind.STATISTICAL, method)


def sampled_until_sharp(
    setting: Setting, integrand: Integrand, read: Callable[[Any], float], seconds: float, alike: bool = True
) -> Means:
    """``sampled``, by as many points as make a number read from the means as sharp as ``PRECISE``, or as there is time for."""
    sample = partial(sampled, setting, integrand, alike=alike)
    return refined(sample, read, PRECISE, seconds, dimensions(setting) * max(setting.size, 1))


def refined(
    sample: Callable[[int], Means], read: Callable[[Any], float], relative: float, seconds: float, width: int = 1
) -> Means:
    """``sample`` with more points, fourfold until a number read from the means is as sharp as asked, or the time is up.

    Args:
        width: work of a point, in coordinates: where it is much, few are drawn at first.
    """
    began, size = time.process_time(), 1 << max(0, min(8, (FIRST // width).bit_length() - 1))
    while True:
        started = time.process_time()
        found = sample(size)
        part, now = found.part(read), time.process_time()
        if part.error <= relative * abs(part.value) or now - began + 4 * (now - started) > seconds:
            return found
        size *= 4
