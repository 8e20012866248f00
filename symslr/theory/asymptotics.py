"""Strong-signal expansions of the Bayes risk and of linear attention, produced by the rules to the order asked."""

from __future__ import annotations

from functools import cache

from sympy import EulerGamma, Expr, Integral, Rational, Symbol, cos, cosh, exp, log, oo

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    Centre,
    ChangeOfMeasure,
    Convolution,
    DropFromDenominator,
    Exchangeability,
    GammaIntegral,
    GaussianProjection,
    GaussianTaylor,
    GeometricSeries,
    Independence,
    LaplaceRepresentation,
    ReadDensity,
    SechTransform,
    SmoothingTaylor,
    Stein,
    Substitute,
    TransformMoments,
    WriteDensity,
    WriteTokensOut,
)
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import linear
from symslr.model.exponential import exponential_slope
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, x
from symslr.model.task import Task
from symslr.theory.definitions import over_length
from symslr.theory.population import minimal_risk

GUMBEL = exp(-exp(-x - EulerGamma))
"""Distribution function of the Gumbel variable of mean zero, in ``x``."""

FREQUENCY, ANGLE, RATE = Symbol("omega", real=True), Symbol("theta", real=True), Symbol("b", positive=True)
LEVEL, SCALE = Symbol("y", real=True), Symbol("u", positive=True)

COMPETITION = Rational(1, 3)
"""The power at which the bound on two competitors decays fastest, as exp(-nu/3)."""


def error(law: SequenceLaw) -> Expr:
    """E_g[1 - p_eps], the Bayes risk without noise."""
    return SequenceExpectation(1 - Posterior(epsilon, law), law)


@cache
def sech_transform(power: int) -> Derivation:
    """int cos(omega x)/cosh(b x)^power dx, for power 1 and 2."""
    start = Integral(cos(FREQUENCY * x) / cosh(RATE * x) ** power, (x, -oo, oo))
    return Derivation(start, name=f"sech-transform-{power}").apply(SechTransform())


@cache
def gumbel_transform() -> Derivation:
    """E[exp(theta S)] for the centred Gumbel variable S."""
    return (
        Derivation(ScalarExpectation(exp(ANGLE * x), x, ScalarLaw(GUMBEL.diff(x))), name="gumbel-transform")
        .apply(WriteDensity())
        .apply(Substitute(-log(SCALE) - EulerGamma, SCALE, 0, oo))
        .apply(GammaIntegral())
    )


@cache
def shifted_error(law: SequenceLaw, order: int) -> Derivation:
    """E_g[1 - p_eps] where the relevant token is shifted: one competitor, centred, expanded to ``order`` terms."""
    return (
        Derivation(error(law), name="asymptotics-spiked")
        .apply(Exchangeability())
        .apply(DropFromDenominator(COMPETITION))
        .apply(WriteTokensOut())
        .apply(GaussianProjection(_slope(law) * (chi[epsilon] - chi[j])))
        .apply(Centre())
        .apply(WriteDensity())
        .apply(GaussianTaylor(order))
        .apply(TransformMoments(sech_transform(1), FREQUENCY))
    )


@cache
def selected_error(law: SequenceLaw, order: int) -> Derivation:
    """E_g[1 - p_eps] where the relevant token is selected: ``order`` powers of 1/nu, the second of which vanishes."""
    chain = Derivation(error(law), name="asymptotics-max").apply(Exchangeability()).apply(ChangeOfMeasure())
    return _ties_at_a_level(chain, law, order)


@cache
def mean_key(law: SequenceLaw, order: int) -> Derivation:
    """mu = E_g[chi_eps] = nu E_g[1 - p_eps] where the relevant token is selected, to ``order`` powers of 1/nu."""
    chain = Derivation(SequenceExpectation(chi[epsilon], law), name="asymptotics-max-overlap").apply(ChangeOfMeasure())
    return _ties_at_a_level(chain.apply(Stein()).apply(Exchangeability()), law, order)


def _ties_at_a_level(chain: Derivation, law: SequenceLaw, order: int) -> Derivation:
    """E_0[w_eps w_j/S^2] expanded.

    The Laplace variable on a logarithmic scale is a level y, and exp(-e^{-y}) the distribution function of a Gumbel variable:
    two tokens tie at a level above all the others, each smoothed by a Gumbel variable of width 1/nu.
    """
    slope = _slope(law)
    return (
        chain.apply(LaplaceRepresentation())
        .apply(Independence())
        .apply(Substitute(exp(-slope * LEVEL - EulerGamma), LEVEL))
        .apply(Convolution(GUMBEL, slope, LEVEL))
        .apply(SmoothingTaylor(1 / slope, order, TransformMoments(gumbel_transform(), ANGLE)))
        .apply(ReadDensity(STANDARD_NORMAL))
    )


@cache
def strong_signal(task: Task, order: int) -> Expr:
    """The Bayes risk without noise for a large parameter of an exponential weight, to ``order`` terms.

    spiked-SLR: (L-1) e^{-nu/4} (sqrt(pi)/(2 sqrt(nu))) sum_{k<order} (-1)^k pi^{2k} |E_{2k}| / (k! (4 nu)^k), an
    asymptotic series. max-SLR: M (1 - pi^2/(12 nu^2))/nu + ..., M = E[max of L normals], to ``order`` powers of 1/nu, of
    which the second vanishes. At a length that is a number it is put in, over a law of it the expansion is averaged.

    Raises:
        RuleRefused: when the weight is not an exponential of the relevant token, shifted or selected.
    """
    chain = (selected_error if task.law.is_selection else shifted_error)(task.law, order)
    return over_length(chain.result, task.length)


@cache
def strong_signal_linear(task: Task, order: int) -> Expr:
    """The least risk of linear attention for a large parameter of an exponential weight, to ``order`` terms.

    spiked-SLR: Delta^2 + (L/nu) sum_{k<order} (-L^2/((L-1) nu))^k, which converges for nu > L^2/(L-1). max-SLR:
    Delta^2 + 1 - (1 + mu^2)/L with mu to ``order`` powers of 1/nu: the risk does not vanish at strong signal.

    Raises:
        RuleRefused: when the weight is not an exponential of the relevant token, shifted or selected.
        ValueError: when linear attention has no least risk in closed form on the task, the slope is not that of one parameter, or
            the relevant token is selected among a random number.
    """
    slope, selected = _slope(task.law), task.law.is_selection
    if selected and isinstance(task.length, LengthLaw):
        raise ValueError(
            f"task {task.name}: found a law of the length; expected L or a number where the largest key is selected"
        )
    if not selected and len(slope.free_symbols) != 1:
        raise ValueError(
            f"task {task.name}: found the slope {slope} of the weight; expected one free parameter in it, which is large"
        )
    closed = minimal_risk(task.with_length(L) if selected else task, linear).closed()
    if closed is None:
        raise ValueError(f"task {task.name}: linear attention has no least risk in closed form")
    if selected:
        return over_length(Derivation(closed).apply(Cite(mean_key(task.law, order))).result, task.length)
    (parameter,) = slope.free_symbols
    return Derivation(closed).apply(GeometricSeries(parameter, order)).result


def _slope(law: SequenceLaw) -> Expr:
    slope = exponential_slope(law)
    if slope is None:
        raise RuleRefused(f"the weight {law.weight} has no ratio between two positions that is exponential")
    return slope
