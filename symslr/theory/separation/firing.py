"""When a neuron fires on a row: from the average over all sign vectors to three signs and one binomial."""

from __future__ import annotations

from sympy import Expr, KroneckerDelta, Piecewise, Sum, Symbol, log, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.blocks.columns import LAST_COLUMN, ColumnSum, class_column
from symslr.algebra.rules.blocks.signs import PositiveFactor, Sign, SignBlocks, average_over_signs, omega
from symslr.model.separation import a, b, c, j3, margin, n, t
from symslr.theory.separation.definition import k

mark_share = Symbol("p", positive=True)
own_share = Symbol("mu", positive=True)
other_share = Symbol("nu", positive=True)


def output(column: Expr) -> Expr:
    """Entry of a row's output f^T A3: a p, b mu in its own class, b nu in every other, c in the last column."""
    group = KroneckerDelta(column, class_column(j3))
    first, last = KroneckerDelta(column, 1), KroneckerDelta(column, LAST_COLUMN)
    classes = (own_share - other_share) * group + other_share * (1 - first - last)
    return sqrt(log(n)) * (a * mark_share * first + b * classes + c * last)


def preactivation() -> Expr:
    """<f^T A3, w> for the sign vector number omega."""
    return Sum(output(k) * Sign(omega, k), (k, 1, LAST_COLUMN))


def firing_derivation() -> Derivation:
    """P(<f^T A3, w> > (c + margin) sqrt(log n)) for uniform signs w, as a finite binomial sum.

    Source: arXiv 2310.11685, section 6 (threshold and random weights); the reduction is derived here.
    """
    fires = Piecewise((1, preactivation() > (c + margin) * sqrt(log(n))), (0, True))
    chain = Derivation(
        average_over_signs(fires),
        title="Probability that a neuron with random signs fires on a row of attention",
        name="separation-firing",
        symbol=r"\mathbb{P}(\text{a neuron fires on a row})",
        ranges={
            n: [12],
            t: [3, 4],
            j3: [1, 2],
            a: (0.5, 1.5),
            b: (0.2, 1.0),
            c: (0.05, 0.3),
            margin: (0.05, 0.5),
            mark_share: (0.1, 1.0),
            own_share: (0.1, 1.0),
            other_share: (0.01, 0.3),
        },
        sources=("deng2023, section 6",),
    )
    chain = chain.apply(ColumnSum(), "the row puts out four different numbers")
    chain = chain.apply(SignBlocks(), "three signs and the number of plus signs among the other classes decide")
    return chain.apply(PositiveFactor(sqrt(log(n))))
