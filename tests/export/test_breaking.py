"""Broken formulas: every line fits, nothing is lost."""

from __future__ import annotations

import re

import pytest
from sympy import Expr, Integral, Limit, Piecewise, S, Symbol, exp, log, oo, pi, sqrt

from symslr.export.breaking import INDENT, latex_lines
from symslr.export.measure import width
from symslr.export.printing import house_latex
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import STANDARD_NORMAL, normal
from symslr.model.symbols import Delta, L, a, chi, m, nu, x, z

u = Symbol("u", positive=True)
LAW = SpikedSLR().law
WEIGHT = exp(-u * exp(sqrt(nu) * x))
TOKEN = ScalarExpectation(WEIGHT, x, STANDARD_NORMAL)
RELEVANT = ScalarExpectation(WEIGHT, x, normal(sqrt(nu)))
LAPLACE = (L - 1) * Integral(
    TOKEN * ScalarExpectation(x * WEIGHT, x, STANDARD_NORMAL) * RELEVANT ** (L - 2), (u, 0, oo)
)
SERIES = sum((x**i * exp(i * x) / sqrt(2 * pi) for i in range(1, 20)), S.Zero)
CHIS = SequenceExpectation(sum((chi[m] ** i for i in range(1, 30)), S.Zero), LAW)
ZS = SequenceExpectation(sum((z[m] ** i for i in range(1, 30)), S.Zero), LAW)

LONG = {
    "sum": SERIES,
    "integral": LAPLACE,
    "logarithm": log(1 + SERIES),
    "exponential": exp(-SERIES / 3),
    "expectation": 1 - ScalarExpectation(SERIES, x, STANDARD_NORMAL),
    "quotient": Delta**2 + 1 - LAPLACE**2 / (1 + LAPLACE),
    "minimum of a quotient": Minimum(1 - CHIS**2 / ZS, a),
    "power": (LAPLACE + 1) ** 3 * CHIS ** (L - 2),
    "inverse": 1 / (1 + SERIES),
    "indicator": 2 * Piecewise((nu, SERIES > 1), (0, True)),
}


@pytest.mark.parametrize("room", [24.0, 36.0, 60.0])
@pytest.mark.parametrize("expr", LONG.values(), ids=LONG)
def test_lines_fit(expr: Expr, room: float) -> None:
    for line in latex_lines(expr, room, lead="="):
        assert width(line.tex) <= room - INDENT * line.depth + 0.35, line.tex


@pytest.mark.parametrize("expr", LONG.values(), ids=LONG)
def test_letters_and_numbers_are_those_of_the_unbroken_formula(expr: Expr) -> None:
    def letters(tex: str) -> list[str]:
        bare = re.sub(r"\\(?:biggl|biggr|bigg|left|right|times|cdot|frac|,|\{|\})|[{}()\[\]/ ]", " ", tex)
        return sorted(re.findall(r"\\?[A-Za-z]+|\d+|\^|_|[-+]", bare))

    broken = " ".join(line.tex for line in latex_lines(expr, 36.0))
    assert letters(broken) in (letters(house_latex(expr)), sorted([*letters(house_latex(expr)), "1"]))


@pytest.mark.parametrize("expr", LONG.values(), ids=LONG)
def test_brackets_pair_up_over_the_lines_and_growing_ones_within_a_line(expr: Expr) -> None:
    lines = latex_lines(expr, 36.0)
    whole = " ".join(line.tex for line in lines)
    assert whole.count(r"\biggl") == whole.count(r"\biggr")
    for line in lines:
        assert line.tex.count(r"\left") == line.tex.count(r"\right")
        assert line.tex.replace(r"\{", "").count("{") == line.tex.replace(r"\}", "").count("}")


def test_what_fits_stays_on_one_line() -> None:
    (line,) = latex_lines(Delta**2 + 1, 36.0, lead="f =")
    assert line.tex == rf"f = {house_latex(Delta**2 + 1)}"


def test_a_factor_that_is_broken_anyway_begins_behind_a_short_one_and_one_that_fits_on_its_own_line() -> None:
    """1/log n stood alone on a line, its logarithm on the five lines below; an exponent was broken in the next line's stead."""
    n = Symbol("n", positive=True)
    first, *_ = latex_lines(log(SERIES) / log(n), 24.0)
    assert first.tex.startswith(r"\frac{1}{\log(n)} \log\biggl(")
    kernel = ScalarExpectation(exp(-u * log(1 + exp(a * x))), x, STANDARD_NORMAL) ** (L - 1)
    lines = latex_lines(
        Integral(exp(-nu / 2) * kernel * RELEVANT, (u, 0, oo)), 20.7, lead=r"\mathbb{E}_{g}[\sigma_{\epsilon}] ="
    )
    assert not any(r"\biggl(" in line.tex for line in lines)


def test_a_limit_is_opened_like_a_sum() -> None:
    """A step on one-pass descent ran 1,461 points over the edge."""
    lines = latex_lines(Limit(u * SERIES, u, oo), 30.0)
    assert lines[0].tex.startswith(r"\lim_{u \to \infty} \biggl(")
    assert all(width(line.tex) <= 30.0 for line in lines)
