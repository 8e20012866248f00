"""The replica-symmetric energy of empirical risk minimisation: the one postulate about finite samples.

What the order parameters mean, for t = k (keys) and t = v (values), with N/D = alpha:

m_t
    overlap of the fitted vector with the true one, k.k*/D or v.v*/D: what was learnt.
q_t
    squared length of the fitted vector, |k|^2/D or |v|^2/D; q_t - m_t^2 is what was fitted to noise.
V_t
    response: how far, per token, one left-out sample may pull the fit towards itself. 0 when data abound; large where the
    ridge is weak and the data leave directions free.
mhat_t
    how strongly the samples together pull along the true vector (alpha times the mean signal).
qhat_t
    variance of the samples' pull across it (alpha times the mean squared force).
Vhat_t
    how stiffly the samples resist a change of the vector: it adds to the ridge, V = 1/(r + Vhat).

Source: arXiv 2509.21936, Result 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from sympy import Basic, Expr, Function, IndexedBase, S, Sum, Symbol, Tuple, sqrt
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.expectation import ScalarExpectation
from symslr.expression.folded import Minimum
from symslr.expression.instance import FIELDS
from symslr.expression.joint import AtMinimiser, JointMinimum
from symslr.expression.quantity import Quantity
from symslr.expression.sample import SampleExpectation
from symslr.expression.scored import ScoredActivation
from symslr.model.attention import Attention
from symslr.model.catalogue import softmax
from symslr.model.scalar_law import normal
from symslr.model.symbols import Delta, L, chi, epsilon, eta, l, m, z, zeta
from symslr.theory.definitions import label

ALPHA = Symbol("alpha", positive=True)
SAMPLE_LAW = Symbol("P", integer=True, positive=True)
"""The law of a sample, left open: the saddle-point equations hold for every one."""

FITTED = {
    "k": IndexedBase("chihat", real=True),
    "v": IndexedBase("zhat", real=True),
    "s": IndexedBase("shat", real=True),
}
"""Projections of a sample's tokens on the fitted vectors; s is a student's field."""
TRUE = {"k": chi, "v": z, "s": z}
"""Projections on the true ones."""
NOISE = {"k": eta, "v": zeta, "s": zeta}
"""Projections on the part of the fitted vectors outside the true ones, before the sample was seen."""


@dataclass(frozen=True)
class Channel:
    """The six scalars and the ridge of one fitted vector: t = k, t = v, or t = s of any model."""

    name: str

    def _symbol(self, letter: str, **assumptions: bool) -> Symbol:
        return Symbol(f"{letter}_{self.name}", **assumptions)

    @property
    def m(self) -> Symbol:
        return self._symbol("m", real=True)

    @property
    def q(self) -> Symbol:
        return self._symbol("q", positive=True)

    @property
    def V(self) -> Symbol:
        return self._symbol("V", positive=True)

    @property
    def mhat(self) -> Symbol:
        return Symbol(rf"\hat{{m}}_{self.name}", real=True)

    @property
    def qhat(self) -> Symbol:
        return Symbol(rf"\hat{{q}}_{self.name}", positive=True)

    @property
    def Vhat(self) -> Symbol:
        return Symbol(rf"\hat{{V}}_{self.name}", positive=True)

    @property
    def ridge(self) -> Symbol:
        return self._symbol("r", positive=True)

    @property
    def order_parameters(self) -> tuple[Symbol, Symbol, Symbol]:
        return self.m, self.q, self.V

    @property
    def conjugates(self) -> tuple[Symbol, Symbol, Symbol]:
        return self.mhat, self.qhat, self.Vhat

    def true(self, index: Expr) -> Expr:
        """h_l: the projection on the true vector, chi_l or z_l."""
        return TRUE[self.name][index]

    def noise(self, index: Expr) -> Expr:
        """xi_l: the standard normal part of the field, eta_l or zeta_l."""
        return NOISE[self.name][index]

    def fitted(self, index: Expr) -> Expr:
        """The projection on the vector fitted with this sample."""
        return FITTED[self.name][index]

    def field(self, index: Expr) -> Expr:
        """omega_l = m h_l + sqrt(q - m^2) xi_l: the projection on the vector fitted without this sample."""
        return self.m * self.true(index) + sqrt(self.q - self.m**2) * self.noise(index)

    def distance(self) -> Expr:
        """sum_l (fitted_l - omega_l)^2/(2 V)."""
        return Sum((self.fitted(l) - self.field(l)) ** 2, (l, 1, L)) / (2 * self.V)


KEY, VALUE = CHANNELS = (Channel("k"), Channel("v"))
STUDENT = Channel("s")


@dataclass(frozen=True)
class Fit:
    """What a fit minimises: the loss of a sample in the projections on the vectors of some channels, and their ridges."""

    channels: tuple[Channel, ...]
    loss: Expr

    @classmethod
    def of(cls, attention: Attention) -> Fit:
        """(y - sum_l sigma_l zhat_l)^2/2 over key and value."""
        sigma = ScoredActivation.of(epsilon, attention, KEY.fitted(m), L)
        return cls(CHANNELS, (label(Delta) - Sum(sigma.at(l) * VALUE.fitted(l), (l, 1, L))) ** 2 / 2)

    @property
    def problem(self) -> JointMinimum:
        """The least of sum_t sum_l (fitted_l - omega_l)^2/(2 V) and the loss, over the projections."""
        distances = sum((t.distance() for t in self.channels), start=S.Zero)
        return JointMinimum(distances + self.loss, tuple(FITTED[t.name] for t in self.channels), L)


SOFTMAX = Fit.of(softmax)
LOSS = Function("ell", real=True)(*FIELDS)
OPEN = Fit((STUDENT,), Sum(LOSS.func(STUDENT.true(l), STUDENT.fitted(l)), (l, 1, L)))
"""A loss left open: ell(z_l, s_l) of a token's field, with all other fields of the sample where they make the loss least."""


@final
class Force(Expr):
    """f_l = (fitted_l - omega_l)/V, the force of token l on its projection; ``args = (channel, l, fitted, omega, V)``."""

    is_commutative = True
    is_real = True

    @classmethod
    def of(cls, t: Channel, index: Expr) -> Force:
        return cls(Symbol(t.name), index, t.fitted(index), t.field(index), t.V)

    @property
    def free_symbols(self) -> set[Basic]:
        return {s for arg in self.args[1:] for s in arg.free_symbols}

    def definition(self) -> Expr:
        """(fitted - omega)/V."""
        _, _, fitted, field, width = self.args
        return (fitted - field) / width

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"f_{{{self.args[0]},{printer._print(self.args[1])}}}{power}"

    def _sympystr(self, printer: object) -> str:
        return f"f_{self.args[0]}[{self.args[1]}]"


@final
class SampleEnergy(Quantity):
    """M = E min of one sample's proximal problem; ``args = (proximal problem, law)``."""

    source: ClassVar[str] = "duranthon2025, Result 5.1"
    domain: ClassVar[str] = r"$q_k\geq m_k^2$, $q_v\geq m_v^2$"

    @property
    def free_symbols(self) -> set[Basic]:
        return self.definition().free_symbols

    def definition(self) -> Expr:
        return SampleExpectation(self.args[0], self.args[1], L)

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{M}"

    def _sympystr(self, printer: object) -> str:
        return "M"


@final
class RidgeEnergy(Quantity):
    """E min_u [(r + Vhat) u^2/2 - (mhat u0 + sqrt(qhat) xi) u], per component; ``args = (ridge, mhat, qhat, Vhat)``.

    A component u of the fitted vector is pulled along its true value u0 with strength mhat and at random with variance
    qhat, and held by the ridge and by the stiffness Vhat of the samples.
    """

    source: ClassVar[str] = "duranthon2025, Result 5.1"

    def definition(self) -> Expr:
        ridge, mhat, qhat, stiffness = self.args
        component, true, noise = (Symbol(name, real=True) for name in ("u", "u_0", "xi_0"))
        cost = (ridge + stiffness) * component**2 / 2 - (mhat * true + sqrt(qhat) * noise) * component
        return ScalarExpectation(ScalarExpectation(Minimum(cost, component), noise, normal()), true, normal())

    def _latex(self, printer: LatexPrinter) -> str:
        ridge, *conjugates = (printer._print(arg) for arg in self.args)
        return rf"\mathcal{{R}}_{{{ridge}}}({', '.join(conjugates)})"

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"R({', '.join(map(printer._print, self.args))})"


@final
class ReplicaSymmetricEnergy(Quantity):
    """Least value of the fit's objective per dimension, stationary in the order parameters and their conjugates.

    alpha M + sum_t [m mhat + (V qhat - q Vhat)/2 + R_t(mhat, qhat, Vhat)]; ``args = (M, alpha, ridges)``.
    """

    source: ClassVar[str] = "duranthon2025, Result 5.1"
    postulate: ClassVar[str] = (
        r"As $N$ and $D$ grow with $N/D=\alpha$, the least value of the ridge-regularised loss, per dimension, is the "
        "stationary value of the zero-temperature replica-symmetric energy in the six scalars of each fitted vector."
    )

    def definition(self) -> Expr:
        sample, alpha, ridges = self.args
        channels = (Channel(str(ridge).removeprefix("r_")) for ridge in ridges)
        terms = (t.m * t.mhat + (t.V * t.qhat - t.q * t.Vhat) / 2 + ridge_energy(t) for t in channels)
        return sum(terms, start=alpha * sample)

    @property
    def free_symbols(self) -> set[Basic]:
        return self.definition().free_symbols

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\mathrm{RS}}"

    def _sympystr(self, printer: object) -> str:
        return "E_RS"


def sample_energy(fit: Fit = SOFTMAX) -> SampleEnergy:
    """M of a fit, the law of the sample left open."""
    return SampleEnergy(fit.problem, SAMPLE_LAW)


def ridge_energy(t: Channel) -> RidgeEnergy:
    """What the ridge contributes to the energy."""
    return RidgeEnergy(t.ridge, *t.conjugates)


def energy(fit: Fit = SOFTMAX) -> ReplicaSymmetricEnergy:
    """The replica-symmetric energy of a fit."""
    return ReplicaSymmetricEnergy(sample_energy(fit), ALPHA, Tuple(*(t.ridge for t in fit.channels)))


def force_means(t: Channel, fit: Fit = SOFTMAX) -> tuple[Expr, Expr, Expr]:
    """(E sum f^2, E sum f xi, E sum f h) over a channel's tokens: what the saddle-point equations ask of the samples."""
    force = Force.of(t, l)
    totals = (Sum(force * factor, (l, 1, L)) for factor in (force, t.noise(l), t.true(l)))
    squared, push, pull = (SampleExpectation(AtMinimiser(total, fit.problem), SAMPLE_LAW, L) for total in totals)
    return squared, push, pull
