"""Training on fresh samples: reproducible, interruptible, and where the theory says it ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sympy import Rational

from symslr.evaluation import evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax
from symslr.simulate import risk_monte_carlo
from symslr.simulate.sequences import LengthSampler
from symslr.simulate.training import Recipe, train
from symslr.theory import minimal_risk

pytestmark = pytest.mark.needs("torch")
VALUES = {"L": 3, "nu": 3, "Delta": 0}
SHORT = Recipe("adam", steps=12, batch=20, rate=0.05, dimension=8, every=4)


@pytest.mark.parametrize("attention", [softmax, None], ids=["softmax", "own kernel"])
def test_an_interrupted_run_continues(tmp_path: Path, attention: Attention | None) -> None:
    whole = train(SpikedSLR(), attention, VALUES, SHORT, 3)
    file = tmp_path / "run.pt"

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done == 8:
            raise Stopped

    with pytest.raises(Stopped):
        train(SpikedSLR(), attention, VALUES, SHORT, 3, checkpoint=file, progress=stop)
    continued = train(SpikedSLR(), attention, VALUES, SHORT, 3, checkpoint=file)
    assert np.array_equal(continued.path, whole.path)
    assert np.array_equal(continued.losses, whole.losses)
    with pytest.raises(ValueError, match="remove the file"):
        train(SpikedSLR(), attention, VALUES, SHORT, 4, checkpoint=file)
    for task, values in ((MaxSLR(), VALUES), (SpikedSLR(), {**VALUES, "nu": 4})):
        with pytest.raises(ValueError, match="remove the file"):
            train(task, attention, values, SHORT, 3, checkpoint=file)
    with pytest.raises(ValueError, match="remove the file"):
        train(SpikedSLR(), linear, VALUES, SHORT, 3, checkpoint=file)


def test_training_lands_on_the_least_risk() -> None:
    recipe = Recipe("adam", steps=500, batch=256, rate=0.04, dimension=16)
    found = train(MaxSLR(), softmax, VALUES, recipe, 1)
    risk = risk_monte_carlo(MaxSLR(), softmax, VALUES, size=40_000, seed=2, overlaps=found.overlaps)
    assert abs(risk.z_score(float(evaluate(minimal_risk(MaxSLR(), softmax), VALUES)))) < 4


def test_vectors_start_where_they_are_told() -> None:
    k, v = np.array([0.3, 0.1, 0.2, 0.0]), np.array([0.1, 0.3, -0.1, 0.2])
    found = train(SpikedSLR(), softmax, VALUES, SHORT, 1, vectors=(k, v))
    assert np.allclose(found.path[0], [0.3, 0.3, 0.1, 0.1, k @ k, v @ v, k @ v], atol=1e-12)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="expected one of sgd, adam"):
        Recipe("lbfgs")
    with pytest.raises(ValueError, match="D >= 2"):
        Recipe(dimension=1)
    with pytest.raises(ValueError, match="expected a lower rate"):
        train(SpikedSLR(), linear, VALUES, Recipe("sgd", steps=60, rate=5.0, dimension=8, batch=20), 1)


def test_a_random_length_is_trained_on_and_lands_on_its_least_risk() -> None:
    """One key and one value for all lengths; the formula is that of a random length."""
    task = SpikedSLR(3, length={1: Rational(1, 4), 3: Rational(1, 2), 5: Rational(1, 4)}, noise=0)
    recipe = Recipe("adam", steps=500, batch=256, rate=0.04, dimension=16)
    found = train(task, softmax, {}, recipe, 1, test=20_000)
    risk = risk_monte_carlo(task, softmax, {}, size=40_000, seed=2, overlaps=found.overlaps)
    assert abs(risk.z_score(float(evaluate(minimal_risk(task, softmax), {})))) < 4
    assert found.test is not None
    assert abs(found.test.mean - risk.mean) < 4 * np.hypot(found.test.standard_error, risk.standard_error)


def test_lengths_are_drawn_as_often_as_they_should_be() -> None:
    task = MaxSLR(2, length={1: Rational(1, 4), 4: Rational(3, 4)}, noise=0)
    sampler = LengthSampler.of(task, {}, 8, np.random.default_rng(1))
    parts = sampler.draw(4000, np.random.default_rng(2))
    assert [part.X.shape[1] for part in parts] == [1, 4]
    assert sum(len(part.X) for part in parts) == 4000
    assert abs(len(parts[0].X) - 1000) < 4 * np.sqrt(4000 * 3 / 16)
    assert all(np.array_equal(part.k_star, sampler.k_star) for part in parts)


def test_the_shift_of_erf_is_trained_unless_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "run.pt"
    free = train(SpikedSLR(), erf, VALUES, SHORT, 3, checkpoint=file)
    held = train(SpikedSLR(), erf, {**VALUES, "c": 0}, SHORT, 3)
    assert set(free.parameters) == {"c"}
    assert free.parameters["c"] != 0
    assert held.parameters == {}
    assert free.losses[0] == held.losses[0]
    again = train(SpikedSLR(), erf, VALUES, SHORT, 3, checkpoint=file)
    assert again.parameters == free.parameters
