"""Gaussian integration by parts of one variable."""

from __future__ import annotations

from typing import final

from sympy import Add, Derivative, Dummy, Expr, Pow, S, Subs, exp, sin

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import expand_polynomial
from symslr.algebra.positivity import is_absolutely_continuous
from symslr.algebra.rule import Rule
from symslr.expression.convolution import GaussianConvolution
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.scalar_law import STANDARD_NORMAL


@final
class GaussianByParts(Rule):
    """Trade a factor x for a derivative, in each term of a scalar expectation that carries x to the first power."""

    name = "Gaussian integration by parts"
    statement = r"\mathbb{E}\left[x\,h(x)\right] = \mathbb{E}\left[h'(x)\right],\qquad x\sim\mathcal{N}(0,1)"
    conditions = r"$h$ is absolutely continuous; $x\,h$ and $h'$ are integrable"
    source = "stein1981"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._by_parts, ScalarExpectation)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return (Hypothesis("slopes in the Gaussian variable that are integrable"),)

    def _by_parts(self, node: ScalarExpectation) -> Expr:
        if node.law != STANDARD_NORMAL:
            raise self.refuse(f"{node.variable} is not standard normal")
        terms = [self._term(term, node.variable) for term in Add.make_args(expand_polynomial(node.body))]
        return node.with_body(Add(*terms))

    def _term(self, term: Expr, variable: Expr) -> Expr:
        rest, power = S.One, S.Zero
        for factor in term.as_ordered_factors():
            base, exponent = factor.as_base_exp()
            if base == variable:
                power = exponent
            else:
                rest *= factor
        if power != 1:
            return term
        if not is_absolutely_continuous(_written_out(rest, variable), variable):
            raise self.refuse(f"{rest} is not known to be absolutely continuous in {variable}")
        slope = rest.diff(variable)
        if slope.has(Derivative, Subs):
            raise self.refuse(f"{rest} has no derivative in {variable}")
        return slope


def _written_out(h: Expr, variable: Expr) -> Expr:
    """h with entire functions for convolutions, which are analytic, and with letters for what it divides by.

    A line means something where parameters there are not 0.
    """
    plain = h.replace(lambda node: isinstance(node, GaussianConvolution), _entire)
    below = (e for e in plain.atoms(Pow) if e.exp.is_negative and not e.has(variable))
    return plain.xreplace({e: Dummy(nonzero=True) if e.exp.is_integer else Dummy(positive=True) for e in below})


def _entire(node: GaussianConvolution) -> Expr:
    """Without a zero where the convolution has none."""
    return (exp if node.is_positive else sin)(node.mean)
