"""Chains about integrands and laws with narrow features: what is false there is not told true, what is true not false."""

from __future__ import annotations

import pytest
from sympy import Abs, Expr, Heaviside, Max, Rational, exp, pi, sqrt, tanh

from symslr.algebra.derivation import Derivation
from symslr.check import Verdict
from symslr.check.check import check_derivation
from symslr.expression.expectation import ScalarExpectation
from symslr.model.scalar_law import ScalarLaw, laplace, normal, student
from symslr.model.symbols import a, x
from tests.check.toys import Say

pytestmark = pytest.mark.usefixtures("lines_alone")

TENTH = Rational(1, 10)


def verdict(body: Expr, law: ScalarLaw, after: Expr) -> Verdict:
    item = Derivation(a * ScalarExpectation(body, x, law), name="stranger")
    return check_derivation(item.apply(Say(lambda _: a * after))).steps[0].verdict


def bump(place: Expr, width: Expr, height: Expr) -> Expr:
    return height * exp(-(((x - place) / width) ** 2))


def of_bump(place: Expr, width: Expr, height: Expr) -> Expr:
    """Its mean under N(0, 1)."""
    return height * width * exp(-(place**2) / (2 + width**2)) / sqrt(2 + width**2)


BUMPS = [
    (Rational(7, 11), Rational(1, 3000), 500),
    (-Rational(17, 9), Rational(1, 10**5), 10**5),
    (sqrt(3), Rational(1, 10**7), 10**7),
    (-Rational(13, 31), Rational(1, 10**9), 10**9),
    (Rational(5, 7), Rational(1, 10**12), 10**12),
]


@pytest.mark.parametrize(("place", "width", "height"), BUMPS)
def test_a_narrow_bump(place: Expr, width: Expr, height: Expr) -> None:
    body = 1 + bump(place, width, height)
    assert verdict(body, normal(), Rational(1)) in (Verdict.FALSE, Verdict.UNKNOWN)
    assert verdict(body, normal(), 1 + of_bump(place, width, height)) in (Verdict.TRUE, Verdict.UNKNOWN)


def two(first: Expr, second: Expr, variance: Expr) -> ScalarLaw:
    """Half of N(first, variance) and half of N(second, variance)."""
    modes = [exp(-((x - mode) ** 2) / (2 * variance)) for mode in (first, second)]
    return ScalarLaw(sum(modes) / (2 * sqrt(2 * pi * variance)))


THREE = Rational(3)
LAWS = {
    "two narrow modes": (Abs(x - TENTH), two(Rational(4, 3), -THREE, Rational(1, 10**5)), Rational(13, 6), Rational(31, 60)),
    "narrower": (Max(x, -TENTH), two(Rational(9, 7), -THREE, Rational(1, 10**8)), Rational(83, 140), Rational(9, 14)),
    "one far from a kink": (Max(x, Rational(1, 5)), normal(-THREE, Rational(1, 10**7)), Rational(1, 5), Rational(0)),
    "far modes": (x**2, two(Rational(0), Rational(300), Rational(1)), Rational(45001), Rational(1)),
    "far modes and a jump": (Heaviside(x - 150), two(Rational(-7), Rational(500), Rational(1)), Rational(1, 2), Rational(1)),
    "a narrow peak": (Abs(x - 1), laplace(1, Rational(1, 10**6)), Rational(1, 10**6), Rational(1, 10**7)),
    "heavy tails": (x**2, student(4), Rational(2), Rational(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_a_law_of_narrow_or_far_parts(name: str) -> None:
    body, law, right, wrong = LAWS[name]
    assert verdict(body, law, right) in (Verdict.TRUE, Verdict.UNKNOWN)
    assert verdict(body, law, wrong) in (Verdict.FALSE, Verdict.UNKNOWN)


def test_a_bump_of_a_step() -> None:
    """tanh rises and falls again within a ten-millionth."""
    wall = 10**7 * (tanh(10**7 * (x - Rational(2, 7))) - tanh(10**7 * (x - Rational(2, 7)) - 1)) / 2
    assert verdict(1 + wall, normal(), Rational(1)) in (Verdict.FALSE, Verdict.UNKNOWN)


def test_plain_integrands_are_told_apart() -> None:
    """What is refused to bumps is not refused to all."""
    assert verdict(1 + bump(Rational(1, 3), Rational(1, 10**4), 10**4), normal(), Rational(1)) is Verdict.FALSE
    assert verdict(Max(x, Rational(0)), normal(), 1 / sqrt(2 * pi)) is Verdict.TRUE
