"""The kernel and the scale of the key are given together: kappa(s x) at scale a is kappa(x) at scale s a."""

from __future__ import annotations

from typing import final

from sympy import Expr, Wild

from symslr.algebra.rule import Rule
from symslr.expression.folded import Activation
from symslr.model.symbols import x


@final
class KeyScale(Rule):
    """Write attention with a given kernel kappa, where the kernel that stands there is kappa(s x) with a constant s.

    Args:
        kernel: kappa, in ``x``, such as ``softmax.kernel``.
    """

    name = "scale of the key"
    statement = r"\kappa(s\,x)\big|_{x = a\chi_l} = \kappa(x)\big|_{x = s\,a\,\chi_l}"
    conditions = r"$s$ does not depend on $x$"

    def __init__(self, kernel: Expr) -> None:
        self.kernel = kernel

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Activation), self._scaled)

    def _scaled(self, node: Activation) -> Expr:
        scale = Wild("s", exclude=[x])
        found = node.kernel.match(self.kernel.subs(x, scale * x))
        if found is None or self.kernel.subs(x, found[scale] * x) != node.kernel:
            raise self.refuse(f"the kernel {node.kernel} is not {self.kernel} at a constant multiple of x")
        index, _, normalised, offset, before, length = node.args
        return Activation(index, self.kernel, normalised, offset, found[scale] * before, length)
