"""Named formulas that expand with ``.doit()``: activation, posterior, conditional mean, minimum."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, Integer, S, Sum, Symbol, exp
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.binding import bound_subs
from symslr.expression.scored import ScoredActivation
from symslr.model.attention import Attention
from symslr.model.configuration import ConfigurationLaw
from symslr.model.exact import exact
from symslr.model.largest import IsLargest
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, m, x, xi, z


@final
class Activation(Expr):
    """sigma_i = kappa(a chi_i)/N, the attention paid to token i; ``args = (i, kernel, N?, offset, scale, length)``.

    Source: arXiv 2509.21936, section 2.
    """

    is_commutative = True
    is_real = True

    @classmethod
    def of(cls, index: Expr, attention: Attention, scale: Expr, length: Expr = L) -> Activation:
        normalised = Integer(int(attention.is_normalised))
        return cls(index, attention.kernel, normalised, attention.offset, exact(scale, "scale"), length)

    @property
    def index(self) -> Expr:
        return self.args[0]

    @property
    def kernel(self) -> Expr:
        """kappa, in x."""
        return self.args[1]

    @property
    def is_softmax(self) -> bool:
        """Whether it is softmax(a chi)_i, with the exponential for its kernel."""
        return self.args[1:4] == (exp(x), S.One, S.Zero)

    @property
    def scores(self) -> Expr:
        """a chi, as it is printed without its token."""
        return self.args[4] * Symbol("chi", real=True)

    def with_kernel(self, kernel: Expr) -> Activation:
        """The attention with another kernel, or the same one written differently."""
        return self.func(self.index, kernel, *self.args[2:])

    def at(self, index: Expr) -> Activation:
        """The attention paid to another token."""
        return self.func(index, *self.args[1:])

    @property
    def free_symbols(self) -> set[Basic]:
        index, kernel, _, offset, scale, length = self.args
        rest = (kernel.free_symbols - {x}) | offset.free_symbols | scale.free_symbols | length.free_symbols
        return rest | index.free_symbols | {chi.label}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if x in old.free_symbols else None

    def doit(self, **hints: object) -> Expr:
        index, kernel, normalised, offset, scale, length = self.args
        score = kernel.xreplace({x: scale * chi[index]})
        if normalised == S.Zero:
            return score
        return score / (offset + Sum(kernel.xreplace({x: scale * chi[m]}), (m, 1, length)))

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"sigma[{self.index}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"\sigma_{{{printer._print(self.index)}}}{power}"


@final
class Posterior(Expr):
    """p_i = P(epsilon = i | chi) = g(i, chi) / sum_m g(m, chi), from Bayes' rule; ``args = (i, law)``."""

    is_commutative = True
    is_real = True

    @property
    def index(self) -> Expr:
        return self.args[0]

    @property
    def law(self) -> SequenceLaw:
        return self.args[1]

    def at(self, index: Expr) -> Posterior:
        """The posterior probability of another token."""
        return self.func(index, self.law)

    @property
    def free_symbols(self) -> set[Basic]:
        return self.law.free_symbols | self.index.free_symbols | {chi.label}

    def doit(self, **hints: object) -> Expr:
        if self.law.selects_largest:
            return IsLargest.of(self.index, self.law.length)
        kernel = self.law.posterior_kernel
        if kernel is not None:
            return kernel.subs(x, chi[self.index]) / self.law.token_sum(kernel)
        weight = self.law.weight
        own = _summed_over(m if self.index != m else l, weight).subs(epsilon, self.index)
        return own / Sum(_summed_over(l, weight).subs(epsilon, m), (m, 1, self.law.length))

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"p[{self.index}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"p_{{{printer._print(self.index)}}}{power}"


def _summed_over(index: Expr, weight: Expr) -> Expr:
    """The weight with its sums over tokens written with ``index``, so that no token that is put in for epsilon is captured."""
    sums = {s: Sum(s.function.subs(s.variables[0], index), (index, *s.limits[0][1:])) for s in weight.atoms(Sum)}
    return weight.xreplace(sums)


@final
class ConditionalMean(Expr):
    """E[label | X] for a label in values, xi and what is hidden, the Bayes predictor of squared loss; ``args = (label, law)``."""

    is_commutative = True
    is_real = True

    @property
    def label(self) -> Expr:
        return self.args[0]

    @property
    def law(self) -> SequenceLaw | ConfigurationLaw:
        return self.args[1]

    @property
    def free_symbols(self) -> set[Basic]:
        found = (self.law.free_symbols | self.label.free_symbols | {chi.label, z.label}) - {xi} - self.law.hidden
        return {s for s in found if s.is_Symbol}

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"\mathbb{{E}}\left[{printer._print(self.label)} \mid X\right]"


@final
class Minimum(Expr):
    """min over real ``variable`` of ``body``; ``args = (body, variable)``."""

    is_commutative = True
    is_real = True

    @property
    def body(self) -> Expr:
        return self.args[0]

    @property
    def variable(self) -> Expr:
        return self.args[1]

    @property
    def free_symbols(self) -> set[Basic]:
        return self.body.free_symbols - {self.variable}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return bound_subs(self, {self.variable}, old, new)

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"\min_{{{printer._print(self.variable)}}} \left\{{{printer._print(self.body)}\right\}}"


FOLDED = (Activation, ScoredActivation, Posterior)
"""Nodes whose ``.doit()`` is a formula in chi."""
