"""Standard normal values do not change their law with their sign: means are even in them, and odd means vanish."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Indexed, IndexedBase, Mul, Sum, Symbol

from symslr.algebra.polynomial import expand_polynomial, split_sums
from symslr.algebra.rule import Rule
from symslr.algebra.token_bounds import is_away_from_zero
from symslr.expression.expectation import Expectation, SequenceExpectation, rewrite_expectations
from symslr.expression.folded import ConditionalMean
from symslr.expression.scored import ScoredActivation
from symslr.model.symbols import eta, xi, z, zeta

VALUES = (z, zeta, eta, xi)
"""Standard normal and independent of the position and of the key projections under every weight."""


@final
class FlipSigns(Rule):
    """Change the sign of whole families of standard normal values, in the scores of attentions too.

    Of the two bodies the one with fewer minus signs is taken, so that equal means are written alike.
    """

    name = "sign symmetry"
    statement = r"\mathbb{E}_g\left[F(\epsilon,\chi,z)\right] = \mathbb{E}_g\left[F(\epsilon,\chi,-z)\right]"
    conditions = (
        r"$z$ is standard normal and independent of $(\epsilon,\chi)$ and of the other values, as are $\zeta,\eta,\xi$"
    )

    def __init__(self, *families: IndexedBase | Symbol) -> None:
        for family in families:
            if family not in VALUES:
                raise self.refuse(f"found {family}; expected some of {', '.join(map(str, VALUES))}")
        self.families = families

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._shorter, SequenceExpectation)

    def _shorter(self, node: SequenceExpectation) -> Expr:
        flipped = self._flipped(node.body)
        if flipped == node.body:
            return node
        return node.with_body(min(node.body, flipped, key=_minus_signs_and_text))

    def _flipped(self, node: Expr) -> Expr:
        if isinstance(node, Expectation):  # it integrates its own values
            return node
        if isinstance(node, ScoredActivation):
            return node.with_score(self._flipped(node.score))
        if isinstance(node, Indexed):
            return -node if node.base in self.families else node
        if node == xi:
            return -node if xi in self.families else node
        if not node.args:
            return node
        if isinstance(node, ConditionalMean):
            raise self.refuse(f"{node} has integrated its values out; write it out first")
        if node.is_Pow and node.exp.is_even:
            return _shorter_sign(self._flipped(node.base)) ** node.exp
        return node.func(*(self._flipped(arg) for arg in node.args))


@final
class OddMeans(Rule):
    """Drop the terms of a body that are odd in one family of standard normal values.

    Only polynomials in the values are judged, over what stays away from zero; a term in which a family stands inside a function
    or a score is left.
    """

    name = "odd means vanish"
    statement = r"\mathbb{E}_g\left[F\right] = 0 \quad\text{where } F(\epsilon,\chi,-z) = -F(\epsilon,\chi,z)"
    conditions = (
        r"$z$, or any of $\zeta,\eta,\xi$, is standard normal and independent of everything else; $F$ is integrable"
    )

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._without_odd, SequenceExpectation)

    def _without_odd(self, node: SequenceExpectation) -> Expr:
        terms = Add.make_args(expand_polynomial(split_sums(node.body)))
        even = [term for term in terms if not any(_parity(term, family) == 1 for family in VALUES)]
        return node if len(even) == len(terms) else node.with_body(Add(*even))


def _parity(node: Expr, family: IndexedBase | Symbol) -> int | None:
    """0 for even, 1 for odd in a family, None where neither is seen."""
    label = getattr(family, "label", family)
    if label not in node.free_symbols:
        return 0
    if node == family or isinstance(node, Indexed):
        return 1
    if node.is_Mul:
        parts = [_parity(arg, family) for arg in node.args]
        return None if None in parts else sum(parts) % 2  # type: ignore[arg-type]
    if node.is_Add:
        found = {_parity(arg, family) for arg in node.args}
        return found.pop() if len(found) == 1 else None
    if node.is_Pow and node.exp.is_Integer and (node.exp.is_positive or is_away_from_zero(node.base)):
        inner = _parity(node.base, family)
        return None if inner is None else inner * int(node.exp) % 2
    if isinstance(node, Sum):
        return _parity(node.function, family)
    return None


def _minus_signs_and_text(body: Expr) -> tuple[int, str]:
    text = str(body)
    return text.count("-"), text


def _shorter_sign(base: Expr) -> Expr:
    """``base`` or minus it, whichever has fewer minus signs; so for every sum over tokens in it."""
    base = base.replace(lambda node: isinstance(node, Sum), lambda total: _signed(total.function, total))
    return min((base, _negative(base)), key=_minus_signs)


def _signed(summand: Expr, total: Sum) -> Expr:
    opposite = _negative(summand)
    return -Sum(opposite, *total.limits) if _minus_signs(opposite) < _minus_signs(summand) else total


def _negative(expr: Expr) -> Expr:
    """-expr, with the sign carried into a sum of terms."""
    if expr.is_Add:
        return Add(*(_negative(arg) for arg in expr.args))
    inner = next((factor for factor in expr.args if factor.is_Add), None) if expr.is_Mul else None
    return -expr if inner is None else Mul(*(_negative(arg) if arg is inner else arg for arg in expr.args))


def _minus_signs(expr: Expr) -> int:
    """Terms of a sum, or of the sum in a product, that carry a minus sign."""
    if expr.is_Add:
        return sum(_minus_signs(arg) > 0 for arg in expr.args)
    inner = next((factor for factor in expr.args if factor.is_Add), None) if expr.is_Mul else None
    return int(expr.could_extract_minus_sign()) if inner is None else _minus_signs(inner)
