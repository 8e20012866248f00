"""Risk and gradient in the seven order parameters: against simulation, torch's autograd, the engine, and a finer mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Expr, Rational, exp, expand, oo, tanh

from symslr.evaluation import evaluate
from symslr.evaluation.landscape import Landscape, OrderParameters
from symslr.evaluation.landscape.kernel import Kernel
from symslr.evaluation.landscape.landscape import NAMED, polynomial
from symslr.evaluation.landscape.tokens import sharpened
from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS, MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.model.scalar_law import laplace, normal
from symslr.model.symbols import ORDER_PARAMETERS, Delta, m_kv, m_vk, m_vv, q_kv, q_vv, x
from symslr.model.task import Task
from symslr.simulate import Overlaps, risk_monte_carlo
from symslr.theory import landscape_risk, population_risk

ALL = [(task, name) for task in TASKS for name in ATTENTIONS]
SHIFT_OF_ERF = 0.3


def random_overlaps(seed: int) -> OrderParameters:
    """All seven different from zero."""
    return OrderParameters.of_vectors(np.random.default_rng(seed).normal(size=(2, 4)) / 2)


def coordinates(landscape: Landscape, overlaps: OrderParameters) -> np.ndarray:
    return np.append(overlaps.array, [SHIFT_OF_ERF] * (len(landscape.names) - 7))


@pytest.mark.parametrize(("task", "name"), ALL)
@pytest.mark.parametrize("seed", [1, 2])
def test_agrees_with_simulation(task: str, name: str, seed: int) -> None:
    values = {"L": 4, "nu": 1.5, "Delta": 0.5}
    overlaps = random_overlaps(seed)
    landscape = Landscape.of(TASKS[task](), ATTENTIONS[name], values)
    values |= dict.fromkeys(landscape.names[7:], SHIFT_OF_ERF)
    risk = landscape.risk(coordinates(landscape, overlaps))
    same = Overlaps(**dict(zip(landscape.names, overlaps.array.tolist())))
    found = risk_monte_carlo(TASKS[task](), ATTENTIONS[name], values, size=60_000, seed=seed, overlaps=same)
    assert abs(found.z_score(risk)) < 4


@pytest.mark.parametrize("name", ATTENTIONS)
def test_agrees_with_the_engine(name: str) -> None:
    """The engine evaluates the derived formula; worst difference 4e-11 (softmax)."""
    overlaps = OrderParameters(0.8, 0.7, 0.3, -0.4, 1.6, 1.3, 0.35)
    values = {"L": 3, "nu": 2, "Delta": Rational(1, 2)}
    landscape = Landscape.of(SpikedSLR(), ATTENTIONS[name], values)
    exact = dict(zip(landscape.names, map(Rational, map(str, coordinates(landscape, overlaps).tolist()))))
    theory = evaluate(landscape_risk(SpikedSLR(), ATTENTIONS[name]), {**exact, **values}, digits=11)
    assert landscape.risk(coordinates(landscape, overlaps)) == pytest.approx(float(theory), abs=2e-10)


@pytest.mark.parametrize(("task", "name"), ALL)
def test_a_finer_mesh_changes_nothing(task: str, name: str) -> None:
    """Worst case 6e-10 over these points."""
    for seed in (3, 4):
        landscape = Landscape.of(TASKS[task](), ATTENTIONS[name], {"L": 5, "nu": 3, "Delta": 0})
        at = coordinates(landscape, random_overlaps(seed))
        (risk, gradient), (fine, fine_gradient) = (
            item.risk_and_gradient(at) for item in (landscape, landscape.refine(1.4))
        )
        assert abs(risk - fine) < 2e-9
        assert np.max(np.abs(gradient - fine_gradient)) < 5e-9


def kernel(name: str, own: Any, score: Any) -> Any:
    """kappa, in torch."""
    import torch

    if name == "erf":
        return 1 + torch.erf(own[0] + score)
    if name == "softplus":
        return torch.nn.functional.softplus(score)
    return 1 + score if name == "linear" else torch.exp(score)


@pytest.mark.needs("torch")
@pytest.mark.parametrize(("task", "name"), ALL)
def test_gradient_agrees_with_autograd(task: str, name: str) -> None:
    """Autograd through a product grid at L = 2: Gauss-Hermite in (chi*, rho) of both tokens, another formula."""
    nu, noise = 0.8, 0.3
    overlaps = OrderParameters(0.3, 0.7, 0.15, -0.4, 0.25, 1.3, 0.2)
    landscape = Landscape.of(TASKS[task](), ATTENTIONS[name], {"L": 2, "nu": nu, "Delta": noise})
    at = coordinates(landscape, overlaps)
    risk, gradient = landscape.risk_and_gradient(at)
    reference, slopes = autograd_on_a_grid(task, name, nu, noise, at)
    assert risk == pytest.approx(reference, abs=1e-8)
    assert np.max(np.abs(gradient - slopes)) < 1e-8


def autograd_on_a_grid(task: str, name: str, nu: float, noise: float, at: np.ndarray) -> tuple[float, np.ndarray]:
    import torch

    w = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    m_kk, m_vv, m_kv, m_vk, q_kk, q_vv, q_kv, *own = w
    nodes, weights = (torch.tensor(part) for part in np.polynomial.hermite_e.hermegauss(22))
    weights = weights / weights.sum()
    chi, rho, chi_other, rho_other = torch.meshgrid(nodes, nodes, nodes, nodes, indexing="ij")
    mass = weights[:, None, None, None] * weights[:, None, None] * weights[:, None] * weights
    if task == "spiked":
        chi = chi + nu**0.5
    else:
        mass = mass * 2 * torch.sigmoid(nu * (chi - chi_other))
    s = torch.sqrt(q_kk - m_kk**2)
    across = q_kv - m_kk * m_vk
    scores = [m_kk * a + s * b for a, b in ((chi, rho), (chi_other, rho_other))]
    kappa = [kernel(name, own, score) for score in scores]
    total = {"linear": 1.0, "erf": 1.0, "softmax1": 1 + kappa[0] + kappa[1]}.get(name, kappa[0] + kappa[1])
    sigma = [part / total for part in kappa]
    values = [m_vk * a + across / s * b for a, b in ((chi, rho), (chi_other, rho_other))]
    error = m_kv / s * rho - sigma[0] * values[0] - sigma[1] * values[1]
    rest = 1 - (m_kv / s) ** 2 - 2 * (m_vv - m_kv * across / s**2) * sigma[0]
    rest = rest + (q_vv - m_vk**2 - (across / s) ** 2) * (sigma[0] ** 2 + sigma[1] ** 2)
    risk = noise**2 + (mass * (error**2 + rest)).sum()
    risk.backward()
    return float(risk.detach()), w.grad.numpy()


@pytest.mark.needs("torch")
@pytest.mark.parametrize(("task", "name"), ALL)
@pytest.mark.parametrize("size", [0.0, 1e-5, 0.05])
def test_gradient_agrees_with_autograd_close_to_the_manifold(task: str, name: str, size: float) -> None:
    """Over the vectors themselves, where R = 0 is an ordinary point; six nodes in what moves the scores by ``size``."""
    nu = 0.8
    k, v = [0.3, 0.6 * size, 0.8 * size, 0.0], [0.2, 0.7, 0.3, 0.0]
    landscape = Landscape.of(TASKS[task](), ATTENTIONS[name], {"L": 2, "nu": nu, "Delta": 0})
    own = [SHIFT_OF_ERF] * (len(landscape.names) - 7)
    risk, gradient = landscape.in_vectors(np.array([*k, *v, *own]))
    reference, slopes = autograd_over_vectors(task, name, nu, np.array([*k, *v, *own]))
    assert risk == pytest.approx(reference, abs=1e-8)
    assert np.max(np.abs(gradient - slopes)) < 1e-8


def autograd_over_vectors(task: str, name: str, nu: float, point: np.ndarray) -> tuple[float, np.ndarray]:
    """A grid in (chi*, z*, eta) of both tokens; the fourth coordinates are 0, and so are the slopes there."""
    import torch

    w = torch.tensor(point, dtype=torch.float64, requires_grad=True)
    k, v, own = w[:4], w[4:8], w[8:]
    many, few = (tuple(torch.tensor(part) for part in np.polynomial.hermite_e.hermegauss(nodes)) for nodes in (16, 6))
    axes = torch.meshgrid(many[0], many[0], *[few[0]] * 4, indexing="ij")
    masses = torch.meshgrid(many[1], many[1], *[few[1]] * 4, indexing="ij")
    mass = torch.stack(masses).prod(dim=0)
    mass = mass / mass.sum()
    chi, other = axes[0], axes[1]
    if task == "spiked":
        chi = chi + nu**0.5
    else:
        mass = mass * 2 * torch.sigmoid(nu * (chi - other))
    tokens = [torch.stack(group) for group in ((chi, axes[2], axes[3]), (other, axes[4], axes[5]))]
    scores = [torch.tensordot(k[:3], token, dims=1) for token in tokens]
    values = [torch.tensordot(v[:3], token, dims=1) for token in tokens]
    kappa = [kernel(name, own, score) for score in scores]
    total = {"linear": 1.0, "erf": 1.0, "softmax1": 1 + kappa[0] + kappa[1]}.get(name, kappa[0] + kappa[1])
    sigma = [part / total for part in kappa]
    error = axes[2] - sigma[0] * values[0] - sigma[1] * values[1]
    risk = (mass * error**2).sum()
    risk.backward()
    return float(risk.detach()), w.grad.numpy()


def test_manifold_value_is_the_population_risk() -> None:
    """At R = 0 and the best value vector the landscape is section 4's risk."""
    values = {"nu": 3, "L": 6, "Delta": 0}
    for task in (SpikedSLR(), MaxSLR()):
        landscape = Landscape.of(task, softplus, values)
        risk, slopes = landscape.risk_and_gradient(np.array([1.2, 1.0, 0, 0, 1.44, 1.0, 0]))
        hit, norm = -slopes[1] / 2, slopes[5]
        assert risk == pytest.approx(1 - 2 * hit + norm, abs=1e-9)
        theory = float(evaluate(population_risk(task, softplus, Rational(6, 5)), values, digits=10))
        assert 1 - hit**2 / norm == pytest.approx(theory, abs=1e-9)
        assert np.max(np.abs(slopes[[2, 3, 6]])) < 1e-10  # the manifold is invariant


def test_random_lengths_are_averaged() -> None:
    at = random_overlaps(5).array
    law = {2: Rational(1, 4), 5: Rational(3, 4)}
    mixed = Landscape.of(MaxSLR(length=law), softmax, {"nu": 2, "Delta": 0}).risk_and_gradient(at)
    parts = [Landscape.of(MaxSLR(), softmax, {"nu": 2, "L": n, "Delta": 0}).risk_and_gradient(at) for n in (2, 5)]
    assert mixed[0] == pytest.approx(parts[0][0] / 4 + 3 * parts[1][0] / 4, abs=1e-12)
    assert np.allclose(mixed[1], parts[0][1] / 4 + 3 * parts[1][1] / 4, atol=1e-12)


def test_a_users_weight_and_kernel() -> None:
    """A variance spike: no shift, no selection; the weight is a function of the relevant token."""
    task = Task.from_token_laws(normal(0, 2), length=3, noise=0)
    attention = Attention(1 + x**4)
    overlaps = random_overlaps(6)
    risk = Landscape.of(task, attention, {}).risk(overlaps.array)
    same = Overlaps(**dict(zip(Landscape.of(task, attention, {}).names, overlaps.array.tolist())))
    found = risk_monte_carlo(task, attention, {}, size=200_000, seed=6, overlaps=same)
    assert abs(found.z_score(risk)) < 4


@pytest.mark.parametrize("own", [1 + x**4, 1 / (1 + x**2), exp(-(x**2)), exp(5 * x), exp(tanh(3 * x))], ids=str)
def test_kernels_sharper_than_exp_get_a_finer_mesh(own: Expr) -> None:
    """1e-4 on the mesh of exp; worst case 2e-10 over ten such kernels."""
    for size, task in ((1.0, SpikedSLR()), (0.1, MaxSLR())):
        at = OrderParameters.of_vectors(size * np.random.default_rng(8).normal(size=(2, 4))).array
        landscape = Landscape.of(task, Attention(own), {"L": 6, "nu": 2, "Delta": 0})
        (risk, gradient), (fine, slopes) = (item.risk_and_gradient(at) for item in (landscape, landscape.refine(1.5)))
        assert risk == pytest.approx(fine, rel=2e-9)
        assert np.max(np.abs(gradient - slopes)) < 5e-9 * max(1.0, fine)


def test_the_catalogue_needs_no_finer_mesh() -> None:
    assert {sharpened(Kernel.of(attention, {})).sharpness for attention in ATTENTIONS.values()} == {1.0}


@pytest.mark.parametrize(("task", "name"), ALL)
def test_both_ways_of_smoothing_agree(task: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives of the kernel on few nodes, and of the Gaussian on many, just below the scale where the second begins."""
    landscape = Landscape.of(TASKS[task](), ATTENTIONS[name], {"L": 5, "nu": 3, "Delta": 0})
    vectors = np.array([[0.9, 0.05, 0.15, 0.0], [0.2, 0.8, -0.1, 0.1]])
    if task == "spiked":
        vectors[0] *= 0.2
    at = coordinates(landscape, OrderParameters.of_vectors(vectors))
    risk, gradient = landscape.risk_and_gradient(at)
    monkeypatch.setattr("symslr.evaluation.landscape.moments.LARGEST_TAYLOR_SCALE", 0.0)
    again, slopes = landscape.risk_and_gradient(at)
    assert risk == pytest.approx(again, abs=1e-9)
    assert np.max(np.abs(gradient - slopes)) < 2e-9


def test_long_keys_on_the_manifold_keep_a_smooth_kernel() -> None:
    """softplus at scores of 250 and R = 0, where its derivatives in exp(x) overflow."""
    landscape = Landscape.of(MaxSLR(), softplus, {"L": 3, "nu": 2, "Delta": 0})
    on, beside = (np.array([30.0, 0.8, 0, 0, 900.0 + extra, 0.64, 0]) for extra in (0.0, 1e-9))
    (risk, gradient), (again, slopes) = landscape.risk_and_gradient(on), landscape.risk_and_gradient(beside)
    assert risk == pytest.approx(again, abs=1e-9)
    assert np.max(np.abs(gradient - slopes)) < 1e-8


def test_the_compiled_risk_is_the_derived_one() -> None:
    """The polynomial says what section 4 says on the manifold, and about z = m_vv z* alone: no overlap is forgotten."""
    h, n, *_ = NAMED
    for shifted in (True, False):
        risk = polynomial(shifted=shifted)
        on_manifold = risk.subs({m_kv: 0, m_vk: 0, q_kv: 0})
        assert expand(on_manifold - (1 + Delta**2 - 2 * m_vv * h + q_vv * n)) == 0
        assert risk.is_polynomial(*ORDER_PARAMETERS, *NAMED)
        flipped = {m_kv: -m_kv, m_vk: -m_vk, q_kv: -q_kv}
        assert expand(risk - risk.xreplace(flipped)) == 0


def test_hessian_is_the_slope_of_the_gradient() -> None:
    landscape = Landscape.of(SpikedSLR(), linear, {"nu": 2, "L": 3, "Delta": 0})
    at = random_overlaps(7).array
    hessian = landscape.hessian(at)
    direction = np.array([0.1, -0.2, 0.3, 0.1, 0.2, -0.1, 0.3])
    step = 1e-4
    second = (
        landscape.risk(at + step * direction) - 2 * landscape.risk(at) + landscape.risk(at - step * direction)
    ) / step**2
    assert direction @ hessian @ direction == pytest.approx(second, abs=1e-5)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="no value for nu"):
        Landscape.of(SpikedSLR(), softmax, {"L": 3, "Delta": 0})
    with pytest.raises(ValueError, match="expected an integer from 1"):
        Landscape.of(SpikedSLR(), softmax, {"L": Rational(5, 2), "nu": 1, "Delta": 0})
    with pytest.raises(ValueError, match="expected N\\(0, 1\\) off the manifold"):
        Landscape.of(Task.from_token_laws(laplace(1), laplace()), softmax, {"L": 3, "Delta": 0})
    with pytest.raises(ValueError, match="expected q >= m m"):
        OrderParameters(1, 1, 0, 0, 0.5, 1, 0)
    with pytest.raises(ValueError, match="expected a finite nu"):
        Landscape.of(MaxSLR(oo), softmax, {"L": 3, "Delta": 0})


def test_long_keys_do_not_overflow() -> None:
    """A key of norm 30, where exp of a score is 1e109 and its cube no float64: attention picks the largest score."""
    landscape = Landscape.of(SpikedSLR(), softmax, {"nu": 1, "L": 3, "Delta": 0})
    risk, gradient = landscape.risk_and_gradient(np.array([30.0, 0.5, 0, 0, 900.0, 0.25, 0]))
    longer = landscape.risk(np.array([29.0, 0.5, 0, 0, 841.0, 0.25, 0]))
    assert np.all(np.isfinite(gradient))
    assert abs(risk - longer) < 1e-2
    assert gradient[5] == pytest.approx(1, abs=0.1)  # E ||sigma||^2 tends to 1
