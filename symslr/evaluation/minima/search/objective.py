"""A node of the plan as a function of some of its parameters, which a search calls in float64 or at any precision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Symbol

from symslr.evaluation.errors import CannotEvaluate, NoLeastValue, TooDear
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT

STRICT = 1e-12
"""The tolerance at which a value is sought where a higher one gave none, about the finest that float64 meshes reach."""
MEDIUM = 1e-7
"""Tolerance near a minimum: its place is then known to the root of that, from where Newton steps converge."""
PAST = 5.0
"""Times the scale at which the farthest feature of a kernel is met: a function that rises from there on falls no more."""
SLIGHT = 0.01
"""Part of its height above the least value by which a function may fall that falls to its limit."""
POOR = 1e-6
"""Relative error above which a value may not count as lower than another: a search compares values to 1e-4."""


@lru_cache(maxsize=64)
def computed(node: Node, scope: frozenset[Any]) -> dict[tuple[float, ...], list[tuple[float, float, Pair]]]:
    """What searches for one minimum have computed, by place: (tolerance, enough, pair); one for fewer digits goes on from there.

    A search looks at the function in some dozen axes besides its own.
    """
    return defaultdict(list)


@dataclass(frozen=True)
class Objective:
    """A node as a function of some of its parameters.

    Attributes:
        seen: (the most that a value in float64 may be, its place, its error), of all that were computed, to whatever tolerance.
        refused: why there was no float64 value, by place; also where a smaller tolerance gave one.
        met: the size of the one variable at which the farthest feature of a kernel is met; 0 where there is none.
        selects: that at which a kernel selects as sharply as the law does; 0 where the law does not select.
        limit: what the function tends to as its one variable goes to plus or minus infinity, where that is known.
        is_even: whether it has the same value at the negative of its one variable.
        smallest: the size at least of a variable, in whose units steps are measured.
        closer: the places at which a scan over the scale of a key looks besides its own, as of ``Attended.closer``.
        sampled: makes what gives values to two digits at places of the one variable, where that can be had.
    """

    node: Node
    variables: tuple[Symbol, ...]
    context: Context
    scope: Mapping[Symbol, Pair]
    seen: list[tuple[float, list[float], float]] = field(default_factory=list, compare=False)
    refused: dict[tuple[float, ...], Exception] = field(default_factory=dict, compare=False)
    feature_scale: float = 0.0
    selection_scale: float = 0.0
    limit: Callable[[int], Pair | None] | None = field(default=None, compare=False)
    is_even: bool = False
    smallest: float = 0.1
    extra_scan_points: Callable[[Any], list[float]] | None = field(default=None, compare=False)
    sampled: Callable[[], Callable[[float], Pair] | None] | None = field(default=None, compare=False)

    @property
    def is_float(self) -> bool:
        return self.context.arithmetic.name == "numpy"

    def within(self, tolerance: float) -> Objective:
        """The same function to a tolerance, or to its own where that is smaller."""
        return replace(self, context=replace(self.context, tolerance=min(self.context.tolerance, tolerance)))

    def of(self, node: Node, variables: tuple[Symbol, ...]) -> Objective:
        """Another function, as of the same parameters in other axes; nothing is known of it."""
        return replace(
            self,
            node=node,
            variables=variables,
            seen=[],
            refused={},
            limit=None,
            is_even=False,
            extra_scan_points=None,
            sampled=None,
        )

    def pair(self, place: Any, get: Callable[[], Pair] | None = None) -> Pair:
        """(value, error) at a place; in float64 computed once, as searches come back to where values are dear.

        Args:
            get: the node's value there, where it has seen the place among others.
        """
        if not self.is_float or self.context.continuations is not None:
            return self.node.evaluate(self.context, self.scope_at(place))
        at, (tolerance, enough) = [float(x) for x in place], self._asked
        pair = self._kept(at)
        if pair is None:
            pair = self.node.evaluate(self.context, self.scope_at(place)) if get is None else get()
            computed(self.node, frozenset(self.scope.items()))[self._key(at)].append((tolerance, enough, pair))
        self.seen.append((float(pair[0]) + float(pair[1]), at, float(pair[1])))
        return pair

    @property
    def _asked(self) -> tuple[float, float]:
        """The tolerance, and the error with which no other formula is asked."""
        return float(self.context.tolerance), self.context.enough or 0.0

    def _kept(self, at: list[float]) -> Pair | None:
        """What was computed at a place to as small a tolerance."""
        tolerance, enough = self._asked
        known = computed(self.node, frozenset(self.scope.items()))[self._key(at)]
        return next((pair for own, least, pair in known if own <= tolerance and least <= enough), None)

    def _key(self, at: list[float]) -> tuple[float, ...]:
        """The place under which a value is kept: one for both signs where they have the same."""
        return tuple(map(abs, at)) if self.is_even else tuple(at)

    def scope_at(self, place: Any) -> dict[Symbol, Pair]:
        """All parameters, with the variables at a place."""
        zero = self.context.arithmetic.number(0)
        return {**self.scope, **{s: (v, zero) for s, v in zip(self.variables, place)}}

    def rough(self, tolerance: float) -> Objective:
        """The same function in float64, to a tolerance of its own."""
        scope = {s: (float(p[0]), float(p[1])) if isinstance(p, tuple) else p for s, p in self.scope.items()}
        return replace(self, context=Context(FLOAT, tolerance, enough=self.context.enough), scope=scope)

    def known(self, place: Any, get: Callable[[], Pair] | None = None) -> tuple[float, float]:
        """The float64 value and its error, both infinite where there is no value; ``get`` as for ``pair``."""
        at = [float(v) for v in place]
        for tolerance in dict.fromkeys((self.context.tolerance, min(self.context.tolerance, STRICT))):
            try:
                value, error = (float(part) for part in self.rough(tolerance).pair(at, get))
            except (CannotEvaluate, ArithmeticError) as reason:
                self.refused[tuple(at)] = reason
                if isinstance(reason, TooDear):
                    break  # for more digits it would be dearer
                get = None
                continue  # meshes that are laid out for few digits may miss what they need to be laid out at all
            return (value, error) if np.isfinite(value + error) else (np.inf, np.inf)
        return np.inf, np.inf

    def first_known(self, place: Any, *tolerances: float) -> tuple[float, float]:
        """``known`` to the first of some tolerances that gives a value.

        Meshes are laid out anew for each, and where one is just too large another, also a finer one, may not be.
        """
        found = np.inf, np.inf
        for tolerance in tolerances:
            found = self.rough(tolerance).known(place)
            if np.isfinite(found[0]):
                break
        return found

    def all_known(self, places: Sequence[Any]) -> Any:
        """``known`` at many places, (places, 2); the node sees them together."""
        rough, points = self.rough(self.context.tolerance), [[float(v) for v in place] for place in places]
        new = list({self._key(place): place for place in points if rough._kept(place) is None}.values())
        found = self.node.at(rough.context, [rough.scope_at(place) for place in new]) if new else []
        gets = dict(zip(map(self._key, new), found))
        return np.array([self.known(place, gets.get(self._key(place))) for place in points])

    def number(self, place: Any) -> float:
        """The float64 value, infinite where there is none; where it has lost its digits, the most that it may be."""
        return self.numbered(*self.known(place))

    @staticmethod
    def numbered(value: float, error: float) -> float:
        """As ``number``, of what is known."""
        return value if error < POOR * abs(value) else value + error


def all_looked_at(objective: Objective, places: list[Any], values: Any) -> None:
    """Nothing, where the function is known at every place of a scan, has no value there, or has risen past all that a kernel does.

    log(1 + e^x) + e^(40 x - 800) is softplus at small scales, and nearly selects the largest token at large ones; e^(-x^2) selects
    the smallest one from a = 2 on, and nothing more comes of a larger scale.

    Raises:
        CannotEvaluate: where a value is too dear: it may be the least.
    """
    found = np.isfinite(values)
    for k in sorted(np.flatnonzero(~found), key=lambda k: max(map(abs, places[k]))):
        reason = objective.refused.get(tuple(map(float, places[k])))
        if not isinstance(reason, TooDear):
            if len(places[k]) == 1 and not found[k - 1 : k + 2].any() and found[:k].any() and found[k:].any():
                raise unknown(objective, places[k], reason or "the formula leaves the numbers of float64")
            continue
        if has_risen(objective, places, values, int(k)):
            continue
        known = sorted({place[0] for place, own in zip(places, found) if own})
        raise unknown(objective, places[k], reason, *([known[1], known[-2]] if len(known) > 2 else ()))


def has_risen(objective: Objective, places: list[Any], values: Any, k: int) -> bool:
    """Whether a place on a line lies outwards of known ones, that reach past the farthest feature and do not fall there.

    A fall by less than a hundredth of the height above the least value counts as none: rounding, where all weight is lost.
    """
    known = [(place[0], own) for place, own in zip(places, values) if np.isfinite(own)]
    if len(places[k]) > 1 or len(known) < 3 or known[0][0] <= places[k][0] <= known[-1][0]:
        return False
    (last, top), (_, before) = known[:2] if places[k][0] < known[0][0] else known[:-3:-1]
    is_past = last * places[k][0] > 0 and abs(last) >= PAST * objective.feature_scale > 0
    return bool(is_past and before - top < SLIGHT * (top - min(own for _, own in known)))


def unknown(objective: Objective, place: Any, reason: object, low: Any = "LOW", high: Any = "HIGH") -> CannotEvaluate:
    """What is said where the function has no value at a place that may be the lowest."""
    first, *others = objective.variables
    beside = "".join(f", {symbol} = {x:.3g}" for symbol, x in zip(others, place[1:]))
    text = (
        "the least value is not known, as there is none at {} = {}{} ({}); give bounds within which there are (--bounds {}:{}:{} "
        "on the command line)"
    )
    return NoLeastValue(text, first, float(place[0]), beside, reason, first, low, high)
