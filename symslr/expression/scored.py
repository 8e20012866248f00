"""Attention for a key that is not along k*: scores mix the key projections with the values and with noise."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, Integer, S, Sum, Symbol
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.model.attention import Attention
from symslr.model.symbols import L, chi, eta, m, x, z

FAMILIES = (chi, z, eta)
"""What a score may depend on: iid over tokens under E_0, and z and eta standard normal under every E_g."""


@final
class ScoredActivation(Expr):
    """sigma_i = kappa(s_i)/N at scores s_i that are linear in chi_i, z_i and eta_i.

    ``args = (i, kernel, N?, offset, score, length)``; the score is written for the token ``m``.

    Source: arXiv 2509.21936, section 4 (off the manifold).
    """

    is_commutative = True
    is_real = True

    @classmethod
    def of(cls, index: Expr, attention: Attention, score: Expr, length: Expr = L) -> ScoredActivation:
        return cls(index, attention.kernel, Integer(int(attention.is_normalised)), attention.offset, score, length)

    @property
    def index(self) -> Expr:
        return self.args[0]

    @property
    def score(self) -> Expr:
        """s_m."""
        return self.args[4]

    def at(self, index: Expr) -> ScoredActivation:
        """The attention paid to another token."""
        return self.func(index, *self.args[1:])

    def with_score(self, score: Expr) -> ScoredActivation:
        """The same attention at other scores."""
        return self.func(*self.args[:4], score, self.args[5])

    @property
    def free_symbols(self) -> set[Basic]:
        index, kernel, _, offset, score, length = self.args
        rest = (kernel.free_symbols - {x}) | offset.free_symbols | length.free_symbols | index.free_symbols
        return rest | {s for s in score.free_symbols - {m} if s.is_Symbol}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if old.free_symbols & {x, m} else None

    def doit(self, **hints: object) -> Expr:
        index, kernel, normalised, offset, score, length = self.args
        own = kernel.subs(x, score.subs(m, index))
        if normalised == S.Zero:
            return own
        return own / (offset + Sum(kernel.subs(x, score), (m, 1, length)))

    def bare_score(self) -> Expr:
        """The score as it is printed, the families without their token."""
        return self.score.xreplace({family[m]: Symbol(str(family), real=True) for family in FAMILIES})

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"sigma[{self.index}]({printer._print(self.bare_score())})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        index, score = printer._print(self.index), printer._print(self.bare_score())
        return rf"\sigma_{{{index}}}{power}\left({score}\right)"
