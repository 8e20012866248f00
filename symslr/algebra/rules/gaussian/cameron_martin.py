"""Cameron-Martin: an exponential weight shifts a Gaussian."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, S, Sum, exp, expand, expand_log, log

from symslr.algebra.bodies import check_marked, rewrite_sequences
from symslr.algebra.exponentials import merge_exponentials
from symslr.algebra.rule import Rule
from symslr.algebra.tokens import unfolded
from symslr.expression.expectation import (
    ScalarExpectation,
    SequenceExpectation,
    rewrite_expectations,
)
from symslr.expression.folded import ConditionalMean
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, x


@final
class CameronMartin(Rule):
    """Absorb a factor e^{s x} into the Gaussian law, for one token or for the relevant token of a sequence."""

    name = "Cameron-Martin shift"
    statement = r"\mathbb{E}\left[e^{sx}h(x)\right] = e^{s^2/2}\,\mathbb{E}\left[h(x+s)\right]"
    conditions = r"$x\sim\mathcal{N}(0,1)$, $s$ not random"
    source = "cameron1944"

    def rewrite(self, expr: Expr) -> Expr:
        scalars = rewrite_expectations(expr, self._scalar, ScalarExpectation)
        return merge_exponentials(rewrite_sequences(scalars, self._sequence, self))

    def _scalar(self, node: ScalarExpectation) -> Expr:
        if node.law != STANDARD_NORMAL:
            return node
        variable = node.variable
        tilt, rest = S.Zero, S.One
        for factor in Mul.make_args(node.body):
            if not isinstance(factor, exp):
                rest *= factor
                continue
            for term in Add.make_args(expand(factor.exp)):
                slope = term.coeff(variable)
                linear = slope.is_real is not False and not slope.has(variable)
                linear = linear and expand(term - slope * variable) == 0
                tilt += slope if linear else S.Zero
                rest *= S.One if linear else exp(term)
        if tilt == S.Zero:
            return node
        shifted = expand(rest.subs(variable, variable + tilt), power_exp=False, power_base=False, log=False)
        return exp(tilt**2 / 2) * ScalarExpectation(shifted, variable, node.law)

    def _sequence(self, node: SequenceExpectation) -> Expr:
        """g = exp(s chi_eps - s^2/2): E_g[h] = E_0[h] with chi_eps -> chi_eps + s, chi_l staying for l != eps."""
        law = node.law
        if law.weight == S.One:
            return node
        slope = gaussian_shift(law, self)
        if node.body.has(IsLargest):
            raise self.refuse("the choice of the largest token does not shift with chi_epsilon alone")
        if node.body.has(ConditionalMean):
            raise self.refuse("a conditional mean depends on all tokens; condition on X first")
        body = unfolded(node.body, law.length)
        check_marked(body, self)
        own = chi[epsilon]
        split = {s: s - _term(s, own) + _term(s, own + slope) for s in body.atoms(Sum)}
        shifted = body.subs(own, own + slope).xreplace(split)
        # what is summed keeps its form: a square of chi + slope, multiplied out, would cancel near its zero
        return SequenceExpectation(shifted if split else expand(shifted), law.unweighted())


def gaussian_shift(law: SequenceLaw, rule: Rule) -> Expr:
    """s where the weight is exp(s chi_epsilon - s^2/2) over standard normal tokens.

    Raises:
        RuleRefused: in the name of ``rule``, for any other weight.
    """
    if law.base != STANDARD_NORMAL or law.relevant_factor is None:
        raise rule.refuse(f"the weight {law.weight} is not a function of one standard normal token")
    exponent = expand_log(log(law.relevant_factor))
    slope = exponent.diff(x)
    if slope.has(x):
        raise rule.refuse(f"log of the weight {law.weight} is not linear in chi_epsilon")
    if expand(exponent - slope * x + slope**2 / 2) != 0:
        raise rule.refuse(f"the weight {law.weight} is not normalised; expected exp(s chi_epsilon - s^2/2)")
    return slope


def _term(total: Sum, value: Expr) -> Expr:
    return total.function.subs(chi[total.variables[0]], value)
