"""Risks of attentions along chains, given what keys share, and under laws of the length, against routes of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sympy import Abs, Heaviside, Rational, exp, log, sign

from symslr import Attention, Task, softmax
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import bayes_value, least_value, risk_value
from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues
from symslr.evaluation.location.chains.attention import moments_along_chain
from symslr.evaluation.location.means import least_squares_residual
from symslr.evaluation.location.moments import QuadratureMoments, route
from symslr.evaluation.location.posterior import (
    by_common_part,
    by_enumeration,
    configurations,
    from_inclusion,
    posterior,
)
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.rules import FINE, Rule
from symslr.expression.value import Kind
from symslr.model.location import Independent
from symslr.model.symbols import L, i, j, l, x
from symslr.simulate.location import LocationSampler

HALF = Rational(1, 2)
CHAIN = HALF ** Abs(i - j)
EQUAL = HALF ** sign(Abs(i - j))
SIGNS = "1:1/2,-1:1/2"
SOFTMAX1 = Attention(exp(x), offset=1)
SIGMOID = Attention(1 / (1 + exp(-x)), normaliser=None, name="sigmoid")


def task(length: Any, nu: object = 4, **law: Any) -> Task:
    return Task(nu=nu, length=length, noise=0, **law)


def row(law: Task, attention: Attention, scale: float) -> np.ndarray:
    return route(AttentionFunction(attention, Setting.of(law)), 1.0).means(at(scale)).rows[0]


def at(scale: float) -> ParameterValues:
    return ParameterValues(np.array([[scale]]), np.zeros(1), 0.0, ())


def drawn(law: Task, attend: Any, count: int, seed: int) -> tuple[float, float]:
    """The least risk over multiples of sigma, and its standard error, from sequences drawn by the definition in 20 batches."""
    lengths = ((int(law.length), 1.0),) if law.length.is_Integer else [(int(n), float(p)) for n, p in law.length]
    rng, found = np.random.default_rng(seed), []
    for _ in range(20):
        total = np.zeros(3)
        for length, share in lengths:
            at = replace(law, length=length, noise=0)
            sample = LocationSampler.of(at, {}).draw(count // 20, rng)
            f = np.sum(attend(sample.chi[..., 0]) * sample.z, axis=1)
            total += share * np.array([sample.y @ sample.y, sample.y @ f, f @ f]) / len(f)
        found.append(total)
    parts = np.array(found)
    mean = parts.mean(axis=0)
    best = mean[1] / mean[2]
    losses = parts @ np.array([1, -2 * best, best**2])
    return float(losses.mean()), float(losses.std(ddof=1) / 20**0.5)


def chunk(scores: np.ndarray, offset: float) -> np.ndarray:
    parts = np.exp(scores)
    return parts / (offset + parts.sum(axis=1, keepdims=True))


ALONG: dict[str, tuple[Task, Attention, Any]] = {
    "softmax": (task(60, 8, key_covariance=CHAIN), softmax, lambda k: chunk(k, 0)),
    "softmax-1, values too, sign": (
        task(25, key_covariance=2 * Rational(-1, 3) ** Abs(i - j), value_covariance=CHAIN, signal=SIGNS),
        SOFTMAX1,
        lambda k: chunk(k, 1),
    ),
    "prior and bias": (
        task(30, key_covariance=CHAIN, prior=1 / l, value_covariance=EQUAL),
        softmax.having(bias=-l / 8),
        lambda k: chunk(k - np.arange(1, 31) / 8, 0),
    ),
    "coins, sigmoid": (
        task(40, key_covariance=CHAIN, location="independent(1/8)"),
        SIGMOID,
        lambda k: 1 / (1 + np.exp(-k)),
    ),
    "three of twenty": (
        task(20, key_covariance=CHAIN, location="subset(3)", value_covariance=CHAIN),
        softmax,
        lambda k: chunk(k, 0),
    ),
    "coins of one correlation, softmax-1": (
        task(30, key_covariance=2 * EQUAL, location="independent(1/8)"),
        SOFTMAX1,
        lambda k: chunk(k, 1),
    ),
    "pairs of one correlation and sign, softmax": (
        task(12, key_covariance=2 * EQUAL, location="subset(2)", signal="2:1/2,-1:1/2"),
        softmax,
        lambda k: chunk(k, 0),
    ),
    "random length, entmax": (
        task({3: HALF, 7: HALF}, signal="1:1/2,2:1/2"),
        Attention("top(1)"),
        lambda k: 1.0 * (k == k.max(axis=1, keepdims=True)),
    ),
}


@pytest.mark.parametrize("name", ALONG)
def test_risks_agree_with_draws_of_the_definition(name: str) -> None:
    law, attention, written = ALONG[name]
    value = risk_value(law, attention, 1, seconds=0.5)
    mean, error = drawn(law, written, 100_000, 3)
    assert abs(mean - float(value)) < 4 * np.hypot(error, float(value.error))
    if "random" not in name:
        assert value.kind is Kind.ESTIMATED
        assert value.digits >= 12


def test_a_chain_is_walked_and_doubled_alike_for_attentions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prior of equal weights is walked; none is doubled beyond the length up to which walks are quicker."""
    monkeypatch.setattr("symslr.evaluation.location.chains.attention.MOST_WALKED", 1)
    for values in (None, CHAIN, EQUAL):
        law = {"key_covariance": CHAIN, "value_covariance": values, "location": "subset(2)"}
        doubled = row(task(9, **law), SOFTMAX1, 1.5)
        walked = row(task(9, prior=[1] * 9, **law), SOFTMAX1, 1.5)
        assert doubled == pytest.approx(walked, rel=1e-12)


@pytest.mark.parametrize(("rho", "length", "nu", "above"), [(-HALF, 5, 3, 0.409593), (HALF, 5, 4, 0.186082)])
def test_a_second_head_looks_far_away_from_the_first(rho: Rational, length: int, nu: int, above: float) -> None:
    """Regression: at rho = -1/2 a search ended where both heads are one, 1e-4 above."""
    law = task(length, nu, key_covariance=rho ** Abs(i - j))
    value, places = least_value(law, softmax.having(heads=2))
    assert float(value) < above
    assert abs(float(places["a_2"]) - float(places["a_1"])) > 1


def test_a_chain_without_correlation_is_a_table() -> None:
    """The transfer operator among independent keys against tables of one token, at a length where neither sums over tokens."""
    for law in (task(2000, 16), task(300, 8, location="subset(2)"), task(300, 8, location="independent(1/50)")):
        attend = AttentionFunction(SOFTMAX1, Setting.of(law))
        tabled = route(attend, 1.0)
        assert isinstance(tabled, QuadratureMoments)
        assert "tables" in tabled.method
        assert moments_along_chain(attend, at(2.5), FINE) == pytest.approx(tabled.means(at(2.5)).rows[0], rel=1e-11)


def test_a_kernel_of_two_sizes_is_summed_beyond_the_gap_between_them() -> None:
    """Regression: the sum over log u ended where 1 no longer counts and 1e-30 not yet, and 0.4698 was 0.5936 +- 0.28."""
    setting = Setting.of(task(2, Rational(1, 4), key_covariance=CHAIN, prior=[1, 2]))
    kernels = [Attention(Rational(1, 10**power) + Heaviside(x, 0), name="step") for power in (9, 30)]
    near, far = (moments_along_chain(AttentionFunction(kernel, setting), at(1.0), FINE) for kernel in kernels)
    assert near == pytest.approx(far, rel=1e-8)


def test_long_chains_keep_their_digits() -> None:
    """The difference of two rules bounds what a third one changes, at ten thousand tokens."""
    law = task(10_000, 20, key_covariance=CHAIN)
    value = risk_value(law, softmax, 4)
    assert value.digits >= 10
    attend = AttentionFunction(softmax, Setting.of(law))
    third = least_squares_residual(moments_along_chain(attend, at(4.0), Rule(0.86, 0.82, 1e-18, FINE.panels)))
    assert abs(third - float(value)) < float(value.error) + 1e-12


def test_softmax_does_not_see_what_keys_share() -> None:
    for law in ({"signal": SIGNS}, {"location": "independent(1/3)"}):
        shared = risk_value(task(9, 2, key_covariance=2 * EQUAL, **law), softmax, 1)
        plain = risk_value(task(9, 2, **law), softmax, 1)
        assert float(shared) == pytest.approx(float(plain), rel=1e-12)
        matched = softmax.having(filter="matched")
        assert float(risk_value(task(9, 2, key_covariance=2 * EQUAL, **law), matched, 1)) == pytest.approx(
            float(plain), rel=1e-12
        )


def test_least_risks_under_a_law_of_the_length() -> None:
    """One value vector for all lengths: the least risk is above the mean of those at each length, at or below any scale's."""
    law = {2: HALF, 5: HALF}
    entmax = Attention("entmax")
    value, places = least_value(task(law), entmax, seconds=0.2)
    parts = [least_value(task(n), entmax, seconds=0.2)[0] for n in law]
    assert float(value) > sum(float(part) for part in parts) / 2 - 5 * float(value.error)
    for scale in (0.5, 2.0, float(places["a"])):
        at = risk_value(task(law), entmax, Rational(str(scale)), seconds=0.5)
        assert float(value) < float(at) + 5 * (float(at.error) + float(value.error))
    two = least_value(task(law, signal=SIGNS), softmax.having(heads=2))[0]
    assert float(two) == pytest.approx(float(bayes_value(task(law, signal=SIGNS))), rel=1e-9)
    one = risk_value(task({6: 1}), softmax.having(heads=1, bias=-l / 4), 1)
    assert float(one) == pytest.approx(float(risk_value(task(6), softmax.having(bias=-l / 4), 1)), rel=1e-13)


def test_what_is_too_steep_for_a_mesh_is_refused() -> None:
    with pytest.raises(CannotEvaluate, match="nodes of a key for so steep"):
        risk_value(task(5, key_covariance=CHAIN), softmax, 500)


@pytest.mark.parametrize(
    "law",
    [
        {"location": "independent(1/8)"},
        {"location": Independent(1 / (1 + l)), "signal": "1:1/3,-2:2/3"},
        {"location": "subset(2)", "prior": 1 / l, "signal": "1:1/2,2:1/2"},
        {"location": "subset(3)"},
    ],
)
def test_tokens_of_one_correlation_are_independent_given_what_they_share(law: dict[str, Any]) -> None:
    """The mean over the shared part against all configurations, one after the other."""
    setting = Setting.of(task(6, 9, key_covariance=2 * Rational(2, 3) ** sign(Abs(i - j)), **law))
    keys = 3 * np.random.default_rng(1).standard_normal((40, 6, 1))
    shared = from_inclusion(setting, *by_common_part(setting, keys))
    expected = by_enumeration(setting, configurations(setting), keys)
    assert shared[0] == pytest.approx(expected[0], abs=1e-13)
    assert shared[1] == pytest.approx(expected[1], abs=1e-13)


def test_many_coins_of_one_correlation_agree_with_draws() -> None:
    law = task(40, key_covariance=EQUAL, location="independent(1/8)")
    value, optimal = bayes_value(law, seconds=0.5), posterior(Setting.of(law))
    sample = LocationSampler.of(law, {}).draw(4000, np.random.default_rng(4))
    loss = np.sum((sample.read_out - optimal(sample.chi)[0]) ** 2, axis=1)
    assert abs(loss.mean() - float(value)) < 4 * np.hypot(loss.std() / 4000**0.5, float(value.error))
    assert float(value) < float(least_value(law, SIGMOID.having(bias="free"))[0]) - 0.05


@pytest.mark.parametrize(
    "law",
    [{"prior": 2 ** (-l)}, {"key_covariance": CHAIN, "prior": L - l / 2}, {"location": Independent(1 / (L + l))}],
)
def test_a_law_of_the_length_goes_with_what_depends_on_positions(law: dict[str, Any]) -> None:
    mixed = task({2: Rational(1, 4), 3: Rational(3, 4)}, **law)
    parts = [float(bayes_value(task(n, **law))) for n in (2, 3)]
    assert float(bayes_value(mixed)) == pytest.approx(parts[0] / 4 + 3 * parts[1] / 4, rel=1e-12)
    best = SIGMOID.having(bias=-log(L + l - 1) - 2) if "location" in law else None
    best = best or softmax.having(bias="matched", filter="matched")
    assert float(risk_value(mixed, best, 2)) == pytest.approx(float(bayes_value(mixed)), rel=1e-8)
