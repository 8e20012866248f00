"""What a command loads: a refusal, help and the list of derivations load neither SymPy nor NumPy."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

LIBRARIES = ("sympy", "numpy", "scipy", "mpmath", "flint", "matplotlib", "torch", "numba", "distributed", "pybtex")

HERE = Path(__file__).parent
NO_PYTHON = str(HERE / "odd_inputs.txt")
BAD_STUDY = str(HERE / "bad_study.toml")

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
    ("compare", "--length", "3"),
    ("compare", "--length", "x", "--formula", "1"),
    ("compare", "--length", "3", "--nu", "2", "--mean", "1"),
    ("optimal", "--help"),
    ("optimal", "--task", "none.toml"),
    ("risk", "--length", "3", "--nu", "1", "--bounds", "a:1:0"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "exp(x)", "--offset", "-1"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "exp(x)", "--offset", "1", "--normalise", "none"),
    ("bayes", "--length", "3", "--nu", "1", "--digits", "10001"),
    ("landscape", "--length", "3"),
    ("landscape", "--length", "3", "--nu", "1", "--at", "m_kk"),
    ("landscape", "--length", "3", "--nu", "1", "--at", "c=1"),
    ("risk", "--length", "3", "--nu", "1", "--bounds", "c:0:1"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "1", "--alpha", "2"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "0", "--rv", "1", "--alpha", "2"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "1", "--rv", "1", "--alpha", "2", "--branch", "middle"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "1", "--rv", "1", "--alpha", "2", "--precision", "0"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "1", "--rv", "1", "--alpha", "2", "--shift", "1"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "1", "--rv", "1", "--alpha", "2", "--noise", "1e9"),
    ("finite", "--length", "11", "--nu", "1", "--rk", "1", "--rv", "1", "--alpha", "2"),
    ("finite", "--length", "3", "--nu", "1", "--rk", "1", "--rv", "1", "--alpha", "1,1"),
    ("finite", "--length", "3", "--nu", "1", "--alpha", "2", "--bayes-optimal", "--precision", "0.01"),
    ("derive",),
    ("derive", "no-such-derivation"),
    ("check", "no/such/folder"),
    ("validate", "no/such/folder"),
    ("report", "no/such/folder", "--out", "out"),
    ("report", "--out", __file__),
    ("report", "--out", f"{__file__}/inside"),
    ("derive", "--latex", "--out", __file__),
    ("derive", "--latex", "--out", "no/such/folder/all.tex"),
    ("check", NO_PYTHON),
    ("validate", "--keep", __file__),
    ("compute", "no-such-figure"),
    ("compute", "--all", "--keep", __file__),
    ("compute", "figure-growth", "--keep", "no/such/folder/kept.sqlite"),
    ("study", "--help"),
    ("study", "run", "no-such.toml", "--store", "s.sqlite"),
    ("study", "run", BAD_STUDY, "--store", "s.sqlite"),
    ("study", "run", BAD_STUDY, "--store", "no/such/folder/s.sqlite"),
    ("study", "show", "no-such.sqlite", "--csv", "no/such/folder/table.csv"),
    ("new", "."),
]

PROGRAM = """
import contextlib, io, json, sys
from symslr.cli import main
answers, before = [], set()
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code
    answers.append([status, sorted(set(sys.modules) - before)])
    before = set(sys.modules)
print(json.dumps(answers))
"""

SLOW = {"scipy.stats", "scipy.interpolate", "sympy.physics.units"}
"""Each takes a quarter of a second to load, and a number needs none of them."""


def ran(*commands: tuple[str, ...]) -> list[tuple[int, set[str]]]:
    """Of commands that one process runs: the exit status, and the modules loaded for the first time, by it or before it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)], capture_output=True, text=True, check=True, timeout=600
    )
    return [(status, set(names)) for status, names in json.loads(done.stdout)]


@cache
def one_after_another() -> dict[tuple[str, ...], tuple[int, set[str]]]:
    """Of all quick commands; what several would load is said of the first of them."""
    return dict(zip(QUICK, ran(*QUICK)))


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_what_needs_no_mathematics_loads_none(arguments: tuple[str, ...]) -> None:
    status, new = one_after_another()[arguments]
    assert status == (0 if "--help" in arguments or arguments in (("derive",), ("--version",)) else 2)
    assert {name.partition(".")[0] for name in new} & set(LIBRARIES) == set()


def test_a_number_loads_what_it_needs() -> None:
    """That of an attention of the catalogue, and after it that of an own kernel."""
    own = ("risk", "--length", "3", "--nu", "2", "--scale", "1.3", "--kernel", "log(2 + exp(x))")
    (first, names), (second, more) = ran(("bayes", "--length", "2", "--nu", "1"), own)
    assert (first, second) == (0, 0)
    assert {"sympy", "numpy", "flint"} <= names
    assert (names | more) & SLOW == set()


SLOW_FOR_A_LEAST_RISK = {"scipy.special", "scipy.optimize", "scipy.constants"}
"""0.1 to 0.2 s each, of the second that the least risk of a built-in attention takes."""


def test_the_least_risk_of_a_builtin_attention_loads_no_dear_module() -> None:
    place = ("--length", "3", "--nu", "2", "--attention")
    loaded = ran(("risk", *place, "softplus"), ("risk", *place, "softmax1", "--task", "max"))
    assert [(status, names & SLOW_FOR_A_LEAST_RISK) for status, names in loaded] == [(0, set()), (0, set())]
