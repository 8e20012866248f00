"""The value of an expression straight from the definitions, in numpy: what the rules are tested against.

An interpreter over the expression tree. Expectations become sums over product grids of nodes, with the hidden position
summed over 1..L; activations, posteriors and conditional means are formed from their definitions. None of symslr's own
unfolding, reduction or quadrature is used, so a rule's two sides meet here for the first time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Any

import numpy as np
from scipy import special
from sympy import (
    Abs,
    Add,
    Basic,
    Derivative,
    Expr,
    Heaviside,
    Integer,
    Integral,
    Max,
    Min,
    Mul,
    Pow,
    Sum,
    cosh,
    erf,
    exp,
    gamma,
    log,
    oo,
    sign,
    sinh,
    tanh,
)
from sympy import zeta as riemann

from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.quantity import Quantity
from symslr.expression.special import OwensT
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import L, chi, epsilon, j, k, x, xi, z, zeta

TOKEN_NODES = {1: 160, 2: 80, 3: 40, 4: 28}
"""Nodes per token at each length."""

HERMITE, HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(3)
HERMITE_WEIGHTS = HERMITE_WEIGHTS / HERMITE_WEIGHTS.sum()
"""Exact for z, zeta and xi up to the fifth degree in each."""

ELEMENTARY: dict[type, Callable[..., Any]] = {
    exp: np.exp,
    log: np.log,
    erf: special.erf,
    cosh: np.cosh,
    sinh: np.sinh,
    tanh: np.tanh,
    Abs: np.abs,
    sign: np.sign,
    Heaviside: np.heaviside,
    gamma: special.gamma,
    riemann: special.zeta,
    OwensT: special.owens_t,
    Max: lambda *args: reduce(np.maximum, args),
    Min: lambda *args: reduce(np.minimum, args),
}


@dataclass(frozen=True)
class Scope:
    """What the names mean: numbers or arrays for symbols and for chi_i, z_i, zeta_i; ``depth`` axes are taken.

    ``kinks`` are points where densities bend; tokens reach as far as +-sinh(``reach``).
    """

    symbols: Mapping[Basic, Any]
    indexed: Mapping[tuple[Basic, int], Any] = field(default_factory=dict)
    depth: int = 0
    kinks: tuple[float, ...] = (0.0,)
    reach: float = 2.95


def brute(expr: Expr, values: Mapping[Basic, Any], *, kinks: tuple[float, ...] = (0.0,), reach: float = 2.95) -> float:
    """The number that ``expr`` is at ``values`` (symbol -> number, ``P_L`` -> LengthLaw).

    ``kinks`` lists where kernels and densities bend; ``reach`` is asinh of the farthest node, to be raised for heavy
    tails. Worst case over the weights and kernels of the tests: 3e-9 at L = 2, 4e-7 at L = 3, 3e-5 at L = 4.
    """
    with np.errstate(all="ignore"):
        found = np.asarray(value_of(expr, Scope(dict(values), kinks=kinks, reach=reach)))
    return float(found.reshape(()))


def value_of(expr: Basic, scope: Scope) -> Any:
    if expr in scope.symbols:
        return scope.symbols[expr]
    if expr.is_Number or expr.is_NumberSymbol:
        return float(expr)
    if expr.is_Indexed:
        return scope.indexed[expr.base.label, int(value_of(expr.indices[0], scope))]
    for kind, evaluate in NODES.items():
        if isinstance(expr, kind):
            return evaluate(expr, scope)
    return ELEMENTARY[expr.func](*(value_of(arg, scope) for arg in expr.args))


def at(expr: Expr, scope: Scope, symbol: Basic, value: object) -> Any:
    return value_of(expr, replace(scope, symbols={**scope.symbols, symbol: value}))


def _product(expr: Mul, scope: Scope) -> Any:
    """A factor (L - 1) or (L - 2) that vanishes rules out the others, which may be 0/0 there."""
    plain = [arg for arg in expr.args if not arg.has(Integral, ScalarExpectation, SequenceExpectation)]
    numbers = [value_of(arg, scope) for arg in plain]
    if any(np.ndim(number) == 0 and number == 0 for number in numbers):
        return 0.0
    return reduce(np.multiply, [*numbers, *(value_of(arg, scope) for arg in expr.args if arg not in plain)])


def _sum_over_tokens(expr: Sum, scope: Scope) -> Any:
    ((index, first, last),) = expr.limits
    positions = range(int(value_of(first, scope)), int(value_of(last, scope)) + 1)
    return sum((at(expr.function, scope, index, i) for i in positions), 0.0)


def _activation(node: Activation, scope: Scope) -> Any:
    index, kernel, normalised, offset, scale, length = node.args

    def score(i: int) -> Any:
        return at(kernel, scope, x, value_of(scale, scope) * scope.indexed[chi.label, i])

    own = score(int(value_of(index, scope)))
    if normalised == 0:
        return own
    return own / (value_of(offset, scope) + sum(score(i) for i in range(1, int(value_of(length, scope)) + 1)))


def _posterior(node: Posterior, scope: Scope) -> Any:
    positions = range(1, int(value_of(node.law.length, scope)) + 1)
    weights = {i: at(node.law.weight, scope, epsilon, i) for i in positions}
    return weights[int(value_of(node.index, scope))] / sum(weights.values())


def _conditional_mean(node: ConditionalMean, scope: Scope) -> Any:
    """sum_i P(epsilon = i | chi) E_xi[label at epsilon = i], the noise drawn apart from that of the label outside."""
    total: Any = 0.0
    for i in range(1, int(value_of(node.law.length, scope)) + 1):
        chance = _posterior(Posterior(Integer(i), node.law), scope)
        given = replace(scope, symbols={**scope.symbols, epsilon: i})
        total = total + chance * sum(
            w * at(node.label, given, xi, t) for t, w in zip(HERMITE, HERMITE_WEIGHTS, strict=True)
        )
    return total


def _is_largest(node: IsLargest, scope: Scope) -> Any:
    """The share of the largest value that falls to the token, ties shared: right to second order in the grid's step."""
    _, index, length = node.args
    keys = [scope.indexed[chi.label, i] for i in range(1, int(value_of(length, scope)) + 1)]
    own = scope.indexed[chi.label, int(value_of(index, scope))]
    highest = reduce(np.maximum, keys)
    return (own == highest) / sum((key == highest) * 1.0 for key in keys)


def _sequence(node: SequenceExpectation, scope: Scope) -> Any:
    length = int(value_of(node.law.length, scope))
    names = node.body.free_symbols
    if (j in names and length < 2) or (k in names and length < 3):
        return 0.0  # such terms come with a factor (L - 1) or (L - 1)(L - 2)
    depth, indexed, mass = scope.depth, dict(scope.indexed), 1.0
    if node.body.atoms(IsLargest) or node.law.weight.atoms(IsLargest):
        nodes = np.linspace(-8, 8, 1601 if length <= 2 else 121)
        step = np.full_like(nodes, nodes[1] - nodes[0])
    else:
        nodes, step = line(TOKEN_NODES[length], scope.kinks, scope.reach)
    families = [(chi.label, nodes, step * at(node.law.base.density, scope, x, nodes))]
    families += [(f.label, HERMITE, HERMITE_WEIGHTS) for f in (z, zeta) if f.label in names]
    for label, points, chances in families:
        for i in range(1, length + 1):
            shape = (-1,) + (1,) * depth
            indexed[label, i] = points.reshape(shape)
            mass = mass * chances.reshape(shape)
            depth += 1
    symbols = dict(scope.symbols)
    if xi in names:
        shape = (-1,) + (1,) * depth
        symbols[xi], mass, depth = HERMITE.reshape(shape), mass * HERMITE_WEIGHTS.reshape(shape), depth + 1
    total = 0.0
    for position in range(1, length + 1):
        others = [i for i in range(1, length + 1) if i != position]
        symbols |= {epsilon: position, **dict(zip((j, k), others, strict=False))}
        inner = replace(scope, symbols=dict(symbols), indexed=indexed, depth=depth)
        total = total + _collapse(
            mass * value_of(node.law.weight, inner) * value_of(node.body, inner), scope.depth, depth
        )
    return total / length


def _collapse(table: Any, outer: int, inner: int) -> Any:
    """Sum the axes taken between the depths ``outer`` and ``inner``: the leading ones."""
    table = np.asarray(table)
    missing = inner - table.ndim
    table = table.reshape((1,) * max(missing, 0) + table.shape)
    return table.sum(axis=tuple(range(inner - outer)))


def _scalar(node: ScalarExpectation, scope: Scope) -> Any:
    nodes, step = support(node.law, scope)
    mass = step * at(node.law.density, scope, x, nodes)
    shape = (-1,) + (1,) * scope.depth
    inner = replace(scope, symbols={**scope.symbols, node.variable: nodes.reshape(shape)}, depth=scope.depth + 1)
    return _collapse(mass.reshape(shape) * value_of(node.body, inner), scope.depth, inner.depth)


def _length(node: LengthExpectation, scope: Scope) -> Any:
    law = scope.symbols.get(node.law, node.law)
    return sum(float(p) * at(node.body, scope, L, int(length)) for length, p in law)


def _integral(node: Integral, scope: Scope) -> Any:
    few = len(node.limits) > 1
    inner, mass = scope, 1.0
    for variable, low, high in reversed(node.limits):
        shape = (-1,) + (1,) * inner.depth
        if (low, high) == (0, oo):
            nodes, step = log_line(120, 32.0) if few else log_line(467, 40.0)
        elif (low, high) == (-oo, oo):
            nodes, step = line(400, scope.kinks, 4.0)
        else:
            assert low == -oo, "the tests integrate over the line, a half line from 0, or up to a point"
            nodes, step = log_line(300, 20.0)
        points = nodes.reshape(shape)
        if high != oo:
            points = value_of(high, inner) - points
        mass = mass * step.reshape(shape)
        inner = replace(inner, symbols={**inner.symbols, variable: points}, depth=inner.depth + 1)
    return _collapse(mass * value_of(node.function, inner), scope.depth, inner.depth)


def support(law: ScalarLaw, scope: Scope) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps on the support of a token law, on the line unless it says otherwise."""
    assert (law.lower, law.upper) == (-oo, oo), "the tests use token laws on the line"
    return line(160, scope.kinks, scope.reach)


@cache
def line(count: int, kinks: tuple[float, ...], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps on the line: x = sinh t reaches heavy tails, Gauss-Legendre panels in t meet at the kinks."""
    edges = [-reach, *np.arcsinh(np.asarray(sorted(kinks))), reach]
    panels = []
    for low, high in itertools.pairwise(edges):
        nodes, step = np.polynomial.legendre.leggauss(max(6, round(count * (high - low) / (2 * reach))))
        panels.append(((low + high) / 2 + (high - low) / 2 * nodes, (high - low) / 2 * step))
    t, step = (np.concatenate(part) for part in zip(*panels, strict=True))
    return np.sinh(t), step * np.cosh(t)


@cache
def log_line(count: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps on (0, oo): u = e^v, equal steps in v, where the trapezoid rule converges geometrically."""
    v = np.linspace(-reach, reach, count)
    return np.exp(v), np.exp(v) * (v[1] - v[0])


NODES: dict[type, Callable[[Any, Scope], Any]] = {
    Add: lambda e, s: reduce(np.add, [value_of(arg, s) for arg in e.args]),
    Mul: _product,
    exp: lambda e, s: np.exp(value_of(e.exp, s)),
    Pow: lambda e, s: np.power(np.asarray(value_of(e.base, s), dtype=float), value_of(e.exp, s)),
    Sum: _sum_over_tokens,
    Activation: _activation,
    Posterior: _posterior,
    ConditionalMean: _conditional_mean,
    IsLargest: _is_largest,
    SequenceExpectation: _sequence,
    ScalarExpectation: _scalar,
    LengthExpectation: _length,
    Integral: _integral,
    Quantity: lambda e, s: value_of(e.doit(), s),
    Derivative: lambda e, s: value_of(e.doit(), s),
}
