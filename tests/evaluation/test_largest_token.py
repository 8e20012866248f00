"""Max-SLR under kernels of any kind, at finite nu and at nu = oo, against sums over two or three tokens from the definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mpf, workprec
from sympy import Abs, Max, Rational, oo, sign, sin, tanh

from symslr import MaxSLR, SpikedSLR, evaluate, softmax
from symslr.evaluation.laplace import digits, node, table
from symslr.evaluation.laplace.floats import FloatSums
from symslr.model.attention import Attention
from symslr.model.catalogue import softplus
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import x
from symslr.theory import bayes_risk, population_risk

QUARTIC = Attention(1 + x**4, name="1+x^4")
BY_HAND: dict[str, Callable[[Any], Any]] = {
    "softplus": lambda t: np.logaddexp(0, t),
    "softmax": np.exp,
    "1+x^4": lambda t: 1 + t**4,
    "2+tanh(x)": lambda t: 2 + np.tanh(t),
    "2+sin(x)": lambda t: 2 + np.sin(t),
    "1+x+x^2": lambda t: 1 + t + t**2,
}
OF_EITHER_SIGN = [
    Attention(2 + tanh(x), name="2+tanh(x)"),
    Attention(2 + sin(x), name="2+sin(x)"),
    Attention(1 + x + x**2, name="1+x+x^2"),
]
"""Positive kernels, of which the square multiplied out has terms of either sign."""

leggauss = cache(np.polynomial.legendre.leggauss)


def panels(low: float, high: float, count: int, order: int) -> tuple[Any, Any]:
    nodes, weights = leggauss(order)
    edges = np.linspace(low, high, count + 1)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def risk_of_the_largest(kernel: str, length: int, scale: float) -> float:
    """1 - E[s_1]^2 / E[|s|^2] where token 1 is the largest of two or three, the others at distances below it."""
    finer = 4 if length == 2 else 1
    top, weights = panels(-9, 9, 10 * finer, 16)
    gap, masses = panels(0, 17, 16 * finer, 16)
    first, second = top[:, None], top[:, None] - gap[None, :]
    gaussian = np.exp(-(second**2) / 2) / np.sqrt(2 * np.pi) * masses
    outer = weights * np.exp(-(top**2) / 2) / np.sqrt(2 * np.pi) * length
    one, other = BY_HAND[kernel](scale * first), BY_HAND[kernel](scale * second)
    if length == 2:
        share = one / (one + other)
        mean, norm = (outer @ (f * gaussian).sum(1) for f in (share, share**2 + (1 - share) ** 2))
    else:
        mean = norm = 0.0
        for i in range(len(top)):
            total = one[i] + other[i][:, None] + other[i][None, :]
            pair = gaussian[i][:, None] * gaussian[i][None, :] * outer[i]
            mean += np.sum(pair * one[i] / total)
            norm += np.sum(pair * (one[i] ** 2 + other[i][:, None] ** 2 + other[i][None, :] ** 2) / total**2)
    return float(1 - mean**2 / norm)


@pytest.mark.parametrize("attention", [softplus, softmax, QUARTIC], ids=lambda item: item.name)
@pytest.mark.parametrize(("length", "scale"), [(2, 2), (3, Rational(1, 2)), (2, 5), (2, -3)])
def test_any_kernel_at_infinite_strength(attention: Attention, length: int, scale: Rational) -> None:
    """Worst difference seen 2e-13; at scale 5, or below 0, the window of the keys missed the law of softmax's."""
    found = evaluate(population_risk(MaxSLR(oo, noise=0), attention), {"L": length, "a": scale})
    assert found.digits >= 8
    assert abs(float(found) - risk_of_the_largest(attention.name, length, float(scale))) < float(found.error) + 1e-12


@pytest.mark.parametrize("attention", OF_EITHER_SIGN, ids=lambda item: item.name)
@pytest.mark.parametrize(("length", "scale"), [(2, Rational(1, 10)), (3, 1)])
def test_a_kernel_is_not_multiplied_out(attention: Attention, length: int, scale: Rational) -> None:
    """The logarithm of a running integral below 0 was taken: 2 + tanh at a = 1/10 on two tokens gave 0.00042 for 0.472."""
    found = evaluate(population_risk(MaxSLR(oo, noise=0), attention), {"L": length, "a": scale}, backend="numpy")
    assert found.digits >= 8
    assert abs(float(found) - risk_of_the_largest(attention.name, length, float(scale))) < float(found.error) + 1e-12


def test_random_length_at_infinite_strength() -> None:
    """Means over the lengths 1, 2, 3 of what the definition gives at each: one token alone has s = 1."""
    law = LengthLaw({1: Rational(1, 3), 2: Rational(1, 3), 3: Rational(1, 3)})
    found = evaluate(population_risk(MaxSLR(oo, length=law, noise=0), softplus), {"a": 2})
    moments = [(1.0, 1.0), *(moments_of_the_largest(n) for n in (2, 3))]
    mean, norm = (sum(column) / 3 for column in zip(*moments))
    assert abs(float(found) - (1 - mean**2 / norm)) < float(found.error) + 1e-12


def moments_of_the_largest(length: int) -> tuple[float, float]:
    """(E s_1, E |s|^2) of softplus at scale 2, from the risk and the mean alone."""
    top, weights = panels(-9, 9, 10, 16)
    gap, masses = panels(0, 17, 16, 16)
    mean = norm = 0.0
    for t, w in zip(top, weights):
        others = np.logaddexp(0, 2 * (t - gap))
        gaussian = np.exp(-((t - gap) ** 2) / 2) / np.sqrt(2 * np.pi) * masses
        own, mass = np.logaddexp(0, 2 * t), length * w * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
        if length == 2:
            rest, squares, pair = others, others**2, gaussian
        else:
            rest, squares = others[:, None] + others[None, :], others[:, None] ** 2 + others[None, :] ** 2
            pair = gaussian[:, None] * gaussian[None, :]
        mean += mass * np.sum(pair * own / (own + rest))
        norm += mass * np.sum(pair * (own**2 + squares) / (own + rest) ** 2)
    return float(mean), float(norm)


def risk_at(strength: float, scale: float) -> float:
    """The same risk of softplus for two tokens at finite nu: the first is relevant with softmax probability."""
    t, weights = panels(-9, 9, 14 if scale < 10 else 270, 16 if scale < 10 else 7)
    mass = weights * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    one, other = np.logaddexp(0, scale * t)[:, None], np.logaddexp(0, scale * t)[None, :]
    relevant = 2 / (1 + np.exp(strength * (t[None, :] - t[:, None])))
    share = one / (one + other)
    mean, norm = (mass @ (relevant * f) @ mass for f in (share, share**2 + (1 - share) ** 2))
    return float(1 - mean**2 / norm)


@pytest.mark.parametrize("scale", [Rational(1, 20), 2, 22])
def test_two_laplace_variables_at_any_scale(monkeypatch: pytest.MonkeyPatch, scale: Rational) -> None:
    """At scale 30, where the work is 11 times that at 22, the table of exponentials was too large: here less is allowed."""
    monkeypatch.setattr(table, "MOST_ENTRIES", {**table.MOST_ENTRIES, 2: 2e6})
    monkeypatch.setattr(table, "MOST_WORK", 5e8)
    found = evaluate(population_risk(MaxSLR(noise=0), softplus), {"L": 2, "nu": 5, "a": scale}, backend="numpy")
    assert found.digits >= 11
    assert abs(float(found) - risk_at(5.0, float(scale))) < float(found.error) + (1e-12 if scale < 10 else 1e-6)


def risk_at_strong_signal(strength: float, scale: float) -> float:
    """The risk of 1 + x^4 for two tokens at finite nu, by the trapezoid rule over their mean and half their difference.

    Along the difference the softmax has its poles at a distance of pi / (2 nu).
    """
    half = np.arange(-7.0, 7.0, min(0.04, 0.2 / strength)) + 1e-3
    mean = np.arange(-7.0, 7.0, 0.04)
    share_mean = norm = mass = 0.0
    for d in np.array_split(half, 60):
        density = np.exp(-(d[:, None] ** 2) - mean[None, :] ** 2)
        one, other = (1 + (scale * (mean[None, :] + sign * d[:, None])) ** 4 for sign in (1, -1))
        share = one / (one + other)
        relevant = density * (1 + np.tanh(strength * d))[:, None]
        share_mean += np.sum(relevant * share)
        norm += np.sum(relevant * (share**2 + (1 - share) ** 2))
        mass += np.sum(density)
    return float(1 - (share_mean / mass) ** 2 / (norm / mass))


@pytest.mark.parametrize(("strength", "scale"), [(Rational(793, 10), Rational(43, 20)), (40, Rational(6, 5))])
def test_no_logarithms_where_they_decide_nothing(
    monkeypatch: pytest.MonkeyPatch, strength: Rational, scale: Rational
) -> None:
    """Weights e^(nu x) are beyond 1e200 of what is left of them at most nodes of log t: 98 of 100 were summed from logarithms."""
    summed, contracted, tables = 0, 0, table.Table

    def loads_at(self: Any, k: int, chosen: Any, keep: Any) -> Any:
        nonlocal summed, contracted
        summed, contracted = summed + int(np.sum(chosen)), contracted + chosen.size
        return original(self, k, chosen, keep)

    monkeypatch.setattr(FloatSums, "is_dear", False)
    monkeypatch.setattr(node, "STEEP_NATS", np.inf)  # on the product mesh, not along the ridge
    original = tables._loads_at
    monkeypatch.setattr(tables, "_loads_at", loads_at)
    values = {"L": 2, "nu": strength, "a": scale}
    found = evaluate(population_risk(MaxSLR(noise=0), QUARTIC), values, backend="numpy")
    assert found.digits >= 11
    assert abs(float(found) - risk_at_strong_signal(float(strength), float(scale))) < float(found.error) + 1e-13
    assert summed < contracted / 20


@pytest.mark.parametrize(("task", "strength", "length"), [(MaxSLR, Rational(83, 10), 542), (SpikedSLR, 30, 8)])
def test_an_exponential_kernel_needs_no_whole_table(
    monkeypatch: pytest.MonkeyPatch, task: Callable[..., Any], strength: Rational, length: int
) -> None:
    """exp(-u kappa) lies on one lattice there: of some 10^7 entries of the table a tenth is allowed. Held against a proof."""
    monkeypatch.setattr(digits, "LARGEST_TABLE", 1e6)
    risk, values = bayes_risk(task(noise=0)), {"L": length, "nu": strength}
    found, proved = (evaluate(risk, values, digits=40, backend=backend) for backend in ("mpmath", "arb-exponential"))
    assert abs(found.value - proved.value) <= found.error + proved.error <= 2e-40 * abs(proved.value)


@pytest.mark.parametrize(("strength", "length"), [(38, 8), (Rational(99, 5), 2)])
def test_ends_of_short_steps_are_claimed(strength: Rational, length: int) -> None:
    """Eight times the last term is less than what lies beyond where steps are short: 4.5e-24 off, 1.8e-24 claimed."""
    risk, values = bayes_risk(MaxSLR(noise=0)), {"L": length, "nu": strength}
    found, proved = (
        evaluate(risk, values, digits=16, backend="mpmath"),
        evaluate(risk, values, digits=34, backend="arb"),
    )
    assert abs(found.value - proved.value) <= found.error + proved.error


KINKED = {
    "1+|x|^3": (1 + Abs(x) ** 3, lambda t: 1 + np.abs(t) ** 3, 0),
    "1+|x-1/2|": (1 + Abs(x - Rational(1, 2)), lambda t: 1 + np.abs(t - 0.5), 0.5),
    "2+sign(x-1)": (2 + sign(x - 1), lambda t: 2 + np.sign(t - 1), 1),
    "max(x^3+x-1,0)+1/4": (
        Max(x**3 + x - 1, 0) + Rational(1, 4),
        lambda t: np.maximum(t**3 + t - 1, 0) + 0.25,
        0.6823278038280193,
    ),
}


@pytest.mark.parametrize(("name", "scale"), [*zip(KINKED, (-3.0, 1.0, -3.0, 1.0)), ("max(x^3+x-1,0)+1/4", -3.0)])
def test_kernels_with_kinks_at_infinite_nu(name: str, scale: float) -> None:
    """Regression: they were refused, "an integrand leaves the range of float64 where its window is looked for".

    Only the place of the last one's kink is searched for: on either side of 0.
    """
    kernel, by_hand, kink = KINKED[name]

    def nodes(low: float, high: float) -> tuple[Any, Any]:
        place = min(max(kink / scale, low), high)
        pieces = [panels(a, b, max(1, round(4 * (b - a))), 20) for a, b in ((low, place), (place, high)) if b > a]
        return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])

    mean = norm = 0.0
    for top, mass in zip(*nodes(-9, 9)):
        below, masses = nodes(-9, top)
        share = by_hand(scale * top) / (by_hand(scale * top) + by_hand(scale * below))
        density = 2 * mass * masses * np.exp(-(top**2 + below**2) / 2) / (2 * np.pi)
        mean, norm = mean + density @ share, norm + density @ (share**2 + (1 - share) ** 2)
    risk = population_risk(MaxSLR(oo, noise=0), Attention(kernel, name=name))
    found = evaluate(risk, {"L": 2, "a": Rational(scale)})
    assert abs(float(found) - (1 - mean**2 / norm)) <= float(found.error) + 1e-14
    assert float(found.error) < 1e-11


def test_running_integrals_in_balls_against_panels_in_longer_floats() -> None:
    """1 - E[s_1]^2/E[|s|^2] where token 1 is the largest of three: one Gauss-Legendre rule per axis in NumPy's long double."""
    with ctx.workprec(200):
        roots = [arb.legendre_p_root(100, k, weight=True) for k in range(100)]
    t, w = (np.array([np.longdouble(part.mid().str(25, radius=False)) for part in own]) for own in zip(*roots))
    reach = np.longdouble("9.8")

    def below(high: Any) -> tuple[Any, Any]:
        half = (high + reach)[..., None] / 2
        place = -reach + half * (1 + t)
        return place, half * w * np.exp(-(place**2) / 2)

    top, mass = below(np.array(reach))
    others, masses = below(top)
    one, other = np.log1p(np.exp(top))[:, None, None], np.log1p(np.exp(others))
    two, three = other[:, :, None], other[:, None, :]
    whole = mass[:, None, None] * masses[:, :, None] * masses[:, None, :]
    both = one + two + three
    hit, norm = np.sum(whole * one / both), np.sum(whole * (one**2 + two**2 + three**2) / both**2)
    expected = str(1 - hit**2 / norm / np.sum(whole))
    found = evaluate(population_risk(MaxSLR(oo, noise=0), softplus), {"L": 3, "a": 1}, digits=16)
    with workprec(100):
        assert found.error < 1e-18
        assert abs(found.value - mpf(expected)) <= found.error + mpf(2) ** -61
