"""Widths that keep the probability of failure below delta: by the exact law, by the union bound, and by Hoeffding's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpz
from mpmath.libmp import to_rational
from sympy import Expr, Rational, S, ceiling, floor

from symslr.evaluation.separation.hoeffding import classes_that_suffice, hoeffding_bound
from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.probability import Probability
from symslr.model.exact import exact
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation
from symslr.theory.separation import sufficient

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
        found: dict[str, Any] = {
            name: None if route is None else [None if width is None else as_text(width) for width in route]
            for name, route in routes.items()
        }
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
    bad, useful = (Rational(law.count(sets), 1 << parameters.d) for sets in (law.bad, law.useful))
    hoeffding_bad, hoeffding_useful = (Rational(*to_rational(rate._mpf_)) for rate in (bound.bad, bound.useful))
    return SufficientWidths(
        allowed,
        _exactly(law, allowed),
        _by_union(bad, bad + useful, allowed),
        # a neuron that fires on D1 is bad or useful
        _by_union(hoeffding_bad, hoeffding_useful, allowed),
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


def as_text(width: int) -> str:
    """A width in decimals: Python writes whole numbers of up to 4300 digits only."""
    return str(fmpz(width))


def _by_union(bad: Rational, either: Rational, allowed: Expr) -> Widths | None:
    """Both ends as they are derived."""
    if either == 0:
        return None
    needed = sufficient.width_needed().subs({sufficient.either: either, sufficient.delta: allowed})
    least = max(1, int(ceiling(needed)))
    if bad == 0:
        return least, None
    most = int(floor(sufficient.width_allowed().subs({sufficient.bad: bad, sufficient.delta: allowed})))
    return (least, most) if least <= most else None


def _exactly(law: NeuronLaw, allowed: Expr) -> Widths | None:
    """Where 1 - (1 - bad)^m + (1 - either)^m <= allowed: it falls up to one width and rises from there."""
    size = law.parameters.d
    bad, useful = law.count(law.bad), law.count(law.useful)
    either = bad + useful
    good, idle = ((1 << size) - count for count in (bad, either))
    failure = law.fixed_row.complement()
    # by how much one more neuron lowers the failure, times 2**size
    gain = Probability(((either, idle), (-bad, good)), size, law.parameters.m)

    def suffices(width: int) -> bool:
        return replace(failure, power=width).is_at_most(allowed)

    if bad == 0:
        return (_first(suffices), None) if useful else None
    best = _first(lambda width: replace(gain, power=width).is_at_most(S.Zero))
    if not suffices(best):
        return None
    least = _first(lambda width: width >= best or suffices(width))
    return least, _first(lambda width: not suffices(width), best) - 1


def _first(holds: Callable[[int], bool], low: int = 0) -> int:
    """The least whole number above ``low`` from which on ``holds`` does."""
    step = 1
    while not holds(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
