"""Derivatives evaluated: explicit formulas completely, named functions and expectations by the chain rule."""

from __future__ import annotations

from typing import final

from sympy import Derivative, Expr, Function

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import OPAQUE
from symslr.algebra.positivity import jump_in
from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation


@final
class Differentiate(Rule):
    """Carry out every first derivative of a formula; what stands in it unevaluated keeps a derivative of its own."""

    name = "differentiation"
    statement = (
        r"\partial_\theta(\alpha A + B) = \alpha\,\partial_\theta A + \partial_\theta B,\qquad"
        r" \partial_\theta F(A) = F'(A)\,\partial_\theta A"
    )
    conditions = r"$\alpha$ does not depend on $\theta$; $F$ is differentiable"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Derivative), self._carry_out)

    def _carry_out(self, node: Derivative) -> Expr:
        if len(node.variables) != 1:
            raise self.refuse(f"{node} is no first derivative")
        (parameter,) = node.variables
        letters: dict[Expr, Expr] = {}

        def hide(inner: Expr) -> Expr:
            if isinstance(inner, OPAQUE):
                if parameter not in inner.free_symbols:
                    return inner
                return letters.setdefault(inner, Function(f"F_{len(letters)}", real=True)(parameter))
            return inner.func(*(hide(arg) for arg in inner.args)) if inner.args and not inner.is_Indexed else inner

        return hide(node.expr).diff(parameter).xreplace({letter: inner for inner, letter in letters.items()})


@final
class DifferentiateMean(Rule):
    """Exchange a derivative in a parameter with a mean over a law that does not depend on it."""

    name = "derivative of a mean"
    statement = r"\partial_\theta\,\mathbb{E}[F(\theta)] = \mathbb{E}[\partial_\theta F(\theta)]"
    conditions = (
        r"the law does not depend on $\theta$; $F$ does not jump in it;"
        r" $\partial_\theta F$ is dominated by an integrable function"
    )

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(self._is_mean, self._exchange)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        if not any(self._is_mean(node) for node in expr.atoms(Derivative)):
            return ()
        return (Hypothesis("slopes in the parameters that have an integrable bound"),)

    @staticmethod
    def _is_mean(node: Expr) -> bool:
        return isinstance(node, Derivative) and isinstance(node.expr, Expectation)

    def _exchange(self, node: Derivative) -> Expr:
        mean = node.expr
        if len(node.variables) != 1:
            raise self.refuse(f"{node} is no first derivative")
        (parameter,) = node.variables
        if any(parameter in arg.free_symbols for arg in mean.args[1:]):
            raise self.refuse(f"the law of {mean} depends on {parameter}")
        jump = jump_in(mean.body, parameter)
        if jump is not None:
            raise self.refuse(
                f"{jump} jumps where {parameter} moves, and the place of a jump counts in the slope of a mean; expected kinks "
                "at most: write the mean as an integral between the places where it jumps"
            )
        return mean.with_body(Derivative(mean.body, parameter))
