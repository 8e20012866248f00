"""Instances of a general expression: every open function replaced by a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Basic, Expr, Function, Mul, Sum, Symbol, exp, expand
from sympy.core.function import AppliedUndef

from symslr.expression.open_functions import OpenKernel
from symslr.model.open_function import OpenFunction
from symslr.model.symbols import L, epsilon, l, m, x

PAIR = (l, m)
"""The two positions in the formula of an open covariance."""

FIELDS = (x, Symbol("x_2", real=True))
"""The two variables in the formula of an open function of two real numbers, such as a loss."""


def open_functions(expr: Basic) -> set[str]:
    """Names of the functions that an expression leaves open, in the weights of its laws too."""
    of_tokens = {node.name for node in expr.atoms(OpenFunction)}
    kernels = {"kappa"} if expr.has(OpenKernel) else set()
    return of_tokens | kernels | {node.func.__name__ for node in expr.atoms(AppliedUndef)}


def instance(expr: Any, functions: Mapping[str, Expr]) -> Any:
    """``expr`` with each open function replaced by a formula.

    ``functions`` gives, by name, the formula for the token ``epsilon``; for a function of one real variable, such as an open
    kernel kappa(x), the formula in ``x``; for one of two positions the formula in ``l`` and ``m``, of two real variables in
    ``FIELDS``.
    """
    if not functions or not expr.has(OpenFunction, AppliedUndef):
        return expr
    if isinstance(expr, AppliedUndef) and expr.func.__name__ in functions:
        if len(expr.args) == len(PAIR):
            given = dict(zip((*PAIR, *FIELDS), 2 * tuple(instance(arg, functions) for arg in expr.args)))
            return functions[expr.func.__name__].subs(given, simultaneous=True)
        return functions[expr.func.__name__].subs(x, instance(expr.args[0], functions))
    if isinstance(expr, OpenFunction) and expr.name in functions:
        formula = functions[expr.name].subs(L, expr.length)
        return formula if expr.index is None else at_token(formula, expr.index)
    made = [instance(arg, functions) for arg in expr.args]
    if isinstance(expr, Mul) and any(isinstance(arg, OpenFunction) for arg in expr.args):
        return _product(made)
    return expr.func(*made)


def _product(factors: list[Expr]) -> Expr:
    """The product with elementary exponentials as one: e^{c chi} s(chi) becomes the weight as a task writes it."""
    plain = [f for f in factors if isinstance(f, exp) and not f.exp.has(Function, Sum)]
    rest = [f for f in factors if f not in plain]
    return Mul(*rest) * (exp(expand(sum(f.exp for f in plain))) if plain else 1)


def at_token(formula: Expr, index: Expr) -> Expr:
    """``formula``, written for the token ``epsilon``, for another one; sums over tokens do not catch the new index."""
    clashing = {total for total in formula.atoms(Sum) if index in total.variables and epsilon in total.free_symbols}
    return formula.xreplace({total: _renamed(total, index) for total in clashing}).subs(epsilon, index)


def _renamed(total: Sum, index: Expr) -> Expr:
    """The sum with the token index that is not ``index`` as its variable."""
    (limit,) = total.limits
    other = m if index == l else l
    return Sum(total.function.xreplace({limit[0]: other}), (other, *limit[1:]))
