"""Chains of a stranger about laws that are none: matrices that are no covariances, priors and densities below zero, empty sums."""

from __future__ import annotations

import pytest
from sympy import Expr, KroneckerDelta, Product, Rational, S, Sum, exp, oo, pi, sqrt

from symslr.algebra.derivation import Derivation
from symslr.check import Verdict
from symslr.check.check import check_derivation
from symslr.expression.configuration import ConfigurationExpectation, ConfigurationMean, Precision, exactly
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, r
from symslr.model.scalar_law import ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, m, nu, x, z
from tests.check.toys import Say

pytestmark = pytest.mark.usefixtures("lines_alone", "few_sequences")


ONE_OF_ALL = ConfigurationPrior(exactly(1, L), ONE, L)
SAME = KroneckerDelta(l, m)
LOPSIDED = SAME + (1 - SAME) * Rational(2, 5) * l / (l + m)
"""C_12 = 2/15 and C_21 = 4/15."""

LOW = SAME - Rational(9, 10) * (1 - SAME)
"""Not positive definite from three tokens on."""

EVEN = SAME + (1 - SAME) * Rational(2, 5) / (l + m)


def mean(body: Expr, keys: Expr = ALIKE, values: Expr = ALIKE) -> Expr:
    return nu * ConfigurationExpectation(body, ConfigurationLaw(ONE_OF_ALL, S.One, keys, values))


def verdict(start: Expr, after: Expr, lengths: tuple[int, ...] = (2, 3, 5)) -> Verdict:
    item = Derivation(start, name="stranger", ranges={L: list(lengths)})
    return check_derivation(item.apply(Say(lambda _: after))).steps[0].verdict


BELOW_ZERO = ConfigurationPrior(Product((-2) ** (r[l] * KroneckerDelta(l, 1)), (l, 1, L)) * exactly(1, L), ONE, L)
SIGNED = ScalarLaw((1 + x**3) * exp(-(x**2) / 2) / sqrt(2 * pi))

TILT = exp(chi[epsilon] / 2 - Rational(1, 8))


def E_g(body: Expr, weight: Expr) -> Expr:
    return SequenceExpectation(body, SequenceLaw(weight, L))


def E_0(body: Expr) -> Expr:
    return E_g(body, S.One)


TWICE = ScalarLaw(2 * exp(-(x**2) / 2) / sqrt(2 * pi))
HALF = ScalarLaw(exp(-(x**2) / 2) / sqrt(2 * pi), 0, oo)
OF_MASS_NU = ScalarLaw(nu * exp(-(x**2) / 2) / sqrt(2 * pi))

CASES = {
    "keys of a matrix that is not symmetric": (mean(chi[1] * chi[2], LOPSIDED), nu * Rational(2, 15)),
    "the same, its other half": (mean(chi[1] * chi[2], LOPSIDED), nu * Rational(4, 15)),
    "values of a matrix that is not symmetric": (mean(z[1] * z[2], values=LOPSIDED), nu * Rational(4, 15)),
    "the inverse of a matrix that is not symmetric": (nu * Precision(1, 1, LOPSIDED, L), nu / (1 - Rational(8, 225))),
    "keys of one covariance for all": (mean(chi[1] * chi[2], S.One + 0 * l), nu),
    "the inverse of a matrix that is no covariance": (
        nu * Precision(1, 2, LOW, L), nu * Rational(9, 19) / (1 - Rational(9, 19) * L),
    ),
    "a prior below zero": (nu * ConfigurationMean(r[1], BELOW_ZERO), -2 * nu / (L - 3)),
    "a density below zero": (nu * ScalarExpectation(x**2, x, SIGNED), nu),
    "tokens of a density below zero": (nu * SequenceExpectation(chi[epsilon] ** 2, SequenceLaw(S.One, L, SIGNED)), nu),
    "a density of mass two": (nu * ScalarExpectation(x**2, x, TWICE), 2 * nu),
    "half of a density": (nu * ScalarExpectation(x**2, x, HALF), nu / 2),
    "a density whose mass is the parameter": (ScalarExpectation(x**2, x, OF_MASS_NU), nu),
    "tokens of mass two": (nu * SequenceExpectation(chi[epsilon] ** 2, SequenceLaw(S.One, L, TWICE)), nu * 2**L),
    "a weight of mean two": (nu * E_0(2 * TILT * chi[epsilon] ** 2), nu * E_g(chi[epsilon] ** 2, 2 * TILT)),
    "a weight below zero": (
        nu * E_0((1 + chi[epsilon]) * chi[epsilon] ** 2), nu * E_g(chi[epsilon] ** 2, 1 + chi[epsilon]),
    ),
    "a product that is zero from three tokens on": (nu * Product(l - 3, (l, 1, L)), S.Zero),
    "a sum that is empty for a few tokens": (nu * Sum(l, (l, 1, L - 6)), nu * (L - 6) * (L - 5) / 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_is_not_true(name: str) -> None:
    lengths = (2, 5, 6) if name == "a prior below zero" else (2, 3, 5)
    assert verdict(*CASES[name], lengths) in (Verdict.FALSE, Verdict.UNKNOWN)


def test_the_same_with_a_covariance_is_true() -> None:
    assert verdict(mean(chi[1] * chi[2], EVEN), nu * Rational(2, 15)) is Verdict.TRUE
    assert verdict(mean(z[2] * z[1], values=EVEN), nu * Rational(2, 15)) is Verdict.TRUE
