"""Slow tests, dealt out: ``pytest --sample SEED`` runs all quick tests and one of ten packs of the slow ones.

``pytest -p tests.durations`` writes to ``tests/slow.txt`` the tests that take long, with the processor time of each and of the
programs that it starts. What is listed of files of which no test ran stays.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from pluggy import Result

from symslr.validation.again import dealt

LIST = Path(__file__).with_name("slow.txt")
LONG = 0.2
"""Seconds of processor time from which a test is slow."""
PACKS = 10
HEADER = f"""\
# Tests that took {LONG} seconds of processor time or more, with these. `make test` runs a tenth of them, drawn by a seed that it
# prints (SEED=N repeats it; ten seeds in a row run all), `make test-all` all. Written anew by: pytest -n 2 -p tests.durations
"""


def slow() -> dict[str, float]:
    """The tests that are listed, with the seconds of each."""
    lines = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    rows = (line.split(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(seconds) for seconds, name in rows}


def left_out(seed: int) -> frozenset[str]:
    """The slow tests that are not in the pack of a seed: ten seeds in a row run every test."""
    listed = slow()
    count = max(1, -(-len(listed) // PACKS))
    return frozenset(listed) - frozenset(dealt(list(listed.items()), count, seed))


_spent: dict[str, float] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Generator[None, Result[Any], None]:
    """Gives each report the processor time that the process had used by then; xdist carries it to the process that writes."""
    outcome = yield
    times = os.times()
    outcome.get_result().processor_time = times.user + times.system + times.children_user + times.children_system


class Writer:
    """Where reports arrive: the time of a test is what was used between its first report and its last, and the one before."""

    def __init__(self) -> None:
        self.before: dict[object, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        worker = getattr(report, "worker_id", "")
        used = report.processor_time
        _spent[report.nodeid] = _spent.get(report.nodeid, 0.0) + used - self.before.get(worker, used)
        self.before[worker] = used

    def pytest_sessionfinish(self) -> None:
        files = {name.partition("::")[0] for name in _spent}
        root = Path(__file__).parents[1]
        listed = {name: name.partition("::")[0] for name in slow()}
        rows = {n: slow()[n] for n, file in listed.items() if file not in files and (root / file).is_file()}
        # what has a line break in its name cannot stand there
        rows |= {name: seconds for name, seconds in _spent.items() if seconds >= LONG and name.isprintable()}
        text = "".join(f"{seconds:.1f} {name}\n" for name, seconds in sorted(rows.items()))
        LIST.write_text(HEADER + text, encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Writer())
