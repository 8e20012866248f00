"""Weights that add up to one: the benchmark's integrals are true, and one that is not shows."""

from __future__ import annotations

import pytest
from sympy import Rational

from benchmarks import weights
from benchmarks.weights import Point, judged, random_point


@pytest.mark.parametrize(
    "point",
    [
        Point("softplus", "N(0, 1)", Rational(150), 1, 8, True),
        Point("sigmoid", "Laplace", Rational(8), 2, 8, True),
        Point("exp/(1 + exp(1/2))", "N(1, 2)", Rational(3), 3, 6, False),
        Point("1 + exp", "Student 7", Rational(2), 2, 4, False),
    ],
    ids=lambda point: f"{point.kernel}-{point.law}",
)
def test_they_add_up(point: Point) -> None:
    assert judged(point)[0] == "true"


def test_a_weight_that_is_missing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = weights.mean_of
    monkeypatch.setattr(weights, "mean_of", lambda *asked: honest(*asked) * (1 - Rational(1, 10**8)))
    verdict, apart = judged(Point("softplus", "N(0, 1)", Rational(2), 2, 10, True))
    assert (verdict, apart > 10) == ("false", True)


def test_a_point_is_that_of_its_number() -> None:
    assert random_point(7, 1) == random_point(7, 1) != random_point(8, 1)
