"""Expressions as NumPy functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from sympy import (
    Add,
    Expr,
    Function,
    Piecewise,
    Pow,
    Rational,
    Symbol,
    UnevaluatedExpr,
    erf,
    erfc,
    exp,
    lambdify,
    log,
    tanh,
)
from sympy.codegen.cfunctions import log1p

LARGEST_EXACT = 2**53
"""float64 holds every integer up to it; NumPy's functions take no integer beyond 64 bits at all."""

DIGITS = 17
"""What a float64 holds."""


def in_float64(expr: Expr) -> Expr:
    """The expression with long integers, fractions of them and powers of numbers as decimals: NumPy takes no others.

    Sums that lose all their digits in a tail are written without one, as by ``uncancelled``, and so is log(1 + e^x).
    """
    # a fraction that stands in a power of numbers goes with it
    decimals = {part: part.evalf(DIGITS) for part in expr.atoms(Rational, Pow) if _is_decimal(part)}
    # to the power of 10^9 SymPy would raise the factor by itself
    whole = uncancelled(expr.xreplace(decimals) if decimals else expr, _complement, UnevaluatedExpr)
    return logs_of_one_more(whole, log1p)


def logs_of_one_more(expr: Expr, written: Callable[[Expr], Expr]) -> Expr:
    """``expr`` with log(1 + u) as ``written`` of u, where u is positive: in decimals 1 + e^(-100) is 1."""
    return expr.replace(
        lambda node: isinstance(node, log) and node.args[0].is_Add and (node.args[0] - 1).is_positive,
        lambda node: written(node.args[0] - 1),
    )


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


@lru_cache(maxsize=256)
def compiled(symbols: tuple[Expr, ...], expr: Expr) -> Callable[..., np.ndarray]:
    """A numpy function of the symbols in order."""
    own = letters(symbols)
    expr = in_float64(expr.xreplace(own))
    # SciPy is loaded for special functions only, so that the catalogue imports quickly
    plain = all(hasattr(np, node.func.__name__.lower()) for node in expr.atoms(Function) - expr.atoms(Piecewise))
    if plain:
        return lambdify(list(own.values()), expr, "numpy")
    from scipy.special import log_ndtr, ndtr

    return lambdify(list(own.values()), expr, [{"NormalCdf": ndtr, "LogNormalCdf": log_ndtr}, "scipy"])


def letters(symbols: tuple[Expr, ...]) -> dict[Expr, Symbol]:
    """Letters instead of symbols, of which two may share a name.

    A letter is known to be what its symbol is: else SymPy would look for the signs and the real parts of everything anew. And it
    has a plain name: in the place of any other ``lambdify`` puts a letter of which nothing is known.
    """
    return {symbol: Symbol(f"letter_{place}", **symbol.assumptions0) for place, symbol in enumerate(symbols)}
