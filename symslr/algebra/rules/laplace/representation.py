"""1/S^k as an integral over u: the normaliser's Laplace representation."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Integral, Mul, S, Sum, exp, factor_terms, gamma, oo

from symslr.algebra.fresh import laplace_variables
from symslr.algebra.rule import Rule
from symslr.algebra.tokens import summand
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations
from symslr.model.admissible import check_nonnegative
from symslr.model.symbols import BOUND_IN_SEQUENCE


@final
class LaplaceRepresentation(Rule):
    """Replace each power of a normaliser in a denominator by an exponential, so that tokens factorise."""

    name = "Laplace representation"
    statement = (
        r"\mathbb{E}\left[\frac{h}{S^{k}}\right] = \int_0^\infty \frac{u^{k-1}}{\Gamma(k)}\,"
        r"\mathbb{E}\left[h\, e^{-uS}\right]\mathrm{d}u"
    )
    conditions = r"$S=o+\sum_l\kappa(\chi_l)>0$ almost surely, $k>0$; Fubini, since the integrand does not change sign"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._represent, SequenceExpectation)

    def _represent(self, node: SequenceExpectation) -> Expr:
        rest, denominators = S.One, []
        for factor in Mul.make_args(node.body):
            base, power = factor.as_base_exp()
            if base.has(Sum) and power.is_negative:
                denominators.append((base, -power))
            elif factor.has(Sum) and not isinstance(factor, exp):
                raise self.refuse(f"{factor} is no power of a normaliser; apply exchangeability first")
            else:
                rest *= factor
        if not denominators:
            return node
        variables = laplace_variables(node.free_symbols)
        prefactor, exponent, limits = S.One, S.Zero, []
        for base, power in denominators:
            self._check_positive(base)
            u = next(variables)
            prefactor *= u ** (power - 1) / gamma(power)
            exponent += u * (base if base.is_Add else factor_terms(base))
            limits.append((u, 0, oo))
        return Integral(prefactor * SequenceExpectation(rest * exp(-exponent), node.law), *limits)

    def _check_positive(self, base: Expr) -> None:
        """Sums are positive where their summand is nonnegative; a parameter of unknown sign, an offset, may be."""
        letters = {total: Dummy(positive=True) for total in base.atoms(Sum)}
        for total in letters:
            try:
                check_nonnegative(summand(total))
            except ValueError as reason:
                raise self.refuse(f"{total} is not known to be positive: {reason}") from reason
        masked = base.xreplace(letters)
        parameters = {s for s in masked.free_symbols - BOUND_IN_SEQUENCE if s.is_Symbol}
        unsigned = {s: Dummy(positive=True) for s in parameters if s.is_positive is None}
        if not masked.xreplace(unsigned).is_positive:
            raise self.refuse(f"{base} is not known to be positive")
