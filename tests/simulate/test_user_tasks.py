"""Weights and token laws of a user: Bayes' rule by Monte Carlo against quadrature of its definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from sympy import Sum, exp

from symslr.model.attention import Attention
from symslr.model.scalar_law import laplace, normal, student
from symslr.model.symbols import Delta, L, chi, epsilon, l, x
from symslr.model.task import Task
from symslr.simulate import bayes_monte_carlo, risk_monte_carlo

SIZE = 200_000
LIMIT = 4.5

USER_TASKS = {
    "variance spike": Task.from_token_laws(normal(0, 4)),
    "student": Task.from_token_laws(student(3, 1)),
    "laplace with shift": Task.from_token_laws(laplace(1)),
    "square": Task(chi[epsilon] ** 2),
    "square and mean square": Task((chi[epsilon] ** 2 + Sum(chi[l] ** 2, (l, 1, L)) / L) / 2),
    "selection by square": Task(L * chi[epsilon] ** 2 / Sum(chi[l] ** 2, (l, 1, L))),
}
JOINT = {
    # density of (chi_1, chi_2) given epsilon = 1, and g(2, chi)/g(1, chi), in NumPy alone
    "variance spike": lambda s, t: (stats.norm.pdf(s, scale=2) * stats.norm.pdf(t), 3 * (t**2 - s**2) / 8),
    "student": lambda s, t: (
        stats.t.pdf(s, 3, 1) * stats.norm.pdf(t),
        (t**2 - s**2) / 2 + stats.t.logpdf(t, 3, 1) - stats.t.logpdf(s, 3, 1),
    ),
    "laplace with shift": lambda s, t: (
        stats.laplace.pdf(s, 1) * stats.norm.pdf(t),
        (t**2 - s**2) / 2 - abs(t - 1) + abs(s - 1),
    ),
    "square": lambda s, t: (s**2 * stats.norm.pdf(s) * stats.norm.pdf(t), np.log(t**2 / s**2)),
    "square and mean square": lambda s, t: (
        (3 * s**2 + t**2) / 4 * stats.norm.pdf(s) * stats.norm.pdf(t),
        np.log((3 * t**2 + s**2) / (3 * s**2 + t**2)),
    ),
    "selection by square": lambda s, t: (
        2 * s**2 / (s**2 + t**2) * stats.norm.pdf(s) * stats.norm.pdf(t),
        np.log(t**2 / s**2),
    ),
}


def _two_token_bayes_risk(name: str) -> float:
    """E[1 - p_epsilon] at L = 2, Delta = 0 by the midpoint rule in x = sinh u; 1.3e-5 off where it is exactly 1/4."""
    step = 0.01
    u = np.arange(-9, 9, step) + step / 2
    own, other = np.sinh(u)[:, None], np.sinh(u)[None, :]
    density, log_odds = JOINT[name](own, other)
    mass = density * np.cosh(u)[:, None] * np.cosh(u)[None, :] * step**2
    assert mass.sum() == pytest.approx(1, abs=1e-5)
    return float(np.sum(mass * special.expit(log_odds)))


@pytest.mark.parametrize("name", USER_TASKS)
def test_user_tasks_agree_with_quadrature_on_both_paths(name: str) -> None:
    exact = _two_token_bayes_risk(name) + 0.09
    values = {L: 2, Delta: 0.3}
    fast = bayes_monte_carlo(USER_TASKS[name], values, size=SIZE, seed=201)
    slow = bayes_monte_carlo(USER_TASKS[name], values, size=SIZE, seed=202, path="sequences", dimension=3)
    assert abs(fast.z_score(exact)) < LIMIT
    assert abs(slow.z_score(exact)) < LIMIT


def test_likelihood_ratio_kernel_is_bayes_rule_of_a_token_law() -> None:
    """Section 3: for token laws p1, p0 the optimal attention is normalised with kappa = p1/p0."""
    task, ratio = USER_TASKS["variance spike"], exp(3 * x**2 / 8)
    attention = Attention(ratio, name="variance ratio")
    values = {L: 5, Delta: 0}
    bayes = bayes_monte_carlo(task, values, size=20_000, seed=211)
    found = risk_monte_carlo(task, attention, values, size=20_000, seed=211)
    assert found.mean == pytest.approx(bayes.mean, rel=1e-9)
