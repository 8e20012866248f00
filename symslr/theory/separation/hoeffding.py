"""The bound of the paper's kind: a Chernoff bound with cosh(x) <= exp(x^2/2), minimised over its parameter.

The sum of the N = n/t - 1 other signs enters the pre-activation as b nu sum w. For y > 0
    P(b nu sum w > y) <= exp(-lambda y) E exp(lambda b nu sum w) = exp(-lambda y) cosh(lambda b nu)^N,
and cosh(x) <= exp(x^2/2), term by term in the Taylor series since (2k)! >= 2^k k!.
"""

from __future__ import annotations

from sympy import Expr, Sum, Symbol, binomial, exp

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.blocks.signs import BinomialTheorem
from symslr.algebra.rules.minima.minimise import Minimise
from symslr.expression.folded import Minimum
from symslr.model.separation import b
from symslr.theory.separation.firing import other_share

others = Symbol("N", integer=True, positive=True)
"""Classes other than the row's own, n/t - 1."""
excess = Symbol("y", positive=True)
"""How far the sum of the other signs has to push."""
tilt = Symbol("lambda", nonnegative=True)
s = Symbol("s", integer=True, nonnegative=True)


def moment_derivation() -> Derivation:
    """E exp(lambda sum w) of N random signs."""
    rate = Symbol("lambda", positive=True)
    start = Sum(binomial(others, s) * exp(rate * (2 * s - others)), (s, 0, others)) / 2**others
    chain = Derivation(
        start,
        title="Exponential moment of a sum of random signs",
        name="separation-hoeffding-moment",
        symbol=r"\mathbb{E}\,e^{\lambda\sum w}",
        ranges={others: [1, 2, 5, 12], rate: (0.1, 1.5)},
        sources=("hoeffding1963, Theorem 2",),
    )
    return chain.apply(BinomialTheorem())


def exponent_derivation() -> Derivation:
    """Exponent of Hoeffding's bound: min over lambda of N (lambda b nu)^2 / 2 - lambda y."""
    start = Minimum(others * (tilt * b * other_share) ** 2 / 2 - tilt * excess, tilt)
    chain = Derivation(
        start,
        title="Exponent of Hoeffding's bound",
        name="separation-hoeffding-exponent",
        symbol=r"\log\bigl(\text{bound on }\mathbb{P}(b\nu\textstyle\sum w>y)\bigr)",
        ranges={others: [3, 4, 5], b: (0.5, 1.0), other_share: (0.3, 1.0), excess: (0.1, 0.5)},
        sources=("hoeffding1963, Theorem 2",),
    )
    return chain.apply(Minimise())


def hoeffding_exponent() -> Expr:
    """-y^2 / (2 N b^2 nu^2), derived."""
    return exponent_derivation().result
