"""The mean of an odd function under a symmetric law is 0, exactly: no quadrature has to find that out."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Pow, S, cancel, factor, simplify

from symslr.algebra.denominators import cancelled
from symslr.algebra.growth import exists
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.symbols import x


@final
class Parity(Rule):
    """E_x[f(x)] = 0 where f(-x) = -f(x) and the law is symmetric."""

    name = "parity"
    statement = r"\mathbb{E}_x[f(x)] = 0 \quad\text{where } f(-x) = -f(x)"
    conditions = r"$p(-x) = p(x)$; the mean exists"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._without_odd, ScalarExpectation)

    def _without_odd(self, node: ScalarExpectation) -> Expr:
        t = node.variable
        odd = _is_symmetric(node) and node.body.subs(t, -t) == -node.body
        return S.Zero if odd and exists(node) == S.true else node


@final
class ConstantEvenPart(Rule):
    """E_x[f(x)] = c where f(x) + f(-x) = 2c and the law is symmetric."""

    name = "constant even part"
    statement = r"\mathbb{E}_x[f(x)] = c \quad\text{where } f(x)+f(-x) = 2c"
    conditions = r"$p(-x) = p(x)$; the mean exists"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._constant, ScalarExpectation)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """Denominators that were cancelled are not zero."""
        nodes = [node for node in sorted(expr.atoms(ScalarExpectation), key=str) if self._constant(node) != node]
        return tuple(dict.fromkeys(item for node in nodes for item in cancelled(_bare(node), self._constant(node))))

    def _constant(self, node: ScalarExpectation) -> Expr:
        t = node.variable
        if not _is_symmetric(node) or exists(node.with_body(_bare(node))) != S.true:
            return node
        even = simplify(cancel((node.body + node.body.subs(t, -t)) / 2))
        return node if even.has(t) else even


def _bare(node: ScalarExpectation) -> Expr:
    """The body with letters for the roots of parameters: a line that holds them means something where they are real.

    It is factored where only that shows that the mean exists.
    """
    roots = {e: Dummy(real=True) for e in node.body.atoms(Pow) if e.is_real is None and not e.has(node.variable)}
    body = node.body.xreplace(roots)
    return body if exists(node.with_body(body)) == S.true else factor(node.body).xreplace(roots)


def _is_symmetric(node: ScalarExpectation) -> bool:
    law = node.law
    return bool(law.lower == -law.upper and law.density.subs(x, -x) == law.density)
