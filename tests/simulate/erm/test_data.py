"""Training sets have the law of the definition: against the sampler of projections, by z-scores."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Rational, Sum

from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import L, chi, epsilon, l
from symslr.model.task import Task
from symslr.simulate import sample_projections
from symslr.simulate.erm import sample_training_set

SIZE, DIMENSION, LIMIT = 20_000, 8, 4.5


@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR()], ids=["spiked", "max"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_moments_are_those_of_the_projections(task: Task, dtype: str) -> None:
    values = {"nu": 2, "Delta": 0.3, "L": 3}
    data = sample_training_set(task, values, SIZE, DIMENSION, np.random.default_rng(7), dtype=dtype)
    assert data.X.dtype == dtype
    root = np.sqrt(DIMENSION)
    seen, hidden = data.X @ data.k_star / root, data.X @ data.v_star / root
    fresh = sample_projections(task.law.subs(L, 3), values, SIZE, np.random.default_rng(8))
    label = fresh.label(0.3)

    def moments(keys: np.ndarray, tokens: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.stack([y**2, y * tokens.sum(1), y * (keys * tokens).sum(1), keys.max(1), keys.sum(1) ** 2])

    ours, theirs = moments(seen, hidden, data.y), moments(fresh.chi, fresh.z, label)
    error = np.sqrt((ours.var(axis=1) + theirs.var(axis=1)) / SIZE)
    assert np.all(np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) < LIMIT * error)
    others = data.X - seen[..., None] * data.k_star / root
    assert abs(np.mean(others**2) - (DIMENSION - 1) / DIMENSION) < LIMIT * np.sqrt(2 / others.size)


def test_stars_are_orthogonal_of_norm_root_D() -> None:
    data = sample_training_set(SpikedSLR(), {"nu": 2, "Delta": 0, "L": 2}, 5, 30, np.random.default_rng(7))
    stars = np.stack([data.k_star, data.v_star])
    np.testing.assert_allclose(stars @ stars.T, 30 * np.eye(2), atol=1e-12)
    root = np.sqrt(30)
    assert np.all(np.min(np.abs(data.X @ data.v_star / root - data.y[:, None]), axis=1) < 1e-12)


def test_random_lengths_are_drawn_per_sequence() -> None:
    law = LengthLaw((1, Rational(1, 3)), (4, Rational(2, 3)))
    data = sample_training_set(MaxSLR(length=law), {"nu": 2, "Delta": 0}, 3000, 4, np.random.default_rng(9))
    share = np.mean(np.diff(data.offsets) == 4)
    assert abs(share - 2 / 3) < LIMIT * np.sqrt(2 / 9 / 3000)
    assert len(data.tokens) == data.offsets[-1]


def test_refusals() -> None:
    rng = np.random.default_rng(1)
    square = Task((chi[epsilon] ** 2 + Sum(chi[l] ** 2, (l, 1, L)) / L) / 2, name="square")
    with pytest.raises(ValueError, match="importance weights"):
        sample_training_set(square, {"Delta": 0, "L": 2}, 10, 5, rng)
    with pytest.raises(ValueError, match="dtype: found float16"):
        sample_training_set(SpikedSLR(), {"nu": 1, "Delta": 0, "L": 2}, 10, 5, rng, dtype="float16")
