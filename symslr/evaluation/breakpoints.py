"""Where an integrand is not smooth: the zeros of what stands inside |.|, max, min, sign, steps and case distinctions."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Abs, Basic, Expr, Heaviside, Max, Min, Mul, Piecewise, S, Symbol, sign
from sympy.core.relational import Relational


def breakpoint_equations(expr: Expr, x: Symbol) -> tuple[Expr, ...]:
    """Expressions in x, each of which vanishes at a kink or jump of ``expr``."""
    found: dict[Expr, None] = {}
    for node in expr.atoms(Abs, Max, Min, sign, Heaviside, Piecewise):
        for equation in _equations(node):
            if equation.has(x):
                found[equation] = None
    return tuple(found)


def vanishing_factors(expr: Expr, x: Symbol) -> tuple[Expr, ...]:
    """Factors linear in x, such as x of x**2, and x for any other that vanishes at 0, such as tanh(x).

    exp(-u expr) has every scale near their zeros as u grows.
    """
    bases = [factor.as_base_exp()[0] for factor in Mul.make_args(expr)]
    linear = [base for base in bases if solved(base, x) is not None]
    at_zero = any(base.xreplace({x: S.Zero}) == 0 for base in bases if base.has(x) and base not in linear)
    return (*linear, x) if at_zero else tuple(linear)


def _equations(node: Basic) -> Sequence[Expr]:
    if isinstance(node, (Abs, sign, Heaviside)):
        return [node.args[0]]
    if isinstance(node, (Max, Min)):
        return [p - q for i, p in enumerate(node.args) for q in node.args[:i]]
    relations = [r for _, condition in node.args for r in condition.atoms(Relational)]
    return [r.lhs - r.rhs for r in relations]


def solved(equation: Expr, x: Symbol) -> Expr | None:
    """The one zero of an equation linear in x; None where it is not linear (zeros are then found numerically)."""
    slope = equation.diff(x)
    if slope.has(x) or slope == 0:
        return None
    return -equation.xreplace({x: S.Zero}) / slope
