"""A toy derivation: two rules of the tests' own, so that what is tested here does not move with the theory."""

from __future__ import annotations

from dataclasses import replace
from typing import final

import pytest
from mpmath import mpf
from sympy import Expr, exp, expand, sqrt, symbols

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.check.report import CheckReport, Comparison, DerivationCheck, StepCheck, Verdict
from symslr.expression.expectation import ScalarExpectation
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import Delta, nu, x


@final
class Expand(Rule):
    name = "expand"
    statement = r"(a+b)^2 = a^2 + 2ab + b^2"
    conditions = r"$a$ & $b$ are real, 100 % of the time"

    def rewrite(self, expr: Expr) -> Expr:
        return expand(expr)


@final
class Integrate(Rule):
    name = "Gaussian integral"
    statement = r"\mathbb{E}\left[e^{sx}\right] = e^{s^2/2}"
    conditions = r"$x\sim\mathcal{N}(0,1)$"
    source = "cameron1944"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, ScalarExpectation), lambda node: exp(nu / 2))


@pytest.fixture(scope="session")
def toy() -> Derivation:
    b = symbols("b", positive=True)
    start = (Delta + b) ** 2 + ScalarExpectation(exp(sqrt(nu) * x), x, STANDARD_NORMAL)
    return (
        Derivation(
            start,
            title=r"A toy with $\nu$_1 & 5 % of signs",
            name="toy",
            symbol=r"\mathcal{T}",
            introduction="It says x_1 & y: 50 % of σ.",
            sources=("duranthon2025, Sec. 2",),
        )
        .apply(Expand(), "The square opens.")
        .apply(Integrate())
        .claim(Delta**2 + 2 * Delta * b + b**2 + exp(nu / 2), "stein1981, Lemma 1")
        .claim(Delta**2 + b**2, "duranthon2025, as summarised", label="quoted")
    )


@pytest.fixture(scope="session")
def toy_checks() -> CheckReport:
    good = Comparison(
        "nu = 2", "plain", ("referee", "evaluate"), Verdict.TRUE, mpf(1), mpf(1), mpf(0), mpf(0), 25, True
    )
    bad = replace(good, verdict=Verdict.DIFFERS, right=mpf(2), difference=mpf(1), digits=0)
    steps = (
        StepCheck("expand", Verdict.TRUE, (good, good)),
        StepCheck("Gaussian integral", Verdict.UNKNOWN, (replace(good, effective=False),), "no number: 5 % <x_1> {}\\"),
    )
    claims = (
        StepCheck("stein1981, Lemma 1", Verdict.TRUE, (good,), symbolic=True),
        StepCheck("duranthon2025, as summarised", Verdict.DIFFERS, (bad,), "at nu = 2 the sides are 1 and 2"),
    )
    start = StepCheck("start", Verdict.TRUE, (good,))
    return CheckReport((DerivationCheck("toy", start, steps, claims),))
