"""Posteriors of several relevant tokens, and the tables of one token, against sums written out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sympy import Abs, Rational

from symslr.evaluation.location import bayes_value
from symslr.evaluation.location.posterior import by_enumeration, configurations, posterior
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets import counts
from symslr.evaluation.location.subsets.counts import inclusion_probabilities
from symslr.evaluation.location.tables.rules import COARSE
from symslr.evaluation.location.tables.tokens import FINEST, LogKernelLaw, nodes
from symslr.model.symbols import i, j, l
from tests.evaluation.laws_of_location import (
    CHAIN,
    SIGNS,
    VECTORS,
    task,
)


def test_large_subsets_stay_finite_and_sum_to_their_size() -> None:
    logs = 6 * np.random.default_rng(1).normal(size=(2, 700))
    for size in (1, 3, 350, 699):
        inside, outside, _ = inclusion_probabilities(logs, size)
        np.testing.assert_allclose(inside.sum(axis=1), size, rtol=1e-11)
        np.testing.assert_allclose(inside + outside, 1, rtol=1e-12)
    softmaxed = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(inclusion_probabilities(logs, 1)[0], softmaxed, rtol=1e-9)
    np.testing.assert_allclose(inclusion_probabilities(logs, 1)[2], np.log(np.exp(logs).sum(axis=1)), rtol=1e-9)


def test_a_table_of_moments_is_the_sum_over_tokens() -> None:
    """Masses spread over a grid of log kappa against sums over the tokens themselves, far below and above u kappa = 1."""
    setting = Setting.of(task(3, 4, signal=VECTORS))
    found = nodes(setting, 0.3)
    log_kernel = np.where(found.keys[:, 0] > 2, -np.inf, 3 * found.keys[:, 0] - found.keys[:, 1])
    for step in (FINEST, COARSE.load * FINEST):
        made = LogKernelLaw.of(found, log_kernel, step).table(int(-60 / step), int(80 / step))
        size = np.exp(np.minimum(made.logs[:, None] + log_kernel, 700.0))
        for masses, moments, log_left in (
            (found.others, made.others, made.log_others),
            (found.relevant, made.relevant, made.log_relevant),
        ):
            sums = [(size**power * np.exp(-size)) @ masses for power in range(3)]
            assert np.max(np.abs(moments - sums)) < 2e-14
            gone = -np.expm1(-size) @ masses
            few = gone < 0.4
            assert np.max(np.abs(log_left[few] / np.log1p(-gone[few]) - 1)) < 1e-12


@pytest.mark.parametrize(
    "law",
    [
        {"location": "subset(2)"},
        {"location": "subset(3)", "signal": SIGNS, "prior": 1 / l},
        {"location": "independent(1/(2+l))", "signal": "1:1/3,-2:2/3"},
        {"location": "subset(2)", "signal": "(1,0):1/2,(1/2,1):1/2"},
    ],
)
def test_a_chain_with_several_relevant_tokens_is_summed_along_it(law: dict[str, Any]) -> None:
    """Sums forwards and backwards against all configurations, one after the other."""
    setting = Setting.of(task(5, 3, key_covariance=2 * Rational(-1, 3) ** Abs(i - j), **law))
    keys = 2 * np.random.default_rng(1).standard_normal((40, 5, setting.directions))
    mean, left = posterior(setting)(keys)
    expected = by_enumeration(setting, configurations(setting), keys)
    assert mean == pytest.approx(expected[0], abs=1e-13)
    assert left == pytest.approx(expected[1], abs=1e-13)


def test_a_long_chain_with_two_relevant_tokens_agrees_with_samples() -> None:
    law = task(60, 10, location="subset(2)", key_covariance=CHAIN)
    setting, rng = Setting.of(law), np.random.default_rng(5)
    found = bayes_value(law, seconds=2.0)
    root, count = np.linalg.cholesky(setting.key_matrix), 4000
    relevant = np.argsort(rng.random((count, 60)), axis=1) < 2
    keys = rng.standard_normal((count, 60)) @ root.T + np.sqrt(10) * relevant
    loss = np.sum((relevant / 2 - posterior(setting)(keys[..., None])[0]) ** 2, axis=1)
    spread = np.hypot(loss.std() / np.sqrt(count), float(found.error))
    assert abs(loss.mean() - float(found.value)) < 4 * spread


@pytest.mark.parametrize(("first", "left"), [(-5000, 1.0), (5000, 0.0)])
def test_a_table_far_from_all_tokens_has_their_limits(first: int, left: float) -> None:
    """log u so small that no token is cut off, or so large that all are: a steep kernel's search asked for such a table."""
    spectrum = LogKernelLaw(0.1, -50, np.full((2, 101), 1 / 101), np.zeros(2))
    table = spectrum.table(first, 40)
    for law in (table.others, table.relevant):
        assert np.allclose(law[0], left)
        assert np.allclose(law[1:], 0.0)


def test_all_tokens_relevant_and_counts_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = np.random.default_rng(0).normal(size=(5, 7))
    inside, outside, total = inclusion_probabilities(logs, 7)
    assert np.all(inside == 1)
    assert np.all(outside == 0)
    np.testing.assert_allclose(total, np.log(np.prod(np.exp(logs), axis=1)), rtol=1e-13, atol=1e-13)
    monkeypatch.setattr(counts, "MOST_CHANCES", 60)
    inside, outside, total = inclusion_probabilities(logs, 3)
    products = np.array([[np.prod(np.exp(one[list(c)])) for c in combinations(range(7), 3)] for one in logs])
    holds = np.array([[place in c for place in range(7)] for c in combinations(range(7), 3)])
    np.testing.assert_allclose(total, np.log(products.sum(axis=1)), rtol=1e-12)
    np.testing.assert_allclose(inside, products @ holds / products.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(inside + outside, 1, rtol=1e-12)
