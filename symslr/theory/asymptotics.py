"""Strong-signal expansions of the Bayes risk and of linear attention, produced by the rules to the order asked."""

from __future__ import annotations

from functools import cache

from sympy import Expr

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    Centre,
    GaussianProjection,
    GaussianTaylor,
    GeometricSeries,
    SechMoments,
    SingleCompetitor,
    SoftmaxTowardsMax,
    WriteDensity,
    WriteTokensOut,
)
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import linear
from symslr.model.exponential import exponential_slope
from symslr.model.symbols import chi, epsilon, j
from symslr.model.task import Task
from symslr.theory.population import MinimalRisk, minimal_risk


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
    slope = _slope(task)
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


@cache
def strong_signal_linear(task: Task, order: int) -> Expr:
    """The least risk of linear attention for a large parameter of an exponential weight, to ``order`` terms.

    spiked-SLR: Delta^2 + (L/nu) sum_{k<order} (-L^2/((L-1) nu))^k, which converges for nu > L^2/(L-1). max-SLR:
    Delta^2 + 1 - (1 + mu^2)/L with mu to ``order`` powers of 1/nu: the risk does not vanish at strong signal.

    Raises:
        RuleRefused: when the weight is not an exponential of the relevant token, shifted or selected.
        ValueError: when linear attention has no least risk in closed form on the task.
    """
    slope = _slope(task)
    least = minimal_risk(task, linear)
    closed = least.closed() if isinstance(least, MinimalRisk) else None
    if closed is None:
        raise ValueError(f"task {task.name}: linear attention has no least risk in closed form")
    if task.law.is_selection:
        return SoftmaxTowardsMax(order).rewrite(closed)
    (parameter,) = slope.free_symbols
    return GeometricSeries(parameter, order).rewrite(closed)


def _slope(task: Task) -> Expr:
    slope = exponential_slope(task.law)
    if slope is None:
        raise RuleRefused(f"task {task.name}: the ratio of the weight between two positions is not exponential")
    return slope
