"""Means of bodies with negative powers of sums over tokens, such as normalisers: a power is a sum of exponentials.

1/S^p is replaced by sum_k w_k e^{-u_k S}, which is held against it over the whole range of S; what is left of the difference is
part of the error. Under every exponential the tokens are independent, so that a mean is a sum over k of products of integrals
over one token, at any number of tokens and at the accuracy of sums over one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symslr.expression.expectation import SequenceExpectation
from symslr.model.largest import IsLargest
from symslr.referee.arithmetic import Array
from symslr.referee.interpreter import COSTLY
from symslr.referee.one_token import Factor, OutOfReach, Table, Token
from symslr.referee.polynomials import NotPolynomial
from symslr.referee.scope import Scope
from symslr.referee.symmetry import symmetric
from symslr.referee.token_products import ONE, Reading, numbers_of
from symslr.referee.work import Memory

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

FINENESS = (1.0, 1.4, 2.0, 2.8, 4.0)
"""Steps of a token are this many times shorter, one after the other, until a value stays."""

SETTLED = 1e-12
"""Change of a value, relative to the sum of the absolute terms, after which it stays."""

FAR_OFF = 1e-10
"""A sum of exponentials that differs more from its power is none."""

ROUNDING, SHARED = 4e-16, 1e-15
"""Of a sum, relative to that of the absolute terms: from one parameter to the next, for every four tokens (1.6e-16 was seen at
two, 2.4e-15 at 39, 1e-14 at 150), and in all, for each token."""

MOST_KEPT, MOST_ROWS = 64, 64


def by_exponentials(self: Interpreter, node: SequenceExpectation, scope: Scope, length: int) -> Array | None:
    """E_g[body] as a sum over exponentials of products over tokens; None for a body of another kind."""
    if self.arithmetic.dtype is not np.float64 or node.has(IsLargest) or not symmetric(node):
        return None
    rows = scope.rows(MOST_ROWS)
    if rows is None:
        return None
    shape, scopes = rows
    quadrature = self.quadrature
    values = []
    try:
        for inner in scopes:
            reading = _reading(self, node, inner, length)
            key = ("exponentials", *self.context(node, inner))
            if key not in quadrature.plans or (quadrature.planning and scope.depth):
                fineness = _fineness(reading, quadrature.tolerance)
                quadrature.plans[key] = max(fineness, quadrature.plans.get(key, fineness))
            found = _mean(reading, (quadrature.plans[key], quadrature.scale, quadrature.shifted))
            values.append(found.value)
            quadrature.magnitude = max(quadrature.magnitude, found.size)
            quadrature.noise = max(quadrature.noise, ROUNDING * (1 + length / 4) * found.size)
            quadrature.shared = max(quadrature.shared, found.off + SHARED * (1 + length) * found.size)
    except (NotPolynomial, OutOfReach):
        return None
    return np.array(values).reshape(shape)[()]


_readings = Memory(MOST_KEPT)
"""Every pass asks for the same."""

_tables = Memory(6)
"""Lines of a chain ask for the same integrals."""


def _reading(self: Interpreter, node: SequenceExpectation, scope: Scope, length: int) -> Reading:
    if node.body.has(*COSTLY) or node.law.has(*COSTLY):  # the error of an integral within shows between two passes
        return Reading.of(self, node, scope, length)
    key = node, length, numbers_of(self, node, scope)
    return _readings.get(key, lambda: Reading.of(self, node, scope, length))


@dataclass(frozen=True)
class _Mean:
    """A mean, the sum of its absolute terms, and what sums of exponentials that are no powers may add to it."""

    value: float
    size: float
    off: float


def _fineness(self: Reading, tolerance: float) -> float:
    """The coarsest of ``FINENESS`` at which the mean has settled."""
    before = _mean(self, (FINENESS[0], 1.0, False))
    if tolerance >= 1e-7:
        return FINENESS[0]
    for finer in FINENESS[1:]:
        now = _mean(self, (finer, 1.0, False))
        if abs(now.value - before.value) <= SETTLED * now.size:
            return finer
        before = now
    raise OutOfReach


def _mean(self: Reading, fineness: tuple[float, float, bool]) -> _Mean:
    """The mean at a fineness of ``Table.of``."""
    totals = tuple(self.totals.values())
    token = Token.of(self.reader, self.scope, self.law, self.score, self.lines.values(), self.unbounded())
    key = token, totals, self.length, fineness
    made = _tables.get(key, lambda: Table.of(self.reader, self.scope, *key))
    asked: dict[Factor, np.ndarray] = {}
    value = size = far = 0.0
    for powers, classes in self.classes.items():
        parts = tuple(slice(0, 1) if p == 0 else slice(1, None) for p in powers)

        def integral(factor: Factor, parts: tuple[slice, ...] = parts) -> np.ndarray:
            if factor not in asked:
                asked[factor] = made.integral(self.reader, self.scope, factor)
            return asked[factor][parts]

        sums: Any = 0.0
        absolute: Any = 0.0
        for others, of_own in classes.items():
            term: Any = 0.0
            for own, number in of_own.items():
                term = term + number * integral(own)
            count = self.length - 1
            for other, times in others:
                term = term * integral(other) ** times
                count -= times
            term = term * integral(ONE) ** count
            sums, absolute = sums + term, absolute + np.abs(term)
        for exponents, power in zip(reversed(made.exponents), reversed(powers)):
            weights = exponents.weights(power)
            sums, absolute = sums @ weights, absolute @ weights
        off = sum(exponents.error(power) for exponents, power in zip(made.exponents, powers))
        if not (np.isfinite(sums) and off < FAR_OFF):
            raise OutOfReach
        value, size = value + float(sums), size + float(absolute)
        far += off * float(absolute)
    return _Mean(value, size, far)
