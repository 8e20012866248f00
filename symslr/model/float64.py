"""Expressions as NumPy functions."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Add, Expr, Pow, Rational, UnevaluatedExpr, erf, erfc, exp, tanh

LARGEST_EXACT = 2**53
"""float64 holds every integer up to it; NumPy's functions take no integer beyond 64 bits at all."""

DIGITS = 17
"""What a float64 holds."""


def in_float64(expr: Expr) -> Expr:
    """The expression with long integers, fractions of them and powers of numbers as decimals: NumPy takes no others.

    Sums that lose all their digits in a tail are written without one, as by ``uncancelled``.
    """
    # a fraction that stands in a power of numbers goes with it
    decimals = {part: part.evalf(DIGITS) for part in expr.atoms(Rational, Pow) if _is_decimal(part)}
    # to the power of 10^9 SymPy would raise the factor by itself
    return uncancelled(expr.xreplace(decimals) if decimals else expr, _complement, UnevaluatedExpr)


def _is_decimal(part: Rational | Pow) -> bool:
    if isinstance(part, Pow):
        return bool(part.is_number)
    return max(abs(part.p), part.q) > LARGEST_EXACT


def uncancelled(
    expr: Expr, lower_tail: Callable[[Expr], Expr], kept: Callable[[Expr], Expr] = lambda term: term
) -> Expr:
    """``expr`` without sums that lose all their digits in a tail: in decimals 1 + tanh(-30) is 0.

    c + c tanh(y) becomes 2 c / (1 + exp(-2 y)), and c + c erf(y) becomes kept(c lower_tail(y)), as 2 c - c erfc(y) does.
    """
    if not expr.has(tanh, erf, erfc):
        return expr
    return expr.replace(
        lambda node: isinstance(node, Add),
        lambda total: _one_term(total, lambda factor, y: kept(factor * lower_tail(y))),
    )


def _one_term(total: Add, term: Callable[[Expr, Expr], Expr]) -> Expr:
    number, rest = total.as_coeff_Add()
    factor, function = rest.as_coeff_Mul()
    sign = factor / number if number else 0
    if isinstance(function, tanh) and sign in (1, -1):
        return 2 * number / (1 + exp(-2 * sign * function.args[0]))
    if isinstance(function, erf) and sign in (1, -1):
        return term(number, sign * function.args[0])
    return term(number / 2, function.args[0]) if isinstance(function, erfc) and 2 * sign == -1 else total


def _complement(y: Expr) -> Expr:
    """1 + erf(y); left to itself SymPy would make 2 - erfc(y) of it."""
    return erfc(UnevaluatedExpr(-y))
