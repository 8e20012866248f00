"""The risk of an attention in all seven order parameters of its key and value vectors.

k = m_kk k* + m_kv v* + sqrt(R_kk) e and v = m_vk k* + m_vv v* + (R_kv/sqrt(R_kk)) e + ..., with e and what follows
orthogonal to k* and v*, and R = q - m m^T >= 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import ClassVar, final

from sympy import Basic, Dummy, Expr, Function, Rational, S, Sum, sqrt
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import Collect, GaussianMoments, Linearity, RotateNoise, TurnTowardsKey, Unfold
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import Quantity
from symslr.expression.scored import ScoredActivation
from symslr.model.attention import Attention
from symslr.model.put_in import put_in
from symslr.model.symbols import (
    BOUND_IN_SEQUENCE,
    ORDER_PARAMETERS,
    L,
    chi,
    epsilon,
    eta,
    l,
    m,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    o,
    q_kk,
    q_kv,
    q_vv,
    x,
    z,
    zeta,
)
from symslr.model.task import Task
from symslr.theory.definitions import over_length, squared_loss

R_KK = q_kk - m_kk**2 - m_kv**2
R_KV = q_kv - m_kk * m_vk - m_kv * m_vv
R_VV = q_vv - m_vk**2 - m_vv**2
"""R = q - m m^T, the parts of k and v outside span(k*, v*)."""

ALONG = R_KV / sqrt(R_KK)
ACROSS = sqrt(R_VV - (-R_KV) ** 2 / R_KK)
"""Of the part of v outside span(k*, v*): its components along that of k and across it."""


def score(index: Expr) -> Expr:
    """chi_l = m_kk chi*_l + m_kv z*_l + sqrt(R_kk) eta_l, the projection of token l on k."""
    return m_kk * chi[index] + m_kv * z[index] + sqrt(R_KK) * eta[index]


def value(index: Expr) -> Expr:
    """z_l = m_vk chi*_l + m_vv z*_l + (R_kv/sqrt(R_kk)) eta_l + sqrt(R_vv - R_kv^2/R_kk) zeta_l, the projection on v."""
    return m_vk * chi[index] + m_vv * z[index] + ALONG * eta[index] + ACROSS * zeta[index]


def attention_at_key(attention: Attention, length: Expr = L) -> ScoredActivation:
    """sigma_epsilon at the scores of k."""
    return ScoredActivation.of(epsilon, attention, score(m), length)


ANY_NORMALISED = ScoredActivation(epsilon, OpenKernel(x), S.One, o, score(m), L)
ANY_ELEMENTWISE = ScoredActivation(epsilon, Function("kappa", real=True)(x), S.Zero, S.Zero, score(m), L)
"""Attentions with a kernel, and an offset o >= 0, that are left open."""


def prediction(sigma: ScoredActivation) -> Expr:
    """f(X) = sum_l sigma_l(chi) z_l."""
    return Sum(sigma.at(l) * value(l), (l, 1, L))


def landscape_loss(task: Task, attention: Attention | ScoredActivation) -> Expr:
    """E_g (y - sum_l sigma_l(chi) z_l)^2 at key and value vectors with the seven order parameters."""
    sigma = attention if isinstance(attention, ScoredActivation) else attention_at_key(attention)
    return over_length(squared_loss(prediction(sigma), task.law, task.noise), task.length)


@final
class LandscapeRisk(Quantity):
    """E(m, q) = E_g (y - sum_l sigma_l z_l)^2; ``args = (loss in the symbols of the seven, *values of the seven)``.

    Source: arXiv 2509.21936, section 4.
    """

    source: ClassVar[str] = "duranthon2025, Sec. 4"
    domain: ClassVar[str] = r"$R = q - m m^\top$ positive semidefinite"

    @classmethod
    def of(
        cls, task: Task, attention: Attention | ScoredActivation, at: Mapping[Expr, Expr] | None = None
    ) -> LandscapeRisk:
        """The risk at some values of the order parameters, the others being their symbols."""
        values = at or {}
        return cls(landscape_loss(task, attention), *(values.get(symbol, symbol) for symbol in ORDER_PARAMETERS))

    @property
    def free_symbols(self) -> set[Basic]:
        loss, *at = self.args
        own = {s for s in loss.free_symbols if s.is_Symbol} - BOUND_IN_SEQUENCE - set(ORDER_PARAMETERS)
        return own.union(*(value.free_symbols for value in at))

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        """A parameter is put into the loss too; an order parameter stands there for its place, and is put into the places alone.

        Raises:
            ValueError: when what is put into the loss holds an order parameter that has a value of its own here.
        """
        loss, *at = self.args
        if old not in ORDER_PARAMETERS and loss.has(old):
            placed = {symbol for symbol, value in zip(ORDER_PARAMETERS, at) if symbol != value} & new.free_symbols
            if placed:
                raise ValueError(
                    f"{new} cannot replace {old} in {self}: {min(map(str, placed))} has another value there"
                )
            loss = loss.subs(old, new)
        return self.func(loss, *(value.subs(old, new) for value in at))

    def definition(self) -> Expr:
        """The loss there; q_kk is put in last, so that R_kv/sqrt(R_kk) is 0 where k has no part outside and R_kv is 0."""
        loss, *at = self.args
        place, length = dict(zip(ORDER_PARAMETERS, at)), Dummy(positive=True)
        others = put_in(loss, {**place, q_kk: length})
        return others.subs(length, place[q_kk])

    def derivation(self) -> Derivation:
        return reduced(Derivation(self).apply(Unfold(LandscapeRisk)))

    def formula(self) -> Expr:
        """With expectations over one Gaussian a token where the weight shifts a Gaussian, over two elsewhere."""
        return self.derivation().result

    def _latex(self, printer: LatexPrinter) -> str:
        moved = self._moved(printer).replace(", ", r",\,")
        return r"\mathcal{E}" + (rf"\left({moved}\right)" if moved else "")

    def _sympystr(self, printer: StrPrinter) -> str:
        moved = self._moved(printer)
        return f"LandscapeRisk({moved})" if moved else "LandscapeRisk"

    def _moved(self, printer: LatexPrinter | StrPrinter) -> str:
        """The order parameters that do not stand for themselves."""
        pairs = zip(ORDER_PARAMETERS, self.args[1:])
        return ", ".join(f"{printer._print(s)}={printer._print(value)}" for s, value in pairs if s != value)


ADMISSIBLE = {
    m_kk: (Rational(-1, 2), Rational(1, 2)),
    m_vv: (Rational(-1, 2), Rational(1, 2)),
    m_kv: (Rational(-2, 5), Rational(2, 5)),
    m_vk: (Rational(-2, 5), Rational(2, 5)),
    q_kv: (Rational(-1, 5), Rational(1, 5)),
    q_kk: (Rational(9, 10), Rational(3, 2)),
    q_vv: (Rational(3, 2), Rational(5, 2)),
}
"""Ranges for the points of a check: everywhere in this box q - m m^T is positive."""

ON_MANIFOLD = {m_kv: S.Zero, m_vk: S.Zero, q_kv: S.Zero}
"""Where the flow of a start on the manifold stays: z -> -z with v* -> -v* and v -> -v changes the sign of these three."""


@cache
def landscape_chain(task: Task, attention: Attention) -> Derivation:
    """From the definition to expectations over one Gaussian a token where g shifts a Gaussian, over two elsewhere."""
    return reduced(Derivation(landscape_loss(task, attention)))


def reduced(chain: Derivation) -> Derivation:
    """The rules that lead from a landscape loss to its risk, applied to a chain that starts there."""
    turns: tuple[Rule, ...] = (RotateNoise(), TurnTowardsKey())
    for rule in (*turns, GaussianMoments(), Collect(), Linearity(), GaussianMoments(), Collect()):
        with suppress(RuleRefused):  # on the manifold some of them find nothing to do
            chain = chain.apply(rule)
    return chain


def landscape_risk(task: Task, attention: Attention) -> Expr:
    """E(m, q), the population risk at key and value vectors with given order parameters, in the symbols of the seven.

    Where the weight shifts a Gaussian (spiked-SLR) it stands in expectations over one Gaussian a token, at the signal
    strength nu m_kk^2/q_kk and the scale sqrt(q_kk) that the key sees, and ``evaluate`` takes it to any digits. Elsewhere
    chi* and the part of the score that it leaves open are two; ``symslr.evaluation.landscape`` has numbers for both.

    Source: arXiv 2509.21936, section 4; derived in derivations/25_landscape.py.
    """
    return landscape_chain(task, attention).result
