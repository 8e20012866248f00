"""Law of a sequence with one relevant token: iid tokens, reweighted by g(epsilon, chi)."""

from __future__ import annotations

from functools import lru_cache

from sympy import Basic, Expr, Mul, S, Sum, simplify

from symslr.model.exact import exact
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.split_factor import split_factor
from symslr.model.symbols import BOUND_IN_SEQUENCE, chi, epsilon, m, x


class SequenceLaw(Basic):
    """epsilon uniform on 1..L; chi_l iid from ``base``; z_l, xi iid N(0, 1); the whole reweighted by ``weight``.

    Expectations under it are written E_g; ``SequenceLaw(1, L)`` is the unweighted law, E_0. The weight depends on the
    key projections alone, so z and xi stay standard normal and independent of (epsilon, chi).

    Args:
        weight: g, an expression in ``chi[epsilon]`` and in sums ``Sum(h(chi[l]), (l, 1, L))``, symmetric in the other
            tokens, with mean 1 under E_0.
        length: the number of tokens, an integer or a symbol.
        base: law of a token's key projection, N(0, 1) by default.

    Source: arXiv 2509.21936, section 2.
    """

    def __new__(cls, weight: Expr, length: Expr, base: ScalarLaw = STANDARD_NORMAL) -> SequenceLaw:
        return super().__new__(cls, exact(weight), exact(length), base)

    @property
    def weight(self) -> Expr:
        return self.args[0]

    @property
    def length(self) -> Expr:
        return self.args[1]

    @property
    def base(self) -> ScalarLaw:
        return self.args[2]

    @property
    def hidden(self) -> frozenset[Basic]:
        """What is averaged over given X, besides the noise."""
        return frozenset({epsilon})

    @property
    def free_symbols(self) -> set[Basic]:
        found = {s for arg in self.args for s in arg.free_symbols}
        return {s for s in found if s.is_Symbol} - BOUND_IN_SEQUENCE

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if old.free_symbols & BOUND_IN_SEQUENCE else None

    def _sympystr(self, printer: object) -> str:
        return f"law(g={self.weight}, L={self.length})"

    def unweighted(self) -> SequenceLaw:
        """The same tokens without the weight: E_0."""
        return SequenceLaw(S.One, self.length, self.base)

    @property
    def relevant_factor(self) -> Expr | None:
        """w(x) where g = w(chi_epsilon), a function of the relevant token alone; None for any other weight."""
        rest = self.weight.subs(chi[epsilon], x)
        return None if rest.has(chi) else rest

    @property
    @lru_cache(maxsize=512)  # noqa: B019 - as below
    def posterior_kernel(self) -> Expr | None:
        """w(x) with P(epsilon = l | chi) = w(chi_l) / sum_m w(chi_m); None where g is not of that form.

        Found when every factor of g either depends on chi_epsilon alone or is symmetric in all tokens; given without
        factors that do not depend on x, which cancel.
        """
        kernel = S.One
        for factor in Mul.make_args(self.weight):
            own = factor.subs(chi[epsilon], x)
            if not own.has(chi):
                kernel *= split_factor(own)[1]
            elif factor.has(epsilon):  # beside another token, as in Sum(h(chi[l] - chi[epsilon]), (l, 1, L))
                return None
        return kernel

    @property
    def selects_largest(self) -> bool:
        """True where epsilon is the token with the largest key projection (max-SLR at nu = infinity)."""
        return self.weight == self.length * IsLargest.of(epsilon, self.length)

    @property
    @lru_cache(maxsize=512)  # noqa: B019 - simplified once for equal laws, which rules ask for again and again
    def is_selection(self) -> bool:
        """True where sum_l g(l, chi) = L at every chi: tokens stay iid and epsilon is drawn given chi (max-SLR)."""
        if self.selects_largest:
            return True
        kernel = self.posterior_kernel
        if kernel is None or self.relevant_factor is not None:
            return False
        normalised = self.length * kernel.subs(x, chi[epsilon]) / self.token_sum(kernel)
        return simplify(self.renamed(self.weight) / normalised) == 1

    def token_sum(self, h: Expr) -> Sum:
        """sum over all tokens of h(chi_m), for h an expression in ``x``."""
        return Sum(h.subs(x, chi[m]), (m, 1, self.length))

    @staticmethod
    def renamed(expr: Expr) -> Expr:
        """``expr`` with every sum over tokens written with the index m, so that equal sums compare equal."""
        sums = {s: Sum(s.function.subs(s.variables[0], m), (m, *s.limits[0][1:])) for s in expr.atoms(Sum)}
        return expr.xreplace(sums)
