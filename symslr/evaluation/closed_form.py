"""The value of a formula without integrals: exact, and held against an evaluation where its task is a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sympy import Expr

from symslr.evaluation.admission.guard import is_new
from symslr.evaluation.engine import MULTIPRECISION_DIGITS, evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Value
from symslr.model.exact import exact
from symslr.model.symbols import by_name
from symslr.model.written import short
from symslr.theory.symbolic import Formula


def closed_value(
    formula: Formula, quantity: Expr, values: Mapping[Any, object], digits: int | None
) -> tuple[Value, dict[str, Value]] | None:
    """(value, {"a": best scale} where the formula is a minimum); None where integrals are left or the number is long.

    What the rules made of a user's own task or attention is held against the number that the evaluators make of the
    quantity.

    Args:
        formula: of the quantity.
        quantity: as the evaluators take it.
        values: by symbol or name.
        digits: 15 where none are asked for.

    Raises:
        CannotEvaluate: when the two differ.
    """
    names = by_name(values)
    free = formula.expr.free_symbols | quantity.free_symbols
    if names.keys() - {getattr(symbol, "name", None) for symbol in free}:
        return None  # a name that is none of them is refused by the evaluator
    try:
        given = {symbol: exact(names[symbol.name]) for symbol in free if getattr(symbol, "name", None) in names}
    except (TypeError, ValueError):  # arrays, laws of the length
        return None
    number = formula.exact(given)
    place = None if formula.place is None else formula.exact_place(given)
    if number is None or (formula.place is not None and place is None):
        return None
    try:
        value = evaluate(number, {}, digits or MULTIPRECISION_DIGITS, "arb")
    except CannotEvaluate:  # as where an exponential of it overflows
        return None
    method = f"closed form, by {formula.rules}"
    if is_new(quantity):
        at = {key: own for key, own in given.items() if key in quantity.free_symbols}
        try:
            numeric = evaluate(quantity, at)
        except CannotEvaluate as refusal:
            method = f"{method}; not held against an evaluation: {refusal}"
        else:
            if abs(value.value - numeric.value) > value.error + numeric.error:  # as floats they are an ulp off
                raise CannotEvaluate(f"the closed form gives {value} and its evaluation {numeric}: a fault of symslr")
    best = {} if place is None else {"a": evaluate(place, {}, digits or MULTIPRECISION_DIGITS, "arb")}
    return replace(value, method=method, exact=short(number)), best
