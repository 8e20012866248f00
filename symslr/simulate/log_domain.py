"""Formulas as NumPy functions that neither overflow nor underflow: (sign, log|f|) instead of f.

Scores of 1000 are ordinary here (nu = 1000 in max-SLR) and exp(1000) is not a float64, so products become
sums of logarithms and sums become log-sum-exp.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr
from sympy import (
    Abs,
    Add,
    Dummy,
    Expr,
    Function,
    Integer,
    Mul,
    Piecewise,
    Pow,
    S,
    Sum,
    cosh,
    erf,
    erfc,
    exp,
    expand,
    lambdify,
    log,
    sinh,
)

from symslr.model.float64 import in_float64
from symslr.model.symbols import chi

Array = NDArray[np.float64]
Plain = Callable[..., Array]
SignedLog = Callable[..., tuple[Array, Array]]

TOKEN = Dummy("token", real=True)
"""Stands for every token's key projection inside a sum over tokens; its array has tokens on the last axis."""


def log_of_product(expr: Expr) -> Expr:
    """log|expr| as a sum over the factors: exponents of a density and of its weight cancel exactly."""
    if isinstance(expr, Mul):
        return Add(*(log_of_product(factor) for factor in expr.args))
    if isinstance(expr, exp):
        return expand(expr.args[0])
    if isinstance(expr, Pow):
        return expand(expr.exp * log_of_product(expr.base))
    return log(Abs(expr))


def plain(expr: Expr, variables: tuple[Expr, ...]) -> Plain:
    """The function (arrays for ``variables``) -> values of ``expr``; exponentials inside may overflow."""
    if not _overflows(expr, variables):
        function = lambdify(variables, in_float64(expr), "scipy")

        def direct(*arrays: Array) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(function(*arrays), dtype=float)

        return direct
    if isinstance(expr, Add):
        terms = [plain(term, variables) for term in expr.args]
        return lambda *arrays: sum((term(*arrays) for term in terms[1:]), start=terms[0](*arrays))
    if isinstance(expr, log):
        argument = signed_log(expr.args[0], variables)

        def logarithm(*arrays: Array) -> Array:
            sign, size = argument(*arrays)
            return np.where(sign < 0, np.nan, size)

        return logarithm
    both = signed_log(expr, variables)

    def recombined(*arrays: Array) -> Array:
        sign, size = both(*arrays)
        with np.errstate(over="ignore"):
            return sign * np.exp(size)

    return recombined


def signed_log(expr: Expr, variables: tuple[Expr, ...]) -> SignedLog:
    """The function (arrays for ``variables``) -> (sign of ``expr``, log|expr|), up to broadcasting.

    ``Sum(h(chi[l]), (l, 1, L))`` is summed over the last axis of the array given for ``TOKEN``.
    """
    if isinstance(expr, Sum):
        return _token_sum(expr, variables)
    if isinstance(expr, exp):
        exponent = plain(expr.args[0], variables)
        return lambda *arrays: _positive(exponent(*arrays))
    if isinstance(expr, erfc):
        return _one_plus_erf(-expr.args[0], variables)
    if isinstance(expr, Add) and len(expr.args) == 2 and expr.args[0] == 1 and isinstance(expr.args[1], erf):
        return _one_plus_erf(expr.args[1].args[0], variables)
    if not _overflows(expr, variables):
        direct = plain(expr, variables)
        return lambda *arrays: _split(direct(*arrays))
    if isinstance(expr, (cosh, sinh)):
        return signed_log(expr.rewrite(exp), variables)
    if isinstance(expr, Abs):
        inside = signed_log(expr.args[0], variables)
        return lambda *arrays: _positive(inside(*arrays)[1])
    if isinstance(expr, Mul):
        factors = [signed_log(factor, variables) for factor in expr.args]
        return lambda *arrays: _product([factor(*arrays) for factor in factors])
    if isinstance(expr, Add):
        terms = [signed_log(term, variables) for term in expr.args]
        return lambda *arrays: _sum([term(*arrays) for term in terms])
    if isinstance(expr, Pow):
        return _power(expr, variables)
    if isinstance(expr, log):
        return _log_of_log(expr.args[0], variables)
    if isinstance(expr, Piecewise):
        return _piecewise(expr, variables)
    return _of_plain_arguments(expr, variables)


def _overflows(expr: Expr, variables: tuple[Expr, ...]) -> bool:
    if expr.has(exp, cosh, sinh, Sum):
        return True
    return any(power.exp.has(*variables) for power in expr.atoms(Pow))


def _positive(size: Array) -> tuple[Array, Array]:
    return np.ones_like(size), size


def _split(value: Array) -> tuple[Array, Array]:
    with np.errstate(divide="ignore"):
        return np.sign(value), np.log(np.abs(value))


def _product(factors: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    sign, size = factors[0]
    for other_sign, other_size in factors[1:]:
        sign = sign * other_sign
        with np.errstate(invalid="ignore"):  # 0 times infinity is nan, and is refused where it matters
            size = size + other_size
    return sign, size


def _sum(terms: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    sizes = np.broadcast_arrays(*(size for _, size in terms))
    top = np.maximum.reduce(sizes)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        total = sum(sign * np.exp(size - top) for (sign, _), size in zip(terms, sizes))
    sign, size = _split(np.asarray(total))
    return sign, size + top


def _one_plus_erf(argument: Expr, variables: tuple[Expr, ...]) -> SignedLog:
    inner = plain(argument, variables)
    return lambda *arrays: _positive(np.log(2) + log_ndtr(np.sqrt(2) * inner(*arrays)))


def _token_sum(expr: Sum, variables: tuple[Expr, ...]) -> SignedLog:
    index = expr.variables[0]
    body = signed_log(expr.function.xreplace({chi[index]: TOKEN}), (*variables, TOKEN))
    if TOKEN not in variables:
        raise ValueError(f"{expr}: a sum over tokens; expected an expression in x alone")

    def total(*arrays: Array) -> tuple[Array, Array]:
        token = arrays[variables.index(TOKEN)]
        parts = body(*arrays, token)
        sign, size = (np.broadcast_to(part, np.broadcast_shapes(part.shape, token.shape)) for part in parts)
        top = size.max(axis=-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        sign, size = _split(np.sum(sign * np.exp(size - top), axis=-1, keepdims=True))
        return sign, size + top

    return total


def _power(expr: Pow, variables: tuple[Expr, ...]) -> SignedLog:
    base, exponent = signed_log(expr.base, variables), plain(expr.exp, variables)

    def power(*arrays: Array) -> tuple[Array, Array]:
        sign, size = base(*arrays)
        times = exponent(*arrays)
        if isinstance(expr.exp, Integer):
            return sign ** int(expr.exp), times * size
        return np.where(sign < 0, np.nan, sign), times * size

    return power


def _log_of_log(argument: Expr, variables: tuple[Expr, ...]) -> SignedLog:
    """log(1 + r) is r where r is far below rounding, so that softplus keeps its tail."""
    whole, rest = plain(log(argument), variables), signed_log(argument - S.One, variables)
    has_one = isinstance(argument, Add) and argument.args[0] == 1

    def value(*arrays: Array) -> tuple[Array, Array]:
        sign, size = _split(whole(*arrays))
        if not has_one:
            return sign, size
        rest_sign, rest_size = rest(*arrays)
        small = rest_size < -20
        with np.errstate(over="ignore"):
            correction = np.log1p(-rest_sign * np.exp(np.where(small, rest_size, -40.0)) / 2)
        return np.where(small, rest_sign, sign), np.where(small, rest_size + correction, size)

    return value


def _piecewise(expr: Piecewise, variables: tuple[Expr, ...]) -> SignedLog:
    branches = [signed_log(value, variables) for value, _ in expr.args]
    tests = [lambdify(variables, condition, "numpy") for _, condition in expr.args]

    def choose(*arrays: Array) -> tuple[Array, Array]:
        shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
        conditions = [np.broadcast_to(np.asarray(test(*arrays), dtype=bool), shape) for test in tests]
        values = [branch(*arrays) for branch in branches]
        signs, sizes = ([np.broadcast_to(value[part], shape) for value in values] for part in (0, 1))
        return np.select(conditions, signs, np.nan), np.select(conditions, sizes, np.nan)

    return choose


def _of_plain_arguments(expr: Expr, variables: tuple[Expr, ...]) -> SignedLog:
    if not isinstance(expr, Function) and not expr.func.__module__.startswith("sympy.functions"):
        raise ValueError(f"{expr}: found {expr.func.__name__}, which simulation cannot evaluate on arrays")
    arguments = [plain(argument, variables) for argument in expr.args]
    names = [Dummy(f"argument{i}", real=True) for i in range(len(arguments))]
    function = lambdify(names, expr.func(*names), "scipy")

    def value(*arrays: Array) -> tuple[Array, Array]:
        return _split(np.asarray(function(*(argument(*arrays) for argument in arguments)), dtype=float))

    return value
