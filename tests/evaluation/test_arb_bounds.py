"""The error bounds of the certified backend dominate the errors that coarse meshes really make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from flint import acb, arb, ctx
from sympy import Expr, Integer, Rational, S, exp

from symslr.evaluation.certified.exponential import GUARD_NATS, PhiRule, laplace_integral
from symslr.evaluation.certified.inner import InnerRule, fixed_point_product, inner_step
from symslr.evaluation.certified.normal_form import Monomial
from symslr.evaluation.certified.outer import FEW_COPIES, Integrand, outer_error
from symslr.evaluation.numbers.elementary import ball, whole_power
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
    Monomial(S.One, (S.Zero,), (S.Zero,), {(S.One, S.Zero): 3}),
    Monomial(S.One, (S.One,), (S.Zero,), {(S.One, S.Zero): 1, (S.One, S.One): 2}),
    Monomial(S.One, (Integer(2),), (S.One,), {(Integer(2), Rational(-1, 3)): 5}),
    Monomial(S.One, (Rational(-1, 2),), (Rational(1, 2),), {(Rational(1, 3), S.Zero): 40}),
]


def on_mesh(term: Monomial, step: float) -> tuple[PhiRule, Integrand]:
    """The same integral with a step of our choice, with phi to 110 nats."""
    integrand = Integrand(ball(term.powers[0] + 1), ball(term.offset), tuple(term.tokens.values()))
    rule = PhiRule(list(term.tokens), integrand, 60.0)
    rule.step, rule.nats = step, 110.0
    return rule, integrand


@pytest.mark.parametrize("term", COARSE)
def test_outer_strip_bound_dominates_coarse_steps(term: Monomial) -> None:
    tight = []
    with ctx.workprec(BITS):
        for step in (2.5, 2.0, 1.6, 1.3, 1.0, 0.7, 0.5):
            for quarter in range(4):  # the error depends on where the nodes lie
                moved = shifted(term, Rational(str(step)) * quarter / 4)
                true = laplace_integral(moved, 120)
                rule, integrand = on_mesh(moved, step)
                enclosure, bound = rule.integral(integrand, 60.0), rule.discretisation(integrand)
                if bound < 1:
                    assert enclosure.overlaps(true)
                rule.discretisation = lambda _: arb(0)
                relative = abs(rule.integral(integrand, 60.0) / true - 1)
                assert relative.lower() <= bound.upper()
                tight.append(float(relative.upper() / bound.lower()))
    # Measured: the largest ratio is .15 to .37 over the four integrals.
    assert max(tight) > 0.1


def shifted(term: Monomial, by: Expr) -> Monomial:
    """The integral in u e^{by} instead of u."""
    tokens = {(s, c + by): n for (s, c), n in term.tokens.items()}
    return replace(term, offsets=(term.offset * exp(by),), tokens=tokens)


@pytest.mark.parametrize("term", COARSE)
def test_tail_bounds_dominate_the_tails(term: Monomial) -> None:
    with ctx.workprec(BITS):
        rule, integrand = on_mesh(term, 0.5)
        nodes = range(-240, 60)
        rule.fill(nodes)
        values = []
        for i in nodes:
            v = i * rule.exact_step
            value = (integrand.k * v - integrand.offset * v.exp()).exp()
            for n, phi in zip(integrand.copies, rule.known[i]):
                value *= whole_power(phi, n)
            values.append(value)
        frozen = tuple(0 if n <= FEW_COPIES else n // 2 for n in integrand.copies)
        far = rule.before(integrand.k, nodes[0])
        bounded = 0
        for cut in range(100, len(nodes) - 10, 5):
            before = sum(values[:cut], far * arb(0.5, 0.5))
            for terms in (0, 1, 4):
                start = rule._start(integrand, nodes[cut], terms)
                parts = [rule.before(integrand.k + r, nodes[cut]) * p for r, p in enumerate(start.polynomial.coeffs())]
                assert before.overlaps(sum(parts, start.rest * rule.before(integrand.k, nodes[cut])))
            size, powers = rule._moment_bound(integrand, frozen, nodes[cut] * rule.step)
            if size < np.inf:  # else there is no decay yet: the bound is refused, not wrong
                bounded += 1
                bound = rule._right_tail(integrand, nodes[cut], frozen, powers)
                assert sum(values[cut + 1 :], arb(0)).lower() <= bound.upper()
        assert bounded > 8


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
    tokens = [(sympy.sqrt(2), Integer(2)), (sympy.sqrt(2), Integer(0))]
    rule = PhiRule(tokens, Integrand(arb(1), arb(0), (2, 1)), nats)
    assert nats <= rule.nats - GUARD_NATS < 1.1 * nats + 10


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
