"""Which tests run which line: each test module once under coverage, one context for each test, kept on disk.

What is kept of a module stands until the module changes, a helper that it imports or a table beside it; so one test more costs
one module more, and a run that was killed goes on where it was. Where a source has changed its lines are matched with those of
before, and a new line counts as run by what runs the line above it.
"""

from __future__ import annotations

import ast
import difflib
import functools
import gc
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "mutants"
TESTS = ("tests/algebra", "tests/theory", "tests/derivations")
"""Folders whose every module may catch a mutant; elsewhere those that import the theory."""

STATEMENTS = "tests/derivations/test_statements.py::test_a_file_says_what_was_kept"
"""The test, with the stem of a file as its parameter, that makes the chains of one file of derivations."""

LETTERS = "tests/theory/test_symbols.py::test_letters_are_real_numbers"
"""The test, with the name of a module of the theory as its parameter, that looks at what the module defines on import."""

ROOMS = ("symslr/algebra", "symslr/theory")
"""Where the mutants of symslr are."""

QUICK = 25.0
"""Processor seconds under coverage after which a test is given up: a slow one is no use to thousands of mutants."""

QUICK_LOOK = 0.1
"""Processor seconds of a test that computes nothing."""

UNKNOWN = 5.0
"""Processor seconds that a test is taken to need before it was measured: it comes after those that were."""

ON_IMPORT = ""
"""The context of what runs before the first test: on import, or while tests are collected."""

OPTIONS = (
    *("-x", "-q", "--no-header", "--no-summary", "--tb=no"),
    *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:benchmark"),
    *("-o", "addopts=--import-mode=importlib", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
"""One process, no doctests: what is selected are tests by name."""


def digest(path: Path | str) -> str:
    """A short hash of a file of the repository."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


def modules() -> list[str]:
    """The test modules that may catch a mutant."""
    paths = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    near = [path for path in paths if path.startswith(TESTS)]
    return near + [path for path in paths if path not in near and "symslr.theory" in _text(path)]


def helpers(module: str) -> dict[str, str]:
    """Hash of a test module, of what it imports from tests, and of what is no Python beside it."""
    beside = [path for path in (ROOT / module).parent.iterdir() if path.is_file() and path.suffix != ".py"]
    found, left = {str(path.relative_to(ROOT)): digest(path) for path in sorted(beside)}, [module]
    while left:
        path = left.pop()
        if path not in found:
            found[path] = digest(path)
            left += _imported(path)
    return dict(sorted(found.items()))


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def _imported(path: str) -> list[str]:
    """The files of tests that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(_text(path))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    files = [f"{name.replace('.', '/')}.py" for name in sorted(names) if name.startswith("tests.")]
    return [file for file in files if (ROOT / file).is_file()]


@dataclass
class Selection:
    """Tests by line: ``lines[file][line]`` names the tests that run it, ``seconds[test]`` is what a test takes.

    Of a test module that was not measured ``named[name]`` are the tests in which a name of symslr stands.
    """

    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    named: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, files: Iterable[str], *, as_is: bool = False) -> Selection:
        """The selection for some files of symslr, from what is kept.

        What is missing is measured; ``as_is`` it is not: the tests of that module are chosen by the names in them where
        they stand in one of ``TESTS``, and none are elsewhere.
        """
        selection, asked = cls(), sorted(set(files))
        for module in modules() if asked else []:
            kept = _kept(module, as_is)
            if kept is None:
                for test, names in names_in_tests(module).items() if module.startswith(TESTS) else ():
                    selection.seconds[test] = UNKNOWN
                    for name in names:
                        selection.named[name].add(test)
                continue
            selection.seconds |= kept["seconds"]
            for file, of_file in kept["lines"].items():
                for line, before in _lines_before(file, kept["sources"][file]).items() if file in asked else ():
                    tests = of_file.get(str(before), ())
                    selection.lines[file][line].update(tests)
                    selection.tests[file].update(tests)
        return selection

    def on_import(self, file: str, line: int) -> bool:
        """Whether a line runs before the first test."""
        return ON_IMPORT in self.lines[file][line]

    def running(self, file: str, line: int) -> set[str]:
        """The tests that run a line: all that run any line of the file where it runs on import."""
        if not self.on_import(file, line):
            return self.lines[file][line] - {ON_IMPORT}
        letters = f"{LETTERS}[{file.removesuffix('.py').replace('/', '.')}]"
        looking = {letters} if file.startswith("symslr/theory/") else set()
        for test in looking:
            self.seconds.setdefault(test, QUICK_LOOK)
        return (self.tests[file] | looking) - {ON_IMPORT}

    def naming(self, file: str, inside: str) -> set[str]:
        """The tests, among those not measured, that name the class or function, or else whatever the file defines."""
        defined = {
            test for name in _defined(_text(file)) for test in self.named.get(name, ()) if not name.startswith("_")
        }
        return self.named.get(inside) or defined


def names_in_tests(module: str) -> dict[str, set[str]]:
    """The tests of a module, with the names in each and in the tables and helpers of the module that it uses."""
    nodes = _defined(_text(module))
    used = {
        name: {
            inner.id if isinstance(inner, ast.Name) else inner.attr
            for node in of
            for inner in ast.walk(node)
            if isinstance(inner, (ast.Name, ast.Attribute))
        }
        for name, of in nodes.items()
    }

    def reached(name: str) -> set[str]:
        found, left = set[str](), [name]
        while left:
            for other in used.get(left.pop(), set()) - found:
                found.add(other)
                left.append(other)
        return found

    return {f"{module}::{name}": reached(name) for name in nodes if name.startswith("test_")}


def _defined(text: str) -> dict[str, list[ast.stmt]]:
    """The statements of a module that give a name its meaning."""
    found = defaultdict(list)
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name].append(node)
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(target, ast.Name):
                found[target.id].append(node)
    return dict(found)


def chain_files(tests: Iterable[str]) -> dict[str, str]:
    """Those of some tests that make the chains of a file of derivations, with the file."""
    made = sorted(test for test in tests if test.startswith(STATEMENTS))
    return {test: f"derivations/{test.partition('[')[2].rstrip(']')}.py" for test in made}


def _kept(module: str, as_is: bool) -> dict[str, dict] | None:
    place = KEPT / "coverage" / (module.replace("/", "-") + ".json")
    if place.exists():
        found = json.loads(place.read_text())
        if helpers(module).items() <= found["tests"].items():
            return found
    if as_is:
        return None
    subprocess.run(
        [sys.executable, "-m", "tests.mutants.selection", module, str(place)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return json.loads(place.read_text())


@functools.cache
def _lines_before(file: str, known: str) -> dict[int, int]:
    """Line of a source now -> its line when it had the hash ``known``; a new line has that of the line above it."""
    now = (ROOT / file).read_text(encoding="utf-8").splitlines()
    if known == digest(file):
        return {line: line for line in range(1, len(now) + 1)}
    before = (KEPT / "sources" / known).read_text(encoding="utf-8").splitlines()
    matching = difflib.SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
    same = {block.b + k + 1: block.a + k + 1 for block in matching for k in range(block.size)}
    found, above = {}, 1
    for line in range(1, len(now) + 1):
        found[line] = above = same.get(line, above)
    return found


class _Contexts:
    """A pytest plugin: coverage in the context of the test that runs, and processor time for each."""

    def __init__(self, cov: object) -> None:
        self.cov, self.seconds = cov, defaultdict(float)
        self.failed: set[str] = set()

    def pytest_collection_finish(self) -> None:
        caches = [item for item in gc.get_objects() if isinstance(item, functools._lru_cache_wrapper)]
        self.caches = [item for item in caches if str(getattr(item, "__module__", "")).startswith(("symslr", "tests"))]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        for item in self.caches:  # else only the first test that needs a kept value would be seen to run its lines
            item.cache_clear()
        self.cov.switch_context(nodeid)  # type: ignore[attr-defined]
        self.began = time.process_time()
        signal.signal(signal.SIGPROF, _too_slow)
        signal.setitimer(signal.ITIMER_PROF, QUICK)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.seconds[nodeid] += time.process_time() - self.began

    def pytest_runtest_logreport(self, report: object) -> None:
        if not report.passed:  # type: ignore[attr-defined]
            self.failed.add(report.nodeid)  # type: ignore[attr-defined]


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"more than {QUICK} s")


def measure(module: str, place: Path) -> None:
    """Write what the tests of a module run to ``place``, from a run in this process; symslr must not be imported yet.

    A test that is slow, or fails or is skipped without a mutant, is named and left out; so is one whose name has an address.

    Raises:
        RuntimeError: when the tests cannot be run.
    """
    import coverage
    import pytest

    place.parent.mkdir(parents=True, exist_ok=True)
    tests = helpers(module)
    data = place.with_suffix(".coverage")
    cov = coverage.Coverage(data_file=str(data), source=[str(ROOT / room) for room in ROOMS])
    plugin = _Contexts(cov)
    cov.start()
    status = pytest.main([*OPTIONS[1:], module], plugins=[plugin])
    cov.stop()
    if status not in (0, 1):
        raise RuntimeError(f"{module}: the tests did not run (status {status})")
    for test in sorted(plugin.failed):
        print(f"left out, slow or failing without a mutant: {test} ({plugin.seconds[test]:.0f} s)", file=sys.stderr)
    found = cov.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for path in found.measured_files():
        contexts = found.contexts_by_lineno(path)
        by_line = {
            line: sorted(test for test in set(of) - plugin.failed if " at 0x" not in test)
            for line, of in contexts.items()
        }
        lines[str(Path(path).relative_to(ROOT))] = {line: of for line, of in by_line.items() if of}
    sources = {file: digest(file) for file in lines}
    (KEPT / "sources").mkdir(exist_ok=True)
    for file, known in sources.items():
        (KEPT / "sources" / known).write_bytes((ROOT / file).read_bytes())
    kept = {"tests": tests, "sources": sources, "lines": lines, "seconds": dict(plugin.seconds)}
    made = place.with_suffix(".part")
    made.write_text(json.dumps(kept))
    made.replace(place)
    data.unlink(missing_ok=True)


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]))
