"""Hoeffding's bound on a sum of signs by Chernoff's, with cosh(x) <= exp(x^2/2), at the best parameter.

The sum of the N = n/t - 1 other signs enters what a neuron sees as b phi sum w.
"""

from __future__ import annotations

from functools import lru_cache

from sympy import Expr, Gt, Sum, Symbol, cosh, exp

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.inequalities.chernoff import ChernoffBound
from symslr.algebra.rules.inequalities.monotone import ExponentialOfMinimum, HyperbolicCosine
from symslr.algebra.rules.inequalities.series import SeriesComparison
from symslr.algebra.rules.minima.minimise import Minimise
from symslr.algebra.rules.signs.independence import ExponentialOfSum, IndependentSigns
from symslr.expression.signs import Indicator, Sign, SignExpectation, omega
from symslr.model.separation import b
from symslr.model.symbols import x
from symslr.theory.separation.definition import k

others = Symbol("N", integer=True, positive=True)
"""Classes other than the row's own, n/t - 1."""
excess = Symbol("y", positive=True)
"""How far the sum of the other signs has to push."""
other_share = Symbol("varphi", positive=True)
"""Share of attention that falls on each of them."""
tilt = Symbol("u", nonnegative=True)

NAME = "separation-hoeffding"


@lru_cache
def hoeffding_derivation() -> Derivation:
    """P(b phi sum of N signs > y) <= exp(-y^2 / (2 N b^2 phi^2)).

    Source: Hoeffding (1963), Theorem 2, for signs.
    """
    push = b * other_share * Sum(Sign(omega, k), (k, 1, others))
    chain = Derivation(
        SignExpectation(Indicator(Gt(push, excess)), omega, others),
        title="Hoeffding's bound for a sum of random signs",
        name=NAME,
        symbol=r"\mathbb{P}\bigl(b\varphi\textstyle\sum_k w_k>y\bigr)",
        ranges={others: [3, 4, 5, 2], b: (0.5, 1.0), other_share: (0.3, 1.0), excess: (0.1, 0.9)},
        sources=("hoeffding1963, Theorem 2",),
    )
    chain = chain.apply(ChernoffBound(tilt)).apply(ExponentialOfSum(k)).apply(IndependentSigns())
    chain = chain.apply(HyperbolicCosine())
    chain = chain.apply(SeriesComparison(cosh(x), exp(x**2 / 2), x), "term by term, since $(2k)!\\ge 2^kk!$")
    return chain.apply(ExponentialOfMinimum()).apply(Minimise())


def hoeffding_exponent() -> Expr:
    """-y^2 / (2 N b^2 phi^2), derived."""
    (exponent,) = hoeffding_derivation().result.args
    return exponent
