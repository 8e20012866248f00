"""State evolution of a sequence model with any channel, and where it begins to learn."""

from fractions import Fraction

import numpy as np
import pytest
from sympy import Rational, Symbol, exp, log

from symslr.algebra.cite import Cite
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import HeatEquation
from symslr.expression.convolution import GaussianConvolution
from symslr.expression.instance import instance
from symslr.model.symbols import x
from symslr.referee.referee import referee
from symslr.theory.finite_sample_energy import ALPHA
from symslr.theory.sequence import (
    CHANNEL,
    OVERLAP,
    Q_HAT,
    SLOPE,
    curvature_chains,
    evidence,
    force_chain,
    information_chain,
    nishimori_chains,
    overlap_chain,
    prior_at_stationary_point,
    prior_chain,
    score_chain,
    squared_force,
    squared_slope,
    weak_chains,
)

P = 1 / (1 + exp(-5 * x / 3))
R = x + Rational(2, 5)


def number(expr, P=P, R=R, **values):
    return float(referee(instance(expr, {"P": P, "R": R}), values, 13).value)


def test_the_prior_of_the_bayes_optimal_estimator():
    assert prior_chain().result.equals((Q_HAT - log(1 + Q_HAT)) / 2)
    stationary = prior_at_stationary_point()
    assert float(stationary.subs(OVERLAP, 0.3)) == pytest.approx((0.3 + np.log(0.7)) / 2, rel=1e-14)


def test_overlap_and_length_of_the_posterior_mean_are_one_number():
    overlap, length = nishimori_chains()
    assert overlap.result.equals(length.result)
    assert overlap_chain().result.equals(overlap.result)


def test_the_entropy_of_the_evidence_moves_by_half_the_squared_force():
    chain = information_chain()
    assert chain.result == squared_force() / 2
    assert number(chain.start, q=Fraction(3, 7)) == pytest.approx(number(chain.result, q=Fraction(3, 7)), rel=1e-9)
    assert force_chain().result == ALPHA * squared_force()


def test_the_score_is_that_of_a_channel_known_in_closed_form():
    """P = e^z: Z = e^(omega + V/2), so the score is 1, whatever omega and V are."""
    for omega, q in ((Fraction(1, 3), Fraction(1, 2)), (Fraction(-2), Fraction(9, 10))):
        assert number(score_chain().result, P=exp(x), omega=omega, q=q) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_forces_at_small_overlaps_grow_by_the_slope_at_nothing(which):
    """A secant of the squared force, at overlaps where its error is below a thousandth of the slope."""
    squared = (squared_force(), squared_slope())[which]
    step = Fraction(1, 2000)
    near, far = (number(squared, q=step * k) for k in (1, 2))
    assert (far - near) / float(step) == pytest.approx(number(weak_chains()[which].result), rel=2e-3)
    assert [c.name for c in weak_chains()[which].cited] == [curvature_chains()[which].name]


def test_a_channel_of_ones_tells_nothing():
    for chain in weak_chains():
        told = number(chain.result, P=Rational(1), R=Rational(0))
        assert told == pytest.approx(0, abs=1e-12)


def test_a_citation_takes_the_formula_of_the_channel():
    cited = Cite(information_chain(), {CHANNEL: exp(x)}).rewrite(instance(information_chain().start, {"P": exp(x)}))
    assert cited == squared_force(exp(x)) / 2
    with pytest.raises(RuleRefused, match="is negative"):
        Cite(information_chain(), {CHANNEL: -exp(x)})
    with pytest.raises(RuleRefused, match="expected a parameter"):
        Cite(information_chain(), {CHANNEL.func(Symbol("t")): exp(x)})


def test_the_channel_is_nonnegative_and_its_slope_is_not():
    assert CHANNEL.is_nonnegative
    assert SLOPE.is_nonnegative is None
    assert evidence().is_positive
    assert evidence().differentiated(1).is_positive is None
    assert HeatEquation().rewrite(evidence()) == evidence()
    assert isinstance(evidence(), GaussianConvolution)
