"""One-pass descent with any loss: its chains at losses for which the means are known."""

from fractions import Fraction

import pytest
from sympy import Limit

from symslr.expression.instance import FIELDS, instance
from symslr.model.symbols import x
from symslr.referee.referee import referee
from symslr.theory.online import LENGTH, OVERLAP, D, OnlineStep, descent_chain, slope

s = FIELDS[1]
M, Q, GAMMA, RIDGE = 0.3, 0.8, 0.7, 0.4
AT = {"M": Fraction(3, 10), "Q": Fraction(4, 5), "gamma": Fraction(7, 10), "lambda": Fraction(2, 5)}


def number(expr, **functions):
    return float(referee(instance(expr, functions), AT, 13).value)


def test_the_square_of_a_linear_student():
    """d = s - z: E d z = M - 1, E d s = Q - M, E d^2 = Q - 2M + 1."""
    taught, length = (number(descent_chain(overlap).result, d=s - x) for overlap in (OVERLAP, LENGTH))
    assert taught == pytest.approx(1 - M - RIDGE * M, rel=1e-11)
    assert length == pytest.approx(2 * (M - Q) - 2 * RIDGE * Q + GAMMA * (Q - 2 * M + 1), rel=1e-11)


def test_a_step_in_many_dimensions_changes_the_overlaps_as_the_limit_says():
    for overlap in (OVERLAP, LENGTH):
        chain = descent_chain(overlap)
        assert chain.start == Limit(OnlineStep(overlap, slope()), D, "oo")
        step = number(OnlineStep(overlap, slope()).definition().subs(D, 10**6), d=s - x)
        assert step == pytest.approx(number(chain.result, d=s - x), rel=1e-5)
