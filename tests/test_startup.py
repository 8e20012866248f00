"""What a command loads: a refusal, help and the list of derivations load neither SymPy nor NumPy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LIBRARIES = ("sympy", "numpy", "scipy", "mpmath", "flint", "matplotlib", "torch", "numba", "distributed")

QUICK = [
    ("--help",),
    ("bayes", "--help"),
    ("--version",),
    ("frobnicate",),
    ("bayes", "--length", "3", "--nu", "x"),
    ("bayes", "--length", "3", "--nu", "-1"),
    ("bayes", "--length", "0", "--nu", "1"),
    ("bayes", "--task", "none.toml", "--length", "3"),
    ("risk", "--length", "3", "--nu", "1", "--attention", "hard"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "import os"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "unknown(x)"),
    ("risk", "--length", "3", "--nu", "1", "--attention", "top(0)"),
    ("risk", "--length", "3", "--nu", "1", "--heads", "0"),
    ("optimal", "--help"),
    ("optimal", "--task", "none.toml"),
    ("landscape", "--length", "3"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "1", "--alpha", "2"),
    ("derive",),
    ("derive", "no-such-derivation"),
    ("check", "no/such/folder"),
    ("validate", "no/such/folder"),
    ("report", "no/such/folder", "--out", "out"),
    ("study", "--help"),
    ("new", "."),
]

PROGRAM = """
import contextlib, io, json, sys
from symslr.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    try:
        main(json.loads(sys.argv[1]))
    except SystemExit as end:
        status = end.code
print(json.dumps([status, sorted(sys.modules)]))
"""

SLOW = {"scipy.stats", "scipy.interpolate", "sympy.physics.units"}
"""Each takes a quarter of a second to load, and a number needs none of them."""


def modules(*arguments: str) -> tuple[int, set[str]]:
    """The exit status of a command, and the modules that a process has loaded that runs it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments)], capture_output=True, text=True, check=True, timeout=600
    )
    status, names = json.loads(done.stdout)
    return status, set(names)


def loaded(*arguments: str) -> tuple[int, set[str]]:
    """The same, with packages instead of modules."""
    status, names = modules(*arguments)
    return status, {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_what_needs_no_mathematics_loads_none(arguments: tuple[str, ...]) -> None:
    status, names = loaded(*arguments)
    assert status == (0 if "--help" in arguments or arguments in (("derive",), ("--version",)) else 2)
    assert names & set(LIBRARIES) == set()


def test_a_number_loads_them() -> None:
    _, names = loaded("bayes", "--length", "2", "--nu", "1")
    assert {"sympy", "numpy", "flint"} <= names


def test_a_number_of_an_own_kernel_loads_what_it_needs() -> None:
    status, names = modules("risk", "--length", "3", "--nu", "2", "--scale", "1.3", "--kernel", "log(2 + exp(x))")
    assert (status, names & SLOW) == (0, set())
