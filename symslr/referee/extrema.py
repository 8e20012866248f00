"""Definitions that take several values of one body: minima, derivatives, limits at infinity."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sympy import Add, Derivative, DiracDelta, Expr, Limit, Rational, S, binomial, harmonic, oo

from symslr.expression.at import At
from symslr.expression.folded import Minimum
from symslr.expression.joint import JointMinimum
from symslr.referee.arithmetic import Array, CannotReferee
from symslr.referee.interpreter import COSTLY, LEAVES, Interpreter, definition_of
from symslr.referee.kinks import KINKED
from symslr.referee.plans import DRAFT, Look
from symslr.referee.scope import Scope
from symslr.referee.work import TooCostly

COSTLY.append(Minimum)
LEAVES.extend((Minimum, Limit))

SCAN_STEP = 0.3
SCAN_REACH = (12, 24)
"""Places of a scan on either side of 0, sinh(0.3 n): up to 18; where the lowest is the last of them, up to 670."""

PLACES_OF_MINIMA = "sinh(3 n/10) for whole n, up to 18 and then to 670"
"""The same in words: a well between two of these places is not found, which is not mended by another detector."""

ZOOM = 9
"""Points by which a bracket is looked at again; it shrinks by 4 each time."""

SKETCH = 1e-6
"""Tolerance at which the bracket is narrowed; Newton's method goes on from there at full precision."""

FLOAT_STEPS = (1e-2, 1e-3, 1e-3, 1e-3, 1e-3)
BALL_STEPS = (1e-5, 1e-10, 1e-10, 1e-10, 1e-10)
"""Lengths of the differences, round by round; the error of a round is about the square of its length."""

SETTLED = 1e-6
"""A move of the place, relative to its size, after which the value no longer changes in double precision."""

SPARE_DIGITS = 3
"""In balls the place settles to half of the digits asked for and so many more: the value's error is its square."""

PARABOLA = object()
"""Remembered in place of a bracket where the body is a parabola."""

HALF = {1: Rational(4, 5), 2: Rational(-1, 5), 3: Rational(4, 105), 4: Rational(-1, 280)}
CENTRAL = {side * k: side * coefficient for k, coefficient in HALF.items() for side in (1, -1)}
FORWARD = {k: (-1) ** (k - 1) * Rational(binomial(10, k), k) for k in range(1, 11)} | {0: -harmonic(10)}
"""Differences, central of order 8 and one-sided of order 10: coefficient of f(x + k h)."""

LIMIT_STEPS = range(6, 16, 2)
"""Values from which a limit is extrapolated, until a longer extrapolation no longer comes closer."""


@definition_of(Minimum)
def _minimum(self: Interpreter, node: Minimum, scope: Scope) -> Array:
    """min over the variable: the vertex where the body is a parabola; else a scan, brackets that close in, Newton."""
    variable = node.variable
    if variable.is_integer:
        raise CannotReferee(f"a minimum over the integer {variable} has no definition here")

    def at(place: Array) -> Array:
        return self.value(node.body, scope.bind({variable: place}))

    half = bool(variable.is_nonnegative)
    key = self.context(node, scope)
    if key not in self.places or self.places[key] is PARABOLA:
        vertex = _vertex(self, at, half)
        if vertex is not None:
            self.places[key] = PARABOLA
            return vertex
    floats = self.arithmetic.dtype is not object
    if floats and (self.planning or scope.frame.parent is not None):
        with self.quadrature.looking():
            self.places[key] = _search(self, node, scope, half)
    elif key not in self.places:
        raise CannotReferee("a minimum was reached that the float pass never met")
    place, spread = self.places[key]
    return _newton(self, at, place, spread, half)


def _vertex(self: Interpreter, at: Any, half: bool) -> Array | None:
    """The minimum of a body that takes the values of one parabola at five places; None where it does not."""
    floats = self.arithmetic.dtype is not object
    with self.quadrature.looking() as look:
        f0, f1, f2, f3, f5 = (at(self.number(place)) for place in (0, 1, 2, 3, 5))
    quadratic = (f2 - 2 * f1 + f0) / 2
    linear = f1 - f0 - quadratic
    size = np.abs(f0) + np.abs(f1) + np.abs(f2) + np.abs(f5)
    allowed = size * (1e-11 if floats else self.number(10) ** -min(self.quadrature.digits, 24))
    for place, value in ((3, f3), (5, f5)):
        if np.any(np.abs(f0 + linear * place + quadratic * place * place - value) > allowed):
            return None
    if half and np.all((linear >= -allowed) & (quadratic >= -allowed)):
        return at(self.number(0))
    if np.any(quadratic <= allowed):
        return None
    place = -linear / (2 * quadratic)
    # read at its place: far from it the parabola may be so high that nothing is left of the digits of its vertex;
    # errors of the looks at 0, 1 and 2 move it by 2 |place - 1| + 1/2 of their size, over half the curvature
    _of_place(self, look, quadratic / (2 * np.abs(place - 1) + 0.5) ** 2)
    return at(np.where(place > 0, place, self.number(0))[()] if half else place)


def _of_place(self: Interpreter, look: Look, curvature: Array) -> None:
    """Adds what the noise of the looks does to a minimum: it moves the place, and the value by the square of that."""
    if self.arithmetic.dtype is not object:
        moved = look.noise**2 / np.where(curvature > 0, curvature, np.inf)
        self.quadrature.noise = max(self.quadrature.noise, float(np.max(moved)))


def _search(self: Interpreter, node: Minimum, scope: Scope, half: bool) -> tuple[Array, Array]:
    """A place near the minimum, and the width of its bracket; row by row where parameters are arrays."""

    def on_axis(places: Array) -> Array:
        shape = np.shape(places)
        points = places.reshape(shape[0], *(1,) * (scope.depth + 1 - len(shape)), *shape[1:])
        found = self.value(node.body, scope.bind({node.variable: points}, 1, len(points)))
        return np.where(np.isnan(found), np.inf, found)  # 0/0 is no minimum, and argmin takes nan for the least

    quadrature = self.quadrature
    saved = quadrature.tolerance, quadrature.planning, quadrature.plans, quadrature.scale, quadrature.shifted
    quadrature.planning, quadrature.scale, quadrature.shifted = True, 1.0, False
    try:
        quadrature.tolerance, quadrature.plans = DRAFT, {}
        for reach in SCAN_REACH:
            steps = np.arange(0 if half else -reach, reach + 1)
            grid = np.sinh(SCAN_STEP * steps).astype(self.arithmetic.dtype)
            best = np.argmin(_lined_up(on_axis(grid), scope.depth + 1), axis=0)
            last = len(grid) - 1
            beyond = best == last if half else (best == last) | (best == 0)
            if not np.any(beyond):
                break
        if np.ndim(best) == 0 and beyond:
            raise CannotReferee(f"the minimum over {node.variable} lies beyond {grid[best]:.3g} or does not exist")
        left, right = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, last)]
        left, right = _zoom(on_axis, left, right, scope.depth)
        quadrature.tolerance, quadrature.plans = SKETCH, {}
        for _ in range(3):
            # the error of the draft may have put the minimum just outside of its bracket
            centre, width = (left + right) / 2, right - left
            left, right = _zoom(
                on_axis, np.maximum(centre - width, 0) if half else centre - width, centre + width, scope.depth
            )
    finally:
        quadrature.tolerance, quadrature.planning, quadrature.plans, quadrature.scale, quadrature.shifted = saved
    centre = (left + right) / 2
    return np.where(left == 0, 0.0, centre)[()] if half else centre, right - left


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


def _newton(self: Interpreter, at: Any, place: Array, spread: Array, half: bool) -> Array:
    """Newton's method on differences, kept inside of the bracket. The value's error is the square of the place's."""
    floats = self.arithmetic.dtype is not object
    if not floats and np.ndim(place) > 0:
        raise CannotReferee("a minimum inside of an integral is found in floats alone")
    place = place if floats else self.number(float(place))
    fraction = 0.75 if self.quadrature.shifted else 1.0
    for step in FLOAT_STEPS if floats else BALL_STEPS:
        h = np.maximum(np.abs(place), 0.1) * (step * fraction) if floats else self.number(step * fraction)
        with self.quadrature.looking() as look:
            here, right = at(place), at(place + h)
            at_end = (place == 0) & (right >= here) if half else np.False_
            left = here if np.all(at_end) else at(place - h)
        if np.all(at_end):
            return at(place)
        slope, curvature = right - left, right - 2 * here + left
        if not floats:
            before, place = place, (place - h * slope / (2 * curvature)).mid()
            if step == BALL_STEPS[-1] and _settled(self, place, before):
                return at(place)
            continue
        moved = np.clip(place - h * slope / (2 * curvature), place - 2 * spread, place + 2 * spread)
        moved = np.where((curvature > 0) & ~at_end, moved, place)[()]
        settled = np.all(np.abs(moved - place) <= SETTLED * np.maximum(np.abs(place), 0.1))
        place = moved
        if settled:
            break
    if not floats:
        raise TooCostly("a minimum does not settle to the full precision")
    _of_place(self, look, np.where(at_end, np.inf, 2 * curvature))
    return at(place)


def _settled(self: Interpreter, place: Array, before: Array) -> bool:
    """Whether a last step of Newton's method, in balls, leaves the value as it is."""
    allowed = 10.0 ** -(self.quadrature.digits / 2 + SPARE_DIGITS)
    return abs(self.arithmetic.midpoint(place - before)) <= allowed * max(abs(self.arithmetic.midpoint(place)), 0.1)


@definition_of(Derivative)
def _derivative(self: Interpreter, node: Derivative, scope: Scope) -> Array:
    """Differences with one step length for all digits: the error shows between two passes.

    Central ones, and one-sided ones at 0 of a variable that is not negative. Of a formula with a kink or a jump it is the
    derivative almost everywhere.
    """
    expr: Expr = node.expr
    for variable, times in node.variable_count:
        for _ in range(int(times)):
            if expr is not node.expr:
                raise CannotReferee(f"{node} is a derivative of higher order")
            expr = Derivative(expr, variable)
    (variable,) = node.variables
    if node.expr.has(*KINKED) and not node.expr.has(*COSTLY):
        return self.value(node.expr.diff(variable).replace(DiracDelta, lambda *place: S.Zero), scope)
    # what does not move would only leave its rounding in the differences
    moving = Add(*(term for term in Add.make_args(node.expr) if variable in self.symbols(term)))
    here = self.value(variable, scope)
    exponent = 10 if self.arithmetic.dtype is object else 7 if node.expr.has(JointMinimum) else 6
    h = self.number(2) ** -exponent * (self.number(3) / 4 if self.quadrature.shifted else self.number(1))
    total = self.number(0)
    at_edge = variable.is_nonnegative and np.ndim(here) == 0 and here == 0
    for k, coefficient in (FORWARD if at_edge else CENTRAL).items():
        total = total + self.number(coefficient) * self.value(moving, scope.bind({variable: here + k * h}))
    return total / h


@definition_of(At)
def _at(self: Interpreter, node: At, scope: Scope) -> Array:
    """The body where its symbols take the values of a point."""
    place = {symbol: self.value(value, scope) for symbol, value in node.place.items()}
    return self.value(node.body, scope.bind(place))


@definition_of(Limit)
def _limit(self: Interpreter, node: Limit, scope: Scope) -> Array:
    """The limit at infinity of a sequence of values at doubling arguments, accelerated by Wynn's epsilon algorithm."""
    expr, variable, point, _ = node.args
    if point not in (oo, -oo):
        raise CannotReferee(f"{node} is a limit at a finite point")
    start = 16 if self.quadrature.shifted else 24
    values: list[Array] = []
    found: Array = None
    change = float("inf")
    for steps in LIMIT_STEPS:
        for k in range(len(values), steps):
            argument = start * 2**k * (1 if point == oo else -1)
            if variable.is_integer:
                inside = scope.with_integers({variable: argument})
            else:
                inside = scope.bind({variable: self.number(argument)})
            values.append(self.value(expr, inside))
        longer = _wynn(self, values)
        closer = float("inf") if found is None else abs(self.arithmetic.midpoint(longer - found))
        if found is not None and not closer < change:
            break
        found, change = longer, closer
    return found


def _wynn(self: Interpreter, values: list[Array]) -> Array:
    before, now = [self.number(0)] * (len(values) + 1), values
    best = now[-1]
    while len(now) > 1:
        gaps = [b - a for a, b in pairwise(now)]
        if any(self.arithmetic.midpoint(abs(g)) <= 1e-28 for g in gaps):
            return best
        before, now = now, [before[i + 1] + 1 / g for i, g in enumerate(gaps)]
        if (len(values) - len(now)) % 2 == 0:
            best = now[-1]
    return best
