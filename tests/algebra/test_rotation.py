"""Rotations of the scores: what they give, and when they refuse."""

from __future__ import annotations

import pytest
from sympy import Rational, Sum, expand

from symslr.algebra.rules import Collect, GaussianMoments, RotateNoise, TurnTowardsKey
from symslr.check.monte_carlo import simulate_expectation
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax, softmax1
from symslr.model.symbols import L, a, chi, epsilon, eta, l, m, nu, z
from symslr.referee.referee import referee

SCORE = Rational(1, 2) * chi[m] + Rational(2, 5) * z[m] - Rational(3, 10) * eta[m]
SIGMA = ScoredActivation.of(epsilon, softmax1, SCORE)
LOSS = (z[epsilon] - Sum(SIGMA.at(l) * (2 * chi[l] + z[l] - eta[l]), (l, 1, L))) ** 2
SPIKED, MAX = SpikedSLR().law, MaxSLR().law


@pytest.mark.parametrize("law", [SPIKED, MAX], ids=["spiked", "max"])
def test_rotating_the_noise_keeps_the_mean(law: object) -> None:
    """At L = 1 by quadrature to 12 digits, at L = 3 by simulation."""
    node = SequenceExpectation(LOSS, law)
    turned = RotateNoise().rewrite(node)
    sigma = next(iter(turned.atoms(ScoredActivation)))
    assert expand(sigma.score - chi[m] / 2 - z[m] / 2) == 0
    one = {"L": 1, "nu": Rational(3, 2)}
    before, after = referee(node, one, 10), referee(turned, one, 10)
    assert abs(float(before.value - after.value)) < 1e-9 * float(before.value)
    samples = [
        simulate_expectation(item, {"L": 3, "nu": 1.5}, 50_000, seed) for seed, item in enumerate((node, turned))
    ]
    assert abs(samples[0].z(samples[1].mean, samples[1].error)) < 4


def test_turning_towards_the_key_keeps_the_mean_and_weakens_the_shift() -> None:
    node = RotateNoise().rewrite(SequenceExpectation(LOSS, SPIKED))
    turned = TurnTowardsKey().rewrite(node)
    assert turned.law.relevant_factor == SpikedSLR(nu / 2).law.relevant_factor
    assert not turned.has(ScoredActivation)
    for length in (1, 2):
        values = {"L": length, "nu": Rational(3, 2)}
        before, after = (referee(item, values, 8) for item in (node, turned))
        assert abs(float(before.value - after.value)) < 1e-7 * float(before.value)


def test_scores_keep_their_values_from_being_integrated() -> None:
    kept = SequenceExpectation(SIGMA.with_score(chi[m] + z[m]) * z[epsilon] * eta[epsilon] ** 2, MAX)
    assert GaussianMoments().rewrite(kept) == SequenceExpectation(SIGMA.with_score(chi[m] + z[m]) * z[epsilon], MAX)


def test_an_attention_at_scores_is_one_at_keys_where_the_score_is_the_key() -> None:
    """sigma at the score a chi is the attention at scale a."""
    scored = ScoredActivation.of(epsilon, softmax, a * chi[m])
    assert scored.doit() == Activation.of(epsilon, softmax, a).doit()
    assert scored.subs(a, 2).score == 2 * chi[m]


def test_collection_brings_coefficients_to_lowest_terms() -> None:
    mean = SequenceExpectation(chi[epsilon], MAX)
    assert Collect().rewrite(a**2 * mean / (1 + a) - mean / (1 + a)) == (a - 1) * mean
