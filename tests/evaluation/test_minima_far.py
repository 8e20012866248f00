"""Least risks that no finite scale attains, that every scale attains, or that lie where Newton steps see nothing."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from sympy import Expr, Max, Min, Rational, exp, log, oo

from symslr.evaluation import evaluate, least_risk, minimise
from symslr.evaluation.errors import CannotEvaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, softmax, softmax1, softplus
from symslr.model.symbols import a, c, x
from symslr.theory import bayes_risk, minimal_risk, population_risk


def test_infimum_at_infinite_scale_is_the_risk_of_the_limiting_kernel() -> None:
    """(elu(a x) + 1)/a tends to relu(x), whose risk does not depend on the scale: two routes to one number."""
    task = SpikedSLR(nu=20, length=2, noise=0)
    grown = Attention(exp(Min(x, 0)) + Max(x, 0), normaliser=None)
    relu = Attention(Max(x, 0), normaliser=None)
    found, place = minimise(population_risk(task, grown), [a])
    limit = evaluate(population_risk(task, relu, 1))
    assert float(place[a]) == np.inf
    assert abs(float(found) - float(limit)) <= float(found.error) + float(limit.error)
    assert float(found.error) < 1e-8
    many, _ = minimise(population_risk(task, grown), [a], digits=20)
    assert abs(many.value - evaluate(population_risk(task, relu, 1), digits=20).value) <= 2 * many.error < 1e-20


def test_a_kernel_without_scale_has_a_least_risk() -> None:
    task = SpikedSLR(nu=2, length=3, noise=0)
    relu = Attention(Max(x, 0), normaliser=None)
    least = evaluate(minimal_risk(task, relu))
    both = [float(evaluate(population_risk(task, relu, sign))) for sign in (1, -1)]
    assert float(least) == pytest.approx(min(both), rel=1e-12)


@pytest.mark.parametrize("kernel", [x**4 + 1, 1 + x + x**2 / 2])
def test_without_signal_every_token_is_as_good(kernel: Expr) -> None:
    """At nu = 0 the least risk is 1 - 1/L at scale 0, where x^4 + 1 is flat to third order."""
    least = evaluate(minimal_risk(SpikedSLR(nu=0, length=4, noise=0), Attention(kernel)))
    assert float(least) == pytest.approx(0.75, rel=1e-12)
    assert abs(float(least) - 0.75) <= float(least.error) < 1e-11


def test_softmax_reaches_the_largest_token_in_the_limit() -> None:
    """At nu = oo the posterior is the indicator of the maximum, which softmax only approaches."""
    task = MaxSLR(nu=oo, length=5, noise=1)
    assert float(evaluate(minimal_risk(task, softmax))) == float(evaluate(bayes_risk(task))) == 1.0


def test_a_minimum_far_out_at_random_length() -> None:
    """Softplus at lengths 1 and 5: the best scale grows beyond all bounds near nu = 11; at nu = 9.3 it is about 50."""
    law = {1: Rational(1, 3), 5: Rational(2, 3)}
    risk = population_risk(SpikedSLR(length=law, noise=0), softplus)
    value, place = minimise(risk, [a], {"nu": 9.3}, digits=7)
    assert abs(float(place[a]) - 49.5) < 1 + float(place[a].error)
    around = [evaluate(risk, {"nu": 9.3, "a": scale}, digits=8, backend="numpy") for scale in (40, 49.5, 62)]
    assert all(float(value) - float(value.error) <= float(other) + float(other.error) for other in around)
    assert abs(float(value) - float(around[1])) < float(value.error) + float(around[1].error) + 1e-8


RAMP = Attention(1 + Max(x, 0), name="ramp")
GROWN = Attention(exp(Min(x, 0)) + Max(x, 0), normaliser=None, name="elu + 1")
QUARTIC = Attention(1 + x**4, name="quartic")


def test_infimum_of_erf_attention_is_an_exponential_kernel() -> None:
    """As c -> -oo the tail of 1 + erf(a x + c) tends to e^(s x): the infimum over a and c is the least risk of that kernel."""
    task = SpikedSLR(nu=1, length=10**6, noise=0)
    value, place = minimise(population_risk(task, erf), [a, c], digits=7)
    assert all(at.error == np.inf for at in place.values())  # along a valley without an end
    tail = evaluate(minimal_risk(task, Attention(exp(x), normaliser=None)))
    assert abs(float(value) - float(tail)) < float(value.error) + float(tail.error) + 1e-10


def test_of_an_even_kernel_the_positive_scale_is_given() -> None:
    _, place = minimise(population_risk(SpikedSLR(nu=2, length=3, noise=0), Attention(1 + x**4)), [a], digits=7)
    assert float(place[a]) == pytest.approx(0.8259, abs=1e-3)


def test_a_minimum_a_thousand_times_as_far_out_is_that_of_the_kernel_itself() -> None:
    """The fall was followed to a = 512, and a series in 1/a from there claimed 0.30 +- 0.006 at infinity for 0.3698."""
    task, (near, far) = SpikedSLR(nu=2, length=3, noise=0), (log(1 + exp(x / size)) for size in (1, 1000))
    (low, own), (value, places) = (minimise(population_risk(task, Attention(kernel)), [a]) for kernel in (near, far))
    assert abs(float(value) - float(low)) <= float(value.error) + float(low.error)
    assert float(places[a]) == pytest.approx(1000 * float(own[a]), rel=1e-4)


@pytest.mark.parametrize("length", [6, 10, 417])
def test_softmax1_falls_to_the_chance_that_no_token_is_positive(length: int) -> None:
    """Regression: at 417 tokens the limit is 2^-417, which no series through values of 0.01 names; nothing came in 30 s."""
    task = MaxSLR(oo, noise=0, length=length)
    value, places = least_risk(task, softmax1, {})
    assert abs(value.value - mpmath.mpf(2) ** -length) <= value.error + mpmath.mpf(2) ** (-length - 45)
    assert places["a"].value == mpmath.inf
    near, nearer = (float(evaluate(population_risk(task, softmax1, a), {}, 6)) - 2.0**-length for a in (25, 50))
    assert 0 < nearer < near < 2.1 * nearer


@pytest.mark.parametrize("kernel", [exp(x) + exp(x / 3), exp(x) * (2 + exp(x / 2))], ids=str)
@pytest.mark.parametrize("backend", [None, "arb"])
def test_steep_sums_of_exponentials_find_the_largest_token(kernel: Expr, backend: str | None) -> None:
    """Regression: no series settles relative to a limit of 0, and nothing came in 30 s."""
    task, attention = MaxSLR(oo, noise=Rational(1, 3), length=3), Attention(kernel)
    value, places = least_risk(task, attention, {}, 20, backend)
    with mpmath.workdps(30):
        assert abs(value.value - mpmath.mpf(1) / 9) <= value.error < 1e-19
    assert places["a"].value == mpmath.inf
    near, nearer = (float(evaluate(population_risk(task, attention, a), {}, 6)) - 1 / 9 for a in (25, 50))
    assert 0 < nearer < 0.6 * near


def test_softmax1_on_two_tokens_is_best_at_a_finite_scale() -> None:
    """Its limit is 1/4."""
    task = MaxSLR(oo, noise=0, length=2)
    value, places = least_risk(task, softmax1, {})
    assert value.value < 0.2
    assert 1.9 < places["a"].value < 2.0


def test_erf_on_a_billion_tokens_has_its_least_risk_at_once() -> None:
    """Regression: SymPy raised the 1/2 of (1 + erf)/2 to the power of 10^9 by itself, and nothing came in 30 s."""
    length = 10**9
    value, places = least_risk(MaxSLR(oo, noise=0, length=length), erf, {})
    scale, offset = (float(places[name].value) for name in "ac")
    x = np.arange(0.0, 20.0, 1e-4)
    largest = length * np.exp(-(x**2) / 2 + (length - 1) * log_ndtr(x)) / np.sqrt(2 * np.pi) * 1e-4
    token = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * 1e-4
    weight = 2 * ndtr(np.sqrt(2) * (scale * x + offset))
    expected = 1 - np.sum(largest * weight) ** 2 / (length * np.sum(token * weight**2))
    assert abs(float(value) - expected) <= float(value.error) + 1e-9


def test_a_least_risk_below_float64_is_zero_within_its_error() -> None:
    """Steps of erf halfway to the signal leave a risk near e^(-nu/8); nothing came in 30 s."""
    value, places = least_risk(SpikedSLR(nu=9000, length=2, noise=0), erf, {})
    assert float(value) == 0.0
    assert 0.0 < float(value.error) < 1e-300
    assert not np.isfinite(float(places["a"].error))
    with pytest.raises(CannotEvaluate, match="below 1e-300"):
        least_risk(SpikedSLR(nu=9000, length=2, noise=0), erf, {}, 20)


def test_a_function_that_vanishes_far_out_has_its_minimum() -> None:
    value, _ = minimise(a * exp(-(a**2)) + c**2, [a, c])
    assert float(value) == pytest.approx(-float(exp(-Rational(1, 2)) / 2**0.5), rel=1e-10)


def test_a_minimum_at_the_end_of_a_search_is_within_it() -> None:
    """gelu(x) + 1 has its least risk at a = 12.09 for nu = 2.295, where the first search ends; it was refused there alone."""
    gelu = Attention("gelu(x) + 1")
    beside, found, other = (least_risk(SpikedSLR(nu, 3, 0), gelu, {})[0] for nu in ("2.294", "2.295", "2.296"))
    assert abs(float(beside + other - 2 * found)) < 1e-7
