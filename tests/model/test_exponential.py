"""Functions of x that are the same at every x, however they are written."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sympy import Expr, Rational, Symbol, cosh, exp, log, sinh

from symslr.model.exponential import constant_value
from symslr.model.symbols import x

c = Symbol("c", real=True)
SLOW = Rational(123456789, 10**9)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (exp(x) * (exp(x) + 1) / (exp(2 * x) + exp(x)), 1),
        (cosh(x) ** 2 - sinh(x) ** 2, 1),
        (c * (exp(x) + exp(x / 2)) / (exp(x / 2) + 1) / exp(x / 2), c),
        (c, c),
        (exp(x) + exp(-x), None),
        (1 + c * x, None),
        (log(1 + exp(x)) - x, None),
    ],
    ids=str,
)
def test_values(function: Expr, value: Expr | None) -> None:
    assert constant_value(function) == value


AWKWARD = f"""
import resource
from sympy import *
from symslr.model.exponential import constant_value
from symslr.model.symbols import x
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
one, two = exp(Rational({SLOW.p}, {SLOW.q}) * x), exp(x)
for kernel in ((1 + one) ** 2 / (1 + two), (two + one * two) / (1 + one), one + 1 / two):
    assert constant_value(kernel.diff(x) / kernel) is None
    assert constant_value(kernel.diff(x)) is None
"""


def test_exponentials_at_scales_of_many_decimals_fill_no_memory() -> None:
    """e^x is a power beyond the 10^8th of what it has in common with e^{0.123456789 x}: SymPy made a place for each."""
    done = subprocess.run([sys.executable, "-c", AWKWARD], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
