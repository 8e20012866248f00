"""The risk in all seven order parameters against simulation, the manifold and its symmetry."""

from __future__ import annotations

from functools import cache

import pytest
from sympy import Add, Derivative, Expr, Mul, Rational, Sum, expand, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import ChainRule, Differentiate, FlipSigns, PutInPlace
from symslr.evaluation import evaluate
from symslr.evaluation.landscape.flow import velocity
from symslr.evaluation.landscape.landscape import Landscape
from symslr.expression.expectation import Expectation, SequenceExpectation
from symslr.expression.folded import Activation
from symslr.expression.open_functions import OpenKernel
from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, MaxSLR, SpikedSLR, erf, softmax, softmax1, softplus
from symslr.model.scalar_law import laplace
from symslr.model.symbols import (
    ORDER_PARAMETERS,
    Delta,
    L,
    epsilon,
    eta,
    l,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    o,
    q_kk,
    q_kv,
    q_vv,
    x,
    xi,
    z,
    zeta,
)
from symslr.model.task import Task
from symslr.simulate import Overlaps, risk_monte_carlo
from symslr.theory import landscape_risk
from symslr.theory.gradient_flow import OVERLAPS, RISK, rate
from symslr.theory.landscape import (
    ANY_NORMALISED,
    ON_MANIFOLD,
    LandscapeRisk,
    landscape_chain,
    landscape_loss,
    reduced,
)
from tests.theory.sobol import sobol

SEED, SIZE = 25092, 200_000
POINT = {"m_kk": 0.8, "m_vv": 0.7, "m_kv": 0.3, "m_vk": -0.4, "q_kk": 1.6, "q_vv": 1.3, "q_kv": 0.35}
EXACT = {name: Rational(str(number)) for name, number in POINT.items()}


@cache
def general(task: Task) -> Derivation:
    """The chain for a kernel and an offset left open."""
    return reduced(Derivation(landscape_loss(task, ANY_NORMALISED)))


def put_in(task: Task, attention: Attention) -> Expr:
    """The risk that the chain ends in, with the kernel put in afterwards."""
    return general(task).result.xreplace({OpenKernel(x): attention.kernel, o: attention.offset})


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_spiked_agrees_with_simulation(attention: Attention) -> None:
    values = {"nu": 2, "L": 3, "Delta": Rational(1, 2), "c": Rational(3, 10)}
    risk = (
        put_in(SpikedSLR(), attention) if attention in (softmax1, softplus) else landscape_risk(SpikedSLR(), attention)
    )
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


CHAINED = [(softmax1, 2), (softmax1, 5), (softplus, 3), (erf, 3)]


@pytest.mark.parametrize(("attention", "length"), CHAINED, ids=str)
@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR()], ids=lambda task: task.name)
def test_chain_keeps_the_risk_at_every_length(task: Task, attention: Attention, length: int) -> None:
    """First and last line by Sobol points, 2^12 of them four times: standard errors are near 1e-3 of the risk."""
    end = put_in(task, softplus) if attention == softplus else landscape_risk(task, attention)
    values = {**EXACT, "nu": Rational(4, 5), "Delta": Rational(1, 2), "c": Rational(3, 10)}
    (start, one), (end, two) = (sobol(line, values, length) for line in (landscape_loss(task, attention), end))
    assert abs(start - end) < 5 * (one + two) + 1e-4
    assert one + two < 0.02 * start


def test_a_weight_left_out_is_seen_at_three_tokens() -> None:
    """At one token the weight of max-SLR is 1, so that a check there would not see it."""
    chain = landscape_chain(MaxSLR(), softmax1)
    law = MaxSLR().law
    wrong = chain.result.xreplace({law: law.unweighted()})
    values = {**EXACT, "nu": Rational(4, 5), "Delta": Rational(1, 2)}
    for length, seen in ((1, False), (3, True)):
        (start, one), (end, two) = (sobol(line, values, length) for line in (chain.start, wrong))
        assert (abs(start - end) > 10 * (one + two)) is seen


def test_risk_is_derived_for_a_kernel_left_open() -> None:
    """With the kernel put in afterwards it is the risk of that attention."""
    for task in (SpikedSLR(), MaxSLR()):
        assert put_in(task, softmax1) == landscape_risk(task, softmax1)


@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR()], ids=lambda task: task.name)
def test_sign_symmetry_gives_the_risk_back(task: Task) -> None:
    """And does not where only two of the three overlaps change their signs."""
    mirrored = LandscapeRisk.of(task, ANY_NORMALISED, {s: -s for s in ON_MANIFOLD}).definition()
    assert FlipSigns(z, zeta, xi).rewrite(mirrored) == landscape_loss(task, ANY_NORMALISED)
    wrong = LandscapeRisk.of(task, ANY_NORMALISED, {m_kv: -m_kv, m_vk: -m_vk}).definition()
    assert FlipSigns(z, zeta, xi).rewrite(wrong) != landscape_loss(task, ANY_NORMALISED)


def test_flow_of_the_evaluator_is_the_derived_one() -> None:
    """dm/dt and dq/dt from the coordinates of k and v, with the slopes of a landscape put in."""
    landscape = Landscape.of(SpikedSLR(), softmax, {"nu": 2, "L": 3, "Delta": 0})
    state = [POINT[str(symbol)] for symbol in ORDER_PARAMETERS]
    slopes = dict(zip(ORDER_PARAMETERS, landscape.risk_and_gradient(state)[1]))
    at = {symbol: POINT[str(symbol)] for symbol in ORDER_PARAMETERS}
    for symbol, speed in zip(ORDER_PARAMETERS, velocity(landscape, state)):
        derived = PutInPlace().rewrite(
            Differentiate().rewrite(ChainRule(RISK, OVERLAPS).rewrite(rate(OVERLAPS[symbol])))
        )
        number = derived.xreplace({Derivative(RISK, s): slope for s, slope in slopes.items()}).subs(at)
        assert float(number) == pytest.approx(speed, abs=1e-12)


def test_a_key_without_a_part_outside_is_admissible() -> None:
    """R_kk = 0 leaves no direction along which v could have a component: the loss is finite there."""
    at = {**ON_MANIFOLD, m_kk: Rational(1, 2), q_kk: Rational(1, 4)}
    loss = LandscapeRisk.of(SpikedSLR(), softmax1, at).definition()
    assert not loss.has(eta)
