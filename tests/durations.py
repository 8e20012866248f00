"""``pytest -p tests.durations``: writes to ``tests/slow.txt`` the tests that take long; ``pytest --quick`` leaves them out.

Processor time is counted, of a test and of the programs that it starts. Tests of folders that are named take part whatever they
take: ``make mutants`` breaks the code that they run. What is listed of files of which no test ran stays.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from pluggy import Result

LIST = Path(__file__).with_name("slow.txt")
LONG = 0.5
"""Seconds of processor time from which a test is slow: what is left takes less than five minutes on two idle cores."""
ALWAYS = ("tests/algebra/", "tests/derivations/", "tests/theory/")
HEADER = f"""\
# Tests that took {LONG} seconds of processor time or more, but for those of {", ".join(ALWAYS)}.
# `make test` leaves them out and `make test-all` does not. Written anew by: python -m pytest -n 2 -p tests.durations
"""


def slow() -> frozenset[str]:
    """Names of the tests that are listed."""
    lines = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    return frozenset(line for line in lines if not line.startswith("#"))


def is_slow(name: str, seconds: float) -> bool:
    """Whether a test belongs into the list: what has a line break in its name cannot stand there."""
    return seconds >= LONG and not name.startswith(ALWAYS) and name.isprintable()


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
        measured = {name.partition("::")[0] for name in _spent}
        kept = {name for name in slow() if name.partition("::")[0] not in measured}
        names = sorted(kept.union(name for name, seconds in _spent.items() if is_slow(name, seconds)))
        LIST.write_text(HEADER + "".join(f"{name}\n" for name in names), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Writer())
