"""Parameters far from 1: what is false for small or large values alone is not told true, and what is true there not false."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import final

import pytest
from sympy import (
    Expr,
    Integral,
    S,
    Symbol,
    atan,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    gamma,
    log,
    oo,
    pi,
    sinh,
    sqrt,
    tanh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rules import Algebra
from symslr.check.check import check_derivation
from symslr.check.points import far_points
from symslr.check.report import CheckReport, DerivationCheck, Verdict
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import a, epsilon, nu, x
from symslr.referee.work import SECOND
from tests.check.toys import Say

p, q, u = (Symbol(name, positive=True) for name in "pqu")
n = Symbol("n", integer=True, positive=True)
t = Symbol("t", nonnegative=True)
y = Symbol("y", real=True)
hit = SequenceExpectation(Posterior(epsilon, SpikedSLR().law), SpikedSLR().law)

pytestmark = pytest.mark.usefixtures("lines_alone", "few_sequences", "as_long_as_it_takes")


@pytest.fixture
def as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """More points are reached than a check would reach."""
    monkeypatch.setattr(sys.modules["symslr.check.check"], "FAR_WORK", SECOND)


@final
class AtMost(Say):
    """Says that its line is an upper bound."""

    relation = "<="


def scalar(body: Expr) -> Expr:
    return ScalarExpectation(body, x, STANDARD_NORMAL)


def gauss(reach: Expr) -> Expr:
    return Integral(exp(-p * y**2), (y, -reach, reach))


def laplace(body: Expr) -> Expr:
    return Integral(body, (u, 0, oo))


def chain(start: Expr, after: Expr, **options: object) -> DerivationCheck:
    kind = options.pop("kind", Say)
    said = kind(lambda expr: after, None, options.pop("hypotheses", ()))
    return check_derivation(Derivation(start, name="stranger", **options).apply(said))


def unpacked(case: tuple) -> tuple[Expr, Expr, dict]:
    return (*case, {}) if len(case) == 2 else case


FALSE = {
    "an integral that is cut at 20": (gauss(20), sqrt(pi / p)),
    "two integrals, one of them cut": (gauss(oo), gauss(20)),
    "cut at 100": (gauss(100), sqrt(pi / p)),
    "another formula above 60": (scalar(exp(-p * x**2)), (1 + (1 + tanh(p - 60)) / 2) / sqrt(1 + 2 * p)),
    "another formula below a ten-thousandth": (scalar(exp(-p * x**2)), (1 + exp(-(10**5) * p)) / sqrt(1 + 2 * p)),
    "what saturates does not": (1 - exp(-p), (1 - exp(-p)) * (1 - exp(-(10**4) / p))),
    "a weak signal": (hit, hit * (1 + exp(-(10**4) * nu))),
    "a strong signal": (hit, hit * (1 + exp(-2000 / nu))),
    "a large scale of either sign": (scalar(exp(a * x)), exp(a**2 / 2) * (1 + exp(-1000 / a**2))),
    "a large negative scale": (scalar(exp(a * x)), exp(a**2 / 2) * (3 - tanh(a + 60)) / 2),
    "a large positive scale": (scalar(exp(a * x)), exp(a**2 / 2) * (3 + tanh(a - 60)) / 2),
    "a large product": (laplace(exp(-p * u) * q), q / p * (1 + exp(-1000 / (p * q)))),
    "a small ratio": (p / (p + q), p / (p + q) * (1 + exp(-1000 * p / q))),
    "a large integer": (laplace(u**n * exp(-u)), gamma(n + 1) * (3 + tanh(5 * (n - 12))) / 2),
    "large and not negative": (sqrt(1 + t), sqrt(1 + t) * (1 + exp(-1000 / (t + 1)))),
    "the lower end of a range": (laplace(exp(-q * u)), (1 + exp(-40 * q)) / q, {"ranges": {q: (0, 1000)}}),
    "the upper end of a range": (
        laplace(exp(-u / (1 - q))), (1 - q) * (1 + exp(-1000 * (1 - q))), {"ranges": {q: (0, 1)}}),
    "below a hypothesis": (
        laplace(exp(-u / p)), p * (1 + exp(-3000 * p)), {"hypotheses": (Hypothesis("$p < 1$", p < 1),)}),
    "a bound that large values break": (tanh(p), 1 - (1 + tanh(p - 60)) / 1000, {"kind": AtMost}),
}  # fmt: skip

TRUE = {
    "a wide bell": (gauss(oo), sqrt(pi / p)),
    "a bell that is cut": (gauss(20), sqrt(pi / p) * erf(20 * sqrt(p))),
    "exp overflows": (scalar(exp(a * x)), exp(a**2 / 2)),
    "a mass where floats see none": (scalar(cosh(a * x) * exp(-(a**2) / 2)), S.One),
    "a tail below all floats": (Integral(exp(-(y**2)), (y, p, oo)), sqrt(pi) * erfc(p) / 2),
    "cancellation": (exp(p) - 1, 2 * exp(p / 2) * sinh(p / 2)),
    "cancellation of roots": (sqrt(1 + p) - sqrt(p), 1 / (sqrt(1 + p) + sqrt(p))),
    "cancellation under an integral": (laplace(exp(-u) * (exp(-p * u) - 1)), -p / (1 + p)),
    "a logarithm of exponentials": (p, log((1 + exp(400)) / (exp(-10 * p) + exp(10 * (40 - p)))) / 10),
    "nearly singular": (Integral(p / (y**2 + p**2), (y, -1, 1)), 2 * atan(1 / p)),
    "hardly integrable at 0": (laplace(u ** (p - 1) * exp(-u)), gamma(p)),
    "hardly integrable far out": (laplace((1 + u) ** (-1 - p)), 1 / p),
    "two scales": (laplace((exp(-p * u) - exp(-q * u)) / u), log(q / p)),
    "an oscillation": (scalar(cos(p * x)), exp(-(p**2) / 2)),
    "a steep step": (scalar(1 / (1 + exp(-a * x))), S.Half),
    "a sum of large numbers": (scalar(exp(q * x - p * x**2)), exp(q**2 / (2 + 4 * p)) / sqrt(1 + 2 * p)),
    "large integers": (laplace(u**n * exp(-u)), gamma(n + 1)),
    "a bound": (erfc(p), exp(-(p**2)), {"kind": AtMost}),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_false_far_from_one(name: str) -> None:
    start, after, options = unpacked(FALSE[name])
    found = chain(start, after, **options)
    assert found.verdict is Verdict.FALSE, found.covered


@pytest.mark.parametrize("name", TRUE)
def test_true_far_from_one(name: str) -> None:
    start, after, options = unpacked(TRUE[name])
    found = chain(start, after, **options)
    assert found.verdict is Verdict.TRUE, found.steps[0].reason


def test_a_claim_is_compared_far_from_one() -> None:
    found = check_derivation(
        Derivation((p + 1) ** 2).apply(Algebra("expand")).claim(1 + 2 * p + p**2 * tanh(90 / p), "a source")
    )
    assert found.steps[0].verdict is Verdict.TRUE
    assert found.claims[0].verdict is Verdict.FALSE


def test_what_was_covered_is_said() -> None:
    found = chain(gauss(oo), sqrt(pi / p))
    low, high = found.covered["p"]
    assert low < Fraction(1, 100)
    assert high > 1000
    assert f"compared with p from {float(low):.3g} to {float(high):.3g}" in CheckReport((found,)).as_text()
    assert found.as_json()["covered"] == {"p": [f"{float(low):.3g}", f"{float(high):.3g}"]}


def test_what_overflows_was_not_covered() -> None:
    found = chain(hit, SequenceExpectation(2 * Posterior(epsilon, SpikedSLR().law), SpikedSLR().law) / 2)
    assert found.verdict is Verdict.TRUE
    assert 100 < found.covered["nu"][1] < 10**5


@pytest.mark.parametrize("condition", [p < 1, p > 1, p < q, p + q < 3])
def test_hypotheses_are_respected(condition: Expr) -> None:
    made = Derivation((p + q) ** 2).apply(Say(lambda expr: expr.expand(), None, (Hypothesis("so", condition),)))
    found = list(far_points(made))
    assert len(found) > 3
    assert all(condition.subs({p: point.values["p"], q: point.values["q"]}) for point in found)


def test_a_range_is_not_left() -> None:
    for point in far_points(Derivation(p * q * n, ranges={p: (0, 1), q: [1, 2], n: (2, 50)})):
        assert 0 < point.values["p"] < 1
        assert point.values["q"] in (1, 2)
        assert 2 <= point.values["n"] <= 50
