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

State evolution and free entropy are those of any channel (``symslr.theory.sequence``); here are the channels and the risk.

Source: arXiv 2509.21936, section 5 (Bayes-optimal curve of Figure 3); the channel of max-SLR is derived here.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, final

from sympy import Basic, Expr, Sum, Symbol, exp, sqrt
from sympy.printing.latex import LatexPrinter

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    Collect,
    GaussianMoments,
    Linearity,
    Nishimori,
    Unfold,
)
from symslr.expression.convolution import GaussianConvolution
from symslr.expression.folded import Posterior
from symslr.expression.quantity import Quantity
from symslr.model.scalar_law import normal
from symslr.model.symbols import Delta, L, l, nu, x, z, zeta
from symslr.model.task import Task
from symslr.theory.definitions import squared_loss
from symslr.theory.sequence import CHANNEL, stationary_in_overlap
from symslr.theory.sequence import force_chain as any_force_chain

OWN, REST = (Symbol(name, positive=True) for name in ("a", "b"))
LABEL = Symbol("y", real=True)
"""What the rest of the sample says for a token's being the relevant one, and for the others; the label."""

CHANNELS = {
    "v": OWN * normal(LABEL, Delta**2).density + REST,
    "k": OWN * exp(sqrt(nu) * x - nu / 2) + REST,
}
"""P as a function of one field x: the label's density for values, the tilt of spiked-SLR for keys."""


@cache
def force_chain(t: str) -> Derivation:
    """qhat = alpha E[Z (d log Z/d omega)^2] of one field of the values or of the keys of spiked-SLR, written out."""
    channel = CHANNELS[t]
    return (
        Derivation(stationary_in_overlap(channel), name=f"bayes-optimal-force-{t}")
        .apply(Cite(any_force_chain(), {CHANNEL: channel}))
        .apply(Unfold(GaussianConvolution))
    )


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
