"""A law of location in float64: prior, signal and covariances as arrays, from which every method starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from sympy import Expr, expand_log, log

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.subsets.counts import inclusion_probabilities
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.location.covariance import AutoRegressive, Covariance, Equicorrelated
from symslr.model.location.where import Independent, OnePosition, Subset, Where
from symslr.model.symbols import L, l
from symslr.model.task import Task

LONGEST_PRIOR = 10**7
"""Most positions for which log pi_l is stored as an array: 80 MB."""

LONGEST = 10**9
"""Most positions where all are alike: meshes leave out tokens of probability 1e-18, so 1e-9 for that many."""


@dataclass(frozen=True)
class Setting:
    """The numbers of a task whose every symbol has its value.

    Attributes:
        task: the task they are of.
        length: L.
        size: the number s of relevant positions; 0 where each position is relevant by itself.
        strength, noise: nu and Delta.
        values: the values of theta, shape (support, p).
        shares: their probabilities, shape (support,).
    """

    task: Task
    length: int
    size: int
    strength: float
    noise: float
    values: Any
    shares: Any

    @classmethod
    def of(cls, task: Task) -> Setting:
        """The setting of a task at a fixed length, whose symbols all have their values.

        Raises:
            CannotEvaluate: for more than ``LONGEST`` positions.
        """
        if task.length > LONGEST:
            raise CannotEvaluate(
                f"length: found {task.length} positions; expected at most {LONGEST} where the law of location has no formula, "
                "as a mesh leaves out tokens of the probability 1e-18"
            )
        values = np.array([[float(entry) for entry in value] for value, _ in task.signal])
        shares = np.array([float(share) for _, share in task.signal])
        return cls(task, int(task.length), relevant(task.location), float(task.nu), float(task.noise), values, shares)

    @property
    def directions(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def log_prior(self) -> Any:
        """log pi_l, normalised, (L,)."""
        if self.length > LONGEST_PRIOR:
            raise CannotEvaluate(f"found {self.length} positions; a prior is written out up to {LONGEST_PRIOR}")
        prior = self.task.prior
        if isinstance(prior, tuple):
            raw = np.log(np.array([float(weight) for weight in prior]))
        elif prior is None:
            raw = np.zeros(self.length)
        else:
            raw = at_all_positions(expand_log(log(prior), force=True), self.length)
        if not np.all(np.isfinite(raw)):
            place = int(np.flatnonzero(~np.isfinite(raw))[0]) + 1
            raise CannotEvaluate(f"prior: not a positive number at l={place}; expected one at every position")
        return raw - scipy.special.logsumexp(raw)

    @cached_property
    def norms(self) -> Any:
        """|theta|^2 of every value of the signal."""
        return np.sum(self.values**2, axis=1)

    @cached_property
    def coin_probabilities(self) -> Any:
        """P(l is relevant), (L,), where each position is relevant by itself, as by the toss of a coin.

        Raises:
            ValueError: for a probability outside (0, 1).
        """
        assert isinstance(self.task.location, Independent)
        found = at_all_positions(self.task.location.probability, self.length)
        bad = np.flatnonzero(~((found > 0) & (found < 1)))
        if len(bad):
            raise ValueError(
                f"location: found the probability {found[bad[0]]:g} at l={bad[0] + 1}; expected one in (0, 1)"
            )
        return found

    @cached_property
    def log_odds(self) -> Any:
        """log P(r_l != 0)/P(r_l = 0) before anything is seen, (L,), or (1,) where all positions are alike."""
        if isinstance(self.task.location, Independent):
            coins = self.coin_probabilities[: 1 if self.is_uniform else self.length]
            return np.log(coins) - np.log1p(-coins)
        with np.errstate(divide="ignore"):
            if self.is_uniform:
                return np.log([self.size]) - np.log([self.length - self.size])
            inside, outside, _ = inclusion_probabilities(self.log_prior[None], self.size)
            return np.log(inside[0]) - np.log(outside[0])

    @cached_property
    def expected(self) -> float:
        """The expected number of relevant positions."""
        return float(self.size or np.sum(self.coin_probabilities))

    @property
    def is_uniform(self) -> bool:
        """Whether the law of the relevant positions treats all positions alike."""
        return not self.task.depends_on_position

    @property
    def are_keys_independent(self) -> bool:
        return self.task.key_covariance is None

    @property
    def are_values_independent(self) -> bool:
        return self.task.value_covariance is None

    @property
    def is_exchangeable(self) -> bool:
        """Whether the law is invariant under permutations of positions: uniform prior, one correlation for all pairs."""
        covariances = (self.task.key_covariance, self.task.value_covariance)
        alike = all(c is None or isinstance(c.structure, Equicorrelated) for c in covariances)
        return alike and self.is_uniform

    @cached_property
    def key_matrix(self) -> Any:
        """C, (L, L)."""
        return covariance_matrix(self.task.key_covariance, self.length)

    @cached_property
    def value_matrix(self) -> Any:
        """C_v, (L, L)."""
        return covariance_matrix(self.task.value_covariance, self.length)

    @property
    def value_variances(self) -> Any:
        """The diagonal of C_v, (L,)."""
        return np.ones(self.length) if self.are_values_independent else np.diag(self.value_matrix)

    @cached_property
    def precision(self) -> Any:
        """C^-1, (L, L)."""
        return np.linalg.inv(self.key_matrix)

    @cached_property
    def precision_diagonal(self) -> Any:
        """(C^-1)_ll, (L,), or (1,) for independent keys."""
        if self.are_keys_independent:
            return np.ones(1)
        chain, common = chain_parameters(self.task.key_covariance), shared_and_own_variance(self.task.key_covariance)
        if common is not None:
            shared, own = (float(part) for part in common)
            return np.full(self.length, (1 - shared / (own + self.length * shared)) / own)
        if chain is None:
            return np.diag(self.precision).copy()
        found = np.full(self.length, (1 + chain[1] ** 2) / (chain[0] * (1 - chain[1] ** 2)))
        found[[0, -1]] = 1 / (chain[0] * (1 - chain[1] ** 2 * (self.length > 1)))
        return found

    def filtered(self, keys: Any) -> Any:
        """C^-1 chi, (n, L, p)."""
        return keys if self.are_keys_independent else matrix_times_keys(self.precision, keys)

    def log_weights(self, keys: Any) -> Any:
        """log w_l = log E_theta exp(sqrt(nu) theta.(C^-1 chi)_l - nu |theta|^2 (C^-1)_ll / 2), (n, L)."""
        return self.token_log_weight(self.filtered(keys), self.precision_diagonal[:, None])

    def token_log_weight(self, keys: Any, precision: Any = 1.0) -> Any:
        """log w of single tokens, shape (...), from their filtered keys (..., p); ``precision`` is (C^-1)_ll."""
        logs = np.sqrt(self.strength) * keys @ self.values.T - self.strength / 2 * precision * self.norms
        if len(self.shares) == 1:
            return logs[..., 0]
        top = logs.max(axis=-1)
        return top + np.log(np.exp(logs - top[..., None]) @ self.shares)

    def with_independent_keys(self, variance: Expr) -> Setting:
        """The setting with independent keys of this variance, measured in units of their standard deviation."""
        return Setting.of(replace(self.task, key_covariance=None, nu=self.task.nu / variance))


def matrix_times_keys(matrix: Any, keys: Any) -> Any:
    """The matrix (L, L) times keys (n, L, p). One matrix product: einsum would loop over the entries."""
    return np.tensordot(keys, matrix, axes=(1, 1)).transpose(0, 2, 1)


def relevant(where: Where) -> int:
    """How many positions are relevant; 0 where that is random."""
    return int(where.size) if isinstance(where, Subset) else int(isinstance(where, OnePosition))


def at_all_positions(expr: Expr, length: int) -> Any:
    """An expression in ``l`` and ``L`` at the positions l = 1, ..., L, shape (L,); nan where it is not real."""
    with np.errstate(all="ignore"):
        (found,) = compile_float((l,), (expr.subs(L, length),))(np.arange(1, length + 1, dtype=float))
    return np.broadcast_to(np.asarray(found, dtype=float), (length,)).copy()


def covariance_matrix(covariance: Covariance | None, length: int) -> Any:
    """A covariance over positions as a matrix (L, L), without use of its structure: tests compare structured methods with it."""
    return np.eye(length) if covariance is None else covariance.numbers(length)


def chain_parameters(covariance: Covariance | None) -> tuple[float, float] | None:
    """(v, rho) where C_ij = v rho^|i - j|, a stationary chain (rho = 0: independent); None for other covariances."""
    if covariance is None:
        return 1.0, 0.0
    found = covariance.structure
    if isinstance(found, AutoRegressive):
        return float(found.variance), float(found.correlation)
    if isinstance(found, Equicorrelated) and found.correlation == 0:
        return float(found.variance), 0.0
    return None


def shared_and_own_variance(covariance: Covariance | None) -> tuple[Expr, Expr] | None:
    """(variance of the common part, variance of the rest) where all pairs have one positive correlation; None elsewhere."""
    found = None if covariance is None else covariance.structure
    if not isinstance(found, Equicorrelated) or found.correlation <= 0:
        return None
    return found.variance * found.correlation, found.own_variance
