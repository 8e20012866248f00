"""Test risks that do not exist are refused: E exp(2 b q x^2) is infinite from b q = 1/4 on, E exp(4 b q x^2) from 1/8 on."""

import pytest
from sympy import Rational, exp, tanh

from symslr.evaluation import CannotEvaluate
from symslr.evaluation.finite_sample import finite_sample
from symslr.evaluation.finite_sample.randomised import check_risk
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import x


def _element_wise(kernel):
    return Attention(kernel, normaliser=None, name="own")


@pytest.mark.parametrize(
    ("rate", "q_k", "what"),
    [(1, 0.26, "is infinite"), (1, 0.24, "scatters"), (Rational(1, 3), 0.76, "is infinite"), (2, 0.07, "scatters")],
)
def test_kernels_that_outgrow_the_scores(rate, q_k, what):
    with pytest.raises(CannotEvaluate, match=what):
        check_risk(_element_wise(exp(rate * x**2)), q_k)


@pytest.mark.parametrize(
    "attention",
    [
        _element_wise(exp(x**2 / 10)),
        _element_wise(exp(3 * x)),
        _element_wise(1 + x**4),
        _element_wise(tanh(x)),
        Attention(exp(x**2), name="normalised"),
    ],
)
def test_kernels_that_do_not(attention):
    check_risk(attention, 1.2)


def test_a_fit_whose_risk_is_infinite_is_refused():
    """It was 93 +- 60: q_k = 0.34 and kappa = exp(x^2)."""
    task = SpikedSLR(length=2, noise=0)
    with pytest.raises(CannotEvaluate, match="infinite"):
        finite_sample(task, _element_wise(exp(x**2)), {"nu": 2}, alpha=2.0, ridge=(0.5, 0.5), precision=0.2)
