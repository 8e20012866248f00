"""The posterior of any factorising weight is a normalised attention whose kernel is the likelihood ratio."""

from __future__ import annotations

from typing import final

from sympy import Expr, Integer, S

from symslr.algebra.rule import Rule
from symslr.expression.folded import Activation, Posterior


@final
class LikelihoodRatio(Rule):
    """Recognise the posterior as attention: normalised, kernel kappa = p1/p0, scale one."""

    name = "likelihood ratio"
    statement = (
        r"g(l,\chi) \propto \kappa(\chi_l)\ \forall l \quad\Longrightarrow\quad"
        r" p_l = \frac{\kappa(\chi_l)}{\sum_m\kappa(\chi_m)},\qquad \kappa = \frac{\varphi_1}{\varphi_0}"
    )
    conditions = (
        r"the weight is a function of the relevant token times a function symmetric in all tokens; for token laws "
        r"$\varphi_1$ (relevant) and $\varphi_0$ (others) it is $\varphi_1(\chi_\epsilon)/\varphi_0(\chi_\epsilon)$"
    )

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Posterior), self._recognise)

    def _recognise(self, node: Posterior) -> Expr:
        kernel = node.law.posterior_kernel
        if kernel is None:
            raise self.refuse(f"the weight {node.law.weight} is no function of one token times a symmetric one")
        return Activation(node.index, kernel, Integer(1), S.Zero, S.One, node.law.length)
