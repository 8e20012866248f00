"""The fused loss against its definition in NumPy, and its gradient against torch's automatic differentiation."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Rational, cosh, exp, gamma

from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import x
from symslr.model.written import attention_from_text
from symslr.simulate import activation
from symslr.simulate.erm import EmpiricalRisk, TrainingSet, sample_training_set

VALUES = {"nu": 2, "Delta": 0.3, "L": 3, "c": 0.2}
FAMILY = {
    "softmax": softmax,
    "softmax1": softmax1,
    "linear": linear,
    "erf": erf,
    "softplus": softplus,
    "relu with offset": attention_from_text("relu(x)", "sum", "1"),
    "elu + 1": attention_from_text("elu(x)+1", "sum", "0"),
    "cube": attention_from_text("x**3", "none", "0"),
    "sigmoid": attention_from_text("sigmoid(x)", "none", "0"),
    "truncated exp": attention_from_text("1+x+x**2/2", "sum", "0"),
    "tilted square": attention_from_text("exp(2*x)*(1+x**2)", "sum", "1/2"),
}


def training_set(size: int = 150, dimension: int = 40) -> TrainingSet:
    return sample_training_set(SpikedSLR(), VALUES, size, dimension, np.random.default_rng(1))


@pytest.mark.parametrize("name", FAMILY)
def test_loss_is_its_definition_and_gradient_its_derivative(name: str) -> None:
    data = training_set()
    risk = EmpiricalRisk(data, FAMILY[name], 0.1, 0.3, VALUES)
    rng = np.random.default_rng(2)
    weights, direction = rng.standard_normal((2, 2 * data.dimension))
    k, v = weights.reshape(2, -1)
    root = np.sqrt(data.dimension)
    predicted = np.sum(activation(FAMILY[name], VALUES)(data.X @ k / root) * (data.X @ v / root), axis=1)
    expected = np.sum((data.y - predicted) ** 2) / 2 + 0.1 * k @ k / 2 + 0.3 * v @ v / 2
    loss, gradient = risk(weights)
    assert loss == pytest.approx(expected, rel=1e-13)
    step = 1e-5
    slope = (risk(weights + step * direction)[0] - risk(weights - step * direction)[0]) / (2 * step)
    assert slope == pytest.approx(gradient @ direction, rel=1e-7)  # worst of the family 6e-9


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", ["softmax", "softmax1", "linear"])
def test_gradient_is_that_of_automatic_differentiation(name: str) -> None:
    import torch

    data = training_set()
    weights = np.random.default_rng(3).standard_normal(2 * data.dimension)
    variable = torch.tensor(weights.reshape(2, -1), requires_grad=True)
    X, y = torch.tensor(data.X), torch.tensor(data.y)
    chi, z = X @ variable[0] / data.dimension**0.5, X @ variable[1] / data.dimension**0.5
    kernel = 1 + chi if name == "linear" else torch.exp(chi)
    total = {"linear": 1, "softmax": kernel.sum(1, keepdim=True), "softmax1": 1 + kernel.sum(1, keepdim=True)}[name]
    loss = ((y - (kernel / total * z).sum(1)) ** 2).sum() / 2 + (
        torch.tensor([0.1, 0.3], dtype=torch.float64) @ (variable**2).sum(1)
    ) / 2
    loss.backward()
    found = EmpiricalRisk(data, FAMILY[name], 0.1, 0.3, {})(weights)
    assert found[0] == pytest.approx(float(loss.detach()), rel=1e-13)
    np.testing.assert_allclose(found[1], variable.grad.numpy().ravel(), rtol=1e-10, atol=1e-11)


def test_random_lengths_agree_with_each_length_on_its_own() -> None:
    values = {**VALUES, "P_L": LengthLaw((1, Rational(1, 4)), (2, Rational(1, 4)), (5, Rational(1, 2)))}
    del values["L"]
    data = sample_training_set(MaxSLR(), values, 200, 30, np.random.default_rng(4))
    weights = np.random.default_rng(5).standard_normal(60)
    loss, gradient = EmpiricalRisk(data, softmax, 0.0, 0.0, {})(weights)
    lengths = np.diff(data.offsets)
    parts = []
    for length in (1, 2, 5):
        members = np.nonzero(lengths == length)[0]
        X = data.tokens[data.offsets[members][:, None] + np.arange(length)]
        parts.append(EmpiricalRisk(TrainingSet.of(X, data.y[members]), softmax, 0.0, 0.0, {})(weights))
    assert loss == pytest.approx(sum(part[0] for part in parts), rel=1e-13)
    np.testing.assert_allclose(gradient, sum(part[1] for part in parts), rtol=1e-10, atol=1e-11)
    with pytest.raises(ValueError, match="different lengths"):
        _ = data.X


def test_scores_of_a_thousand_are_harmless_for_softmax() -> None:
    data = training_set()
    weights = np.concatenate([1000 * data.k_star, data.v_star])
    loss, gradient = EmpiricalRisk(data, softmax, 0.0, 0.0, {})(weights)
    assert np.isfinite(loss)
    assert np.all(np.isfinite(gradient))


def test_float32_agrees_to_single_precision_and_uses_the_array_in_place() -> None:
    data = training_set()
    single = TrainingSet.of(data.X.astype(np.float32), data.y)
    weights = np.random.default_rng(3).standard_normal(2 * data.dimension)
    (loss, gradient), (loss32, gradient32) = (EmpiricalRisk(s, softmax, 0.1, 0.1, {})(weights) for s in (data, single))
    assert loss32 == pytest.approx(loss, rel=1e-6)
    assert np.max(np.abs(gradient32 - gradient)) < 2e-6 * np.max(np.abs(gradient)) * np.sqrt(data.size)
    assert np.shares_memory(TrainingSet.of(data.X, data.y).tokens, data.tokens)


def test_a_sample_larger_than_a_block_is_a_block() -> None:
    data = sample_training_set(SpikedSLR(), {**VALUES, "L": 2}, 3, 200_000, np.random.default_rng(1))
    weights = np.concatenate([data.k_star, data.v_star])
    root = np.sqrt(data.dimension)
    predicted = np.sum(activation(softmax, {})(data.X @ data.k_star / root) * (data.X @ data.v_star / root), axis=1)
    expected = np.sum((data.y - predicted) ** 2) / 2
    assert EmpiricalRisk(data, softmax, 0.0, 0.0, {})(weights)[0] == pytest.approx(expected, rel=1e-12)


def test_refusals_are_one_line() -> None:
    data = training_set()
    with pytest.raises(ValueError, match="r_k: found -1; expected a finite ridge"):
        EmpiricalRisk(data, softmax, -1.0, 0.0, {})
    with pytest.raises(ValueError, match="no compiled form"):
        EmpiricalRisk(data, Attention(gamma(1 + x**2), normaliser=None), 0.0, 0.0, {})(np.ones(80))
    with pytest.raises(ValueError, match="not finite"):
        EmpiricalRisk(data, Attention(cosh(x) ** 2), 0.0, 0.0, {})(np.full(80, 1e4))
    with pytest.raises(ValueError, match=r"expected a number for c"):
        EmpiricalRisk(data, erf, 0.0, 0.0, {})(np.ones(80))
    with pytest.raises(ValueError, match=r"X: found shape \(3, 4\)"):
        TrainingSet.of(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="one label for each sequence"):
        TrainingSet.of(np.ones((3, 2, 4)), np.ones(2))
    assert np.isfinite(EmpiricalRisk(data, Attention(exp(x)), 0.0, 0.0, {})(np.full(80, 1e4))[0])
