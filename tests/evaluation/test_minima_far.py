"""Least risks that no finite scale attains, that every scale attains, or that lie where Newton steps see nothing."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from sympy import Expr, Integer, Max, Min, Rational, exp, log, oo

from symslr.budget import processor_time
from symslr.evaluation import evaluate, least_risk, minimise
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.steep.ridge import RidgeTable
from symslr.evaluation.minima.at_infinity import limit_where_largest_is_relevant
from symslr.evaluation.minima.at_scale import risk_at
from symslr.evaluation.minima.search import search
from symslr.evaluation.minima.search.objective import Objective
from symslr.evaluation.minima.search.profile import _in_principal_axes
from symslr.evaluation.minima.search.series import Series
from symslr.evaluation.nodes.node import Context
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.plan import plan
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, softmax, softmax1, softplus
from symslr.model.exact import exact
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import a, c, x
from symslr.model.task import Task
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


def test_more_digits_of_such_an_infimum_are_refused_in_one_line() -> None:
    task = SpikedSLR(nu=20, length=2, noise=0)
    grown = Attention(exp(Min(x, 0)) + Max(x, 0), normaliser=None)
    with pytest.raises(CannotEvaluate, match="only approached, as a goes to inf; ask for at most") as fault:
        minimise(population_risk(task, grown), [a], digits=20)
    assert "\n" not in str(fault.value)


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


def test_a_series_through_its_own_values_is_exact() -> None:
    values = [3 + 2 * h - h**3 for h in (1, 0.5, 0.25, 0.125)]
    assert Series(values, 2.0, 0.0)(0.0) == pytest.approx(3, abs=1e-14)


def test_the_errors_of_series_hold() -> None:
    """Of 2000 random functions of h, some with a small first power or a part that is e^(-1/h); errors by the least change of three
    shapes of series were exceeded by 18 per cent, by up to a thousand times."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(500):
        limit, first, part = rng.normal(size=3) * [1.0, 0.3, 0.1]
        second, width, turn = rng.normal(), rng.uniform(0.2, 1.5), rng.uniform(0.2, 1.5)
        first *= rng.choice([1.0, 1e-3])
        h = 0.5 * 1.75 ** -np.arange(7.0)
        values = limit + first * h + second * h**2 / (1 + width * h) + part * h * np.exp(-1 / (turn * h))
        for count in (4, 5, 6, 7):
            found = Series(values[:count], 1.75, 1e-14)
            ratios.append(abs(found(0.0) - limit) / found.error_at(0.0))
    assert np.mean(np.array(ratios) > 1.0) < 0.005
    assert max(ratios) < 5.0


def test_a_change_that_is_small_by_chance_is_no_error() -> None:
    values = np.array([1.0, 0.9, 0.83, 0.79])
    shift = Series(values, 1.75, 0.0)(0.0) - Series(values[:-1], 1.75, 0.0)(0.0)
    weight = Series([0.0, 0.0, 0.0, 1.0], 1.75, 0.0)(0.0)
    chance = Series([*values[:-1], values[-1] - shift / weight], 1.75, 0.0)  # its last value moves it by nothing
    assert chance(0.0) == pytest.approx(chance.without_last(0.0), abs=1e-12)
    assert chance.error_at(0.0) >= abs(chance.without_last(0.0) - chance.without_last.without_last(0.0)) / 20


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


@pytest.mark.parametrize(
    ("task", "attention", "most"),
    [
        (SpikedSLR(nu=10, length=100, noise=0), softplus, 50),  # 174 values when the series was asked last
        (SpikedSLR(nu=100, length=50, noise=0), GROWN, 29),  # 50
        (SpikedSLR(nu=20, length=2, noise=0), RAMP, 44),  # 32, with an error that was false
        (SpikedSLR(nu=20, length=5, noise=0), QUARTIC, 29),  # 29
        (MaxSLR(nu=3, length=2, noise=0), RAMP, 38),  # 45, at scale 65
        (SpikedSLR(nu=3, length=2, noise=0), softplus, 36),  # 36, at scale 3.5
    ],
    ids=lambda given: getattr(given, "name", None) or str(given),
)
def test_a_fall_at_the_end_of_the_scan_costs_few_values(
    monkeypatch: pytest.MonkeyPatch, task: Task, attention: Attention, most: int
) -> None:
    """The scan itself has 21, and seven places more between any two where nothing normalises: there values cost little.

    What it finds is no higher than any risk beside it, or further out than all values.
    """
    known: dict[tuple[float, ...], list[object]] = defaultdict(list)
    monkeypatch.setattr("symslr.evaluation.minima.search.objective.evaluations", lambda node, scope: known)
    risk = population_risk(task, attention)
    value, place = minimise(risk, [a])
    assert sum(map(len, known.values())) <= most + (0 if attention.is_normalised else 18 * 7)
    sizes = (
        np.array([0.8, 0.98, 1.02, 1.25]) * float(place[a]) if np.isfinite(float(place[a])) else [-900, -50, 50, 900]
    )
    for size in sizes:
        other = evaluate(risk, {"a": float(size)}, 6)
        assert float(value) - float(value.error) <= float(other) + float(other.error)


def test_infimum_of_erf_attention_is_an_exponential_kernel() -> None:
    """As c -> -oo the tail of 1 + erf(a x + c) tends to e^(s x): the infimum over a and c is the least risk of that kernel."""
    task = SpikedSLR(nu=1, length=10**6, noise=0)
    value, place = minimise(population_risk(task, erf), [a, c], digits=7)
    assert float(place[c]) == -np.inf
    assert float(place[a]) == 0
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


@pytest.mark.parametrize(
    "kernel", [exp(x) + exp(-x / 3), 1 + exp(x), exp(x / 2) - exp(x) / 2 + exp(2 * x), log(1 + exp(x))], ids=str
)
def test_other_kernels_leave_weight_elsewhere(kernel: Expr) -> None:
    """Of both signs, of rate 0, less than nothing, and no sum: the weight of the smallest token, or that of the others, stays."""
    assert limit_where_largest_is_relevant(MaxSLR(oo, noise=0, length=3), Attention(kernel)) is None


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


def test_tokens_far_from_a_ridge_are_seen_while_its_window_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With nu = 10^5 the relevant token lies 316 from the others, between which a coarse mesh saw nothing: half of the window was
    cut off, meshes of 50 million exponentials came to no end, and nothing came in 30 s."""
    sizes, made = [0], RidgeTable.__init__

    def noted(self: RidgeTable, *args: Any) -> None:
        made(self, *args)
        sizes.append(self.size)

    monkeypatch.setattr(RidgeTable, "__init__", noted)
    monkeypatch.setattr(
        search, "FIRST_SCALES", -1.0
    )  # values far out, which are not asked for where one nearby has vanished
    value, _ = least_risk(SpikedSLR(nu=100000, length=3, noise=0), softmax1, {})
    assert float(value) == 0.0
    assert 0.0 < float(value.error) < 1e-300
    assert 1e5 < max(sizes) < 5e6


def test_a_function_that_vanishes_far_out_has_its_minimum() -> None:
    value, _ = minimise(a * exp(-(a**2)) + c**2, [a, c])
    assert float(value) == pytest.approx(-float(exp(-Rational(1, 2)) / 2**0.5), rel=1e-10)


@pytest.mark.parametrize("normaliser", ["sum", None])
@pytest.mark.parametrize("digits", [None, 3])
def test_a_fall_as_the_inverse_of_a_logarithm_is_followed_to_its_bottom(normaliser, digits) -> None:
    """The risk of log(1 + a^2 x^2) is least near a = 1e5 and tends to 0.9: a series had 0.8992 +- 1e-4, at infinity."""
    attention, values = (
        Attention(log(1 + x**2), normaliser, name="logarithm"),
        {"L": 10, "nu": Rational(1, 4), "Delta": 0},
    )
    value, places = least_risk(SpikedSLR(), attention, values, digits)
    assert 5e4 < abs(float(places["a"])) < 3e5
    at, *beside = (
        risk_at(SpikedSLR(), attention, exact(times * float(places["a"])), values) for times in (1, 0.9, 1.1)
    )
    assert abs(float(value) - float(at)) <= float(value.error) + float(at.error)
    assert all(float(value) - float(value.error) < float(other) for other in beside)


@pytest.mark.parametrize(("length", "bottom"), [(3, 7913), (10, 1665)])
def test_a_bottom_far_out_under_laws_with_power_tails(length: int, bottom: float) -> None:
    """Found false: 0.65565 +- 6e-5 at infinity, where the ratios of the falls pass through that of a series in 1/a."""
    task = Task.from_token_laws(
        ScalarLaw(3 / (1 + x) ** 4, 0, oo), ScalarLaw(4 / (1 + x) ** 5, 0, oo), noise=0, length=length
    )
    attention = Attention(log(1 + x), tokens=(0, oo))
    value, places = least_risk(task, attention, {})
    assert float(places["a"]) == pytest.approx(bottom, rel=0.01)
    beside = [risk_at(task, attention, Integer(round(times * bottom)), {}) for times in (0.5, 2)]
    assert all(float(value) + float(value.error) < float(other) - float(other.error) for other in beside)
    assert all("series" not in other.method for other in beside)  # that in 1/a had 0.8948245 +- 2e-5 for 0.8950339


def test_softmax_1_at_the_scale_of_a_law_that_selects_sharply() -> None:
    """Regression: refused, and meshes were refined in vain from scale 10^4 on: log u = -1e4 stood for u = 0, where exp(2e4 x) cuts.

    Of a thousand tokens one is positive, and the offset loses to it: the risks are those of softmax, the Bayes risk at the law's
    own scale, which is known by its expansion.
    """
    task = MaxSLR(10**5, length=1000, noise=0)
    value, places = least_risk(task, softmax1, {})
    truth = evaluate(bayes_risk(task))
    assert abs(float(value) - float(truth)) <= float(value.error) + float(truth.error) < 1e-11
    assert abs(float(places["a"]) - 1e5) <= 3 * float(places["a"].error) + 1
    one, other = (risk_at(task, attention, Integer(20212), {}, 8) for attention in (softmax1, softmax))
    assert abs(float(one) - float(other)) <= float(one.error) + float(other.error) < 1e-11


def test_softplus_beside_many_tokens_falls_to_its_limit_as_the_cube() -> None:
    """Regression: "the lowest value of the scan is at its end, a = -16"."""
    task = MaxSLR(10**5, length=1000, noise=0)
    with processor_time(30):  # 8 s, and more than a minute by a series
        value, _ = least_risk(task, softplus, {})
    far_out = risk_at(task, softplus, Integer(1000), {}, 8)
    assert abs(float(value) - float(far_out)) <= float(value.error) < 1e-3


def test_a_slope_of_exactly_zero_is_no_step() -> None:
    """Regression: erf attention on max at nu = 10^10 ended in a division by zero, where a search met a place with no slope."""
    bowl = Objective(plan(1 + a**2 + c**2), (a, c), Context(FLOAT, 1e-12), {})
    value, _, places = _in_principal_axes(bowl, [0.0, 0.0])
    assert float(value) == 1
    assert all(abs(float(place)) < 1e-6 for place, _ in places)
