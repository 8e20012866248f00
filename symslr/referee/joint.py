"""Definitions of minima over all tokens, of what holds at their minimisers, of open laws and of zeros."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Derivative, Dummy, Expr, Indexed, Integer, NumberSymbol, Rational, Symbol, lambdify

from symslr.expression.joint import AtMinimiser, JointMinimum, Solution
from symslr.expression.sample import SampleExpectation
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, eta, xi, z, zeta
from symslr.referee.arithmetic import Array, CannotReferee
from symslr.referee.interpreter import COSTLY, LEAVES, SAMPLED, Interpreter, definition_of
from symslr.referee.polynomials import NotPolynomial
from symslr.referee.products import written
from symslr.referee.scope import Scope
from symslr.referee.work import METER, TooCostly

FLOATS_ONLY = (JointMinimum, AtMinimiser)
"""Nodes that have no value in balls."""

COSTLY.extend((JointMinimum, AtMinimiser, Solution, SampleExpectation))
LEAVES.extend((JointMinimum, AtMinimiser, Solution))
SAMPLED.append(SampleExpectation)

Objective = Callable[[np.ndarray], np.ndarray]
"""Points of shape (places, dimensions) -> values of shape (places,)."""

DRAWS = 2
"""Sequences on which an open law lives."""

STARTS = 24
MOST_STEPS = 60
PER_PLACE = 6
"""Operations for each coordinate of a place at which a body is read."""

STEP = 0.02
"""Length of the differences; those of order 8 leave an error near STEP**8."""

STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
NEAR = 1e-3
"""Moves up to this are taken as they are: Newton's method shortens them by 1e-4 or more each time."""
SETTLED = 1e-9
"""The last move: what is left is 1e-4 of it."""
FLAT = 1e-3
"""A curvature up to this is none."""

LINEAR = 1e-9
"""Distance from a straight line, relative to the largest value, from which on an equation is not linear."""


@definition_of(SampleExpectation)
def _sample(self: Interpreter, node: SampleExpectation, scope: Scope) -> Array:
    """The weighted mean over the sequences of a law on finitely many, drawn from the law's number and the length."""
    if isinstance(node.law, SequenceLaw):
        return self.value(node.doit(), scope)
    length = self.integer(node.length, scope)
    rng = random.Random(f"law {self.integer(node.law, scope)} at length {length}")
    mass = [rng.uniform(0.5, 1.5) for _ in range(DRAWS)]
    total = self.number(0)
    for weight in mass:
        families = {
            family.label: [self.number(rng.gauss(0.2, 1.1)) for _ in range(length)] for family in (chi, z, zeta, eta)
        }
        bound = {**families, xi: self.number(rng.gauss(1.5, 1.5))}
        inside = scope.bind(bound).with_integers({epsilon: rng.randint(1, length)})
        total = total + self.number(weight / sum(mass)) * self.value(node.body, inside)
    return total


@definition_of(JointMinimum)
def _joint(self: Interpreter, node: JointMinimum, scope: Scope) -> Array:
    return _lowest(self, node, scope)[1]


@definition_of(AtMinimiser)
def _at_minimiser(self: Interpreter, node: AtMinimiser, scope: Scope) -> Array:
    place, _ = _lowest(self, node.minimum, scope)
    return self.value(node.value, _bound_at(self, node.minimum, scope, place[None, :], axes=0))


def _bound_at(self: Interpreter, node: JointMinimum, scope: Scope, places: np.ndarray, axes: int = 1) -> Scope:
    """The scope in which the families take these places, one array axis for the places."""
    length = self.integer(node.length, scope)
    shape = (len(places),) + (1,) * scope.depth
    columns = [c[0] if axes == 0 else c.reshape(shape) for c in places.T]
    bound = {
        family.label: columns[number * length : (number + 1) * length] for number, family in enumerate(node.families)
    }
    return scope.bind(bound, axes, len(places) if axes else 1)


def _lowest(self: Interpreter, node: JointMinimum, scope: Scope) -> tuple[np.ndarray, Array]:
    """(minimiser, minimum): Newton's method on differences, from many starts; the lowest end counts."""
    if self.arithmetic.dtype is object:
        raise TooCostly("a minimum over all tokens is found in floats alone")
    size = self.integer(node.length, scope) * len(node.families)

    explicit = _explicit(self, node, scope)

    def objective(places: np.ndarray) -> np.ndarray:
        METER.add(PER_PLACE * places.size * self.arithmetic.price)
        if explicit is not None:
            return explicit(places)
        values = np.asarray(self.value(node.body, _bound_at(self, node, scope, places)), dtype=self.arithmetic.dtype)
        if values.size not in (1, len(places)):
            raise CannotReferee("a minimum over all tokens stands inside of an integral")
        return np.where(np.isfinite(values), values, np.inf).reshape(-1) * np.ones(len(places))

    tokens = scope.lookup(chi.label)
    key = (self.context(node, scope), tuple(map(float, tokens or ())))
    known = self.places.get(key)
    rng = np.random.default_rng(7)
    starts = rng.normal(size=(STARTS, size)) * np.linspace(0.2, 2.5, STARTS)[:, None] if known is None else known
    starts = starts.astype(self.arithmetic.dtype)
    step = STEP * (0.8 if self.quadrature.shifted else 1.0)
    ends = [_descend(objective, start, step) for start in _promising(objective, starts)]
    reached = [place for place, settled in ends if settled]
    if not reached:
        raise CannotReferee(f"no minimum over {', '.join(map(str, node.families))} was reached")
    values = objective(np.asarray(reached))
    best = int(np.argmin(values))
    self.places[key] = reached[best][None, :]
    return reached[best], values[best]


def _explicit(self: Interpreter, node: JointMinimum, scope: Scope) -> Objective | None:
    """The body with its sums and attentions written out, as a function of the places; None where that is no formula."""
    length = self.integer(node.length, scope)
    integers = tuple((s, n) for s, n in scope.integers.items() if s in self.symbols(node))
    made = _formula(node, length, integers)
    if made is None:
        return None
    function, arguments = made
    known = []
    for symbol, position in arguments:
        if symbol.is_number:
            known.append(self.number(symbol))
            continue
        found = scope.lookup(symbol)
        found = found if position is None or found is None else found[position - 1]
        if found is None or np.ndim(found) > 0:
            return None
        known.append(found if isinstance(found, np.floating) else self.number(found))
    one = np.ones(1, dtype=self.arithmetic.dtype)
    return lambda places: function(*places.T, *known) * one.repeat(len(places))


@lru_cache(maxsize=256)
def _formula(node: JointMinimum, length: int, integers: tuple[tuple[Symbol, int], ...]) -> Any:
    """(function of the places and of what stands in the body besides them, what that is) or None."""
    try:
        body = written(node.body, dict(integers))
    except NotPolynomial:
        return None
    if body.has(*COSTLY, Derivative):
        return None
    places = [family[Integer(l)] for family in node.families for l in range(1, length + 1)]
    others = sorted({s for s in body.free_symbols if s.is_Symbol} - set(_labels(body)), key=str)
    tokens = sorted(body.atoms(Indexed) - set(places), key=str)
    # in code they would be double precision, whatever the places are
    numbers = sorted({n for n in body.atoms(Rational, NumberSymbol) if not _is_short(n)}, key=str)
    arguments = [(symbol, None) for symbol in others] + [(t.base.label, int(t.indices[0])) for t in tokens]
    arguments += [(number, None) for number in numbers]
    letters = {item: Dummy() for item in (*places, *others, *tokens, *numbers)}
    return lambdify(list(letters.values()), body.xreplace(letters), "numpy", cse=True), arguments


def _is_short(number: Expr) -> bool:
    """Whether a number is exact in double precision."""
    return isinstance(number, Rational) and number.q & (number.q - 1) == 0


def _labels(body: Expr) -> set[Any]:
    return {item.base.label for item in body.atoms(Indexed)}


def _promising(objective: Objective, starts: np.ndarray) -> np.ndarray:
    """The lowest quarter of the starts."""
    return starts[np.argsort(objective(starts))[: max(1, len(starts) // 4)]]


def _descend(objective: Objective, place: np.ndarray, step: float) -> tuple[np.ndarray, bool]:
    """Damped Newton steps; returns the last place and whether it is a minimum: no move left, all curvatures positive."""
    damping = 0.0
    for _ in range(MOST_STEPS):
        here, gradient, hessian = _expansion(objective, place, step)
        if not (np.isfinite(here) and np.all(np.isfinite(gradient)) and np.all(np.isfinite(hessian))):
            return place, False
        hessian = hessian.astype(np.float64)
        lowest = np.linalg.eigvalsh(hessian)[0]
        damping = max(damping, 0.1 - lowest if lowest <= FLAT else 0.0)
        move = -np.linalg.solve(hessian + damping * np.eye(len(place)), gradient.astype(np.float64))
        size = np.max(np.abs(move))
        if size <= NEAR and damping == 0:
            place = place + move
            if size <= SETTLED:
                return place, True
            continue
        tried = place + np.array([1.0, 0.5, 0.2, 0.05, 0.01])[:, None] * move
        values = objective(tried)
        best = int(np.argmin(values))
        if values[best] >= here:
            damping = 10 * damping + 0.1
        else:
            place, damping = tried[best], 0.0
    return place, False


def _expansion(objective: Objective, place: np.ndarray, step: float) -> tuple[Array, np.ndarray, np.ndarray]:
    """Value, gradient and Hessian by central differences of orders 8 and 2.

    The Hessian sets the speed of Newton's method, not its end.
    """
    size, h = len(place), step / 4
    pairs, moves = _moves(size, step)
    values = objective(place + moves)
    line = 2 * len(STENCIL) * size
    sides = values[1 : 1 + line].reshape(len(STENCIL), 2, size)
    gradient = np.asarray(sum(c * (side[0] - side[1]) for (_, c), side in zip(STENCIL, sides, strict=True)) / step)
    hessian = np.empty((size, size), dtype=place.dtype)
    for (i, j), (pp, pm, mp, mm) in zip(pairs, values[1 + line :].reshape(-1, 4), strict=True):
        hessian[i, j] = hessian[j, i] = (pp - pm - mp + mm) / (4 * h * h)
    return values[0], gradient, hessian


@lru_cache(maxsize=64)
def _moves(size: int, step: float) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Pairs of coordinates, and what is added to a place: nothing, steps along the axes, corners for each pair."""
    unit, h = np.eye(size), step / 4
    line = [sign * k * step * unit[i] for k, _ in STENCIL for sign in (1, -1) for i in range(size)]
    pairs = [(i, j) for i in range(size) for j in range(i + 1)]
    corners = [h * (a * unit[i] + b * unit[j]) for i, j in pairs for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
    return pairs, np.array([np.zeros(size), *line, *corners])


PLACES = {True: (1.0, 2.0, 1.5, 2.5), False: (0.125, 0.375, 0.25, -0.25)}
"""Where an equation is looked at, for a positive unknown and for another."""


@definition_of(Solution)
def _solution(self: Interpreter, node: Solution, scope: Scope) -> Array:
    """The zero of a straight line through two values; two more values must lie on it."""
    if scope.depth:
        raise CannotReferee(f"an equation for {node.variable} stands inside of an integral")
    places = PLACES[bool(node.variable.is_positive)]
    values = _at_places(self, node, scope, places)
    first, rate = values[0], (values[1] - values[0]) / self.number(places[1] - places[0])
    size = max(abs(self.arithmetic.midpoint(value)) for value in values)
    if abs(self.arithmetic.midpoint(rate)) <= LINEAR * size:
        raise CannotReferee(f"{node.body} does not depend on {node.variable}")
    for place, value in zip(places, values, strict=True):
        off = value - first - self.number(place - places[0]) * rate
        if not abs(self.arithmetic.midpoint(off)) <= LINEAR * size:
            raise CannotReferee(f"{node.body} is not linear in {node.variable}")
    return self.number(places[0]) - first / rate


def _at_places(self: Interpreter, node: Solution, scope: Scope, places: tuple[float, ...]) -> list[Array]:
    """The body at several values of the unknown: at once, or one by one where minima depend on it."""
    try:
        column = self.arithmetic.array(list(places))
        values = np.asarray(self.value(node.body, scope.bind({node.variable: column}, 1, len(places))))
        if values.shape == (len(places),):
            return list(values)
    except TooCostly:
        raise
    except CannotReferee:
        pass
    return [self.value(node.body, scope.bind({node.variable: self.number(place)})) for place in places]
