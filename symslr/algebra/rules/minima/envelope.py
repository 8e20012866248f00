"""The envelope theorem: the derivative of a minimum with respect to a parameter."""

from __future__ import annotations

from typing import final

from sympy import Derivative, Expr, cancel, together

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.rules.minima.minimise import Minimise
from symslr.expression.folded import Minimum
from symslr.expression.joint import AtMinimiser, JointMinimum
from symslr.model.powers import factored


@final
class Envelope(Rule):
    """Differentiate a minimum in a parameter: only the body's own dependence counts.

    A minimum over one variable gives the slope at the minimiser in closed form; one over all tokens keeps the
    minimiser's name.
    """

    name = "envelope theorem"
    statement = (
        r"\frac{\partial}{\partial\theta}\min_t F(t,\theta) = \frac{\partial F}{\partial\theta}(t_\star,\theta),"
        r"\qquad F(t_\star,\theta) = \min_t F(t,\theta)"
    )
    conditions = r"$F$ is differentiable and its minimiser $t_\star$ is unique and inside the range"
    source = "milgrom2002"

    def rewrite(self, expr: Expr) -> Expr:
        nodes = [node for node in expr.atoms(Derivative) if isinstance(node.expr, (Minimum, JointMinimum))]
        return expr.xreplace({node: self._slope(node) for node in nodes})

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """A minimiser in closed form was found by minimisation; that one without a formula is unique is assumed."""
        if not any(isinstance(node.expr, JointMinimum) for node in expr.atoms(Derivative)):
            return ()
        return (Hypothesis("almost every sample: the minimiser is unique"),)

    def _slope(self, node: Derivative) -> Expr:
        minimum, (parameter, *further) = node.expr, node.variables
        if further:
            raise self.refuse(f"{node} is no first derivative in a parameter")
        if isinstance(minimum, JointMinimum):
            return AtMinimiser(minimum.body.diff(parameter), minimum)
        place, _ = Minimise().lowest(minimum)
        if place.is_infinite:
            raise self.refuse(f"the minimum over {minimum.variable} is only approached")
        return factored(cancel(together(minimum.body.diff(parameter).subs(minimum.variable, place))))
