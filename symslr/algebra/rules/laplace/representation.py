"""1/S^k as an integral over u: the normaliser's Laplace representation."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Ge, Integral, Mul, S, Sum, exp, gamma, latex, oo

from symslr.algebra.bodies import rewrite_sequences
from symslr.algebra.existence import check_existence
from symslr.algebra.fresh import laplace_variables
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_nonnegative, vanishes_on_null_set
from symslr.algebra.rule import Rule
from symslr.algebra.tokens import summand
from symslr.expression.expectation import SequenceExpectation
from symslr.model.admissible import check_kernel, check_nonnegative
from symslr.model.symbols import BOUND_IN_SEQUENCE, x


@final
class LaplaceRepresentation(Rule):
    """Replace each power of a normaliser in a denominator by an exponential, so that tokens factorise."""

    name = "Laplace representation"
    statement = (
        r"\mathbb{E}\left[\frac{h}{S^{k}}\right] = \int_0^\infty \frac{u^{k-1}}{\Gamma(k)}\,"
        r"\mathbb{E}\left[h\, e^{-uS}\right]\mathrm{d}u"
    )
    conditions = r"$S=o+\sum_l\kappa(\chi_l)>0$ almost surely, $k>0$; $\mathbb{E}|h|/S^k<\infty$, so that Fubini holds"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._represent, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """Offsets of unknown sign are not negative, kernels with parameters either; the mean exists."""
        found: list[Hypothesis] = []
        for node in sorted(expr.atoms(SequenceExpectation), key=str):
            bases = [base for base, _ in _normalisers(node.body)]
            if bases:
                offsets = {s: Dummy(nonnegative=True) for base in bases for s in _unsigned(base)}
                found += check_existence([node.with_body(node.body.xreplace(offsets))], self)
            for base in bases:
                found += [Hypothesis.of(Ge(s, 0)) for s in _unsigned(base)]
                kernels = (summand(total) for total in base.atoms(Sum))
                found += [
                    Hypothesis(rf"${latex(kernel)}\ge0$ for every $x$")
                    for kernel in kernels
                    if kernel.free_symbols - {x} and not is_nonnegative(kernel)
                ]
        return tuple(dict.fromkeys(found))

    def _represent(self, node: SequenceExpectation) -> Expr:
        denominators = _normalisers(node.body)
        rest = node.body * Mul(*(base**power for base, power in denominators))
        for factor in Mul.make_args(rest):
            if factor.has(Sum) and not isinstance(factor, exp):
                raise self.refuse(f"{factor} is no power of a normaliser; apply exchangeability first")
        if not denominators:
            return node
        variables = laplace_variables(node.free_symbols)
        prefactor, exponent, limits = S.One, S.Zero, []
        for base, power in denominators:
            self._check_positive(base, node.law.base.support)
            u = next(variables)
            prefactor *= u ** (power - 1) / gamma(power)
            exponent += u * base
            limits.append((u, 0, oo))
        return Integral(prefactor * SequenceExpectation(rest * exp(-exponent), node.law), *limits)

    def _check_positive(self, base: Expr, support: tuple[Expr, Expr]) -> None:
        """Sums are positive where their summand is nonnegative at all tokens; a parameter of unknown sign, an offset, may be."""
        letters = {total: Dummy(positive=True) for total in base.atoms(Sum)}
        for total in letters:
            kernel = summand(total)
            try:
                if not is_nonnegative(kernel):
                    check_nonnegative(kernel, support)
                if not vanishes_on_null_set(total.function) and not _has_offset(base, letters):
                    check_kernel(kernel, kernel.free_symbols - {x}, normalised=True, may_vanish=False, support=support)
            except ValueError as reason:
                raise self.refuse(f"{total} is not known to be positive: {reason}") from reason
        unsigned = {s: Dummy(positive=True) for s in _unsigned(base)}
        if not base.xreplace(letters).xreplace(unsigned).is_positive:
            raise self.refuse(f"{base} is not known to be positive")


def _normalisers(body: Expr) -> list[tuple[Expr, Expr]]:
    """(S, k) for every factor S^{-k} with a sum over tokens."""
    powers = (factor.as_base_exp() for factor in Mul.make_args(body))
    return [(base, -power) for base, power in powers if base.has(Sum) and power.is_negative]


def _has_offset(base: Expr, letters: dict[Expr, Expr]) -> bool:
    """Whether S > 0 where every sum in it is zero."""
    return bool(base.xreplace({total: S.Zero for total in letters}).is_positive)


def _unsigned(base: Expr) -> list[Expr]:
    """Parameters beside the sums whose sign is not known and matters: offsets."""
    masked = base.xreplace({total: Dummy(positive=True) for total in base.atoms(Sum)})
    if masked.is_positive:
        return []
    parameters = (s for s in masked.free_symbols - BOUND_IN_SEQUENCE if s.is_Symbol)
    return sorted((s for s in parameters if s.is_nonnegative is None), key=str)
