"""Which tests run which line: one pass of the tests under coverage, one context for each test."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Selection:
    """Tests by line: ``lines[file][line]`` names the tests that run it, ``seconds[test]`` is what a test takes."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def tests(self, file: str, line: int, most: float) -> list[str]:
        """The tests that run a line, the quickest first, until they take ``most`` seconds together."""
        chosen: list[str] = []
        total = 0.0
        for test in sorted(set(self.lines.get(file, {}).get(line, ())), key=lambda test: self.seconds.get(test, 1.0)):
            total += self.seconds.get(test, 1.0)
            if chosen and total > most:
                break
            chosen.append(test)
        return chosen

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"lines": self.lines, "seconds": self.seconds}))

    @classmethod
    def read(cls, path: Path) -> Selection:
        found = json.loads(path.read_text())
        lines = {file: {int(n): tests for n, tests in of.items()} for file, of in found["lines"].items()}
        return cls(lines, found["seconds"])


class _Contexts:
    """A pytest plugin: coverage in the context of the test that runs, and processor time for each."""

    def __init__(self, cov: object) -> None:
        self.cov, self.seconds = cov, defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.cov.switch_context(nodeid)  # type: ignore[attr-defined]
        self.began = time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] += time.process_time() - self.began

    def pytest_runtest_logreport(self, report: object) -> None:
        if report.failed:  # type: ignore[attr-defined]
            self.failed.add(report.nodeid)  # type: ignore[attr-defined]


def measured(tests: Sequence[str]) -> Selection:
    """The selection from a run of ``tests`` in this process; symslr must not be imported yet.

    A test that fails without a mutant says nothing of one: it is named and left out.

    Raises:
        RuntimeError: when the tests cannot be run.
    """
    import coverage
    import pytest

    data = ROOT / "build" / "mutants" / f"coverage-{os.getpid()}"
    data.parent.mkdir(parents=True, exist_ok=True)
    cov = coverage.Coverage(data_file=str(data), source=[str(ROOT / "symslr")])
    plugin = _Contexts(cov)
    cov.start()
    status = pytest.main([*OPTIONS[1:], *tests], plugins=[plugin])
    cov.stop()
    cov.save()
    if status not in (0, 1):
        raise RuntimeError(f"the tests did not run (status {status})")
    for test in sorted(plugin.failed):
        print(f"fails without a mutant and is left out: {test}", file=sys.stderr)
    lines: dict[str, dict[int, list[str]]] = {}
    found = cov.get_data()
    for file in found.measured_files():
        contexts = found.contexts_by_lineno(file)
        by_line = {line: [test for test in of if test not in plugin.failed] for line, of in contexts.items()}
        name = str(Path(file).relative_to(ROOT))
        # what runs on import runs in no test of its own: every test of the module's neighbours may see it
        anywhere = sorted({test for tests_ in by_line.values() for test in tests_ if test})
        lines[name] = {line: [t for t in of if t] or anywhere for line, of in by_line.items()}
    data.unlink(missing_ok=True)
    return Selection(lines, dict(plugin.seconds))


OPTIONS = (
    "-x",
    "-q",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-o",
    "addopts=--import-mode=importlib",
)
"""One process, no doctests: what is selected are tests by name."""
