"""Merge factors e^A e^B into e^{A+B}, so that they cancel and read as one."""

from __future__ import annotations

from sympy import Expr, Function, Mul, Sum, exp, expand


def merge_exponentials(expr: Expr) -> Expr:
    """``expr`` with the elementary exponentials of every product merged; e^{-u kappa} with a function inside stays."""
    if not expr.args:
        return expr
    expr = expr.func(*(merge_exponentials(arg) for arg in expr.args))
    if not isinstance(expr, Mul):
        return expr
    plain = [factor for factor in expr.args if isinstance(factor, exp) and not factor.exp.has(Function, Sum)]
    if not plain:
        return expr
    rest = Mul(*(factor for factor in expr.args if factor not in plain))
    return rest * exp(expand(sum(factor.exp for factor in plain)))
