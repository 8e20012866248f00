"""Hoeffding's bound as in the paper, and the widths m that suffice by the exact law, by the union bound, and by Hoeffding's
bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from flint import fmpz
from mpmath import exp, mpf, workprec
from mpmath.libmp import to_rational
from sympy import Expr, Rational, S, ceiling, floor, lambdify

from symslr.evaluation.separation.law import SIGNS, NeuronLaw
from symslr.evaluation.separation.outputs import DataSetOutputs, data_set_outputs
from symslr.evaluation.separation.probability import Probability
from symslr.model.exact import exact
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation, b, margin
from symslr.parallel.serial import one_at_a_time
from symslr.theory.separation import sufficient
from symslr.theory.separation.definition import Row, m
from symslr.theory.separation.hoeffding import excess, hoeffding_exponent, other_share, others

TRIPLES = tuple(product(SIGNS, SIGNS, SIGNS))
"""Signs (w_1, w of the row's class, w_d)."""


@dataclass(frozen=True)
class HoeffdingBound:
    """P(separation) >= 1 - m bad - (1 - useful)^m, rounded to the digits of double precision.

    Attributes:
        bad: upper bound on the probability that a neuron fires where it must not; an mpf, as it may be below the range of float64.
        useful: lower bound on the probability that a neuron fires on D1.
        success: the resulting lower bound on P(separation), 0 where it is negative.
    """

    bad: mpf
    useful: mpf
    success: float


@one_at_a_time
def hoeffding_bound(
    parameters: Separation, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL
) -> HoeffdingBound:
    """Hoeffding's inequality for every sum over the other signs, with a union bound over data sets, rows and neurons.

    A kind of row fires with probability at most the mean of exp(-y^2 / (2 N b^2 nu^2)) over (w_1, w_g, w_d), y the distance to the
    threshold. Rows of other classes depend on the sign of their class only, so all classes of one sign are one event.
    """
    silent = [data_set_outputs(parameters, *on) for on in ((kernel, 0), (rival, 0), (rival, 1))]
    with workprec(53):
        bad = min(mpf(1), sum(_row_bound(outputs, row) for outputs in silent for row in outputs.rows))
        useful = mpf(_fires_at_least(data_set_outputs(parameters, kernel, 1)))
        success = max(0.0, float(1 - parameters.m * bad - (1 - useful) ** parameters.m))
    return HoeffdingBound(bad, useful, success)


def classes_that_suffice(parameters: Separation, delta: object) -> float:
    """D >= (2 b^2 / margin^2) log(m / delta): the bound when attention spreads evenly (nu = 1/D, N = D)."""
    numbers = {b: parameters.values(0).b, margin: parameters.margin, m: parameters.m, sufficient.delta: delta}
    return float(sufficient.classes_needed().subs(numbers))


def _tail(push: float, other: float, size: int) -> Any:
    """Bound on P(other * sum of size signs > push)."""
    if push <= 0:
        return mpf(1)
    if abs(other) * size <= push:
        return mpf(0)
    return exp(_EXPONENT(push, abs(other), size))


def _row_bound(outputs: DataSetOutputs, row: Row) -> Any:
    other, size = _other(outputs, row)
    if row is not Row.STRANGER:
        return sum(_tail(_push(outputs, row, triple), other, size) for triple in TRIPLES) / len(TRIPLES)
    total = mpf(0)
    for first, last in product(SIGNS, repeat=2):
        # for every class of one sign the other signs add up to the sum of all n/t signs minus its own
        tails = (_tail(_push(outputs, row, (first, sign, last)) + sign * other, other, size + 1) for sign in SIGNS)
        total += min(mpf(1), sum(tails))
    return total / 4


def _fires_at_least(outputs: DataSetOutputs) -> Any:
    """Lower bound on the probability that a neuron fires on the marked row."""
    pulls = (-_push(outputs, Row.MARKED, triple) for triple in TRIPLES)
    return sum(max(mpf(0), 1 - _tail(pull, *_other(outputs, Row.MARKED))) for pull in pulls) / len(TRIPLES)


def _push(outputs: DataSetOutputs, row: Row, signs: tuple[int, int, int]) -> float:
    """The sum that the other signs have to contribute for the row to reach the threshold."""
    return -float(outputs.row(row).excess(signs, 0).mid())


def _other(outputs: DataSetOutputs, row: Row) -> tuple[float, int]:
    return float(outputs.row(row).other.mid()), outputs.parameters.classes - 1


_EXPONENT = lambdify((excess, other_share, others), hoeffding_exponent().subs(b, 1), "math")
"""The exponent of Hoeffding's bound at b = 1, a function of floats (excess, share, number of other signs)."""


Widths = tuple[int, int | None]
"""(least, largest) width that suffices; the largest is None where every larger width does."""


@dataclass(frozen=True)
class SufficientWidths:
    """For a probability of failure delta, the widths m that suffice by each route; None where none does.

    Attributes:
        delta: the probability.
        exact: 1 - P(separation) <= delta, from the exact law.
        union: from m P_bad + exp(-m P_either), each term at most delta/2, with exact probabilities of one neuron.
        hoeffding: the same with Hoeffding's bounds on the probabilities of one neuron.
        classes: number of classes (2 b^2/margin^2) log(m/delta) that suffices at the width m of the construction, where attention
            spreads evenly.
    """

    delta: Expr
    exact: Widths | None
    union: Widths | None
    hoeffding: Widths | None
    classes: float

    def as_json(self) -> dict[str, Any]:
        """[least, largest] by each route, as text; null in place of a route where no width suffices, null for a largest one of
        None."""
        routes = {"exact": self.exact, "union": self.union, "hoeffding": self.hoeffding}
        found: dict[str, Any] = {
            name: None if route is None else [None if width is None else as_text(width) for width in route]
            for name, route in routes.items()
        }
        return {"delta": str(self.delta), **found, "classes": repr(self.classes)}


def sufficient_widths(
    parameters: Separation, delta: object, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL
) -> SufficientWidths:
    """The widths for one marked row; the width of ``parameters`` itself is used for ``classes`` only.

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
    """A width in decimals, by FLINT: Python refuses to print integers of more than 4300 digits."""
    return str(fmpz(width))


def _by_union(bad: Rational, either: Rational, allowed: Expr) -> Widths | None:
    """The widths from the union bound, by the derived formulas."""
    if either == 0:
        return None
    needed = sufficient.width_needed().subs({sufficient.either: either, sufficient.delta: allowed})
    least = max(1, int(ceiling(needed)))
    if bad == 0:
        return least, None
    most = int(floor(sufficient.width_allowed().subs({sufficient.bad: bad, sufficient.delta: allowed})))
    return (least, most) if least <= most else None


def _exactly(law: NeuronLaw, allowed: Expr) -> Widths | None:
    """The widths with 1 - (1 - bad)^m + (1 - either)^m <= allowed: the left side falls up to one width and then rises."""
    size = law.parameters.d
    bad, useful = law.count(law.bad), law.count(law.useful)
    either = bad + useful
    good, idle = ((1 << size) - count for count in (bad, either))
    failure = law.fixed_row.complement()
    # the decrease of the failure by one more neuron, times 2**size
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
    """The least integer above ``low`` from which on ``holds`` is true, by doubling and bisection."""
    step = 1
    while not holds(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
