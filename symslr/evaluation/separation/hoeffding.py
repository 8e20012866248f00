"""The bound of the paper's kind, beside the exact probability: Hoeffding over the other signs, a union over neurons."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from mpmath import exp, mpf, workprec
from sympy import Expr, lambdify

from symslr.evaluation.separation.law import SIGNS
from symslr.evaluation.separation.outputs import DataSetOutputs, data_set_outputs
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
        bad: upper bound on the probability that a neuron fires where it must not; a number below 1e-308 is none of float64.
        useful: lower bound on the probability that a neuron fires on D1.
        success: the resulting lower bound, 0 where it says nothing.
    """

    bad: mpf
    useful: mpf
    success: float


@one_at_a_time
def hoeffding_bound(
    parameters: Separation, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL
) -> HoeffdingBound:
    """Hoeffding on every sum over the other signs, with a union bound over data sets, rows and neurons.

    Each kind of row fires with probability at most the mean of exp(-y^2 / (2 N b^2 nu^2)) over (w_1, w_g, w_d), y
    the distance to the threshold. A stranger row fires on its class's own sign; classes of one sign share one event.
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
        # every class of one sign sees the sum of all n/t signs less its own
        tails = (_tail(_push(outputs, row, (first, sign, last)) + sign * other, other, size + 1) for sign in SIGNS)
        total += min(mpf(1), sum(tails))
    return total / 4


def _fires_at_least(outputs: DataSetOutputs) -> Any:
    """A neuron fires on the marked row at least when the other signs do not pull it below the threshold."""
    pulls = (-_push(outputs, Row.MARKED, triple) for triple in TRIPLES)
    return sum(max(mpf(0), 1 - _tail(pull, *_other(outputs, Row.MARKED))) for pull in pulls) / len(TRIPLES)


def _push(outputs: DataSetOutputs, row: Row, signs: tuple[int, int, int]) -> float:
    """What the other signs have to add for the row to reach the threshold."""
    return -float(outputs.row(row).excess(signs, 0).mid())


def _other(outputs: DataSetOutputs, row: Row) -> tuple[float, int]:
    return float(outputs.row(row).other.mid()), outputs.parameters.classes - 1


_EXPONENT = lambdify((excess, other_share, others), hoeffding_exponent().subs(b, 1), "math")
"""Of Hoeffding's bound at b = 1, of floats."""
