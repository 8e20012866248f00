"""The probability that a network of m independent neurons separates the data sets."""

from __future__ import annotations

from functools import lru_cache

from sympy import Expr, Le, Mul, Product, Symbol

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.measure.linearity import Linearity
from symslr.algebra.rules.signs.events import Complement, VanishingSum
from symslr.algebra.rules.signs.independence import IndependentVectors
from symslr.expression.signs import Indicator
from symslr.model.block_layout import LAST_COLUMN, threshold
from symslr.model.separation import LINEAR_KERNEL, SELF, SOFTMAX_KERNEL, Marks, a, beta, j3, margin, n, t
from symslr.theory.separation.definition import i, m, over_signs, preactivation, separation_event
from symslr.theory.separation.firing import TO_SIGNS, preactivation_derivation

SMALL_MARK, LARGE_MARK = Symbol("a_0", positive=True), Symbol("a_1", positive=True)
D0, D1 = (Marks(mark, SELF.b, SELF.c) for mark in (SMALL_MARK, LARGE_MARK))
SILENT = ((SOFTMAX_KERNEL, D0), (LINEAR_KERNEL, D0), (LINEAR_KERNEL, D1))
"""Where a network must not fire: softmax on D0, linear attention on both."""

LAYOUTS = {n: [4, 6], t: [2, 3], j3: [2, 1], m: [1, 2, 1, 2]}
"""Two classes of two or three rows: with two neurons there are 256 sign matrices."""

RANGES = {
    SMALL_MARK: (0.05, 0.15),
    LARGE_MARK: (1.5, 1.7),
    SELF.b: (0.25, 0.35),
    SELF.c: (0.55, 0.65),
    margin: (0.3, 0.4),
    beta: (1.4, 1.6),
}
"""Where separation has a chance: elsewhere both sides of every step are 0 and a comparison says nothing."""


def silent(*networks: tuple[Expr, Marks]) -> Expr:
    """1 where one neuron fires on no row of each attention and data matrix."""
    rows = (Indicator(Le(preactivation(i, kernel, marks, marks) - threshold(marks), 0)) for kernel, marks in networks)
    return Mul(*(Product(row, (i, 1, n)) for row in rows))


def idle_probabilities() -> tuple[Expr, Expr]:
    """1 - P(bad) and 1 - P(bad or useful) of one neuron: means over its 2^d sign vectors."""
    return over_signs(silent(*SILENT)), over_signs(silent(*SILENT, (SOFTMAX_KERNEL, D1)))


@lru_cache
def network_derivation() -> Derivation:
    """P(F > 0 on D1 and F = 0 on D0 for softmax, F = 0 on both for linear attention), for m neurons.

    A neuron is bad if it fires where it must not, and useful if it fires for softmax on D1 and is not bad.
    """
    start = over_signs(separation_event(SOFTMAX_KERNEL, LINEAR_KERNEL, D0, D1), m)
    chain = Derivation(
        start,
        title="Probability of separation by $m$ independent random neurons",
        name="separation-network",
        symbol=r"\mathbb{P}(\text{separation})",
        ranges={**LAYOUTS, **RANGES},
        sources=("deng2023, section 6",),
    )
    chain = chain.apply(Complement()).apply(VanishingSum(), "a network is 0 where no neuron fires on any row")
    return chain.apply(Linearity()).apply(IndependentVectors(LAST_COLUMN), "neurons are independent")


@lru_cache
def idle_derivation(useful: bool = False) -> Derivation:
    """1 - P(bad) of one neuron, or 1 - P(bad or useful), as a finite binomial sum."""
    chain = Derivation(
        idle_probabilities()[int(useful)],
        title=f"Probability that a random neuron fires {'on no input' if useful else 'on no input whose output must be zero'}",
        name="separation-idle" if useful else "separation-not-bad",
        symbol=r"1-\mathbb{P}(\text{bad or useful})" if useful else r"1-\mathbb{P}(\text{bad})",
        ranges={n: [6, 6, 8], t: [2, 3, 2], j3: [2, 1, 4], **RANGES},
        sources=("deng2023, section 6",),
    )
    for kernel, marks in (*SILENT, (SOFTMAX_KERNEL, D1)) if useful else SILENT:
        chain = chain.apply(Cite(preactivation_derivation(kernel), {a: marks.a}))
    for rule in TO_SIGNS:
        chain = chain.apply(rule)
    return chain
