"""SymPy's polynomials of high powers are not asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sympy import Expr, Rational, S, Symbol, erf, exp, factor, pi, sqrt
from sympy.polys.rings import sring

from symslr.model.exponential import constant_value
from symslr.model.powers import factored, highest_power
from symslr.model.symbols import x

a = Symbol("a", real=True)
t = Symbol("t", positive=True)
FINE = Rational(123456789, 10**9)


@pytest.mark.parametrize(
    "expr",
    [
        exp(x) + 1,
        exp(FINE * x) + exp(x),
        x**5 * (exp(x / 3) + 1) ** 3,
        exp(a * x / 3 + Rational(7, 2) * x),
        x**2 + erf(x) ** 4 * x**9,
        1 + x ** Rational(3, 2),
        exp(-289 * x / 5) + exp(x / 500),
        2 ** (Rational(9, 2) * x) + sqrt(2) * x + pi,
    ],
    ids=str,
)
def test_the_highest_power_is_that_of_sympys_own_sparse_polynomial(expr: Expr) -> None:
    assert highest_power(expr) == max(sring(expr)[1].degrees())


def test_powers_below_are_counted_and_numbers_have_none() -> None:
    assert highest_power((1 + exp(Rational(5, 2) * x)) ** -2) == 10
    assert highest_power(S(3) / 7) == 0
    assert highest_power(exp(-(FINE**2) / 2)) == 123456789**2


@pytest.mark.parametrize(
    "expr",
    [
        exp(x) * (exp(x / 2003) + 1) + 1,
        (exp(x) + exp(x / 2003)) ** 2 + 3,
        (exp(x / 7) + 1) * (exp(x / 5) + 1) ** 30 + x,
        (exp(x / 7) + exp(x / 5)) ** 3 * (x + exp(a * x / 3)) ** 2,
        t * (t ** Rational(1, 2003) + 1) + 1,
        exp(x / 3) * (exp(x / 7 + a / 11) + 1) * (exp(a / 2) + 1),
    ],
    ids=str,
)
def test_the_powers_that_products_make_are_bounded(expr: Expr) -> None:
    """Regression: e^x (e^(x/2003) + 1), the 2004th power of e^(x/2003), was taken for a first one."""
    exact = max(sring(expr)[1].degrees())
    assert exact <= highest_power(expr) <= 2 * exact


def test_fractions_are_counted_over_their_common_denominator() -> None:
    """Regression: of 1/(1 + x^700) + 1/(2 + x^800) the powers that ``factor`` lays out are the 1500th, not the 800th."""
    assert highest_power(1 / (1 + x**700) + 1 / (2 + x**800)) == 1500
    assert highest_power(x * (3 + x**9 * (1 + x**2) ** -2) ** 2) == 27
    nested = 1 / (1 + exp(x) / (1 + exp(FINE * x)))
    assert factored(nested) == nested


def test_factors_are_found_where_powers_are_low() -> None:
    square = exp(2 * x) + 2 * exp(x) + 1
    assert factored(square) == factor(square) == (exp(x) + 1) ** 2
    fine = exp(-(FINE**2) / 2) + exp(S.Half)
    assert factored(fine) == fine  # SymPy's own takes all the memory
    assert constant_value((exp(x) + exp(FINE * x)) / (exp(x) + exp(FINE * x + 1))) is None


BOUNDED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000,) * 2)
from symslr.cli import main
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is bounded on Linux")
@pytest.mark.parametrize(
    "command",
    [
        "bayes --symbolic --task {model}",
        "risk --kernel exp(x)+exp(x/3) --normalise none --length 3 --nu 2 --scale 1795668451.65",
    ],
)
def test_rates_with_many_digits_fill_no_memory(tmp_path, command: str) -> None:
    """Regression: the coefficient e^(-0.123456789^2/2) was factored, and e^(10^18) given to ``radsimp``, until memory ended."""
    model = tmp_path / "pair.toml"
    relevant = "(exp(-(x-123456789/1000000000)**2/2)+exp(-(x-1)**2/2))/sqrt(2*pi)/2"
    model.write_text(f'[task]\nrelevant = "{relevant}"\nothers = "exp(-x**2/2)/sqrt(2*pi)"\nlength = 3\nnoise = 0\n')
    arguments = command.format(model=model).split()
    ended = subprocess.run(
        [sys.executable, "-c", BOUNDED, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
