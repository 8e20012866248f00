"""A mean inside an integrand, and the same question twice: the number is right within its error, or there is none."""

import pytest
from mpmath import exp as mexp
from mpmath import mp, mpf
from sympy import Integral, Rational, Symbol, exp, oo, pi, sqrt

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.symbols import chi, epsilon, nu
from symslr.referee.arithmetic import CannotReferee
from symslr.referee.one_token import Exponents
from symslr.referee.referee import referee
from symslr.referee.work import Memory

law = SpikedSLR().law
mean, square = SequenceExpectation(chi[epsilon], law), SequenceExpectation(chi[epsilon] ** 2, law)
s, t, u = (Symbol(name, positive=True) for name in "stu")
w = Symbol("w", real=True)
hit = SequenceExpectation(Activation.of(epsilon, softmax, 1), law)


def test_a_mean_is_read_as_finely_inside_of_an_integral_as_outside() -> None:
    """Regression: the draft of the mean, read while the grid of the integral was laid, stood for it: 1.23933e-5 +- 1.3e-11."""
    double = Integral(Integral(u * exp(-u * square), (u, 0, 1)), (t, 0, 1))
    found = referee(double, {"L": 2, "nu": 283})
    m = mpf(284)
    with mp.workdps(40):
        assert abs(found.value - (1 - (1 + m) * mexp(-m)) / m**2) <= found.error < mpf("1e-20")


PEAK = Integral(nu * exp(-(nu**2) * (w - s) ** 2 / 2) / sqrt(2 * pi), (w, -oo, oo))


@pytest.mark.parametrize("place", [116, 1160, 10**6, 10**9])
def test_a_question_has_one_answer_however_often_it_is_asked(place: int) -> None:
    """Regression: a far peak that floats did not see counted as 0 from the second time on, and 1.456 stood for 2.456."""
    root = sqrt(Rational(212, 100))
    for start, right in ((PEAK + mean, 1 + root), (mean - PEAK, root - 1), (PEAK * mean, root)):
        for _ in range(2):
            try:
                found = referee(start, {"L": 2, "s": place, "nu": Rational(212, 100)})
            except CannotReferee:
                assert place > 10**3
                continue
            with mp.workdps(40):
                assert abs(found.value - mpf(right.evalf(40))) <= found.error


def test_a_mean_that_floats_do_not_see_is_not_0_inside_of_an_integral() -> None:
    """Regression: with 0 in the exponent the integral of 1/(1 + u) was called divergent."""
    with pytest.raises(CannotReferee) as refusal:
        referee(Integral(exp(-u * square) / (1 + u), (u, 0, oo)), {"L": 2, "nu": 165067})
    assert "diverges" not in str(refusal.value)


NESTS = {
    "an exponential of it": Integral(exp(40 * u * hit), (u, 0, 1)),
    "a power of it, small beside it": Integral(u * hit**7, (u, 0, 1)),
    "under a mean": SequenceExpectation(exp(30 * hit) * chi[epsilon] ** 2, law),
}


@pytest.mark.parametrize("name", NESTS)
def test_the_error_of_a_mean_goes_through_what_is_around_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of 1e-11 that no two passes show, which the nest makes larger or smaller."""
    at = {"L": 5, "nu": 1}
    right = referee(NESTS[name], at, digits=13)
    weights = Exponents.weights
    monkeypatch.setattr(Exponents, "weights", lambda self, power: weights(self, power) * (1 + 1e-11 * (power > 0)))
    Memory.forget_all()
    wrong = referee(NESTS[name], at, digits=13)
    Memory.forget_all()
    assert abs(wrong.value - right.value) <= wrong.error < 1e-6 * abs(right.value)
