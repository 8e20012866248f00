"""``least_certified``: an enclosure of the least value of a quantity over a scale."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from mpmath import mpf
from sympy import Expr, Symbol

from symslr.evaluation.certified.backend import centred, correct_digits
from symslr.evaluation.certified.least.model import Moving
from symslr.evaluation.certified.least.search import Enclosed, Search
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.plan import canonical
from symslr.expression.value import Kind, Value
from symslr.parallel.serial import one_at_a_time


@one_at_a_time
def least_certified(
    expr: Expr,
    scale: Symbol,
    values: Mapping[Any, Any],
    digits: int,
    interval: tuple[float, float],
    guess: float,
) -> tuple[Value, Value]:
    """(the infimum over an interval of the scale, a place near which every scale lies that attains it), both proved.

    Args:
        expr: as for ``evaluate``, with one attention; its kernel positive and analytic.
        scale: the symbol that moves.
        values: exact numbers, and length laws, for all other symbols.
        digits: significant digits of the infimum.
        interval: low < high.
        guess: where the least value is looked for first; nothing is believed of it.

    Raises:
        CannotEvaluate: where no proof is found, with the reason.
    """
    begin = perf_counter()
    formula = canonical(expr)
    if not formula.has(scale):
        raise CannotEvaluate(f"certified: {scale} has no least value to search; the quantity does not depend on it")

    def stretch(low: float, high: float) -> Moving:
        return Moving(formula, values, scale, low, high)

    found = Search(stretch, digits).over(*interval, guess)
    value, error = centred(found.value, digits)
    method = f"Arb: Taylor models, branch and bound over {interval[0]!r} <= {scale} <= {interval[1]!r}"
    seconds = perf_counter() - begin
    infimum = Value(value, error, Kind.CERTIFIED, correct_digits(value, error), method, seconds)
    return infimum, _place(found, method, seconds)


def _place(found: Enclosed, method: str, seconds: float) -> Value:
    """The middle of all places, and how far it is to the farthest."""
    low, high = min(low for low, _ in found.places), max(high for _, high in found.places)
    middle = (low + high) / 2
    error = mpf(max(high - middle, middle - low)) * (1 + mpf(2) ** -50)
    return Value(mpf(middle), error, Kind.CERTIFIED, correct_digits(mpf(middle), error), method, seconds)
