"""Samples of sequence models: their fields, hidden variables and labels have the law that the model says."""

from __future__ import annotations

import numpy as np
import pytest

from symslr.model.sequence.model import SequenceModel
from symslr.simulate.sequence.samples import sample_sequence_model

SPIKED = SequenceModel(
    ["k", "v"], 3, "v[eps]", "3/10", hidden={"eps": "1..L"}, weight="exp(sqrt(nu)*k[eps] - nu/2)", values={"nu": 2}
)


def test_without_a_weight_the_fields_are_those_of_the_tokens() -> None:
    model = SequenceModel(["u", "v"], 2, "u[1]*v[2]", "1/2")
    data = sample_sequence_model(model, 300, 40, np.random.default_rng(0))
    np.testing.assert_allclose(data.z, data.X @ data.teachers / np.sqrt(40))
    np.testing.assert_allclose(data.teachers.T @ data.teachers, 40 * np.eye(2), atol=1e-9)
    noise = data.y[:, 0] - data.z[:, 0, 0] * data.z[:, 1, 1]
    assert abs(noise.std() - 0.5) < 4.5 * 0.5 / np.sqrt(600)
    assert data.y.shape == (300, 1)


def test_under_a_weight_the_relevant_token_is_shifted_and_the_others_are_not() -> None:
    """Spiked-SLR: the key of the hidden position is N(sqrt(nu), 1); all else is standard normal."""
    data = sample_sequence_model(SPIKED, 6000, 20, np.random.default_rng(1))
    np.testing.assert_allclose(data.z, data.X @ data.teachers / np.sqrt(20), atol=1e-9)
    every = np.arange(len(data.z))
    own = data.z[every, data.hidden, 0]
    others = (data.z[:, :, 0].sum(axis=1) - own) / np.sqrt(2)
    for numbers, mean in ((own, np.sqrt(2)), (others, 0.0), (data.z[every, data.hidden, 1], 0.0)):
        assert abs(numbers.mean() - mean) < 4.5 / np.sqrt(len(numbers))
        assert abs(numbers.var() - 1) < 4.5 * np.sqrt(2 / len(numbers))
    assert abs(np.mean(data.hidden) - 1) < 4.5 * np.sqrt(2 / 3 / len(every))
    label = data.z[every, data.hidden, 1]
    assert abs((data.y[:, 0] - label).std() - 0.3) < 4.5 * 0.3 / np.sqrt(2 * len(every))


def test_across_the_teachers_tokens_are_standard_normal() -> None:
    data = sample_sequence_model(SPIKED, 500, 30, np.random.default_rng(2))
    across = data.X - data.z @ data.teachers.T / np.sqrt(30)
    assert abs((across**2).sum() / (500 * 3 * 28) - 1) < 4.5 * np.sqrt(2 / (500 * 3 * 28))


def test_a_hidden_sign_multiplies_all_outputs() -> None:
    model = SequenceModel(["u"], 2, "u[l]", invariant="sign")
    data = sample_sequence_model(model, 400, 10, np.random.default_rng(3))
    signs = np.sign(data.y * data.z[:, :, 0])
    assert np.array_equal(signs[:, 0], signs[:, 1])
    assert abs(signs[:, 0].mean()) < 4.5 / 20
    np.testing.assert_allclose(np.abs(data.y), np.abs(data.z[:, :, 0]))


@pytest.mark.parametrize(("size", "dimension"), [(0, 10), (10, 1)])
def test_what_cannot_be_drawn_is_refused(size: int, dimension: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        sample_sequence_model(SPIKED, size, dimension, np.random.default_rng(0))
