"""Kernels that are steep, kinked, stepped, near a pole, or beyond float64 in a tail: under laws of location, at two tokens.

Held against a rule over both keys whose panels are narrow and shrink towards 0, where these kernels have what is difficult.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.special import expit, gamma, hyp1f1, log_ndtr
from sympy import Abs, Expr, Heaviside, Integer, Max, Rational, erf, exp, log, sign, tanh

from symslr import Attention, Task, softmax
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import least_value, risk_value
from symslr.evaluation.location.attention_function import ParameterValues
from symslr.evaluation.location.means import Means
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.tables import attention as tabled
from symslr.evaluation.location.tables.tokens import PANELS
from symslr.expression.value import Kind
from symslr.model.symbols import i, j, l, x
from tests.evaluation.laws_of_location import CHAIN, EQUAL, VECTORS, Brute, task

LogKernel = Callable[[np.ndarray], np.ndarray]

KERNELS: dict[str, tuple[Expr, LogKernel, int]] = {
    "a narrow hump": (1 + exp(-50 * x**2), lambda y: np.log1p(np.exp(-50 * y**2)), 5),
    "poles near the axis": (1 / (1 + 100 * x**2), lambda y: -np.log1p(100 * y**2), 5),
    "a steep step": (
        1 + 1 / (1 + exp(-10 * x)),
        lambda y: np.log1p(np.exp(-np.logaddexp(0, -10 * y))),
        5,
    ),
    "a Gaussian": (exp(-(x**2)), lambda y: -(y**2), 2),
    "a kink": (1 + Abs(x), lambda y: np.log1p(np.abs(y)), 1),
    "a ramp": (Rational(1, 10) + Max(x, 0), lambda y: np.log(0.1 + np.maximum(y, 0)), 2),
    "a jump": (1 + Heaviside(x, 0), lambda y: np.log1p(1.0 * (y > 0)), 1),
    "a Gaussian tail": (1 + erf(x), lambda y: np.log(2) + log_ndtr(np.sqrt(2) * y), 2),
    "a small tail": (log(1 + exp(x)) ** 2, lambda y: 2 * _log_softplus(y), 6),
    "a tail of tanh": (1 + tanh(x), lambda y: np.log(2) - np.logaddexp(0, -2 * y), 6),
}
SHARES = np.array([1 / 3, 2 / 3])


def _log_softplus(y: np.ndarray) -> np.ndarray:
    return np.where(y < -30, y, np.log(np.logaddexp(0, np.maximum(y, -30))))


@cache
def towards_zero() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule on panels that are an eighth wide and halve towards 0."""
    near = 2.0 ** -np.arange(3.0, 20.0)
    far = np.arange(0.125, 11.0, 0.125)[1:]
    edges = np.concatenate([-far[::-1], -near, [0.0], near[::-1], far])
    at, weights = leggauss(10)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middle[:, None] + half[:, None] * at).ravel(), (half[:, None] * weights).ravel()


@cache
def mass_of(place: int, correlation: float) -> np.ndarray:
    """Weights of the rule over both keys, times their density where the token at ``place`` is the relevant one."""
    at, weights = towards_zero()
    a, b = at[:, None] - 2.0 * (place == 0), at[None, :] - 2.0 * (place == 1)
    quadratic = (a * a - 2 * correlation * a * b + b * b) / (1 - correlation**2)
    return np.outer(weights, weights) * np.exp(-quadratic / 2) / (2 * np.pi * np.sqrt(1 - correlation**2))


def definition(log_kernel: LogKernel, scale: float, correlation: float = 0.0, *, normalised: bool = True) -> float:
    """The risk at nu = 4 of two tokens of the probabilities 1/3 and 2/3, at the best value vector."""
    at, _ = towards_zero()
    logs = log_kernel(scale * at)
    first = (
        expit(logs[:, None] - logs[None, :]) if normalised else np.broadcast_to(np.exp(logs)[:, None], (at.size,) * 2)
    )
    seen = first, first.T
    hit = norm = 0.0
    for place, share in enumerate(SHARES):
        mass = mass_of(place, correlation)
        hit += share * float(np.vdot(mass, seen[place]))
        norm += share * float(np.vdot(mass, seen[0] ** 2 + seen[1] ** 2))
    return 1 - hit**2 / norm


def found(kernel: Expr, scale: int, normaliser: str | None = "sum", **law: Any) -> Any:
    task = Task(nu=4, length=2, noise=0, prior=l, **law)
    attention = Attention(kernel, normaliser=normaliser, name="own")
    return risk_value(task, attention, scale, seconds=120.0)


@pytest.mark.parametrize("name", KERNELS)
def test_independent_keys(name: str) -> None:
    kernel, log_kernel, scale = KERNELS[name]
    value = found(kernel, scale)
    expected = definition(log_kernel, scale)
    assert abs(float(value) - expected) < float(value.error) + 2e-13
    assert float(value.error) < 1e-12
    assert value.method.startswith("one-token tables")


@pytest.mark.parametrize("name", ["a narrow hump", "a jump"])
def test_keys_of_one_correlation(name: str) -> None:
    kernel, log_kernel, scale = KERNELS[name]
    value = found(kernel, scale, key_covariance=EQUAL)
    assert abs(float(value) - definition(log_kernel, scale, 0.5)) < float(value.error) + 2e-13
    assert float(value.error) < 1e-12


@pytest.mark.parametrize("name", ["a narrow hump", "a kink", "a jump", "a steep step"])
def test_keys_along_a_chain(name: str) -> None:
    """Steps of one width: fewer digits, and no more are claimed."""
    kernel, log_kernel, scale = KERNELS[name]
    value = found(kernel, scale, key_covariance=CHAIN)
    assert abs(float(value) - definition(log_kernel, scale, 0.5)) < float(value.error) + 2e-13


@pytest.mark.parametrize("name", ["a narrow hump", "a kink", "a jump", "a steep step"])
@pytest.mark.parametrize("law", [{}, {"key_covariance": CHAIN}], ids=["independent", "chain"])
def test_nothing_normalises(name: str, law: dict[str, Any]) -> None:
    kernel, log_kernel, scale = KERNELS[name]
    value = found(kernel, scale, None, **law)
    expected = definition(log_kernel, scale, 0.5 if law else 0.0, normalised=False)
    assert abs(float(value) - expected) < float(value.error) + 2e-13


def test_rules_that_have_not_come_to_rest_claim_more_than_their_difference() -> None:
    means = Means(np.array([[1.0], [1.01]]), Kind.ESTIMATED, "two rules", inflation=10.0)
    assert means.estimate().error == pytest.approx(0.1, rel=1e-9)


def test_a_kernel_that_needs_too_many_panels_is_refused() -> None:
    with pytest.raises(CannotEvaluate, match="nodes of a key for so steep a kernel"):
        found(exp(-(x**2)), 10**5)


def test_panels_are_halved_where_a_kernel_jumps() -> None:
    """Between the nodes on both sides of the jump there is no mass."""
    from symslr.evaluation.location.setting import Setting

    setting = Setting.of(Task(nu=4, length=2, noise=0))
    nodes, logs = PANELS[0].nodes_for(setting, lambda keys: np.log1p(1.0 * (keys[:, 0] > 1 / 3)), 1.0)
    above = nodes.keys[logs > 0, 0].min()
    below = nodes.keys[logs == 0, 0].max()
    assert below <= 1 / 3 < above
    assert above - below < 1e-15
    assert nodes.others[logs > 0].sum() == pytest.approx(np.exp(log_ndtr(-1 / 3)), rel=1e-13)


def two_directions(log_kernel: LogKernel, scales: np.ndarray, strength: float, step: float = 0.25) -> float:
    """The risk of two tokens with keys in the plane, theta either unit vector, by the trapezoid rule over all four numbers."""
    axis = np.arange(-7.5, 9.0, step)
    keys = np.stack([part.ravel() for part in np.meshgrid(axis, axis, indexing="ij")], axis=-1)
    centres = np.sqrt(strength) * np.eye(2)
    other = np.exp(-np.sum(keys**2, axis=1) / 2)
    ours = sum(np.exp(-np.sum((keys - centre) ** 2, axis=1) / 2) for centre in centres)
    other, ours = other / other.sum(), ours / ours.sum()
    logs = log_kernel(keys @ scales)
    hit = norm = 0.0
    for own, mass in zip(logs[ours > 1e-14], ours[ours > 1e-14]):
        share = expit(own - logs)
        hit += mass * float(other @ share)
        norm += mass * float(other @ (share**2 + (1 - share) ** 2))
    return 1 - hit**2 / norm


@pytest.mark.parametrize("name", ["a small tail", "a tail of tanh"])
def test_a_head_sees_keys_along_one_direction(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """However many directions keys have, a single head's scores are Gaussian; a kink took a grid over all keys 25 times as long."""

    def refused(*_: object) -> object:
        raise AssertionError("a grid over all directions of a key")

    monkeypatch.setattr(tabled, "nodes", refused)
    kernel, log_kernel, _ = KERNELS[name]
    law = Task(nu=2, signal="(1,0):1/2,(0,1):1/2", length=2, noise=0)
    risks = Risk.of(Attention(kernel), law, 10)
    scales = np.array([[0.7, -0.3]])
    found = risks.value(ParameterValues(scales, np.zeros(1), 0.0, ()))
    assert abs(found.value - two_directions(log_kernel, scales[0], 2.0)) < found.error + 1e-10


def test_a_steep_kernel_along_two_directions_at_its_best() -> None:
    """A hump is best at the scale 0, where all attend alike; there was no answer in two minutes, or one above that."""
    law = Task(nu=2, signal="(1,0):1/2,(0,1):1/2", length=3, noise=0)
    hump, kink = (least_value(law, Attention(KERNELS[name][0]))[0] for name in ("a narrow hump", "a kink"))
    assert abs(float(hump) - 2 / 3) <= float(hump.error)
    assert kink.digits >= 13
    assert float(kink) < 0.6123


def absolute_moment(power: float, mean: float) -> float:
    """E |g|^power of a Gaussian number of variance 1."""
    size = 2 ** (power / 2) * gamma((1 + power) / 2) / np.sqrt(np.pi)
    return float(size * hyp1f1(-power / 2, 0.5, -(mean**2) / 2))


@pytest.mark.parametrize("power", [Rational(-1, 4), Rational(-2, 5), Rational(-9, 20)])
def test_a_weight_with_a_pole_that_has_means(power: Rational) -> None:
    """A node at 0 made the weight infinite, which was refused; its mean and mean square are confluent hypergeometric."""
    law = Task(nu=2, prior=1 / l, signal="1:1/3,-2:2/3", length=3, noise=0)
    found = risk_value(law, Attention(Abs(x) ** power, None), Rational(3, 2))
    p, centres = float(power), np.sqrt(2.0) * np.array([1.0, -2.0])
    hit, square = (SHARES @ [absolute_moment(q, m) for m in centres] for q in (p, 2 * p))
    expected = 1 - hit**2 / (square + 2 * absolute_moment(2 * p, 0.0))
    assert abs(float(found) - expected) <= float(found.error) + 1e-14


@pytest.mark.parametrize("power", [Rational(-1, 2), Rational(-3, 5)])
def test_a_weight_without_a_mean_square_is_refused(power: Rational) -> None:
    law = Task(nu=2, prior=1 / l, length=3, noise=0)
    with pytest.raises(CannotEvaluate, match="mean square"):
        risk_value(law, Attention(Abs(x) ** power, None), 1)


HALVES, LORENTZ = Rational(1, 2) ** Abs(i - j), 1 / (1 + (i - j) ** 2)


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        (None, None),
        (HALVES, None),
        (LORENTZ, None),
        (Rational(1, 2) ** sign(Abs(i - j)), None),
        (HALVES, HALVES),
        (HALVES, LORENTZ),
    ],
)
@pytest.mark.parametrize("scale", [Rational(6, 5), 2])
def test_a_growing_weight_has_its_mean_square_far_from_tokens(keys: Any, values: Any, scale: Any) -> None:
    """Regression: tables ended where the density does, and 0.7827781618817 was 0.7827781618749 +- 9e-14.

    Two keys have the correlation 1/2, and values 0 or 1/2.
    """
    law = Task(nu=1, prior=l, key_covariance=keys, value_covariance=values, length=2, noise=0)
    found = risk_value(law, Attention(exp(x), None), scale)
    a, shared = float(scale), 0.0 if values is None else 0.5
    hit = np.exp(a**2 / 2) * (np.exp(a) + shared)
    both = np.exp(a) * np.exp(a**2 * (1.0 if keys is None else 1.5))
    expected = 1 - hit**2 / (np.exp(2 * a**2) * (np.exp(2 * a) + 1) + 2 * shared * both)
    assert abs(float(found) - expected) <= float(found.error) + 1e-15


def test_a_search_passes_scales_at_which_a_weight_overflows() -> None:
    """Regression: squares beyond float64 ended the search in 'SVD did not converge'."""
    found, _ = least_value(Task(nu=1, prior=l, length=2, noise=0), Attention(exp(x), None), {})
    scales = np.linspace(0.01, 2, 20_000)
    expected = np.min(1 - np.exp(-(scales**2)) / (1 + np.exp(-2 * scales)))
    assert abs(float(found) - expected) < 1e-8


@pytest.mark.parametrize(
    ("law", "variance", "scale"), [({}, 2.0, 300), ({"key_covariance": CHAIN}, 1.0, 80)], ids=["alone", "chain"]
)
@pytest.mark.parametrize("kernel", [exp(x), exp(x - 400)], ids=str)
def test_weights_whose_mean_overflows(kernel: Expr, law: dict[str, Any], variance: float, scale: int) -> None:
    """exp(a chi) of rare tokens is beyond float64, and the sum over log u began too late: 0.1862 +- 3e-6 for 0.1505 at a = 300.

    Of two tokens weights depend on the keys' difference alone, 2 and a Gaussian.
    """
    apart = np.linspace(-14.0, 18.0, 3_200_001)
    mass = np.exp(-((apart - 2.0) ** 2) / (2 * variance))
    seen = expit(scale * apart)
    hit, norm = (float(mass @ part / np.sum(mass)) for part in (seen, seen**2 + (1 - seen) ** 2))
    value = found(kernel, scale, **law)
    assert abs(float(value) - (1 - hit**2 / norm)) < float(value.error) + 1e-12
    assert float(value.error) < 1e-3


@pytest.mark.parametrize("law", [{}, {"key_covariance": CHAIN}, {"location": "subset(2)"}], ids=str)
def test_a_constant_factor_of_weights_alone_does_not_count(law: dict[str, Any]) -> None:
    """The square of e^-400 is 0 in float64: the risk was 1 +- 1e-15."""
    task = Task(nu=4, length=5, noise=0, prior=l, **law)
    for kernel, plain in (
        (exp(x - 400), exp(x)),
        (exp(x + 400), exp(x)),
        ((1 + x**2) / Integer(10) ** 170, 1 + x**2),
    ):
        one, other = (risk_value(task, Attention(own, normaliser=None), 1) for own in (kernel, plain))
        assert float(one) == pytest.approx(float(other), abs=1e-12)


def test_positions_whose_weights_vanish_beside_others_count_for_nothing() -> None:
    """exp(x - l^2) at the 30th position is e^-900 of the first's."""
    task = Task(nu=1, length=30, noise=0, prior=exp(-l))
    value = risk_value(task, Attention(exp(x), normaliser=None).having(bias=-(l**2)), 1)
    prior = np.exp(-np.arange(1.0, 31.0)) / np.sum(np.exp(-np.arange(1.0, 31.0)))
    bias = -(np.arange(1.0, 31.0) ** 2)
    hit = np.sum(prior * np.exp(bias + 1.5))
    norm = np.sum(np.exp(2 * bias + 2) * (prior * np.exp(2) + 1 - prior))
    assert float(value) == pytest.approx(1 - hit**2 / norm, abs=1e-12)


@pytest.mark.parametrize("law", [{}, {"key_covariance": CHAIN}], ids=str)
def test_a_kernel_that_vanishes_at_the_scale_0_has_a_least_risk(law: dict[str, Any]) -> None:
    """At 0 the weights x^2 have no normaliser: NumPy's words on an empty array were the answer."""
    task = Task(nu=4, length=2, noise=0, prior=l, **law)
    for offset in (0, 1):
        attention = Attention(x**2, offset=offset)
        with pytest.raises(CannotEvaluate, match="vanishes at every token"):
            risk_value(task, attention, 0)
        if not law:
            least, places = least_value(task, attention)
            assert float(least) <= float(risk_value(task, attention, 1)) + 1e-14
            assert offset == 0 or float(places["a"]) != 0


def test_two_heads_that_share_a_normaliser_see_both_directions() -> None:
    """Beside the definition on a grid over all keys."""
    law = task(2, 2, signal=VECTORS)
    scales, weights = np.array([[1.1, -0.3], [0.2, 0.9]]), np.array([0.0, 0.4])
    found = Risk.of(softmax.having(heads=2), law, 10).value(ParameterValues(scales, weights, 0.0, ()))

    def attend(keys: np.ndarray) -> np.ndarray:
        parts = np.exp(keys @ scales.T + weights).sum(axis=2)
        return parts / parts.sum(axis=1, keepdims=True)

    assert abs(found.value - Brute(law).least(attend)) < found.error + 1e-8


def test_the_matched_bias_of_keys_that_share_a_correlation() -> None:
    """Log odds of 1 in 3 less nu (C^-1)_ll/2, with (C^-1)_ll = 3/2; nothing normalises, so that two rules over one key are all."""
    attention = Attention(1 / (1 + exp(-x)), normaliser=None).having(bias="matched")
    found = risk_value(task(3, 2, key_covariance=EQUAL), attention, 1)
    key = np.arange(-9, 9, 0.01)
    mass = np.exp(-(key**2) / 2) * 0.01 / np.sqrt(2 * np.pi)
    bias = np.log(1 / 2) - 3 / 2
    hit, own, other = (
        mass @ np.array([expit(key + np.sqrt(2) + bias) ** p for p in (1, 2)] + [expit(key + bias) ** 2]).T
    )
    assert abs(float(found) - (1 - hit**2 / (own + 2 * other))) < float(found.error) + 1e-13
