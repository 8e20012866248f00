"""A node of a plan as a function of some of its parameters, which a search calls in float64 or at any precision."""

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

FINEST = 1e-12
"""About the smallest tolerance that float64 quadrature reaches; a value that fails at a larger one is computed with it."""
MEDIUM = 1e-7
"""Tolerance of values near a minimum: they give the place to its square root, from where Newton steps converge."""
PAST_FEATURES = 5.0
"""A function that rises at so many times the scale of the farthest feature of the kernel is taken to rise for ever."""
SLIGHT_FALL = 0.01
"""A fall by less than this part of the height above the least value counts as none."""
LARGEST_RELATIVE_ERROR = 1e-6
"""A value with a larger relative error is replaced by its upper bound in comparisons, which are made to 1e-4."""


@lru_cache(maxsize=64)
def evaluations(node: Node, scope: frozenset[Any]) -> dict[tuple[float, ...], list[tuple[float, float, Pair]]]:
    """The cache of values computed for one node and scope: by place a list of (tolerance, enough, (value, error)).

    One search looks at the function through about a dozen ``Objective``s, which share it.
    """
    return defaultdict(list)


@dataclass(frozen=True)
class Objective:
    """A node as a function of some of its parameters.

    Attributes:
        upper_bounds: (value + error, place, error) of all float64 values computed, to any tolerance.
        refused: by place, why there was no float64 value; also where a smaller tolerance then gave one.
        feature_scale: the size of the one variable at which tokens reach the farthest feature of a kernel; 0 without features.
        selection_scale: the size at which a kernel is as steep as the selection of the law; 0 where the law does not select.
        limit: the limit as the one variable goes to plus or minus infinity, where it is known.
        is_even: whether the function is even in its one variable.
        unit: the least unit of steps: they are measured relative to the place, or to this where that is less.
        extra_scan_points: points that a scan over the scale of a key adds to its own, as of ``Attended.extra_scan_points``.
        sampled: makes a function from the one variable to Monte Carlo values of two digits; None where there is none.
    """

    node: Node
    variables: tuple[Symbol, ...]
    context: Context
    scope: Mapping[Symbol, Pair]
    upper_bounds: list[tuple[float, list[float], float]] = field(default_factory=list, compare=False)
    refused: dict[tuple[float, ...], Exception] = field(default_factory=dict, compare=False)
    feature_scale: float = 0.0
    selection_scale: float = 0.0
    limit: Callable[[int], Pair | None] | None = field(default=None, compare=False)
    is_even: bool = False
    unit: float = 0.1
    extra_scan_points: Callable[[Any], list[float]] | None = field(default=None, compare=False)
    sampled: Callable[[], Callable[[float], Pair] | None] | None = field(default=None, compare=False)

    @property
    def is_float(self) -> bool:
        return self.context.arithmetic.name == "numpy"

    def with_tolerance(self, tolerance: float) -> Objective:
        """The same function with this tolerance, or its own where that is smaller."""
        return replace(self, context=replace(self.context, tolerance=min(self.context.tolerance, tolerance)))

    def with_node(self, node: Node, variables: tuple[Symbol, ...]) -> Objective:
        """The function of another node and variables in the same scope, without what is known of this one."""
        return replace(
            self,
            node=node,
            variables=variables,
            upper_bounds=[],
            refused={},
            limit=None,
            is_even=False,
            extra_scan_points=None,
            sampled=None,
        )

    def pair(self, place: Any, get: Callable[[], Pair] | None = None) -> Pair:
        """(value, error) at a place; in float64 each place is computed once, as values are expensive.

        Args:
            get: computes the pair, where the node has already been asked for it together with others.
        """
        if not self.is_float or self.context.continuations is not None:
            return self.node.evaluate(self.context, self.scope_at(place))
        at, (tolerance, enough) = [float(x) for x in place], self._accuracy
        pair = self._cached(at)
        if pair is None:
            pair = self.node.evaluate(self.context, self.scope_at(place)) if get is None else get()
            evaluations(self.node, frozenset(self.scope.items()))[self._key(at)].append((tolerance, enough, pair))
        self.upper_bounds.append((float(pair[0]) + float(pair[1]), at, float(pair[1])))
        return pair

    @property
    def _accuracy(self) -> tuple[float, float]:
        """(tolerance, error that is small enough for no other formula to be tried)."""
        return float(self.context.tolerance), self.context.enough or 0.0

    def _cached(self, at: list[float]) -> Pair | None:
        """A value computed at a place with the same or a smaller tolerance; None where there is none."""
        tolerance, enough = self._accuracy
        known = evaluations(self.node, frozenset(self.scope.items()))[self._key(at)]
        return next((pair for own, least, pair in known if own <= tolerance and least <= enough), None)

    def _key(self, at: list[float]) -> tuple[float, ...]:
        """The place as the key of the cache; for an even function the same for both signs."""
        return tuple(map(abs, at)) if self.is_even else tuple(at)

    def scope_at(self, place: Any) -> dict[Symbol, Pair]:
        """All parameters as pairs, the variables being at a place."""
        zero = self.context.arithmetic.number(0)
        return {**self.scope, **{s: (v, zero) for s, v in zip(self.variables, place)}}

    def in_float(self, tolerance: float) -> Objective:
        """The same function in float64 with the given tolerance."""
        scope = {s: (float(p[0]), float(p[1])) if isinstance(p, tuple) else p for s, p in self.scope.items()}
        return replace(self, context=Context(FLOAT, tolerance, enough=self.context.enough), scope=scope)

    def float_pair(self, place: Any, get: Callable[[], Pair] | None = None) -> tuple[float, float]:
        """The float64 (value, error) at a place; (oo, oo) where there is no value. ``get`` as for ``pair``."""
        at = [float(v) for v in place]
        for tolerance in dict.fromkeys((self.context.tolerance, min(self.context.tolerance, FINEST))):
            try:
                value, error = (float(part) for part in self.in_float(tolerance).pair(at, get))
            except (CannotEvaluate, ArithmeticError) as reason:
                self.refused[tuple(at)] = reason
                if isinstance(reason, TooDear):
                    break  # for more digits it would be dearer
                get = None
                continue  # meshes that are laid out for few digits may miss what they need to be laid out at all
            return (value, error) if np.isfinite(value + error) else (np.inf, np.inf)
        return np.inf, np.inf

    def first_float_pair(self, place: Any, *tolerances: float) -> tuple[float, float]:
        """``float_pair`` with the first of some tolerances that gives a value.

        A mesh that is just too large at one tolerance may not be at another, even a smaller one.
        """
        found = np.inf, np.inf
        for tolerance in tolerances:
            found = self.in_float(tolerance).float_pair(place)
            if np.isfinite(found[0]):
                break
        return found

    def float_pairs(self, places: Sequence[Any]) -> Any:
        """``float_pair`` at many places, an array (places, 2); the node is asked for all of them together."""
        rough, points = self.in_float(self.context.tolerance), [[float(v) for v in place] for place in places]
        new = list({self._key(place): place for place in points if rough._cached(place) is None}.values())
        found = self.node.at(rough.context, [rough.scope_at(place) for place in new]) if new else []
        gets = dict(zip(map(self._key, new), found))
        return np.array([self.float_pair(place, gets.get(self._key(place))) for place in points])

    def number(self, place: Any) -> float:
        """The float64 value for comparisons: its upper bound where it is imprecise, infinite where there is none."""
        return self.upper_if_imprecise(*self.float_pair(place))

    @staticmethod
    def upper_if_imprecise(value: float, error: float) -> float:
        """The value, or value + error where its relative error exceeds ``LARGEST_RELATIVE_ERROR``."""
        return value if error < LARGEST_RELATIVE_ERROR * abs(value) else value + error


def check_scan_is_complete(objective: Objective, places: list[Any], values: Any) -> None:
    """Check that no missing value of a scan may be the least one.

    A missing value is accepted where the formula is undefined, or beyond a rise past all features of the kernel. For instance
    log(1 + e^x) + e^(40 x - 800) is softplus at small scales and nearly selects the largest token at large ones: values are
    needed until then. e^(-x^2) selects the smallest token from a = 2 on, and larger scales change nothing.

    Args:
        places, values: of the scan; infinite values are missing.

    Raises:
        CannotEvaluate: where a value that may be the least one is too expensive, or float64 fails between points that have
            values.
    """
    found = np.isfinite(values)
    for k in sorted(np.flatnonzero(~found), key=lambda k: max(map(abs, places[k]))):
        reason = objective.refused.get(tuple(map(float, places[k])))
        if not isinstance(reason, TooDear):
            if len(places[k]) == 1 and not found[k - 1 : k + 2].any() and found[:k].any() and found[k:].any():
                raise no_least_value(objective, places[k], reason or "the formula leaves the numbers of float64")
            continue
        if lies_past_a_rise(objective, places, values, int(k)):
            continue
        known = sorted({place[0] for place, own in zip(places, found) if own})
        raise no_least_value(objective, places[k], reason, *([known[1], known[-2]] if len(known) > 2 else ()))


def lies_past_a_rise(objective: Objective, places: list[Any], values: Any, k: int) -> bool:
    """Whether place k on a line lies beyond known values that reach past the farthest feature and do not fall outwards.

    A fall by less than a hundredth of the height above the least value counts as none: where all weights underflow it is
    rounding.
    """
    known = [(place[0], own) for place, own in zip(places, values) if np.isfinite(own)]
    if len(places[k]) > 1 or len(known) < 3 or known[0][0] <= places[k][0] <= known[-1][0]:
        return False
    (last, top), (_, before) = known[:2] if places[k][0] < known[0][0] else known[:-3:-1]
    is_past = last * places[k][0] > 0 and abs(last) >= PAST_FEATURES * objective.feature_scale > 0
    return bool(is_past and before - top < SLIGHT_FALL * (top - min(own for _, own in known)))


def no_least_value(
    objective: Objective, place: Any, reason: object, low: Any = "LOW", high: Any = "HIGH"
) -> CannotEvaluate:
    """The error for a place without a value that may be the lowest; it names bounds that avoid the place."""
    first, *others = objective.variables
    beside = "".join(f", {symbol} = {x:.3g}" for symbol, x in zip(others, place[1:]))
    text = (
        "the least value is not known, as there is none at {} = {}{} ({}); give bounds within which there are (--bounds {}:{}:{} "
        "on the command line)"
    )
    return NoLeastValue(text, first, float(place[0]), beside, reason, first, low, high)
