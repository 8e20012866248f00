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
from symslr.evaluation.location.posterior import configuration_count, configurations
from symslr.evaluation.location.setting import Setting, matrix_times_keys
from symslr.evaluation.location.tables.rules import COARSE, FINE, Rule
from symslr.evaluation.sampling.points import SOBOL_DIMENSIONS, uniforms
from symslr.expression.value import Kind
from symslr.model.location.where import Independent

SECONDS = 6.0
"""Processor time of one sampled value, unless asked otherwise."""
MOST_DIMENSIONS = 4
"""Most dimensions, length times directions, of a trapezoid rule over all keys."""
REACH, COARSE_REACH = 8.6, 8.0
"""Standard deviations out to which the fine and the coarse rule go: beyond, a normal density is below 1e-16 (1e-14) of its maximum.
An integrand that grows as fast as the density falls shows in the difference of the rules."""
STEPS = {1: 0.12, 2: 0.18, 3: 0.285, 4: 0.37}
"""Step of the trapezoid rule in standard deviations, by the number of dimensions: its error falls as exp(-c/step)."""
MOST_STRATA = 40
"""Most hidden configurations that serve as strata of a sample."""
MOST_MIXED = 128
"""Most hidden configurations whose densities are summed at every node of a quadrature."""
PILOT_SHARE = 0.05
"""After this share of its processor time a quadrature is extrapolated, and given up if it would take too long."""
NODES_AT_ONCE = 2**13
"""Most nodes evaluated at once."""
CUT_MARGIN, LEAST_MASS = 27.0, 1e-24
"""Nodes are dropped where the squared distance from every mean exceeds reach^2 by more than the first, or the mass is below the
second."""
FIRST_COORDINATES = 2**18
"""Most coordinates of the first replication, which has at most 256 points."""
REPLICATIONS = 16
"""Independent randomisations of a point set: their spread gives the standard error, to within 18 per cent."""
RELATIVE_ERROR = 1e-5
"""Relative standard error at which sampling stops."""
Integrand = Callable[[Any, Any], Any]
"""(keys (n, L, p), masses (n,)) -> weighted sums over the n sequences, (k,)."""
Strata = tuple[Any, Any]
"""Hidden configurations as (probabilities (M,), signals (M, L, p))."""


def dimensions(setting: Setting) -> int:
    return setting.length * setting.directions


def strata(setting: Setting, alike: bool, most: int = MOST_STRATA) -> Strata | None:
    """All hidden configurations; None where there are more than ``most``.

    Args:
        alike: whether the integrand is symmetric in the positions. Where the setting is exchangeable too, configurations that
            differ by a permutation count once.
    """
    kinds, length = len(setting.shares), setting.length
    if not (alike and setting.is_exchangeable):
        if configuration_count(setting) > most:
            return None
        every = configurations(setting)
        return np.exp(every.logs), every.signals
    counts, chances = [setting.size], np.ones(1)
    if isinstance(setting.task.location, Independent):
        counts = list(range(length + 1))
        chances = scipy.stats.binom.pmf(counts, length, float(setting.coin_probabilities[0]))
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
    """Means by two trapezoid rules over all keys, whose difference is the error; None where these are out of reach.

    Args:
        seconds: most processor time; the rules are given up as soon as it is seen that they would take more.
    """
    if not is_griddable(setting, alike):
        return None
    grids = [Grid.of(setting, rule, alike, reach) for rule, reach in ((FINE, REACH), (COARSE, COARSE_REACH))]
    began, rows, done, whole = time.process_time(), [], 0, sum(grid.work for grid in grids)
    for grid in grids:
        row: Any = 0.0
        for keys, mass, count in grid.parts():
            row = row + integrand(keys, mass)
            done += count
            spent = time.process_time() - began
            if spent > PILOT_SHARE * seconds and spent * whole > seconds * done:
                return None
        rows.append(row)
    return Means(np.array(rows), Kind.ESTIMATED, f"trapezoid rule over {dimensions(setting)} keys")


def is_griddable(setting: Setting, alike: bool) -> bool:
    """Whether a quadrature over all keys is within reach: few dimensions, and few hidden configurations."""
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
        """The rule with the nodes that are within ``reach`` (and a margin) of the mean of some configuration."""
        step = rule.key * STEPS[dimensions(setting)]
        found = strata(setting, alike, MOST_MIXED)
        assert found is not None
        shares, signals = found
        root, shift = np.linalg.cholesky(setting.key_matrix), np.sqrt(setting.strength) * signals
        centres = matrix_times_keys(np.linalg.inv(root), shift).reshape(len(shift), -1)
        low = np.floor((centres.min(axis=0) - reach) / step).astype(int)
        high = np.ceil((centres.max(axis=0) + reach) / step).astype(int)
        axes = [step * np.arange(first, last + 1) for first, last in zip(low, high)]
        inner = np.zeros((1, 0))
        for column, axis in enumerate(axes[1:], 1):
            inner = np.concatenate([np.repeat(inner, len(axis), axis=0), np.tile(axis, len(inner))[:, None]], axis=1)
            away = [np.sum((inner - centre[1 : column + 1]) ** 2, axis=1) for centre in centres]
            inner = inner[np.min(away, axis=0) < reach**2 + CUT_MARGIN]
        return cls(setting, shares, centres, step, axes[0], inner, root)

    @property
    def work(self) -> int:
        """The number of all nodes."""
        return len(self.axis) * len(self.inner)

    def parts(self) -> Iterator[tuple[Any, Any, int]]:
        """Batches (keys (n, L, p), masses (n,), number of nodes visited since the last batch); all masses sum to 1."""
        shape = (self.setting.length, self.setting.directions)
        squares, count = np.sum(self.centres**2, axis=1) / 2, 0
        starts = range(0, len(self.inner), NODES_AT_ONCE)
        # in random order, so that the first batches show what all of them cost
        for number in np.random.default_rng(0).permutation(len(self.axis) * len(starts)):
            first, start = self.axis[number // len(starts)], starts[number % len(starts)]
            inner = self.inner[start : start + NODES_AT_ONCE]
            noise = np.concatenate([np.full((len(inner), 1), first), inner], axis=1)
            logs = noise @ self.centres.T - squares - np.sum(noise**2, axis=1)[:, None] / 2
            density = np.exp(logs) @ self.shares * (self.step / np.sqrt(2 * np.pi)) ** noise.shape[1]
            kept, count = density > LEAST_MASS, count + len(inner)
            if np.any(kept):
                keys = matrix_times_keys(self.root, noise[kept].reshape(-1, *shape))
                yield keys, density[kept], count
                count = 0


def hidden_dimensions(setting: Setting, alike: bool) -> int:
    """Number of uniform coordinates that draw the hidden configuration; 0 where configurations are strata."""
    if strata(setting, alike) is not None:
        return 0
    choices = setting.length if setting.size != 1 else 1
    return choices if len(setting.shares) == 1 else 2 * choices


def batches(setting: Setting, alike: bool, size: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Batches of randomised keys (n, L, p), ``size`` sequences in each stratum, with weights (n,) that sum to 1 over all
    batches."""
    found, count_of_keys = strata(setting, alike), dimensions(setting)
    root = None if setting.are_keys_independent else np.linalg.cholesky(setting.key_matrix)
    for uniform in uniforms(count_of_keys + hidden_dimensions(setting, alike), size, seed):
        normal = scipy.special.ndtri(uniform[:, :count_of_keys]).reshape(-1, setting.length, setting.directions)
        noise = normal if root is None else matrix_times_keys(root, normal)
        strata_here = [(1.0, _random_signals(setting, uniform[:, count_of_keys:]))] if found is None else zip(*found)
        for share, signal in strata_here:
            yield noise + np.sqrt(setting.strength) * signal, np.full(len(uniform), share / size)


def _random_signals(setting: Setting, uniform: Any) -> Any:
    """Signals theta_l (n, L, p), 0 at irrelevant positions, from uniform numbers (n, k)."""
    count = len(uniform)
    signal = np.zeros((count, setting.length, setting.directions))
    many = len(setting.shares) > 1
    if setting.size == 1:
        place = np.minimum(np.searchsorted(np.cumsum(np.exp(setting.log_prior)), uniform[:, 0]), setting.length - 1)
        kind = _kind(setting, uniform[:, 1]) if many else np.zeros(count, dtype=int)
        signal[np.arange(count), place] = setting.values[kind]
        return signal
    chosen = uniform[:, : setting.length]
    relevant = chosen < setting.coin_probabilities if setting.size == 0 else _drawn_subset(setting, chosen)
    kind = _kind(setting, uniform[:, setting.length :]) if many else np.zeros((count, setting.length), dtype=int)
    return np.where(relevant[..., None], setting.values[kind], signal)


def _kind(setting: Setting, uniform: Any) -> Any:
    return np.minimum(np.searchsorted(np.cumsum(setting.shares), uniform), len(setting.shares) - 1)


def _drawn_subset(setting: Setting, uniform: Any) -> Any:
    """A random subset, (n, L) booleans: l is in S with probability pi_l e_{r-1}(l+1..L) / e_r(l..L), r positions still missing."""
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
    """Means by ``REPLICATIONS`` independent replications of ``size`` randomised (Sobol or random) points in each stratum."""
    rows = [sum(integrand(*batch) for batch in batches(setting, alike, size, seed)) for seed in range(REPLICATIONS)]
    width = dimensions(setting) + hidden_dimensions(setting, alike)
    points = "Sobol" if width <= SOBOL_DIMENSIONS else "random"
    method = f"{REPLICATIONS} replications of {size} {points} points in {width} dimensions"
    return Means(np.array(rows), Kind.STATISTICAL, method)


def sampled_until_sharp(
    setting: Setting, integrand: Integrand, read: Callable[[Any], float], seconds: float, alike: bool = True
) -> Means:
    """``sampled``, with points quadrupled until ``read`` of the means has ``RELATIVE_ERROR``, or the time is up."""
    sample = partial(sampled, setting, integrand, alike=alike)
    return refined(sample, read, RELATIVE_ERROR, seconds, dimensions(setting) * max(setting.size, 1))


def refined(
    sample: Callable[[int], Means], read: Callable[[Any], float], relative: float, seconds: float, width: int = 1
) -> Means:
    """``sample`` of a size that is quadrupled until ``read`` of the means has the error asked for, or the time is up.

    Args:
        relative: relative standard error asked for.
        seconds: processor time.
        width: coordinates of a point; the first sample is smaller where there are many.
    """
    began, size = time.process_time(), 1 << max(0, min(8, (FIRST_COORDINATES // width).bit_length() - 1))
    while True:
        started = time.process_time()
        found = sample(size)
        part, now = found.estimate(read), time.process_time()
        if part.error <= relative * abs(part.value) or now - began + 4 * (now - started) > seconds:
            return found
        size *= 4
