"""Strong-signal expansions of the Bayes risk, produced by the rules to the order asked."""

from __future__ import annotations

from functools import cache

from sympy import Expr

from symslr.algebra.derivation import Derivation
from symslr.algebra.expectation import SequenceExpectation
from symslr.algebra.folded import Posterior
from symslr.algebra.rules import (
    Centre,
    GaussianProjection,
    GaussianTaylor,
    RatioCondition,
    SechMoments,
    SingleCompetitor,
    SoftmaxTowardsMax,
    WriteDensity,
    WriteTokensOut,
)
from symslr.model.symbols import chi, epsilon, j
from symslr.model.task import Task


@cache
def strong_signal(task: Task, order: int) -> Expr:
    """The Bayes risk without noise for a large parameter of an exponential weight, to ``order`` terms.

    spiked-SLR: (L-1) e^{-nu/4} (sqrt(pi)/(2 sqrt(nu))) sum_{k<order} (-1)^k pi^{2k} |E_{2k}| / (k! (4 nu)^k), an
    asymptotic series. max-SLR: M (1 - pi^2/(12 nu^2))/nu + ..., M = E[max of L normals], to ``order`` powers of 1/nu, of
    which the second vanishes.

    Raises:
        RuleRefused: when the weight is not an exponential of the relevant token, shifted or selected.
    """
    law = task.law
    slope = RatioCondition().slope(law)
    if law.is_selection:
        return SoftmaxTowardsMax(order).rewrite(SequenceExpectation(chi[epsilon], law)) / slope
    pair = SingleCompetitor().rewrite(SequenceExpectation(1 - Posterior(epsilon, law), law))
    chain = (
        Derivation(pair)
        .apply(WriteTokensOut())
        .apply(GaussianProjection(slope * (chi[epsilon] - chi[j])))
        .apply(Centre())
        .apply(WriteDensity())
        .apply(GaussianTaylor(order))
        .apply(SechMoments())
    )
    return chain.result
