"""Sequence models with an open channel: Bayes-optimal estimation of the teacher from N = alpha D samples.

The label is a channel P(y, h | z) >= 0 in the fields z_l = W*^T x_l/sqrt(D) of the tokens; the entries of W* are N(0, 1), p
columns of them. Nishimori's identity makes the overlap of the posterior mean with W* and its squared length one matrix Q. Of a
token's fields the posterior knows omega_l ~ N(0, Q); z_l given omega_l is N(omega_l, V), V = I - Q. A sample's evidence is
Z(y, omega) = E[P(y, h | z) | omega], summed over h, and its score is g_l = d log Z/d omega_l.

The chains here are of one field, all else in P (the label, h, other tokens and fields) held fixed. A matrix Q needs no more:

- along Q + t a a^T the field a . z_l moves in every token, and by the chain rule the free entropy moves by the sum of what
  one token's field does, (1/2) E (a . g_l)^2. That holds for every a, and a symmetric matrix is known by its quadratic form:
  Qhat = alpha E sum_l g_l g_l^T;
- the prior is invariant under rotations, so that Q and Qhat have common eigenvectors: Q = Qhat (I + Qhat)^-1;
- along t a a^T at Q = 0 the force b . g_l on a field moves by the square of a curvature of log Z, in any two fields a . z_m and
  b . z_l of any two tokens: b . F(a a^T) b = E sum_lm (b . T_lm a)^2 with T_lm = d^2 log Z/d omega_l d omega_m at omega = 0. That
  gives the linear map F, Qhat = alpha F(Q) near Q = 0. Where E[z | y] = 0 nothing learnt is a fixed point, left for
  alpha > alpha_c = 1/(spectral radius of F).
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, final

from sympy import Basic, Derivative, Expr, Function, S, Symbol, exp, log, simplify, sqrt
from sympy.printing.latex import LatexPrinter

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    Algebra,
    CompleteSquare,
    Differentiate,
    DifferentiateMean,
    ExpandLogarithm,
    GaussianByParts,
    GaussianMoments,
    HeatEquation,
    Linearity,
    PutInPlace,
    SolveLinear,
    Unfold,
)
from symslr.expression.at import At
from symslr.expression.convolution import GaussianConvolution
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.joint import Solution
from symslr.expression.quantity import Quantity
from symslr.model.scalar_law import normal
from symslr.model.symbols import x
from symslr.theory.finite_sample_energy import ALPHA

Q_HAT = Symbol(r"\hat{q}", positive=True)
OVERLAP = Symbol("q", positive=True)

COMPONENT, TRUE, NOISE = (Symbol(name, real=True) for name in ("u", "u_0", "xi_0"))
PULL = Q_HAT * TRUE + sqrt(Q_HAT) * NOISE
WEIGHT = exp(-Q_HAT * COMPONENT**2 / 2 + PULL * COMPONENT)
"""Weight of a component u under the posterior, beside its prior N(0, 1)."""


def _mean_over_pull(body: Expr) -> Expr:
    return ScalarExpectation(ScalarExpectation(body, NOISE, normal()), TRUE, normal())


@final
class PriorEntropy(Quantity):
    """E log E_u exp(-qhat u^2/2 + (qhat u0 + sqrt(qhat) xi) u), per component; ``args = (qhat,)``."""

    source: ClassVar[str] = "duranthon2025, Sec. 5"

    def definition(self) -> Expr:
        return _mean_over_pull(log(ScalarExpectation(WEIGHT, COMPONENT, normal()))).subs(Q_HAT, self.args[0])

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"\Psi({printer._print(self.args[0])})"

    def _sympystr(self, printer: object) -> str:
        return f"Psi({self.args[0]})"


@cache
def prior_chain() -> Derivation:
    """(qhat - log(1 + qhat))/2."""
    return (
        Derivation(PriorEntropy(Q_HAT), name="bayes-optimal-prior")
        .apply(Unfold(PriorEntropy))
        .apply(CompleteSquare())
        .apply(ExpandLogarithm())
        .apply(GaussianMoments())
        .apply(Algebra("factor"))
    )


def posterior_mean() -> Expr:
    """<u> = E_u[u weight]/E_u[weight] at a given pull."""
    return ScalarExpectation(COMPONENT * WEIGHT, COMPONENT, normal()) / ScalarExpectation(WEIGHT, COMPONENT, normal())


@cache
def nishimori_chains() -> tuple[Derivation, Derivation]:
    """E[u0 <u>] and E[<u>^2]: overlap with the truth and squared length of the posterior mean."""
    truth = Derivation(_mean_over_pull(TRUE * posterior_mean()), name="bayes-optimal-overlap-with-truth")
    square = Derivation(_mean_over_pull(posterior_mean() ** 2), name="bayes-optimal-squared-length")
    overlap, length = (chain.apply(CompleteSquare()).apply(GaussianMoments()) for chain in (truth, square))
    return overlap, length.apply(Algebra("factor"))


FIELD = Symbol("z", real=True)
MEAN = Symbol("omega", real=True)
GAUSS = Symbol("x_0", real=True)
SEEN = sqrt(OVERLAP) * GAUSS
"""omega of a random field, x_0 standard normal."""

CHANNEL = Function("P", nonnegative=True)(x)
"""P as a function of one field of one token, all else of the sample held fixed; left open."""


def convolution(letter: str, function: Expr, mean: Expr = SEEN) -> GaussianConvolution:
    """The mean of a function of a field over N(omega, 1 - q)."""
    return GaussianConvolution.of(Symbol(letter), function.subs(x, FIELD), FIELD, mean, 1 - OVERLAP)


def evidence(channel: Expr = CHANNEL) -> GaussianConvolution:
    """Z, the density of a sample's outcome given the field."""
    return convolution("Z", channel)


@final
class EvidenceEntropy(Quantity):
    """E_x[Z log Z]: what one field contributes to E log Z, the rest of the sample fixed; ``args = (Z,)``.

    Z is the density of the sample's outcome, so its weight stands beside the logarithm.
    """

    source: ClassVar[str] = "duranthon2025, Sec. 5"

    def definition(self) -> Expr:
        (z_,) = self.args
        return ScalarExpectation(z_ * log(z_), GAUSS, normal())

    @property
    def free_symbols(self) -> set[Basic]:
        return self.args[0].free_symbols - {GAUSS}

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{L}"

    def _sympystr(self, printer: object) -> str:
        return "EntropyOfEvidence"


@cache
def information_chain() -> Derivation:
    """d/dq E[Z log Z] = E[Z (d log Z/d omega)^2]/2, for every channel."""
    return (
        Derivation(Derivative(EvidenceEntropy(evidence()), OVERLAP), name="bayes-optimal-information")
        .apply(Unfold(EvidenceEntropy))
        .apply(DifferentiateMean())
        .apply(Differentiate())
        .apply(HeatEquation())
        .apply(GaussianByParts())
        .apply(Linearity())
    )


@final
class BayesFreeEntropy(Quantity):
    """Free entropy of the posterior in one overlap, the others held: Psi(qhat) - q qhat/2 + alpha L(q); ``args = (Z, alpha)``.

    L is written for one field of one sample at given rest of it. The mean over the rest and the sum over the fields are
    linear, and so are the equations of the saddle point in them.
    """

    source: ClassVar[str] = "duranthon2025, Sec. 5"
    postulate: ClassVar[str] = (
        r"As $N$ and $D$ grow with $N/D=\alpha$, the log evidence of the data, per dimension, is the stationary value of the "
        "replica-symmetric free entropy in the overlaps of the teacher's columns."
    )

    def definition(self) -> Expr:
        z_, alpha = self.args
        return PriorEntropy(Q_HAT) - OVERLAP * Q_HAT / 2 + alpha * EvidenceEntropy(z_)

    @property
    def free_symbols(self) -> set[Basic]:
        return self.definition().free_symbols

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\Phi_{\mathrm{RS}}"

    def _sympystr(self, printer: object) -> str:
        return "Phi_RS"


@cache
def overlap_chain() -> Derivation:
    """q = qhat/(1 + qhat), the free entropy being stationary in qhat."""
    start = Solution(Derivative(BayesFreeEntropy(evidence(), ALPHA), Q_HAT), OVERLAP)
    return (
        Derivation(start, name="bayes-optimal-overlap")
        .apply(Unfold(BayesFreeEntropy))
        .apply(Cite(prior_chain()))
        .apply(Differentiate())
        .apply(SolveLinear())
        .apply(Algebra("factor"))
    )


def stationary_in_overlap(channel: Expr = CHANNEL) -> Solution:
    """qhat where the free entropy is stationary in q."""
    return Solution(Derivative(BayesFreeEntropy(evidence(channel), ALPHA), OVERLAP), Q_HAT)


@cache
def force_chain() -> Derivation:
    """qhat = alpha E[Z (d log Z/d omega)^2], the free entropy being stationary in q."""
    return (
        Derivation(stationary_in_overlap(), name="bayes-optimal-force")
        .apply(Unfold(BayesFreeEntropy))
        .apply(Differentiate())
        .apply(Cite(information_chain()))
        .apply(SolveLinear())
    )


def squared_force(channel: Expr = CHANNEL) -> Expr:
    """E[Z (d log Z/d omega)^2], what one field adds to E sum g^2."""
    z_ = evidence(channel)
    return ScalarExpectation(z_.differentiated(1) ** 2 / z_, GAUSS, normal())


@cache
def score_chain() -> Derivation:
    """d log Z/d omega = (E[z | y, omega] - omega)/V, the means under N(omega, V) weighted with P."""
    z_ = convolution("Z", CHANNEL, MEAN)
    return Derivation(z_.differentiated(1) / z_, name="bayes-optimal-score").apply(Unfold(GaussianConvolution))


SLOPE = Function("R", real=True)(x)
"""E[z_2 P] given the field z_1: the slope of P, averaged over another field z_2 of mean omega_2 and variance 1, in omega_2 at 0."""


def squared_slope(channel: Expr = CHANNEL, slope: Expr = SLOPE) -> Expr:
    """E[Z (d log Z/d omega_2)^2] at omega_2 = 0: the squared force on another field, of which nothing is known."""
    return ScalarExpectation(convolution("Y", slope) ** 2 / evidence(channel), GAUSS, normal())


@cache
def curvature_chains() -> tuple[Derivation, Derivation]:
    """d/dq of the squared force on the field itself and on another one: E[Z (d^2 log Z/domega^2)^2], and mixed."""
    started = (
        Derivation(Derivative(squared, OVERLAP), name=f"bayes-optimal-curvature-{which}")
        for which, squared in (("own", squared_force()), ("other", squared_slope()))
    )
    own, other = (
        chain.apply(DifferentiateMean()).apply(Differentiate()).apply(HeatEquation()).apply(GaussianByParts())
        for chain in started
    )
    return own, other


def at_nothing(squared: Expr) -> Expr:
    """The slope in q of a mean where q = 0: nothing has been learnt."""
    return At.of(Derivative(squared, OVERLAP), {OVERLAP: S.Zero})


@cache
def weak_chains() -> tuple[Derivation, Derivation]:
    """These slopes at q = 0, in moments of the fields under P: entries of the linearised state evolution."""
    own, other = (
        Derivation(at_nothing(theorem.start.expr), name=f"weak-recovery-{which}")
        .apply(Cite(theorem))
        .apply(PutInPlace())
        .apply(Linearity())
        .apply(Unfold(GaussianConvolution))
        .apply(Algebra("factor"))
        for which, theorem in zip(("own", "other"), curvature_chains())
    )
    return own, other


@cache
def prior_at_stationary_point() -> Expr:
    """Psi(qhat) - q qhat/2 at qhat = q/(1-q), where it is stationary: (q + log(1-q))/2."""
    inner = prior_chain().result - OVERLAP * Q_HAT / 2
    return simplify(inner.subs(Q_HAT, OVERLAP / (1 - OVERLAP)))
