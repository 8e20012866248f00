"""The mean square of a linear form in the values: a quadratic form in its coefficients."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, S, Sum

from symslr.algebra.bodies import at_token, is_whole
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import expand_polynomial, separate
from symslr.algebra.rule import Rule
from symslr.algebra.weights import laws_in, mean_one
from symslr.expression.configuration import ConfigurationExpectation
from symslr.expression.expectation import rewrite_expectations
from symslr.model.configuration import ALIKE
from symslr.model.symbols import l, m, xi, z


@final
class ValueCovariance(Rule):
    """Integrate values and noise out of the square of a form that is affine in them."""

    name = "covariance of the values"
    statement = (
        r"\mathbb{E}_w\Big[\big(\sum_l c_l z_l + b\,\xi\big)^2\Big] ="
        r" \mathbb{E}_w\Big[\sum_{l,m} C_{lm} c_l c_m + b^2\Big],\qquad C_{lm}=\mathbb{E}[z_l z_m]"
    )
    conditions = r"values and noise are centred, independent of each other and of $(h,\chi)$; $c_l,b$ do not hold them"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._square, ConfigurationExpectation)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """A constant leaves the mean, so the weight has mean one."""
        return mean_one(laws_in(expr), self)

    def _square(self, node: ConfigurationExpectation) -> Expr:
        if not node.body.has(z, xi):
            return node
        base, power = node.body.as_base_exp()
        if power != 2:
            raise self.refuse(f"{node.body} is not the square of a linear form in values and noise")
        law = node.law
        coefficient, noise, rest = S.Zero, S.Zero, S.Zero
        for term in Add.make_args(base):
            totals = [factor for factor in Mul.make_args(term) if isinstance(factor, Sum) and factor.has(z)]
            if not term.has(z, xi):
                rest += term
            elif totals:
                coefficient += term / totals[0] * self._of_value(totals[0], law.length)
            else:
                noise += self._of_noise(term)
        if coefficient.has(z, xi):
            raise self.refuse(f"{node.body} is not the square of a linear form in values and noise")
        if coefficient == S.Zero:
            square = S.Zero
        elif law.values == ALIKE:
            square = Sum(coefficient**2, (l, 1, law.length))
        else:
            other = at_token(coefficient, l, m, self)
            square = Sum(law.values * coefficient * other, (m, 1, law.length), (l, 1, law.length))
        constant, moving = S.Zero, S.Zero
        for term in (expand_polynomial(noise**2), rest**2, square):
            fixed, random = separate(term, node.bound)
            constant += fixed if random == S.One else S.Zero
            moving += term if random != S.One else S.Zero
        return constant + node.with_body(moving)

    def _of_value(self, total: Sum, length: Expr) -> Expr:
        """c_l of a term sum_l c_l z_l."""
        if not is_whole(total, length):
            raise self.refuse(f"{total} does not run over the tokens 1, ..., {length}")
        index = total.variables[0]
        factors = list(Mul.make_args(total.function))
        if factors.count(z[index]) != 1:
            raise self.refuse(f"{total} is not linear in the values")
        factors.remove(z[index])
        coefficient = Mul(*factors)
        return at_token(coefficient, index, l, self)

    def _of_noise(self, term: Expr) -> Expr:
        """b of a term b xi."""
        coefficient = term / xi
        if coefficient.has(z, xi):
            raise self.refuse(f"{term} is neither a sum over values nor a multiple of the noise")
        return coefficient
