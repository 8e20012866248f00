"""Where a function is not smooth, or bends sharply: the zeros of what stands inside |.|, steps, functions and powers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sympy import Abs, Basic, DiracDelta, Expr, Heaviside, Max, Min, Piecewise, Pow, S, Symbol, exp, sign
from sympy.core.function import Function
from sympy.core.relational import Relational

CUT = Abs, Max, Min, sign, Heaviside, Piecewise
"""What has kinks or jumps."""


def breakpoint_equations(expr: Basic, x: Symbol) -> tuple[Expr, ...]:
    """Expressions in x, each of which vanishes at a kink or jump of ``expr``, a function or several."""
    found: dict[Expr, None] = {}
    for node in expr.atoms(*CUT):
        for equation in _equations(node):
            if equation.has(x):
                found[equation] = None
    return tuple(found)


def bends(expr: Expr, x: Symbol) -> tuple[tuple[Expr, Expr], ...]:
    """(What a function or a root is taken of, an equation in x) for every place where a smooth function may bend sharply.

    tanh(a x) or log(1 + e^(a x)) is smooth on the scale 1/a where a x = 0, 1/(1 + a^2 x^2) where the slope of a^2 x^2 is 0.
    """
    found: dict[tuple[Expr, Expr], None] = {}
    for node in expr.atoms(Function, Pow):
        for inner in _inside(node):
            if inner.has(x) and inner != x:
                # a jump is a breakpoint, no zero of a slope
                slope = inner.diff(x).replace(DiracDelta, lambda *_: S.Zero)
                found |= {(inner, equation): None for equation in (inner, slope) if equation.has(x)}
    return tuple(found)


def changes(expr: Expr, x: Symbol) -> Iterator[Expr]:
    """Expressions in x among whose zeros, real or not, are the places where ``expr`` changes: kinks, jumps and bends.

    Those of its polynomials and of their slopes, where what a function is taken of is 1 in size, and where two terms of a sum are
    as large as each other.
    """
    yield from breakpoint_equations(expr, x)
    for node in _outermost_polynomials(expr, x):
        yield node
        yield node.diff(x)
    for node in expr.atoms(Function) - expr.atoms(*CUT):
        for inner in _inside(node):
            if inner.has(x):
                yield from (inner - 1, inner + 1)
    for total in expr.atoms(Basic):
        if total.is_Add and total.has(x) and not total.is_polynomial(x):
            for p, q in itertools.combinations(total.args, 2):
                yield from (p - q, p + q)


def _outermost_polynomials(expr: Basic, x: Symbol) -> Iterator[Expr]:
    """The parts of an expression that are polynomials in x, and part of no other."""
    if not expr.has(x):
        return
    if isinstance(expr, Expr) and expr.is_polynomial(x):
        yield expr
        return
    for part in expr.args:
        yield from _outermost_polynomials(part, x)


def _inside(node: Expr) -> Sequence[Expr]:
    """What a function or a root is taken of, and the exponent of a power; of polynomials and of cases nothing."""
    if isinstance(node, Piecewise):
        return []
    if isinstance(node, exp):
        return [node.exp]
    if node.is_Pow and node.exp.is_Integer and node.exp.is_positive:
        return []
    return node.args


def _equations(node: Basic) -> Sequence[Expr]:
    if isinstance(node, (Abs, sign, Heaviside)):
        return [node.args[0]]
    if isinstance(node, (Max, Min)):
        return [p - q for i, p in enumerate(node.args) for q in node.args[:i]]
    relations = [r for _, condition in node.args for r in condition.atoms(Relational)]
    return [r.lhs - r.rhs for r in relations]


def solved(equation: Expr, x: Symbol) -> Expr | None:
    """The one zero of an equation linear in x; None where it is not linear (zeros are then found numerically)."""
    if any(node.has(x) for node in equation.atoms(Function)):  # a derivative would only show it
        return None
    slope = equation.diff(x)
    if slope.has(x) or slope == 0:
        return None
    return -equation.xreplace({x: S.Zero}) / slope
