"""Runs: failures have a reason and are tried again when asked, a dying worker takes nothing with it, code is hashed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from symslr.cli import main
from symslr.study.document import read_study
from symslr.study.executors import Place, local_executor, place_named
from symslr.study.point import Point
from symslr.study.registry import PointKind, kind_named
from symslr.study.remaining import Costs, in_words
from symslr.study.run import Progress, run_study
from symslr.study.store import Store
from symslr.study.table import table_of

THREADS = Place(lambda: ThreadPoolExecutor(2), 2)


def fast(n: int, trouble: str = "none") -> Point:
    return Point("fast", (("n", str(n)), ("pause", "0"), ("trouble", trouble)))


def run(points: list[Point], path: Path, place: Place = THREADS, **options: bool) -> tuple[Progress, dict[str, str]]:
    with Store(path) as store:
        progress = run_study(points, store, place, **options)
        return progress, {row.point.as_json(): row.state for row in store.rows()}


def test_a_failure_has_one_line_and_is_tried_again_only_when_asked(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    points, path = [fast(1), fast(2, str(mended))], tmp_path / "s.sqlite"
    progress, _ = run(points, path)
    assert (progress.total, progress.done, progress.failed) == (2, 1, 1)
    with Store(path) as store:
        (row,) = (row for row in store.rows() if row.state == "failed")
        assert row.reason == f"ArithmeticError: no file {mended}"
    mended.touch()
    assert run(points, path)[0].failed == 1
    assert run(points, path, retry_failed=True)[0].failed == 0


def test_answers_do_not_depend_on_order_or_executor(tmp_path: Path) -> None:
    points = [fast(n) for n in range(20)]
    tables = []
    for name, order, workers in (("a", points, 2), ("b", points[::-1], 1)):
        run(order, tmp_path / name, Place(lambda workers=workers: ThreadPoolExecutor(workers), workers))
        with Store(tmp_path / name) as store:
            tables.append(sorted(table_of(store.rows()).lines))
    assert tables[0] == tables[1]
    assert len({point.seed for point in points}) == 20


def test_a_point_that_kills_its_worker_is_found_and_the_others_are_computed(tmp_path: Path) -> None:
    points = [*(fast(n) for n in range(6)), fast(6, "die"), *(fast(n) for n in range(7, 12))]
    progress, states = run(points, tmp_path / "s.sqlite", Place(lambda: local_executor(2), 2))
    assert (progress.done, progress.failed) == (11, 1)
    assert states[points[6].as_json()] == "failed"


def test_finished_points_are_not_computed_again_and_new_code_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sqlite"
    run([fast(1)], path)
    run([fast(1), fast(2)], path)
    with Store(path) as store:
        assert len(store.rows(every_version=True)) == 2
    monkeypatch.setattr("symslr.study.registry.source_version", lambda: "other")
    run([fast(1)], path)
    with Store(path) as store:
        assert len(store.rows(every_version=True)) == 3
        assert [row.version for row in store.rows() if row.point == fast(1)] == [kind_named(fast(1).kind).version]


def test_version_covers_symslr_and_the_package_of_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    for name, text in {"__init__": "", "a": "from mine.b import c\n", "b": "c = 1\n"}.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = PointKind("own", "mine.a")
    first = kind.version
    assert kind.version == first != kind_named("bayes").version
    (package / "b.py").write_text("c = 2\n")
    assert kind.version != first
    monkeypatch.setattr("symslr.study.registry.source_version", lambda: "other")
    assert kind_named("bayes").version == "other"


def test_a_claim_of_a_dead_process_ends_at_once_and_of_a_live_one_holds(tmp_path: Path) -> None:
    from collections import deque

    path = tmp_path / "s.sqlite"
    with Store(path) as one, Store(path) as two:
        keys = one.add([(fast(n), "v") for n in range(3)])
        assert one.exchange([], deque(keys), 2) == keys[:2]
        assert two.exchange([], deque(keys), 3) == keys[2:]
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        host = one.owner.rsplit(":", 2)[0]
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE claims SET owner = ? WHERE key = ?", (f"{host}:{ended.pid}:x", keys[0]))
        connection.close()
        assert two.exchange([], deque(keys), 3) == [keys[0], keys[2]]


def test_another_file_is_never_touched(tmp_path: Path) -> None:
    text, other = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    for written in ("not a database, and longer than a header would be" * 9, "x"):
        text.write_text(written)
        with pytest.raises(ValueError, match="cannot be used as a store"):
            Store(text)
        assert text.read_text() == written
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t(a)")
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match="not a store of this version"):
        Store(other)
    with pytest.raises(ValueError, match="no such file"):
        Store(tmp_path / "none", must_exist=True)


def test_remaining_time_is_the_mean_per_kind_with_its_error() -> None:
    costs = Costs()
    assert costs.remaining({"a": 3}, 2) is None
    for seconds in (1.0, 3.0):
        costs.add("a", seconds)
        costs.add("b", 100 * seconds)
    assert costs.remaining({"a": 0}, 2) == (0, 0)
    expected, error = costs.remaining({"a": 4, "b": 2}, 2) or (0, 0)
    assert expected == pytest.approx((4 * 2 + 2 * 200) / 2)
    assert error == pytest.approx(((4 + 8) * 2 + (2 + 2) * 2e4) ** 0.5 / 2)
    assert in_words((7200.0, 0.0)) == "about 2.0 h"


@pytest.fixture
def cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A scheduler and workers in processes of their own, on loopback: two of one thread, or (workers, threads)."""
    monkeypatch.setattr("symslr.study.executors.PATIENCE", "300s")
    workers, threads = getattr(request, "param", (2, 1))
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_scheduler" if not started else "distributed.cli.dask_worker",
             *arguments], stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    try:
        scheduler = start("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        address = _line_with(scheduler, "Scheduler at:").split()[-1]
        for _ in range(workers):
            worker = start(address, "--nthreads", str(threads), "--no-nanny", "--no-dashboard")
            _line_with(worker, "Registered to:")
        yield address.removeprefix("tcp://")
    finally:
        for process in reversed(started):
            process.kill()
            process.communicate()


def _line_with(process: subprocess.Popen[str], text: str) -> str:
    """The first line on stderr that holds a text; it is waited for until the process ends."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if text in line:
            return line
    raise AssertionError(f"no {text!r} in {''.join(said)}")


@pytest.mark.needs("distributed")
def test_points_run_on_a_dask_cluster(tmp_path: Path, cluster: str) -> None:
    points = [fast(n) for n in range(30)]
    with place_named(f"dask://{cluster}") as place:
        assert place.workers == 2
        progress, _ = run(points, tmp_path / "dask.sqlite", place)
    assert progress.done == 30
    run(points, tmp_path / "here.sqlite")
    with Store(tmp_path / "dask.sqlite") as one, Store(tmp_path / "here.sqlite") as two:
        assert table_of(one.rows()) == table_of(two.rows())


@pytest.mark.needs("distributed")
@pytest.mark.parametrize("cluster", [(1, 4)], indirect=True)
def test_a_worker_with_four_threads_gives_what_one_gives(tmp_path: Path, cluster: str) -> None:
    """Without the lock around the libraries' global precision 2 to 8 of 36 points were lost."""
    (tmp_path / "study.toml").write_text(
        "[common]\nkind = 'bayes'\nlength = [2, 3, 5]\nnu = {from = 0.5, to = 4, count = 6}\n"
        "[[sweep]]\ndigits = 12\n[[sweep]]\ndigits = 40\n"
    )
    points = read_study(tmp_path / "study.toml")
    with place_named(f"dask://{cluster}") as place:
        assert place.workers == 4
        progress, _ = run(points, tmp_path / "dask.sqlite", place)
    assert (progress.done, progress.failed) == (36, 0)
    run(points, tmp_path / "here.sqlite", Place(lambda: ThreadPoolExecutor(1), 1))
    with Store(tmp_path / "dask.sqlite") as one, Store(tmp_path / "here.sqlite") as two:
        assert table_of(one.rows()) == table_of(two.rows())


def test_a_point_that_runs_out_is_a_row_that_says_so_and_is_tried_again(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    points, path = [fast(1), fast(2, f"work until {mended}")], tmp_path / "s.sqlite"
    place = Place(lambda: local_executor(1), 1)
    with Store(path) as store:
        progress = run_study(points, store, place, seconds=0.5)
        assert (progress.done, progress.failed) == (1, 1)
        (row,) = (row for row in store.rows() if row.state == "failed")
        assert row.reason == "no answer in 0.5 s of processor time; run again with --retry-failed --seconds 5"
        mended.touch()
        assert run_study(points, store, THREADS).failed == 1
        assert run_study(points, store, THREADS, retry_failed=True).failed == 0


def test_a_point_without_digits_has_fewer_where_the_usual_ones_are_refused(tmp_path: Path) -> None:
    """As a command; digits that were asked for are those of the row, or its failure."""
    shared = (("n", "3"), ("pause", "0"), ("trouble", "dear"))
    points = [Point("fast", (*shared, ("digits", digits))) for digits in ("", "9")]
    with Store(tmp_path / "s.sqlite") as store:
        assert run_study(points, store, THREADS).done == 2
        assert [json.loads(row.answers or "{}")["square"]["value"] for row in store.rows()] == [
            "9.0000000",
            "9.0000000000",
        ]


def test_a_store_of_another_study_is_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where digits were 15 unless asked for: what a point is has changed, and both stay in the store."""
    monkeypatch.chdir(tmp_path)
    for name, digits in (("old.toml", "digits = 15"), ("new.toml", "")):
        Path(name).write_text(f"[[sweep]]\nkind = 'risk'\nlength = 2\nnu = [1, 2]\n{digits}\n")
        with pytest.raises(SystemExit, match="0"):
            main(["study", "run", name, "--store", "s.sqlite", "--workers", "1"])
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said == "s.sqlite also holds 2 points that new.toml does not ask for, such as risk with digits = 15"
    with Store(Path("s.sqlite")) as store:
        digits = [dict(row.point.parameters)["digits"] for row in store.rows()]
    assert digits == ["15", "15", "", ""]


def test_places_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symslr.study.executors.PATIENCE", "300ms")
    for text, reason in (("ssh://x", "expected local or dask"), ("dask://127.0.0.1:1", "no Dask scheduler")):
        if text.startswith("dask"):
            pytest.importorskip("distributed")
        with pytest.raises(ValueError, match=reason), place_named(text):
            pass
    with pytest.raises(ValueError, match="workers: found 0"), place_named("local", 0):
        pass


def test_a_store_that_cannot_be_made_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(store: Store) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Store, "_prepare", full)
    with pytest.raises(ValueError, match="on a disk with room"):
        Store(tmp_path / "s.sqlite")
    assert not list(tmp_path.iterdir())
