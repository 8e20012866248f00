"""Several relevant tokens by compressed laws of counts of coins."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sympy import Rational

from symslr.evaluation.location.bayes import bayes_means
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.points import sampled
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets.coins import Coins
from symslr.evaluation.location.subsets.compressed import _Groups, compressed_means
from symslr.evaluation.location.subsets.controls import subset_means
from symslr.evaluation.location.subsets.counts import convolved
from symslr.evaluation.location.subsets.pairs import pairs_means
from symslr.evaluation.location.tables.rules import FINE
from symslr.expression.value import Kind
from tests.evaluation.laws_of_location import CHAIN, SIGNS, VECTORS, task

SECONDS = 120.0
"""More than any of these takes: rules end where two agree."""


def by_enumeration(size: int, prior: list[float], strength: float, support: dict[float, float], step: float) -> float:
    """sum_l E p_l (1 - p_l)/s^2 from the definition: a trapezoid rule over four keys, with the weight of every subset."""
    theta, share = np.array(list(support)), np.array(list(support.values()))
    root = np.sqrt(strength)
    keys = np.arange(root * min(0, theta.min()) - 7.5, root * max(0, theta.max()) + 7.5, step)
    weight = np.exp(root * np.outer(keys, theta) - theta**2 * strength / 2) @ share
    mass = np.exp(-(keys**2) / 2) / np.exp(-(keys**2) / 2).sum()
    axes = [np.ix_(*[one] * 4) for one in (weight, mass)]
    subsets = list(combinations(range(4), size))
    of_subset = [np.prod([prior[l] for l in chosen]) for chosen in subsets]
    density = [
        share / sum(of_subset) * _product([axes[0][l] for l in chosen]) for share, chosen in zip(of_subset, subsets)
    ]
    whole, measure = _summed(density), _product(axes[1])
    inside = [_summed([d for d, chosen in zip(density, subsets) if l in chosen]) for l in range(4)]
    return float(sum(np.sum(measure * part * (1 - part / whole)) for part in inside)) / size**2


def _product(parts: Any) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found * part
    return found


def _summed(parts: Any) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


@pytest.mark.parametrize(
    ("size", "prior", "support"),
    [
        (2, [1, 2, 3, 4], {1.0: 1.0}),
        (2, [1, 2, 2, 3], {1.0: 1.0}),
        (3, [1, 1, 1, 1], {1.0: 0.5, -1.0: 0.5}),
        (3, [1, 1, 5, 5], {0.5: 0.25, 1.5: 0.75}),
    ],
)
def test_every_subset_enumerated(size: int, prior: list[float], support: dict[float, float]) -> None:
    signal = {Rational(value): Rational(share) for value, share in support.items()}
    weights = None if len(set(prior)) == 1 else prior
    found = compressed_means(Setting.of(task(4, 2, location=f"subset({size})", prior=weights, signal=signal)), SECONDS)
    assert found is not None
    known = by_enumeration(size, prior, 2.0, support, 0.37)
    assert found.estimate().error < 1e-9 * known
    assert found.estimate().value == pytest.approx(known, rel=1e-10, abs=0)


@pytest.mark.parametrize(("length", "strength", "signal"), [(6, 3, "1:1"), (5, 9, "1:1"), (20, 2, SIGNS)])
def test_pairs_agree_with_their_series(length: int, strength: int, signal: str) -> None:
    setting = Setting.of(task(length, strength, location="subset(2)", signal=signal))
    found, known = compressed_means(setting, SECONDS), pairs_means(setting)
    assert found is not None
    assert known is not None
    part, exact = found.estimate(), known.estimate()
    assert abs(part.value - exact.value) <= part.error + exact.error
    assert part.error < 1e-7 * exact.value


@pytest.mark.parametrize(
    "law",
    [
        {"location": "subset(3)"},
        {"location": "subset(4)", "signal": SIGNS},
        {"location": "subset(2)", "signal": VECTORS},
        {"location": "subset(3)", "prior": [1, 2, 3, 4, 5, 6, 7]},
        {"location": "subset(2)", "prior": [1, 1, 1, 9, 1, 9, 1], "value_covariance": None},
    ],
)
def test_samples_agree(law: dict[str, Any]) -> None:
    setting = Setting.of(task(7, 2, **law))
    found = bayes_means(setting, SECONDS)
    assert found.kind is Kind.ESTIMATED
    assert "compressed" in found.method
    left = posterior(setting)
    drawn = sampled(setting, lambda keys, mass: np.array([mass @ left(keys)[1]]), 512).estimate()
    assert abs(found.estimate().value - drawn.value) < 4.5 * drawn.error
    assert found.estimate().error < 1e-6 * drawn.value


@pytest.mark.parametrize(("length", "size", "strength"), [(6, 3, 30), (8, 4, 30)])
def test_a_strong_signal_has_more_digits_than_samples(length: int, size: int, strength: int) -> None:
    """Beside the same with other trials, and beside samples with control variates."""
    setting = Setting.of(task(length, strength, location=f"subset({size})"))
    found, drawn = bayes_means(setting), subset_means(setting, 2.0)
    assert drawn is not None
    assert "compressed" in found.method
    part, known = found.estimate(), drawn.estimate()
    assert part.error < 1e-3 * part.value
    assert part.error < known.error
    assert abs(part.value - known.value) < part.error + 4.5 * known.error
    coins = Coins.of(setting, FINE)
    others = [_Groups(coins, 192, np.random.default_rng(seed)).risk() for seed in (10, 11)]
    assert np.max(np.abs(np.array(others) - part.value)) < 1e-3 * part.value


def test_counts_of_groups_are_convolved() -> None:
    """Beside all falls of five coins."""
    chances = np.array([0.1, 0.5, 0.9, 0.3, 0.7])
    coins = Coins.of(Setting.of(task(5, 2, location="subset(3)")), FINE)
    one = coins.vectors(np.log(chances) - np.log1p(-chances))
    first, second = convolved(one[:1], one[1:2]), convolved(convolved(one[2:3], one[3:4]), one[4:])
    found = convolved(first, second)[0]
    falls = (np.arange(32)[:, None] >> np.arange(5)) & 1
    likely = np.prod(np.where(falls == 1, chances, 1 - chances), axis=1)
    np.testing.assert_allclose(found, [likely[falls.sum(axis=1) == k].sum() for k in range(4)], rtol=1e-13)


def test_the_table_of_chances_is_exact() -> None:
    coins = Coins.of(Setting.of(task(5, 4, location="subset(2)", signal=SIGNS)), FINE)
    at = np.linspace(-60, 60, 997)
    known = np.array([coins.others @ (1 / (1 + np.exp(-np.clip(rho + coins.logs, -700, 700)))) for rho in at])
    np.testing.assert_allclose(coins.chance(at), known, atol=2e-14)


def test_other_laws_have_other_routes() -> None:
    for law in ({}, {"location": "subset(7)"}, {"location": "subset(2)", "key_covariance": CHAIN}):
        assert compressed_means(Setting.of(task(7, 2, **law)), SECONDS) is None
    assert compressed_means(Setting.of(task(300, 2, location="subset(3)")), SECONDS) is None


def test_many_tokens_of_a_kind_are_tried_from_a_pool() -> None:
    setting = Setting.of(task(110, 4, location="subset(2)"))
    found = _Groups(Coins.of(setting, FINE), 48, np.random.default_rng(1)).risk()
    known = pairs_means(setting)
    assert known is not None
    assert found == pytest.approx(known.estimate().value, rel=1e-5)
