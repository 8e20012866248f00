"""The proximal problem and the saddle-point equations: what the engine derives against minimisation and quotation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sympy import Eq, Integer, exp, latex, sqrt

from symslr.evaluation.compiled import compile_float
from symslr.model.attention import Attention
from symslr.model.catalogue import linear, softmax, softmax1, softplus
from symslr.model.symbols import x
from symslr.theory.finite_sample import (
    FIELD,
    NORM,
    RESIDUAL,
    SUMS,
    ProximalProblem,
    V_v,
    affine_dual,
    eliminate_values,
    offset,
    y,
)
from symslr.theory.finite_sample_saddle import (
    ALPHA,
    FORCE,
    KEY,
    SPREAD,
    TEACHER,
    VALUE,
    TokenMean,
    prior_energy,
    saddle_point_equations,
)


def test_the_eliminated_values_are_the_minimum_over_the_values():
    rng = np.random.default_rng(5)
    sigma, omega, label, width = rng.uniform(size=4), rng.normal(size=4), 0.7, 1.3
    found = minimize(lambda z: ((z - omega) ** 2).sum() / (2 * width) + (label - sigma @ z) ** 2 / 2, omega)
    at = {FIELD: sigma @ omega, NORM: sigma @ sigma, y: label, V_v: width}
    _, residual, data = eliminate_values()
    assert float(data.subs(at)) == pytest.approx(found.fun, rel=1e-9)
    assert float(residual.subs(at)) == pytest.approx(label - sigma @ found.x, rel=1e-5)  # BFGS stops near 1e-6


def test_the_residual_is_the_one_of_the_paper():
    assert eliminate_values()[1].equals((y - FIELD) / (1 + V_v * NORM))


@pytest.mark.parametrize("attention", [softmax, softmax1, softplus, linear, Attention(1 + x**4, name="quartic")])
def test_generated_derivatives_are_those_of_the_data_term(attention):
    """Gradient by chain rule through the three sums against SymPy's own derivative with two tokens written out."""
    problem = ProximalProblem(attention)
    keys, values = [Integer(1) / 3, -Integer(2) / 5], [Integer(4) / 7, Integer(9) / 8]
    from sympy import Symbol

    from symslr.theory.finite_sample import w

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
    from symslr.theory.finite_sample import UU, UW, WW, V_a

    slope = compile_float([RESIDUAL, UU, UW, WW, y, V_a, V_v], [affine_dual()[0]])
    rng = np.random.default_rng(6)
    for _ in range(50):
        u, omega = rng.normal(size=(2, 3))
        width_a, width_v = rng.uniform(0.1, 5, size=2)
        rho = np.linspace(-0.999, 0.999, 2001) / np.sqrt(width_a * width_v)
        values = slope(rho, u @ u, u @ omega, omega @ omega, rng.normal(), width_a, width_v)[0]
        assert np.all(np.diff(values) < 0)


@pytest.mark.parametrize("t", [KEY, VALUE])
def test_saddle_point_equations_are_those_of_result_5_1(t):
    root = sqrt(t.q - t.m**2)
    published = [
        Eq(t.qhat, ALPHA * TokenMean(FORCE**2)),
        Eq(t.Vhat, -ALPHA * TokenMean(FORCE * SPREAD) / root),
        Eq(t.mhat, ALPHA * TokenMean(FORCE * TEACHER) + t.Vhat * t.m),
        Eq(t.V, 1 / (t.ridge + t.Vhat)),
        Eq(t.m, t.V * t.mhat),
        Eq(t.q, t.V**2 * (t.mhat**2 + t.qhat)),
    ]
    found = saddle_point_equations(t)
    for equation, claim in zip(found, published, strict=True):
        assert equation.lhs == claim.lhs
        assert (equation.rhs - claim.rhs).expand() == 0
        assert latex(equation)


def test_prior_energy_is_the_mean_of_a_minimum():
    t = KEY
    assert prior_energy(t).equals(-(t.mhat**2 + t.qhat) / (2 * (t.ridge + t.Vhat)))
