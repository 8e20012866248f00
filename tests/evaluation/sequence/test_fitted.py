"""Fits: ridge regression in closed form, and the attention of single-location regression by its own room."""

from __future__ import annotations

import numpy as np
import pytest

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample import finite_sample
from symslr.evaluation.sequence.fitted import fitted
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.sequence.model import SequenceModel

TILTED = {"hidden": {"eps": "1..L"}, "weight": "exp(sqrt(nu)*k[eps] - nu/2)", "values": {"nu": 2}}
ATTENTION = {"fields": ["k", "v"], "predictor": "sum(softmax(k)[l]*v[l], l)"}


def test_ridge_regression_has_a_closed_form() -> None:
    # V (lambda + alpha/(1 + V)) = 1, m = alpha V/(1 + V), S = alpha V^2 (1 + Delta^2 - 2 m + q)/(1 + V)^2
    found = fitted(SequenceModel(["u"], 1, "u[1]", "1/2", student={"fields": ["w"], "predictor": "w[1]"}), 2, 1.0)
    V = 2**0.5 - 1
    m, a = 2 * V / (1 + V), 2 * V**2 / (1 + V) ** 2
    q = (m**2 + a * (1.25 - 2 * m)) / (1 - a)
    for value, error, known in (
        (found.V, found.V_error, V),
        (found.M, found.M_error, m),
        (found.Q, found.Q_error, q),
        (float(found.risk), float(found.risk.error), (1.25 - 2 * m + q) / 2),
        (float(found.energy), float(found.energy.error), (1.25 - 2 * m + q) / (1 + V) ** 2 + q / 2),
    ):
        assert abs(np.squeeze(value) - known) < 4.5 * np.squeeze(error) + 1e-5
    assert found.stable


def test_an_attention_is_that_of_single_location_regression() -> None:
    found = fitted(
        SequenceModel(["k", "v"], 3, "v[eps]", "1/2", **TILTED, student=ATTENTION), 4, (1.0, 10.0), count=1024
    )
    known = finite_sample(SpikedSLR(), softmax, {"L": 3, "nu": 2, "Delta": "1/2"}, alpha=4, ridge=(1.0, 10.0))
    own = {
        "m_k": (found.M[0, 0], found.M_error[0, 0]),
        "m_v": (found.M[1, 1], found.M_error[1, 1]),
        "q_k": (found.Q[0, 0], found.Q_error[0, 0]),
        "q_v": (found.Q[1, 1], found.Q_error[1, 1]),
        "V_k": (found.V[0, 0], found.V_error[0, 0]),
        "V_v": (found.V[1, 1], found.V_error[1, 1]),
    }
    for name, (value, error) in own.items():
        other = known.order_parameters[name]
        assert abs(value - float(other)) < 4.5 * np.hypot(error, float(other.error)), name
    for one, other, factor in ((found.risk, known.risk, 2), (found.training_loss, known.training_loss, 1)):
        assert abs(factor * float(one) - float(other)) < 4.5 * np.hypot(factor * float(one.error), float(other.error))
    assert found.stable
    assert known.stable
    assert found.replicon == pytest.approx(known.replicon, rel=0.1)


@pytest.mark.parametrize(
    ("words", "how", "told"),
    [
        ({}, (1, -1.0), "ridge: found"),
        ({}, (1, [1.0, 1.0]), "or one for each of 1"),
        ({}, (0, 1.0), "alpha: found 0"),
        ({"student": None}, (1, 1.0), r"found no \[student\]"),
    ],
)
def test_what_is_no_fit_is_refused(words, how, told) -> None:
    given = {"student": {"fields": ["w"], "predictor": "w[1]"}, **words}
    with pytest.raises(ValueError, match=told):
        fitted(SequenceModel(["u"], 1, "u[1]", **given), *how)


def test_too_many_fields_are_refused_with_their_number() -> None:
    student = {"fields": ["k", "v"], "predictor": "sum(softmax(k)[l]*v[l], l)"}
    with pytest.raises(CannotEvaluate, match="found 12 students' fields; expected at most 10"):
        fitted(SequenceModel(["u"], 6, "u[1]", student=student), 1, 1.0)
