"""Kept points computed again: every one is drawn sooner or later, and a moved number, error or sign is found."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from symslr.cache.parts import OTHER_SEEDS, Lacking, computed_once, measured, recomputed
from symslr.cache.results import Cache
from symslr.library.folders import builtin_folder
from symslr.library.records import Part, Point, Record, read_record, record_file
from symslr.validation.again import AGAIN, CHEAP, Place, Rerun, again, cheap, dealt


def risk(sign: int, place: int) -> dict[str, object]:
    return {"risk": measured([math.exp(-sign * place), 0.5], [1e-9, 1e-12]), "at": place, "said": "a word"}


def tossed(job: tuple[str, int]) -> dict[str, object]:
    """A mean with a standard error, drawn from a seed, and the way of one run."""
    _, seed = job
    return {"mean": measured(1.0 + 0.1 * math.sin(seed), 0.1), "ends": [math.sin(seed)] * (1 + seed % 2)}


def biased(job: tuple[str, int]) -> dict[str, object]:
    return {"mean": measured(2.0 + 0.1 * math.sin(job[1]), 0.1), "ends": []}


def headless(job: tuple[str, int]) -> dict[str, object]:
    return {"ends": tossed(job)["ends"]}


def run(sign: int = 1) -> None:
    computed_once(partial(risk, sign), [1, 2, 3])


def record_of(compute: Callable[[], object]) -> Record:
    return recomputed("f", "", compute, Cache(), lambda done, total: None)


def rerun(record: Record, compute: Callable[[], object]) -> list[Rerun]:
    places = [Place("f", name, i) for name, part in record.parts.items() for i in range(len(part.points))]
    found = again({"f": (record, compute)}, places, lambda done, total: None)
    return sorted(found, key=lambda item: item.place.index)


def changed(record: Record, index: int, change: Callable[[Any], None]) -> Record:
    (name, part), points = next(iter(record.parts.items())), list(next(iter(record.parts.values())).points)
    found = copy.deepcopy(points[index].found)
    change(found)
    points[index] = replace(points[index], found=found)
    return replace(record, parts={name: replace(part, points=tuple(points))})


def scaled(key: str, place: int, factor: float, shift: float = 0.0) -> Callable[[Any], None]:
    def change(found: Any) -> None:
        found["risk"][key][place] = factor * found["risk"][key][place] + shift

    return change


def test_the_same_agrees() -> None:
    assert [item.differences for item in rerun(record_of(run), run)] == [(), (), ()]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(scaled("value", 0, 1, 1e-8), id="moved by ten errors"),
        pytest.param(scaled("value", 1, 1, -1e-11), id="moved down by ten errors"),
        pytest.param(scaled("error", 0, 10), id="an error widened tenfold"),
        pytest.param(scaled("error", 1, 0.1), id="an error shrunk tenfold"),
        pytest.param(lambda found: found.update(said="another"), id="another word"),
        pytest.param(lambda found: found.update(at=7), id="another parameter"),
        pytest.param(lambda found: found["risk"]["value"].append(1.0), id="one more number"),
        pytest.param(lambda found: found.update(risk=0.3), id="no error"),
    ],
)
def test_what_was_changed_is_found_where_it_is_drawn(change: Callable[[Any], None]) -> None:
    for index in range(3):
        found = rerun(changed(record_of(run), index, change), run)
        assert [bool(item.differences) for item in found] == [i == index for i in range(3)]


def test_a_sign_in_the_formula_is_found_at_every_point() -> None:
    record = record_of(run)
    wrong = replace(record, parts={"risk": replace(record.parts["risk"], sizes=[-1])})
    assert all(item.differences for item in rerun(wrong, partial(run, -1)))


def sampled(place: int) -> dict[str, object]:
    """A number of a deterministic part with a standard error: the same seed gives the same again."""
    return {"risk": {"value": 1.0 + place, "error": 0.1, "kind": "statistical"}}


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["risk"].update(error=1.0),
        lambda found: found["risk"].update(error=0.01),
        lambda found: found["risk"].update(value=found["risk"]["value"] + 1),
        lambda found: found["risk"].update(kind="estimated"),
        lambda found: found["risk"].pop("kind"),
        lambda found: found["risk"].update(value=None),
    ],
)
def test_a_statistical_number_is_held_to_its_error_and_kind(change: Callable[[Any], None]) -> None:
    def compute() -> None:
        computed_once(sampled, [1, 2])

    found = rerun(changed(record_of(compute), 1, change), compute)
    assert [bool(item.differences) for item in found] == [False, True]


def test_a_record_has_what_its_code_asks_for_and_no_more() -> None:
    record, places = record_of(run), [Place("f", "risk", 0)]
    part = record.parts["risk"]

    def two() -> None:
        run()
        computed_once(sampled, [1])

    drawn = replace(record, parts={"risk": replace(part, drawn=True)})
    more = replace(record, parts={"risk": part, "other": part})
    for kept, compute, whole in (
        (drawn, run, []),
        (more, run, []),
        (record, two, ["f"]),
        (replace(record, parts={}), run, ["f"]),
    ):
        with pytest.raises(Lacking, match="f: its kept numbers"):
            list(again({"f": (kept, compute)}, places if kept.parts else [], lambda done, total: None, whole))
    assert len(list(again({"f": (record, two)}, places, lambda done, total: None))) == 1


def test_numbers_within_their_errors_agree_whatever_their_rounding() -> None:
    for change in (scaled("value", 0, 1, 1.9e-9), scaled("error", 0, 4.9), scaled("value", 1, 1, 2**-52)):
        assert not any(item.differences for item in rerun(changed(record_of(run), 1, change), run))


def test_what_is_drawn_is_drawn_with_other_seeds() -> None:
    def compute(function: Any = tossed) -> None:
        computed_once(function, [("a", 3), ("b", 4)], again=lambda job, run: (job[0], job[1] + OTHER_SEEDS * run))

    record = record_of(compute)
    assert not any(item.differences for item in rerun(record, compute))
    (part,) = record.parts.values()
    moved = replace(record, parts={"biased": part})
    found = rerun(moved, partial(compute, biased))
    assert all("with other seeds 2" in item.differences[0] for item in found)
    assert len(found[0].differences) == 1
    other = replace(record, parts={"headless": part})
    assert all(
        "kept ['mean', 'ends'], now ['ends']" in item.differences[0]
        for item in rerun(other, partial(compute, headless))
    )
    assert AGAIN == 4
    empty = replace(record, parts={"tossed": replace(part, points=tuple(replace(p, found={}) for p in part.points))})
    assert all(item.differences == ("nothing measured to compare",) for item in rerun(empty, compute))


def test_consecutive_seeds_deal_out_every_point_and_cost_about_the_same() -> None:
    seconds = [0.01 * (1 + index % 97) for index in range(503)]
    points = [(Place("f", "part", index), cost) for index, cost in enumerate(seconds)]
    for start in (0, 7, 12345):
        packs = [dealt(points, 51, seed) for seed in range(start, start + 10)]
        assert sorted(place.index for pack in packs for place in pack) == list(range(503))
        costs = [sum(seconds[place.index] for place in pack) for pack in packs]
        assert max(costs) < 1.1 * min(costs)
    assert dealt(points, 51, 3) == dealt(points, 51, 13) != dealt(points, 51, 4)
    assert len(dealt(points, 10_000, 5)) == 503


def test_dear_points_and_drawn_ones_are_not_dealt() -> None:
    point = Point(1, 1, CHEAP)
    parts = {"a": Part([], (point, replace(point, seconds=CHEAP + 0.1))), "b": Part([], (point,), True)}
    assert [place for place, _ in cheap([Record("f", "", {}, parts)])] == [Place("f", "a", 0)]


def test_every_number_of_the_house_has_an_error_or_is_what_was_asked() -> None:
    """A float outside of measured numbers would have to come out the same on every machine."""

    def bare(found: Any) -> list[float]:
        if isinstance(found, dict):
            return [] if {"value", "error"} <= found.keys() else [x for one in found.values() for x in bare(one)]
        if isinstance(found, list):
            return [x for one in found for x in bare(one)]
        return [found] if isinstance(found, float) and not found.is_integer() else []

    for kind in ("figures", "validation"):
        for path in (builtin_folder(kind) / "data").glob("*.json"):
            record = read_record(record_file(path.parent.with_name("x.py"), path.stem))
            assert record is not None
            for name, part in record.parts.items():
                if not part.drawn:
                    asked = {x for point in part.points for x in bare(point.asked)}
                    loose = {x for point in part.points for x in bare(point.found)} - asked
                    assert len(loose) <= SHARES.get((record.name, name), 0), (record.name, name, loose)


SHARES = {("figure-reach", "row"): 40}
"""Shares of twenty starts, and strengths."""
