"""E g(l, chi) over Gaussian beliefs: against Monte Carlo over the keys, and its slopes against differences."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Expr, Rational, exp, oo

from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import laplace, normal
from symslr.model.symbols import L, chi, epsilon, x
from symslr.model.task import Task
from symslr.simulate.position_levels import position_levels
from symslr.simulate.posterior_force import posterior_force
from symslr.simulate.weight import log_weight

LENGTH, NOISE = 3, 0.5
VARIANCES = np.array([0.4, 0.3])
OFFSETS = np.arange(3) * LENGTH
OMEGA = np.array([[0.3, -1.1, 1.4, 0.2, 0.5, 0.1], [0.2, -0.4, 1.0, -0.7, 0.6, 0.1]])
LABELS = np.array([0.9, -0.2])


def selection(kernel: Expr) -> Task:
    """Any kernel that selects a token."""
    from symslr.model.sequence_law import SequenceLaw

    total = SequenceLaw(Rational(1), L).token_sum(kernel)
    return Task(L * kernel.subs(x, chi[epsilon]) / total, length=LENGTH, noise=0)


TASKS = [
    SpikedSLR(2, length=LENGTH, noise=0),
    Task.from_token_laws(normal(0, 4), length=LENGTH, noise=0),
    MaxSLR(2, length=LENGTH, noise=0),
    MaxSLR(15, length=LENGTH, noise=0),
    MaxSLR(oo, length=LENGTH, noise=0),
    selection(1 + x**2),
    selection(exp(-(x**2))),
]
NAMES = ["spiked", "variance spike", "max", "steep max", "largest", "square", "nearest to zero"]


def log_z(task: Task, omega: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> float:
    """Sum over sequences of log Z, up to a constant, from levels at these very fields."""
    levels = position_levels(task.law, {})
    starts, counts = offsets[:-1], np.diff(offsets)
    alpha, beta = levels.tables(omega[0], float(np.sqrt(VARIANCES[0])), (-4.0, 6.0))
    width = VARIANCES[1] + NOISE**2
    score = np.repeat(np.add.reduceat(alpha.log, starts, axis=1), counts, axis=1) - alpha.log + beta.log
    score = score - (np.repeat(labels, counts) - omega[1]) ** 2 / (2 * width)
    return float(np.log(np.add.reduceat(np.exp(score).sum(axis=0), starts)).sum())


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_the_mean_weight_of_every_position_by_monte_carlo(task: Task) -> None:
    fields = OMEGA[0, :LENGTH]
    alpha, beta = position_levels(task.law, {}).tokens(fields, VARIANCES[0], fields.max())
    found = np.exp(alpha.log.sum(axis=1, keepdims=True) - alpha.log + beta.log).sum(axis=0)
    keys = fields + np.sqrt(VARIANCES[0]) * np.random.default_rng(1).normal(size=(400_000, LENGTH))
    weights = np.exp(log_weight(task.law.subs(L, LENGTH), {})(keys))
    scale = LENGTH if task.law.is_selection else 1
    error = weights.std(axis=0) / scale / np.sqrt(len(keys))
    assert np.all(np.abs(found - weights.mean(axis=0) / scale) < 4.5 * error + 1e-6)
    if task.law.is_selection:
        assert found.sum() == pytest.approx(1, abs=1e-4)  # interpolation between fields: 5.4e-5


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_forces_are_slopes_of_log_z(task: Task) -> None:
    step = 2e-2

    def moved(row: int, token: int, by: float) -> np.ndarray:
        omega = OMEGA.copy()
        omega[row, token] += by
        return omega

    found = posterior_force(position_levels(task.law, {}), OMEGA, VARIANCES, LABELS, OFFSETS, NOISE)
    middle, bends = log_z(task, OMEGA, LABELS, OFFSETS), np.zeros(2)
    for row in range(2):
        for token in range(OMEGA.shape[1]):
            up, down = (log_z(task, moved(row, token, sign * step), LABELS, OFFSETS) for sign in (1, -1))
            assert found.messages[row, token] == pytest.approx((up - down) / (2 * step), abs=2e-3, rel=2e-3)
            bends[row] += (up + down - 2 * middle) / step**2
    np.testing.assert_allclose(found.divergence, bends, atol=0.05, rtol=0.02)


def test_heavy_tails_of_the_other_tokens_enter_both_factors() -> None:
    """Under Laplace tokens E g is taken with density p0 over phi: the sequences' own law, not the Gaussian one's."""
    task = Task.from_token_laws(laplace(1), laplace(), length=LENGTH, noise=0)
    alpha, beta = position_levels(task.law, {}).tokens(OMEGA[0], VARIANCES[0], -1.0)
    keys = np.sqrt(VARIANCES[0]) * np.random.default_rng(2).normal(size=(400_000, 1)) + OMEGA[0]
    for table, centre in ((alpha, 0), (beta, 1)):
        ratio = np.exp(-np.abs(keys - centre) + keys**2 / 2) / 2 * np.sqrt(2 * np.pi)
        error = ratio.std(axis=0) / np.sqrt(len(keys))
        assert np.all(np.abs(np.exp(table.log[0]) - ratio.mean(axis=0)) < 4.5 * error + 1e-3)


def test_sequences_of_different_lengths_are_independent() -> None:
    task = MaxSLR(2, length=LengthLaw((2, Rational(1, 2)), (4, Rational(1, 2))), noise=0)
    levels, offsets = position_levels(task.law, {}), np.array([0, 2, 6])
    whole = posterior_force(levels, OMEGA, VARIANCES, LABELS, offsets, NOISE)
    parts = [
        posterior_force(levels, OMEGA[:, a:b], VARIANCES, LABELS[i : i + 1], np.array([0, b - a]), NOISE)
        for i, (a, b) in enumerate(((0, 2), (2, 6)))
    ]
    np.testing.assert_allclose(whole.messages, np.hstack([part.messages for part in parts]), atol=2e-3)


def test_what_has_no_levels_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="expected a number for nu"):
        position_levels(SpikedSLR().law, {})
    with pytest.raises(ValueError, match="nu: found oo; expected a finite number"):
        position_levels(SpikedSLR().law, {"nu": oo})
    levels = position_levels(MaxSLR(10**4, length=2, noise=0).law, {})
    with pytest.raises(ValueError, match="nodes a token"):
        levels.tokens(OMEGA[0], 0.5, 0.0)
