"""Judges of claimed errors, and a seeded part of their table; ``benchmarks/honest_numbers.py`` runs thousands."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mpf

from benchmarks.honesty import Outcome, Point, by_hand, judge, pairs, random_points, sequences, steep_point, verdict
from benchmarks.honesty.points import HUMP, KINK
from benchmarks.honesty.verdict import _law, question
from symslr.expression.value import Value
from symslr.model.catalogue import erf, softmax, softmax1, softplus

ALONE = ((2, Fraction(1)),)
PLACE = (("a", Fraction(3, 2)), ("nu", Fraction(2)))
QUICK = [
    Point("spiked", softmax, ALONE, Fraction(1, 3), PLACE, "numpy", None),
    Point("max", None, ALONE, Fraction(0), PLACE[1:], "arb", 20),
    Point("spiked", erf, ALONE, Fraction(0), (*PLACE, ("c", Fraction(-1))), "numpy", None),
]
WRITTEN = (("where", "one"), ("signal", {"1": "1"}), ("prior", False))
LOCATED = [
    Point(
        "located",
        None,
        ALONE,
        Fraction(0),
        (*PLACE[1:], ("rho", Fraction(1, 2))),
        "numpy",
        None,
        (*WRITTEN, ("keys", "ar")),
    ),
    Point("located", None, ALONE, Fraction(0), PLACE[1:], "numpy", None, (*WRITTEN, ("keys", ""))),
    Point(
        "located",
        softplus,
        ALONE,
        Fraction(1, 3),
        (*PLACE, ("rho", Fraction(1, 2))),
        "numpy",
        None,
        (*WRITTEN, ("keys", "ar")),
    ),
]


Asked = Callable[[Point, Value], verdict.Judged | None]
Scaled = Callable[[Point, Value, Value], verdict.Judged | None]


def test_the_judges_import_nothing_of_the_library() -> None:
    for module in (by_hand, pairs, sequences):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert {name for name in names if name.startswith("symslr")} == set()


SHARP = [
    Point(
        "located",
        None,
        ((156, Fraction(1)),),
        Fraction(131, 100),
        (("nu", Fraction(252, 25)), ("coin", Fraction(9, 10))),
        "numpy",
        None,
        (("where", "independent"), ("signal", {"1/2": "1/3", "2": "2/3"}), ("prior", False), ("keys", "")),
    ),
    Point(
        "located",
        None,
        ALONE,
        Fraction(34, 25),
        (("nu", Fraction(441, 100)), ("rho", Fraction(9, 10))),
        "numpy",
        None,
        (*WRITTEN, ("keys", "alike")),
    ),
]
"""Claims that a judge in double precision has called false: a sum of equal parts, and keys that are nearly one."""


def test_claimed_errors_are_true() -> None:
    judged = [judge(point, 20.0) for point in (*QUICK, *LOCATED, *SHARP)]
    assert [(j.point.name, j.reason) for j in judged if j.outcome is not Outcome.TRUE] == []
    assert len(Counter(j.judge for j in judged)) >= 2


def test_the_same_points_for_the_same_seed() -> None:
    assert [p.name for p in random_points(20, 3)] == [p.name for p in random_points(20, 3)]
    assert [p.name for p in random_points(20, 3)] != [p.name for p in random_points(20, 4)]


@pytest.mark.parametrize("point", [QUICK[0], LOCATED[0], LOCATED[-1]], ids=lambda point: point.kind)
@pytest.mark.parametrize("moved", ["1.00000000001", "1.1"])
def test_a_claim_too_small_is_false(point: Point, moved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = point.answer()
    boastful = replace(honest, value=honest.value * mpf(moved), error=honest.value * mpf("1e-13"))
    monkeypatch.setattr(Point, "answer", lambda _: boastful)
    judged = judge(point, 20.0)
    assert judged.outcome is Outcome.FALSE
    assert "claimed" in judged.reason


FEWER = "formulas by hand, fewer digits than the claim"
ONE = (*WRITTEN, ("keys", ""))
COINS = (("where", "independent"), ("signal", {"1": "1/2", "-1": "1/2"}), ("prior", False), ("keys", ""))
PAIRS = (("where", "subset(2)"), ("signal", {"(1,0)": "1/2", "(0,1)": "1/2"}), ("prior", False), ("keys", ""))
STUDENT = (("dof", Fraction(3)), ("mean", Fraction(3, 2)))
LONG = ((40, Fraction(1)),)
BLUNT = [
    (verdict._by_fewer_digits, Point("spiked", softmax1, LONG, Fraction(1, 3), PLACE, "arb", 45), FEWER),
    (verdict._by_fewer_digits, Point("student", None, LONG, Fraction(0), STUDENT, "mpmath", 20), FEWER),
    (
        verdict._by_mesh,
        Point(
            "located", HUMP, ((3, Fraction(1)),), Fraction(1, 3), (("a", Fraction(1, 5)), PLACE[1]), "numpy", None, ONE
        ),
        "sequences on a mesh, fewer digits than the claim",
    ),
    (verdict._by_sequences, Point("student", None, LONG, Fraction(1, 3), STUDENT, "numpy", None), "drawn sequences"),
    (
        verdict._by_sequences,
        Point(
            "spiked", softplus, ((20_000, Fraction(1)),), Fraction(0), (*PLACE[:1], ("nu", Fraction(30))), "numpy", None
        ),
        "drawn sequences",
    ),
    (
        verdict._by_sequences,
        Point("located", softmax, LONG, Fraction(0), (*PLACE, ("coin", Fraction(1, 3))), "numpy", None, COINS),
        "drawn sequences",
    ),
    (
        verdict._by_sequences,
        Point("located", None, LONG, Fraction(0), PLACE[1:], "numpy", None, PAIRS),
        "drawn sequences",
    ),
]
"""Judges that are not as sharp as the claim, and a number for each."""


def _off(asked: verdict.Judged | None) -> mpf:
    """What the judge's answer may be off, as its line says of a claim that is far away."""
    assert asked is not None
    return mpf(asked.reason.partition("allowed ")[2].split(")")[0])


@pytest.fixture
def answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge computes its answer to a test's one point once: it is not told the value that it judges."""
    for place, name in ((verdict, "_best"), (verdict, "_over_drawn"), (sequences, "refined")):
        monkeypatch.setattr(place, name, _first_of(getattr(place, name)))


def _first_of(answer: Callable[..., object]) -> Callable[..., object]:
    known: list[object] = []

    def once(*how: object) -> object:
        known.extend([] if known else [answer(*how)])
        return known[0]

    return once


@pytest.mark.usefixtures("answered_once")
@pytest.mark.parametrize(("ask", "point", "name"), BLUNT, ids=lambda case: getattr(case, "kind", ""))
def test_judges_of_fewer_digits_see_ten_of_their_errors(ask: Asked, point: Point, name: str) -> None:
    honest = point.answer()
    found = ask(point, honest)
    assert found is not None
    assert (found.outcome, found.judge) == (Outcome.TRUE, name)
    spare = _off(ask(point, replace(honest, value=honest.value + 1)))
    assert 0 < spare < 0.5 * honest.value
    for moved in (-1, 1):
        for by in (10 * honest.error + 2 * spare, mpf("1e-3" if "digits" in name else "0.5")):
            there = ask(point, replace(honest, value=honest.value + moved * by))
            assert there is not None
            assert there.outcome is Outcome.FALSE


LEAST = [  # the second at an endless scale
    Point("spiked", softplus, ((5, Fraction(1)),), Fraction(1, 3), PLACE[1:], "numpy", None),
    Point("spiked", KINK, ((20, Fraction(1)),), Fraction(0), PLACE[1:], "numpy", None),
]


@pytest.mark.parametrize(
    ("ask", "point"),
    [(verdict._by_scales, LEAST[0]), *((verdict._by_drawn_scales, point) for point in LEAST)],
    ids=lambda case: getattr(case, "kind", ""),
)
def test_least_risks_are_those_of_their_scale_and_of_no_other(ask: Scaled, point: Point) -> None:
    """A value that is moved is false, and so is the true risk at a scale that is not the best."""
    honest, scale = point.least()
    found = ask(point, honest, scale)
    assert found is not None
    assert found.outcome is Outcome.TRUE
    spare = _off(ask(point, replace(honest, value=honest.value + 1), scale))
    for moved in (-1, 1):
        there = ask(point, replace(honest, value=honest.value + moved * (10 * honest.error + 2 * spare)), scale)
        assert there is not None
        assert there.outcome is Outcome.FALSE
    worse = Fraction(1, 20)
    risk = replace(point, values=(*point.values, ("a", worse))).answer()
    there = ask(point, risk, replace(scale, value=mpf(1) / 20))
    assert there is not None
    assert there.outcome is Outcome.FALSE
    assert "above the risk at" in there.reason


@pytest.mark.parametrize("length", [1, 2, 5])
def test_formulas_by_hand_agree_with_drawn_sequences(length: int) -> None:
    """Two judges of one risk: the formulas, and the definition over samples; both tasks."""
    for task in ("spiked", "max"):
        values = (("a", Fraction(3, 2)), ("nu", Fraction(2)))
        point = Point(task, softplus, ((length, Fraction(1)),), Fraction(0), values, "numpy", None)
        asked = question(point, length)
        *_, (exact, error) = by_hand.risks([(Fraction(1), asked)], 18)
        value, spread = sequences.attention_drawn([(1.0, asked)], np.random.default_rng(5))
        assert float(error) < 1e-15
        assert abs(float(exact) - value) <= 4 * spread + 1e-15
        assert spread < 0.01


@pytest.mark.parametrize("where", ["one", "subset(2)", "independent"])
def test_attention_on_a_mesh_agrees_with_drawn_sequences(where: str) -> None:
    """Two judges of one risk, of a kernel that says nothing of the law; every law of location."""
    law = (("where", where), ("signal", {"1": "1/2", "-1": "1/2"}), ("prior", where == "one"), ("keys", ""))
    values = (*PLACE, ("coin", Fraction(1, 3)))
    located = _law(Point("located", softplus, ALONE, Fraction(0), values, "numpy", None, law))
    exact, error, _ = sequences.refined(located, 1e-13)
    value, spread = sequences.drawn(located, np.random.default_rng(5))
    assert error < 1e-12
    assert abs(exact - value) <= 4 * spread + 1e-12  # both tokens are always relevant in a subset of two
    assert spread < 0.01


def test_balls_and_long_doubles_agree() -> None:
    for point in QUICK[:2]:
        questions = [(share, question(point, length)) for length, share in point.lengths]
        found = [next(iter(by_hand.risks(questions, digits))) for digits in (18, 30)]
        assert abs(float(found[0][0]) - float(found[1][0])) <= 1e-12 * abs(float(found[1][0]))


def test_pairs_of_tokens_see_ten_errors_of_a_steep_risk() -> None:
    """Softmax and erf under strong selections; the same values moved are false."""
    for number in (8, 54):
        point = steep_point(number, 20261124)
        value = point.answer()
        found = verdict._by_pairs(point, value)
        assert found is not None
        assert (found.outcome, found.judge) == (Outcome.TRUE, "pairs of tokens")
        moved = verdict._by_pairs(point, replace(value, value=value.value + 10 * value.error))
        assert moved is not None
        assert moved.outcome is Outcome.FALSE
