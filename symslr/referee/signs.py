"""Definitions of random signs and events: binary digits, the mean over all sign vectors, indicators."""

from __future__ import annotations

import numpy as np

from symslr.expression.signs import Indicator, Relu, Sign, SignExpectation
from symslr.referee.arithmetic import Array, CannotReferee
from symslr.referee.interpreter import LEAVES, Interpreter, definition_of, truth
from symslr.referee.scope import Scope

MOST_SIGNS = 14
"""Signs of a vector all of whose values are tried."""

LEAVES.append(SignExpectation)


@definition_of(Sign)
def _sign(self: Interpreter, node: Sign, scope: Scope) -> Array:
    """1 where binary digit number k of the vector is 0, -1 where it is 1; for all vectors at once inside of a mean."""
    place = self.integer(node.place, scope)
    if place < 1:
        raise CannotReferee(f"{node} is sign number {place}; they are counted from 1")
    vectors = scope.lookup(node.vector)
    if not isinstance(vectors, np.ndarray):
        return self.number(1 - 2 * (self.integer(node.vector, scope) >> (place - 1) & 1))
    signs = np.empty(vectors.shape, dtype=self.arithmetic.dtype)
    digit = vectors >> (place - 1) & 1 == 1
    signs[~digit], signs[digit] = self.number(1), self.number(-1)
    return signs


@definition_of(SignExpectation)
def _mean_over_signs(self: Interpreter, node: SignExpectation, scope: Scope) -> Array:
    """2^-count times the sum over all sign vectors, which lie on an array axis of their own."""
    count = self.integer(node.count, scope)
    if not 0 <= count <= MOST_SIGNS:
        raise CannotReferee(f"{node} has {count} signs; expected at most {MOST_SIGNS} to try all vectors")
    vectors = np.arange(2**count).reshape(-1, *(1,) * scope.depth)
    values = self.value(node.body, scope.bind({node.vector: vectors}, 1, len(vectors)))
    if np.ndim(values) <= scope.depth:
        return values  # the body looks at no sign
    return values.sum(axis=0) / self.number(2**count)


@definition_of(Indicator)
def _indicator(self: Interpreter, node: Indicator, scope: Scope) -> Array:
    holds = truth(self, node.condition, scope)
    if np.ndim(holds) == 0:
        return self.number(int(bool(holds)))
    values = np.empty(np.shape(holds), dtype=self.arithmetic.dtype)
    holds = np.asarray(holds, dtype=bool)
    values[holds], values[~holds] = self.number(1), self.number(0)
    return values


@definition_of(Relu)
def _relu(self: Interpreter, node: Relu, scope: Scope) -> Array:
    return self.arithmetic.call("Max", self.value(node.args[0], scope), self.number(0))
