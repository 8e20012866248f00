"""Widths that keep the probability of failure below delta: by the exact law, by the union bound, and by Hoeffding's."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from mpmath import exp, expm1, inf, log, log1p, mp, mpf
from sympy import Expr, Float, N

from symslr.evaluation.separation.hoeffding import classes_that_suffice, hoeffding_bound
from symslr.evaluation.separation.law import NeuronLaw
from symslr.model.exact import exact
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation
from symslr.theory.separation import sufficient

DIGITS = 40
"""Of one neuron's probabilities: failures down to 1e-30 are told from none."""

Widths = tuple[int, int | None]
"""Least and largest width, the latter None where any larger one does."""


@dataclass(frozen=True)
class SufficientWidths:
    """For a probability of failure delta, the widths m that suffice by each route; None where none does.

    Attributes:
        delta: the probability.
        exact: 1 - P(separation) <= delta, from the exact law.
        union: from m P_bad + exp(-m P_either), each term at most delta/2, with exact probabilities of one neuron.
        hoeffding: the same with Hoeffding's bounds on the probabilities of one neuron.
        classes: N = (2 b^2/kappa^2) log(m/delta) for the width of the construction, where attention spreads evenly.
    """

    delta: Expr
    exact: Widths | None
    union: Widths | None
    hoeffding: Widths | None
    classes: float

    def as_json(self) -> dict[str, Any]:
        """[least, largest] by each route, null where none suffices or any larger one does; numbers as text."""
        routes = {"exact": self.exact, "union": self.union, "hoeffding": self.hoeffding}
        found: dict[str, Any] = {name: None if route is None else list(route) for name, route in routes.items()}
        return {"delta": str(self.delta), **found, "classes": repr(self.classes)}


def sufficient_widths(
    parameters: Separation, delta: object, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL
) -> SufficientWidths:
    """The widths for one marked row; the width of ``parameters`` itself plays no part but in ``classes``.

    Raises:
        ValueError: when delta is not inside (0, 1).
    """
    allowed = failure_allowed(delta)
    law = NeuronLaw(parameters, kernel, rival)
    bound = hoeffding_bound(parameters, kernel, rival)
    with mp.workdps(DIGITS):
        bad, useful = (mpf(law.single(sets).value(DIGITS).value) for sets in (law.bad, law.useful))
        goal = mpf(allowed.p) / allowed.q if allowed.is_Rational else mpf(str(N(allowed, DIGITS)))
        return SufficientWidths(
            allowed,
            _exactly(bad, bad + useful, goal),
            _by_union(bad, bad + useful, allowed),
            # a neuron that fires on D1 is bad or useful
            _by_union(mpf(bound.bad), mpf(bound.useful), allowed),
            classes_that_suffice(parameters, allowed),
        )


def failure_allowed(delta: object) -> Expr:
    """delta as an exact number.

    Raises:
        ValueError: when it is not inside (0, 1).
    """
    allowed = exact(delta, "delta")
    if not (allowed.is_positive and (1 - allowed).is_positive):
        raise ValueError(f"delta: found {allowed}; expected a probability of failure inside (0, 1)")
    return allowed


def _by_union(bad: mpf, either: mpf, allowed: Expr) -> Widths | None:
    """Both ends as they are derived."""
    if either <= 0:
        return None
    least = max(1, ceil(_number(sufficient.width_needed(), {sufficient.either: either, sufficient.delta: allowed})))
    if bad == 0:
        return least, None
    most = floor(_number(sufficient.width_allowed(), {sufficient.bad: bad, sufficient.delta: allowed}))
    return (least, most) if least <= most else None


def _number(formula: Expr, values: dict[Expr, object]) -> mpf:
    numbers = {name: Float(value, DIGITS) if isinstance(value, mpf) else value for name, value in values.items()}
    return mpf(str(N(formula.subs(numbers), DIGITS)))


def _exactly(bad: mpf, either: mpf, goal: mpf) -> Widths | None:
    """Where 1 - (1 - bad)^m + (1 - either)^m <= goal: it falls up to one width and rises from there."""

    def failure(width: mpf | int) -> mpf:
        if either >= 1:
            return -expm1(width * log1p(-bad)) if bad < 1 else mpf(1)
        return -expm1(width * log1p(-bad)) + exp(width * log1p(-either))

    if either == 0 or bad >= 1:
        return None
    if bad == 0:
        return (1 if either >= 1 else max(1, ceil(log(goal) / log1p(-either)))), None
    turn = mpf(1) if either >= 1 else _turning_width(bad, either)
    best = min((max(1, floor(turn)), max(1, ceil(turn))), key=failure)
    if failure(best) > goal:
        return None
    least = _first(lambda width: failure(width) <= goal, 1, best)
    top = 2 * best
    while failure(top) <= goal:
        top *= 2
    return least, _first(lambda width: failure(width) > goal, best, top) - 1


def _turning_width(bad: mpf, either: mpf) -> mpf:
    """Where -(1-bad)^m log(1-bad) = -(1-either)^m log(1-either)."""
    kept, idle = log1p(-bad), log1p(-either)
    return log(idle / kept) / (kept - idle) if idle != kept else inf


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least whole number in low..high from which on ``holds`` does, which it does at ``high``."""
    return low + bisect_left(range(low, high), True, key=holds)
