"""What the referee keeps of an integral answers no other question, and answers its own as the first time."""

import gc
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from sympy import Expr, Product, Rational, S, Symbol, erf, exp

from symslr.expression.configuration import ConfigurationExpectation, ConfigurationMean, PosteriorMean, exactly
from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.model.catalogue import SpikedSLR
from symslr.model.configuration import ONE, ConfigurationLaw, ConfigurationPrior, Signal, r, theta
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, chi, epsilon, l, x
from symslr.referee.arithmetic import Floats
from symslr.referee.axes import Fineness
from symslr.referee.interpreter import Interpreter
from symslr.referee.plans import Quadrature
from symslr.referee.referee import measured, referee
from symslr.referee.scope import Frame, Scope
from symslr.referee.work import METER, Memory

u, w = Symbol("u", real=True), Symbol("w", real=True)
GROWING = ScalarExpectation(exp(u * x), x, STANDARD_NORMAL)
SPIKED = SpikedSLR().law
BOUNDED = ScalarExpectation(1 / (1 + exp(u * x)) ** 3, x, STANDARD_NORMAL)


@pytest.mark.parametrize("digits", [13, 25])
def test_other_numbers(digits: int) -> None:
    for value in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 2)):
        found = referee(GROWING, {"u": value}, digits)
        with mp.workdps(40):
            assert abs(found.value - mp.exp(mpf(value.numerator) ** 2 / value.denominator**2 / 2)) <= found.error


def test_other_lengths() -> None:
    square = SequenceExpectation(chi[epsilon] ** 2 + L, SPIKED)
    for length in (2, 3, 2):
        found = referee(square, {"L": length, "nu": Fraction(3, 7)}, 13)
        assert abs(found.value - mpf(3) / 7 - 1 - length) <= found.error + mpf(10) ** -12


def test_other_laws_of_the_length() -> None:
    law = Symbol("P_L")
    mean = ScalarExpectation(LengthExpectation(x**2 * L, law), x, STANDARD_NORMAL)
    for likely in (Rational(1, 3), Rational(3, 4)):
        found = referee(mean, {"P_L": LengthLaw({2: likely, 4: 1 - likely})}, 13)
        assert abs(found.value - mpf(4) + 2 * mpf(int(likely.p)) / int(likely.q)) <= mpf(10) ** -12


def test_more_digits_are_summed_anew() -> None:
    values = {"u": Fraction(7, 5)}
    few, many = (referee(BOUNDED, values, digits) for digits in (13, 30))
    assert many.error < mpf(10) ** -28 < few.error
    assert abs(few.value - many.value) <= few.error
    Memory.forget_all()
    alone = referee(BOUNDED, values, 30)
    assert (alone.value, alone.error) == (many.value, many.error)


@pytest.mark.parametrize(
    ("expr", "values", "digits"),
    [
        (BOUNDED, {"u": Fraction(7, 5)}, 13),
        (BOUNDED, {"u": Fraction(7, 5)}, 22),
        (SequenceExpectation(1 / (1 + exp(chi[epsilon])) - 1 / (1 + exp(u * chi[epsilon])), SPIKED),
         {"L": 2, "nu": Fraction(1, 2), "u": Fraction(9, 8)}, 13),
        (ScalarExpectation(erf(x) ** 2 * exp(u * x) * exp(-500), x, STANDARD_NORMAL), {"u": 40}, 13),
    ],
)  # fmt: skip
def test_asked_again_it_says_the_same(expr: Expr, values: dict[str, object], digits: int) -> None:
    """Value, error, how it was made, the scale beside which a mean of 0 is seen, and the work that it is charged."""
    told = []
    for _ in range(2):
        before = METER.done
        found, scale = measured(expr, values, digits)
        told.append((found.value, found.error, found.method, scale, METER.done - before))
    assert found.digits >= 11
    assert told[0] == told[1]


def test_the_passes_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is what two grids differ by: a pass that took the other's number would claim none."""
    asked = []
    plain = Quadrature.integrate
    monkeypatch.setattr(Quadrature, "integrate", lambda *told: asked.append(told[0].shifted) or plain(*told))
    rough = ScalarExpectation(1 / (1 + 400 * (x - u) ** 2), x, STANDARD_NORMAL)
    referee(rough, {"u": Fraction(1, 7)}, 13)
    assert set(asked) == {False, True}


def test_lines_that_share_a_mean_sum_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    plain = Quadrature.integrate
    monkeypatch.setattr(Quadrature, "integrate", lambda *told: asked.append(told) or plain(*told))
    values = {"u": Fraction(7, 5)}
    one = referee(BOUNDED, values, 22)
    before = len(asked)
    other = referee(3 * BOUNDED + u, values, 22)
    assert before > 0
    assert len(asked) == before
    with mp.workdps(40):
        assert abs(other.value - 3 * one.value - mpf(7) / 5) <= other.error + 3 * one.error


@pytest.mark.parametrize("planning", [True, False])
def test_it_leaves_behind_what_it_left_the_first_time(planning: bool) -> None:
    """Sizes, work, routes and plans; and that SciPy's erf is one of float64, which rounds long doubles coarsely."""
    node = ScalarExpectation(erf(x) ** 2, x, STANDARD_NORMAL)
    left = []
    for _ in range(2):
        floats = Floats(np.longdouble)
        forecast = Fineness(floats, 1.5, 1.0, True)
        quadrature = Quadrature(floats, 13, {}, planning=planning, forecast=forecast)
        Interpreter(floats, quadrature, {}).value(node, Scope(Frame({}), {}))
        assert quadrature.done > 0
        assert quadrature.plans
        own = {"began", "arithmetic", "forecast", "absolute"}
        left.append((floats.coarseness, {k: v for k, v in vars(quadrature).items() if k not in own}))
    assert left[0] == left[1]
    assert left[0][0] == 1.0


def test_what_is_bound_around_it_counts() -> None:
    node = ScalarExpectation(exp(u * x) + w, x, STANDARD_NORMAL)
    floats, found = Floats(np.float64), []
    for outside in (Fraction(1, 2), Fraction(3, 2)):
        scope = Scope(Frame({w: Fraction(2)}, Frame({u: outside})), {})
        found.append(float(Interpreter(floats, Quadrature(floats, 13, {}, planning=True), {}).value(node, scope)))
    assert found == pytest.approx([2 + np.exp(1 / 8), 2 + np.exp(9 / 8)], rel=1e-12)


def test_two_priors_in_one_formula() -> None:
    fair = ConfigurationPrior(S.One, Signal((theta,), [((S(7),), S.One)]), L)
    likely = ConfigurationPrior(Product(3 ** r[l], (l, 1, L)), ONE, L)
    found = referee(ConfigurationMean(theta * r[1], fair) + ConfigurationMean(theta * r[1], likely), {"L": 3}, 13)
    assert abs(found.value - mpf(7) / 2 - mpf(3) / 4) <= mpf(10) ** -14


def test_arrays_are_let_go_without_a_collector_of_garbage() -> None:
    """Regression: a frame stood in the memo of the one around it; one chain of a law of location left 7 GB behind."""
    prior = ConfigurationPrior(exactly(1, L), ONE, L)
    law = ConfigurationLaw(prior, Product(exp(chi[l] * r[l] - r[l] / 2), (l, 1, L)))
    mean = ConfigurationExpectation(PosteriorMean(r[1], law) ** 2, law)

    def frames() -> int:
        return sum(type(item) is Frame for item in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = frames()
        measured(mean, {"L": 2}, 13)
        assert frames() == before
    finally:
        gc.enable()
