"""From one neuron to m independent ones."""

from __future__ import annotations

from sympy import Sum, Symbol, binomial

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.blocks.signs import BinomialTheorem

m = Symbol("m", integer=True, positive=True)
i = Symbol("i", integer=True, positive=True)
useful = Symbol("g", positive=True)
"""P(a neuron fires where it should and nowhere else)."""
idle = Symbol("r", positive=True)
"""P(a neuron fires nowhere)."""


def network_derivation() -> Derivation:
    """P(at least one useful neuron among m, and all others idle); 1 - g - r is the probability of a bad neuron.

    With g + r = 1 - P(bad) and r = 1 - P(bad or useful) this is (1 - P(bad))^m - (1 - P(bad or useful))^m.
    """
    start = Sum(binomial(m, i) * useful**i * idle ** (m - i), (i, 1, m))
    chain = Derivation(
        start,
        title="Separation by m independent neurons",
        name="separation-network",
        symbol=r"\mathbb{P}(\text{separation})",
        ranges={m: [1, 2, 7, 24], useful: (0.05, 0.4), idle: (0.1, 0.6)},
        sources=("deng2023, section 6",),
    )
    return chain.apply(BinomialTheorem())
