"""A seeded part of the table of claimed errors; ``benchmarks/honest_numbers.py`` runs thousands."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from mpmath import mpf

from symslr.check import honesty
from symslr.check.honesty import Outcome, judge, random_points
from symslr.model.catalogue import linear, softmax, softmax1

QUICK = (None, softmax, softmax1, linear)
POINTS = [p for p in random_points(400, 7) if p.task == "spiked" and p.attention in QUICK and p.digits is None][:18]


def test_claimed_errors_are_true() -> None:
    judged = [judge(point) for point in POINTS]
    assert [(j.point.name, j.reason) for j in judged if j.outcome in (Outcome.FALSE, Outcome.CRASHED)] == []
    counts = Counter(j.outcome for j in judged)
    assert counts[Outcome.TRUE] >= 0.9 * len(judged)
    assert {j.referee for j in judged if j.outcome is Outcome.TRUE} <= {"Arb", "mpmath"}


def test_the_same_points_for_the_same_seed() -> None:
    assert [p.name for p in random_points(20, 3)] == [p.name for p in random_points(20, 3)]
    assert [p.name for p in random_points(20, 3)] != [p.name for p in random_points(20, 4)]


def test_a_claim_too_small_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = honesty.evaluate

    def boastful(*arguments: object, **options: object) -> object:
        value = honest(*arguments, **options)
        if options.get("backend") != "numpy":
            return value
        return replace(value, value=value.value * mpf("1.0001"), error=mpf("1e-20"))

    monkeypatch.setattr(honesty, "evaluate", boastful)
    judged = judge(POINTS[0])
    assert judged.outcome is Outcome.FALSE
    assert "claimed" in judged.reason
