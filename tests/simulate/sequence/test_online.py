"""One-pass descent of a linear student of a linear teacher: its equations are linear, and solved by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from symslr.model.sequence.model import SequenceModel
from symslr.simulate.sequence.online import run_online

LINEAR = SequenceModel(["u"], 1, "u[1]", "1/2", student={"fields": ["w"], "predictor": "w[1]", "loss": "square"})
START = np.array([[0.1]]), np.array([[0.5]])


def test_a_linear_student_follows_its_equations() -> None:
    """dM/dt = 1 - M - r M, and dQ/dt = 2(M - Q) - 2 r Q + gamma (1 + Delta^2 - 2M + Q), at r = 0: M = 1 - .9 e^-t.

    With c = 2 - gamma, R = 1 - 2M + Q has dR/dt = -c R + gamma Delta^2.
    """
    gamma, times, seeds = 0.5, (1.0, 2.0), 8
    runs = [run_online(LINEAR, START, times, 200, np.random.default_rng(s), gamma=gamma) for s in range(seeds)]
    found = np.array([[run.M[:, 0, 0], 1 - 2 * run.M[:, 0, 0] + run.Q[:, 0, 0]] for run in runs])
    c = 2 - gamma
    expected = np.array(
        [[1 - 0.9 * math.exp(-t), 1.3 * math.exp(-c * t) + gamma / 4 / c * (1 - math.exp(-c * t))] for t in times]
    ).T
    error = found.std(axis=0, ddof=1) / np.sqrt(seeds)
    assert np.all(np.abs(found.mean(axis=0) - expected) < 4.5 * error)
    assert np.max(error) < 0.03


def test_a_ridge_pulls_to_zero() -> None:
    run = run_online(LINEAR, START, (6.0,), 100, np.random.default_rng(0), gamma=0.1, ridge=4.0)
    assert abs(run.M[0, 0, 0] - 1 / 5) < 0.08


def test_the_start_has_the_overlaps_that_were_asked_for() -> None:
    M, Q = np.array([[0.3], [0.1]]), np.array([[0.6, 0.2], [0.2, 0.5]])
    model = SequenceModel(
        ["u"], 2, "u[1]*u[2]", student={"fields": ["a", "b"], "predictor": "a[1]*b[2]", "loss": "square"}
    )
    run = run_online(model, (M, Q), (0.0,), 50, np.random.default_rng(0))
    np.testing.assert_allclose(run.M[0], M, atol=1e-12)
    np.testing.assert_allclose(run.Q[0], Q, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "start", "gamma", "message"),
    [
        (SequenceModel(["u"], 1, "u[1]"), START, 1.0, "student: found none"),
        (LINEAR, START, 0.0, "gamma: found 0"),
        (LINEAR, (np.array([[1.0]]), np.array([[0.5]])), 1.0, "start: found"),
    ],
)
def test_what_cannot_run_is_refused(model: SequenceModel, start: tuple, gamma: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_online(model, start, (1.0,), 20, np.random.default_rng(0), gamma=gamma)
