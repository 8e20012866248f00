"""Definitions of the expectation nodes and of integrals: densities on explicit grids, sums over tokens written out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Basic, Expr, Integral, S

from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import FOLDED, Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.special import NormalCdf
from symslr.model.admissible import check_weight_at
from symslr.model.catalogue import is_catalogued
from symslr.model.configuration import ConfigurationLaw
from symslr.model.largest import IsLargest
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import OTHERS, L, chi, epsilon, eta, m, x, xi, z, zeta
from symslr.referee.arithmetic import Array, CannotReferee, NoDensity
from symslr.referee.configurations import posterior_mean
from symslr.referee.degree import degree_in
from symslr.referee.exponential_sums import by_exponentials
from symslr.referee.hermite import gauss_hermite, polynomial_rule
from symslr.referee.interpreter import COSTLY, LEAVES, SAMPLED, Interpreter, definition_of, token
from symslr.referee.kinks import scalar_breaks, token_breaks, token_peaks
from symslr.referee.moments import polynomial_mean
from symslr.referee.plans import DRAFT, Axis, Fixed, Problem
from symslr.referee.products import by_tokens
from symslr.referee.samples import bound_to, over_positions, sampled
from symslr.referee.scope import Scope, symbols_of
from symslr.referee.symmetry import symmetric
from symslr.referee.work import TooCostly

MOST_ON_PLAIN_GRIDS = 2
"""Token axes beyond which sums of exponentials are asked first: a grid of three costs seconds."""

MOST_TOKENS_INSIDE = (4, 2, 1)
"""Tokens whose tensor grid is affordable: outside of other integrals, inside of one, inside of two."""

COSTLY.extend((Integral, SequenceExpectation, ScalarExpectation, LengthExpectation))
LEAVES.extend((Integral, SequenceExpectation, ScalarExpectation))
SAMPLED.append(SequenceExpectation)


@definition_of(Integral)
def _integral(self: Interpreter, node: Integral, scope: Scope) -> Array:
    """Iterated integrals, the last limit outermost."""
    *inner, outer = node.limits
    if len(outer) != 3:
        raise CannotReferee(f"{node} is not a definite integral")
    variable, lower, upper = outer
    body = Integral(node.function, *inner) if inner else node.function
    axis = Axis(
        _end(self, lower, scope), _end(self, upper, scope), scalar_breaks(self, [node.function], variable, scope)
    )

    def integrand(nodes: list[Array]) -> Array:
        return self.value(body, scope.bind({variable: nodes[0]}, 1, len(nodes[0])))

    return self.quadrature.integrate(self.context(node, scope), Problem([axis], integrand, scope.depth, scope.size))


def _end(self: Interpreter, node: Expr, scope: Scope) -> Any:
    return None if node.is_infinite else self.value(node, scope)


@definition_of(ScalarExpectation)
def _scalar(self: Interpreter, node: ScalarExpectation, scope: Scope) -> Array:
    """The integral of body times density."""
    law, variable = node.law, node.variable
    if node.body != S.One:
        _check_mass(self, law, scope)
    breaks = {
        *scalar_breaks(self, [node.body], variable, scope),
        *scalar_breaks(self, [law.density], x, scope),
    }
    axis = _density_axis(self, law, tuple(sorted(breaks)), scope)

    def integrand(nodes: list[Array]) -> Array:
        return self.value(node.body, scope.bind({variable: nodes[0]}, 1, len(nodes[0])))

    return self.quadrature.integrate(self.context(node, scope), Problem([axis], integrand, scope.depth, scope.size))


MOST_WEIGHED = 2
"""Tokens up to which a weight is held to be a density; rules that bring one in look at three as well."""

MASS_ERROR = 1e-7
"""Largest distance of a density's integral from 1; quadrature with a tail like 1/x^2 is good to 1e-9."""


def _check_mass(self: Interpreter, law: ScalarLaw, scope: Scope) -> None:
    """Where the grids are laid, the density is integrated; under another variable, most of its values count.

    Raises:
        NoDensity: where the integral is not 1.
    """
    if law == STANDARD_NORMAL or not self.planning or self.quadrature.tolerance >= DRAFT:
        return
    # not by its constructor, which takes the mean of 1 for 1
    whole = Expr.__new__(ScalarExpectation, S.One, x, law)
    with self.quadrature.looking():
        mass = float(np.median(np.asarray(self.value(whole, scope), dtype=float)))
    if not abs(mass - 1) <= MASS_ERROR:
        raise NoDensity(f"{law.density} integrates to {mass:.6g}: it is no density")


def _check_weight(self: Interpreter, law: SequenceLaw, length: int, scope: Scope) -> None:
    """Where the grids are laid, a weight of one's own is held to be a density of two tokens at most.

    Raises:
        NoDensity: where it is negative somewhere or its mean is not 1.
    """
    if length > MOST_WEIGHED or not self.planning or is_catalogued(law):
        return
    names = sorted((symbol for symbol in law.free_symbols if symbol != law.length), key=str)
    numbers = [np.asarray(self.value(symbol, scope), dtype=float) for symbol in names]
    if any(number.ndim > 0 for number in numbers):
        return
    try:
        check_weight_at(law, length, tuple((symbol, float(number)) for symbol, number in zip(names, numbers)))
    except ValueError as refusal:
        raise NoDensity(str(refusal)) from None


def _check_seen(self: Interpreter, law: SequenceLaw, scope: Scope) -> None:
    """Where the grids are laid, the law of the relevant token has to be seen as a whole, however far or narrow.

    Raises:
        CannotReferee: where a part of it is not.
    """
    factor = law.relevant_factor
    if factor is None or not self.planning or self.quadrature.tolerance >= DRAFT or is_catalogued(law):
        return
    # not of the density times the factor, in which a density that is 0 in floats may cancel
    mean = ScalarExpectation(factor, x, law.base)
    with self.quadrature.looking():
        mass = float(np.median(np.asarray(self.value(mean, scope), dtype=float)))
    if not abs(mass - 1) <= MASS_ERROR:
        raise CannotReferee(
            f"a grid over a token does not see all of its law: the mean of the weight is {mass:.6g} there"
        )


def _density_axis(self: Interpreter, law: ScalarLaw, breaks: tuple[Fraction, ...], scope: Scope) -> Axis:
    """The support of a law, with its density in the weights."""

    def density(nodes: Array, axes: int) -> Array:
        # the axis lies further out than those of the scope by the axes between
        found = self.value(law.density, scope.bind({x: nodes}, axes + 1 - scope.depth, len(nodes)))
        if np.any(found < 0):
            raise NoDensity(f"{law.density} is negative somewhere: it is no density")
        return found

    return Axis(_end(self, law.lower, scope), _end(self, law.upper, scope), breaks, density)


@definition_of(LengthExpectation)
def _length(self: Interpreter, node: LengthExpectation, scope: Scope) -> Array:
    """The finite sum over the lengths."""
    law = node.law if isinstance(node.law, LengthLaw) else self.laws.get(str(node.law))
    if not isinstance(law, LengthLaw):
        raise CannotReferee(f"no length law for {node.law}")
    total = self.number(0)
    for length, probability in law:
        total = total + self.number(probability) * self.value(node.body, scope.with_integers({L: int(length)}))
    return total


@definition_of(Activation)
def _activation(self: Interpreter, node: Activation, scope: Scope) -> Array:
    """kappa(a chi_i) / N with N = 1 or o + sum_m kappa(a chi_m)."""
    _, kernel, _, _, scale, _ = node.args

    def attention(position: int) -> Array:
        at = scope.with_integers({m: position})
        argument = self.value(scale, at) * self.value(token(chi, m), at)
        return self.value(kernel, scope.bind({x: argument}))

    return _attention(self, node, attention, scope)


def _attention(self: Interpreter, node: Expr, kernel_at: Callable[[int], Array], scope: Scope) -> Array:
    """kappa_i / N with N = 1 or o + sum_m kappa_m, for a node ``(index, kernel, normalised, offset, score, length)``."""
    index, _, normalised, offset, _, length = node.args
    own = kernel_at(self.integer(index, scope))
    if normalised == S.Zero:
        return own
    total = self.value(offset, scope)
    for position in range(1, self.integer(length, scope) + 1):
        total = total + kernel_at(position)
    return own / total


@definition_of(ScoredActivation)
def _scored_activation(self: Interpreter, node: ScoredActivation, scope: Scope) -> Array:
    """kappa(s_i) / N with N = 1 or o + sum_m kappa(s_m)."""
    _, kernel, _, _, score, _ = node.args

    def attention(position: int) -> Array:
        argument = self.value(score, scope.with_integers({m: position}))
        return self.value(kernel, scope.bind({x: argument}))

    return _attention(self, node, attention, scope)


@definition_of(NormalCdf)
def _normal_cdf(self: Interpreter, node: NormalCdf, scope: Scope) -> Array:
    """The mass below y, by the complement that keeps its digits in the lower tail."""
    (y,) = (self.value(arg, scope) for arg in node.args)
    return self.arithmetic.call("erfc", -y / self.arithmetic.call("sqrt", self.number(2))) / 2


@definition_of(IsLargest)
def _is_largest(self: Interpreter, node: IsLargest, scope: Scope) -> Array:
    """1 where chi_i lies above every other token."""
    _, index, length = node.args
    own = self.integer(index, scope)
    result: Array = self.number(1)
    for position in range(1, self.integer(length, scope) + 1):
        if position != own:
            above = self.value(token(chi, own), scope) - self.value(token(chi, position), scope)
            result = result * self.arithmetic.call("Heaviside", above)
    return result


def weight_at(self: Interpreter, law: SequenceLaw, position: int, scope: Scope) -> Array:
    """g(position, chi)."""
    return self.value(law.weight, scope.with_integers({epsilon: position}))


@definition_of(Posterior)
def _posterior(self: Interpreter, node: Posterior, scope: Scope) -> Array:
    """g(i, chi) / sum_m g(m, chi): Bayes' rule under a uniform prior."""
    own = weight_at(self, node.law, self.integer(node.index, scope), scope)
    return own / _total_weight(self, node.law, scope)


def _total_weight(self: Interpreter, law: SequenceLaw, scope: Scope) -> Array:
    total = self.number(0)
    for position in range(1, self.integer(law.length, scope) + 1):
        total = total + weight_at(self, law, position, scope)
    return total


@definition_of(ConditionalMean)
def _conditional_mean(self: Interpreter, node: ConditionalMean, scope: Scope) -> Array:
    """sum_e g(e, chi) E_xi[label at epsilon = e] / sum_e g(e, chi)."""
    law = node.law
    degree = degree_in(node.label, {xi})
    noise, weights = gauss_hermite(self.arithmetic, degree)
    total = self.number(0)
    if isinstance(law, ConfigurationLaw):
        return sum(
            weight * posterior_mean(self, node.label, law, scope, {xi: value}) for value, weight in zip(noise, weights)
        )
    for position in range(1, self.integer(law.length, scope) + 1):
        mean = self.number(0)
        for value, weight in zip(noise, weights):
            given = scope.bind({xi: value}).with_integers({epsilon: position})
            mean = mean + weight * self.value(node.label, given)
        total = total + weight_at(self, law, position, scope) * mean
    return total / _total_weight(self, law, scope)


@lru_cache(maxsize=1024)
def _in_scores(body: Expr) -> frozenset[Basic]:
    """The symbols that scores of attentions in a body depend on."""
    return frozenset().union(*(symbols_of(sigma.score) for sigma in body.atoms(ScoredActivation)))


@definition_of(SequenceExpectation)
def _sequence(self: Interpreter, node: SequenceExpectation, scope: Scope) -> Array:
    """(1/L) sum_e of the integral of g body over the density of the tokens, values z and noise by Gauss-Hermite."""
    law, body = node.law, node.body
    _check_mass(self, law.base, scope)
    length = self.integer(law.length, scope)
    _check_weight(self, law, length, scope)
    _check_seen(self, law, scope)
    others = [symbol for symbol in OTHERS if symbol in self.symbols(body)]
    if others and length - 1 < OTHERS.index(others[-1]) + 1:
        raise CannotReferee(f"a sequence of length {length} has no token {others[-1]} besides the relevant one")
    gridded = [family for family in (z, eta) if family.label in _in_scores(body)]
    families = [family for family in (z, zeta, eta) if body.has(family) and family not in gridded]
    labels: list[Any] = [family.label for family in families for _ in range(length)] + ([xi] if body.has(xi) else [])
    needs_tokens = body.has(chi, IsLargest, *FOLDED, ConditionalMean) or law.weight.has(chi, IsLargest)
    tokens = length * (needs_tokens + len(gridded))
    # inside of a minimum a grid would be laid for each of its places, and a moment stands outside of it
    inside = scope.frame.parent is not None
    if gridded or inside or tokens > MOST_ON_PLAIN_GRIDS:
        moments = polynomial_mean(self, node, scope, length)
        if moments is not None:
            self.quadrature.routes.add("by moments")
            return moments
    sampler = self.quadrature.sampler
    if tokens > MOST_ON_PLAIN_GRIDS and body == 1 - Posterior(epsilon, law) and symmetric(node):
        # posteriors sum to 1 by definition, and the others are alike: a small error keeps its digits
        return (length - 1) * self.value(Expr.__new__(SequenceExpectation, Posterior(OTHERS[0], law), law), scope)
    if gridded or tokens > MOST_ON_PLAIN_GRIDS:
        mean = by_exponentials(self, node, scope, length)
        if mean is not None:
            self.quadrature.routes.add("by exponentials")
            return mean
    # inside of an integral a grid over all tokens would be that of the outside too
    if tokens > 1 and (scope.depth or tokens > MOST_ON_PLAIN_GRIDS or node.has(IsLargest)):
        product = by_tokens(node, length)
        if product is not None:
            self.quadrature.routes.add("token by token")
            return self.value(product, scope)
    if sampler is not None and (tokens > MOST_ON_PLAIN_GRIDS or node.has(IsLargest)):
        return sampled(self, node, scope, length, sampler)
    try:
        degree = degree_in(body, set(labels))
        fixed = [Fixed(*polynomial_rule(self.arithmetic, len(labels), degree))] if labels else []
    except CannotReferee:
        if sampler is None:
            raise
        return sampled(self, node, scope, length, sampler)
    if node.has(IsLargest) and length > 1:
        raise TooCostly("a grid does not resolve which token is the largest")
    breaks = tuple(sorted({*token_breaks(self, node, scope), *token_peaks(self, node, scope)}))
    axis = _density_axis(self, law.base, breaks, scope)
    axes = [axis] * length if needs_tokens else []
    if gridded:
        axes += [_density_axis(self, STANDARD_NORMAL, (), scope)] * (length * len(gridded))
    if len(axes) > MOST_TOKENS_INSIDE[min(scope.depth, 2)]:
        raise TooCostly(f"a grid over {length} tokens is more work than is allowed")

    def integrand(nodes: list[Array]) -> Array:
        numbers, tokens = nodes[: len(fixed)], nodes[len(fixed) :]
        columns = [rule.nodes[number, i] for rule, number in zip(fixed, numbers) for i in range(rule.nodes.shape[1])]
        bound = {chi.label: tokens[:length], **bound_to(zip(labels, columns))}
        for number, family in enumerate(gridded, 1):
            bound[family.label] = tokens[number * length : (number + 1) * length]
        points = 1
        for array in nodes:
            points *= len(array)
        return over_positions(self, node, scope.bind(bound, len(nodes), points), length)

    key = self.context(node, scope)
    return self.quadrature.integrate(key, Problem(axes, integrand, scope.depth, scope.size, fixed))
