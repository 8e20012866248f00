"""Where a function is not smooth, or changes: the zeros of what stands inside |.|, max, min, sign, steps and cases, and others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sympy import (
    Abs,
    Basic,
    Expr,
    Heaviside,
    Max,
    Min,
    Mul,
    Piecewise,
    PolynomialError,
    Pow,
    S,
    Symbol,
    exp,
    sign,
    sqf_list,
)
from sympy.core.function import Function
from sympy.core.relational import Relational
from sympy.polys.rings import sring

from symslr.model.powers import highest_power

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


HIGHEST = 40
"""Degree up to which powers are looked for: it takes minutes for e^(289 x/5) and e^(-x/500), the former a power of e^(x/5)."""


def bends(expr: Expr, x: Symbol) -> tuple[tuple[Expr, Expr], ...]:
    """(What a function or a root is taken of, an equation in x) for every place where a smooth function may bend sharply.

    tanh(a x) or log(1 + e^(a x)) is smooth on the scale 1/a where a x = 0, 1/(1 + a^2 x^2) where the slope of a^2 x^2 is 0.
    """
    found: dict[tuple[Expr, Expr], None] = {}
    for node in expr.atoms(Function, Pow):
        inner = _inner(node)
        if inner.has(x) and inner != x and not (node.is_Pow and node.exp.is_Integer and node.exp.is_positive):
            found |= {(inner, equation): None for equation in (inner, inner.diff(x)) if equation.has(x)}
    return tuple(found)


def _inner(node: Function | Pow) -> Expr:
    """What a function, or a power, is taken of."""
    return node.exp if isinstance(node, exp) else node.args[0]


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
        if _inner(node).has(x):
            yield from (_inner(node) - 1, _inner(node) + 1)
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


def centred(expr: Expr, rest: Expr, x: Symbol) -> Expr:
    """``expr`` with x moved so that the place where ``rest`` bends is 0, if it is one: 1/(1 + a^2 (x + b)^2) as 1/(1 + a^2 x^2).

    Multiplied out, that denominator would lose all its digits where it is small.
    """
    places = {solved(equation, x) for _, equation in bends(rest, x)} - {None}
    if len(places) != 1:
        return expr
    (place,) = places
    moved = expr.xreplace({x: x + place})
    return moved.replace(lambda part: part.is_Add and part.is_polynomial(x), lambda part: part.expand())


def in_powers(expr: Expr, x: Symbol) -> Expr:
    """``expr`` with its factors that are polynomials in x, or in functions of x, as powers of others: x**2 + 2*x + 1 as (x + 1)**2.

    A double zero then shows, and the value beside it keeps its digits.
    """
    return Mul(*(_powers(factor, x) for factor in Mul.make_args(expr)))


def _powers(expr: Expr, x: Symbol) -> Expr:
    if not expr.is_Add or not expr.has(x) or _is_plain(expr, x) or highest_power(expr) > HIGHEST:
        return expr
    try:
        ring, _ = sring(expr, x) if expr.is_polynomial(x) else sring(expr)
        number, parts = sqf_list(expr, *ring.symbols)
    except PolynomialError:
        return expr
    return Mul(number, *(base**power for base, power in parts)) if any(power > 1 for _, power in parts) else expr


def _is_plain(total: Expr, x: Symbol) -> bool:
    """Whether a sum is a number and a power of one function of x, or of one over a sum: it has no double zero, or a pole."""
    if len(total.args) > 2 or not total.args[0].is_Number:
        return False
    _, rest = total.args[1].as_independent(x, as_Add=False)
    base, power = (rest, S.One) if isinstance(rest, Function) else rest.as_base_exp()
    return bool(power.is_Integer and (base.is_Symbol or isinstance(base, Function) or (base.is_Add and power < 0)))


def vanishing_factors(expr: Expr, x: Symbol) -> tuple[Expr, ...]:
    """Factors linear in x, such as x of x**2, powers of polynomials, and x for any other that vanishes at 0, such as tanh(x).

    exp(-u expr) has every scale near their zeros as u grows.
    """
    pairs = [factor.as_base_exp() for factor in Mul.make_args(expr)]
    bases = [base for base, power in pairs]
    linear = [base for base, power in pairs if _shows(base, power, x)]
    others = (base for base in bases if base.has(x) and base not in linear and not base.is_positive)
    at_zero = any(base.xreplace({x: S.Zero}) == 0 for base in others)
    return (*linear, x) if at_zero else tuple(linear)


def _shows(base: Expr, power: Expr, x: Symbol) -> bool:
    return solved(base, x) is not None or (power != 1 and base.has(x) and base.is_polynomial(x))


def may_touch_zero(expr: Expr, x: Symbol) -> tuple[Expr, ...]:
    """The slope of a nonnegative function of x, such as 1 + cos(x): where that is 0 the function may be 0 and hide it."""
    if expr.is_positive or vanishing_factors(expr, x):
        return ()
    if any(part.has(x) for part in expr.atoms(*CUT)):
        return ()
    slope = expr.diff(x)
    return () if not slope.has(x) or slope.is_positive or slope.is_negative else (slope,)


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
