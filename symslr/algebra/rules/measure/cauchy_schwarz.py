"""The Cauchy-Schwarz inequality for a squared mean over another mean."""

from __future__ import annotations

from typing import final

from sympy import Expr, Mul, simplify

from symslr.algebra.bound import Bound
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_nonnegative, is_positive
from symslr.expression.expectation import ScalarExpectation


@final
class CauchySchwarz(Bound):
    """Bound E[f]^2/E[h] by E[f^2/h], a mean over one variable."""

    name = "Cauchy-Schwarz inequality"
    statement = r"\frac{\mathbb{E}[f]^2}{\mathbb{E}[h]}\le\mathbb{E}\Big[\frac{f^2}{h}\Big]"
    conditions = r"$h\ge0$, and $f=0$ where $h=0$"

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        means = sorted((node for node in expr.atoms(ScalarExpectation) if 1 / node in expr.args), key=str)
        return Hypothesis.of_positive(means)

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, Mul):
            return None
        powers = {base: power for base, power in (factor.as_base_exp() for factor in term.args)}
        means = {node: power for node, power in powers.items() if isinstance(node, ScalarExpectation)}
        above = [node for node, power in means.items() if power == 2]
        below = [node for node, power in means.items() if power == -1]
        if len(above) != 1 or len(below) != 1:
            return None
        (one,), (two,) = above, below
        if one.args[1:] != two.args[1:]:
            raise self.refuse(f"{one} and {two} are means under different laws")
        if not is_nonnegative(two.body):
            raise self.refuse(f"{two.body} is not known to be nonnegative")
        rest = Mul(*(factor for factor in term.args if factor.as_base_exp()[0] not in (one, two)))
        if not rest.is_nonnegative:
            raise self.refuse(f"the factor {rest} is not known to be nonnegative")
        ratio = simplify(one.body**2 / two.body)
        if not is_positive(ratio.as_numer_denom()[1]):
            raise self.refuse(f"{two.body} is not known to vanish only where {one.body} does")
        return rest * one.with_body(ratio)
