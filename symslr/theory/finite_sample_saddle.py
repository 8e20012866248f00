"""The saddle-point equations of a fit, each derived from the replica-symmetric energy by stationarity in one scalar.

Source: arXiv 2509.21936, Result 5.1.
"""

from __future__ import annotations

from functools import cache

from sympy import Derivative, Expr, Symbol

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    Abbreviate,
    Algebra,
    Differentiate,
    DifferentiateMean,
    Envelope,
    EvaluateTermwise,
    GaussianMoments,
    Linearity,
    Minimise,
    SolveLinear,
    Unfold,
)
from symslr.expression.joint import Solution
from symslr.model.symbols import l
from symslr.theory.finite_sample_energy import (
    SOFTMAX,
    Channel,
    Fit,
    Force,
    ReplicaSymmetricEnergy,
    RidgeEnergy,
    SampleEnergy,
    energy,
    ridge_energy,
    sample_energy,
)


@cache
def ridge_chain(t: Channel) -> Derivation:
    """E min_u [...] = -(mhat^2 + qhat)/(2(r + Vhat)): what the ridge pays per component."""
    return (
        Derivation(ridge_energy(t), name=f"finite-sample-ridge-{t.name}")
        .apply(Unfold(RidgeEnergy))
        .apply(Minimise())
        .apply(GaussianMoments())
        .apply(Algebra("factor"))
    )


@cache
def response_chain(t: Channel, parameter: Symbol, fit: Fit = SOFTMAX) -> Derivation:
    """dM/d(m, q or V): by the envelope theorem only the distance moves, and the force says how far."""
    force = Force.of(t, l)
    return (
        Derivation(Derivative(sample_energy(fit), parameter), name=f"finite-sample-response-{parameter}")
        .apply(Unfold(SampleEnergy))
        .apply(DifferentiateMean())
        .apply(Envelope())
        .apply(Abbreviate(t.fitted(l), t.field(l) + t.V * force, force))
        .apply(EvaluateTermwise())
        .apply(Linearity())
    )


PAIRS = {"qhat": "V", "Vhat": "q", "mhat": "m", "V": "qhat", "m": "mhat", "q": "Vhat"}
"""Unknown -> the scalar in which the energy is stationary: the equation is linear in the unknown."""


@cache
def saddle_chain(t: Channel, unknown: str, fit: Fit = SOFTMAX) -> Derivation:
    """The saddle-point equation that gives one of the six scalars of a channel."""
    solved, parameter = getattr(t, unknown), getattr(t, PAIRS[unknown])
    start = Derivation(
        Solution(Derivative(energy(fit), parameter), solved), name=f"finite-sample-saddle-{unknown}-{t.name}"
    )
    chain = start.apply(Unfold(ReplicaSymmetricEnergy))
    if parameter in t.conjugates:
        chain = chain.apply(Cite(ridge_chain(t))).apply(Differentiate())
        return chain.apply(SolveLinear())
    chain = chain.apply(Differentiate()).apply(Cite(response_chain(t, parameter, fit)))
    return chain.apply(SolveLinear())


@cache
def saddle_point_equations(t: Channel, fit: Fit = SOFTMAX) -> dict[Symbol, Expr]:
    """Each of qhat, Vhat, mhat, V, m, q of a channel by the others and by means over the samples."""
    return {getattr(t, unknown): saddle_chain(t, unknown, fit).result for unknown in PAIRS}
