"""Definitions that take several values of one body: minima, derivatives, limits at infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Derivative, Expr, Integer, Limit, oo

from symslr.algebra.folded import Minimum
from symslr.verify.arithmetic import Array, CannotReferee
from symslr.verify.interpreter import COSTLY, Interpreter, definition_of
from symslr.verify.plans import DRAFT
from symslr.verify.scope import Scope

COSTLY.append(Minimum)

SCAN_LINE = [float(v) for v in np.sinh(np.linspace(-3.6, 3.6, 25))]
SCAN_HALF = [0.0, *(float(v) for v in np.sinh(np.linspace(0.1, 3.6, 14)))]
ZOOM = 9
"""Points by which a bracket is looked at again; it shrinks by 4 each time."""

STENCIL = {1: (Integer(4) / 5, 1), 2: (-Integer(1) / 5, 1), 3: (Integer(4) / 105, 1), 4: (-Integer(1) / 280, 1)}
"""Central differences of order 8: coefficient of f(x + k h) - f(x - k h)."""

LIMIT_STEPS = 8


@definition_of(Minimum)
def _minimum(self: Interpreter, node: Minimum, scope: Scope) -> Array:
    """min over the variable: a scan, brackets that close in, a parabola. The value's error is the square of the place's."""
    if node.variable.is_integer:
        raise CannotReferee(f"a minimum over the integer {node.variable} has no definition here")

    def at(place: Array) -> Array:
        return self.value(node.body, scope.bind({node.variable: place}))

    key = self.context(node, scope)
    low = 0.0 if node.variable.is_nonnegative else -np.inf
    if self.arithmetic.dtype is not object:
        place, spread = _search(self, node, scope, low)
        self.places[key] = (place, spread)
    elif key not in self.places:
        raise CannotReferee("a minimum was reached that the float pass never met")
    place, spread = self.places[key]
    return _parabola(self, at, place, spread, low)


def _search(self: Interpreter, node: Minimum, scope: Scope, low: float) -> tuple[Array, Array]:
    """A place within about 1e-4 of the minimum, and the width of its bracket; row by row where parameters are arrays."""
    grid = np.array(SCAN_HALF if low == 0.0 else SCAN_LINE, dtype=self.arithmetic.dtype)

    def on_axis(places: Array) -> Array:
        shape = np.shape(places)
        points = places.reshape(shape[0], *(1,) * (scope.depth + 1 - len(shape)), *shape[1:])
        return self.value(node.body, scope.bind({node.variable: points}, 1, len(points)))

    quadrature = self.quadrature
    fine, planning, plans = quadrature.tolerance, quadrature.planning, quadrature.plans
    quadrature.tolerance, quadrature.planning, quadrature.plans = DRAFT, True, {}
    try:
        values = _lined_up(on_axis(grid), scope.depth + 1)
        best = np.argmin(values, axis=0)
        last = len(grid) - 1
        if np.any(best == last) or (low != 0.0 and np.any(best == 0)):
            raise CannotReferee(f"the minimum over {node.variable} lies beyond {grid[-1]:.3g} or does not exist")
        left, right = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, last)]
        for _ in range(2):
            left, right = _zoom(on_axis, left, right, scope.depth)
    finally:
        quadrature.tolerance, quadrature.planning, quadrature.plans = fine, planning, plans
    # the draft's own error may put the minimum just outside of its bracket
    centre, half = (left + right) / 2, (right - left)
    left, right = np.maximum(centre - half, low), centre + half
    for _ in range(3):
        left, right = _zoom(on_axis, left, right, scope.depth)
    return (left + right) / 2 if low != 0.0 else np.where(left == 0.0, 0.0, (left + right) / 2), right - left


def _zoom(on_axis: Any, left: Array, right: Array, depth: int) -> tuple[Array, Array]:
    steps = np.arange(ZOOM).reshape((ZOOM,) + (1,) * np.ndim(left)) / (ZOOM - 1)
    places = left + (right - left) * steps
    values = _lined_up(on_axis(places), depth + 1)
    best = np.argmin(values, axis=0)
    width = (right - left) / (ZOOM - 1)
    return left + width * np.maximum(best - 1, 0), left + width * np.minimum(best + 1, ZOOM - 1)


def _lined_up(values: Array, axes: int) -> Array:
    missing = axes - np.ndim(values)
    return np.reshape(values, (1,) * missing + np.shape(values)) if missing > 0 else values


def _parabola(self: Interpreter, at: Any, place: Array, spread: Array, low: float) -> Array:
    """Three rounds of Newton's method on differences, kept inside of the range."""
    if self.arithmetic.dtype is object:
        if np.ndim(place) > 0:
            raise CannotReferee("a minimum inside of an integral is found in floats alone")
        steps = [1e-4, 1e-7, 1e-10] if self.quadrature.digits > 15 else [1e-4, 1e-6]
        place = self.number(float(place))
    else:
        steps = [2e-3, 1e-3]
    for step in steps:
        h = self.number(step) * (1 if self.arithmetic.dtype is object else np.maximum(np.abs(place), 0.05))
        here, right = at(place), at(place + h)
        left = at(place - h)
        slope, curvature = right - left, right - 2 * here + left
        if self.arithmetic.dtype is object:
            if low == 0.0 and self.arithmetic.midpoint(place) == 0.0 and self.arithmetic.midpoint(right - here) >= 0:
                return here
            place = (place - h * slope / (2 * curvature)).mid()
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = place - h * slope / (2 * curvature)
            moved = np.where(curvature > 0, np.clip(moved, place - spread, place + spread), place)
            place = np.where((place == 0.0) & (right >= here), 0.0, moved) if low == 0.0 else moved
    return at(place)


@definition_of(Derivative)
def _derivative(self: Interpreter, node: Derivative, scope: Scope) -> Array:
    """Central differences of order 8 with one step length for all digits: the error shows between two passes."""
    expr: Expr = node.expr
    for variable, times in node.variable_count:
        for _ in range(int(times)):
            if expr is not node.expr:
                raise CannotReferee(f"{node} is a derivative of higher order")
            expr = Derivative(expr, variable)
    (variable,) = node.variables
    here = self.value(variable, scope)
    exponent = 10 if self.arithmetic.dtype is object else 6
    h = self.number(2) ** -exponent * (self.number(3) / 4 if self.quadrature.shifted else self.number(1))
    total = self.number(0)
    for k, (coefficient, _) in STENCIL.items():
        forward = self.value(node.expr, scope.bind({variable: here + k * h}))
        backward = self.value(node.expr, scope.bind({variable: here - k * h}))
        total = total + self.number(coefficient) * (forward - backward)
    return total / h


@definition_of(Limit)
def _limit(self: Interpreter, node: Limit, scope: Scope) -> Array:
    """The limit at infinity of a sequence of values at doubling arguments, accelerated by Wynn's epsilon algorithm."""
    expr, variable, point, _ = node.args
    if point not in (oo, -oo):
        raise CannotReferee(f"{node} is a limit at a finite point")
    start = 16 if self.quadrature.shifted else 24
    values = []
    for k in range(LIMIT_STEPS):
        argument = start * 2**k * (1 if point == oo else -1)
        if variable.is_integer:
            inside = scope.with_integers({variable: argument})
        else:
            inside = scope.bind({variable: self.number(argument)})
        values.append(self.value(expr, inside))
    return _wynn(self, values)


def _wynn(self: Interpreter, values: list[Array]) -> Array:
    before, now = [self.number(0)] * (len(values) + 1), values
    best = now[-1]
    while len(now) > 1:
        gaps = [b - a for a, b in zip(now, now[1:])]
        if any(self.arithmetic.midpoint(abs(g)) <= 1e-28 for g in gaps):
            return best
        before, now = now, [before[i + 1] + 1 / g for i, g in enumerate(gaps)]
        if (len(values) - len(now)) % 2 == 0:
            best = now[-1]
    return best
