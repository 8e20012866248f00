"""Exponents multiplied out, so that what cancels in e^{A+B} does; SymPy writes e^A e^B as one."""

from __future__ import annotations

from sympy import Expr, Function, Mul, Sum, exp, expand


def merge_exponentials(expr: Expr) -> Expr:
    """``expr`` with the exponents of the exponentials in products multiplied out; e^{-u kappa} with a function inside stays."""
    if not expr.args:
        return expr
    expr = expr.func(*(merge_exponentials(arg) for arg in expr.args))
    if not isinstance(expr, Mul):
        return expr
    plain = (factor for factor in expr.args if isinstance(factor, exp) and not factor.exp.has(Function, Sum))
    return expr.xreplace({factor: exp(expand(factor.exp)) for factor in plain})
