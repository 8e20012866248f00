"""The replica-symmetric energy of empirical risk minimisation, and the saddle-point equations as its stationarity.

What the order parameters mean, for t = k (keys) and t = v (values), with N/D = alpha:

m_t     overlap of the fitted vector with the true one, k.k*/D or v.v*/D: what was learnt.
q_t     squared length of the fitted vector, |k|^2/D or |v|^2/D; q_t - m_t^2 is what was fitted to noise.
V_t     response: how far, per token, one left-out sample may pull the fit towards itself. 0 when data abound; large
        where the ridge is weak and the data leave directions free.
mhat_t  how strongly the samples together pull along the true vector (alpha times the mean signal).
qhat_t  variance of the samples' pull across it (alpha times the mean squared force).
Vhat_t  how stiffly the samples resist a change of the vector: it adds to the ridge, V = 1/(r + Vhat).

Source: arXiv 2509.21936, Result 5.1. The energy is the zero-temperature replica-symmetric one; that it describes the
fit is a conjecture of statistical physics, which ``symslr validate`` compares with fits of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import final

from sympy import Basic, Eq, Expr, Function, Symbol, expand, simplify, solve, sqrt
from sympy.printing.latex import LatexPrinter

ALPHA = Symbol("alpha", positive=True)

FORCE = Symbol("f", real=True)
"""Force of one token on its projection: f = (chi - omega_chi)/V_k, or (z - omega_z)/V_v, at the proximal point."""
SPREAD = Symbol("xi", real=True)
"""Standard normal part of a field: omega = m h + sqrt(q - m^2) xi."""
TEACHER = Symbol("h", real=True)
"""Projection on the true vector, chi* or z*."""


@final
class TokenMean(Expr):
    """E sum_l of a body in the tokens' force f, field noise xi and true projection h; ``args = (body,)``."""

    is_commutative = True
    is_real = True

    @property
    def body(self) -> Expr:
        return self.args[0]

    @property
    def free_symbols(self) -> set[Basic]:
        return set(self.body.free_symbols) - {FORCE, SPREAD, TEACHER}

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"\mathbb{{E}}\sum_l {printer._print(self.body)}"


@dataclass(frozen=True)
class Channel:
    """The six scalars and the ridge of one of the two vectors, t = k or t = v."""

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
    def field(self) -> Expr:
        """omega = m h + sqrt(q - m^2) xi."""
        return self.m * TEACHER + sqrt(self.q - self.m**2) * SPREAD


KEY, VALUE = CHANNELS = (Channel("k"), Channel("v"))


def sample_energy() -> Expr:
    """M: mean of the proximal objective at its minimum, a function of (m, q, V) of both channels, left unevaluated."""
    return Function(r"\mathcal{M}")(*(s for t in CHANNELS for s in (t.m, t.q, t.V)))


def prior_energy(t: Channel) -> Expr:
    """E min_k [r k^2/2 + Vhat k^2/2 - (mhat k* + sqrt(qhat) xi) k], for one component of the fitted vector.

    The minimum is at k = (mhat k* + sqrt(qhat) xi)/(r + Vhat); k* and xi are standard normal.
    """
    component, pull = Symbol("component", real=True), Symbol("pull", real=True)
    cost = (t.ridge + t.Vhat) * component**2 / 2 - pull * component
    lowest = cost.subs(component, solve(cost.diff(component), component)[0])
    return simplify(expand(lowest).subs(pull**2, t.mhat**2 + t.qhat))


def energy() -> Expr:
    """Least value of the fit's objective per dimension, as a function whose saddle point is the fixed point.

    alpha M + sum_t [ m mhat + (V qhat - q Vhat)/2 - (mhat^2 + qhat)/(2(r + Vhat)) ].
    """
    terms = [t.m * t.mhat + (t.V * t.qhat - t.q * t.Vhat) / 2 + prior_energy(t) for t in CHANNELS]
    return sum(terms, start=ALPHA * sample_energy())


def response(t: Channel, parameter: Symbol) -> Expr:
    """dM/d(m, q or V) by the envelope theorem: the proximal point is stationary, so only the distance term moves.

    |p - omega|^2/(2 V) is differentiated at fixed p, and p - omega = V f put in.
    """
    point = Symbol("p", real=True)
    moved = ((point - t.field) ** 2 / (2 * t.V)).diff(parameter)
    at_point = simplify(moved.subs(point, t.field + t.V * FORCE))
    return sum((_mean(term) for term in expand(at_point).as_ordered_terms()), start=0 * ALPHA)


def _mean(term: Expr) -> Expr:
    outside, random = term.as_independent(FORCE, SPREAD, TEACHER)
    return outside * TokenMean(random)


@cache
def saddle_point_equations(t: Channel) -> tuple[Eq, ...]:
    """The six equations of one channel, each solved for its left-hand side.

    qhat = alpha E sum f^2;  Vhat = -alpha E sum f xi / sqrt(q - m^2);  mhat = alpha E sum f h + Vhat m;
    V = 1/(r + Vhat);  m = V mhat;  q = V^2 (mhat^2 + qhat): every one the stationarity of the energy in another scalar.
    """
    total = energy()
    gradient = {s: total.diff(s) for s in (t.m, t.q, t.V, t.mhat, t.qhat, t.Vhat)}
    for parameter in (t.m, t.q, t.V):
        gradient[parameter] = gradient[parameter].subs(sample_energy().diff(parameter), response(t, parameter))
    qhat = solve(gradient[t.V], t.qhat)[0]
    vhat = solve(gradient[t.q], t.Vhat)[0]
    # dM/dm holds the mean that Vhat is made of; it is written with Vhat again.
    mean = -vhat * sqrt(t.q - t.m**2) / ALPHA
    folded = {mean: -t.Vhat * sqrt(t.q - t.m**2) / ALPHA}
    mhat = expand(simplify(solve(gradient[t.m], t.mhat)[0].subs(folded)))
    width = solve(gradient[t.qhat], t.V)[0]
    overlap = solve(gradient[t.mhat], t.m)[0].subs(width, t.V)
    length = simplify(solve(gradient[t.Vhat], t.q)[0]).subs(t.ridge + t.Vhat, 1 / t.V)
    found = {t.qhat: qhat, t.Vhat: vhat, t.mhat: mhat, t.V: width, t.m: overlap, t.q: length}
    return tuple(Eq(left, right, evaluate=False) for left, right in found.items())
