"""For a given failure probability: the width that suffices and the number of classes, from union bounds and Hoeffding's."""

from collections.abc import Iterator

from sympy import exp

from symslr.algebra.derivation import Derivation
from symslr.model.separation import b, margin
from symslr.theory.separation import sufficient
from symslr.theory.separation.definition import m
from symslr.theory.separation.hoeffding import others
from symslr.theory.separation.network import idle_probabilities

FAILURE = (
    r"For a given $\delta$. Separation fails where some neuron is bad or none is useful. Neurons are independent, so the first"
    r" has probability at most $mP_{\mathrm{bad}}$ and the second at most $e^{-mP_{\mathrm{either}}}$, where $P_{\mathrm{either}}$"
    r" is the probability that a neuron is bad or useful. Each is at most $\delta/2$ for"
    r" $\log(2/\delta)/P_{\mathrm{either}}\le m\le\delta/(2P_{\mathrm{bad}})$: a network can be too narrow or too wide."
)
CLASSES = (
    r"Number of classes. Where attention spreads evenly over $N$ other classes, each has weight $b/N$ in a preactivation, and their"
    r" signs have to add up to $\gamma$ for it to fire. Hoeffding's bound over $m$ neurons is at most $\delta$ from"
    r" $N=(2b^2/\gamma^2)\log(m/\delta)$ on. The exact probabilities stand beside both in the report's table of widths."
)


def derive_width() -> Iterator[Derivation]:
    not_bad, idle = idle_probabilities()
    chain = sufficient.failure_derivation().named(introduction=FAILURE)
    bound = m * (1 - not_bad) + exp(-m * (1 - idle))
    yield chain.claim(bound, "deng2023, section 6", label="reconstructed")
    chain = sufficient.classes_derivation().named(introduction=CLASSES)
    yield chain.claim(m * exp(-others * margin**2 / (2 * b**2)), "deng2023, section 6", label="reconstructed")
