"""The proximal problem, the saddle-point equations and state evolution: what the engine derives, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sympy import Derivative, Integer, Symbol, exp, sqrt

from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softmax1, softplus
from symslr.model.symbols import l, nu, x
from symslr.referee.referee import referee
from symslr.theory.bayes import bayes_chain
from symslr.theory.finite_sample import (
    FIELD,
    NORM,
    RESIDUAL,
    SUMS,
    UU,
    UW,
    WW,
    ProximalProblem,
    V_a,
    V_v,
    data_chain,
    dual_slope,
    elimination_chain,
    offset,
    residual_chain,
    w,
    y,
)
from symslr.theory.finite_sample_bayes import CHANNELS, force_chain, posterior_risk_chain
from symslr.theory.finite_sample_energy import ALPHA, KEY, VALUE, Fit, Force, energy, force_means, sample_energy
from symslr.theory.finite_sample_saddle import response_chain, ridge_chain, saddle_point_equations
from symslr.theory.sequence import OVERLAP, evidence

AT = {
    "L": 3,
    "P": 2,
    "Delta": Fraction(3, 10),
    "alpha": Fraction(21, 10),
    **{f"m_{t}": Fraction(2, 5) for t in "kv"},
    **{f"q_{t}": Fraction(13, 10) for t in "kv"},
    "V_k": Fraction(7, 10),
    "V_v": Fraction(2, 5),
}


def number(expr, **values):
    found = referee(expr, {**AT, **values}, 13)
    return float(found.value)


def test_the_data_term_and_the_residual_are_those_of_the_minimum_over_the_values():
    rng = np.random.default_rng(5)
    sigma, omega, label, width = rng.uniform(size=4), rng.normal(size=4), 0.7, 1.3
    found = minimize(lambda z: ((z - omega) ** 2).sum() / (2 * width) + (label - sigma @ z) ** 2 / 2, omega)
    at = {FIELD: sigma @ omega, NORM: sigma @ sigma, y: label, V_v: width}
    assert float(data_chain().result.subs(at)) == pytest.approx(found.fun, rel=1e-9)
    residual = float(residual_chain().result.subs(at))
    assert residual == pytest.approx(label - sigma @ found.x, rel=1e-5)  # BFGS stops near 1e-6
    assert residual_chain().result.equals((y - FIELD) / (1 + V_v * NORM))


@pytest.mark.parametrize("attention", [softmax, softmax1, softplus, linear, Attention(1 + x**4, name="quartic")])
def test_generated_derivatives_are_those_of_the_data_term(attention):
    """Gradient by chain rule through the three sums against SymPy's own derivative with two tokens written out."""
    problem = ProximalProblem(attention)
    keys, values = [Integer(1) / 3, -Integer(2) / 5], [Integer(4) / 7, Integer(9) / 8]
    a, b = Symbol("a_1", real=True), Symbol("a_2", real=True)
    tokens = list(zip((a, b), values, strict=True))
    sums = {s: sum(t.subs({x: key, w: value}) for key, value in tokens) for s, t in zip(SUMS, problem.token_sums)}
    direct = problem.data_term.subs(sums).subs(offset, attention.offset)
    at = {a: keys[0], b: keys[1], y: Integer(1) / 9, V_v: Integer(5) / 4}
    numbers = {s: v.subs(at) for s, v in sums.items()}

    def here(expr, token):
        return expr.subs({x: (a, b)[token], w: values[token]})

    fill = lambda expr: float(expr.subs(numbers).subs(offset, attention.offset).subs(at))  # noqa: E731
    force = [sum(g * here(s, t) for g, s in zip(problem.slopes, problem.token_slopes)) for t in (0, 1)]
    assert fill(force[0]) == pytest.approx(float(direct.diff(a).subs(at)), rel=1e-12)
    mixed = sum(
        problem.curvatures[i, j] * here(problem.token_slopes[i], 0) * here(problem.token_slopes[j], 1)
        for i in range(3)
        for j in range(3)
    )
    assert fill(mixed) == pytest.approx(float(direct.diff(a, b).subs(at)), rel=1e-12)


def test_which_attentions_depend_on_differences_only():
    assert ProximalProblem(softmax).shift_invariant
    assert ProximalProblem(Attention(exp(2 * x))).shift_invariant
    assert not any(ProximalProblem(item).shift_invariant for item in (softmax1, softplus, linear))
    assert ProximalProblem(linear).affine == (1, 1)
    assert ProximalProblem(softplus).affine is None


def test_the_dual_slope_falls_all_the_way():
    """Concavity of the dual function: its slope decreases on the whole interval, for random fields."""
    slope = compile_float([RESIDUAL, UU, UW, WW, y, V_a, V_v], [dual_slope()])
    rng = np.random.default_rng(6)
    for _ in range(50):
        u, omega = rng.normal(size=(2, 3))
        width_a, width_v = rng.uniform(0.1, 5, size=2)
        rho = np.linspace(-0.999, 0.999, 2001) / np.sqrt(width_a * width_v)
        values = slope(rho, u @ u, u @ omega, omega @ omega, rng.normal(), width_a, width_v)[0]
        assert np.all(np.diff(values) < 0)


def test_the_dual_slope_vanishes_at_a_stationary_point_of_the_proximal_problem():
    rng = np.random.default_rng(8)
    u, omega, label, width_a, width_v = rng.normal(size=3), rng.normal(size=3), 0.8, 0.4, 0.7

    def cost(p: np.ndarray) -> float:
        distance = ((p[:3] - u) ** 2).sum() / (2 * width_a) + ((p[3:] - omega) ** 2).sum() / (2 * width_v)
        return float(distance + (label - p[:3] @ p[3:]) ** 2 / 2)

    found = minimize(cost, np.concatenate([u, omega]), tol=1e-12)
    rho = label - found.x[:3] @ found.x[3:]
    slope = compile_float([RESIDUAL, UU, UW, WW, y, V_a, V_v], [dual_slope()])
    assert abs(slope(rho, u @ u, u @ omega, omega @ omega, label, width_a, width_v)[0]) < 1e-5  # BFGS stops near 1e-6


@pytest.mark.parametrize("t", [KEY, VALUE])
def test_saddle_point_equations_are_those_of_result_5_1(t):
    root, stiffness = sqrt(t.q - t.m**2), t.ridge + t.Vhat
    squared, push, pull = force_means(t)
    reconstructed = {
        t.qhat: ALPHA * squared,
        t.Vhat: -ALPHA * push / root,
        t.mhat: ALPHA * pull - t.m * ALPHA * push / root,
        t.V: 1 / stiffness,
        t.m: t.mhat / stiffness,
        t.q: (t.mhat**2 + t.qhat) / stiffness**2,
    }
    found = saddle_point_equations(t)
    assert found.keys() == reconstructed.keys()
    for unknown, formula in reconstructed.items():
        assert (found[unknown] - formula).expand().factor() == 0


@pytest.mark.parametrize("attention", [softmax, linear, softplus])
@pytest.mark.parametrize("t", [KEY, VALUE])
def test_the_energy_of_a_sample_moves_as_derived(t, attention):
    """Finite differences of the minimum over six projections, a law on two sequences of three tokens."""
    for parameter in t.order_parameters:
        chain = response_chain(t, parameter, Fit.of(attention))
        assert number(chain.result) == pytest.approx(
            number(Derivative(sample_energy(Fit.of(attention)), parameter)), rel=1e-8
        )


def test_the_referee_tells_wrong_equations_from_right_ones():
    """A factor 2, a sign and an exchange of q and m are seen in finite differences of the energy."""
    squared, push, _ = (number(mean) for mean in force_means(KEY))
    slope_V = number(Derivative(sample_energy(), KEY.V))
    slope_q = number(Derivative(sample_energy(), KEY.q))
    root = np.sqrt(1.3 - 0.16)
    assert slope_V == pytest.approx(-squared / 2, rel=1e-8)
    assert slope_q == pytest.approx(-push / (2 * root), rel=1e-8)
    wrong = (-squared, squared / 2)
    assert all(abs(slope_V - value) > 0.1 * abs(slope_V) for value in wrong)
    assert abs(slope_q + push / (2 * np.sqrt(1.69 - 0.4))) > 1e-3 * abs(slope_q)


def test_the_energy_is_labelled_a_postulate_and_the_hypotheses_travel():
    assert "replica-symmetric" in energy().postulate
    texts = [hypothesis.text for hypothesis in response_chain(KEY, KEY.m).hypotheses]
    assert any("unique" in text for text in texts)


def test_the_values_leave_the_proximal_problem_at_any_length():
    chain = elimination_chain(softmax)
    for length in (2, 3):
        numbers = [number(line, L=length) for line in (chain.start, *(step.after for step in chain.steps))]
        assert numbers == pytest.approx([numbers[0]] * len(numbers), rel=1e-11)


def test_the_force_is_the_distance_from_the_field_over_the_response():
    force = Force.of(VALUE, l)
    assert force.definition() == (VALUE.fitted(l) - VALUE.field(l)) / VALUE.V


@pytest.mark.parametrize("t", [KEY, VALUE])
def test_ridge_energy(t):
    assert ridge_chain(t).result.equals(-(t.mhat**2 + t.qhat) / (2 * (t.ridge + t.Vhat)))


@pytest.mark.parametrize("t", ["k", "v"])
def test_the_force_on_a_field_is_that_of_any_channel(t):
    """At one sample: Z and its slope by the formulas of the task, at three values of the field."""
    at = {"q": Fraction(3, 7), "nu": Fraction(6, 5), "a": Fraction(2, 3), "b": Fraction(4, 5), "y": Fraction(1, 2)}
    chain = force_chain(t)
    assert [step.rule.name for step in chain.steps] == ["by bayes-optimal-force", "definition"]
    force = evidence(CHANNELS[t]).differentiated(1)
    for x_0 in (Fraction(-1), Fraction(1, 3), Fraction(2)):
        omega = np.sqrt(3 / 7) * float(x_0)
        width = 1 - 3 / 7 + 0.3**2
        bell = np.exp(-((0.5 - omega) ** 2) / (2 * width)) / np.sqrt(2 * np.pi * width)
        expected = {
            "v": 2 / 3 * bell * (0.5 - omega) / width,
            "k": 2 / 3 * np.sqrt(1.2) * np.exp(np.sqrt(1.2) * omega - 1.2 * 3 / 14),
        }
        assert number(force, **at, x_0=x_0) == pytest.approx(expected[t], rel=1e-9)


@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR()])
def test_with_all_samples_the_risk_is_that_of_proposition_4_1(task):
    found = posterior_risk_chain(task, Integer(1)).result
    assert (found - bayes_chain(task.law, task.noise).result).expand() == 0


def test_the_risk_falls_with_the_overlaps():
    q_k = Symbol("q_k", positive=True)
    risk = posterior_risk_chain(SpikedSLR(nu * q_k), OVERLAP).result
    values = [number(risk, L=2, nu=Fraction(2), q_k=Fraction(q), q=Fraction(q)) for q in ("0.2", "0.5", "0.9")]
    assert values[0] > values[1] > values[2]
