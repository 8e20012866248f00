"""Kept parts come back bit by bit, and are stale as soon as the code, the sizes or the jobs behind them change."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from symslr.cache.beside import Computing, Lacking, Shown, recorded
from symslr.cache.code import code_version
from symslr.cache.parts import computed_once, keeping
from symslr.cache.records import Part, Record, duration, plain, read_record, record_file
from symslr.cache.results import Cache
from symslr.check.collect import load_module

FILE = """
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from symslr.cache.parts import computed_once
from symslr.model.scalar_law import laplace
SIZE = 3
PLACES = (1, 2, 4)
LOG = Path(__file__).with_name("log")
def slow(scale, place):
    '''Take long.'''
    with LOG.open("a") as log:
        log.write(f"{place} ")
    return {"at": place, "value": [scale * place, SIZE]}
def theory(job):
    return quick(job) + len(str(laplace()))
def quick(place):
    return 10 * place
@dataclass(frozen=True)
class Job:
    place: int
    def doubled(self):
        return 2 * self.place
def fit(job):
    return job.doubled()
def data(scale=2):
    fits = computed_once(partial(slow, scale), PLACES)
    more = computed_once(fit, [Job(place) for place in PLACES])
    return [row["value"][0] + quick(row["at"]) for row in fits] + more
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., ModuleType]:
    """A function that writes a file of numbers anew and loads it."""

    def written(old: str = "", new: str = "", name: str = "mine.py") -> ModuleType:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        assert old in FILE
        file.write_text(FILE.replace(old, new) if old else FILE)
        code_version.cache_clear()
        return load_module(file)

    return written


def compute(module: ModuleType, path: Path, earlier: Record | None = None) -> Record:
    with Cache() as store:
        record = Computing("f", earlier, store, lambda done, total: None).record(module.data, "seed 1")
    record.write(path)
    return record


def logged(tmp_path: Path) -> list[str]:
    """The places that were computed since the last time, in whichever order the processes did."""
    log = tmp_path / "log"
    said = sorted(log.read_text().split()) if log.is_file() else []
    log.unlink(missing_ok=True)
    return said


def test_results_come_back_bit_by_bit(tmp_path: Path) -> None:
    path = record_file(tmp_path / "f.py", "f")
    results = (
        {"x": [0.1, math.inf, -math.inf, 1e-300], "name": "é", "flag": True, "none": None},
        [np.float64(1 / 3), np.int64(3), np.True_, np.array([[1.5, 2.0]])],
        (1, (2, "inf")),
    )
    made = Part("mark", ("a", "b", "c"), tuple(map(plain, results)), 90.04, {"numpy": "2"})
    Record("f", "1 to 3", {"part": made}).write(path)
    found = read_record(path)
    assert found is not None
    assert found.parts["part"].results == made.results
    assert made.results[1] == [1 / 3, 3, True, [[1.5, 2.0]]]
    assert [type(cell) for cell in made.results[1][:3]] == [float, int, bool]
    assert made.results[2] == [1, [2, "inf"]]
    assert (found.seeds, found.command, found.seconds) == ("1 to 3", "symslr compute f", 90.0)
    assert math.isnan(plain(math.nan))
    assert duration(90.04) == "2 min"
    assert read_record(path.with_name("other.json")) is None


PART = {"fingerprint": "m", "jobs": ["a"], "results": [], "seconds": 1, "versions": {}}


@pytest.mark.parametrize(
    "text", ["", "{}", '{"name": 1}', "[1]", json.dumps({"name": "", "seeds": "", "parts": {"p": PART}})]
)
def test_what_is_no_record_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"broken\.json: .*expected a record") as problem:
        read_record(path)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("old", "new", "aged"),
    [
        ("", "", ()),
        ("SIZE = 3", "SIZE = 4", ("slow",)),
        ("scale * place", "scale + place", ("slow",)),
        ("def data(scale=2)", "def data(scale=3)", ("slow",)),
        ("PLACES = (1, 2, 4)", "PLACES = (1, 2, 5)", ("slow", "fit")),
        # the class of a job is code too
        ("return 2 * self.place", "return 3 * self.place", ("fit",)),
        # what is computed anew, words, and the place of the file age nothing
        ("return 10 * place", "return 11 * place", ()),
        ("'''Take long.'''", "'''Take a while.'''  # really", ()),
        # a part that was not asked for before is missing
        ("    more = ", "    computed_once(theory, PLACES)\n    more = ", ("fit", "theory")),
    ],
)
def test_a_part_is_stale_where_its_own_code_or_jobs_changed(
    write: Callable[..., ModuleType], tmp_path: Path, old: str, new: str, aged: tuple[str, ...]
) -> None:
    path = tmp_path / "data" / "f.json"
    compute(write(), path)
    logged(tmp_path)
    found = recorded(path, write(old, new).data)
    assert found is not None
    assert found.aged == aged
    assert found.stale is bool(aged)
    elsewhere = recorded(path, write(old, new, "elsewhere/mine.py").data)
    assert elsewhere is not None
    assert elsewhere.aged == aged
    assert logged(tmp_path) == []


def test_shown_parts_are_used_and_the_rest_is_computed_anew(write: Callable[..., ModuleType], tmp_path: Path) -> None:
    record = compute(write(), tmp_path / "f.json")
    logged(tmp_path)

    def shown(module: ModuleType) -> object:
        with Cache() as store, keeping(store, "f", beside=Shown(record)):
            return module.data()

    assert shown(write()) == [12, 24, 48, 2, 4, 8]
    assert shown(write("scale * place", "9")) == [12, 24, 48, 2, 4, 8]
    assert shown(write("return 10 * place", "return 20 * place")) == [22, 44, 88, 2, 4, 8]
    assert logged(tmp_path) == []
    with pytest.raises(Lacking, match=r"lack part 'slow' for its 2 jobs; `symslr compute f` computes them anew"):
        shown(write("PLACES = (1, 2, 4)", "PLACES = (1, 2)"))


def test_what_is_still_true_is_taken_over_job_by_job(write: Callable[..., ModuleType], tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    first = compute(write(), path)
    assert logged(tmp_path) == ["1", "2", "4"]
    again = compute(write("PLACES = (1, 2, 4)", "PLACES = (4, 8, 2)"), path, first)
    assert logged(tmp_path) == ["8"]
    assert [row["at"] for row in again.parts["slow"].results] == [4, 8, 2]  # type: ignore[index]
    compute(write("SIZE = 3", "SIZE = 4"), path, first)
    assert logged(tmp_path) == ["1", "2", "4"]


def test_two_parts_of_one_name_and_none_are_refused(write: Callable[..., ModuleType], tmp_path: Path) -> None:
    twice = write("    more = ", "    computed_once(partial(slow, 1), PLACES)\n    more = ")
    with pytest.raises(ValueError, match="two parts called slow"):
        compute(twice, tmp_path / "f.json")
    with Cache() as store, pytest.raises(ValueError, match="nothing of it is kept"):
        Computing("f", None, store, lambda done, total: None).record(lambda: 1, "")


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


def test_an_interrupted_run_has_the_time_of_all_its_jobs(tmp_path: Path) -> None:
    file, path = tmp_path / "mine.py", tmp_path / "store.sqlite"
    file.write_text(WORKING)
    module = load_module(file)
    with Cache(path) as store, pytest.raises(InterruptedError):
        Computing("f", None, store, lambda done, total: None).record(module.data, "")
    (tmp_path / "ready").touch()
    with Cache(path) as store:
        record = Computing("f", None, store, lambda done, total: None).record(module.data, "")
    assert record.parts["working"].results == (0, 1, 2, 3)
    assert record.seconds > 0.75
