"""Minimise a quadratic distance plus a function of one linear statistic, first at a fixed value of that statistic."""

from __future__ import annotations

from typing import final

from sympy import Add, Dummy, Expr, IndexedBase, Sum, expand, latex

from symslr.algebra.bodies import at_token
from symslr.algebra.fresh import fresh
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import expand_polynomial
from symslr.algebra.rule import Rule
from symslr.expression.folded import Minimum
from symslr.expression.joint import JointMinimum


@final
class MinimiseAtGivenSum(Rule):
    """Minimise over one family w, of which a minimum knows the distance from omega and sum_l s_l w_l alone.

    At sum_l s_l w_l = t the least distance is, by Cauchy and Schwarz, (t - s.omega)^2/|s|^2; what is left is a minimum over
    the one number t.

    Args:
        family: what is minimised over; the other families of the minimum stay.
    """

    name = "minimum at a given sum"
    statement = (
        r"\min_{w}\left\{\frac{|w-\omega|^2}{2V} + \varphi(s\cdot w)\right\} ="
        r" \min_t\left\{\frac{(t - s\cdot\omega)^2}{2V|s|^2} + \varphi(t)\right\}"
    )
    conditions = r"$V>0$, $s\ne0$"
    source = "Cauchy-Schwarz"

    def __init__(self, family: IndexedBase) -> None:
        self.family = family

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, JointMinimum), self._reduce)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        weights = [self._parts(node)[2] for node in expr.atoms(JointMinimum) if self.family in node.families]
        norms = dict.fromkeys(latex(Sum(weight**2, *limits)) for weight, limits in weights)
        return tuple(Hypothesis(f"${norm} > 0$") for norm in norms)

    def _reduce(self, node: JointMinimum) -> Expr:
        if self.family not in node.families:
            return node
        rest, strength, (weight, limits), centre, linear = self._parts(node)
        place = fresh("t", {s for s in node.body.free_symbols if s.is_Symbol}, real=True)
        own = Sum(expand_polynomial(weight * centre), *limits)
        distance = strength * (place - own) ** 2 / Sum(weight**2, *limits)
        reduced = Minimum(distance + rest.xreplace({linear: place}), place)
        others = tuple(family for family in node.families if family != self.family)
        outside = Add(*(term for term in Add.make_args(reduced.body) if not term.has(place)))
        inner = Minimum(reduced.body - outside, place) + outside
        return JointMinimum(inner, others, node.length) if others else inner

    def _parts(self, node: JointMinimum) -> tuple[Expr, Expr, tuple[Expr, tuple[Expr, ...]], Expr, Expr]:
        """(body without the distance, its coefficient, (s_l, limits), omega_l, the linear sum)."""
        sums = [total for total in node.body.atoms(Sum) if total.function.has(self.family.label)]
        degrees = {total: self._coefficients(total, node.length) for total in sums}
        squares = [total for total in sums if degrees[total][0] != 0]
        lines = [total for total in sums if degrees[total][0] == 0]
        if len(squares) != 1 or len(lines) != 1:
            raise self.refuse(f"expected one sum of squares and one linear sum in {self.family}")
        (square,), (line,) = squares, lines
        lead, slope, constant = degrees[square]
        letter = Dummy(real=True)
        body = node.body.xreplace({square: letter})
        strength = body.coeff(letter, 1)
        rest = expand_free(body, letter)
        centre = -slope / (2 * lead)
        if lead.free_symbols or not lead.is_positive or expand(constant - lead * centre**2) != 0:
            raise self.refuse(f"{square} is no squared distance")
        if not strength.is_positive or rest.has(letter):
            raise self.refuse(f"the distance {square} does not stand with a positive factor")
        if rest.xreplace({line: letter}).has(self.family.label):
            raise self.refuse(f"{self.family} stands outside of sums over tokens")
        if degrees[line][2] != 0:
            raise self.refuse(f"{line} is not linear in {self.family}")
        weight = at_token(degrees[line][1], line.variables[0], square.variables[0], self)
        return rest, strength * lead, (weight, square.limits), centre, line

    def _coefficients(self, total: Sum, length: Expr) -> tuple[Expr, Expr, Expr]:
        """Coefficients of w_l^2, w_l and 1 in the summand."""
        if len(total.limits) != 1 or tuple(total.limits[0][1:]) != (1, length):
            raise self.refuse(f"{total} does not run over the tokens 1, ..., {length}")
        index = total.limits[0][0]
        own = Dummy("own")
        summand = expand_polynomial(total.function.xreplace({self.family[index]: own}))
        if summand.has(self.family.label):
            raise self.refuse(f"the summand of {total} names another token than its own")
        lead, slope = summand.coeff(own, 2), summand.coeff(own, 1)
        constant = expand_polynomial(summand - lead * own**2 - slope * own)
        if constant.has(own):
            raise self.refuse(f"{total} is not quadratic in {self.family}")
        return lead, slope, constant


def expand_free(body: Expr, letter: Dummy) -> Expr:
    """The terms of a body that do not carry the letter."""
    return Add(*(term for term in Add.make_args(body) if term.as_independent(letter, as_Add=False)[1] != letter))
