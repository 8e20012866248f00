"""Rounding errors of a float pass, estimated by perturbing every number of the formula.

Integrals, means and minima keep their values and errors of the pass; each is moved by its error, and each result of ordinary
algebra by its rounding, up or down by chance. How far the whole moves shows what rounding does to it: a difference of two numbers
near one has no digits beyond those of the larger one, and a small factor beside it scales the error as it scales the value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Basic, Integral, preorder_traversal

from symslr.expression.expectation import Expectation, ScalarExpectation
from symslr.model.symbols import BOUND_IN_SEQUENCE
from symslr.referee.arithmetic import Array
from symslr.referee.plans import ROUNDED, Quadrature

OF_A_FUNCTION = 4e-16
"""Rounding of one operation in double precision, relative."""

READINGS = 4
"""How often the formula is read again."""

SPARE = 3
"""The largest move of so few readings falls short of the worst one."""


@dataclass
class Rounding:
    """Values and errors of the integrals of one pass, and later what moves them.

    Attributes:
        quadrature: of the pass; its magnitude and noise are those of the latest integral while one is evaluated.
        known: integral and the numbers in its scope -> value, absolute error, the part of it that its neighbours share.
        chance: what moves the numbers; None while the pass itself is under way.
    """

    quadrature: Quadrature
    known: dict[Hashable, tuple[Array, float, float]] = field(default_factory=dict)
    chance: np.random.Generator | None = None
    _shifts: dict[Hashable, float] = field(default_factory=dict)

    def leaf(self, node: tuple[Any, ...], numbers: Hashable, evaluated: Callable[[], Array]) -> Array:
        """An integral, a mean or a minimum: evaluated and kept, or what was kept, moved by its error.

        An integral or a mean with others inside is evaluated again with these moved: their errors go through it as they are.
        Of a route that keeps its grids when a number in the scope moves a little, the larger part of the error is the same
        for all of them, so that it leaves a difference of two.
        """
        key = node, numbers
        if self.chance is not None and key in self.known and not _holds_means(node[0]):
            value, own, shared = self.known[key]
            return value + own * self._sign() + shared * self._shift(node)
        quadrature = self.quadrature
        outside = quadrature.magnitude, quadrature.noise, quadrature.shared
        quadrature.magnitude = quadrature.noise = quadrature.shared = 0.0
        value = evaluated()
        shared = quadrature.shared
        rounded = ROUNDED * quadrature.arithmetic.coarseness
        own = quadrature.noise + (0.0 if shared else rounded * max(quadrature.magnitude, _size(value)))
        if self.chance is None:
            self.known[key] = value, own, shared
        quadrature.magnitude = max(outside[0], quadrature.magnitude)
        quadrature.noise = max(outside[1], own + shared)
        quadrature.shared = outside[2]
        return value if self.chance is None else value + own * self._sign() + shared * self._shift(node)

    def shaken(self, value: Array) -> Array:
        """The result of one operation, moved by its rounding."""
        if self.chance is None:
            return value
        moved = OF_A_FUNCTION * self.quadrature.arithmetic.coarseness * self._sign()
        return value * (1 + self.quadrature.arithmetic.dtype(moved))

    def error(self, read: Callable[[Rounding], Array], value: Array) -> float:
        """The rounding error of ``value``, which ``read`` reads again with the numbers moved."""
        moved = []
        for seed in range(READINGS):
            again = Rounding(self.quadrature, self.known, np.random.default_rng(seed))
            moved.append(float(abs(read(again) - value)))
        return SPARE * max(moved)

    def _shift(self, node: Hashable) -> float:
        if node not in self._shifts:
            self._shifts[node] = self._sign()
        return self._shifts[node]

    def _sign(self) -> float:
        assert self.chance is not None
        return 1.0 if self.chance.random() < 0.5 else -1.0


@lru_cache(maxsize=2**12)
def _holds_means(node: Basic) -> bool:
    """Whether an integral or a mean has others inside that are numbers to it: none of what it integrates over is in them."""
    if isinstance(node, Integral):
        bound: frozenset[Basic] = frozenset(node.variables)
    elif isinstance(node, Expectation):
        bound = (
            BOUND_IN_SEQUENCE | node.args[1].free_symbols if isinstance(node, ScalarExpectation) else BOUND_IN_SEQUENCE
        )
    else:  # a minimum has the noise of its looks, see symslr.referee.extrema
        return False
    inside = (inner for arg in node.args for inner in preorder_traversal(arg))
    return any(isinstance(inner, (Expectation, Integral)) and not inner.free_symbols & bound for inner in inside)


def _size(value: Array) -> float:
    return float(np.max(np.abs(value)))
