"""Piecewise kernels: the same function without cases, and risks that agree with simulation."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, Heaviside, Max, Min, Piecewise, Rational, Symbol, erf, exp, lambdify, oo, pi, sqrt

from symslr import Attention, SpikedSLR, Task, evaluate, minimal_risk, normal
from symslr.model.breakpoints import bends
from symslr.model.pieces import without_pieces
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import chi, epsilon, x
from symslr.theory import bayes_risk, population_risk

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


LAPLACE = Piecewise((exp(-x) / 2, x > 0), (exp(x) / 2, True))
GAUSSIAN = exp(-(x**2) / 2) / sqrt(2 * pi)
DENSITIES = {  # with a support, and the same law without cases
    "tails": (LAPLACE, (-oo, oo), exp(-Abs(x)) / 2),
    "a factor": (GAUSSIAN * Piecewise((3, x < 0), (1, True)) / 2, (-oo, oo), GAUSSIAN * (3 - 2 * Heaviside(x)) / 2),
    "inside a function": (exp(-Piecewise((x, x > 0), (-x, True))) / 2, (-oo, oo), exp(-Abs(x)) / 2),
    "0 at a cut": (Piecewise((-x, x < 0), (x**3 / 2, True)), (-1, sqrt(2)), Max(-x, 0) + Max(x, 0) ** 3 / 2),
    "0 beyond": (Piecewise((0, x < 1), (2 / x**3, True)), (0, oo), 2 * Heaviside(x - 1) / Max(x, 1) ** 3),
    "no case beyond the support": (Piecewise((x, x < 1), (2 - x, x < 2)), (0, 2), Min(x, 2 - x)),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_a_density_keeps_its_digits(name: str) -> None:
    """Regression: cases ended in "'ExprCondPair' object has no attribute 'diff'"."""
    density, support, plain = DENSITIES[name]
    law = ScalarLaw(density, *support)
    assert not law.density.has(Piecewise)
    low, high = (float(np.clip(float(end), -200, 200)) for end in support)
    inside = np.linspace(low, high, 402)[1:-1]
    with np.errstate(all="ignore"):
        before, after = (lambdify(x, f, "numpy")(inside) for f in (plain, law.density))
    np.testing.assert_allclose(after, before, rtol=1e-14)


@pytest.mark.parametrize("others", [normal(), ScalarLaw(exp(-Abs(x)) / 2)])
def test_risks_of_a_density_in_cases(others: ScalarLaw) -> None:
    def risks(density: object) -> list[float]:
        task = Task.from_token_laws(ScalarLaw(density), others, noise=0, length=2)
        return [float(evaluate(r, digits=6)) for r in (bayes_risk(task), minimal_risk(task, Attention(1 + x**2)))]

    shifted = Piecewise((exp(1 - x) / 2, x > 1), (exp(x - 1) / 2, True))
    np.testing.assert_allclose(risks(shifted), risks(exp(-Abs(x - 1)) / 2), rtol=1e-6)


def test_the_relevant_token_is_where_others_are() -> None:
    uniform = ScalarLaw(Piecewise((Rational(1, 2), Abs(x) < 1), (0, True)))
    with pytest.raises(ValueError, match="others is 0 and relevant is not; expected others > 0"):
        Task.from_token_laws(normal(), uniform)
    Task.from_token_laws(uniform, normal())
    Task.from_token_laws(normal(), ScalarLaw(exp(-Max(x**2, 1)) / (2 / exp(1) + sqrt(pi) * (1 - erf(1)))))


def test_cases_do_not_bend() -> None:
    assert {inner for inner, _ in bends(exp(Piecewise((x, x < 0), (x**2, True))), x)} == {
        Piecewise((x, x < 0), (x**2, True))
    }
    assert bends(1 / Heaviside(x), x) == ((Heaviside(x), Heaviside(x)),)
