"""Widths and numbers of classes that suffice for a given failure probability: union bound, exponential bound, Hoeffding.

P(failure) <= m P(bad) + exp(-m P(bad or useful)) for m neurons. A width m suffices for delta where each of the two terms
is at most delta/2; both ends of the interval of such widths are solved from the derived bound.

Source: arXiv 2310.11685, section 6, names Hoeffding's bound and a width; the formulas are reconstructed.
"""

from __future__ import annotations

from functools import lru_cache

from sympy import Dummy, Expr, Gt, Sum, Symbol, solve

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.inequalities.powers import BernoulliInequality, ExponentialAbove
from symslr.expression.signs import Indicator, Sign, SignExpectation, omega
from symslr.model.separation import b, margin
from symslr.theory.separation.definition import k, m
from symslr.theory.separation.hoeffding import excess, hoeffding_derivation, other_share, others
from symslr.theory.separation.network import LAYOUTS, RANGES, idle_probabilities, network_derivation

delta = Symbol("delta", positive=True)
"""Failure probability that is allowed."""
bad = Symbol("P_bad", positive=True)
"""P(a neuron fires where it must not)."""
either = Symbol("P_either", positive=True)
"""P(a neuron is bad, or fires for softmax on D1)."""


@lru_cache
def failure_derivation() -> Derivation:
    """P(failure) <= m (1 - P(not bad)) + exp(-m (1 - P(idle))), from the networks."""
    network = network_derivation()
    chain = Derivation(
        1 - network.start,
        title="Probability that separation fails: union bound over $m$ neurons",
        name="separation-failure",
        symbol=r"1-\mathbb{P}(\text{separation})",
        ranges={**LAYOUTS, **RANGES},
        sources=("deng2023, section 6",),
    )
    chain = chain.apply(Cite(network)).apply(BernoulliInequality(), "some neuron is bad")
    return chain.apply(ExponentialAbove(), "no neuron is useful")


@lru_cache
def classes_derivation() -> Derivation:
    """m neurons with even attention over N other classes: m P(b/N sum w > gamma) <= m exp(-N gamma^2 / (2 b^2))."""
    push = b / others * Sum(Sign(omega, k), (k, 1, others))
    chain = Derivation(
        m * SignExpectation(Indicator(Gt(push, margin)), omega, others),
        title="Probability that any of $m$ neurons fires: Hoeffding's bound in the number of classes",
        name="separation-classes",
        symbol=r"m\,\mathbb{P}\bigl(\tfrac bN\textstyle\sum_k w_k>\gamma\bigr)",
        ranges={others: [3, 4, 5, 2], b: (0.5, 1.0), margin: (0.1, 0.9), m: [1, 2, 5, 24]},
        sources=("deng2023, section 6",),
    )
    return chain.apply(Cite(hoeffding_derivation(), {other_share: 1 / others, excess: margin}))


@lru_cache
def failure_bound() -> Expr:
    """m P_bad + exp(-m P_either), the end of the derivation in names for the two probabilities."""
    not_bad, idle = idle_probabilities()
    return failure_derivation().result.subs({not_bad: 1 - bad, idle: 1 - either})


@lru_cache
def width_needed() -> Expr:
    """The least m at which the second term of the bound is delta/2: log(2/delta)/P_either."""
    return _solved(failure_bound().coeff(bad, 0))


@lru_cache
def width_allowed() -> Expr:
    """The largest m at which the first term of the bound is delta/2: delta/(2 P_bad)."""
    return _solved(bad * failure_bound().coeff(bad, 1))


@lru_cache
def classes_needed() -> Expr:
    """The N at which m neurons stay silent with probability 1 - delta: (2 b^2/gamma^2) log(m/delta)."""
    number = Dummy(positive=True)
    (root,) = solve(classes_derivation().result.subs(others, number) - delta, number)
    return root


def _solved(term: Expr) -> Expr:
    width = Dummy(positive=True)
    (root,) = solve(term.subs(m, width) - delta / 2, width)
    return root
