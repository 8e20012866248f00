"""An attention whose kernel is left open while rules reduce it: one reduction serves every kernel and expands no sum in it.

Expanded, the square of a positive 2 + sin(x) is three terms, one of them of either sign. That is more work for quadrature and
of no use for a proof, and the logarithm of its running integral does not exist.
"""

from __future__ import annotations

from functools import lru_cache

from sympy import Expr, cos, sin

from symslr.evaluation.numbers.exponent import exponential
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.folded import Activation
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import Quantity
from symslr.model.symbols import x
from symslr.theory.population import PopulationRisk


@lru_cache(maxsize=512)
def with_open_kernel(expr: Expr) -> tuple[Expr, Expr | None]:
    """(``expr`` with the kernel of its one attention left open, that kernel); (``expr``, None) where rules depend on the
    kernel.

    They do where there are several kernels; where it is an exponential, whose powers merge with the tokens' weight; and where a
    quantity has another formula for some kernels.
    """
    kernels = {node.kernel for node in expr.atoms(Activation)}
    kernel = kernels.pop() if len(kernels) == 1 else None
    if kernel is None or exponential(kernel, x) is not None or not all(map(_is_open, expr.atoms(Quantity))):
        return expr, None
    opened = expr.replace(lambda node: isinstance(node, Activation), lambda node: node.with_kernel(OpenKernel(x)))
    return opened, kernel


def _is_open(quantity: Quantity) -> bool:
    """Whether the formulas of a quantity are the same for every kernel: where it has none, or is normalised by its sum."""
    if isinstance(quantity, PopulationRisk):
        return bool(quantity.args[0].args[2] == 1)
    return not quantity.has(Activation)


def with_kernel(expr: Expr, kernel: Expr | None) -> Expr:
    """``expr`` with ``kernel``, in ``x``, in place of a kernel left open; unchanged for None."""
    if kernel is None:
        return expr
    return expr.xreplace({node: kernel.xreplace({x: node.args[0]}) for node in expr.atoms(OpenKernel)})


def feels_parity(opened: Expr, kernel: Expr) -> bool:
    """Whether a mean in a reduced formula with an open kernel vanishes because this kernel is even or odd."""
    if not (_has_odd_mean(opened, cos) or _has_odd_mean(opened, sin)):
        return False
    mirrored = kernel.xreplace({x: -x})
    if mirrored not in (kernel, -kernel):
        return False
    return _has_odd_mean(opened, cos if mirrored == kernel else sin)


@lru_cache(maxsize=512)
def _has_odd_mean(opened: Expr, kernel: type[Expr]) -> bool:
    """Whether a mean vanishes for a kernel of the parity of ``kernel``, cos or sin."""
    bodies = ((node.body.replace(OpenKernel, kernel), node.variable) for node in opened.atoms(ScalarExpectation))
    return any(body.xreplace({variable: -variable}) == -body for body, variable in bodies)
