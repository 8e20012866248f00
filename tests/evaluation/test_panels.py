"""The rule on panels: its bounds hold where few digits are asked for, and a bound that is left out is seen to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb
from sympy import Abs, Expr, Integral, Max, Rational, erf, exp, log, oo, sin, symbols, tanh

from symslr.evaluation.certified.analytic.growth import GrowthBounds
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.form import laplace_form
from symslr.evaluation.panels import axis, panels
from symslr.evaluation.panels.in_balls import BallIntegrals
from symslr.evaluation.panels.moments import Moments
from symslr.expression.expectation import ScalarExpectation
from symslr.model.scalar_law import ScalarLaw, laplace, normal, student
from symslr.model.symbols import x

u, t = symbols("u t", positive=True)
y = symbols("y", real=True)

FEW, MANY = 9.0, 50.0
"""Nats: a bound is near the error where few digits are asked for."""


def share(kernel: Expr, law: ScalarLaw, length: int, second: Expr | None = None) -> Moments:
    """E[kappa^2 / (sum of kappa)^2] of one of so many tokens, or E[kappa w/(sum kappa sum w)], as a Laplace integral."""
    own = kernel.xreplace({x: y})

    def mean(body: Expr) -> Expr:
        weight = exp(-u * own) if second is None else exp(-u * own - t * second.xreplace({x: y}))
        return ScalarExpectation(body * weight, y, law)

    if second is None:
        found = Integral(u * mean(own**2) * mean(1 + 0 * y) ** (length - 1), (u, 0, oo))
    else:
        other = second.xreplace({x: y})
        found = Integral(mean(own * other) * mean(1 + 0 * y) ** (length - 1), (u, 0, oo), (t, 0, oo))
    form = laplace_form(found)
    assert form is not None
    return Moments(form, ())


KERNELS = {
    "softplus": (log(1 + exp(x)), normal(), 3, None),
    "quartic": (1 + x**4, normal(), 2, None),
    "zero": (x**2, normal(1), 4, None),
    "kink": (Max(x, 0) + Rational(1, 10), normal(), 3, None),
    "tail": (1 + Abs(x), student(5), 3, None),
    "law": (1 + tanh(2 * x), laplace(), 5, None),
    "half line": (1 + x, ScalarLaw(exp(-x), 0, oo), 3, None),
    "wave": (2 + sin(3 * x), normal(), 6, None),
    "kinks": (1 + Max(0, x, 3 * x - Rational(7, 5)), normal(), 3, None),
    "two": (2 + erf(x), normal(), 2, exp(2 * x)),
}


@pytest.fixture(params=KERNELS)
def moments(request: pytest.FixtureRequest) -> Moments:
    return share(*KERNELS[request.param])


def off(found: BallIntegrals, truth: Any) -> tuple[float, float]:
    """(distance from the truth, claimed error)."""
    ((value, error),) = found.sums()
    return abs(float(arb(value) - truth)), float(error)


def truth_of(moments: Moments) -> Any:
    ((value, _),) = BallIntegrals(moments, [], MANY).sums()
    return value


def test_shares_add_up() -> None:
    ((value, error),) = BallIntegrals(share(log(1 + exp(x)), normal(), 1), [], MANY).sums()
    assert abs(value - 1) <= error < 1e-20


def test_against_a_nested_rule() -> None:
    """kappa = 1 + x^2 at two tokens, on a grid in polar coordinates: E[(kappa_1/(kappa_1 + kappa_2))^2]."""
    radius = np.linspace(0.0, 9.0, 20001)[1:]
    angles = 2 * np.pi * (np.arange(256) + 0.5) / 256
    first, second = (1 + (radius[:, None] * part(angles)) ** 2 for part in (np.cos, np.sin))
    inside = ((first / (first + second)) ** 2).mean(axis=1) * radius * np.exp(-(radius**2) / 2)
    expected = float(inside.sum() * (radius[1] - radius[0]))
    ((value, _),) = BallIntegrals(share(1 + x**2, normal(), 2), [], 30.0).sums()
    assert float(value) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("nats", [FEW, 15.0, 25.0])
def test_the_bounds_hold(moments: Moments, nats: float) -> None:
    truth = truth_of(moments)
    distance, error = off(BallIntegrals(moments, [], nats), truth)
    assert distance <= error
    assert error <= 30 * float(truth) * np.exp(-nats)


def without_panels(patch: pytest.MonkeyPatch) -> None:
    """The error of panels is not counted, and they have half their nodes."""
    patch.setattr(panels, "LOG_RULE", -20.0)


def without_lost(patch: pytest.MonkeyPatch) -> None:
    """The mass that is left out is more, and not counted."""
    made = panels.Search.panels

    def fewer(own: Any, limits: Any) -> Any:
        found = made(own, limits)
        masses = (found.tops + found.sizes - found.masses[:, None]).max(axis=0)
        keep = np.flatnonzero(masses > np.sort(masses)[len(masses) // 2])
        parts = {name: getattr(found, name)[keep] for name in ("middle", "half", "order", "sizes")}
        parts["charts"] = [found.charts[n] for n in keep]
        rows = {name: getattr(found, name)[:, keep] for name in ("low", "high", "tops")}
        return panels.Panels(**parts, **rows, lost=found.lost, masses=found.masses)

    patch.setattr(panels.Search, "panels", fewer)


def short(early_side: bool) -> Callable[[pytest.MonkeyPatch], None]:
    """An axis that ends early on one side."""

    def early(patch: pytest.MonkeyPatch) -> None:
        made = axis.first_below

        def moved(bound: Callable[[float], float], most: float, rises: bool) -> float:
            move = (12.0 if rises else -6.0) if rises == early_side else 0.0
            return made(bound, most, rises) + move

        patch.setattr(axis, "first_below", moved)

    return early


def long_steps(patch: pytest.MonkeyPatch) -> None:
    """Steps are twice as long as the theorem allows for the error that is claimed."""
    step, error = axis.step_for, axis.relative_error
    patch.setattr(axis, "step_for", lambda nats, k: 2.5 * step(nats, k))
    patch.setattr(axis, "relative_error", lambda h, k: error(h / 2.5, k))


BREAKS = {
    "panels": without_panels,
    "mass": without_lost,
    "left": short(True),
    "right": short(False),
    "step": long_steps,
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_bound_that_is_left_out_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {kernel: share(*KERNELS[kernel]) for kernel in ("softplus", "quartic", "wave")}
    truths = {kernel: truth_of(own) for kernel, own in every.items()}
    BREAKS[name](monkeypatch)
    seen = [off(BallIntegrals(own, [], FEW), truths[kernel]) for kernel, own in every.items()]
    assert any(distance > error for distance, error in seen)


@pytest.mark.parametrize("kernel", [x**2 - Rational(1, 10), x**2 - Rational(1, 10**40)], ids=str)
def test_a_kernel_that_may_be_negative_is_refused(kernel: Expr) -> None:
    """Also where it is so small that u kappa stays below 1: the trapezoid rule is for kappa >= 0."""
    with pytest.raises(CannotEvaluate, match=r"negative|>= 0"):
        BallIntegrals(share(kernel, normal(), 3), [], FEW).sums()


@pytest.mark.parametrize("side", [-1, 1])
def test_the_growth_of_a_logarithm_of_a_power_is_bounded(side: int) -> None:
    for start in (16.0, 64.0):
        bound = GrowthBounds(y, start, side).modulus(log(y**20))
        for at in (start, 2 * start, 100 * start):
            assert np.log(20 * np.log(at)) <= bound.constant + bound.linear * at + bound.power * np.log(at)
