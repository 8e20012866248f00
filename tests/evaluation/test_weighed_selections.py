"""Selections under a task with a weight, against sums over tokens, softmax on the same law, and sequences that are drawn here."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Rational, Sum, exp, oo, tanh

from symslr.evaluation import evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import least_value, risk_value
from symslr.evaluation.sampling.quantiles import quantiles
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import ScalarLaw, laplace, normal, student
from symslr.model.symbols import Delta, L, chi, epsilon, l, nu, x
from symslr.model.task import Task
from symslr.theory import population_risk

SPARSEMAX = Attention("sparsemax")
SECONDS = 1.0


def sparsemax(scores: np.ndarray) -> np.ndarray:
    """By bisection for the threshold, (n, L)."""
    low, high = scores.max(axis=1, keepdims=True) - 1, scores.max(axis=1, keepdims=True)
    for _ in range(60):
        middle = (low + high) / 2
        above = np.maximum(scores - middle, 0).sum(axis=1, keepdims=True) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(scores - low, 0)


def of_sums(posterior: np.ndarray, weights: np.ndarray, mass: np.ndarray) -> float:
    """1 - M^2/Q."""
    hit, norm = mass @ (posterior * weights).sum(axis=1), mass @ (weights**2).sum(axis=1)
    return float(1 - hit**2 / norm)


@pytest.mark.parametrize("scale", [0.4, 1.4])
def test_max_slr_with_two_tokens_is_a_sum_over_both(scale):
    nodes = np.linspace(-8, 8, 2001)
    pairs = np.stack([part.ravel() for part in np.meshgrid(nodes, nodes)], axis=1)
    mass = np.exp(-((pairs**2).sum(axis=1)) / 2)
    posterior = np.exp(3 * (pairs - pairs.max(axis=1, keepdims=True)))
    posterior /= posterior.sum(axis=1, keepdims=True)
    risk = of_sums(posterior, sparsemax(scale * pairs), mass / mass.sum())
    found = risk_value(MaxSLR(3), SPARSEMAX, Rational(scale).limit_denominator(10), {"L": 2, "Delta": 0}, None, SECONDS)
    assert abs(float(found.value) - risk) < 5 * float(found.error) + 1e-6  # kinks between the nodes of the sum


def test_all_tokens_are_softmax():
    found = risk_value(MaxSLR(nu), Attention("top(4)"), 1, {L: 4, nu: 2, Delta: Rational(1, 2)}, None, SECONDS)
    known = evaluate(population_risk(MaxSLR(2).with_length(4), softmax, 1), {"Delta": Rational(1, 2)})
    assert abs(float(found.value - known.value)) < 5 * float(found.error)


def test_the_relevant_token_has_a_law_of_its_own():
    """Spiked-SLR given as a weight, beside the same law of location, whose rules share nothing but the search."""
    found, places = least_value(SpikedSLR(2).with_length(3), SPARSEMAX, {"Delta": 0}, None, SECONDS)
    known, _ = least_value(Task(nu=2, length=3, noise=0), SPARSEMAX)
    assert abs(float(found.value - known.value)) < 5 * float(found.error)
    assert 0.1 < float(places["a"].value) < 2


@pytest.mark.parametrize(
    ("task", "drawn", "log_weight"),
    [
        (
            Task(L * exp(2 * tanh(chi[epsilon])) / Sum(exp(2 * tanh(chi[l])), (l, 1, L)), 4, 0, student(3)),
            lambda random, n: random.standard_t(3, size=(n, 4)),
            lambda keys: 2 * np.tanh(keys),
        ),
        (
            Task.from_token_laws(laplace(1), laplace(0), length=3, noise=0),
            lambda random, n: random.laplace(size=(n, 3)) + np.eye(3)[0],
            lambda keys: np.abs(keys) - np.abs(keys - 1),
        ),
        (
            Task.from_token_laws(ScalarLaw(2 * x, 0, 1), ScalarLaw(1, 0, 1), length=3, noise=0),
            lambda random, n: np.concatenate([np.sqrt(random.random((n, 1))), random.random((n, 2))], axis=1),
            np.log,
        ),
    ],
    ids=["selection among Student tokens", "Laplace tokens", "tokens on an interval"],
)
def test_own_laws_are_those_of_drawn_sequences(task, drawn, log_weight):
    keys = drawn(np.random.default_rng(3), 400_000)
    posterior = np.exp(log_weight(keys))
    posterior /= posterior.sum(axis=1, keepdims=True)
    weights = sparsemax(keys)
    risks = [
        of_sums(posterior[part], weights[part], np.full(len(part), 1 / len(part)))
        for part in np.array_split(np.arange(len(keys)), 20)
    ]
    found = risk_value(task, SPARSEMAX, 1, {}, None, SECONDS)
    error = np.hypot(float(found.error), np.std(risks, ddof=1) / np.sqrt(20))
    assert abs(float(found.value) - np.mean(risks)) < 5 * error + 1e-4  # a mean of ratios is off by 1/n


def test_a_law_of_the_length_is_a_mixture():
    law = LengthLaw({1: Rational(1, 2), 3: Rational(1, 2)})
    found = risk_value(MaxSLR(2).with_length(law), Attention("top(3)"), 1, {"Delta": 0}, None, SECONDS)
    known = evaluate(population_risk(MaxSLR(2).with_length(law), softmax, 1), {"Delta": 0})
    assert abs(float(found.value - known.value)) < 5 * float(found.error)


def test_the_largest_token_gets_all_weight_at_large_scales():
    found, places = least_value(MaxSLR(oo), SPARSEMAX, {"L": 5, "Delta": 1})
    assert (found.value, places["a"].value) == (1, float("inf"))


@pytest.mark.parametrize(
    "law", [normal(3, 4), laplace(-2), student(2), ScalarLaw(exp(-x), 0), ScalarLaw(exp(x), -oo, 0)]
)
def test_quantiles_have_the_mass_that_they_say(law):
    from scipy.integrate import quad
    from sympy import lambdify

    density, ends = lambdify(x, law.density, "numpy"), [float(end) for end in law.support]
    for share in (1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6):
        place = float(quantiles(law)(np.array([share]))[0])
        below = quad(density, ends[0], place, epsabs=1e-13, limit=300)[0]
        assert below == pytest.approx(share, rel=1e-6, abs=1e-12)


def test_what_is_refused():
    far = Task.from_token_laws(normal(10**9, 1), normal(10**9 + 1, 1), length=3, noise=0)
    with pytest.raises(CannotEvaluate, match="its mass is"):
        risk_value(far, SPARSEMAX, 1, {})
    with pytest.raises(ValueError, match="no value for nu"):
        risk_value(MaxSLR(nu).with_length(3), SPARSEMAX, 1, {"Delta": 0})


def tangents(keys: np.ndarray) -> np.ndarray:
    return 1 + np.tanh(keys) * np.exp(-(keys**2).sum(axis=1, keepdims=True))


def squares(keys: np.ndarray) -> np.ndarray:
    return np.exp(keys - 0.5) * (keys**2).sum(axis=1, keepdims=True) / 4


@pytest.mark.parametrize(
    ("weight", "values"),
    [
        (1 + tanh(chi[epsilon]) * exp(-Sum(chi[l] ** 2, (l, 1, L))), tangents),
        (exp(chi[epsilon] - Rational(1, 2)) * Sum(chi[l] ** 2, (l, 1, L)) / (L + 1), squares),
    ],
    ids=["tangents", "squares"],
)
def test_sequences_have_an_importance_where_the_weight_selects_no_token(weight, values):
    """The position is drawn first, and each sequence counts by its own weight: no posterior but in the definition of the risk."""
    random = np.random.default_rng(4)
    risks, bayes = [], []
    for _ in range(20):
        keys = random.normal(size=(40_000, 3))
        at, weights = values(keys), sparsemax(1.3 * keys)
        row, own = np.arange(len(keys)), random.integers(3, size=len(keys))
        mass = at[row, own] / len(keys)
        hit, norm = mass @ weights[row, own], mass @ (weights**2).sum(axis=1)
        risks.append(1 - hit**2 / norm)
        bayes.append(1 - mass @ (at / at.sum(axis=1, keepdims=True))[row, own])
    found = risk_value(Task(weight, 3, 0), SPARSEMAX, Rational(13, 10), {}, None, SECONDS)
    error = np.hypot(float(found.error), np.std(risks, ddof=1) / np.sqrt(20))
    assert abs(float(found.value) - np.mean(risks)) < 5 * error
    assert float(found.value) > np.mean(bayes) + 5 * np.std(bayes, ddof=1) / np.sqrt(20)
