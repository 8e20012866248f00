"""Kept parts come back bit by bit, and are shown where the code asks for what was kept."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sympy import Rational

from symslr.cache.parts import Lacking, Shown, computed_once, keeping, measured, recomputed
from symslr.cache.results import Cache
from symslr.check.collect import load_module
from symslr.expression.value import Kind, Value
from symslr.library.records import Part, Point, Record, plain, read_record, record_file, said, versions
from symslr.model.catalogue import softmax

FILE = """
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from symslr.cache.parts import computed_once
PLACES = (1, 2, 4)
LOG = Path(__file__).with_name("log")
def slow(scale, place):
    with LOG.open("a") as log:
        log.write(f"{place} ")
    return {"at": place, "value": [scale * place, 3]}
@dataclass(frozen=True)
class Job:
    place: int
def fit(job):
    return 2 * job.place
def data(scale=2):
    fits = computed_once(partial(slow, scale), PLACES)
    more = computed_once(fit, [Job(place) for place in PLACES])
    return [row["value"][0] + 10 * row["at"] for row in fits] + more
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., ModuleType]:
    """A function that writes a file of numbers anew and loads it."""

    def written(old: str = "", new: str = "") -> ModuleType:
        file = tmp_path / "mine.py"
        assert old in FILE
        file.write_text(FILE.replace(old, new) if old else FILE)
        return load_module(file)

    return written


def compute(run: Callable[[], object], kept: Path | None = None) -> Record:
    with Cache(kept) as store:
        return recomputed("f", "seed 1", run, store, lambda done, total: None)


def logged(tmp_path: Path) -> list[str]:
    """The places that were computed since the last time, in whichever order the processes did."""
    log = tmp_path / "log"
    told = sorted(log.read_text().split()) if log.is_file() else []
    log.unlink(missing_ok=True)
    return told


def test_results_come_back_bit_by_bit(tmp_path: Path) -> None:
    path = record_file(tmp_path / "f.py", "f")
    results = (
        {"x": [0.1, math.inf, -math.inf, 1e-300], "name": "é", "flag": True, "none": None},
        [np.float64(1 / 3), np.int64(3), np.True_, np.array([[1.5, 2.0]])],
        (1, (2, "inf")),
        measured(np.array([1.0, 2.0]), [0.5, math.inf]),
    )
    points = tuple(Point(["a", place, 0.5], plain(one), 30.02) for place, one in enumerate(results))
    Record("f", "1 to 3", versions(), {"part": Part([3], points, True)}).write(path)
    found = read_record(path)
    assert found == Record("f", "1 to 3", versions(), {"part": Part([3], points, True)})
    assert found.parts["part"].points[1].found == [1 / 3, 3, True, [[1.5, 2.0]]]
    assert [type(cell) for cell in found.parts["part"].points[1].found[:3]] == [float, int, bool]
    assert found.parts["part"].points[2].found == [1, [2, "inf"]]
    assert (found.command, found.seconds) == ("symslr compute f", 120.08)
    assert math.isnan(plain(math.nan))
    assert read_record(path.with_name("other.json")) is None


def test_a_value_keeps_its_error_and_its_kind() -> None:
    assert measured(Value(0.5, 1e-9, Kind.ESTIMATED, 9, "")) == {"value": 0.5, "error": 1e-9, "kind": "estimated"}


@pytest.mark.parametrize(
    "text", ["", "{}", '{"name": 1}', "[1]", json.dumps({"name": "", "seeds": "", "versions": {}, "parts": {"p": {}}})]
)
def test_what_is_no_record_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"broken\.json: .*expected a record") as problem:
        read_record(path)
    assert "\n" not in str(problem.value)


def test_a_job_is_told_by_names_and_plain_values(write: Callable[..., ModuleType]) -> None:
    assert said(("spiked", softmax, None, 0.5, math.inf)) == ["spiked", "softmax", None, 0.5, math.inf]
    assert said({1: Rational(1, 3)}) == {"1": "1/3"}
    assert said([write().Job(3), len]) == [{"place": 3}, "len"]


@pytest.mark.parametrize(
    ("old", "new", "lacks"),
    [
        ("scale * place", "scale + place", ""),
        ("PLACES = (1, 2, 4)", "PLACES = (1, 2, 5)", "'slow'"),
        ("PLACES = (1, 2, 4)", "PLACES = (1, 2)", "'slow'"),
        ("def data(scale=2)", "def data(scale=3)", "'slow'"),
        ("    place: int", "    place: int\n    size: int = 1", "'fit'"),
        ("def fit(job)", "def other(job):\n    return 1\ndef fit(job)", ""),
    ],
)
def test_kept_parts_are_shown_where_the_same_is_asked(
    write: Callable[..., ModuleType], tmp_path: Path, old: str, new: str, lacks: str
) -> None:
    record = compute(write().data)
    assert logged(tmp_path) == ["1", "2", "4"]
    module = write(old, new)
    with Cache() as store, keeping(store, beside=Shown(record)):
        if lacks:
            with pytest.raises(
                Lacking, match=f"f: its kept numbers lack {lacks} as its code asks .* `symslr compute f`"
            ):
                module.data()
        else:
            assert module.data() == [12, 24, 48, 2, 4, 8]
    assert logged(tmp_path) == []


def test_two_parts_of_one_name_and_none_are_refused(write: Callable[..., ModuleType]) -> None:
    twice = write("    more = ", "    computed_once(partial(slow, 1), PLACES)\n    more = ")
    with pytest.raises(ValueError, match="two parts called slow"):
        compute(twice.data)
    with pytest.raises(ValueError, match="nothing of it is kept"):
        compute(lambda: 1)


def test_without_a_record_parts_look_the_same(write: Callable[..., ModuleType]) -> None:
    assert computed_once(write().fit, [write().Job(3)]) == [6]
    assert write().data() == [12, 24, 48, 2, 4, 8]


WORKING = """
import time
from pathlib import Path
from symslr.cache.parts import computed_once
def working(place):
    if place == 3 and not Path(__file__).with_name("ready").exists():
        raise InterruptedError
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return place
def data():
    return computed_once(working, (0, 1, 2, 3))
"""


def test_an_interrupted_run_goes_on_and_has_the_time_of_all_its_jobs(tmp_path: Path) -> None:
    file, store = tmp_path / "mine.py", tmp_path / "store"
    file.write_text(WORKING)
    module = load_module(file)
    with pytest.raises(InterruptedError):
        compute(module.data, store)
    (tmp_path / "ready").touch()
    record = compute(module.data, store)
    assert [point.found for point in record.parts["working"].points] == [0, 1, 2, 3]
    assert record.seconds > 0.75
