"""Bayes-optimal overlaps: closed forms, the task of single-location regression, and published data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from symslr.evaluation import finite_sample
from symslr.evaluation.sequence.bayes_optimal import bayes_optimal
from symslr.evaluation.sequence.channel import Channel
from symslr.face.sequence import SequenceModel
from symslr.model.catalogue import SpikedSLR


def test_a_linear_label_has_a_closed_form() -> None:
    # Qhat = alpha/(1 - Q + Delta^2), risk 1 - Q + Delta^2
    q = brentq(lambda q: q * (1 - q + 0.25) - 2 * (1 - q), 0, 1)
    found = bayes_optimal(SequenceModel(["u"], 1, "u[1]", "1/2"), 2)
    assert found.risk is not None
    assert abs(float(found.overlaps["u"]) - q) < 4.5 * float(found.overlaps["u"].error)
    assert abs(float(found.risk) - (1.25 - q)) < 4.5 * float(found.risk.error)
    assert not found.hard


def test_several_tokens_of_a_linear_label_are_as_one() -> None:
    one = bayes_optimal(SequenceModel(["u"], 1, "u[1]", "1/2"), 2).overlaps["u"]
    mean = bayes_optimal(SequenceModel(["u"], 3, "(u[1] + u[2] + u[3])/sqrt(3)", "1/2"), 2).overlaps["u"]
    assert abs(float(one) - float(mean)) < 4.5 * np.hypot(float(one.error), float(mean.error))


def test_single_location_regression_is_an_instance() -> None:
    words = {"hidden": {"eps": "1..L"}, "weight": "exp(sqrt(nu)*k[eps] - nu/2)", "values": {"nu": 2}}
    model = SequenceModel(["k", "v"], 3, "v[eps]", "1/2", **words)
    found = bayes_optimal(model, 2)
    known = finite_sample.bayes_optimal(SpikedSLR(), {"L": 3, "nu": 2, "Delta": "1/2"}, alpha=2)
    assert found.risk is not None
    assert known.risk is not None
    assert found.risk.value == known.risk.value
    assert found.overlaps == known.overlaps


@pytest.mark.parametrize(
    ("weight", "task", "parameters"),
    [
        ("exp(sqrt(2)*k[eps] - 1)", "spiked", (0.71010, 0.85578, 0.87798)),
        ("L*exp(2*k[eps])/sum(exp(2*k[l]), l)", "max", (0.84181, 0.54036, 0.84860)),
    ],
)
def test_single_location_by_an_evaluation_of_its_own(weight, task, parameters) -> None:
    """Risk and overlaps at alpha = 4 by an earlier evaluator with 2^15 samples, whose errors were below 1.2e-4."""
    model = SequenceModel(["k", "v"], 3, "v[eps]", "1/2", hidden={"eps": "1..L"}, weight=weight, name=task)
    found = bayes_optimal(model, 4)
    for value, known in zip((found.risk, found.overlaps["k"], found.overlaps["v"]), parameters):
        assert value is not None
        assert abs(float(value) - known) < 4.5 * np.hypot(float(value.error), 2e-4)


def test_a_weight_that_selects_is_summed_as_over_nodes() -> None:
    """The mean of softmax(2 k) given what is known, once by one integral and once over three fields."""
    words = {"hidden": {"eps": "1..L"}, "weight": "L*exp(2*k[eps])/sum(exp(2*k[l]), l)"}
    model = SequenceModel(["k", "v"], 3, "v[eps]", "1/2", **words)
    random, Q = np.random.default_rng(4), np.diag([0.3, 0.6])
    omega, y = random.standard_normal((6, 16)), random.standard_normal((1, 16))
    by_nodes = Channel(model).seen(y, omega, np.eye(2) - Q, refined=1)
    exact = Channel(model, selects=True)
    assert exact.split.selection is not None
    found = exact.seen(y, omega, np.eye(2) - Q, chosen=exact.selected(omega, np.eye(2) - Q))
    assert found.log_z - found.log_z[0] == pytest.approx(by_nodes.log_z - by_nodes.log_z[0], abs=1e-3)
    assert found.force == pytest.approx(by_nodes.force, abs=5e-3)


def test_phase_retrieval_rises_from_its_threshold() -> None:
    model = SequenceModel(["u"], 1, "u[1]**2")
    below, above = (bayes_optimal(model, alpha).overlaps["u"] for alpha in (0.45, 0.6))
    assert 0 <= float(below) < 4.5 * float(below.error) < 1e-3  # it is 0, which steps only approach
    assert 0.045 < float(above) < 0.06


def test_two_attention_layers_agree_with_an_independent_evaluation() -> None:
    label = "sum(softmax(u[l]*u[m], m)*v[m], m) + c*v[l]"
    model = SequenceModel(["u", "v"], 2, label, values={"c": 1}, invariant="sign")
    found = bayes_optimal(model, 0.3037, samples=512)
    error = np.hypot(float(found.overlaps["v"].error), 6e-4)
    assert abs(float(found.overlaps["v"]) - 0.2182) < 4.5 * error
    assert float(found.overlaps["v"].error) < 8e-3
    assert abs(float(found.overlaps["u"])) < 1e-4
    assert found.risk is None  # of a label that is known up to its sign


def test_overlaps_are_those_of_the_truth_by_sampling() -> None:
    # at the fixed point E g g^T = Qhat/alpha: g by the posterior mean over many fields, with no part of the channel
    model = SequenceModel(["u", "v"], 1, "u[1]*v[1] + v[1]", "1/2")
    found = bayes_optimal(model, 1.5)
    Q = found.matrix
    random = np.random.default_rng(3)
    root, rest = (np.linalg.cholesky(own) for own in (Q + 1e-9 * np.eye(2), np.eye(2) - Q))
    squares = []
    for _ in range(600):
        omega = root @ random.standard_normal(2)
        z = (omega + random.standard_normal((20000, 2)) @ rest.T)[:, None, :]
        label = model.labels_at(z)[0, 0]
        y = label[0] + 0.5 * random.standard_normal()
        like = np.exp(-((y - label[1:]) ** 2) / 0.5)
        g = np.linalg.solve(np.eye(2) - Q, like @ z[1:, 0] / like.sum() - omega)
        squares.append(np.outer(g, g))
    wanted = np.linalg.solve(np.eye(2) - Q, Q) / 1.5
    error = np.std(squares, axis=0) / len(squares) ** 0.5
    assert np.all(np.abs(np.mean(squares, axis=0) - wanted) < 4.5 * error + 0.01 * wanted.max())


def test_a_curve_has_one_value_for_each_alpha_and_quantity() -> None:
    curve = SequenceModel(["u"], 1, "u[1]", "1/2").bayes_optimal([0.5, 1.0, 2.0])
    assert curve.shape == (3, 2)
    assert np.all(np.diff(curve.values[:, 0]) > 0)
    assert "quantity" in curve.to_csv().splitlines()[0]


@pytest.mark.parametrize("alpha", [0, -1, float("inf")])
def test_alpha_is_positive(alpha) -> None:
    with pytest.raises(ValueError, match="alpha: found"):
        bayes_optimal(SequenceModel(["u"], 1, "u[1]", 1), alpha)
