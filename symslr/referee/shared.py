"""Integrals and means that several lines ask for at the same numbers: each is summed once by every kind of pass.

The lines of a chain differ in a factor or a term, and the means in them are the same. What is kept is the number of one pass, of
its own arithmetic and its own grids: two passes are as independent as before, and an error is still what they differ by.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Basic

from symslr.referee.arithmetic import Array
from symslr.referee.plans import Quadrature, joined
from symslr.referee.scope import Scope, part_of
from symslr.referee.work import Memory

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

MOST_KEPT = 2**12


@dataclass(frozen=True)
class _Kept:
    """A value, and what its evaluation left behind: fields of ``Quadrature``, the arithmetic's coarseness, places of minima."""

    value: Array
    largest: dict[str, float]
    added: dict[str, float]
    routes: frozenset[str]
    plans: dict[Hashable, Any]
    coarseness: float
    places: dict[Any, Any]


LARGEST, ADDED = ("magnitude", "noise", "shared", "stepped", "blind"), ("done", "foreseen")
"""Fields of ``Quadrature`` of which a pass has the largest (of flags: whether any was set), and the sum."""

EXACT = (int, Fraction, np.floating)
"""Numbers that are what they say; two equal ones are one."""

_kept = Memory(MOST_KEPT)


def once(self: Interpreter, node: Basic, scope: Scope, evaluated: Callable[[], Array]) -> Array:
    """The value of an integral or a mean: evaluated and kept, or what was kept of a pass of this kind at these numbers."""
    key = _key(self, node, scope)
    if key is None:
        return evaluated()
    known, sampler = key in _kept, self.quadrature.sampler
    # other scramblings draw other points
    found = _kept.get(key, lambda: _listened(self, evaluated), lambda: sampler is None or not sampler.used)
    return _again(self, found) if known else found.value


def _listened(self: Interpreter, evaluated: Callable[[], Array]) -> _Kept:
    """The value, and what changed on the way to it."""
    quadrature = self.quadrature
    outside = vars(quadrature).copy()
    plans, places = dict(quadrature.plans), dict(self.places)
    quadrature.routes = set()
    for name in LARGEST:
        setattr(quadrature, name, type(outside[name])())
    try:
        value = evaluated()
        return _Kept(
            value,
            {name: getattr(quadrature, name) for name in LARGEST},
            {name: getattr(quadrature, name) - outside[name] for name in ADDED},
            frozenset(quadrature.routes),
            _new(quadrature.plans, plans),
            self.arithmetic.coarseness,
            _new(self.places, places),
        )
    finally:
        quadrature.routes = outside["routes"] | quadrature.routes
        for name in LARGEST:
            setattr(quadrature, name, max(outside[name], getattr(quadrature, name)))


def _new(now: dict[Any, Any], before: dict[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in now.items() if before.get(key) is not value}


def _again(self: Interpreter, found: _Kept) -> Array:
    """The value, after all that its evaluation would have left behind."""
    quadrature, arithmetic = self.quadrature, self.arithmetic
    for name, value in found.largest.items():
        setattr(quadrature, name, max(getattr(quadrature, name), value))
    for name, value in found.added.items():
        setattr(quadrature, name, getattr(quadrature, name) + value)
    quadrature.routes |= found.routes
    for key, plan in found.plans.items():
        quadrature.plans[key] = joined(quadrature.plans.get(key), plan)
    arithmetic.coarseness = max(arithmetic.coarseness, found.coarseness)
    self.places.update(found.places)
    return found.value


def _key(self: Interpreter, node: Basic, scope: Scope) -> Hashable | None:
    """All that a value depends on; None where it is an array, or a number is a ball."""
    part = part_of(node)
    numbers = {symbol: scope.lookup(symbol) for symbol in part.symbols}
    if scope.depth or not all(isinstance(number, (*EXACT, NoneType)) for number in numbers.values()):
        return None
    integers = frozenset(known for known in scope.numbered if known[0] in part.letters)
    laws = frozenset((name, tuple(law)) for name, law in self.laws.items())
    return part, frozenset(numbers.items()), integers, laws, _pass(self.quadrature)


def _pass(quadrature: Quadrature) -> Hashable:
    """What tells one kind of pass from another: two of them have grids or numbers of their own."""
    arithmetic, forecast = quadrature.arithmetic, quadrature.forecast
    numbers = type(arithmetic), arithmetic.dtype, getattr(arithmetic, "bits", None), quadrature.digits
    grids = quadrature.planning, quadrature.scale, quadrature.shifted, quadrature.tolerance
    return numbers, grids, forecast and forecast.more, quadrature.sampler is not None
