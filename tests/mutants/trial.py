"""One mutant in a forked process of its own, and what notices it."""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pkgutil
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import _lru_cache_wrapper, cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.mutants.operators import Mutant
from tests.mutants.selection import OPTIONS, ROOT

if TYPE_CHECKING:
    from symslr.algebra.derivation import Derivation

DERIVATIONS = "derivations/"
STATEMENTS = "statements"
"""By what a mutant was caught where a statement is not the one that was kept."""
BROKEN = 70
"""Exit status of a child that failed by itself."""

PROCESSOR_SECONDS = 60
"""A mutant under which the tests take longer hangs, and is caught by that; a check that takes longer has found nothing."""


class Outcome(StrEnum):
    """What became of a mutant."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    NOT_RUN = "no test runs the line"
    SAME = "same chains"
    ANOTHER = "another proof"
    BROKEN = "the trial failed"


@dataclass(frozen=True)
class Found:
    """An outcome, and by what: a test, the statements, the check, a refusal, time."""

    outcome: Outcome
    by: str = ""


def load(modules: Iterable[str] = ()) -> None:
    """Import what every trial needs once, so that a child does not: libraries, symslr, and test ``modules``.

    What is there then is left out of the collection of garbage, which would visit it in every child.
    """
    _without_shrinking()
    names = ("mpmath", "numpy", "scipy.integrate", "sympy", "symslr.check", "symslr.cli", "tests.conftest")
    for name in (*names, *(module.removesuffix(".py").replace("/", ".") for module in modules)):
        importlib.import_module(name)
    for room in ("symslr.algebra", "symslr.theory", "symslr.referee", "symslr.evaluation"):
        package = importlib.import_module(room)
        for item in pkgutil.walk_packages(package.__path__, f"{room}."):
            importlib.import_module(item.name)
    _without_shrinking()
    _live()
    for item in gc.get_objects():  # what was computed on import is computed anew, by what the mutant made of it
        if isinstance(item, _lru_cache_wrapper) and str(item.__module__).startswith("symslr"):
            item.cache_clear()
    gc.collect()
    gc.freeze()


def _without_shrinking() -> None:
    """What hypothesis does: examples by a fixed seed, and failures are not made smaller."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", derandomize=True, deadline=None, phases=phases)
    hypothesis.settings.load_profile("mutants")


def under_tests(mutant: Mutant, tests: Sequence[str], *, on_import: bool) -> Found:
    """What some tests say of a mutant of symslr.

    Args:
        mutant: the change.
        tests: names, in the order in which they are run until one fails.
        on_import: whether the changed line runs on import: symslr is imported anew then, else the function is changed.
    """
    if not tests:
        return Found(Outcome.NOT_RUN)
    functions = [] if on_import else _functions(mutant)

    def run(say: Callable[[str], None]) -> int:
        _put_in_place(mutant, functions)
        return _run(tests, say)

    status, said = _in_a_child(run)
    if status == 0:
        return Found(Outcome.SURVIVED)
    if status < 0 and _too_slow(tuple(tests)):
        return Found(Outcome.BROKEN, "the tests take too long without a mutant too")
    stopped = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR) if said else (pytest.ExitCode.INTERRUPTED,)
    if status in (pytest.ExitCode.TESTS_FAILED, *stopped) or status < 0:
        return Found(Outcome.CAUGHT, said[-1] if said else "time" if status < 0 else "import")
    return Found(Outcome.BROKEN, f"status {status}: {' '.join(said)}")


@cache
def _too_slow(tests: tuple[str, ...]) -> bool:
    """Whether some tests do not end in time as the code is."""
    return _in_a_child(lambda say: _run(tests, say))[0] < 0


def passing(tests: Sequence[str]) -> set[str]:
    """Those of the tests that pass without a mutant, where they run one after another in one process."""
    failed: set[str] = set()
    left = list(tests)
    while left:
        status, said = _in_a_child(lambda say, left=left: _run(left, say), seconds=10 * PROCESSOR_SECONDS)
        if status == 0:
            break
        if status != pytest.ExitCode.TESTS_FAILED or not said:
            raise RuntimeError(f"{left} did not run (status {status}): {' '.join(said)}")
        failed.add(said[-1])
        left = [test for test in left if test not in failed]
    return set(tests) - failed


def _run(tests: Sequence[str], say: Callable[[str], None]) -> int:
    class Plugin:
        """Says which test failed."""

        def pytest_collection(self) -> None:
            _without_shrinking()

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                say(report.nodeid)

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed and tests:
                say(next((test for test in tests if test.startswith(report.nodeid)), tests[0]))

    return int(pytest.main([*OPTIONS, *tests], plugins=[Plugin()]))


# Putting the mutant in place


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _code(mutant: Mutant) -> CodeType | None:
    """The changed code of the function that holds the mutant."""
    whole = compile(mutant.tree(), str(ROOT / mutant.file), "exec")
    return next((c for c in _nested(whole) if (c.co_qualname, c.co_firstlineno) == mutant.function), None)


def _functions(mutant: Mutant) -> list[FunctionType]:
    """The live functions that hold the mutant, none where symslr has to be imported anew."""
    if mutant.function is None:
        return []
    made = _code(mutant)
    live = _live().get((str(ROOT / mutant.file), *mutant.function), [])
    same = made is not None and all(f.__code__.co_freevars == made.co_freevars for f in live)
    return live if same else []


@cache
def _live() -> dict[tuple[str, str, int], list[FunctionType]]:
    found = defaultdict(list)
    for item in gc.get_objects():
        if isinstance(item, FunctionType) and item.__code__.co_filename.startswith(str(ROOT / "symslr")):
            code = item.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(item)
    return dict(found)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed source."""

    def __init__(self, mutant: Mutant) -> None:
        self.module = mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.mutant = mutant

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(name, ROOT / self.mutant.file, loader=self)

    def create_module(self, spec: object) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.tree(), str(ROOT / self.mutant.file), "exec"), module.__dict__)


def _put_in_place(mutant: Mutant, functions: Sequence[FunctionType]) -> None:
    """Change the functions, or have symslr imported anew where none is given."""
    if not functions:
        _import_anew(mutant)
    made = _code(mutant)
    for function in functions:
        function.__code__ = made


def _import_anew(mutant: Mutant) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ("symslr", "tests"):
            del sys.modules[name]
    sys.meta_path.insert(0, _Finder(mutant))


# Chains


def under_chains(mutant: Mutant, files: Sequence[str], *, on_import: bool) -> Found:
    """What the statements and the check say of the chains that a mutant of symslr changes, in the files that run its line."""
    functions = [] if on_import else _functions(mutant)
    before = {file: _chains(file) for file in files}

    def run(say: Callable[[str], None]) -> int:
        _put_in_place(mutant, functions)
        from symslr.check import collect  # of the symslr that holds the mutant
        from tests.derivations.statements import kept, statements

        for file in files:
            say(f"refused in {file}")
            try:
                after = collect([ROOT / file])
            except Exception:
                return 1
            say(f"{STATEMENTS} of {file}")
            if statements(after) != kept()[Path(file).name]:
                return 1
            if _false((item for item in after if _chain(item) != before[file].get(item.name)), say):
                return 1
        return 0

    status, said = _in_a_child(run)
    if status == BROKEN:
        return Found(Outcome.BROKEN, said[-1])
    return Found(Outcome.CAUGHT, said[-1]) if status > 0 else Found(Outcome.SURVIVED)


def under_check(mutant: Mutant, *, by_check: bool = False) -> Found:
    """What the statements kept in tests/derivations and the check say of a mutant of a file of derivations.

    Args:
        mutant: the change.
        by_check: whether the check is asked too where the statements have seen it, which is slow: it says which definitions
            and claims only a reader of the statements would miss.
    """
    before = _chains(mutant.file)

    def run(say: Callable[[str], None]) -> int:
        from symslr.check import collect
        from tests.derivations.statements import kept, statements

        say("refused")
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / Path(mutant.file).name
            changed.write_text(mutant.source, encoding="utf-8")
            for neighbour in (ROOT / "derivations").glob("*"):
                if neighbour.name != changed.name and neighbour.is_file():
                    (Path(folder) / neighbour.name).symlink_to(neighbour)
            try:
                after = collect([changed])
            except Exception:
                return 1
        differ = statements(after) != kept()[changed.name]
        if differ:
            say(STATEMENTS)
            if not by_check:
                return 1
        moved = [item for item in after if _chain(item) != before.get(item.name)]
        if not moved and not differ:
            say(Outcome.SAME)
            return 0
        say("check")
        if _false(moved, say):
            return 1
        say(f"{STATEMENTS} alone")
        return int(differ)

    status, said = _in_a_child(run)
    if said[-1:] == [Outcome.SAME]:
        return Found(Outcome.SAME)
    if status == BROKEN:
        return Found(Outcome.BROKEN, said[-1])
    if status > 0:
        return Found(Outcome.CAUGHT, said[-1] if said else "import")
    if STATEMENTS in said:
        return Found(Outcome.CAUGHT, f"{STATEMENTS}; the check takes too long")
    if status == 0:
        return Found(Outcome.ANOTHER, said[-2])
    if said[-1].startswith("check"):
        return Found(Outcome.SURVIVED, "the check takes too long")
    return Found(Outcome.CAUGHT, "time")


def _false(moved: Iterable[Derivation], say: Callable[[str], None]) -> bool:
    """Whether the check calls one of some chains anything but true."""
    from symslr.check import Verdict, check

    for item in moved:
        say(f"check {item.name}")
        if check([item], jobs=1).verdict is not Verdict.TRUE:
            return True
    return False


@cache
def _chains(file: str) -> dict[str, str]:
    """Digest of every chain of a file as it is."""

    def run(say: Callable[[str], None]) -> int:
        from symslr.check import collect

        say(json.dumps({item.name: _chain(item) for item in collect([ROOT / file])}))
        return 0

    return json.loads(_in_a_child(run)[1][0])


def _chain(item: Derivation) -> str:
    lines = (
        item.start,
        [(s.after, s.remainder, s.hypotheses, s.rule.name) for s in item.steps],
        [(c.formula, c.label, c.source) for c in item.claims],
        dict(item.ranges),
    )
    return hashlib.sha256(repr(lines).encode()).hexdigest()


def _in_a_child(run: Callable[[Callable[[str], None]], int], seconds: int = PROCESSOR_SECONDS) -> tuple[int, list[str]]:
    """Exit status of ``run`` in a forked child with a limit on its processor time, and what it said; negative where killed."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        status = BROKEN

        def say(line: str) -> None:
            os.write(start, f"{line}\n".encode())

        try:
            os.close(end)
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
            status = run(say)
        except Exception as error:
            say(repr(error).replace("\n", " "))
            status = BROKEN
        finally:
            os._exit(status)
    os.close(start)
    with os.fdopen(end) as said:
        lines = said.read().splitlines()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lines


def processor_seconds() -> float:
    """Processor time of this process and of the children it waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime
