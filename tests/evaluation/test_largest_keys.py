"""Selections among very many tokens: the largest keys alone, against an exact integral, all keys, and drawn sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sympy import Rational, exp

from symslr import Attention, Task
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import least_value, risk_value
from symslr.evaluation.location.attention_function import AttentionFunction
from symslr.evaluation.location.samples import attention
from symslr.evaluation.location.samples.attention import LargestKeys, _largest_keys
from symslr.evaluation.location.setting import Setting
from symslr.model.symbols import l, x
from symslr.simulate.location import entmax, location_monte_carlo, sparsemax

ONE = Attention("top(1)")
ENTMAX = Attention("entmax")


def task(length: int, nu: object, **law: Any) -> Task:
    return Task(length=length, nu=nu, noise=0, **law)


def _found(z: float, length: int, strength: int) -> float:
    return float(norm.pdf(z) * np.exp((length - 1) * norm.logcdf(strength**0.5 + z)))


def test_the_largest_key_alone_has_an_exact_risk_at_any_length() -> None:
    """1 - P(chi_eps largest)^2, P = E[Phi(x)^(L-1)] at x = sqrt(nu) + Z."""
    for length, strength in ((10**3, 20), (10**6, 40), (10**9, 62)):
        found = risk_value(task(length, strength), ONE, 1)
        hit = quad(_found, -9, 9, args=(length, strength), limit=200, epsabs=1e-13)[0]
        assert abs(float(found.value) - (1 - hit**2)) < 1e-10
        assert float(found.error) < 1e-10


def test_all_keys_and_the_largest_ones_give_one_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    here = task(60, 9)
    for chosen, scale in ((ENTMAX, 1), (Attention("sparsemax"), Rational(3, 4))):
        every = risk_value(here, chosen, scale, seconds=0.3)
        monkeypatch.setattr(attention, "DRAWN_IN_FULL", 50)
        few = risk_value(here, chosen, scale, seconds=0.3)
        monkeypatch.setattr(attention, "DRAWN_IN_FULL", 256)
        assert "largest" in few.method
        assert "largest" not in every.method
        assert abs(float(every.value - few.value)) < 5 * float(every.error + few.error)


@pytest.mark.parametrize(("kind", "written"), [("entmax", entmax), ("sparsemax", sparsemax)])
def test_drawn_sequences_agree(kind: str, written: Any) -> None:
    here = task(300, 14)
    number = risk_value(here, Attention(kind), Rational(3, 2), seconds=0.3)
    attention = lambda chi: written(1.5 * chi[:, :, 0])  # noqa: E731
    found = location_monte_carlo(here, attention, {}, size=15_000, seed=5, value_norm=None)
    assert abs(float(number.value) - found.mean) < 4 * np.hypot(found.standard_error, float(number.error))


def test_a_negative_scale_attends_the_smallest_keys_and_a_random_sign_half_of_the_time() -> None:
    away = risk_value(task(1000, 30), ENTMAX, -2, seconds=0.3)
    assert float(away.value) > 0.99
    signs = risk_value(task(1000, 400, signal="1:1/2,-1:1/2"), ONE, 2, seconds=0.2)
    assert float(signs.value) == pytest.approx(0.75, abs=1e-12)


def test_a_scale_at_which_very_many_tokens_get_weight_is_refused_and_the_best_one_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search passes scales that are refused, whose keys cost nearly all of it: it is told to draw few of them."""
    with pytest.raises(CannotEvaluate, match="tokens get weight; expected a larger one"):
        risk_value(task(10**9, 62), ENTMAX, Rational(1, 10))
    here = task(10**6, 40)
    half = risk_value(here, ENTMAX, Rational(1, 2), seconds=0.2)
    monkeypatch.setattr(attention, "SEARCH_POINTS", 32)
    monkeypatch.setattr(attention, "MOST_KEYS", 128)
    least, places = least_value(here, ENTMAX, seconds=0.2)
    assert 1 < float(places["a"].value) < 20
    assert float(least.value) < float(half.value)


def test_keys_are_drawn_as_the_largest_of_their_number() -> None:
    """The mean of the largest of n normals, by its density."""
    n = 10**5
    first = np.concatenate([largest[:, :2] for _, largest, _ in _largest_keys(n, 8, 2**14, 1)])
    for rank, mean in enumerate(first.mean(axis=0)):
        exact = quad(
            lambda z, k=rank: (
                z * n * (n - 1) ** k * norm.pdf(z) * norm.sf(z) ** k * np.exp((n - 1 - k) * norm.logcdf(z))
            ),
            2,
            9,
            limit=200,
        )[0]
        assert mean == pytest.approx(exact, abs=5 * first[:, rank].std() / 2**7)


def test_who_can_be_had_by_the_largest_keys() -> None:
    def possible(chosen: Attention, **law: Any) -> bool:
        return LargestKeys(AttentionFunction(chosen, Setting.of(task(1000, 2, **law))), 1.0).is_possible

    assert possible(ENTMAX)
    assert not possible(ENTMAX, prior=1 / l)
    assert not possible(ENTMAX, location="subset(2)")
    assert not possible(Attention(exp(x)))


def test_a_constant_bias_stands_in_the_kernel_or_in_the_offset() -> None:
    here = task(10**9, 62)
    sigmoid = Attention(1 / (1 + exp(-x)), normaliser=None)
    inside = Attention(1 / (1 + exp(51 - x)), normaliser=None)
    found = [risk_value(here, sigmoid.having(bias=-51), 8), risk_value(here, inside, 8)]
    assert float(found[0].value) == pytest.approx(float(found[1].value), rel=1e-12)
    small = task(3, 2)
    one, moved = Attention(exp(x), offset=1), Attention(exp(x), offset=exp(-2))
    pair = [risk_value(small, one.having(bias=2), 1), risk_value(small, moved, 1)]
    assert float(pair[0].value) == pytest.approx(float(pair[1].value), rel=1e-12)
    chosen = Attention("top(1)").having(bias=3)
    assert float(risk_value(here, chosen, 1, seconds=0.2).value) < 1
