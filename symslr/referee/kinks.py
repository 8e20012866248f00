"""Where an integrand has a kink or a jump along one variable, so that the interval is cut there."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from sympy import Abs, Basic, Dummy, Expr, Heaviside, Indexed, Max, Min, Piecewise, sign
from sympy.core.relational import Relational

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import FOLDED
from symslr.model.symbols import chi, x
from symslr.referee.arithmetic import Floats
from symslr.referee.scope import Scope

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

KINKED = (Abs, Heaviside, Max, Min, Piecewise, sign)
REACH = 40.0
POINTS = 321


def scalar_breaks(self: Interpreter, nodes: Iterable[Expr], variable: Basic, scope: Scope) -> tuple[Fraction, ...]:
    """Zeros, along ``variable``, of what decides the branches of the kinked functions in these nodes."""
    found: set[Fraction] = set()
    for node in nodes:
        for decider in _deciders(node):
            if variable in decider.free_symbols:
                found |= _zeros(self, decider, variable, scope)
    return tuple(sorted(found))


def token_breaks(self: Interpreter, node: SequenceExpectation, scope: Scope) -> tuple[Fraction, ...]:
    """The same for one token of a sequence; deciders that compare two tokens have no place on one axis."""
    token = Dummy(real=True)
    body = (node.law.weight * node.body).replace(lambda n: isinstance(n, FOLDED), lambda n: n.doit())
    found: set[Fraction] = set()
    for decider in _deciders(body):
        tokens = decider.atoms(Indexed)
        if len(tokens) == 1 and next(iter(tokens)).base == chi:
            found |= _zeros(self, decider.xreplace({next(iter(tokens)): token}), token, scope)
    for decider in _deciders(node.law.base.density):
        if x in decider.free_symbols:
            found |= _zeros(self, decider, x, scope)
    return tuple(sorted(found))


@lru_cache(maxsize=1024)
def _deciders(node: Expr) -> tuple[Expr, ...]:
    result: list[Expr] = []
    for kinked in node.atoms(*KINKED):
        if isinstance(kinked, Piecewise):
            result += [relation.lhs - relation.rhs for relation in kinked.atoms(Relational)]
        elif isinstance(kinked, (Max, Min)):
            first, *others = kinked.args
            result += [first - other for other in others]
        else:
            result.append(kinked.args[0])
    return tuple(result)


def _zeros(self: Interpreter, decider: Expr, variable: Basic, scope: Scope) -> set[Fraction]:
    """Sign changes of a decider that depends on ``variable`` and on fixed numbers alone, to double precision."""
    numbers = {}
    for symbol in decider.free_symbols - {variable}:
        value = scope.integers.get(symbol, scope.lookup(symbol))
        if value is None or isinstance(value, list) or np.ndim(value) > 0:
            return set()
        exact = isinstance(value, (int, Fraction))
        numbers[symbol] = float(value) if exact else self.arithmetic.midpoint(value)
    plain = type(self)(Floats(), self.quadrature, self.laws)

    def sign_at(points: np.ndarray) -> np.ndarray:
        inside = Scope(scope.frame, scope.integers).bind({variable: points, **numbers})
        return np.sign(np.broadcast_to(plain.value(decider, inside), points.shape))

    grid = np.linspace(-REACH, REACH, POINTS) + 2.0**-20
    signs = sign_at(grid)
    places = np.nonzero(signs[:-1] * signs[1:] < 0)[0]
    low, high = grid[places], grid[places + 1]
    below = signs[places]
    for _ in range(60):
        middle = (low + high) / 2
        left = sign_at(middle) == below
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return {_tidy(float(v)) for v in (low + high) / 2}


def _tidy(value: float) -> Fraction:
    """A simple fraction where the float is within rounding of one."""
    simple = Fraction(value).limit_denominator(64)
    return simple if abs(float(simple) - value) <= 1e-13 * max(1.0, abs(value)) else Fraction(value)
