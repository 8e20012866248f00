"""The kernel of an attention left open while the rules reduce, so that no sum in it is multiplied out.

Multiplied out, the square of a positive 2 + sin(x) is three terms, one of them of either sign: a proof has no use for it, and
the logarithm of its running integral is none.
"""

from __future__ import annotations

from sympy import Expr

from symslr.expression.folded import Activation
from symslr.expression.open_functions import OpenKernel
from symslr.model.symbols import x


def with_open_kernel(expr: Expr) -> tuple[Expr, Expr | None]:
    """``expr`` with the kernel of its one attention left open, and that kernel; as it is where there is none or several."""
    kernels = {node.kernel for node in expr.atoms(Activation)}
    if len(kernels) != 1:
        return expr, None
    opened = expr.replace(lambda node: isinstance(node, Activation), lambda node: node.with_kernel(OpenKernel(x)))
    return opened, kernels.pop()


def with_kernel(expr: Expr, kernel: Expr) -> Expr:
    """``expr`` with a kernel in ``x`` put where one is left open."""
    return expr.replace(OpenKernel, lambda at: kernel.subs(x, at))
