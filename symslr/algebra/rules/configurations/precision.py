"""Inverses of covariances over positions: independent and equally correlated tokens, and a stationary chain."""

from __future__ import annotations

from abc import abstractmethod
from typing import final

from sympy import Abs, Add, Expr, Gt, KroneckerDelta, Lt, Mul, S, Sum

from symslr.algebra.bodies import at_token
from symslr.algebra.configurations import equally_correlated
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.expression.configuration import Precision
from symslr.expression.signs import Indicator
from symslr.model.symbols import l, m


class _KnownInverse(Rule):
    """Abstract: replaces C^-1 f, a sum over positions, and single entries of C^-1, for the covariances of one kind."""

    def rewrite(self, expr: Expr) -> Expr:
        if isinstance(expr, Sum) and len(expr.limits) == 1:
            made = self._row(expr)
            if made is not None:
                return made
        if isinstance(expr, Precision):
            return self.entry(expr)
        if not expr.args or not expr.has(Precision) or not isinstance(expr, Expr):
            return expr
        return expr.func(*(self.rewrite(arg) for arg in expr.args))

    def _row(self, total: Sum) -> Expr | None:
        """sum_j (C^-1)_ij f_j, where the summand is that; None elsewhere."""
        index, *ends = total.limits[0]
        found = [factor for factor in Mul.make_args(total.function) if isinstance(factor, Precision)]
        if len(found) != 1 or tuple(ends) != (1, found[0].length):
            return None
        first, second = found[0].places
        if second != index or index in first.free_symbols:
            return None
        rest = Mul(*(factor for factor in Mul.make_args(total.function) if factor != found[0]))
        return self.row(found[0], first, rest, index)

    @abstractmethod
    def entry(self, node: Precision) -> Expr:
        """(C^-1)_ij.

        Raises:
            RuleRefused: for another covariance.
        """

    @abstractmethod
    def row(self, node: Precision, place: Expr, term: Expr, index: Expr) -> Expr:
        """sum_j (C^-1)_ij f_j with f_index = term."""


@final
class RankOnePrecision(_KnownInverse):
    """Invert a multiple of the identity plus the same covariance for all pairs."""

    name = "inverse of equally correlated tokens"
    statement = r"\big(aI+b\,\mathbf{1}\mathbf{1}^{\top}\big)^{-1} = \frac1a\Big(I-\frac{b}{a+bL}\mathbf{1}\mathbf{1}^{\top}\Big)"
    conditions = r"$a>0$, $a+bL>0$"
    source = "sherman1950"

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        wanted = []
        for node in sorted(expr.atoms(Precision), key=str):
            a, b = equally_correlated(node.covariance, self)
            wanted += [part for part in (a, a + b * node.length) if not part.is_positive]
        return tuple(dict.fromkeys(Hypothesis.of(Gt(part, 0)) for part in wanted))

    def entry(self, node: Precision) -> Expr:
        a, b = equally_correlated(node.covariance, self)
        return KroneckerDelta(*node.places) / a - b / (a * (a + b * node.length))

    def row(self, node: Precision, place: Expr, term: Expr, index: Expr) -> Expr:
        a, b = equally_correlated(node.covariance, self)
        every = Sum(term, (index, 1, node.length))
        return at_token(term, index, place, self) / a - b / (a * (a + b * node.length)) * every


@final
class ChainPrecision(_KnownInverse):
    """Invert the covariance of a stationary Markov chain: neighbours alone are left."""

    name = "inverse of a stationary chain"
    statement = (
        r"C_{lm}=\rho^{|l-m|}\ \Longrightarrow\ (1-\rho^2)\,(C^{-1}f)_l ="
        r" \big(1+\rho^2(1-\delta_{l1}-\delta_{lL})\big)f_l-\rho f_{l-1}-\rho f_{l+1},\qquad f_0=f_{L+1}=0"
    )
    conditions = r"$-1<\rho<1$"
    source = "kac1953"

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        sizes = [Abs(self._correlation(node)) for node in sorted(expr.atoms(Precision), key=str)]
        return tuple(dict.fromkeys(Hypothesis.of(Lt(size, 1)) for size in sizes if Lt(size, 1) != S.true))

    def entry(self, node: Precision) -> Expr:
        rho, (first, second) = self._correlation(node), node.places
        beside = KroneckerDelta(first, second + 1) + KroneckerDelta(first + 1, second)
        own = KroneckerDelta(first, second) * self._own(rho, first, node.length)
        return (
            (own - rho * beside) / (1 - rho**2)
            if first != second
            else self._own(rho, first, node.length) / (1 - rho**2)
        )

    def row(self, node: Precision, place: Expr, term: Expr, index: Expr) -> Expr:
        rho = self._correlation(node)
        left = Indicator(Gt(place, 1)) * at_token(term, index, place - 1, self)
        right = Indicator(Lt(place, node.length)) * at_token(term, index, place + 1, self)
        own = self._own(rho, place, node.length) * at_token(term, index, place, self)
        return Add(own, -rho * left, -rho * right) / (1 - rho**2)

    @staticmethod
    def _own(rho: Expr, place: Expr, length: Expr) -> Expr:
        return 1 + rho**2 * (1 - KroneckerDelta(place, 1) - KroneckerDelta(place, length))

    def _correlation(self, node: Precision) -> Expr:
        covariance = node.covariance
        if covariance.is_Pow and covariance.exp in (Abs(l - m), Abs(m - l)) and not covariance.base.has(l, m):
            return covariance.base
        raise self.refuse(f"the covariance {covariance} is not rho^|l - m|")
