"""What the referee remembers answers no other question, answers its own as the first time, and is let go."""

import gc
from fractions import Fraction

import pytest
from mpmath import mpf
from sympy import Expr, Product, S, Symbol, erf, exp

from symslr.expression.configuration import ConfigurationExpectation, ConfigurationMean, PosteriorMean, exactly
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.catalogue import SpikedSLR
from symslr.model.configuration import ONE, ConfigurationLaw, ConfigurationPrior, Signal, r, theta
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, chi, epsilon, l, x
from symslr.referee.plans import Quadrature
from symslr.referee.referee import measured, referee
from symslr.referee.scope import Frame
from symslr.referee.work import METER

u = Symbol("u", real=True)
SPIKED = SpikedSLR().law
BOUNDED = ScalarExpectation(1 / (1 + exp(u * x)) ** 3, x, STANDARD_NORMAL)


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
