"""Routes of the referee against closed forms: minima, the largest token, sums under any law of a token, posteriors."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from sympy import Derivative, Expr, Integer, Rational, S, Sum, Symbol, exp, log, sin, sqrt

from symslr.check.monte_carlo import simulate_expectation
from symslr.check.points import Point, admits
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Minimum, Posterior
from symslr.expression.special import NormalCdf
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, laplace, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, j, l, x
from symslr.model.task import Task
from symslr.referee.referee import referee
from symslr.theory.population import minimal_risk

u = Symbol("u", real=True)
one_on_top = SequenceLaw(L * IsLargest.of(epsilon, L), L)
unweighted = SequenceLaw(S.One, L)

# expression, values, closed form, digits
KNOWN = {
    "a parabola far below the values around it": (
        Minimum(10**6 * (a - Rational(1, 3000)) ** 2 + Rational(1, 7), a),
        {},
        1 / mpf(7),
        14,
    ),
    "a minimum at full precision": (Minimum(exp(a) - 2 * a, a), {}, None, 28),
    "a minimum beyond 18": (Minimum(sqrt(1 + (a - 100) ** 2), a), {}, mpf(1), 12),
    "a derivative beside a large constant": (Derivative(10**9 + sin(u), u), {"u": Fraction(1, 2)}, None, 11),
    "a lower tail": (NormalCdf(u - 9), {"u": 0}, None, 25),
    "an overflow far out": (
        ScalarExpectation(log(ScalarExpectation(exp(3 * u * x), u, STANDARD_NORMAL)), x, STANDARD_NORMAL),
        {},
        mpf("4.5"),
        12,
    ),
    "the largest of three": (SequenceExpectation(chi[epsilon], one_on_top), {"L": 3}, None, 12),
    "another than the largest": (SequenceExpectation(chi[j], one_on_top), {"L": 3}, None, 12),
    "how often a token is the largest": (
        SequenceExpectation(IsLargest.of(epsilon, L), unweighted),
        {"L": 6},
        mpf(1) / 6,
        12,
    ),
    "the largest is known": (SequenceExpectation(Posterior(epsilon, one_on_top), one_on_top), {"L": 5}, mpf(1), 12),
}
with mp.workdps(40):
    CLOSED = {
        "a minimum at full precision": 2 - 2 * mp.log(2),
        "a derivative beside a large constant": mp.cos(0.5),
        "a lower tail": mp.erfc(9 / mp.sqrt(2)) / 2,
        "the largest of three": 3 / (2 * mp.sqrt(mp.pi)),
        "another than the largest": -3 / (4 * mp.sqrt(mp.pi)),
    }


@pytest.mark.parametrize("name", KNOWN)
def test_numbers_known_otherwise(name: str) -> None:
    expr, values, wanted, digits = KNOWN[name]
    wanted = CLOSED[name] if wanted is None else wanted
    found = referee(expr, values, digits=30)
    with mp.workdps(40):
        assert found.digits >= digits, found
        assert abs(mpf(found.value) - wanted) <= max(4 * found.error, mpf(10) ** -(digits + 1) * abs(wanted)), found


def bayes(law: SequenceLaw) -> Expr:
    return SequenceExpectation(1 - Posterior(epsilon, law), law)


@pytest.mark.parametrize("length", [2, 4])
@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR()], ids=["spiked", "max"])
def test_the_least_risk_of_linear_attention_has_full_digits(task: Task, length: int) -> None:
    strength = 463 if task.name == "spiked" else 36
    values = {"L": length, "nu": strength, "Delta": Fraction(1, 3)}
    found = referee(minimal_risk(task, linear), values, digits=13)
    if task.name == "spiked":
        wanted = mpf(1) / 9 + mpf(length * (length - 1)) / (length**2 + strength * (length - 1))
    else:  # by Stein's lemma, mu is nu times the Bayes risk without noise
        mu = strength * mpf(referee(bayes(task.law), values, digits=13).value)
        wanted = mpf(1) / 9 + 1 - (1 + mu**2) / length
    assert found.digits >= 9
    assert abs(found.value - wanted) <= mpf("1e-9") * wanted


def test_posteriors_at_strong_signal_keep_steins_identity() -> None:
    law, values = MaxSLR().law, {"L": 4, "nu": Fraction(361, 10)}
    mean = referee(SequenceExpectation(chi[epsilon], law), values, digits=13)
    error = referee(bayes(law), values, digits=13)
    assert "by exponentials" in error.method
    assert abs(mean.value - mpf("36.1") * error.value) <= mpf("1e-11")


@pytest.mark.parametrize(
    "task", [Task.from_token_laws(student(3, 2), student(3)), Task.from_token_laws(laplace(1), laplace())]
)
def test_sums_under_heavy_tails_and_kinks_keep_nishimoris_identity(task: Task) -> None:
    values = {"L": 5}
    own = referee(SequenceExpectation(Posterior(epsilon, task.law), task.law), values, digits=13)
    squares = referee(SequenceExpectation(Sum(Posterior(l, task.law) ** 2, (l, 1, L)), task.law), values, digits=13)
    assert "by exponentials" in own.method
    assert abs(own.value - squares.value) <= mpf("1e-9")


def test_the_largest_token_is_simulated() -> None:
    """Half of the mean of the largest of two, 1/sqrt(pi)."""
    node = SequenceExpectation(chi[epsilon] * IsLargest.of(epsilon, L), unweighted)
    found = simulate_expectation(node, {"L": 2}, 100_000, 5)
    assert abs(found.mean - 0.28209479) <= 5 * found.error


def test_a_relation_with_roots_of_long_fractions_is_decided() -> None:
    n, b = Symbol("n", positive=True), Symbol("b", positive=True)
    values = {"n": Fraction(918273645546372819, 1234567898765), "b": Fraction(987654321987, 123456789123457)}
    assert admits(n**b > 1, [n, b], Point("", values, 13))
    assert not admits(n**b < 1, [n, b], Point("", values, 13))


def test_a_factor_that_grows_faster_than_the_density_falls_is_not_taken_out_of_the_sum() -> None:
    """sum_l sigma_l^2 on Laplace tokens: e^{1.4 x} has no mean there, and the sum in the denominator tames it."""
    law = SequenceLaw(Integer(1), Integer(3), laplace())
    body = Sum(Activation.of(l, softmax, Rational(7, 10), Integer(3)) ** 2, (l, 1, 3))
    found = referee(SequenceExpectation(body, law), {}, 6)
    # by two tokens against the third: E 3 e^{1.4 x}/(sum)^2 on a product of Gauss-Laguerre rules on either side of 0
    nodes, weights = np.polynomial.laguerre.laggauss(60)
    x, w = np.concatenate([-nodes, nodes]), np.concatenate([weights, weights]) / 2
    own = np.exp(0.7 * x)
    total = own[:, None, None] + own[None, :, None] + own[None, None, :]
    shares = (3 * own[:, None, None] ** 2 / total**2) * w[:, None, None] * w[None, :, None] * w[None, None, :]
    assert abs(float(found.value) - float(shares.sum())) < 1e-6
