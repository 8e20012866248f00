"""The mean of an odd function under a symmetric law is exactly 0, with no quadrature."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Pow, S, cancel, simplify

from symslr.algebra.denominators import cancelled
from symslr.algebra.existence import exists
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.powers import factored
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
        lost = (cancelled(_bare(node), self._constant(node), _letters(node)) for node in nodes)
        return tuple(dict.fromkeys(item for items in lost for item in items))

    def _constant(self, node: ScalarExpectation) -> Expr:
        t = node.variable
        if not _is_symmetric(node) or not _exists(node, _bare(node)):
            return node
        even = simplify(cancel((node.body + node.body.subs(t, -t)) / 2))
        return node if even.has(t) else even


def _letters(node: ScalarExpectation) -> dict[Expr, Expr]:
    """Real letters for the roots of parameters: a line that holds these means something where they are real."""
    powers = (e for e in node.body.atoms(Pow) if not (e.exp.is_Integer or e.has(node.variable)))
    above = ((e, 1 / e if e.exp.could_extract_minus_sign() else e) for e in powers)
    roots = {e: root for e, root in above if root.is_real is None}
    letter = {root: Dummy(real=True) for root in roots.values()}
    return {e: letter[root] if e == root else 1 / letter[root] for e, root in roots.items()}


def _exists(node: ScalarExpectation, body: Expr) -> bool:
    """Whether the mean of a body exists that stands for that of a node, where its roots are real."""
    return exists(node.with_body(body.xreplace(_letters(node)))) == S.true


def _bare(node: ScalarExpectation) -> Expr:
    """The body, factored where only that shows that the mean exists."""
    return node.body if _exists(node, node.body) else factored(node.body)


def _is_symmetric(node: ScalarExpectation) -> bool:
    law = node.law
    return bool(law.lower == -law.upper and law.density.subs(x, -x) == law.density)
