"""One-pass SGD: closed forms of a linear student, the risk of an attention by its definition, and what gamma = 0 conserves."""

from __future__ import annotations

import numpy as np
import pytest

from symslr.evaluation.sequence.dynamics import dynamics, population_risk
from symslr.model.sequence.model import SequenceModel

LINEAR = SequenceModel(["u"], 1, "u[1]", "1/2", student={"fields": ["w"], "predictor": "w[1]"})
ATTENTION = {"fields": ["k", "v"], "predictor": "sum(softmax(k)[l]*v[l], l)"}
TILTED = {"hidden": {"eps": "1..L"}, "weight": "exp(sqrt(nu)*k[eps] - nu/2)", "values": {"nu": 2}}


def test_a_linear_student_has_a_closed_form() -> None:
    # dM/dt = 1 - M, and dQ/dt = -2 (Q - M) + gamma (Q - 2 M + 1 + Delta^2)
    gamma, times = 0.3, [0, 1.0, 3.0]
    found = dynamics(LINEAR, times, gamma=gamma, M=[[0]], Q=[[1]])
    M = 1 - np.exp(-np.array(times))
    assert np.all(np.abs(found.M[:, 0, 0] - M) <= 4.5 * found.M_error[:, 0, 0] + 1e-5)
    fine = np.linspace(0, 3, 30001)
    q, path = 1.0, [1.0]
    for t in fine[:-1]:
        m = 1 - np.exp(-t)
        q += (fine[1] - fine[0]) * (-2 * (q - m) + gamma * (q - 2 * m + 1.25))
        path.append(q)
    expected = np.interp(times, fine, path)
    assert np.all(np.abs(found.Q[:, 0, 0] - expected) <= 4.5 * found.Q_error[:, 0, 0] + 1e-3)
    assert float(found.risk[-1]) == pytest.approx((expected[-1] - 2 * M[-1] + 1.25) / 2, abs=0.02)


def test_the_risk_of_an_attention_is_that_of_sampled_sequences() -> None:
    model = SequenceModel(["k", "v"], 3, "v[eps]", "1/2", **TILTED, student=ATTENTION)
    M, Q = np.array([[0.8, 0.1], [-0.2, 0.6]]), np.array([[1.0, 0.1], [0.1, 0.9]])
    random = np.random.default_rng(4)
    z = random.standard_normal((400_000, 3, 2))
    z[:, 0, 0] += np.sqrt(2)  # the relevant token is the first
    s = z @ M.T + random.standard_normal(z.shape) @ np.linalg.cholesky(Q - M @ M.T).T
    weights = np.exp(s[:, :, 0])
    predicted = (weights * s[:, :, 1]).sum(axis=1) / weights.sum(axis=1)
    losses = (z[:, 0, 1] + 0.5 * random.standard_normal(len(z)) - predicted) ** 2 / 2
    found = population_risk(model, M, Q)
    error = np.hypot(float(found.error), losses.std() / len(z) ** 0.5)
    assert abs(float(found) - losses.mean()) < 4.5 * error


def test_gradient_flow_never_raises_the_loss() -> None:
    model = SequenceModel(["k", "v"], 2, "v[eps]", "1/2", **TILTED, student=ATTENTION)
    found = dynamics(model, np.linspace(0, 20, 9), count=1024)
    assert np.all(np.diff([float(own) for own in found.risk]) < 0)
    # each key direction is a mirror image of the other sign: the start decides
    assert found.M[-1, 0, 0] > 0.3


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"times": [1, 0]}, "do not rise"),
        ({"times": [0, 1], "gamma": -1}, "found -1"),
        ({"times": [0], "Q": [[0]], "M": [[1]]}, "M, Q"),
    ],
)
def test_what_is_no_start_or_time_is_refused(how, told) -> None:
    with pytest.raises(ValueError, match=told):
        dynamics(LINEAR, **how)


def test_a_model_without_a_student_has_no_dynamics() -> None:
    with pytest.raises(ValueError, match=r"found no \[student\]"):
        dynamics(SequenceModel(["u"], 1, "u[1]"), [0, 1])
