"""Kernels that change far out: scales beyond the usual ones, held against Gauss-Legendre sums over two tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sympy import Abs, Expr, Integer, Rational, exp, sign, sin, tanh

from symslr.evaluation import least_risk, risk_at
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import a, x
from symslr.model.task import Task

TASK = SpikedSLR(nu=2, length=2, noise=0)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def by_sums(kappa: Callable[[Any], Any], scale: float, centre: float, *, is_normalised: bool = True) -> float:
    """1 - M^2/Q with M = E A_1 and Q = E A_1^2 + E A_2^2, at keys x_1 ~ N(sqrt(2), 1) and x_2 ~ N(0, 1); for scales above 0."""
    near = (centre + np.outer([-1.0, 1.0], 2.0 ** np.arange(-3, 40)).ravel()) / scale
    cuts = np.unique(np.concatenate([near[(near > -9) & (near < 11)], [centre / scale], np.linspace(-9, 11, 41)]))
    cuts, half = cuts[:-1], np.diff(cuts)[:, None] / 2
    places, steps = (cuts[:, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()
    kernel = kappa(scale * places)
    first, second = (steps * np.exp(-((places - mean) ** 2) / 2) / np.sqrt(2 * np.pi) for mean in (np.sqrt(2), 0.0))
    if not is_normalised:
        return float(1 - (first @ kernel) ** 2 / (first @ kernel**2 + second @ kernel**2))
    share = kernel[:, None] / (kernel[:, None] + kernel[None, :])
    hit, square = first @ share @ second, first @ (share**2 + (1 - share) ** 2) @ second
    return float(1 - hit**2 / square)


CASES = [
    (3 + 2 * sign(x - 640), lambda y: 3 + 2 * np.sign(y - 640), 640),
    (1 + 30 / (1 + (x - 800) ** 2), lambda y: 1 + 30 / (1 + (y - 800) ** 2), 800),
    (Rational(1, 50) + exp(-((x - 1100) ** 2) / 9), lambda y: 0.02 + np.exp(-((y - 1100) ** 2) / 9), 1100),
]


@pytest.mark.parametrize("normaliser", ["sum", None], ids=["sum", "none"])
@pytest.mark.parametrize(("kernel", "kappa", "centre"), CASES, ids=["step", "Lorentz", "bump"])
def test_the_risk_at_a_large_scale_sees_what_the_kernel_does_far_out(
    kernel: Expr, kappa: Callable[[Any], Any], centre: float, normaliser: str | None
) -> None:
    """At half the scales a series through their values would see a constant, with an error of 1e-14."""
    found = risk_at(TASK, Attention(kernel, normaliser=normaliser), Integer(430), {})
    assert (
        abs(float(found) - by_sums(kappa, 430, centre, is_normalised=normaliser == "sum")) <= float(found.error) + 1e-11
    )


@pytest.mark.parametrize(("kernel", "kappa", "centre"), CASES[:2], ids=["step", "Lorentz"])
def test_the_best_scale_far_out_is_found(kernel: Expr, kappa: Callable[[Any], Any], centre: float) -> None:
    value, places = least_risk(TASK, Attention(kernel), {})
    coarse = min(np.geomspace(0.1 * centre, 40.0 * centre, 61), key=lambda scale: by_sums(kappa, scale, centre))
    one = minimize_scalar(
        lambda scale: by_sums(kappa, scale, centre),
        bounds=(coarse / 1.2, coarse * 1.2),
        method="bounded",
        options={"xatol": 1e-3},
    )
    assert abs(float(value) - one.fun) <= float(value.error) + 1e-9
    assert abs(float(places["a"]) / one.x - 1) < 1e-3


def test_a_kernel_turned_round_has_its_best_scale_below_zero_or_above() -> None:
    """sign(x + 640) falls short of nothing on the other side: the risk at -a is that of the kernel turned round at a."""
    right, left = (least_risk(TASK, Attention(3 + 2 * side * sign(x - side * 640)), {}) for side in (1, -1))
    assert abs(float(right[0]) - float(left[0])) <= float(right[0].error) + float(left[0].error)
    assert abs(float(right[1]["a"]) + float(left[1]["a"])) < 1e-2


def test_the_least_risk_scales_with_the_kernel() -> None:
    """kappa(x/1000) at 1000 a is kappa(x) at a; by a series through scales before 1000 the former was 0.35 at -oo."""
    (near, at), (far_out, place) = (least_risk(TASK, Attention(1 + Abs(x) / size), {}) for size in (1, 1000))
    assert abs(float(near) - float(far_out)) <= float(near.error) + float(far_out.error) < 1e-10
    assert abs(float(place["a"]) / float(at["a"]) / 1000 - 1) < 1e-4


def test_the_least_risk_at_a_kink_of_the_scale() -> None:
    """At a = 0 all weights are 1/2, whatever the tokens; the risk rises as |a| beside it, as E|x| of the two laws differ."""
    own, others = (ScalarLaw(exp(mean - x) / (1 + exp(mean - x)) ** 2) for mean in (1, 0))
    value, places = least_risk(
        Task.from_token_laws(own, others, length=2, noise=0), Attention(exp(-Abs(x))), {}, digits=10
    )
    assert abs(float(value) - 0.5) <= float(value.error) < 1e-11
    assert abs(float(places["a"])) <= float(places["a"].error)


@pytest.mark.parametrize(("kernel", "unit"), [(1 / (1 + exp(-x)), 100), (1 + Abs(x), 1000), (2 + sin(x), 5)])
def test_a_narrow_kernel_is_searched_in_its_own_unit(kernel: Expr, unit: int) -> None:
    """The least risk knows no unit of the key; at the scales of a search 1/(1 + e^(-100 x)) took more time than there was."""
    values = {"L": 3, "nu": 1}
    value, places = least_risk(SpikedSLR(noise=0), Attention(kernel), values)
    narrow, nearer = least_risk(SpikedSLR(noise=0), Attention(kernel.subs(x, unit * x)), values)
    assert abs(value.value - narrow.value) <= value.error + narrow.error
    assert abs(places["a"].value - unit * nearer["a"].value) <= places["a"].error + unit * nearer["a"].error
    bounds = {a: (0.5 / unit, 1.0 / unit)}
    inside, _ = least_risk(SpikedSLR(noise=0), Attention(kernel.subs(x, unit * x)), values, bounds=bounds)
    assert inside.value >= value.value - value.error - inside.error


def gaussian_means(kernel: Callable[[Any], Any], scale: float, nu: float) -> tuple[float, float, float]:
    """E kappa of a relevant token, and E kappa^2 of it and of another, by sums over the line."""
    shift = np.sqrt(nu)
    tokens = np.linspace(-10.0, 10.0, 200_001)
    density = np.exp(-(tokens**2) / 2) / np.sqrt(2 * np.pi) * (tokens[1] - tokens[0])
    near, other = kernel(scale * (tokens + shift)), kernel(scale * tokens)
    return float(density @ near), float(density @ near**2), float(density @ other**2)


def test_a_scale_far_below_the_scan_is_found() -> None:
    """Regression: bounds were asked for; tanh(a x) + 1/1000 changes from a = 1/1000 on, the scan began at 1/25."""
    values = {"L": 1000, "nu": 20}
    value, places = least_risk(SpikedSLR(noise=0), Attention(tanh(x) + Rational(1, 1000), normaliser=None), values)

    def risk(scale: float) -> float:
        mean, square, other = gaussian_means(lambda y: np.tanh(y) + 1e-3, scale, 20)
        return 1 - mean**2 / (square + 999 * other)

    one = minimize_scalar(risk, bounds=(1e-3, 1e-2), method="bounded", options={"xatol": 1e-8})
    assert abs(float(value) - one.fun) <= float(value.error) + 1e-11
    assert abs(float(places["a"]) / one.x - 1) < 1e-3
