"""``minimise``: the least value of an expression over some of its symbols, and where it lies."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, Symbol

from symslr.evaluation.admission.admitted import check_admitted, check_means_exist
from symslr.evaluation.admission.guard import PLACE, unheld
from symslr.evaluation.admission.inputs import Inputs, checked_digits, checked_inputs, one_point
from symslr.evaluation.engine import (
    DEFAULT_DIGITS,
    FLOAT_AIM,
    FLOAT_DIGITS,
    digits_of,
    digits_of_arrays,
    float_scope,
    grid_scopes,
    raised,
    symbols_of,
    tolerance_of,
)
from symslr.evaluation.minima.node import MinimumNode
from symslr.evaluation.nodes.node import Context, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.plan import plan
from symslr.expression.value import Kind, Value
from symslr.model.ranges import real_number
from symslr.parallel.serial import one_at_a_time
from symslr.theory.population import PopulationRisk

NOT_UNIQUE = "{} = {:.3g}, one of the places with this value"
"""The method of a place that is not unique."""
FLOAT_SEARCH = "numpy: Chebyshev proxy and Newton steps in float64"


@one_at_a_time
def minimise(
    expr: Expr,
    variables: Sequence[Symbol],
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
    start: Mapping[Symbol, float] | None = None,
) -> tuple[Value, dict[Symbol, Value]]:
    """The least value of ``expr`` over real ``variables`` and where it lies; several local minima are compared.

    Args:
        expr: as for ``evaluate``.
        variables: the symbols that are free to move.
        values: as for ``evaluate``: numbers for all the other symbols, or arrays of them (in float64). Along an array each point
            starts from its neighbours, and the whole range is searched again every few points: order it.
        digits: significant digits of the least value; the place has about half as many.
        bounds: for a variable, the interval in which it is searched; else both signs, as far as the method of the value says.
        start: a place near which a minimum is sought, in float64; if one is found there, nothing else is searched.

    Raises:
        CannotEvaluate: when there is no interior minimum, the digits are out of reach, or the expression's first number differs
            from its definition.
        ValueError: as ``evaluate``.
    """
    clock = time.perf_counter()
    wanted = FLOAT_AIM if digits is None else checked_digits(digits)
    free = tuple(variables) if isinstance(variables, Sequence) else ()
    if not free or any(not isinstance(s, Symbol) for s in free):
        raise ValueError(f"variables: found {variables!r}; expected symbols such as [a, c]")
    needed, named = symbols_of(expr)
    inputs = checked_inputs(needed - set(free), named - set(free), values or {})
    check_admitted(expr, inputs)
    check_means_exist(expr, inputs.given, free)
    said = unheld(expr, {**one_point(inputs), **dict.fromkeys(free, PLACE)})
    node = MinimumNode(plan(expr), free, expr if isinstance(expr, PopulationRisk) else None, plan)
    limits = _intervals(bounds or {}, free)
    start_place = None if start is None else _start_place(start, free)
    if inputs.arrays:
        return _on_grid(node, inputs, tolerance_of(min(wanted, FLOAT_DIGITS)), limits, clock)
    places: dict[Symbol, Pair]
    if wanted <= FLOAT_DIGITS:
        context = Context(FLOAT, tolerance_of(wanted), enough=10.0 ** -(digits or DEFAULT_DIGITS))
        value, error, places, where = node.minimum(context, float_scope(inputs.given), limits, start_place)
        method = (
            FLOAT_SEARCH
            if start_place is None
            else f"{FLOAT_SEARCH}, begun at {', '.join(f'{x:.6g}' for x in start_place)}"
        )
    else:
        value, error, places, where = raised(partial(node.minimum, bounds=limits), inputs.scalars, wanted)
        method = "mpmath: Chebyshev proxy in float64, Newton steps at full precision"
    method = "; ".join(part for part in (method, where, said) if part)
    seconds = time.perf_counter() - clock

    def packed(v: Any, e: Any) -> Value:
        return Value(
            mpmath.mp.make_mpf(mpmath.mpmathify(v)._mpf_),
            mpmath.mpmathify(e),
            Kind.ESTIMATED,
            digits_of(v, e),
            method,
            seconds,
        )

    found = {symbol: packed(*pair) for symbol, pair in places.items()}
    for symbol, place in found.items():
        if not mpmath.isfinite(place.error):
            found[symbol] = replace(place, digits=1, method=NOT_UNIQUE.format(symbol, float(place.value)))
    return packed(value, error), found


def _intervals(
    bounds: Mapping[Symbol, tuple[float, float]], free: tuple[Symbol, ...]
) -> dict[Symbol, tuple[float, float]]:
    """The bounds as floats.

    Raises:
        ValueError: for a symbol that is not a variable, or ends that are no finite interval.
    """
    found = {}
    for symbol, ends in bounds.items():
        if symbol not in free:
            raise ValueError(f"bounds: found {symbol!r}; expected variables among {', '.join(map(str, free))}")
        try:
            low, high = (real_number(end, "bounds") for end in ends)
        except (TypeError, ValueError):
            low = high = math.nan
        if not -math.inf < low < high < math.inf:
            raise ValueError(
                f"bounds: found {' '.join(repr(ends).split())} for {symbol}; expected finite ends LOW < HIGH"
            )
        found[symbol] = low, high
    return found


def _start_place(start: Mapping[Symbol, float], free: tuple[Symbol, ...]) -> list[float]:
    """The start of each variable as a float.

    Raises:
        ValueError: where one is missing or is no number.
    """
    try:
        begun = [real_number(start[symbol], "start") for symbol in free]
        if not all(map(math.isfinite, begun)):
            raise ValueError
        return begun
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"start: found {start!r}; expected a number for each of {', '.join(map(str, free))}") from None


def _on_grid(
    node: MinimumNode, inputs: Inputs, tolerance: float, limits: Mapping[Symbol, tuple[float, float]], clock: float
) -> tuple[Value, dict[Symbol, Value]]:
    """The minima at every point of a grid of inputs, as arrays; each search starts from its neighbours' results."""
    shape, points = grid_scopes(inputs)
    tables = {symbol: (np.empty(shape), np.empty(shape)) for symbol in (None, *node.variables)}
    context = Context(FLOAT, tolerance, {})
    for index, scope in zip(np.ndindex(shape), points):
        value, error, places, _ = node.minimum(context, scope, limits)
        for symbol, pair in ((None, (value, error)), *places.items()):
            for table, number in zip(tables[symbol], pair):
                table[index] = float(number)
    seconds = time.perf_counter() - clock
    packed = {
        symbol: Value(values, errors, Kind.ESTIMATED, digits_of_arrays(values, errors), FLOAT_SEARCH, seconds)
        for symbol, (values, errors) in tables.items()
    }
    least = packed.pop(None)
    return least, {symbol: value for symbol, value in packed.items() if symbol is not None}
