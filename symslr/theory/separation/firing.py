"""The preactivation of a neuron at one row, and the probability that it fires: few signs and one binomial variable."""

from __future__ import annotations

from functools import lru_cache

from sympy import Expr, Gt, Sum, log, sqrt

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.algebra.rules.blocks.collect import CollectTerms
from symslr.algebra.rules.blocks.deltas import SumOfDeltas
from symslr.algebra.rules.blocks.powers import DivideThrough, PowersOf
from symslr.algebra.rules.blocks.stacked import StackedBlocks
from symslr.algebra.rules.blocks.sums import InterchangeSums
from symslr.algebra.rules.inequalities.positive_factor import PositiveFactor
from symslr.algebra.rules.measure.linearity import Linearity
from symslr.algebra.rules.rewriting.unfold import Unfold
from symslr.algebra.rules.signs.events import Complement, PowersOfIndicators, VanishingSum
from symslr.algebra.rules.signs.independence import IndependentVectors
from symslr.algebra.rules.signs.law import SumOfSigns
from symslr.expression.signs import Indicator, Sign, omega
from symslr.model.block_layout import LAST_COLUMN, q
from symslr.model.separation import LINEAR_KERNEL, SELF, SOFTMAX_KERNEL, a, b, beta, c, j3, margin, n, t
from symslr.theory.separation.definition import Output, i, k, m, network, over_signs, preactivation
from symslr.theory.separation.shares import OVER_ROWS, kernel_name, r

SMALL = {n: [6, 6, 8], t: [2, 3, 2], j3: [2, 1, 4], i: [1, 3, 6]}
"""Layouts of 3, 2 and 4 classes, small enough for all sign vectors."""
MARKS = {
    a: (0.5, 1.5),
    b: (0.2, 1.0),
    c: (0.05, 0.3),
    margin: (0.05, 0.5),
    beta: (0.5, 1.5),
}


@lru_cache
def preactivation_derivation(kernel: Expr) -> Derivation:
    """<(f^T A3)_i, w> for any row i and any sign vector w: a combination of w_1, two class signs, their sum and w_d.

    Source: arXiv 2310.11685, section 6; the block layout is reconstructed.
    """
    chain = Derivation(
        preactivation(i, kernel),
        title=f"{kernel_name(kernel)}: preactivation of a neuron at one row",
        name=f"separation-preactivation-{kernel_name(kernel).split()[0]}".lower(),
        symbol=r"\langle (fA)_i,w\rangle",
        ranges={**SMALL, **MARKS, omega: [5, 9, 19]},
        sources=("deng2023, section 6",),
    )
    rules: tuple[Rule, ...] = (Unfold(Output), SumOfDeltas(q), InterchangeSums(k), SumOfDeltas(k), *OVER_ROWS)
    if kernel == SOFTMAX_KERNEL:
        rules += (PowersOf(n), CollectTerms(), DivideThrough(n ** (beta * SELF.c**2)))
    if kernel == LINEAR_KERNEL:
        rules += (CollectTerms(), DivideThrough(beta * log(n)))
    for rule in (*rules, CollectTerms(Sign, Sum)):
        chain = chain.apply(rule)
    return chain


TO_SIGNS: tuple[Rule, ...] = (
    PositiveFactor(sqrt(log(n))),
    StackedBlocks(i, r),
    SumOfSigns(),
    PowersOfIndicators(),
)
"""From the rows that stay silent to the marked row, its siblings and the other classes, and to the law of the signs."""


@lru_cache
def firing_derivation(kernel: Expr) -> Derivation:
    """P(F > 0 on a data matrix) of m neurons with uniform signs, from a finite binomial sum.

    Source: arXiv 2310.11685, section 6 (threshold and random weights); the reduction is derived here.
    """
    fires = Indicator(Gt(network(kernel, SELF), 0))
    chain = Derivation(
        over_signs(fires, m),
        title=f"{kernel_name(kernel)}: probability that a network of random signs has a positive output on one data matrix",
        name=f"separation-firing-{kernel_name(kernel).split()[0]}".lower(),
        symbol=r"\mathbb{P}(F>0)",
        ranges={**SMALL, **MARKS, m: [1, 2, 1]},
        sources=("deng2023, section 6",),
    )
    chain = chain.apply(Complement()).apply(VanishingSum(), "one neuron on one row is enough").apply(Linearity())
    chain = chain.apply(IndependentVectors(LAST_COLUMN), "neurons are independent")
    chain = chain.apply(Cite(preactivation_derivation(kernel)))
    for rule in TO_SIGNS:
        chain = chain.apply(rule)
    return chain
