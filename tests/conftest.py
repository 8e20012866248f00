"""What every test can count on: one thread per process, its tools there, global precision left as found."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator

import flint
import mpmath
import pytest

# Compiled once, whatever the environment says: else both workers and every command that a test starts compile all files again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# BLAS, OpenMP and matplotlib read these once, when they load; nothing imported above loads them.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# SymPy keeps a thousand results of each of its functions; in one process many tests share more than that.
os.environ.setdefault("SYMPY_CACHE_SIZE", "20000")

REQUIRE_TOOLS = os.environ.get("SYMSLR_REQUIRE_TOOLS") == "1"
OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome", "chrome")}


def find_tool(name: str) -> str | None:
    """Path of the program `name`, or `name` itself if it is an importable module, or None."""
    for candidate in (name, *OTHER_NAMES.get(name, ())):
        if path := shutil.which(candidate):
            return path
    return name if importlib.util.find_spec(name) is not None else None


def require_tool(name: str) -> str:
    """`find_tool`, but skip the test where there is none, or fail it under SYMSLR_REQUIRE_TOOLS=1."""
    found = find_tool(name)
    if found is None and REQUIRE_TOOLS:
        pytest.fail(f"{name} is missing, and SYMSLR_REQUIRE_TOOLS=1 forbids the skip", pytrace=False)
    if found is None:
        pytest.skip(f"needs {name}: neither a program on PATH nor a Python module")
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample", metavar="SEED", type=int, help="of the tests that tests/slow.txt lists, a tenth by a seed"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (seed := config.getoption("--sample")) is not None:
        from tests.durations import left_out

        names = left_out(seed)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in names])
        items[:] = [item for item in items if item.nodeid not in names]


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--sample")
    return None if seed is None else f"slow tests: a tenth, by seed {seed} (`make test SEED={seed}` runs the same)"


def pytest_configure() -> None:
    import hypothesis

    from symslr import budget
    from symslr.cli import options

    # A command that a test calls has its usual limit of time ten times over, as a busy machine is slower, and at the limit
    # the test ends and not the process with all its other tests.
    for option in (options.SecondsOption, options.LongSecondsOption):
        option.default *= 10
    budget.leave = sys.exit

    # The machine decides how long an example takes, so no deadline; a failure found once is found by everyone.
    hypothesis.settings.register_profile("symslr", deadline=None, derandomize=True, print_blob=True)
    hypothesis.settings.load_profile("symslr")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            require_tool(name)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What would make processes differ: a name with an address in it, and precision that a test module leaves behind."""
    addressed = [item.nodeid for item in session.items if " at 0x" in item.nodeid]
    if addressed:
        raise pytest.UsageError(
            f"the name of {addressed[0]} holds an address, another one in every process; give it an id"
        )
    found = (mpmath.mp.prec, flint.ctx.prec)
    if found != (53, 53):
        raise pytest.UsageError(f"importing the tests left (mpmath, flint) at {found} bits; expected (53, 53)")
    # What is loaded by now stays to the end: the garbage collector need not look through it again and again.
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Garbage is looked for once: pytest does it five times, and the interpreter twice more at its end."""
    gc.collect()
    gc.freeze()


READ_THE_CHAINS = (
    "tests/derivations/",
    "tests/check/test_replay.py::test_every_line",
    "tests/validation/test_published.py::test_the_houses",
    "tests/export/test_fragments.py",
    "tests/export/test_read_back.py::test_every_line",
    "tests/export/test_as_printed.py",
    "tests/figures/test_location_laws.py",
)
"""Beginnings of the names of tests that read all of symslr's chains."""


LONG_TO_DERIVE = ("landscape", "separation")
"""In the paths of tests that derive the same formulas."""

WAITING = "tests/study/"
"""Tests that wait for processes of theirs: many together are handed out early, and not last, when nothing else is left to do."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """One process of pytest-xdist makes the chains, early, for all tests that read them.

    A file goes to whichever process is free: its tests share what is derived, compiled and held against its definition once.
    So do all files of an idea whose formulas take seconds to derive.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(READ_THE_CHAINS):
                return "chains"
            file = nodeid.partition("::")[0]
            return next((idea for idea in (*LONG_TO_DERIVE, WAITING) if idea in file), file)

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """`tool("chromium")` is the program's path; skips or fails as `needs` does where it is missing."""
    return require_tool


@pytest.fixture(autouse=True)
def precision_left_as_found() -> Iterator[None]:
    """Precision is an argument of symslr, never global state left behind."""
    before = (mpmath.mp.prec, flint.ctx.prec)
    yield
    after = (mpmath.mp.prec, flint.ctx.prec)
    mpmath.mp.prec, flint.ctx.prec = before
    assert after == before, f"global (mpmath, flint) precision changed from {before} to {after} bits"
