"""The kernel of an attention left open while the rules reduce: one reduction serves every kernel, and multiplies no sum in it out.

Multiplied out, the square of a positive 2 + sin(x) is three terms, one of them of either sign: more work for a quadrature, of no
use for a proof, and the logarithm of its running integral is none.
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
    """``expr`` with the kernel of its one attention left open, and that kernel; as it is where a kernel tells the rules something.

    That is where there are several, or one that is an exponential, whose powers merge with the tokens' weight, or where a
    quantity is another formula for some kernels.
    """
    kernels = {node.kernel for node in expr.atoms(Activation)}
    kernel = kernels.pop() if len(kernels) == 1 else None
    if kernel is None or exponential(kernel, x) is not None or not all(map(_is_open, expr.atoms(Quantity))):
        return expr, None
    opened = expr.replace(lambda node: isinstance(node, Activation), lambda node: node.with_kernel(OpenKernel(x)))
    return opened, kernel


def _is_open(quantity: Quantity) -> bool:
    """Whether the forms of a quantity are the same for every kernel: where it has none, or divides it by its sum."""
    if isinstance(quantity, PopulationRisk):
        return bool(quantity.args[0].args[2] == 1)
    return not quantity.has(Activation)


def with_kernel(expr: Expr, kernel: Expr | None) -> Expr:
    """``expr`` with a kernel in ``x`` put where one is left open; as it is where there is none."""
    if kernel is None:
        return expr
    return expr.xreplace({node: kernel.xreplace({x: node.args[0]}) for node in expr.atoms(OpenKernel)})


def feels_parity(opened: Expr, kernel: Expr) -> bool:
    """Whether a mean in a reduced formula vanishes because this kernel, which is left open there, is even or odd."""
    if not (_has_odd_mean(opened, cos) or _has_odd_mean(opened, sin)):
        return False
    mirrored = kernel.xreplace({x: -x})
    if mirrored not in (kernel, -kernel):
        return False
    return _has_odd_mean(opened, cos if mirrored == kernel else sin)


@lru_cache(maxsize=512)
def _has_odd_mean(opened: Expr, kernel: type[Expr]) -> bool:
    """The same for a kernel of like parity."""
    bodies = ((node.body.replace(OpenKernel, kernel), node.variable) for node in opened.atoms(ScalarExpectation))
    return any(body.xreplace({variable: -variable}) == -body for body, variable in bodies)
