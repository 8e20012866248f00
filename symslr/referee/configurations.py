"""Means over hidden configurations: every configuration is written out, keys and values are coloured by Cholesky factors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from scipy.special import ndtri
from sympy import Basic, Expr, S

from symslr.expression.configuration import (
    ConfigurationExpectation,
    ConfigurationMean,
    ElementarySymmetric,
    PosteriorMean,
    Precision,
    ShiftedDensity,
    count_in,
)
from symslr.model.configuration import ALIKE, ConfigurationLaw, ConfigurationPrior, Signal, r
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import chi, l, m, x, xi, z
from symslr.referee.arithmetic import Array, CannotReferee, Floats
from symslr.referee.degree import degree_in
from symslr.referee.hermite import polynomial_rule
from symslr.referee.interpreter import COSTLY, LEAVES, SAMPLED, Interpreter, definition_of
from symslr.referee.plans import Axis, Fixed, Problem
from symslr.referee.samples import MOST_POINTS, Sampler, effective_points
from symslr.referee.scope import Scope, symbols_of
from symslr.referee.work import TooCostly

MOST_CONFIGURATIONS = 4096
"""Configurations that are written out."""

ROUNDING = 1e-13
"""By what part two entries of a symmetric matrix may differ for the order in which their terms are added."""

MOST_AXES = 3
"""Keys (tokens times directions) beyond which points are sampled: a grid of four axes costs minutes."""

WIDER = 1.15
"""Standard deviations of the law from which a sampled key is drawn: the weights move mass outwards."""

CHUNK = 2_000_000
"""Numbers held at once while points are sampled."""

COSTLY.append(ConfigurationExpectation)
LEAVES.append(ConfigurationExpectation)
SAMPLED.append(ConfigurationExpectation)


@dataclass(frozen=True)
class Configurations:
    """All configurations that have a weight.

    Attributes:
        relevant: shape (configurations, tokens), 0 or 1.
        signals: shape (configurations, components), numbers of the arithmetic.
        weights: shape (configurations,), sum 1.
    """

    relevant: np.ndarray
    signals: Array
    weights: Array

    def bound(self, prior: ConfigurationPrior, number: Any, reader: Interpreter) -> dict[Any, Any]:
        """What r and the signal are bound to, for an array of numbers of configurations."""
        columns = [reader.arithmetic.array(list(column))[number] for column in self.relevant.T]
        signals = {symbol: self.signals[number, i] for i, symbol in enumerate(prior.signal.symbols)}
        return {r.label: columns, **signals}


def configurations(self: Interpreter, prior: ConfigurationPrior, scope: Scope) -> Configurations:
    """Every configuration with its probability, from the definition of the prior."""
    frame = scope.hoisted(symbols_of(prior)).frame
    key = self.context(prior, scope)
    if key not in frame.memo:
        frame.memo[key] = _written_out(self, prior, scope)
    found: Configurations = frame.memo[key]
    return found


def _written_out(self: Interpreter, prior: ConfigurationPrior, scope: Scope) -> Configurations:
    if not isinstance(prior.signal, Signal):
        raise CannotReferee(f"no law for the signal {prior.signal}")
    scope = Scope(scope.hoisted(symbols_of(prior)).frame, scope.integers)
    if scope.depth:
        raise CannotReferee("a prior depends on a variable that is integrated over")
    length = self.integer(prior.length, scope)
    count, mass = count_in(prior.mass, prior.length)
    chosen = None if count is None else self.integer(count, scope)
    number = 2**length if chosen is None else comb(length, chosen)
    if number * len(prior.signal.support) > MOST_CONFIGURATIONS:
        raise TooCostly(f"{number} configurations of {length} tokens are more than are written out")
    subsets = itertools.product((0, 1), repeat=length) if chosen is None else _with_ones(length, chosen)
    relevant = np.array([list(subset) for subset in subsets], dtype=float).reshape(number, length)
    columns = [self.arithmetic.array(list(column)) for column in relevant.T]
    weights = self.value(mass, scope.bind({r.label: columns}, 1, number)) + 0 * columns[0]
    pairs = prior.signal.support
    signals = np.empty((number * len(pairs), len(prior.signal.symbols)), dtype=self.arithmetic.dtype)
    every = np.empty(number * len(pairs), dtype=self.arithmetic.dtype)
    for k, (value, weight) in enumerate(pairs):
        part = slice(k * number, (k + 1) * number)
        every[part] = weights * self.value(weight, scope)
        for i, component in enumerate(value):
            signals[part, i] = self.value(component, scope)
    if np.any(every < 0):
        raise CannotReferee(f"{mass} is negative at some configurations of {length} tokens: it is no prior")
    total = every.sum()
    return Configurations(np.tile(relevant, (len(pairs), 1)), signals, every / total)


def _with_ones(length: int, count: int) -> list[list[int]]:
    return [
        [int(i in chosen) for i in range(length)] for chosen in map(set, itertools.combinations(range(length), count))
    ]


def _averaged(
    self: Interpreter,
    bodies: list[Expr],
    prior: ConfigurationPrior,
    scope: Scope,
    weight: Expr = S.One,
    given: Mapping[Basic, Any] | None = None,
) -> list[Array]:
    """The sums over configurations of probability times weight times body; ``given`` are symbols of the bodies alone."""
    found, number, inside = _all_configurations(self, prior, scope)
    weights = found.weights[number]
    if weight != S.One:
        weights = weights * self.value(weight, inside)
    body_scope = inside if given is None else inside.bind(given)
    sums = []
    for body in bodies:
        value = self.value(body, body_scope)
        missing = scope.depth + 1 - np.ndim(value)
        value = np.reshape(value, (1,) * missing + np.shape(value)) if missing > 0 else value
        total = (weights * value).sum(axis=0)
        sums.append(total if scope.depth else total[()] if isinstance(total, np.ndarray) else total)
    return sums


def _all_configurations(
    self: Interpreter, prior: ConfigurationPrior, scope: Scope
) -> tuple[Configurations, np.ndarray, Scope]:
    """The configurations, their numbers along an axis of their own, and the scope inside.

    All means over a prior in a frame share what is read inside: what stands in several of them, such as the weight, is read once.
    """
    found = configurations(self, prior, scope)
    number = np.arange(len(found.weights)).reshape((-1,) + (1,) * scope.depth)
    key, memo = ("all configurations", self.context(prior, scope)), scope.frame.memo
    if key not in memo:
        # not the frame inside, which holds this one: its arrays would wait for a collector of garbage
        memo[key] = found.bound(prior, number, self), {}
    bound, known = memo[key]
    return found, number, scope.bind(bound, 1, len(found.weights), known)


@definition_of(ConfigurationMean)
def _prior_mean(self: Interpreter, node: ConfigurationMean, scope: Scope) -> Array:
    """sum_h P(h) body."""
    return _averaged(self, [node.body], node.prior, scope)[0]


@definition_of(PosteriorMean)
def _posterior_mean(self: Interpreter, node: PosteriorMean, scope: Scope) -> Array:
    """The mean given the keys."""
    return posterior_mean(self, node.body, node.law, scope)


def posterior_mean(
    self: Interpreter, body: Expr, law: ConfigurationLaw, scope: Scope, given: Mapping[Basic, Any] | None = None
) -> Array:
    """sum_h P(h) w(h, chi) body / sum_h P(h) w(h, chi); ``given`` are symbols of the body alone."""
    above, below = _averaged(self, [body, S.One], law.prior, scope, law.weight, given)
    return above / below


@definition_of(Precision)
def _precision(self: Interpreter, node: Precision, scope: Scope) -> Array:
    """An entry of the inverse matrix."""
    first, second = (self.integer(place, scope) for place in node.places)
    length = self.integer(node.length, scope)
    if not (1 <= first <= length and 1 <= second <= length):
        raise CannotReferee(f"{node} is no entry of a matrix of size {length}")
    return inverse(self, node.covariance, length, scope)[first - 1][second - 1]


@definition_of(ShiftedDensity)
def _shifted(self: Interpreter, node: ShiftedDensity, scope: Scope) -> Array:
    """exp of half the difference of two quadratic forms: chi^T K chi - (chi - mu)^T K (chi - mu), K the inverse of C."""
    length = self.integer(node.length, scope)
    alike = node.covariance == ALIKE
    rows = None if alike else inverse(self, node.covariance, length, scope)
    exponent: Array = self.number(0)
    at = [scope.with_integers({l: place}) for place in range(1, length + 1)]
    for direction, mean in enumerate(node.means, 1):
        own = _key(node, direction)
        moves = [self.value(mean, inner) for inner in at]
        turned = moves if rows is None else [_product(row, moves) for row in rows]
        keys = [self.value(own, inner) for inner in at]
        # chi^T K chi - (chi - mu)^T K (chi - mu) = (K mu)^T (2 chi - mu), as K is symmetric
        exponent = exponent + 2 * _product(turned, keys) - _product(turned, moves)
    return self.arithmetic.call("exp", exponent / self.number(2))


@lru_cache(maxsize=2**10)
def _key(node: ShiftedDensity, direction: int) -> Expr:
    return node.key(l, direction)


def _product(one: list[Array], two: list[Array]) -> Array:
    """The sum of the products of entries."""
    total = one[0] * two[0]
    for mine, other in zip(one[1:], two[1:]):
        total = total + mine * other
    return total


@definition_of(ElementarySymmetric)
def _elementary(self: Interpreter, node: ElementarySymmetric, scope: Scope) -> Array:
    """The sum over the products of as many numbers, one subset after the other."""
    length, order = self.integer(node.length, scope), self.integer(node.order, scope)
    left_out = {self.integer(place, scope) for place in node.without}
    numbers = [
        self.value(node.term, scope.with_integers({node.index: place}))
        for place in range(1, length + 1)
        if place not in left_out
    ]
    if comb(len(numbers), order) > MOST_CONFIGURATIONS:
        raise TooCostly(f"{node} has too many terms")
    total: Array = self.number(0)
    for chosen in itertools.combinations(numbers, order):
        product: Array = self.number(1)
        for number in chosen:
            product = product * number
        total = total + product
    return total


def matrix(self: Interpreter, covariance: Expr, length: int, scope: Scope) -> list[list[Array]]:
    """The numbers C_ij.

    Raises:
        CannotReferee: where C is not symmetric, to rounding: it is no covariance.
    """
    places = range(1, length + 1)
    rows = [[self.value(covariance, scope.with_integers({l: i, m: k})) for k in places] for i in places]
    for i, k in itertools.combinations(range(length), 2):
        one, two = (self.arithmetic.midpoint(entry) for entry in (rows[i][k], rows[k][i]))
        if not abs(one - two) <= ROUNDING * max(abs(one), abs(two)):
            raise CannotReferee(
                f"the covariance {covariance} is not symmetric: {one} at {i + 1, k + 1}, {two} at {k + 1, i + 1}"
            )
    return rows


def inverse(self: Interpreter, covariance: Expr, length: int, scope: Scope) -> list[list[Array]]:
    """The inverse matrix by Gauss and Jordan; without a search for pivots, as the matrix is positive definite.

    Raises:
        CannotReferee: where a pivot says that it is not.
    """
    key = ("inverse", covariance, length)
    scope = scope.hoisted(symbols_of(covariance) - {l, m})
    memo = scope.frame.memo
    if key in memo:
        found: list[list[Array]] = memo[key]
        return found
    rows = matrix(self, covariance, length, scope)
    one, zero = self.number(1), self.number(0)
    wide = [[*row, *(one if i == k else zero for k in range(length))] for i, row in enumerate(rows)]
    for i in range(length):
        pivot = wide[i][i]
        if not self.arithmetic.midpoint(pivot) > 0:
            raise _indefinite(covariance, length)
        wide[i] = [entry / pivot for entry in wide[i]]
        for k in range(length):
            if k != i:
                factor = wide[k][i]
                wide[k] = [mine - factor * other for mine, other in zip(wide[k], wide[i])]
    memo[key] = [row[length:] for row in wide]
    return memo[key]


def cholesky(self: Interpreter, covariance: Expr, length: int, scope: Scope) -> list[list[Array]]:
    """The lower triangular A with A A^T = C.

    Raises:
        CannotReferee: where C is not positive definite.
    """
    rows = matrix(self, covariance, length, scope)
    lower: list[list[Array]] = [[] for _ in range(length)]
    for i in range(length):
        for k in range(i + 1):
            rest = rows[i][k]
            for n in range(k):
                rest = rest - lower[i][n] * lower[k][n]
            if i == k:
                if not self.arithmetic.midpoint(rest) > 0:
                    raise _indefinite(covariance, length)
                lower[i].append(self.arithmetic.call("sqrt", rest))
            else:
                lower[i].append(rest / lower[k][k])
    return lower


def _indefinite(covariance: Expr, length: int) -> CannotReferee:
    return CannotReferee(f"the covariance {covariance} is not positive definite at {length} tokens")


@definition_of(ConfigurationExpectation)
def _expectation(self: Interpreter, node: ConfigurationExpectation, scope: Scope) -> Array:
    """sum_h P(h) of the integral of w body over keys, values and noise; these on axes of independent normals."""
    job = _Job.of(self, node, scope)
    sampler = self.quadrature.sampler
    if job.keys > MOST_AXES:
        if sampler is None:
            raise TooCostly(f"a grid over {job.keys} keys is more work than is allowed")
        return job.sampled(sampler)
    axis = Axis(None, None, (), _normal_density(self, scope))
    fixed = [Fixed(np.zeros((len(job.found.weights), 0)), job.found.weights)]
    if job.rule is not None:
        fixed.append(job.rule)

    def integrand(nodes: list[Array]) -> Array:
        numbers, normals = nodes[: len(fixed)], nodes[len(fixed) :]
        points = 1
        for array in nodes:
            points *= len(array)
        bound = job.bound(numbers[0], numbers[1] if job.rule is not None else None, normals)
        inside = scope.bind(bound, len(nodes), points)
        return self.value(node.law.weight, inside) * self.value(node.body, inside)

    problem = Problem([axis] * job.keys, integrand, scope.depth, scope.size, fixed)
    return self.quadrature.integrate(self.context(node, scope), problem)


def _normal_density(self: Interpreter, scope: Scope) -> Callable[[Array, int], Array]:
    def density(nodes: Array, axes: int) -> Array:
        return self.value(STANDARD_NORMAL.density, scope.bind({x: nodes}, axes + 1 - scope.depth, len(nodes)))

    return density


@dataclass(frozen=True)
class _Job:
    """One expectation: its configurations, how many keys there are, the rule that integrates values and noise.

    Attributes:
        keys: tokens times directions; 0 where nothing depends on the keys.
        colours: Cholesky factors of keys and values, None where tokens are independent.
        labels: z once for each token where values stand in the body, then xi where it does.
    """

    reader: Interpreter
    node: ConfigurationExpectation
    scope: Scope
    length: int
    found: Configurations
    keys: int
    colours: tuple[list[list[Array]] | None, list[list[Array]] | None]
    labels: tuple[Any, ...]
    rule: Fixed | None

    @classmethod
    def of(cls, reader: Interpreter, node: ConfigurationExpectation, scope: Scope) -> _Job:
        law, body = node.law, node.body
        length = reader.integer(law.length, scope)
        names = symbols_of(body) | symbols_of(law.weight)
        keys = length * law.directions if chi.label in names else 0
        labels = ((z.label,) * length if body.has(z) else ()) + ((xi,) if body.has(xi) else ())
        colours = tuple(
            None if covariance == ALIKE or not used else cholesky(reader, covariance, length, scope)
            for covariance, used in ((law.covariance, keys), (law.values, body.has(z)))
        )
        rule = Fixed(*polynomial_rule(reader.arithmetic, len(labels), degree_in(body, set(labels)))) if labels else None
        return cls(reader, node, scope, length, configurations(reader, law.prior, scope), keys, colours, labels, rule)  # type: ignore[arg-type]

    @property
    def law(self) -> ConfigurationLaw:
        return self.node.law

    def bound(self, number: Any, point: Any, normals: list[Array]) -> dict[Any, Any]:
        """What everything random is bound to, given numbers of configurations, of points of the rule, and normals."""
        bound = self.found.bound(self.law.prior, number, self.reader)
        if self.keys:
            p = self.law.directions
            lines = [_coloured(normals[d::p], self.colours[0]) for d in range(p)]
            bound[chi.label] = lines[0] if p == 1 else [list(token) for token in zip(*lines)]
        if self.rule is not None:
            columns = [self.rule.nodes[point, i] for i in range(len(self.labels))]
            values = [column for label, column in zip(self.labels, columns) if label == z.label]
            if values:
                bound[z.label] = _coloured(values, self.colours[1])
            if xi in self.labels:
                bound[xi] = columns[-1]
        return bound

    def sampled(self, sampler: Sampler) -> Array:
        """The mean over the points of one randomisation."""
        if not isinstance(self.reader.arithmetic, Floats) or self.scope.depth:
            raise CannotReferee("samples are drawn in floats alone, outside of other integrals")
        sampler.used = True
        points = sampler.points(self.keys, MOST_POINTS)
        inner = len(self.found.weights) * (1 if self.rule is None else len(self.rule.weights))
        chunk = max(1, CHUNK // inner)
        found = np.concatenate([self._values(points[i : i + chunk]) for i in range(0, len(points), chunk)])
        sampler.magnitude = max(sampler.magnitude, float(np.abs(found).mean()))
        sampler.effective = min(sampler.effective, effective_points(np.abs(found)))
        return found.mean()

    def _values(self, points: np.ndarray) -> np.ndarray:
        """Weight times body times the density of the definition over that of the draw, averaged over all but the keys."""
        normals = [WIDER * ndtri(column).reshape(-1, 1, 1) for column in points.T]
        squares = sum(column**2 for column in normals)
        density = WIDER ** len(normals) * np.exp(-squares * (1 - WIDER**-2) / 2)
        configuration = np.arange(len(self.found.weights)).reshape(-1, 1)
        point = None if self.rule is None else np.arange(len(self.rule.weights))
        bound = self.bound(configuration, point, normals)
        inside = self.scope.bind(bound, 3, len(points) * len(self.found.weights))
        rule = np.ones(1) if self.rule is None else self.rule.weights
        shape = len(points), len(self.found.weights), len(rule)
        # the weight depends on keys and configuration alone, so values and noise are averaged over first
        body = np.einsum("pcr,r->pc", np.broadcast_to(self.reader.value(self.node.body, inside), shape), rule)
        weight = np.broadcast_to(self.reader.value(self.law.weight, inside), (*shape[:2], 1))[..., 0]
        return np.asarray(density[:, 0, 0] * ((weight * body) @ self.found.weights))


def _coloured(normals: list[Array], colour: list[list[Array]] | None) -> list[Array]:
    """Gaussian tokens with a covariance, from independent ones."""
    if colour is None:
        return list(normals)
    return [_product(row, normals) for row in colour]
