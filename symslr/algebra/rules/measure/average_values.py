"""The tower property: a value that stands in one term of one token alone is averaged over there."""

from __future__ import annotations

from typing import final

from sympy import Expr, Indexed, IndexedBase, Sum

from symslr.algebra.fresh import fresh
from symslr.algebra.polynomial import separate
from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation, rewrite_expectations
from symslr.expression.folded import FOLDED, ConditionalMean
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import epsilon, eta, z, zeta


@final
class AverageValues(Rule):
    """Average over one family of standard normal values, token by token, wherever a term has it of one token only."""

    name = "average over one value a token"
    statement = (
        r"\mathbb{E}_g\Big[\sum_l h(\chi_l,\eta_l)\Big] = \mathbb{E}_g\Big[\sum_l \mathbb{E}_t\,h(\chi_l,t)\Big],"
        r"\qquad t\sim\mathcal{N}(0,1)"
    )
    conditions = r"$\eta$ is standard normal and independent of everything else; $h$ is integrable"

    def __init__(self, family: IndexedBase) -> None:
        if family not in (z, zeta, eta):
            raise self.refuse(f"found {family}; expected z, zeta or eta")
        self.family = family

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._average, SequenceExpectation)

    def _average(self, node: SequenceExpectation) -> Expr:
        label, body = self.family.label, node.body
        if label not in body.free_symbols:
            return node
        if any(label in folded.free_symbols for folded in body.atoms(*FOLDED, ConditionalMean)):
            raise self.refuse(f"{self.family} stands in a folded name; write it out first")
        factors = body.args if body.is_Mul else (body,)
        holding = [factor for factor in factors if label in factor.free_symbols]
        if len(holding) == 1 and isinstance(holding[0], Sum):
            (total,) = holding
            inner = self._of_one(total.function, total.variables[0])
            return node.with_body(body.xreplace({total: Sum(inner, *total.limits)}))
        return node.with_body(self._of_one(body, epsilon))

    def _of_one(self, term: Expr, index: Expr) -> Expr:
        """The term averaged over the value of the token ``index``, the only one in it."""
        if {item for item in term.atoms(Indexed) if item.base == self.family} != {self.family[index]}:
            raise self.refuse(f"{term} holds {self.family} of several tokens")
        t = fresh("t", term.free_symbols, real=True)
        fixed, moving = separate(term.xreplace({self.family[index]: t}), {t})
        return fixed * ScalarExpectation(moving, t, STANDARD_NORMAL)
