"""The error bounds of the certified backend dominate the errors that coarse meshes really make."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from flint import acb, arb, ctx
from sympy import Integer, Rational, S

from symslr.evaluation.certified.exponential.fixed_point import fixed_point_product
from symslr.evaluation.certified.exponential.inner import InnerRule
from symslr.evaluation.certified.exponential.integral import Mesh, _Integral, laplace_integral, outer_error
from symslr.evaluation.certified.exponential.plan import Shape, make_plan
from symslr.evaluation.certified.exponential.steps import inner_step, outer_strip
from symslr.evaluation.certified.monomial import Monomial
from symslr.evaluation.quadrature.scan import scan

BITS = 200


def psi_by_integral(s: float, t: float, p: float) -> arb:
    """psi_p(t) by Arb's adaptive integration on |z| <= 20, where the Gaussian leaves less than e^-200."""

    def integrand(z: acb, _: bool) -> acb:
        tilt = p * (t + s * z - arb(p).log()) + p if p else acb(0)
        return (tilt - (t + s * z).exp() - z * z / 2).exp()

    inside = acb.integral(integrand, -20, 20, abs_tol=arb("1e-80"), rel_tol=arb("1e-80")).real
    return inside / (2 * arb.pi()).sqrt() + arb(0, 1e-86)


@pytest.mark.parametrize(
    ("s", "p"), [(0.01, 0.0), (0.3, 0.0), (1.0, 0.0), (4.0, 0.0), (1.0, 0.5), (3.0, 1.0), (0.3, 6.0)]
)
def test_inner_rule_agrees_with_adaptive_integration(s: float, p: float) -> None:
    with ctx.workprec(320):
        nats = 110.0
        rule = InnerRule.for_nats(arb(s), arb(s * inner_step(s, nats, p)), p, nats)
        start, stride, count = -6.5, 3, 5
        for i, psi in enumerate(rule.at(arb(start), stride, count)):
            t = arb(start) + i * stride * rule.eta
            assert psi.overlaps(psi_by_integral(s, t, p))
            assert psi.rad() < 1e-46


@pytest.mark.parametrize("s", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("p", [0.0, 0.75, 2.0])
def test_inner_strip_bound_dominates_coarse_steps(s: float, p: float) -> None:
    tight = []
    with ctx.workprec(320):
        for nats in (2, 5, 10, 20, 35):
            eta = s * inner_step(s, nats, p)
            coarse = InnerRule(arb(s), arb(eta), p, 250.0, int(22 * s / eta) + 2)
            bound = coarse.strip_error()
            for t in (-4.0, -0.7, 0.4, 1.5):
                observed = abs(coarse.at(arb(t), 1, 1)[0].mid() - psi_by_integral(s, t, p))
                assert observed.lower() <= bound.upper()
                tight.append(float(observed.upper() / bound.lower()))
    # Nor is the bound vacuous: the worst case over the grid uses .17 to .99 of it.
    assert max(tight) > 0.1


def test_direct_and_shared_mesh_agree() -> None:
    with ctx.workprec(320):
        rule = InnerRule.for_nats(arb(1), arb(inner_step(1.0, 110.0, 0.5)), 0.5, 110.0)
        direct = rule._direct(arb(-3), 2, 20)
        first, last = rule._window(-3.0)
        shared = rule._convolution(arb(-3), 2, 20, max(first, -rule.reach), min(last, 38 + rule.reach))
        assert max(float(abs(a - b).upper()) for a, b in zip(direct, shared)) < 1e-45


COARSE = [
    Monomial(S.One, S.Zero, S.Zero, {(S.One, S.Zero): 3}),
    Monomial(S.One, S.One, S.Zero, {(S.One, S.Zero): 1, (S.One, S.One): 2}),
    Monomial(S.One, Integer(2), S.One, {(Integer(2), Rational(-1, 3)): 5}),
    Monomial(S.One, Rational(-1, 2), Rational(1, 2), {(Rational(1, 3), S.Zero): 40}),
]


def on_mesh(term: Monomial, step: float) -> _Integral:
    """The same integral on a mesh of our choice, with phi to 110 nats."""
    floats = tuple((float(s), float(c), n) for (s, c), n in term.tokens.items())
    shape = Shape(float(term.power + 1), float(term.offset), floats)
    plan = make_plan(shape, 60.0)
    integral = _Integral(term, shape, plan, 60.0)
    count = int((plan.high - plan.low) / step) + 2
    integral.mesh = Mesh(arb(plan.low), arb(step), count, outer_strip(shape.k, step))
    integral.symbolic_step, integral.token_nats = None, 110.0
    return integral


@pytest.mark.parametrize("term", COARSE)
def test_outer_strip_bound_dominates_coarse_steps(term: Monomial) -> None:
    tight = []
    with ctx.workprec(BITS):
        true = laplace_integral(term, 120)
        for step in (2.5, 2.0, 1.6, 1.3, 1.0, 0.7, 0.5):
            integral = on_mesh(term, step)
            enclosure = integral.enclosure()
            bound = integral.discretisation()
            if bound < 1:
                assert enclosure.overlaps(true)
            trapezoid = enclosure_without_discretisation(integral)
            relative = abs(trapezoid / true - 1)
            assert relative.lower() <= bound.upper()
            tight.append(float(relative.upper() / bound.lower()))
    # Measured: the largest of the seven ratios is .11 to .37 over the four integrals.
    assert max(tight) > 0.1


def enclosure_without_discretisation(integral: _Integral) -> arb:
    """The infinite trapezoid sum itself, tails included."""
    integral.discretisation = lambda: arb(0)
    return integral.enclosure()


@pytest.mark.parametrize("term", COARSE)
def test_tail_bounds_dominate_the_tails(term: Monomial) -> None:
    with ctx.workprec(BITS):
        wide = on_mesh(term, 0.5)
        phis = wide._psis()
        values = []
        for i in range(wide.mesh.count):
            v = wide.mesh.low + i * wide.mesh.step
            value = (wide.k * v - wide.offset * v.exp()).exp()
            for index, (_, _, n) in enumerate(wide.tokens):
                value *= (phis[index][i] * (wide._log_factor(index) - wide.tilts[index] * v).exp()) ** n
            values.append(value)
        whole = wide.mesh
        for cut in range(10, whole.count - 10, 5):
            wide.mesh = Mesh(whole.low + cut * whole.step, whole.step, 1, whole.strip)
            assert sum(values[:cut], arb(0)).lower() <= wide.left_tail().upper()
            try:
                bound = wide.right_tail([psis[cut] for psis in phis])
            except ValueError:
                continue  # no decay yet: the bound is refused, not wrong
            assert sum(values[cut + 1 :], arb(0)).lower() <= bound.upper()


def test_fixed_point_error_dominates() -> None:
    with ctx.workprec(300):
        weights = [arb(1) / (3 + i) for i in range(9)]
        samples = [(arb(i) / 7).sin() ** 2 for i in range(11)]
        product, unit, error = fixed_point_product(weights, samples, 10)
        for q, coefficient in enumerate(product):
            true = sum((weights[i] * samples[q - i] for i in range(9) if 0 <= q - i < 11), arb(0))
            assert (arb((coefficient, unit)) + error).contains(true)
        assert error.rad() < 1e-3


def test_outer_error_refuses_a_strip_beyond_its_limit() -> None:
    with pytest.raises(ArithmeticError):
        outer_error(arb(1), arb(0.1), float(sympy.pi / 2) + 1e-9)


@pytest.mark.parametrize("nats", [100.0, 650.0, 720.0, 5000.0])
def test_the_plan_asks_no_more_of_a_token_than_needed_at_any_depth(nats: float) -> None:
    """e^-nats underflows in float64 beyond 745, the nats that a token needs must not jump there."""
    shape = Shape(1.0, 0.0, ((2**0.5, 2.0, 2), (2**0.5, 0.0, 1)))
    assert nats <= make_plan(shape, nats).token_nats < 1.1 * nats + 10


@pytest.mark.parametrize("depth", [34.0, 1000.0, 20000.0])
def test_light_and_heavy_tails_are_told_apart_at_any_depth(depth: float) -> None:
    laws = {
        "gauss": lambda x: -(x**2) / 2,
        "laplace": lambda x: -abs(x),
        "student": lambda x: -2.5 * np.log1p(x**2 / 4),
    }
    with np.errstate(over="ignore"):
        windows = {name: scan(law, -np.inf, np.inf, depth) for name, law in laws.items()}
    heavy = {name: window is not None and window.is_heavy for name, window in windows.items()}
    assert heavy == {"gauss": False, "laplace": False, "student": True}
