"""One mutant in a process of its own: the changed module is imported in place of the real one, and what should catch it runs."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from types import ModuleType

from tests.mutants.operators import Mutant
from tests.mutants.selection import OPTIONS, ROOT

PROCESSOR_SECONDS = 150
"""A mutant that takes longer hangs, and is caught by that."""


class Outcome(StrEnum):
    """What became of a mutant."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    NOT_RUN = "no test runs the line"
    SAME = "same chains"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed source."""

    def __init__(self, module: str, mutant: Mutant) -> None:
        self.module, self.mutant = module, mutant

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(name, ROOT / self.mutant.file, loader=self)

    def create_module(self, spec: object) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.source, str(ROOT / self.mutant.file), "exec"), module.__dict__)


def under_tests(mutant: Mutant, tests: Sequence[str]) -> Outcome:
    """What the selected tests say of a mutant of symslr."""
    if not tests:
        return Outcome.NOT_RUN

    def run() -> int:
        import pytest

        module = mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        sys.meta_path.insert(0, _Finder(module, mutant))
        return int(pytest.main([*OPTIONS, *tests]))

    return Outcome.SURVIVED if _in_a_child(run) == 0 else Outcome.CAUGHT


SAME_CHAINS = 77


def under_check(mutant: Mutant) -> Outcome:
    """What the statements kept in tests/derivations and the check say of a mutant of a file of derivations."""

    def run() -> int:
        from symslr.check import Verdict, check, collect
        from tests.derivations.statements import statement

        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / Path(mutant.file).name
            changed.write_text(mutant.source, encoding="utf-8")
            for neighbour in (ROOT / "derivations").glob("*"):
                if neighbour.name != changed.name and neighbour.is_file():
                    (Path(folder) / neighbour.name).symlink_to(neighbour)
            before = {item.name: item for item in collect([ROOT / mutant.file])}
            after = {item.name: item for item in collect([changed])}
        if before.keys() != after.keys():
            return 1
        moved = [item for name, item in after.items() if _lines(item) != _lines(before[name])]
        if not moved:
            return SAME_CHAINS
        if any(statement(item) != statement(before[item.name]) for item in moved):
            return 1
        return int(check(moved, jobs=1).verdict is not Verdict.TRUE)

    status = _in_a_child(run)
    return Outcome.SAME if status == SAME_CHAINS else Outcome.SURVIVED if status == 0 else Outcome.CAUGHT


def _lines(item: object) -> object:
    return (
        item.start,  # type: ignore[attr-defined]
        [(s.after, s.remainder, s.hypotheses, s.rule.name) for s in item.steps],  # type: ignore[attr-defined]
        [(c.formula, c.label) for c in item.claims],  # type: ignore[attr-defined]
        dict(item.ranges),  # type: ignore[attr-defined]
    )


def _in_a_child(run: Callable[[], int]) -> int:
    """The exit status of ``run`` in a forked child with a limit on its processor time; 1 where it died."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 5))
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
            status = run()
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended) if os.WIFEXITED(ended) else 1
