"""Means by sums of exponentials: exact values, the other routes, and what the route must leave to others."""

from fractions import Fraction

import pytest
from mpmath import mpf
from sympy import Expr, Sum, cos, sqrt

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.scored import ScoredActivation
from symslr.expression.value import Kind
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.model.symbols import Delta, L, chi, epsilon, eta, l, m, xi, z, zeta
from symslr.referee.one_token import Exponents
from symslr.referee.referee import CannotReferee, referee
from symslr.referee.work import SECOND, Memory

spiked, maximum = SpikedSLR().law, MaxSLR().law
SCORE = (3 * chi[m] + 4 * z[m] - 2 * eta[m]) / 5
turned = ScoredActivation.of(epsilon, softplus, SCORE)
values_ = 3 * chi[l] - z[l] + 2 * zeta[l] + eta[l] / 2
LOSS = (z[epsilon] + Delta * xi - Sum(turned.at(l) * values_, (l, 1, L))) ** 2
"""A loss in which the scores share chi, z and eta with the values."""

AT = {"nu": Fraction(7, 5), "Delta": Fraction(1, 3)}


def mean(body: Expr, law: object = maximum) -> Expr:
    return Expr.__new__(SequenceExpectation, body, law)


def paired_by_hand(law: object) -> Expr:
    """LOSS with the part t of the values that is independent of the scores averaged out."""
    root = sqrt(20) / 5
    score = 3 * chi[m] / 5 + root * z[m]
    sigma = ScoredActivation.of(epsilon, softplus, score)
    across = 2 / sqrt(20), 4 / sqrt(20)  # of z and of eta along t
    along = 4 / sqrt(20), -2 / sqrt(20)
    value_t = -across[0] + across[1] / 2
    value_w = -along[0] + along[1] / 2
    own = along[0] * z[epsilon] - Sum(sigma.at(l) * (3 * chi[l] + value_w * z[l]), (l, 1, L))
    rest = across[0] ** 2 - 2 * across[0] * value_t * sigma + (value_t**2 + 4) * Sum(sigma.at(l) ** 2, (l, 1, L))
    return Delta**2 + mean(own**2, law) + mean(rest, law)


EXACT = [
    (mean(Sum(chi[l] ** 2, (l, 1, L))), lambda n: n),
    (mean(Sum(chi[l], (l, 1, L)) ** 4), lambda n: 3 * n**2),
    (mean(z[epsilon] ** 2 + zeta[epsilon] ** 2 * xi**4), lambda n: 4),
    (mean(turned, spiked.unweighted()), lambda n: mpf(1) / n),
    (mean(Sum(turned.at(l) * (1 + xi**2), (l, 1, L))), lambda n: 2),
    (mean(Sum(1, (l, 1, L)) * turned, spiked.unweighted()), lambda n: 1),
    (mean(Sum(1 + chi[l], (l, 1, L)) ** 2), lambda n: n**2 + n),
    (mean(Sum(z[l] * ScoredActivation.of(l, linear, SCORE), (l, 1, L)), spiked.unweighted()), lambda n: mpf(4) / 5 * n),
]


@pytest.mark.parametrize("length", [2, 3, 7, 39])
@pytest.mark.parametrize("row", EXACT, ids=lambda row: str(row[0])[:30])
def test_exact_values(row: tuple, length: int) -> None:
    expr, number = row
    found = referee(expr, {**AT, "L": length}, digits=13)
    assert found.kind is Kind.ESTIMATED
    assert abs(found.value - number(length)) <= found.error + 1e-14 * abs(number(length))
    assert found.error <= 1e-11 * abs(number(length))


@pytest.mark.parametrize("law", [spiked, maximum], ids=["spiked", "max"])
@pytest.mark.parametrize("length", [2, 3, 6, 20])
def test_values_are_averaged_given_the_scores(law: object, length: int) -> None:
    at = {**AT, "L": length}
    left, right = referee(mean(LOSS, law), at, digits=13), referee(paired_by_hand(law), at, digits=13)
    assert "by exponentials" in left.method
    assert abs(left.value - right.value) <= left.error + right.error
    assert left.error <= 1e-11 * left.value


def test_samples_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {**AT, "L": 4}
    value = referee(mean(LOSS), at, digits=13)
    monkeypatch.setattr("symslr.referee.definitions.by_exponentials", lambda *arguments: None)
    Memory.forget_all()
    sampled = referee(mean(LOSS), at, digits=13, work=4 * SECOND)
    assert sampled.kind is Kind.STATISTICAL
    assert abs(sampled.value - value.value) <= 6 * sampled.error
    assert sampled.error <= 1e-2 * sampled.value


def test_a_mean_within_a_mean_is_a_number() -> None:
    """It once was read as if its tokens were those of the mean around it, and a mean of a square came out negative."""
    inner = SequenceExpectation(chi[epsilon], maximum)
    outer = mean((z[epsilon] - Sum((chi[l] * inner + 1) * z[l], (l, 1, L)) / L) ** 2)
    for length in (2, 3, 6):
        at = {"nu": 1, "L": length}
        left, right = referee(outer, at, digits=13), referee(1 - (1 + inner**2) / L, at, digits=13)
        assert abs(left.value - right.value) <= left.error + right.error + 1e-14
        assert left.value > 0


def test_what_is_left_to_others() -> None:
    """Two scores off the line of chi, a body that is no polynomial in the values."""
    other = ScoredActivation.of(epsilon, softplus, chi[m] - z[m])
    for body in (turned * other, cos(z[epsilon]) * turned):
        try:
            found = referee(mean(body), {**AT, "L": 4}, digits=13, work=SECOND)
        except CannotReferee:
            continue
        assert "exponentials" not in found.method


def test_a_sum_of_exponentials_is_held_against_its_power() -> None:
    found = Exponents.of(0.5, 0.01, 300.0, 1.0, 0.0)
    assert all(found.error(power) <= 1e-13 for power in (1, 2, 3))
    found.nodes[len(found.nodes) * 4 // 5] *= 1.001
    assert min(found.error(1), found.error(2)) > 1e-6


def test_softmax_of_a_strong_score() -> None:
    sigma = ScoredActivation.of(epsilon, softmax, 3 * chi[m] + z[m])
    found = referee(mean(sigma, spiked.unweighted()), {"L": 5}, digits=13)
    assert abs(found.value - mpf(1) / 5) <= found.error
