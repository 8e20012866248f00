"""The referee at five tokens and more: sums of exponentials, and samples where there are none."""

import numpy as np
import pytest
from mpmath import mp, mpf
from sympy import Expr, KroneckerDelta, Rational, Sum, Symbol, cos, exp, sqrt

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.value import Kind
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.scalar_law import laplace, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, j, k, l, m, nu, xi, z
from symslr.referee.referee import CannotReferee, referee
from symslr.referee.symmetry import symmetric
from symslr.referee.work import SECOND

spiked, maximum = SpikedSLR().law, MaxSLR().law
bare = spiked.unweighted()
hit = SequenceExpectation(Activation.of(epsilon, softmax, a), spiked)
norm = SequenceExpectation(Sum(Activation.of(l, softmax, a) ** 2, (l, 1, L)), spiked)


def bayes(law: SequenceLaw) -> Expr:
    return 1 - SequenceExpectation(Posterior(epsilon, law), law)


def moment(law: SequenceLaw) -> Expr:
    return SequenceExpectation(Sum(chi[l] ** 2, (l, 1, L)) ** 2, law)


# name, expression, values, number, digits that must be reached; numbers of THEORY's table or of moments
SUMS = [
    ("spiked, 100 tokens", bayes(spiked), {"L": 100, "nu": 5}, "0.745326342555008759491495297704", 10),
    ("the tilt written out", SequenceExpectation(
        exp(2 * sqrt(nu) * chi[epsilon] - nu / 2) / Sum(exp(sqrt(nu) * chi[l]), (l, 1, L)), bare),
     {"L": 100, "nu": 5}, "0.254673657444991240508504702296", 10),
    ("softmax, ratio of two means", 1 - hit**2 / norm, {"L": 10, "nu": 5, "a": Rational(2236068, 10**6)},
     "0.359807984", 9),
    ("pairs that coincide", moment(bare), {"L": 7}, "63", 9),
    ("two others", SequenceExpectation(chi[epsilon] ** 2 * chi[j] ** 2 * chi[k] ** 4, spiked), {"L": 6, "nu": 2}, "9", 12),
]  # fmt: skip


@pytest.fixture
def without_exponentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other routes alone."""
    monkeypatch.setattr("symslr.referee.definitions.by_exponentials", lambda *arguments: None)


@pytest.mark.parametrize(("name", "expr", "values", "number", "digits"), SUMS, ids=[row[0] for row in SUMS])
def test_sums(name: str, expr: Expr, values: dict, number: str, digits: int) -> None:
    found = referee(expr, values, digits=13)
    assert found.kind is Kind.ESTIMATED
    assert found.digits >= digits - 1
    with mp.workdps(40):
        shown = mpf(10) ** (1 - len(number.lstrip("0."))) if len(number) < 15 else 0
        assert abs(found.value - mpf(number)) <= found.error + shown


def test_posteriors_sum_to_one_at_any_length() -> None:
    total = SequenceExpectation(Sum(Posterior(l, maximum), (l, 1, L)), maximum)
    assert abs(referee(total, {"L": 9, "nu": 3}, digits=13).value - 1) < 1e-11


SAMPLED = [
    ("values that are no polynomial", SequenceExpectation(cos(z[epsilon]) + xi**2, spiked), {"L": 2, "nu": 1},
     np.exp(-0.5) + 1),
    ("turned scores", SequenceExpectation(
        ScoredActivation.of(epsilon, softmax, sqrt(nu) * (3 * chi[m] + 4 * z[m]) / 5), bare),
     {"L": 5, "nu": 2}, 0.2),
]  # fmt: skip


def test_noise_under_a_weight_is_paired_off() -> None:
    found = referee(SequenceExpectation(xi**2, spiked), {"L": 5, "nu": 2}, digits=13, work=4 * SECOND)
    assert found.kind is Kind.ESTIMATED
    assert abs(float(found.value) - 1) <= float(found.error) <= 1e-13


@pytest.mark.usefixtures("without_exponentials")
@pytest.mark.parametrize("row", SAMPLED, ids=lambda row: row[0])
def test_samples(row: tuple) -> None:
    _, expr, values, number = row
    found = referee(expr, values, digits=13)
    assert found.kind is Kind.STATISTICAL
    assert found.digits >= 3
    assert abs(float(found.value) - number) <= 6 * float(found.error)


@pytest.mark.parametrize("law", [laplace(0, Rational(1, 2)), student(9)])
def test_samples_of_other_token_laws(law: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """E (sum chi^2)^2 = L m_4 + L (L-1) m_2^2."""
    monkeypatch.setattr("symslr.referee.definitions.by_exponentials", lambda *arguments: None)
    second, fourth = (
        (Rational(1, 2), Rational(3, 2)) if law == laplace(0, Rational(1, 2)) else (Rational(9, 7), Rational(243, 35))
    )
    found = referee(moment(SequenceLaw(1, L, law)), {"L": 5}, digits=13, work=SECOND)
    assert found.kind is Kind.STATISTICAL
    assert abs(float(found.value) - float(5 * fourth + 20 * second**2)) <= 6 * float(found.error)


def test_a_tilt_is_sampled_where_the_weight_is() -> None:
    """A shift by sqrt(40), of which plain samples would see one in 10^9."""
    turned = ScoredActivation.of(epsilon, softmax, chi[m] + z[m] / 10**3)
    found = referee(SequenceExpectation(chi[epsilon] ** 2 + 0 * turned + z[epsilon] * turned / 10**9, spiked),
                    {"L": 5, "nu": 40}, digits=13, work=4 * SECOND)  # fmt: skip
    assert abs(float(found.value) - 41) <= 6 * float(found.error) + 1e-6
    assert float(found.error) < 0.01


i = Symbol("i", integer=True, positive=True)


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (Sum(chi[l] ** 2, (l, 1, L)) * chi[epsilon], True),
        (Posterior(epsilon, spiked) * chi[j], True),
        (Sum(KroneckerDelta(l, epsilon) * chi[l], (l, 1, L)), True),
        (Sum(i, (i, 1, 5)) * chi[epsilon], True),
        (Sum(chi[l] ** 2, (l, 2, L)), False),
        (Sum(l * chi[l] ** 2, (l, 1, L)), False),
        (chi[1] * chi[epsilon], False),
        (epsilon * chi[epsilon], False),
    ],
)
def test_symmetry(body: Expr, verdict: bool) -> None:
    assert symmetric(SequenceExpectation(body, spiked)) is verdict


@pytest.mark.parametrize("length", [3, 6])
def test_every_position_counts_where_tokens_differ(length: int) -> None:
    """E_g sum_{l >= 2} chi_l^2 = (L - 1)(1 + nu/L)."""
    later = SequenceExpectation(Sum(chi[l] ** 2, (l, 2, L)), spiked)
    found = referee(later, {"L": length, "nu": 2}, digits=13, work=SECOND)
    expected = (length - 1) * (1 + 2 / length)
    assert abs(float(found.value) - expected) <= 6 * float(found.error) + 1e-10


def test_a_named_token_beside_an_uneven_sum_is_refused() -> None:
    with pytest.raises(CannotReferee, match="not symmetric"):
        referee(SequenceExpectation(chi[j] * Sum(l * chi[l], (l, 1, L)), spiked), {"L": 3, "nu": 1}, digits=13)
