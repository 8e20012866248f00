"""Parameter values for a simulation: a mapping from symbols or their names to real numbers."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Basic, Expr, Integer, Symbol

from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import L
from symslr.model.task import Task

Values = Mapping[object, object]
"""Symbol or name -> number; names that do not occur are ignored. ``"P_L"`` is a ``LengthLaw``."""


def fixed(expr: Expr, values: Values, but: frozenset[Basic] = frozenset()) -> Expr:
    """``expr`` with exact numbers for its free symbols other than ``but``.

    Raises:
        ValueError: when a value is missing or is not a real number.
    """
    return expr.subs(substitution({s for s in expr.free_symbols if isinstance(s, Symbol)} - but, values))


def substitution(symbols: set[Basic], values: Values) -> dict[Basic, Expr]:
    """The exact number for each of these symbols.

    Raises:
        ValueError: when a value is missing or is not a real number.
    """
    by_name = {str(key): value for key, value in values.items()}
    missing = sorted(str(s) for s in symbols if str(s) not in by_name)
    if missing:
        given = ", ".join(sorted(by_name)) or "none"
        raise ValueError(f"values: found {given}; expected a number for {', '.join(missing)} as well")
    numbers = {s: exact(by_name[str(s)], str(s)) for s in symbols}
    for symbol, number in numbers.items():
        if not number.is_number or number.is_extended_real is False:
            raise ValueError(f"{symbol}: found {number}; expected a real number")
    return numbers


def finite(symbols: set[Basic], values: Values) -> None:
    """Refuse an infinite value for any of these symbols.

    Raises:
        ValueError: naming the symbol.
    """
    for symbol, number in substitution(symbols, values).items():
        if number.is_infinite:
            raise ValueError(f"{symbol}: found {number}; expected a finite number for this weight")


def lengths(task: Task, values: Values) -> list[tuple[int, float]]:
    """(length, probability) pairs of the task; a symbolic length is read from ``values`` as L or P_L.

    Raises:
        ValueError: when the length is not given, or is not a positive integer.
    """
    length = task.length
    by_name = {str(key): value for key, value in values.items()}
    if length == L and "L" not in by_name and isinstance(by_name.get("P_L"), LengthLaw):
        length = by_name["P_L"]
    if isinstance(length, LengthLaw):
        return [(int(item), float(probability)) for item, probability in length]
    return [(checked_length(fixed(length, values)), 1.0)]


def checked_length(length: Expr) -> int:
    """The length as an int.

    Raises:
        ValueError: when it is not a positive integer.
    """
    if not isinstance(length, Integer) or length < 1:
        raise ValueError(f"length: found {length}; expected a positive integer, such as law.subs(L, 3)")
    return int(length)
