"""E[y | X]: average the label over the hidden position with the posterior of Bayes' rule."""

from __future__ import annotations

from typing import final

from sympy import Expr, Indexed, Poly, Sum

from symslr.algebra.bodies import at_token, is_whole
from symslr.algebra.rule import Rule
from symslr.expression.configuration import PosteriorMean
from symslr.expression.folded import ConditionalMean, Posterior
from symslr.model.configuration import ConfigurationLaw
from symslr.model.symbols import epsilon, l, xi, z


@final
class Conditioning(Rule):
    """Given X the only unknowns are epsilon, with posterior p_l, and the noise xi, with mean zero."""

    name = "conditioning on X"
    statement = (
        r"\mathbb{E}[y\mid X] = \sum_l p_l\, \mathbb{E}[y\mid X,\epsilon=l],\qquad"
        r" p_l = \frac{g(l,\chi)}{\sum_m g(m,\chi)};\qquad"
        r" \mathbb{E}\Big[\sum_l r_l z_l\,\Big|\, X\Big] = \sum_l \mathbb{E}[r_l\mid\chi]\, z_l"
    )
    conditions = (
        r"$\epsilon$ is uniform a priori, or $h$ has its prior; the label is affine in $\xi$ and"
        r" $\mathbb{E}[\xi\mid X,\epsilon]=0$; values are independent of $(h,\chi)$"
    )
    source = "duranthon2025"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, ConditionalMean), self._average)

    def _average(self, node: ConditionalMean) -> Expr:
        label = node.label
        if not label.is_polynomial(xi) or Poly(label, xi).degree() > 1:
            raise self.refuse(f"the label {label} is not affine in the noise xi")
        if isinstance(node.law, ConfigurationLaw):
            return self._over_configurations(label.subs(xi, 0), node.law)
        if any(item.indices[0] != epsilon for item in label.atoms(Indexed)):
            raise self.refuse(f"the label {label} is not a function of the relevant token")
        given = at_token(label.subs(xi, 0), epsilon, l, self)
        return Sum(Posterior(l, node.law) * given, (l, 1, node.law.length))

    def _over_configurations(self, label: Expr, law: ConfigurationLaw) -> Expr:
        """sum_l E[r_l | chi] z_l for the label sum_l r_l z_l, whose coefficients are functions of the configuration."""
        value = z[label.variables[0]] if isinstance(label, Sum) else None
        coefficient = label.function / value if value else label
        if value is None or not is_whole(label, law.length) or coefficient.has(z):
            raise self.refuse(f"the label {label} is no sum over tokens of values with coefficients")
        return Sum(PosteriorMean(coefficient, law) * value, *label.limits)
