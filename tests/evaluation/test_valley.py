"""Where a risk is least, as far as its error tells: of functions whose least place is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symslr.evaluation.location.minima.extent import minimum_region, newton_on_average

ERROR = 1e-14


def found(function: Callable[[Any], float], place: list[float]) -> Any:
    return minimum_region(function, lambda at: (function(at), ERROR), lambda at: at, np.array(place), 1e-4)


@pytest.mark.parametrize("curvature", [1.0, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("shift", [0.0, 3e-5, 0.7])
def test_a_parabola_holds_its_least_place_and_value(curvature: float, shift: float) -> None:
    box = found(lambda at: 0.5 + curvature * float((at[0] - 2) ** 2), [2 + shift])
    low, high = box.place - box.extents[0], box.place + box.extents[1]
    assert low[0] <= 2 <= high[0]
    assert curvature * (box.place[0] - 2) ** 2 <= box.fall + 2 * ERROR
    assert high[0] - low[0] < 8 * max(3e-4, np.sqrt(2 * ERROR / curvature))


def test_a_parameter_without_effect_may_be_anywhere() -> None:
    box = found(lambda at: float((at[0] - 1) ** 2), [1.0, 0.3])
    assert box.extents[0, 0] < 1e-2
    assert box.place[1] - box.extents[0, 1] <= -59
    assert box.place[1] + box.extents[1, 1] >= 59


def test_a_valley_that_bends_is_followed() -> None:
    """Every (t, 1/t) is least."""
    box = found(lambda at: float((at[0] * at[1] - 1) ** 2), [1.0, 1.0])
    assert np.all(box.place + box.extents[1] > 2.5)


def test_the_search_may_be_off() -> None:
    """The risk that was searched has its least place at 14, the true one at 10."""
    true = lambda at: 1e-15 * float((at[0] - 10) ** 2) * 10  # noqa: E731
    box = minimum_region(
        lambda at: 1e-13 * float((at[0] - 14) ** 2), lambda at: (true(at), 1e-15), lambda at: at, np.array([14.0]), 1e-4
    )
    assert box.place[0] - box.extents[0, 0] <= 10 <= box.place[0] + box.extents[1, 0]
    assert true(box.place) <= box.fall + 2e-15


def _on_other_points(count: int, scatter: float, kink: float) -> list[Callable[[Any], float]]:
    """Risks whose least places scatter around (0.3, 1) along a valley that is not along the axes, each with kinks of its own."""
    rng = np.random.default_rng(7)
    turned = np.array([[1.0, 0.6], [0.6, 2.0]])

    def risk(own: Any, corners: Any) -> Callable[[Any], float]:
        def at(place: Any) -> float:
            away = np.asarray(place) - [0.3, 1.0]
            return float(
                0.5 + away @ turned @ away + own @ away + kink * np.sum(np.abs(place[0] - corners)) / len(corners)
            )

        return at

    return [risk(scatter * rng.normal(size=2), 0.3 + rng.normal(size=400)) for _ in range(count)]


@pytest.mark.parametrize("scatter", [1e-1, 1e-3, 1e-6])
def test_the_place_of_risks_on_other_points_is_within_its_error(scatter: float) -> None:
    place, off, fall = newton_on_average(_on_other_points(16, scatter, 0.0), np.array([0.5, 0.7]))
    away = place - [0.3, 1.0]
    assert np.all(np.abs(away) <= 1.5 * off)
    assert np.all(off < 2 * scatter)
    risen = away @ np.array([[1.0, 0.6], [0.6, 2.0]]) @ away
    assert risen <= 2.5 * fall
    assert fall < 2 * scatter**2


@pytest.mark.parametrize("cubic", [0.3, 3.0, 8.0])
def test_differences_of_a_smooth_risk_that_no_points_scatter_know_their_own_error(cubic: float) -> None:
    def risk(at: Any) -> float:
        return 0.1 + float((at[0] - 2) ** 2 * np.exp(cubic * (at[0] - 2)))

    place, off, fall = newton_on_average([risk] * 16, np.array([2.0 + 0.03 / cubic]))
    assert abs(place[0] - 2) <= off[0] < 1e-5
    assert (place[0] - 2) ** 2 <= fall + 1e-16


def test_kinks_of_the_points_are_averaged() -> None:
    risks = _on_other_points(16, 1e-3, 0.1)
    place, off, fall = newton_on_average(risks, np.array([0.35, 1.1]))
    mean = lambda at: float(np.mean([risk(at) for risk in risks]))  # noqa: E731
    grid = [mean(place + np.array([x, y])) for x in np.linspace(-0.02, 0.02, 21) for y in np.linspace(-0.02, 0.02, 21)]
    assert mean(place) - min(grid) <= fall
    assert np.all(off < 0.05)


def test_a_mean_without_a_bend_has_no_place() -> None:
    _, off, fall = newton_on_average([lambda at: 1.0, lambda at: 1.0], np.array([0.5]))
    assert np.all(np.isinf(off))
    assert np.isinf(fall)
