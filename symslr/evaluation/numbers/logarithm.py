"""log |expr| and its sign in float64 without overflow: products become sums, sums are taken relative to their largest term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from sympy import Add, E, Expr, Mul, Pow, Symbol, erfc, sqrt
from sympy import exp as exp_

from symslr.evaluation.numbers.compiled import compile_float, log1pexp, stable
from symslr.expression.special import NormalCdf
from symslr.model.float64 import uncancelled

SignedLog = Callable[..., tuple[Any, Any]]
"""(sign, log of the absolute value) as arrays."""


FAR_REACHING = (exp_, E, erfc, NormalCdf, log1pexp)
"""What leaves the range of float64 at a modest argument."""

FAR_BELOW = -40.0
"""Below this log(1 + e^y) is e^y to rounding."""


def signed_log(expr: Expr, symbols: Sequence[Symbol]) -> SignedLog:
    """(sign, log |expr|) as a function of arrays."""
    return _signed_log(uncancelled(stable(expr), lambda y: 2 * NormalCdf(sqrt(2) * y)), symbols)


def _signed_log(expr: Expr, symbols: Sequence[Symbol]) -> SignedLog:
    if not expr.has(*FAR_REACHING):
        return _leaf(expr, symbols)
    if isinstance(expr, Mul):
        return _product([_signed_log(arg, symbols) for arg in expr.args])
    if isinstance(expr, Add):
        return _sum([_signed_log(arg, symbols) for arg in expr.args])
    if isinstance(expr, exp_) or (isinstance(expr, Pow) and expr.base == E):
        function = compile_float(symbols, [expr.exp])
        return lambda *args: (1.0, function(*args)[0])
    if isinstance(expr, NormalCdf):
        return _lower_tail(compile_float(symbols, expr.args))
    if isinstance(expr, log1pexp):
        return _softplus(compile_float(symbols, expr.args))
    if isinstance(expr, erfc):
        return _signed_log(2 * NormalCdf(-sqrt(2) * expr.args[0]), symbols)
    if isinstance(expr, Pow) and expr.exp.is_number and (expr.exp.is_Integer or expr.base.is_positive):
        return _power(_signed_log(expr.base, symbols), float(expr.exp), odd=bool(expr.exp.is_odd))
    return _leaf(expr, symbols)


def _lower_tail(argument: Callable[..., list[Any]]) -> SignedLog:
    def log_of(*args: Any) -> tuple[Any, Any]:
        return 1.0, log_ndtr(np.asarray(argument(*args)[0], dtype=float))

    return log_of


def _softplus(argument: Callable[..., list[Any]]) -> SignedLog:
    def log_of(*args: Any) -> tuple[Any, Any]:
        y = np.asarray(argument(*args)[0], dtype=float)
        return 1.0, np.where(y < FAR_BELOW, y, np.log(np.logaddexp(0.0, np.maximum(y, FAR_BELOW))))

    return log_of


def _leaf(expr: Expr, symbols: Sequence[Symbol]) -> SignedLog:
    function = compile_float(symbols, [expr])

    def leaf(*args: Any) -> tuple[Any, Any]:
        value = function(*args)[0]
        return np.sign(value), np.log(np.abs(value))

    return leaf


def _product(factors: list[SignedLog]) -> SignedLog:
    def product(*args: Any) -> tuple[Any, Any]:
        sign, total = 1.0, 0.0
        for factor in factors:
            s, g = factor(*args)
            sign, total = sign * s, total + g
        return sign, total

    return product


def _power(base: SignedLog, exponent: float, *, odd: bool) -> SignedLog:
    def power(*args: Any) -> tuple[Any, Any]:
        sign, total = base(*args)
        return (sign if odd else sign * sign), exponent * total

    return power


def _sum(terms: list[SignedLog]) -> SignedLog:
    def total(*args: Any) -> tuple[Any, Any]:
        pairs = [term(*args) for term in terms]
        top = pairs[0][1]
        for _, g in pairs[1:]:
            top = np.maximum(top, g)
        top = np.where(np.isfinite(top), top, 0.0)
        value = sum(s * np.exp(g - top) for s, g in pairs)
        return np.sign(value), top + np.log(np.abs(value))

    return total
