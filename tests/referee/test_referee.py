"""The referee against numbers that are known otherwise, and its claimed errors on their own."""

import flint
import pytest
from mpmath import mp, mpf
from sympy import (
    Derivative,
    Expr,
    Heaviside,
    Integral,
    Limit,
    Max,
    Piecewise,
    Rational,
    S,
    Sum,
    Symbol,
    cos,
    erfc,
    exp,
    gamma,
    log,
    oo,
    pi,
    sqrt,
)

from symslr.evaluation import evaluate
from symslr.expression.at import At
from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum, Posterior
from symslr.expression.special import OwensT
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL, laplace, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, a, chi, epsilon, j, k, l, m, nu, x, xi, z
from symslr.model.task import Task
from symslr.referee.arithmetic import Balls
from symslr.referee.referee import CannotReferee, referee
from symslr.theory.population import minimal_risk, population_risk

u = Symbol("u", positive=True)
spiked, maximum = SpikedSLR().law, MaxSLR().law
label = z[epsilon] + Delta * xi
w = exp(nu + sqrt(nu) * x)


def scalar(body: Expr) -> Expr:
    return ScalarExpectation(body, x, STANDARD_NORMAL)


def bayes(law: object) -> Expr:
    return 1 - SequenceExpectation(Posterior(epsilon, law), law)


laplace_form = 1 - Integral(scalar(w * exp(-u * w)) * scalar(exp(-u * exp(sqrt(nu) * x))) ** (L - 1), (u, 0, oo))

# name, expression, values, number by closed form or by THEORY's reference table, digits that must be reached
KNOWN = [
    ("gaussian exponential", scalar(exp(x)), {}, "1.64872127070012814684865078781416", 30),
    ("relu", scalar(Max(0, x)), {}, "0.398942280401432677939946059934382", 30),
    ("jump", scalar(Heaviside(x - 1) * x), {}, "0.24197072451914334979783019293556065", 28),
    ("kinked density", ScalarExpectation(cos(x), x, laplace()), {}, "0.5", 30),
    ("heavy tails", ScalarExpectation(x**2, x, student(5)), {}, "1.66666666666666666666666666666667", 25),
    ("half line", Integral(u**2 * exp(-u) / gamma(3), (u, 0, oo)), {}, "1", 30),
    ("branch point at an end", Integral(sqrt(1 - u**2), (u, 0, 1)), {}, "0.785398163397448309615660845819876", 28),
    ("spiked, two tokens", bayes(spiked), {"L": 2, "nu": 1}, "0.324943297662434592837598527778", 29),
    ("spiked, stronger", bayes(spiked), {"L": 2, "nu": 5}, "0.0843965125386967278684072653549", 29),
    ("spiked, three tokens", bayes(spiked), {"L": 3, "nu": 2}, "0.352423268884167107072769293457", 12),
    ("Laplace form", laplace_form, {"L": 3, "nu": 2}, "0.352423268884167107072769293457", 29),
    ("Laplace form, 100 tokens", laplace_form, {"L": 100, "nu": 5}, "0.745326342555008759491495297704", 27),
    ("max: posteriors sum to 1", SequenceExpectation(Sum(Posterior(l, maximum), (l, 1, L)), maximum),
     {"L": 2, "nu": 3}, "1", 29),
    ("loss with noise", SequenceExpectation((label - ConditionalMean(label, spiked)) ** 2, spiked),
     {"L": 2, "nu": 1, "Delta": Rational(1, 2)}, "0.574943297662434592837598527778", 13),
    ("four tokens, two others", SequenceExpectation(chi[epsilon] ** 2 * chi[j] ** 2 * chi[k] ** 4, spiked),
     {"L": 4, "nu": 2}, "9", 12),
    ("fourth moment of z", SequenceExpectation(z[epsilon] ** 4 + xi**6, spiked), {"L": 2, "nu": 1}, "18", 29),
    ("random length", LengthExpectation(L**2, Symbol("P_L")),
     {"P_L": LengthLaw({1: Rational(1, 3), 2: Rational(2, 3)})}, "3", 30),
    ("sum by sum", Sum(Sum(k * m, (k, 1, m)), (m, 1, L)), {"L": 4}, "65", 30),
    ("branches", Piecewise((log(nu), nu < 1), (nu, True)), {"nu": 3}, "3", 30),
    ("derivative", Derivative(scalar(exp(a * x)), a), {"a": 1}, "1.64872127070012814684865078781416", 20),
    ("derivative at the end", At.of(Derivative(scalar(exp(sqrt(nu) * x)), nu), {nu: S.Zero}), {}, "0.5", 20),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expr", "values", "number", "digits"), KNOWN, ids=[row[0] for row in KNOWN])
def test_value_and_honest_error(name: str, expr: Expr, values: dict, number: str, digits: int) -> None:
    found = referee(expr, values, digits=30)
    with mp.workdps(40):
        difference = abs(found.value - mpf(number))
        assert difference <= found.error + mpf(10) ** (2 - len(number)) * max(1, mpf(number))
        assert found.error <= mpf(10) ** -digits * max(1, abs(mpf(number)))


def test_minimum_over_the_scale_is_the_bayes_risk() -> None:
    """Proposition 4.2 at L = 2: softmax at its best scale attains the Bayes risk."""
    hit = SequenceExpectation(Activation.of(epsilon, softmax, a), spiked)
    norm = SequenceExpectation(Sum(Activation.of(l, softmax, a) ** 2, (l, 1, L)), spiked)
    found = referee(Minimum(1 - hit**2 / norm, a), {"L": 2, "nu": 1}, digits=13)
    assert abs(found.value - mpf("0.3249432976624346")) < 5e-14  # 6e-15 measured


def test_minimum_of_a_parabola_is_exact() -> None:
    found = referee(Minimum(SequenceExpectation((z[epsilon] - a * z[epsilon] - Delta * xi) ** 2, spiked), a),
                    {"L": 2, "nu": 1, "Delta": Rational(1, 2)}, digits=30)  # fmt: skip
    assert abs(found.value - mpf(1) / 4) < mpf(10) ** -29


def test_minimum_at_the_end_of_its_range() -> None:
    r = Symbol("r", nonnegative=True)
    assert abs(referee(Minimum(1 + r * nu, r), {"nu": 2}).value - 1) < mpf(10) ** -29


def test_minimum_that_does_not_exist_is_refused() -> None:
    with pytest.raises(CannotReferee, match="lies beyond"):
        referee(Minimum(exp(a), a), {})


def test_a_place_without_a_value_is_no_minimum() -> None:
    """Regression: of a risk that is 0/0 at a = 0 the scan took the nan there for the least value, and stayed beside it."""
    body = 1 - (a**2 * (nu + 1) + a * sqrt(nu)) ** 2 / (
        a**4 * (nu**2 + 6 * nu + 6) + a**3 * (2 * sqrt(nu) ** 3 + 6 * sqrt(nu)) + a**2 * (nu + 2)
    )
    for strength in (Rational(1, 3), Rational(71, 70), Rational(3)):
        found = referee(Minimum(body, a), {"nu": strength}, digits=12)
        assert abs(found.value - mpf(float(2 * (2 * strength + 5) / (2 * strength**2 + 9 * strength + 12)))) < 1e-12


def test_a_minimum_of_means_over_three_tokens() -> None:
    """Regression: the place was an array of no axes, which no key of what is remembered can hold."""
    task = SpikedSLR(length=3, noise=0, nu=1)
    found = referee(Minimum(population_risk(task, softplus).formula(), a), {}, digits=10)
    assert abs(found.value - evaluate(minimal_risk(task, softplus)).value) < 1e-11


def test_limit_is_extrapolated_with_an_error_that_holds() -> None:
    found = referee(Limit(nu * (1 - nu / (nu + 3)), nu, oo), {})
    assert abs(found.value - 3) <= found.error < mpf("1e-10")


def test_a_token_that_does_not_exist_only_counts_where_its_factor_does() -> None:
    others = SequenceExpectation(chi[j] ** 2, spiked)
    assert referee((L - 1) * others + 2, {"L": 1, "nu": 1}).value == 2
    with pytest.raises(CannotReferee, match="has no token j"):
        referee(others, {"L": 1, "nu": 1})


def test_element_wise_activation() -> None:
    """E_g[1 + a chi_eps] = 1 + a sqrt(nu)."""
    found = referee(
        SequenceExpectation(Activation.of(epsilon, linear, a), spiked), {"L": 2, "nu": 4, "a": Rational(1, 3)}
    )
    with mp.workdps(40):
        assert abs(found.value - mpf(5) / 3) < mpf(10) ** -29


@pytest.mark.parametrize(
    ("expr", "values", "reason"),
    [
        (nu + 1, {}, "no value for nu"),
        (chi[epsilon], {"epsilon": 1}, "outside of an expectation"),
        (LengthExpectation(L, Symbol("P_L")), {}, "no length law"),
        (Integral(u, (u, 0, oo)), {}, "diverges"),
        (Sum(nu**k, (k, 1, oo)), {"nu": Rational(1, 2)}, "expected finite limits"),
    ],
)  # fmt: skip
def test_refusals_name_the_reason(expr: Expr, values: dict, reason: str) -> None:
    with pytest.raises(CannotReferee, match=reason):
        referee(expr, values, digits=20)


def test_precision_is_left_as_found() -> None:
    before = flint.ctx.prec, mp.prec
    referee(scalar(exp(x)), {}, digits=50)
    assert (flint.ctx.prec, mp.prec) == before


def test_a_definition_with_a_letter_of_its_own_has_a_grid_in_every_pass() -> None:
    found = referee(OwensT(a, nu), {"a": Rational(3, 2), "nu": Rational(5, 7)}, digits=30)
    assert found.digits >= 29
    assert found.method == "definition on explicit grids, balls"


def test_a_factor_that_is_zero_in_one_pass_alone() -> None:
    """The planning pass may meet a product whose first factor is 0 and leave out the integral beside it."""
    tiny = ScalarExpectation(exp(-(nu**2) * x**2), x, STANDARD_NORMAL)
    found = referee(1 + exp(-nu) * tiny, {"nu": 746}, digits=13)
    assert abs(found.value - 1) <= found.error


def test_rounding_follows_the_formula_around_an_integral() -> None:
    """A slip of one part in 10^16 of a mean near 1 is all of what is left of it, and nothing of a product with e^-30."""
    one = ScalarExpectation(exp(a * x - a**2 / 2), x, STANDARD_NORMAL)
    values = {"a": Rational(3, 7), "nu": 30}
    left = referee(10**10 * (one - 1 + exp(-nu)), values, digits=13)
    with mp.workdps(30):
        assert abs(left.value - mpf(10) ** 10 * mp.exp(-30)) <= left.error
    small = referee(exp(-nu) * (5 - 4 * one), values, digits=13)
    with mp.workdps(30):
        assert abs(small.value - mp.exp(-30)) <= small.error <= 1e-13 * small.value


def test_the_method_says_what_was_done() -> None:
    square = SequenceExpectation(Sum(chi[l] ** 2, (l, 1, L)) ** 2, SpikedSLR().law.unweighted())
    assert "by moments" in referee(square, {"L": 7}, digits=13).method
    hit = SequenceExpectation(Activation.of(epsilon, softmax, a), SpikedSLR().law)
    values = {"nu": 2, "a": 1}
    assert referee(hit, {**values, "L": 6}, digits=13).method == "definition by exponentials, float64"
    law = SequenceLaw(Task.from_token_laws(student(3, 2), student(3)).weight, L, student(3))
    posterior = 1 - SequenceExpectation(Posterior(epsilon, law), law)
    assert referee(posterior, {"L": 6}, digits=13).method == "definition by exponentials, float64"
    assert referee(hit, {**values, "L": 2}, digits=13).method == "definition on explicit grids, float64"
    assert referee(nu + a, values, digits=13).method == "definition as a formula, float64"


def test_a_kink_at_an_irrational_place_leaves_the_digits() -> None:
    """Regression: sqrt(2), read in float64 to find the kink, was taken for that of the balls, or for the memory of one."""
    found = referee(scalar(sqrt(2) * Max(0, x - sqrt(2))), {}, digits=28)
    exact = sqrt(2) * (exp(-1) / sqrt(2 * pi) - sqrt(2) * erfc(1) / 2)
    with mp.workdps(45):
        assert abs(found.value - mpf(str(exact.evalf(45)))) <= found.error + mpf(10) ** -43
    assert found.error < 1e-26


def test_a_float_is_no_ball() -> None:
    """python-flint does not look at what an unbound method is given, arb.sqrt(2.0) reads foreign memory."""
    with pytest.raises(AttributeError):
        Balls(100).call("sqrt", 2.0)
