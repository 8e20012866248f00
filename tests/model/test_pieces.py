"""Piecewise kernels: the same function without cases, and risks that agree with simulation."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, Piecewise, Symbol, exp, lambdify

from symslr import Attention, SpikedSLR, evaluate, population_risk
from symslr.model.pieces import without_pieces
from symslr.model.symbols import chi, epsilon, x

ELU = Piecewise((exp(x), x < 0), (1 + x, True))
KERNELS = {
    "continuous": ELU,
    "jump": Piecewise((1, x < 1), (3 + x, True)),
    "three pieces": Piecewise((2, x < -1), (x**2 + 1, x <= 1), (4 * x, True)),
    "outside in": Piecewise((1 + x**2, Abs(x) > 1), (2, True)),
    "nested": 1 + Piecewise((exp(-x), x > 0), (1, True)) ** 2,
}
AWAY = np.linspace(-3, 3, 62)


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_function(name: str) -> None:
    kernel = KERNELS[name]
    joined = without_pieces(kernel, "kernel")
    assert not joined.has(Piecewise)
    before, after = (lambdify(x, f, "numpy")(AWAY) for f in (kernel, joined))
    np.testing.assert_allclose(after, before, rtol=1e-14)


def test_weights_in_a_token() -> None:
    joined = without_pieces(ELU.subs(x, chi[epsilon]), "weight")
    assert joined == without_pieces(ELU, "kernel").subs(x, chi[epsilon])


def test_what_is_no_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="no value on a part"):
        without_pieces(Piecewise((1, x < 0)), "kernel")
    with pytest.raises(ValueError, match="variables"):
        without_pieces(Piecewise((1, x < Symbol("c", real=True)), (2, True)), "kernel")


@pytest.mark.parametrize("length", [2, 4])
def test_risk_agrees_with_sampled_tokens(length: int) -> None:
    """Regression: L = 4 was refused, for SymPy had moved the case distinction out of the normaliser."""
    exact = evaluate(
        population_risk(SpikedSLR(), Attention(ELU, name="elu+1")), {"L": length, "nu": 2, "Delta": 0, "a": 1}, digits=8
    )
    rng = np.random.default_rng(20261121)
    tokens = rng.standard_normal((100, 4000, length))
    tokens[..., 0] += np.sqrt(2)
    kernel = np.where(tokens < 0, np.exp(tokens), 1 + tokens)
    sigma = kernel / kernel.sum(axis=2, keepdims=True)
    # 1 - (E sigma_eps)^2 / E |sigma|^2, its error from a hundred batches
    batches = 1 - sigma[..., 0].mean(axis=1) ** 2 / (sigma**2).sum(axis=2).mean(axis=1)
    z = (batches.mean() - float(exact)) / (batches.std() / 10)
    assert abs(z) < 4
