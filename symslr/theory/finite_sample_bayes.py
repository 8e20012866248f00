"""Bayes-optimal estimation of k* and v* from N = alpha D samples: free entropy, state evolution, risk.

With components of k*, v* drawn from N(0, 1), Nishimori's identity makes overlap and squared length equal, so one overlap
q per vector is left. A sample's fields are omega_chi = q_k chi* + sqrt(q_k(1-q_k)) xi, omega_z likewise, and its
partition function is

    Z = (1/L) sum_l E[g(l, chi*) | omega_chi] N(y; omega_z,l, V),   V = 1 - q_v + Delta^2,

where chi*_l given its field is N(omega_l, 1 - q_k), independent over tokens. The posterior of the hidden position is
p_l, proportional to the l-th term. For the two tasks::

    spiked   E[g(l, chi*) | omega] = exp(sqrt(nu) omega_l - nu q_k/2)
    max      E[g(l, chi*) | omega] = L E softmax_l(nu chi*), an integral over L normals that Gumbel's trick makes one:
             softmax_l(s) = P(s_l + G_l is largest) for independent standard Gumbel G, and s_m + G_m are independent
             given omega, so it is int psi'(t - nu omega_l) prod_{m != l} psi(t - nu omega_m) dt with
             psi(t) = E exp(-exp(-t + nu sqrt(1-q_k) xi)).

Read as a function of one field, everything else of the sample fixed, Z is a Gaussian convolution of variance 1 - q: it
solves the heat equation, and that is all that state evolution needs of the channel.

Source: arXiv 2509.21936, section 5 (Bayes-optimal curve of Figure 3); the channel of max-SLR is derived here.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, final

from sympy import Basic, Derivative, Expr, Sum, Symbol, exp, log, pi, simplify, sqrt
from sympy.printing.latex import LatexPrinter

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.exponentials import merge_exponentials
from symslr.algebra.rules import (
    Algebra,
    Collect,
    CompleteSquare,
    Differentiate,
    DifferentiateMean,
    ExpandLogarithm,
    GaussianByParts,
    GaussianMoments,
    HeatEquation,
    Linearity,
    Nishimori,
    SolveLinear,
    Unfold,
)
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.folded import Posterior
from symslr.expression.joint import Solution
from symslr.expression.named import NamedFunction
from symslr.expression.quantity import Quantity
from symslr.model.scalar_law import normal
from symslr.model.symbols import Delta, L, l, nu, z, zeta
from symslr.model.task import Task
from symslr.theory.definitions import squared_loss
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


FIELD, OWN, REST, LABEL = (
    Symbol("omega", real=True),
    *(Symbol(n, positive=True) for n in ("a", "b")),
    Symbol("y", real=True),
)
"""A token's field; what the rest of the sample says for its being the relevant one, and for the others; the label."""
GAUSS = Symbol("x_0", real=True)

VARIANCE = 1 - OVERLAP + Delta**2
CHANNELS = {
    "v": OWN * exp(-((LABEL - FIELD) ** 2) / (2 * VARIANCE)) / sqrt(2 * pi * VARIANCE) + REST,
    "k": OWN * exp(sqrt(nu) * FIELD - nu * OVERLAP / 2) + REST,
}
"""Z as a function of one field: N(y; omega, V) for values, the tilt of spiked-SLR for keys."""


def evidence(t: str) -> NamedFunction:
    """Z at the field omega = sqrt(q) x of a standard normal x."""
    return NamedFunction.of(
        Symbol("Z"), merge_exponentials(CHANNELS[t]), {FIELD: sqrt(OVERLAP) * GAUSS, OVERLAP: OVERLAP}
    )


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
def information_chain(t: str) -> Derivation:
    """d/dq E[Z log Z] = E[Z (d log Z/d omega)^2]/2, for every channel that solves the heat equation."""
    return (
        Derivation(Derivative(EvidenceEntropy(evidence(t)), OVERLAP), name=f"bayes-optimal-information-{t}")
        .apply(Unfold(EvidenceEntropy))
        .apply(DifferentiateMean())
        .apply(Differentiate())
        .apply(HeatEquation())
        .apply(GaussianByParts())
        .apply(Linearity())
    )


@final
class BayesFreeEntropy(Quantity):
    """Free entropy of the posterior in one overlap, the other held: Psi(qhat) - q qhat/2 + alpha L(q); ``args = (Z, alpha)``.

    L is written for one field of one sample at given rest of it. The mean over the rest and the sum over the fields are
    linear, and so are the equations of the saddle point in them.
    """

    source: ClassVar[str] = "duranthon2025, Sec. 5"
    postulate: ClassVar[str] = (
        r"As $N$ and $D$ grow with $N/D=\alpha$, the log evidence of the data, per dimension, is the stationary value of the "
        "replica-symmetric free entropy in the overlaps of keys and of values."
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
def overlap_chain(t: str) -> Derivation:
    """q = qhat/(1 + qhat), the free entropy being stationary in qhat."""
    start = Solution(Derivative(BayesFreeEntropy(evidence(t), ALPHA), Q_HAT), OVERLAP)
    return (
        Derivation(start, name=f"bayes-optimal-overlap-{t}")
        .apply(Unfold(BayesFreeEntropy))
        .apply(Cite(prior_chain()))
        .apply(Differentiate())
        .apply(SolveLinear())
        .apply(Algebra("factor"))
    )


@cache
def force_chain(t: str) -> Derivation:
    """qhat = alpha E[Z (d log Z/d omega)^2], the free entropy being stationary in q."""
    start = Solution(Derivative(BayesFreeEntropy(evidence(t), ALPHA), OVERLAP), Q_HAT)
    return (
        Derivation(start, name=f"bayes-optimal-force-{t}")
        .apply(Unfold(BayesFreeEntropy))
        .apply(Differentiate())
        .apply(Cite(information_chain(t)))
        .apply(SolveLinear())
    )


def squared_force(t: str) -> Expr:
    """E[Z (d log Z/d omega)^2], what one field adds to E sum f^2."""
    z_ = evidence(t)
    return ScalarExpectation(z_.differentiated(1, 0) ** 2 / z_, GAUSS, normal())


@cache
def prior_at_stationary_point() -> Expr:
    """Psi(qhat) - q qhat/2 at qhat = q/(1-q), where it is stationary: (q + log(1-q))/2."""
    inner = prior_chain().result - OVERLAP * Q_HAT / 2
    return simplify(inner.subs(Q_HAT, OVERLAP / (1 - OVERLAP)))


@final
class PosteriorRisk(Quantity):
    """E (y - f)^2 of f = sum_l p_l (q z_l + sqrt(q(1-q)) zeta_l); ``args = (law, noise, q)``.

    p_l is the posterior under the law of the keys' fields: for spiked-SLR, omega_chi/sqrt(q_k) is spiked with strength
    nu q_k. f is the posterior mean of the label of a new sequence.
    """

    source: ClassVar[str] = "duranthon2025, Sec. 5"
    domain: ClassVar[str] = r"overlaps between $0$ and $1$"

    def definition(self) -> Expr:
        law, noise, q = self.args
        values = q * z[l] + sqrt(q * (1 - q)) * zeta[l]
        return squared_loss(Sum(Posterior(l, law) * values, (l, 1, L)), law, noise)

    @property
    def free_symbols(self) -> set[Basic]:
        return self.definition().free_symbols

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\mathrm{BO}}"

    def _sympystr(self, printer: object) -> str:
        return "PosteriorRisk"


def posterior_risk(task: Task, q: Expr) -> PosteriorRisk:
    """The Bayes-optimal risk at overlap q of the values, the task's law being that of the keys' fields."""
    return PosteriorRisk(task.law, task.noise, q)


@cache
def posterior_risk_chain(task: Task, q: Expr) -> Derivation:
    """Delta^2 + 1 - q E p_epsilon, with E sum p^2 = E p_epsilon by Nishimori's identity."""
    chain = (
        Derivation(posterior_risk(task, q))
        .apply(Unfold(PosteriorRisk))
        .apply(Linearity())
        .apply(GaussianMoments())
        .apply(Nishimori())
    )
    return chain if q == 1 else chain.apply(Collect())
