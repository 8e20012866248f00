"""When the likelihood ratio between two positions is exponential, the posterior is a softmax."""

from __future__ import annotations

from typing import final

from sympy import Expr, exp, expand_log, log, simplify

from symslr.algebra.rule import Rule
from symslr.expression.folded import Activation, Posterior
from symslr.model.catalogue import softmax
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x


@final
class RatioCondition(Rule):
    """Recognise the posterior as softmax attention of scale c_nu.

    From g(l)/g(m) = exp(c (chi_l - chi_m)) follows p_l = 1/sum_m exp(-c (chi_l - chi_m)) = softmax(c chi)_l.
    """

    name = "ratio condition"
    statement = (
        r"\frac{g(l,\chi)}{g(m,\chi)} = e^{c_\nu(\chi_l-\chi_m)}\ \forall l,m"
        r"\quad\Longrightarrow\quad p_l = \mathrm{softmax}(c_\nu\chi)_l"
    )
    conditions = r"the ratio of the weights of any two positions is $e^{c_\nu(\chi_l-\chi_m)}$ with $c_\nu$ not random"
    source = "duranthon2025"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Posterior), self._recognise)

    def _recognise(self, node: Posterior) -> Expr:
        return Activation.of(node.index, softmax, self.slope(node.law), node.law.length)

    def slope(self, law: SequenceLaw) -> Expr:
        """c_nu.

        Raises:
            RuleRefused: when the ratio of the weights is not exponential in the difference of the key projections.
        """
        kernel = law.posterior_kernel
        if kernel is None:
            raise self.refuse(f"the ratio g(l)/g(m) of the weight {law.weight} is not a ratio of token functions")
        slope = simplify(expand_log(log(kernel), force=True).diff(x))
        if slope.has(x):
            raise self.refuse(
                f"log g(l)/g(m) has slope {slope} in chi_l, which is not constant: found kernel {kernel}, "
                f"expected {exp(x)} up to scale"
            )
        return slope
