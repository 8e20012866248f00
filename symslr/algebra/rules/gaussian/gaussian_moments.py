"""Isserlis' theorem: moments of jointly Gaussian variables as sums over pairings."""

from __future__ import annotations

from typing import final

from sympy import Abs, Add, Dummy, Expr, Indexed, IndexedBase, Mul, Poly, S, Sum, factorial2, pi, sign, sqrt

from symslr.algebra.bodies import at_token, check_whole, rewrite_sequences, tokens_exist
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import expand_polynomial, split_sums
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules.gaussian.cameron_martin import gaussian_shift
from symslr.expression.expectation import (
    ScalarExpectation,
    SequenceExpectation,
    rewrite_expectations,
)
from symslr.expression.scored import ScoredActivation
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import OTHERS, chi, epsilon, eta, x, xi, z, zeta

LinearForm = tuple[object, Expr]
"""A Gaussian linear form (family, coefficient); the coefficient is an index, or a Sum for a sum over tokens."""


@final
class GaussianMoments(Rule):
    """Integrate z, zeta, eta and xi out of a sequence expectation, and the variable out of a scalar one, by pairings.

    Under E_g the values z_l, zeta_l, eta_l and the noise xi are independent N(0, 1), whatever the weight g(epsilon, chi)
    is. A family on which the scores of an attention depend stays inside. A scalar mean may be one of |x| and sign x too.
    """

    name = "Gaussian moments"
    statement = (
        r"\mathbb{E}[G_1\cdots G_{2n}] = \sum_{\text{pairings}}\prod \mathbb{E}[G_iG_j],\qquad"
        r" \mathbb{E}\Big[\sum_l a_l z_l \sum_m b_m z_m\,\Big|\,\chi\Big] = \sum_l a_l b_l"
    )
    conditions = (
        r"$z,\zeta,\eta,\xi$ are iid standard normal and independent of $(\epsilon,\chi)$ and of the scores;"
        r" odd moments vanish"
    )
    source = "isserlis1918"

    def rewrite(self, expr: Expr) -> Expr:
        scalars = rewrite_expectations(expr, self._scalar, ScalarExpectation)
        return rewrite_sequences(scalars, self._sequence, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return tokens_exist(expr, self)

    def _sequence(self, node: SequenceExpectation) -> Expr:
        if node.body.has(chi[epsilon]) and not node.body.subs(chi[epsilon], x).free_symbols & node.bound:
            return self._relevant(node)
        inside = {label for sigma in node.body.atoms(ScoredActivation) for label in sigma.score.free_symbols}
        families = tuple(family for family in (z, zeta, eta) if family.label not in inside)
        if not node.body.has(*families, xi):
            return node
        terms = []
        for term in Add.make_args(expand_polynomial(split_sums(node.body))):
            forms, rest = self._linear_forms(term, families)
            for _, form in forms:
                check_whole(form, node.law.length, self)
            terms.append(rest * self._pairings(forms))
        return node.with_body(Add(*terms))

    def _relevant(self, node: SequenceExpectation) -> Expr:
        """A polynomial in chi_epsilon, where g shifts it; left alone under any other weight."""
        try:
            shift = S.Zero if node.law.weight == S.One else gaussian_shift(node.law, self)
        except RuleRefused:
            return node
        return self._scalar(ScalarExpectation(node.body.subs(chi[epsilon], x + shift), x, node.law.base))

    def _linear_forms(self, term: Expr, families: tuple[IndexedBase, ...]) -> tuple[list[LinearForm], Expr]:
        forms: list[LinearForm] = []
        rest = S.One
        for factor in Mul.make_args(term):
            if not factor.has(*families, xi):
                rest *= factor
                continue
            base, power = factor.args if factor.is_Pow else (factor, S.One)
            if not (power.is_Integer and power > 0):
                raise self.refuse(f"{factor} is not a polynomial in z, zeta, eta and xi")
            forms.extend([self._linear_form(base, families)] * int(power))
        return forms, rest

    def _linear_form(self, base: Expr, families: tuple[IndexedBase, ...]) -> LinearForm:
        if base == xi:
            return (xi, xi)
        if isinstance(base, Indexed):
            if base.indices[0] not in (epsilon, *OTHERS):
                raise self.refuse(f"{base} may be the value of the relevant token or not")
            return (base.base, base.indices[0])
        if isinstance(base, Sum):
            index = base.variables[0]
            for family in families:
                coefficient = expand_polynomial(base.function).coeff(family[index])
                linear = expand_polynomial(base.function - coefficient * family[index]) == 0
                if linear and not coefficient.has(*families, xi):
                    return (family, Sum(coefficient, *base.limits))
        raise self.refuse(f"{base} is not a linear form in one of z, zeta, eta, xi; expand it first")

    def _scalar(self, node: ScalarExpectation) -> Expr:
        body, side = node.body, node.variable
        if body.has(Abs, sign):  # the even part, on the half line where neither is left
            side = Dummy(positive=True)
            body = Add(*(body.subs(node.variable, way * side) for way in (1, -1))) / 2
        if node.law != STANDARD_NORMAL or not body.is_polynomial(side):
            return node
        return Add(*(c * _absolute_moment(n) for (n,), c in Poly(body, side).terms() if n % 2 == 0 or side.is_positive))

    def _pairings(self, forms: list[LinearForm]) -> Expr:
        if not forms:
            return S.One
        if len(forms) % 2:
            return S.Zero
        first, *others = forms
        pairs = ((self._covariance(first, other), others[:i] + others[i + 1 :]) for i, other in enumerate(others))
        return Add(*(covariance * self._pairings(rest) for covariance, rest in pairs))

    def _covariance(self, one: LinearForm, two: LinearForm) -> Expr:
        (family, left), (other_family, right) = one, two
        if family != other_family:
            return S.Zero
        if isinstance(left, Sum) and isinstance(right, Sum):
            (index, *ends) = left.limits[0]
            other = at_token(right.function, right.variables[0], index, self)
            return Sum(left.function * other, (index, *ends))
        if isinstance(left, Sum):
            return at_token(left.function, left.variables[0], right, self)
        if isinstance(right, Sum):
            return at_token(right.function, right.variables[0], left, self)
        return S.One if left == right else S.Zero


def _absolute_moment(n: int) -> Expr:
    """E|x|^n of a standard normal x."""
    return factorial2(n - 1) * (S.One if n % 2 == 0 else sqrt(2 / pi))
