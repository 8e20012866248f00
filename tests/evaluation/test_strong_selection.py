"""Max-SLR at strong finite signals, least values far below rounding, one token alone: numbers that were refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import erf as special_erf
from scipy.special import ndtr
from sympy import Integer, Rational, oo, tanh

from symslr.budget import processor_time
from symslr.evaluation import CannotEvaluate, evaluate, least_risk
from symslr.evaluation.errors import OutOfDigits, TooDear, beside
from symslr.evaluation.fewer import or_fewer
from symslr.evaluation.laplace import table
from symslr.evaluation.laplace.floats import FloatSums
from symslr.evaluation.location import bayes_value
from symslr.evaluation.minima.at_scale import risk_as_asked
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.model.symbols import x as token
from symslr.model.task import Task
from symslr.theory import population_risk
from tests.evaluation.pairs import Array, risk_of_a_pair

LOG_KERNELS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "softplus": (lambda y: np.where(y < -30.0, y, np.log(np.logaddexp(0, np.maximum(y, -30.0)))), -np.inf),
    "softmax": (lambda y: y, -np.inf),
    "softmax1": (lambda y: y, 0.0),
}
"""Logarithms of kernels and of offsets; log(1 + e^y) is e^y below -30, to 5e-14 of it."""


def by_tokens(name: str, strength: float, scale: float) -> float:
    log_kernel, log_offset = LOG_KERNELS[name]
    return risk_of_a_pair(log_kernel, scale, strength, log_offset)


@pytest.mark.parametrize(
    ("attention", "strength", "scale"),
    [(softplus, 300, 2), (softmax, 110, 8), (softmax1, 300, Rational(1, 2))],
    ids=lambda item: getattr(item, "name", str(item)),
)
def test_a_strong_signal_has_its_digits(attention: Attention, strength: int, scale: Rational) -> None:
    """E||sigma||^2 took the selection's own variable, and a mesh on which rounding alone was left was made ever finer."""
    found = evaluate(population_risk(MaxSLR(noise=0), attention), {"L": 2, "nu": strength, "a": scale}, backend="numpy")
    assert found.digits >= 10
    expected = by_tokens(attention.name, float(strength), float(scale))
    assert abs(float(found) - expected) <= float(found.error) + 1e-13


def test_a_table_that_is_too_large_leaves_the_digits_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FloatSums, "is_dear", False)
    monkeypatch.setattr(table, "MOST_WORK", 1.5e8)
    found = evaluate(population_risk(MaxSLR(noise=0), softmax), {"L": 2, "nu": 60, "a": 15}, backend="numpy")
    assert found.digits >= 8  # of the product mesh alone they were 8 at most: the ridge is asked as well
    assert abs(float(found) - by_tokens("softmax", 60.0, 15.0)) <= float(found.error)


@pytest.mark.parametrize(
    ("name", "strength", "scale"),
    [("softmax", 300, 40), ("softplus", 110, 30), ("softmax1", 20, 160)],
)
def test_steep_selections_under_steep_kernels(name: str, strength: int, scale: int) -> None:
    """On a product mesh over both variables these have few digits, or none: what counts lies along a ridge."""
    kernel = {"softplus": softplus, "softmax": softmax, "softmax1": softmax1}[name]
    found = evaluate(population_risk(MaxSLR(noise=0), kernel), {"L": 2, "nu": strength, "a": scale}, backend="numpy")
    assert found.digits >= 10
    assert abs(float(found) - by_tokens(name, float(strength), float(scale))) <= float(found.error) + 1e-13


@pytest.mark.parametrize(("strength", "scale", "digits"), [(200, 402, 2), (200, 402, 5), (60, 400, 1), (200, 1000, 1)])
def test_few_digits_cost_no_more_than_many(strength: int, scale: int, digits: int) -> None:
    """One to three digits at nu = 200, scale 402 had no answer in 30 s, four took 2 s and five 20."""
    with processor_time(20):
        found = evaluate(
            population_risk(MaxSLR(noise=0), softplus),
            {"L": 2, "nu": strength, "a": scale},
            digits=digits,
            backend="numpy",
        )
    assert abs(float(found) - by_tokens("softplus", float(strength), float(scale))) <= float(found.error)


def test_windows_that_miss_the_ridge_are_not_believed() -> None:
    """Asked for 8 digits this was 1.00000000: the windows of the product mesh held nothing of what counts.

    By 10^6 drawn sequences it is 0.1238 with a standard error of 3e-4.
    """
    values = {"L": 3, "nu": 3170, "a": Rational(527, 10)}
    found = evaluate(population_risk(MaxSLR(noise=0), softmax1), values, digits=8, backend="numpy")
    assert abs(float(found) - 0.1238) < 1.2e-3


def test_running_integrals_under_a_steep_kernel() -> None:
    """Regression: u = e^1800 is beyond float64; at scale 256 this came out as 0.048749 +- 8e-7."""
    found = evaluate(population_risk(MaxSLR(oo, noise=0), softplus), {"L": 2, "a": 256}, digits=2, backend="numpy")
    assert abs(float(found) - by_tokens("softplus", np.inf, 256.0)) <= float(found.error) + 1e-12


@pytest.mark.parametrize("scale", [50, 150, 700, 5000])
def test_a_steep_exponential_of_one_variable(scale: int) -> None:
    """Regression: its windows were cut on meshes that were too rough, and 0.998 came out as 0.055 +- 3e-4."""
    difference = np.arange(-12.0, 17.0, 0.2 / scale)
    weight = 1.0 / (1.0 + np.exp(-np.clip(scale * difference, -700.0, 700.0)))
    density = np.exp(-((difference - np.sqrt(5.0)) ** 2) / 4.0)
    hit, norm, mass = (
        float(np.sum(density * own)) for own in (weight, weight**2 + (1.0 - weight) ** 2, 1.0 + 0.0 * weight)
    )
    risk = population_risk(SpikedSLR(noise=0), softmax)
    for digits in (4, 9) if scale < 1000 else (4,):
        found = evaluate(risk, {"L": 2, "nu": 5, "a": scale}, digits=digits, backend="numpy")
        assert abs(float(found) - (1.0 - hit**2 / norm / mass)) <= float(found.error) + 1e-13


@pytest.mark.parametrize("task", [SpikedSLR, MaxSLR], ids=lambda item: item.__name__)
@pytest.mark.parametrize("attention", [softplus, softmax1, erf, linear], ids=lambda item: item.name)
def test_one_token_needs_no_locating(task: Callable[..., Any], attention: Attention) -> None:
    value, place = least_risk(task(length=1, noise=0), attention, {"nu": 18})
    assert (value.value, value.error) == (0, 0)
    assert (place["a"].value, place["a"].error) == (0, 0)


def test_the_infimum_of_softplus_at_an_infinite_signal() -> None:
    """At large scales softplus is max(x, 0), and two tokens of which one is positive are told apart.

    Of two positive ones, at an angle uniform in (0, pi/2), the larger has the mean share 1/2 + log(2)/pi, and the squares 2/pi.
    """
    value, place = least_risk(MaxSLR(oo, length=2, noise=0), softplus, {})
    hit, squares = 3 / 4 + (1 / 2 + np.log(2) / np.pi) / 4, 3 / 4 + 1 / (2 * np.pi)
    assert abs(float(value) - (1 - hit**2 / squares)) <= float(value.error) < 1e-5
    assert place["a"].value == mpmath.inf


def test_a_limit_of_few_digits_is_told() -> None:
    """The infimum of softmax-1 at nu = oo is approached as the scale grows: P(no token is above 0) = 2^-4."""
    from sympy import oo

    value, place = least_risk(MaxSLR(oo, length=4, noise=0), softmax1, {}, digits=3)
    assert abs(float(value) - 1 / 16) <= float(value.error) < 1e-3
    assert place["a"].value == mpmath.inf


def test_noise_that_is_no_binary_number_is_rounded() -> None:
    """Regression: every position is relevant, and 16/25 had the error 0."""
    found = bayes_value(Task(nu=3, location="subset(2)", length=2, noise=Rational(4, 5)), {})
    with mpmath.workdps(120):
        assert 0 < abs(mpmath.mpf(found.value) - mpmath.mpf(16) / 25) <= found.error < mpmath.mpf("1e-30")


def test_fewer_digits_are_tried_in_turn() -> None:
    """The usual digits are too dear, and six: one digit is an answer. Digits that were asked for have no other answer."""
    one = Value(mpmath.mpf("0.5"), mpmath.mpf("0.1"), Kind.ESTIMATED, 1, "by hand")

    def compute(digits: int | None) -> Value:
        if digits != 1:
            raise TooDear("too steep")
        return one

    assert or_fewer(None, compute) is one
    with pytest.raises(TooDear, match="too steep"):
        or_fewer(12, compute)

    def refused(digits: int | None) -> Value:
        raise CannotEvaluate(f"no mean, to {digits} digits")

    for digits in (None, 7):
        with pytest.raises(CannotEvaluate, match=f"no mean, to {digits} digits"):
            or_fewer(digits, refused)


def test_fewer_digits_are_tried_where_they_may_do() -> None:
    """Regression: each refusal was met three times, to the usual digits, to six and to one."""

    def tried(reason: Callable[[], Exception]) -> list[int | None]:
        asked: list[int | None] = []

        def compute(digits: int | None) -> Value:
            asked.append(digits)
            raise reason()

        with pytest.raises(CannotEvaluate, match="negative"):
            or_fewer(None, compute)
        return asked

    def led_to_by(reason: Exception) -> Exception:
        fault = CannotEvaluate("negative, as it is said")
        fault.__cause__ = reason
        return fault

    def plain() -> CannotEvaluate:
        return CannotEvaluate("negative")

    assert tried(plain) == [None]
    assert tried(lambda: led_to_by(plain())) == [None]
    assert tried(lambda: beside(plain(), plain())) == [None]
    assert tried(lambda: OutOfDigits("negative")) == [None, 6, 1]
    assert tried(lambda: led_to_by(TooDear("many nodes"))) == [None, 6, 1]
    assert tried(lambda: beside(plain(), led_to_by(TooDear("many nodes")))) == [None, 6, 1]


def test_a_selection_leaves_the_norm_alone() -> None:
    """At L = 3 the risk of a bounded kernel by all three tokens' product mesh, beside the reduced form's own."""
    x = np.arange(-7.0, 7.0, 0.1)
    mass = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()
    kernel = 1 + x**2
    one, two, three = np.ix_(kernel, kernel, kernel)
    share = one / (one + two + three)
    squares = (one**2 + two**2 + three**2) / (one + two + three) ** 2
    first, second, third = np.ix_(*[np.exp(1.5 * x)] * 3)
    chosen = 3 * first / (first + second + third)
    weights = np.einsum("i,j,k->ijk", mass, mass, mass)
    expected = 1 - np.sum(weights * chosen * share) ** 2 / np.sum(weights * squares)
    own = Attention(1 + token**2, name="parabola")
    found = evaluate(
        population_risk(MaxSLR(noise=0), own), {"L": Integer(3), "nu": Rational(3, 2), "a": 1}, backend="numpy"
    )
    assert abs(float(found) - expected) <= float(found.error) + 1e-10


def test_steep_weights_of_a_selection_are_resolved() -> None:
    """Regression: on a table with steps of log u for Gaussians 0.43935190 came out as 0.43938 +- 8e-6.

    By the tokens one by one: E p(x) of the selection from the logistic law of g/nu, and squares of the weight.
    """
    strength, scale, shift = Rational(36613, 100), Rational(1754, 25), -2
    values = {"L": 2, "nu": strength, "a": scale, "c": shift}
    x = np.linspace(-9.0, 9.0, 20_001)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    weights = 40.0 * weights * np.exp(-40.0 * np.abs(nodes)) / (1.0 + np.exp(-40.0 * np.abs(nodes))) ** 2
    selected = sum(w * ndtr(x - 40.0 * t / float(strength)) for t, w in zip(nodes, weights))
    density, weight = np.exp(-(x**2) / 2.0) / np.sqrt(2.0 * np.pi), 1.0 + special_erf(float(scale) * x + shift)
    hit, norm = (2.0 * float(np.sum(density * own)) * (18.0 / 20_000) for own in (weight * selected, weight**2))
    for digits in (3, 4, 9):
        found = evaluate(population_risk(MaxSLR(noise=0), erf), values, digits=digits, backend="numpy")
        assert abs(float(found) - (1.0 - hit**2 / norm)) <= float(found.error) + 1e-13


def test_a_weight_that_underflows_keeps_its_sign() -> None:
    """Regression: 1 + tanh(87 x/5), a sum of weights of either sign, came out as 0.8277 +- 1e-11."""
    strength, scale = 55.2, 17.4
    half, mean = np.arange(-6.3, 6.3, 1 / 1500), np.arange(-6.3, 6.3, 1 / 60)
    mass = np.exp(-(half[:, None] ** 2) - mean**2)
    first, second = 1 + np.tanh(scale * (mean + half[:, None])), 1 + np.tanh(scale * (mean - half[:, None]))
    chosen = 1 / (1 + np.exp(-np.clip(2 * strength * half, -700, 700)))[:, None]
    hit, norm = np.sum(mass * (chosen * first + (1 - chosen) * second)), np.sum(mass * (first**2 + second**2))
    expected = 1 - hit**2 / (norm * np.sum(mass))
    step = Attention(1 + tanh(token), normaliser=None, name="step")
    values = {"L": 2, "nu": Rational(552, 10), "a": Rational(174, 10)}
    for digits in (3, 9):
        found = evaluate(population_risk(MaxSLR(noise=0), step), values, digits=digits, backend="numpy")
        assert abs(float(found) - expected) <= float(found.error) + 1e-9


def test_a_proof_that_nobody_asked_for_is_left_out_where_it_takes_long() -> None:
    """At scale 300 it takes a minute."""
    task, values = SpikedSLR(noise=0), {"L": 3, "nu": 1}
    value, _ = risk_as_asked(task, softmax, Integer(300), values, None)
    assert value.digits >= 10
    proved = evaluate(population_risk(task, softmax, Integer(50)), values, digits=18)
    number = evaluate(population_risk(task, softmax, Integer(50)), values)
    assert (proved.kind, number.kind) == (Kind.CERTIFIED, Kind.ESTIMATED)
    assert abs(proved.value - number.value) <= proved.error + number.error
