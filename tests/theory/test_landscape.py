"""The risk in all seven order parameters against simulation, the manifold and its symmetry."""

from __future__ import annotations

import pytest
from sympy import Add, Mul, Rational, Sum, expand, sqrt

from symslr.evaluation import evaluate
from symslr.expression.expectation import Expectation, SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, MaxSLR, SpikedSLR, softmax
from symslr.model.scalar_law import laplace
from symslr.model.symbols import Delta, L, epsilon, l, m_kk, m_kv, m_vk, m_vv, q_kk, q_kv, q_vv
from symslr.model.task import Task
from symslr.simulate import Overlaps, risk_monte_carlo
from symslr.theory import landscape_risk
from symslr.theory.landscape import ON_MANIFOLD

SEED, SIZE = 25092, 200_000
POINT = {"m_kk": 0.8, "m_vv": 0.7, "m_kv": 0.3, "m_vk": -0.4, "q_kk": 1.6, "q_vv": 1.3, "q_kv": 0.35}
EXACT = {name: Rational(str(number)) for name, number in POINT.items()}


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_spiked_agrees_with_simulation(attention: Attention) -> None:
    values = {"nu": 2, "L": 3, "Delta": Rational(1, 2), "c": Rational(3, 10)}
    risk = landscape_risk(SpikedSLR(), attention)
    used = {k: v for k, v in values.items() if k != "c" or attention.parameters}
    theory = float(evaluate(risk, {**EXACT, **used}, digits=8))
    found = risk_monte_carlo(SpikedSLR(), attention, values, size=SIZE, seed=SEED, overlaps=Overlaps(**POINT))
    assert abs(found.z_score(theory)) < 4


def test_every_digit_can_be_had() -> None:
    """The off-manifold risk is a formula of the engine like any other: 30 digits, and float64 within its error."""
    values = {**EXACT, "nu": 2, "L": 3, "Delta": 0}
    risk = landscape_risk(SpikedSLR(), softmax)
    many, few = evaluate(risk, values, digits=30), evaluate(risk, values, digits=10)
    assert many.digits >= 30
    assert abs(float(many.value - few.value)) <= 10 * float(few.error)


def test_manifold_is_a_special_case() -> None:
    """At m_kv = m_vk = q_kv = 0 and R_kk = 0: Delta^2 + 1 - 2 m_vv E sigma_eps + q_vv E ||sigma||^2 at scale m_kk."""
    on_manifold = landscape_risk(SpikedSLR(), softmax).subs(ON_MANIFOLD)
    law = SpikedSLR().law
    sigma = Activation.of(epsilon, softmax, m_kk)
    hit, norm = SequenceExpectation(sigma, law), SequenceExpectation(Sum(sigma.at(l) ** 2, (l, 1, L)), law)
    section4 = Delta**2 + 1 - 2 * m_vv * hit + q_vv * norm
    values = {"m_kk": Rational(3, 4), "m_vv": Rational(1, 2), "q_vv": 1, "nu": 3, "L": 4, "Delta": Rational(1, 3)}
    ours = evaluate(on_manifold, {**values, "q_kk": values["m_kk"] ** 2}, digits=20)
    theirs = evaluate(section4, values, digits=20)
    assert abs(ours.value - theirs.value) < 1e-19


@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR()], ids=lambda task: task.name)
def test_risk_is_even_off_the_manifold(task: Task) -> None:
    """(m_kv, m_vk, q_kv) -> minus itself is v* -> -v*, v -> -v: the flow leaves the manifold invariant."""
    risk = expand(landscape_risk(task, softmax))
    for term in Add.make_args(risk):
        coefficient = Mul(*(factor for factor in Mul.make_args(term) if not factor.has(Expectation)))
        flipped = coefficient.subs({s: -s for s in ON_MANIFOLD}, simultaneous=True)
        assert expand(flipped - coefficient) == 0


def test_only_the_norm_of_v_outside_the_stars_costs() -> None:
    """The risk is affine in q_vv with slope E ||sigma||^2 > 0, so R_vv = 0 at every minimum."""
    risk = landscape_risk(SpikedSLR(), softmax)
    slope = risk.diff(q_vv)
    assert not slope.has(q_vv)
    assert float(evaluate(slope, {"m_kk": 1, "q_kk": 2, "nu": 1, "L": 3}, digits=8)) > 0


def test_a_weight_that_shifts_no_gaussian_keeps_two_gaussians_a_token() -> None:
    task = Task.from_token_laws(laplace(1), laplace())
    risk = landscape_risk(task, softmax)
    assert risk.has(q_kv)
    assert risk.has(sqrt(q_kk - m_kk**2))
    assert m_kv in risk.free_symbols
    assert m_vk in risk.free_symbols


@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR()], ids=lambda task: task.name)
def test_slopes_off_the_manifold_vanish_on_it(task: Task) -> None:
    """Symbolically: dE/dm_kv = dE/dm_vk = dE/dq_kv = 0 at m_kv = m_vk = q_kv = 0, and with them their velocities."""
    risk = landscape_risk(task, softmax)
    for symbol in ON_MANIFOLD:
        assert expand(risk.diff(symbol).subs(ON_MANIFOLD)) == 0
