"""The error bounds of the lattice of exponential kernels dominate the errors that coarse rules really make."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, gamma, pi

import numpy as np
import pytest
from flint import acb, arb, ctx
from sympy import Integer, Rational, S, sqrt

from symslr.evaluation.panels import axis, lattice
from symslr.evaluation.panels.lattice import Plan, _rounded, laplace_integral, table
from symslr.evaluation.panels.on_lattices import Monomial
from symslr.evaluation.quadrature.scan import scan


def psi_by_integral(s: float, t: float, m: float) -> arb:
    """psi_m(t) by Arb's adaptive integration on |z| <= 20, where the Gaussian leaves less than e^-200."""

    def integrand(z: acb, _: bool) -> acb:
        tilt = m * (t + s * z - arb(m).log()) + m if m else acb(0)
        return (tilt - (t + s * z).exp() - z * z / 2).exp()

    inside = acb.integral(integrand, -20, 20, abs_tol=arb("1e-80"), rel_tol=arb("1e-80")).real
    return inside / (2 * arb.pi()).sqrt() + arb(0, 1e-86)


@pytest.mark.parametrize(
    ("s", "m"), [(0.01, 0.0), (0.3, 0.0), (1.0, 0.0), (4.0, 0.0), (1.0, 0.5), (3.0, 1.0), (0.3, 6.0), (1e-3, 2.0)]
)
def test_a_table_agrees_with_adaptive_integration(s: float, m: float) -> None:
    """Also where a sample serves one node alone: the step is many of the rule's."""
    with ctx.workprec(320):
        nats, step = 110.0, arb(3) / 4
        for i, psi in enumerate(
            table(arb(s), arb(-6.5), step, ceil(0.75 / axis.step_for(nats, m, s)), 12, arb(m), nats)
        ):
            assert psi.overlaps(psi_by_integral(s, -6.5 + 0.75 * i, m))
            assert psi.rad() < 1e-46


@pytest.mark.parametrize("s", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("m", [0.0, 0.75, 2.0])
def test_the_bound_of_a_table_dominates_coarse_steps(s: float, m: float) -> None:
    tight = []
    with ctx.workprec(320):
        for nats in (5, 10, 20, 35):
            eta = axis.step_for(nats, m, s)
            bound = lattice.bound(axis.log_relative_error(eta, m, s))
            for t in (-4.0, -0.7, 0.0, 0.4, 0.7, 1.0, 1.5):
                found, true = table(arb(s), arb(t), arb(eta), 1, 1, arb(m), 250.0)[0], psi_by_integral(s, t, m)
                assert found.overlaps(true)
                if found.rad() > 0.99 * bound:  # it was not cut with [0, 1]
                    tight.append(float((abs(found.mid() - true) / bound).upper()))
    assert max(tight) > 0.1


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("step", [0.3, 0.7, 1.5])
def test_the_error_of_the_rule_holds_the_gamma_function_across(k: int, step: float) -> None:
    """Of u^{k-1} e^-u the first error term is 2 |Gamma(k + 2 pi i/h)|/Gamma(k); without cos(d)^-k nothing that large is claimed."""
    true = 2 * float(abs(acb(k, 2 * pi / step).gamma()).mid()) / gamma(k)
    claimed = axis.relative_error(step, k)
    assert true <= claimed <= 40 * k * true
    assert k == 1 or axis.relative_error(step, 0) < true


COARSE = [
    Monomial(S.One, S.Zero, S.Zero, {(S.One, S.Zero): 3}),
    Monomial(S.One, S.One, S.Zero, {(S.One, S.Zero): 1, (S.One, S.One): 2}),
    Monomial(S.One, Integer(2), S.One, {(Integer(2), Rational(-1, 3)): 5}),
    Monomial(S.One, Rational(-1, 2), Rational(1, 2), {(Rational(1, 3), S.Zero): 40}),
    Monomial(S.One, Integer(5), S.One, {(S.One, Integer(-60)): 1}),
    Monomial(S.One, Integer(5), S.Zero, {(S.One, S.Zero): 1, (Rational(1, 9), S.One): 1}),
]


def moved(early: bool) -> Callable[[pytest.MonkeyPatch], None]:
    """One end of the nodes comes half way to the maximum."""

    def short(patch: pytest.MonkeyPatch) -> None:
        made = axis.first_below
        patch.setattr(
            axis, "first_below", lambda of, most, rises: made(of, most, rises) * (0.5 if rises == early else 1.0)
        )

    return short


def long_steps(patch: pytest.MonkeyPatch) -> None:
    """Steps in log u are longer than those for which the error is claimed; those of the tables are not."""
    step, error = axis.step_for, axis.log_relative_error
    wide = 4.0
    patch.setattr(axis, "step_for", lambda nats, k, s=np.inf: step(nats, k, s) * (wide if s == np.inf else 1.0))
    patch.setattr(axis, "log_relative_error", lambda h, k, s=np.inf: error(h / wide if s == np.inf else h, k, s))


def coarse_tables(patch: pytest.MonkeyPatch) -> None:
    step, error = axis.step_for, axis.log_relative_error
    patch.setattr(axis, "step_for", lambda nats, k, s=np.inf: step(nats, k, s) * (1.0 if s == np.inf else 4.0))
    patch.setattr(axis, "log_relative_error", lambda h, k, s=np.inf: error(h if s == np.inf else h / 4, k, s))


def without_gamma(patch: pytest.MonkeyPatch) -> None:
    """The factor cos(d)^-k is left out of the steps and of what is claimed."""
    error = axis.log_relative_error
    patch.setattr(axis, "log_relative_error", lambda h, k, s=np.inf: error(h, 0, s))


BREAKS = {
    "first": (moved(True), True),
    "last": (moved(False), True),
    "step": (long_steps, False),
    "tables": (coarse_tables, False),
    "gamma": (without_gamma, False),
}


def holds(term: Monomial, true: arb) -> bool:
    try:
        return bool(laplace_integral(term, 60).overlaps(true))
    except ValueError:  # an enclosure of a number between 0 and 1 lies beside them
        return False


@pytest.mark.parametrize("name", BREAKS)
def test_a_bound_that_is_left_out_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what lies beyond the ends, nodes that end early are only a wide enclosure."""
    change, at_ends = BREAKS[name]
    truths = [laplace_integral(term, 200) for term in COARSE]
    change(monkeypatch)
    if at_ends:
        assert all(map(holds, COARSE, truths))
        monkeypatch.setattr(lattice, "beyond", lambda _: arb(0))
    assert not all(map(holds, COARSE, truths))


@pytest.mark.parametrize("term", COARSE)
def test_few_bits_and_many_agree_and_are_reached(term: Monomial) -> None:
    with ctx.workprec(1200):
        true = laplace_integral(term, 1000)
    assert true.rel_accuracy_bits() >= 1000
    for bits in (15, 53, 170):
        with ctx.workprec(bits + 40):
            found = laplace_integral(term, bits)
        assert found.overlaps(true)
        assert found.rel_accuracy_bits() >= bits


def test_fixed_point_error_dominates() -> None:
    with ctx.workprec(300):
        weights, samples = [arb(1) / (3 + i) for i in range(9)], [(arb(i) / 7).sin() ** 2 for i in range(11)]
        for own in (weights, samples):
            whole, unit, errors = _rounded(own, 10.0)
            for number, rounded, error in zip(own, whole, errors):
                assert abs(number - arb((rounded, unit))) <= error


@pytest.mark.parametrize("nats", [100.0, 650.0, 720.0, 5000.0])
def test_the_plan_asks_no_more_of_a_token_than_needed_at_any_depth(nats: float) -> None:
    """e^-nats underflows in float64 beyond 745, the nats that a token needs must not jump there."""
    tokens = {(sqrt(2), Integer(2)): 2, (sqrt(2), Integer(0)): 1}
    plan = Plan(Monomial(S.One, S.Zero, S.Zero, tokens), nats)
    assert nats <= plan.token_nats < 1.1 * nats + 10


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
