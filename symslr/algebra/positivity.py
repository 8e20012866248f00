"""Which functions are positive, nonnegative, zero on a null set only, or continuous: decided from their structure."""

from __future__ import annotations

from itertools import count

from sympy import (
    Abs,
    Add,
    Basic,
    Expr,
    Function,
    Heaviside,
    Indexed,
    Max,
    Min,
    Mod,
    Mul,
    Piecewise,
    Pow,
    Rational,
    S,
    Sum,
    asinh,
    atan,
    ceiling,
    cos,
    cosh,
    default_sort_key,
    erf,
    erfc,
    exp,
    expand,
    floor,
    frac,
    log,
    sign,
    sin,
    sinh,
    tanh,
)
from sympy.core.function import Application

from symslr.expression.folded import Activation, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.signs import Indicator
from symslr.expression.special import NormalCdf
from symslr.model.largest import IsLargest
from symslr.model.symbols import L, chi, epsilon, eta, z, zeta

JUMPING = (sign, Heaviside, Piecewise, floor, ceiling, Mod, frac, Indicator, IsLargest)
"""Functions and conditions that jump."""

ENTIRE = (exp, cosh, sinh, tanh, sin, cos, erf, erfc, atan, asinh, NormalCdf)
"""Functions that are analytic on the whole line."""

CONTINUOUS = (chi, z, zeta, eta)
"""Families of tokens that take every real value."""

DEFINED = ("sympy.", "symslr.expression.special", "symslr.model.largest")
"""Where functions come from that have a formula."""


def has_formula(function: Function) -> bool:
    """Whether a function is known, whatever stands in it."""
    return str(type(function).__module__).startswith(DEFINED)


def is_open(expr: Expr) -> bool:
    """Whether a function in ``expr`` is left open: nothing can be decided about it, only assumed."""
    return not all(map(has_formula, expr.atoms(Function)))


def is_positive(expr: Expr) -> bool:
    """Whether ``expr`` > 0 at almost every real value of its tokens, whatever its parameters are."""
    if expr.is_positive:
        return True
    if isinstance(expr, Add):
        terms = _grouped(expr)
        return all(map(is_nonnegative, terms)) and any(map(is_positive, terms))
    if isinstance(expr, Mul):
        return all(is_positive(arg) for arg in expr.args)
    if isinstance(expr, Sum):
        return holds_a_term(expr) and is_positive(expr.function)
    if isinstance(expr, Max):
        return any(is_positive(arg) for arg in expr.args)
    if isinstance(expr, Pow) and expr.exp.is_real:
        return is_positive(expr.base) or bool(expr.exp.is_even and _zero_on_null_set(expr.base))
    return isinstance(expr, Abs) and _zero_on_null_set(expr.args[0])


def holds_a_term(total: Sum) -> bool:
    """Whether a sum is known not to be empty."""
    return all(bool((high - low).is_nonnegative) for _, low, high in total.limits)


def is_nonnegative(expr: Expr) -> bool:
    """Whether ``expr`` >= 0 at all real values of its tokens and parameters."""
    if expr.is_nonnegative or isinstance(expr, (Abs, Heaviside, IsLargest, Posterior)):
        return True
    if isinstance(expr, Add):
        return all(is_nonnegative(arg) for arg in _grouped(expr))
    if isinstance(expr, (Mul, Min)):
        return all(is_nonnegative(arg) for arg in expr.args)
    if isinstance(expr, Max):
        return any(is_nonnegative(arg) for arg in expr.args)
    if isinstance(expr, Sum):
        return is_nonnegative(expr.function)
    if isinstance(expr, Pow):
        return bool(expr.exp.is_even and expr.base.is_real) or is_nonnegative(expr.base)
    return is_positive(expr)


def _grouped(expr: Add) -> list[Expr]:
    """The terms of a sum, where numbers and parameters are one term, as L - 1 is, and so is a sum over the other tokens.

    That is sum_l h(chi_l) - h(chi_eps) over all L tokens with h >= 0, or a multiple of it.
    """
    fixed = [term for term in expr.args if not term.atoms(Indexed, Application)]
    together = [Add(*fixed)] if Add(*fixed).is_nonnegative else fixed
    terms = [*(term for term in expr.args if term not in fixed), *together]
    for term in expr.args:
        factor, total = term.as_independent(Sum, as_Add=False)
        if isinstance(total, Sum) and [tuple(limit[1:]) for limit in total.limits] == [(1, L)]:
            own = -factor * total.function.subs(total.variables[0], epsilon)
            if own in terms and is_nonnegative(factor) and is_nonnegative(total.function):
                terms.remove(own)
    return terms


def vanishes_on_null_set(weight: Expr) -> bool:
    """Whether a nonnegative weight vanishes on a null set only: it is positive, or analytic and not zero everywhere."""
    return is_positive(weight) or _zero_on_null_set(weight)


def _zero_on_null_set(expr: Expr) -> bool:
    return is_analytic(expr) and _differs_from_zero(expr)


def _differs_from_zero(expr: Expr) -> bool:
    """Whether ``expr`` is seen not to be zero at all tokens, whatever its parameters are: by a value, or as two differ."""
    tokens = sorted((t for t in expr.atoms(Indexed) if t.base in CONTINUOUS), key=default_sort_key)
    if not tokens:
        return False
    alike = [dict.fromkeys(tokens, value) for value in (S.One, S.Half, S.Zero)]
    apart = [] if expr.has(Sum) else [dict(zip(tokens, (Rational(1, k) for k in count(2))))]
    values = [expr.xreplace(place).doit() for place in alike + apart]
    return any(value.is_nonzero for value in (*values, expand(values[0] - values[1])))


def is_analytic(expr: Expr) -> bool:
    """Whether ``expr`` is real analytic in its tokens, outside of the zeros of denominators."""
    if not expr.args or isinstance(expr, Indexed):
        return True
    if isinstance(expr, Sum):
        return is_analytic(expr.function)
    if isinstance(expr, (Activation, ScoredActivation, Posterior)):
        return False
    if isinstance(expr, Pow) and not isinstance(expr, exp):
        whole = bool(expr.exp.is_integer) and not expr.exp.has(Indexed)
        return is_analytic(expr.base) and (whole or (is_positive(expr.base) and is_analytic(expr.exp)))
    if isinstance(expr, log):
        return is_analytic(expr.args[0]) and is_positive(expr.args[0])
    if isinstance(expr, Application) and not isinstance(expr, ENTIRE):
        return not expr.has(Indexed)
    return all(is_analytic(arg) for arg in expr.args)


def bounded_below(base: Expr) -> bool:
    """Whether a positive function has no zero: a sum of nonnegative terms, one of which has none."""
    if isinstance(base, Add):
        return all(is_nonnegative(arg) for arg in base.args) and any(bounded_below(arg) for arg in base.args)
    if isinstance(base, Mul):
        return all(bounded_below(arg) for arg in base.args)
    if isinstance(base, Pow):
        return bounded_below(base.base)
    if isinstance(base, Sum):
        return holds_a_term(base) and bounded_below(base.function)
    return isinstance(base, (exp, cosh)) or bool(base.is_positive)


def jump_in(h: Expr, variable: Basic) -> Basic | None:
    """A part of h that jumps somewhere in a variable, or in a family of tokens; None where none is known to."""
    return next((node for node in sorted(h.atoms(*JUMPING), key=str) if node.has(variable)), None)


def is_absolutely_continuous(h: Expr, variable: Basic) -> bool:
    """Whether h is the integral of its slope in a variable or a family of tokens: no jumps and no poles, kinks at most.

    Functions that are left open pass.
    """
    if not h.has(variable):
        return True
    if isinstance(h, Pow):
        whole = bool(h.exp.is_integer and h.exp.is_positive)
        if not (whole or bounded_below(h.base)):
            return False
    elif isinstance(h, log):
        if not bounded_below(h.args[0]):
            return False
    elif isinstance(h, Application) and not isinstance(h, (*ENTIRE, Abs, Max, Min)) and has_formula(h):
        return False
    return all(is_absolutely_continuous(arg, variable) for arg in h.args if isinstance(arg, Expr))
