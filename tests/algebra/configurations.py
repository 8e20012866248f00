"""Means over configurations straight from their definitions, at given keys: what the rules are tested against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Abs, Add, Eq, Expr, Indexed, KroneckerDelta, Mul, Pow, Product, Rel, Sum, Symbol, cosh, exp, log

from symslr.expression.configuration import (
    ConfigurationMean,
    ElementarySymmetric,
    PosteriorMean,
    Precision,
    ShiftedDensity,
)
from symslr.expression.signs import Indicator
from symslr.model.configuration import ConfigurationPrior, r
from symslr.model.symbols import chi, l, m

Env = Mapping[Any, Any]
FUNCTIONS = {exp: math.exp, cosh: math.cosh, log: math.log, Abs: abs}


def number(expr: Expr, env: Env) -> float:
    """The value of an expression in keys, positions and parameters; families are lists in ``env``."""
    if expr.is_Number:
        return float(expr)
    if isinstance(expr, Symbol):
        return float(env[expr])
    if isinstance(expr, Indexed):
        found = env[expr.base.label]
        for index in expr.indices:
            place = int(number(index, env))
            assert 1 <= place <= len(found), expr
            found = found[place - 1]
        return float(found)
    if isinstance(expr, Add):
        return math.fsum(number(arg, env) for arg in expr.args)
    if isinstance(expr, Mul):
        product = 1.0
        for arg in sorted(expr.args, key=lambda arg: not isinstance(arg, Indicator)):
            product *= number(arg, env)
            if product == 0:
                break
        return product
    if type(expr) in FUNCTIONS:
        return float(FUNCTIONS[type(expr)](number(expr.args[0], env)))
    if isinstance(expr, Pow):
        return float(number(expr.base, env) ** number(expr.exp, env))
    if isinstance(expr, KroneckerDelta):
        return float(number(expr.args[0], env) == number(expr.args[1], env))
    if isinstance(expr, Indicator):
        return float(_holds(expr.condition, env))
    if isinstance(expr, (Sum, Product)):
        terms = [number(expr.function, inner) for inner in _over(expr, env)]
        return math.fsum(terms) if isinstance(expr, Sum) else math.prod(terms)
    return _of_configurations(expr, env)


def _over(expr: Sum | Product, env: Env) -> list[Env]:
    inner = [env]
    for index, low, high in reversed(expr.limits):
        inner = [{**e, index: i} for e in inner for i in range(int(number(low, e)), int(number(high, e)) + 1)]
    return inner


def _holds(condition: Rel, env: Env) -> bool:
    left, right = (number(side, env) for side in condition.args)
    return {"==": left == right, "<": left < right, ">": left > right}[
        Eq.rel_op if condition.func == Eq else condition.rel_op
    ]


def _of_configurations(expr: Expr, env: Env) -> float:
    if isinstance(expr, ConfigurationMean):
        return math.fsum(p * number(expr.body, at) for p, at in configurations(expr.prior, env))
    if isinstance(expr, PosteriorMean):
        pairs = [(p * number(expr.law.weight, at), at) for p, at in configurations(expr.law.prior, env)]
        return math.fsum(p * number(expr.body, at) for p, at in pairs) / math.fsum(p for p, _ in pairs)
    if isinstance(expr, Precision):
        places = [int(number(place, env)) - 1 for place in expr.places]
        return float(np.linalg.inv(matrix(expr.covariance, expr.length, env))[places[0], places[1]])
    if isinstance(expr, ElementarySymmetric):
        left_out = {int(number(place, env)) for place in expr.without}
        places = [i for i in range(1, int(number(expr.length, env)) + 1) if i not in left_out]
        numbers = [number(expr.term, {**env, expr.index: i}) for i in places]
        return math.fsum(map(math.prod, itertools.combinations(numbers, int(number(expr.order, env)))))
    if isinstance(expr, ShiftedDensity):
        inverse = np.linalg.inv(matrix(expr.covariance, expr.length, env))
        exponent = 0.0
        for d, mean in enumerate(expr.means, 1):
            places = [{**env, l: i} for i in range(1, int(number(expr.length, env)) + 1)]
            keys = np.array([number(expr.key(l, d), at) for at in places])
            away = keys - [number(mean, at) for at in places]
            exponent += (keys @ inverse @ keys - away @ inverse @ away) / 2
        return math.exp(exponent)
    raise TypeError(f"{type(expr).__name__}: {expr}")


def matrix(covariance: Expr, length: Expr, env: Env) -> np.ndarray:
    """The covariance in numbers."""
    places = range(1, int(number(length, env)) + 1)
    return np.array([[number(covariance, {**env, l: i, m: k}) for k in places] for i in places])


def configurations(prior: ConfigurationPrior, env: Env) -> list[tuple[float, Env]]:
    """Every configuration with its probability."""
    found = []
    for bits in itertools.product((0, 1), repeat=int(number(prior.length, env))):
        at = {**env, r.label: list(bits)}
        mass = number(prior.mass, at)
        for value, weight in prior.signal.support:
            signals = {s: number(v, env) for s, v in zip(prior.signal.symbols, value, strict=True)}
            found.append((mass * number(weight, env), {**at, **signals}))
    total = math.fsum(p for p, _ in found)
    return [(p / total, at) for p, at in found if p > 0]


def keys(length: int, seed: int, directions: int = 1) -> dict[Any, Any]:
    """Random keys, by their label."""
    drawn = np.random.default_rng(seed).normal(size=(length, directions))
    return {chi.label: drawn[:, 0].tolist() if directions == 1 else drawn.tolist()}
