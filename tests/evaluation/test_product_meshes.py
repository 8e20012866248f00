"""Weights that nothing reduces, over meshes of all tokens at once, against other meshes of the same definition."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, Expr, Integer, Rational, Sum, exp, sin, sqrt, tanh

from symslr.evaluation import evaluate
from symslr.expression.expectation import SequenceExpectation
from symslr.model.attention import Attention
from symslr.model.symbols import L, chi, epsilon, l, x, z
from symslr.model.task import Task
from symslr.theory import bayes_risk, population_risk


def pairs(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two tokens on steps of their own, (count, 1) and (1, 1.3 count), and what each pair counts."""
    one, two = np.linspace(-9, 9, count)[:, None], np.linspace(-9.1, 9.1, int(1.3 * count))[None, :]
    mass = np.exp(-(one**2) / 2 - two**2 / 2)
    return one, two, mass / mass.sum()


def ridge(steep: int) -> Expr:
    apart = Sum(tanh(steep * (chi[l] - chi[epsilon])), (l, 1, L))
    return 1 + apart * -6 * exp(-36 * apart**2)


@pytest.mark.parametrize("steep", [1, 2, 5, 12])
def test_a_ridge_where_two_tokens_nearly_agree_is_seen(steep: int) -> None:
    """Regression: all axes had the same nodes, and so every mesh the ridge's crest alone: the risk was 1 with an error of 9e-14."""
    one, two, mass = pairs(6000)
    apart = np.tanh(steep * (two - one))
    weight = 1 - 6 * apart * np.exp(-36 * apart**2)
    hit = np.sum(mass * weight * np.tanh(one))
    square = np.sum(mass * (np.tanh(one) ** 2 + np.tanh(two) ** 2))
    risk = population_risk(Task(ridge(steep), length=2, noise=Integer(0)), Attention(tanh(x), None))
    found = evaluate(risk, {"a": 1})
    assert abs(float(found) - (1 - hit**2 / square)) <= float(found.error) + 1e-14
    assert float(found.error) < 1e-6


def test_meshes_that_come_to_no_end_are_confirmed_as_well() -> None:
    """Regression: 0.363377816 with an error of 2.1e-6 for 0.363380236; both posteriors vanish where the weights are 0 at once."""
    weight = 1 + sin(4 * chi[epsilon] + Rational(5, 2) * Sum(chi[l], (l, 1, L)))
    one, two, mass = pairs(5000)
    own, other = (1 + np.sin(4 * part + 2.5 * (one + two)) for part in (one, two))
    known = 1 - np.sum(mass * (own**2 + other**2) / (own + other)) / 2
    found = evaluate(bayes_risk(Task(weight, length=2, noise=Integer(0))))
    assert abs(float(found) - known) <= float(found.error) + 2e-8
    assert float(found.error) < 1e-5


def test_a_sum_over_tokens_of_nothing_is_no_weight() -> None:
    """Regression: a KeyError in the logarithm of its terms."""
    nothing = Sum(0, (l, 1, L))
    assert float(
        evaluate(bayes_risk(Task(1 - nothing / (1 + nothing**2), length=2, noise=Integer(0))))
    ) == pytest.approx(0.5)


@pytest.mark.parametrize("has_kink", [False, True])
def test_means_of_values_beside_a_weight_of_pairs(has_kink: bool) -> None:
    """E z^4 = 3 and E z^2 = 1, under g = (1 + e^{-(s - t)^2})/(1 + 1/sqrt 5): panels that end at the kink of |s - 1|."""
    weight = Sum(exp(-((chi[l] - chi[epsilon]) ** 2)), (l, 1, L)) / (1 + (L - 1) / sqrt(5))
    key = chi[epsilon]
    body = Abs(key - 1) * exp(-(key**2)) * z[epsilon] ** 2 if has_kink else key**2 * z[epsilon] ** 4
    found = evaluate(SequenceExpectation(body, Task(weight, length=2, noise=0).law), {"L": 2})
    nodes, weights = np.polynomial.legendre.leggauss(80)
    ends = [(-9.0, 1.0), (1.0, 9.0)]
    s = np.concatenate([(high + low) / 2 + (high - low) / 2 * nodes for low, high in ends])
    mass = np.concatenate([(high - low) / 2 * weights for low, high in ends]) * np.exp(-(s**2) / 2) / np.sqrt(2 * np.pi)
    near = (1 + np.exp(-((s[:, None] - s) ** 2)) @ mass) / (1 + 1 / np.sqrt(5))
    known = mass @ (near * (np.abs(s - 1) * np.exp(-(s**2)) if has_kink else 3 * s**2))
    assert abs(float(found) - known) <= float(found.error) + 1e-13
