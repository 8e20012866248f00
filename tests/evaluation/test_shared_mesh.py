"""The shared mesh: grids of parameters in one call, single points, and the errors that both claim."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf
from scipy.special import expit
from sympy import Rational, exp, sqrt

from symslr import MaxSLR, SpikedSLR, Task, erf, evaluate, softmax, softmax1
from symslr.evaluation.engine import float_scope
from symslr.evaluation.exponential_kernel.points import log_survival, saddle
from symslr.evaluation.minima.function import Function
from symslr.evaluation.nodes.node import Context
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.balls import centre
from symslr.evaluation.plan import plan
from symslr.evaluation.quadrature.convergence import alternating_error
from symslr.model import symbols
from symslr.model.symbols import a, c, chi, epsilon
from symslr.theory import bayes_risk, population_risk

SPIKED, MAX = SpikedSLR(noise=0), MaxSLR(noise=0)
NU = np.array([0.0, 0.01, 0.3, 2.0, 2.1, 7.0, 20.0, 60.5, 150.0, 399.0])
GRIDS = {
    "spiked Bayes, L=3": (bayes_risk(SPIKED), {"L": 3, "nu": NU}),
    "spiked Bayes, many lengths": (
        bayes_risk(SPIKED),
        {"L": np.array([1, 2, 3, 12, 10**3, 10**6] * 2), "nu": np.array([1.5, 90] * 6)},
    ),
    "spiked softmax, its scale moves": (
        population_risk(SPIKED, softmax),
        {"L": 10, "nu": NU[2:], "a": 0.9 * np.sqrt(NU[2:])},
    ),
    "spiked softmax-1, scales of both signs": (
        population_risk(SPIKED, softmax1),
        {"L": 4, "nu": 3, "a": np.array([-1.2, -0.1, 0.4, 1.7, 5.0])},
    ),
    "max Bayes": (bayes_risk(MAX), {"L": 7, "nu": np.array([0.2, 1.0, 5.0, 30.0])}),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_its_points(name: str) -> None:
    """Against the same points one by one, and every third against Arb; worst |difference| / claims seen 0.35."""
    expr, values = GRIDS[name]
    grid = evaluate(expr, values, backend="numpy")
    shape = grid.value.shape
    for i in range(shape[0]):
        point = {k: Fraction(str(v[i])) if isinstance(v, np.ndarray) else v for k, v in values.items()}
        alone = evaluate(expr, point, backend="numpy")
        assert abs(float(alone.value) - grid.value[i]) <= float(alone.error) + grid.error[i]
        # a decimal is another number than its float64 neighbour, by one rounding, which the claim holds too
        if i % 3 == 0:
            exact = evaluate(expr, point, digits=18, backend="arb")
            assert abs(exact.value - mpf(grid.value[i])) <= grid.error[i] + exact.error


def test_points_of_unlike_rates_share_a_table_at_few_digits() -> None:
    expr, scales = population_risk(MAX, softmax1), np.array([-9.0, -0.7, 0.04, 0.0, 0.2, 1.1, 2.3, 5.0, 16.0])
    rough, fine = (evaluate(expr, {"L": 3, "nu": 2, "a": scales}, digits=n, backend="numpy") for n in (3, 10))
    assert np.all(np.abs(rough.value - fine.value) <= rough.error + fine.error)


def test_a_scan_is_the_values_at_its_places() -> None:
    """Together as one by one, where a form has a shared mesh, where it has none, and where a value vanishes."""
    for expr, moving in (
        (population_risk(SPIKED, softmax1), (a,)),
        (population_risk(MAX, erf), (a, c)),
        (population_risk(SPIKED, erf), (a, c)),
    ):
        scope = float_scope({symbols.nu: Rational(2), symbols.L: Rational(3)})
        rough = Function(plan(expr), moving, Context(FLOAT, 1e-4, enough=1e-10), scope)
        places = list(itertools.product([-8.0, -0.2, 0.0, 0.7, 3.0], repeat=len(moving)))
        with np.errstate(all="ignore"):
            found = rough.pairs(places)
            fine = rough.in_float(1e-9).pairs(places)
        assert np.all(
            np.abs(found[:, 0] - fine[:, 0])[np.isfinite(fine[:, 0])] <= (found + fine)[np.isfinite(fine[:, 0]), 1]
        )


def test_the_order_of_a_grid_does_not_matter() -> None:
    expr = bayes_risk(SPIKED)
    nu = np.linspace(0.05, 90, 150)
    shuffled = np.random.default_rng(3).permutation(nu)
    values = {v: e for v, e in zip(nu, evaluate(expr, {"L": 5, "nu": nu}).value)}
    assert evaluate(expr, {"L": 5, "nu": shuffled}).value == pytest.approx([values[v] for v in shuffled], rel=1e-12)


def test_a_number_does_not_depend_on_those_before_it() -> None:
    expr = bayes_risk(SPIKED)
    first = evaluate(expr, {"L": 11, "nu": Fraction("3.141")}, backend="numpy")
    for nu in ("3.1413", "3.1409", "3.14"):
        evaluate(expr, {"L": 11, "nu": Fraction(nu)}, backend="numpy")
    again = evaluate(expr, {"L": 11, "nu": Fraction("3.141")}, backend="numpy")
    assert (first.value, first.error) == (again.value, again.error)


@pytest.mark.parametrize("nu", [30, 51, 120])
def test_tokens_far_from_the_centre_of_their_weight(nu: int) -> None:
    """Max-SLR of two tokens: one moment, whose tokens lie nu standard deviations below its centre."""
    expr = bayes_risk(MaxSLR(noise=0, length=2))
    value = evaluate(expr, {"nu": nu}, backend="numpy")
    exact = evaluate(expr, {"nu": nu}, digits=25, backend="arb")
    assert abs(value.value - exact.value) <= value.error + exact.error
    assert value.error < 1e-10 * value.value


def test_saddle_points_tell_where_a_moment_lives() -> None:
    """Against sums on a fine mesh: log M within 0.45, the mean token within its spread, for s from 0.1 to 15."""
    x = np.linspace(-14, 30, 200_001)
    for s in (0.1, 1.0, 4.0, 15.0):
        for t in np.linspace(-8 * s - 3, 6 * s + 3, 9):
            log_terms = -((x - 2.0) ** 2) / 2 - np.exp(t + s * x)
            top = log_terms.max()
            terms = np.exp(log_terms - top)
            exact = top + np.log(terms.sum() * (x[1] - x[0]) / np.sqrt(2 * np.pi))
            log, token = saddle(t, s, -0.5, 2.0, 0.0)
            assert log == pytest.approx(exact, abs=0.45)
            mean = (terms * x).sum() / terms.sum()
            spread = np.sqrt((terms * (x - mean) ** 2).sum() / terms.sum())
            assert abs(token - mean) < 1.0 * spread + 1e-9
            lost = -np.expm1(-np.exp(t + s * x)) * np.exp(-((x - 2.0) ** 2) / 2)
            missing = lost.sum() * (x[1] - x[0]) / np.sqrt(2 * np.pi)
            if missing < 0.4:
                assert -np.expm1(log_survival(t, s, -0.5, 2.0)) == pytest.approx(missing, rel=0.6)


@pytest.mark.parametrize(
    ("length", "nu", "scale"),
    [
        (853, "1.35476", "0.6866"),  # sigma_eps near 0
        (439639, "265", "0.107"),
        (79, "224.77", "0.3133"),  # between the two forms of the variance
        (5, "282", "38.9"),  # risk 5e-32
    ],
)
def test_softmax_off_its_optimum_keeps_eleven_digits(length: int, nu: str, scale: str) -> None:
    """True errors up to 8e-13 seen at 300 random points with nu up to 400 and L up to 10^6, claims up to 6e-12."""
    expr = population_risk(SPIKED, softmax)
    values = {"L": length, "nu": Fraction(nu), "a": Fraction(scale)}
    value = evaluate(expr, values, backend="numpy")
    exact = evaluate(expr, values, digits=20, backend="arb")
    assert abs(value.value - exact.value) <= value.error + exact.error
    assert value.error < 1e-11 * value.value


def test_points_of_a_neighbourhood_share_a_table_and_not_a_value() -> None:
    """Points at both ends of neighbourhoods and within, in another order the second time; against Arb."""
    expr = bayes_risk(SPIKED)
    points = [(length, nu) for length in (2, 3, 700, 10**6) for nu in (Fraction("21.99"), Fraction("22.01"), 23, 400)]
    first = {point: evaluate(expr, dict(zip(("L", "nu"), point)), backend="numpy") for point in points}
    for point in reversed(points):
        again = evaluate(expr, dict(zip(("L", "nu"), point)), backend="numpy")
        exact = evaluate(expr, dict(zip(("L", "nu"), point)), digits=18, backend="arb")
        assert (again.value, again.error) == (first[point].value, first[point].error)
        assert abs(again.value - exact.value) <= again.error + exact.error
        assert again.error < 1e-12 * again.value


@pytest.mark.parametrize("nu", [2900, 5000])
def test_what_underflows_is_no_exact_zero(nu: int) -> None:
    """Regression: the Bayes risk at nu = 5000, 1.9e-544, came out as 0 with no error."""
    expr, values = bayes_risk(SPIKED), {"L": 12, "nu": nu}
    in_float, exact = evaluate(expr, values, backend="numpy"), evaluate(expr, values)
    assert 0 < exact.value < 1e-300
    assert abs(in_float.value - exact.value) <= in_float.error + exact.error
    assert exact.digits >= 10


@pytest.mark.parametrize("phase", [0.0, (np.pi / 2 - 0.5) / 4, 1.1, 2.3])
@pytest.mark.parametrize("slope", [1.2, 2.0, 3.5])
def test_what_is_claimed_of_a_strip_holds_at_any_phase(phase: float, slope: float) -> None:
    """At some phases of an error e^(-c n) cos(n k pi/4 + phase) twice the step is right by chance, and one step is not."""
    waves = [[np.cos(n * k * np.pi / 4 + n * phase + 0.5) * np.exp(-slope * n) for k in range(8)] for n in range(1, 9)]
    rules = [1.0 + 2.0 * sum(wave[k] for wave in waves) for k in range(8)]
    off = 2.0 * np.exp(-8.0 * slope)
    assert alternating_error(rules, 1.0) >= 0.2 * off
    assert alternating_error(rules, 1.0) <= 1e3 * off**0.5


def test_one_rule_may_miss_the_error_that_all_together_do_not() -> None:
    """An error cos(phase) at four times the step and at 8/3 of it, met where its cosine is 0 by the rules nested in the finest."""
    rules = [1.0 + 1e-4 * np.cos(0.5 * np.pi * (1 + k)) + 1e-6 * np.cos(0.75 * np.pi * k) for k in range(8)]
    assert sum(rules[::2]) / 4 == pytest.approx(1.0, abs=1e-15)
    assert alternating_error(rules, 1.0) == pytest.approx(1e-16, rel=1e-6, abs=0)


def test_mpmath_claims_no_power_of_its_last_difference() -> None:
    """Regression: beyond its Gaussian core the outer integrand's spectrum has a slow tail; 4.6e-60 came out as 4.6e-66.

    For the spiked Bayes risk at L = 19435, nu = 367.41 the rules with four steps, two steps and one err by these.
    """
    with ctx.workprec(200), mp.workprec(200):
        at_four, at_two, at_one = arb("1.3e-5"), arb("2.5e-19"), arb("4e-23")
        four = [1 + at_four + at_two + at_one, 1 - at_two + at_one, 1 - at_four + at_two + at_one, 1 - at_two + at_one]
        claimed = alternating_error([centre(rule) for rule in 2 * four], mpf(1), smooth=False)
        assert 2.4e-19 < claimed < 2.6e-19
        met_a_zero = [1 + at_four, arb(1), 1 - at_four, arb(1)]  # two steps and one agree by chance
        assert alternating_error([centre(rule) for rule in 2 * met_a_zero], mpf(1), smooth=False) > 1e-20


@pytest.mark.parametrize("scale", [3.8, 10.0])
@pytest.mark.parametrize("digits", [3, 6, 9, 12])
def test_weights_far_apart_leave_no_tokens_out(scale: float, digits: int) -> None:
    """Regression: tokens of the smaller part lay beyond the window, and what short steps leave out there was taken for one step.

    At scale 3.8 the error was 2e-7 where digits were few, and 7e-6 of the risk were missing.
    """
    nu, parts = Rational(547, 50), ((Rational(1, 3), Rational(1, 2)), (Rational(2, 3), 2))
    weight = sum(share * exp(sqrt(nu) * theta * chi[epsilon] - nu * theta**2 / 2) for share, theta in parts)
    difference, step = np.linspace(-30, 30, 600_001, retstep=True)
    density = step * np.exp(-(difference**2) / 4) / np.sqrt(4 * np.pi)
    seen = [(float(share), scale * (float(sqrt(nu) * theta) + difference)) for share, theta in parts]
    own = sum(share * density @ expit(z) for share, z in seen)
    both = sum(share * density @ (2 * expit(z) * expit(-z)) for share, z in seen)
    risk = population_risk(Task(weight, length=2, noise=0), softmax)
    found = evaluate(risk, {"a": Rational(str(scale))}, digits=digits, backend="numpy")
    assert abs(float(found) - (1 - own**2 / (1 - both))) <= float(found.error) + 1e-14


@pytest.mark.parametrize(("length", "nu"), [(100, 200), (100, 1000), (1000, 700)])
def test_tokens_met_in_one_phase_are_confirmed_by_other_steps(length: int, nu: int) -> None:
    """Regression: to 8 digits these were off by 8 to 14 of their errors: twice the step was right by chance at each node of u."""
    values = {"L": length, "nu": nu, "Delta": 0}
    exact = evaluate(bayes_risk(MaxSLR()), values, digits=11, backend="numpy")
    for digits in range(6, 11):
        found = evaluate(bayes_risk(MaxSLR()), values, digits=digits, backend="numpy")
        assert abs(found.value - exact.value) <= found.error + exact.error
