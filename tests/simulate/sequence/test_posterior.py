"""Scores of samples: against plain sums over draws from what was known of the fields, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from symslr.model.sequence.model import SequenceModel
from symslr.simulate.sequence.nodes import nodes
from symslr.simulate.sequence.posterior import Posterior

MODELS = {
    "attention": SequenceModel(["u", "v"], 2, "sum(softmax(u)[l]*v[l], l)", "1/2"),
    "square": SequenceModel(["u"], 1, "u[1]**2", "1/2"),
    "layers": SequenceModel(["u", "v"], 2, "sum(softmax(u[l]*u[m], m)*v[m], m) + v[l]", "1/2", invariant="sign"),
    "spiked": SequenceModel(
        ["k", "v"], 2, "v[eps]", "3/10", hidden={"eps": "1..L"}, weight="exp(k[eps] - 1/2)"
    ),
    "product": SequenceModel(["u", "v"], 1, "u[1]*v[1]", "1/2"),
}  # fmt: skip
LINEAR = {"attention": (1,), "square": (), "layers": (1,), "spiked": (1,), "product": (0,)}


@pytest.mark.parametrize("name", MODELS)
def test_scores_and_their_slopes_are_those_of_plain_draws(name: str) -> None:
    model, rng = MODELS[name], np.random.default_rng(4)
    p, L = len(model.teachers), model.length
    V = np.array([[0.7, 0.1], [0.1, 0.4]])[:p, :p]
    omega, y = 0.5 * rng.standard_normal((1, L, p)), 0.6 * np.ones((1, len(model.outputs)))
    found = Posterior(model).messages(y, omega, V, nodes(2**12, L, len(Posterior(model).drawn), rng))
    z = omega + rng.standard_normal((400_000, L, p)) @ np.linalg.cholesky(V).T
    away = ((y.T[None] - model.labels_at(z)) ** 2).sum(axis=1) / (2 * float(model.noise) ** 2)
    share = (model.weights_at(z) * np.exp(-away)).sum(axis=0)
    share /= share.sum()
    step, inverse = z - omega, np.linalg.inv(V)
    mean = np.einsum("n,nlk->lk", share, step)
    error = np.sqrt(np.einsum("n,nlk->lk", share**2, (step - mean) ** 2))
    assert np.all(np.abs(found.g[0] @ V - mean) < 4.5 * error)
    second = np.einsum("n,nlk,nlj->kj", share, step, step) - mean.T @ mean
    np.testing.assert_allclose(found.divergence, inverse @ second @ inverse - L * inverse, atol=0.03, rtol=0.03)


@pytest.mark.parametrize("name", MODELS)
def test_fields_that_enter_linearly_are_found(name: str) -> None:
    assert Posterior(MODELS[name]).linear == LINEAR[name]


def test_an_output_that_says_nothing_leaves_the_fields_as_they_were() -> None:
    model = SequenceModel(["u", "v"], 1, "u[1]", "1/2")
    found = Posterior(model).messages(
        np.ones((3, 1)), np.zeros((3, 1, 2)), np.eye(2), nodes(64, 1, 0, np.random.default_rng())
    )
    np.testing.assert_allclose(found.g, np.tile([[1 / 1.25, 0.0]], (3, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(found.divergence, np.diag([-3 / 1.25, 0.0]), atol=1e-12)


def test_nodes_that_are_too_coarse_for_a_label_are_refused() -> None:
    model = SequenceModel(["u"], 1, "u[1]**2", "1/1000")
    over = nodes(32, 1, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="take more of them"):
        Posterior(model).messages(np.ones((5, 1)), np.zeros((5, 1, 1)), np.eye(1), over)


@pytest.mark.parametrize(("most", "length"), [(256, 1), (256, 2), (2**10, 3)])
def test_nodes_take_normal_means(most: int, length: int) -> None:
    """E cos(sum of the fields) = e^(-fields/2): ten digits by a product rule, two by draws."""
    own = next(nodes(most, length, 1, np.random.default_rng(0)))
    share = np.exp(own.logs) / np.exp(own.logs).sum()
    is_drawn = bool(np.ptp(own.logs) == 0)
    assert is_drawn == (most ** (1 / length) < 12)
    found = share @ np.cos(own.points.sum(axis=(1, 2)))
    assert found == pytest.approx(np.exp(-length / 2), abs=0.02 if is_drawn else 1e-7)
