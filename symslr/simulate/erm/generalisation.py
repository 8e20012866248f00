"""The test risk of a fit on fresh samples, and its mean over several training sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symslr.model.attention import Attention
from symslr.model.task import Task
from symslr.simulate.erm.data import sample_training_set
from symslr.simulate.erm.fit import Fit, lowest_fit
from symslr.simulate.erm.objective import EmpiricalRisk
from symslr.simulate.erm.starts import Start
from symslr.simulate.estimate import Estimate
from symslr.simulate.log_domain import Array
from symslr.simulate.overlaps import Overlaps
from symslr.simulate.risk import risk_monte_carlo
from symslr.simulate.values import Values


def fresh_risk(
    task: Task, attention: Attention, values: Values, overlaps: Overlaps, *, size: int = 1_000_000, seed: int = 0
) -> Estimate:
    """E (y - f(X))^2 over fresh samples, given the weights through their overlaps.

    Fresh tokens meet the weights only through their projections on span(k, v, k*, v*), which are Gaussian given
    (chi*, z*); no token is drawn.

    Raises:
        ValueError: as ``risk_monte_carlo``.
    """
    return risk_monte_carlo(task, attention, values, size=size, seed=seed, overlaps=overlaps)


@dataclass(frozen=True)
class Replicate:
    """One training set: its seed, the fit on it, the fit's order parameters and its test risk."""

    seed: int
    fit: Fit
    overlaps: Overlaps
    risk: Estimate


@dataclass(frozen=True)
class Replicates:
    """ERM on several independent training sets.

    Attributes:
        runs: one per seed.
        size, dimension: N and D.
    """

    runs: tuple[Replicate, ...]
    size: int
    dimension: int

    @property
    def risk(self) -> float:
        """Mean test risk over the training sets."""
        return float(np.mean([run.risk.mean for run in self.runs]))

    @property
    def standard_error(self) -> float:
        """Standard error of that mean: the spread over training sets; of the fresh samples if there is only one."""
        return self._standard_error([run.risk.mean for run in self.runs], self.runs[0].risk.standard_error)

    def order_parameter(self, name: str) -> tuple[float, float]:
        """(mean, standard error over the training sets) of one field of ``Overlaps``."""
        found = [getattr(run.overlaps, name) for run in self.runs]
        return float(np.mean(found)), self._standard_error(found, math.nan)

    @property
    def worst_gradient_norm(self) -> float:
        """The largest gradient norm at which a fit stopped."""
        return max(run.fit.gradient_norm for run in self.runs)

    @property
    def converged(self) -> bool:
        """Whether every fit reached its tolerance."""
        return all(run.fit.converged for run in self.runs)

    @staticmethod
    def _standard_error(values: Sequence[float], alone: float) -> float:
        return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else alone


def erm_replicates(
    task: Task,
    attention: Attention,
    values: Values,
    *,
    alpha: float,
    dimension: int,
    r_k: float,
    r_v: float,
    seeds: Sequence[int],
    starts: Sequence[Start] = ("informed",),
    optimiser: str = "L-BFGS-B",
    dtype: str = "float64",
    tolerance: float | None = None,
    iterations: int = 2000,
    fresh: int = 1_000_000,
) -> Replicates:
    """ERM on N = alpha D samples for each seed, one training set in memory at a time.

    Args:
        task, attention, values: as in ``sample_training_set`` and ``EmpiricalRisk``.
        alpha, dimension: N = round(alpha D) samples in dimension D.
        r_k, r_v: ridges.
        seeds: one training set each; a seed fixes the data, its random starts and the fresh samples.
        starts: where the optimiser begins; with several, the fit of least loss is kept, see ``lowest_fit``.
        optimiser, tolerance, iterations: as in ``fit_attention``.
        dtype: float64 or float32, of X.
        fresh: number of fresh samples of each test risk.

    Raises:
        ValueError: for alpha D < 1, no seed, no start, and as the functions it calls.
    """
    size = round(alpha * dimension)
    if size < 1:
        raise ValueError(f"alpha: found {alpha:g} at D = {dimension}; expected alpha D >= 1")
    if not seeds:
        raise ValueError("seeds: found none; expected at least one")
    if not starts:
        raise ValueError("starts: found none; expected at least one")
    runs = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        data = sample_training_set(task, values, size, dimension, rng, dtype=dtype)
        objective = EmpiricalRisk(data, attention, r_k, r_v, values)
        draw, *own = (int(one.generate_state(1)[0]) for one in np.random.SeedSequence(seed).spawn(1 + len(starts)))
        fit = lowest_fit(
            objective, starts=starts, seeds=own, optimiser=optimiser, tolerance=tolerance, iterations=iterations
        )
        overlaps = fit.overlaps(*_stars(data.k_star, data.v_star))
        runs.append(
            Replicate(seed, fit, overlaps, fresh_risk(task, attention, values, overlaps, size=fresh, seed=draw))
        )
    return Replicates(tuple(runs), size, dimension)


def _stars(k_star: Array | None, v_star: Array | None) -> tuple[Array, Array]:
    if k_star is None or v_star is None:
        raise ValueError("training set: k* and v* are not known; expected a sampled one")
    return k_star, v_star
