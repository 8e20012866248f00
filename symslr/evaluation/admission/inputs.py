"""Checks of what a caller gives: every symbol has a value, and every value fits its symbol."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from sympy import Expr, Symbol

from symslr.model.attention import Attention
from symslr.model.exact import check_is, exact
from symslr.model.length_law import LengthLaw
from symslr.model.ranges import MOST_DIGITS, check_length, real_number
from symslr.model.symbols import NAMES, L, by_name
from symslr.model.task import Task

PLAIN = (int, float)
WHOLE = 2**53
"""Every integer up to this size is a float64 number."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Numbers and length laws by symbol, as given or exact, and float64 arrays by symbol."""

    given: dict[Symbol, Any]
    arrays: dict[Symbol, Any]

    @property
    def scalars(self) -> dict[Symbol, Any]:
        """Exact numbers and length laws by symbol."""
        return {symbol: exact(value) if type(value) in PLAIN else value for symbol, value in self.given.items()}


def one_point(inputs: Inputs) -> dict[Symbol, Any]:
    """The numbers and laws with the first entry of every array."""
    return {**inputs.given, **{symbol: float(np.ravel(array)[0]) for symbol, array in inputs.arrays.items()}}


def checked_digits(digits: object) -> int:
    """The number of digits asked for.

    Raises:
        ValueError: outside 1..10000.
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= MOST_DIGITS:
        raise ValueError(f"digits: found {digits!r}; expected an integer from 1 to {MOST_DIGITS}")
    return digits


def checked_inputs(needed: Iterable[Symbol], known: Iterable[Symbol], values: Mapping[Any, object]) -> Inputs:
    """Values matched to the free symbols of an expression, by name or by symbol.

    Args:
        needed: symbols that must have a value.
        known: symbols that may have one.
        values: as given to ``evaluate``.

    Raises:
        ValueError: for a missing, unknown or inadmissible value, in one line.
    """
    check_is(values, Mapping, "values", '{"L": 3, "nu": 2}')
    own = _by_name(frozenset(known))
    given = {}
    for key, value in values.items():
        name = key.name if isinstance(key, Symbol) else key
        name = NAMES.get(name, name) if name not in own else name
        if name not in own:
            raise _unknown(name, own, "the expression")
        if name in given:
            raise ValueError(f"values: found {name} twice, by name and by symbol; expected it once")
        given[name] = value
    missing = _by_name(frozenset(needed)).keys() - given.keys()
    if missing:
        first = min(missing)
        raise ValueError(f'no value for {first}; give one with values={{"{first}": ...}}')
    scalars: dict[Symbol, Any] = {}
    arrays: dict[Symbol, Any] = {}
    for name, value in given.items():
        for symbol in own[name]:
            if isinstance(value, (list, tuple, np.ndarray)):
                arrays[symbol] = _array(symbol, value)
            else:
                scalars[symbol] = _scalar(symbol, value)
    return Inputs(scalars, arrays)


def _unknown(name: object, known: Collection[str], where: str) -> ValueError:
    typed = [*known, *(long for long, short in NAMES.items() if short in known)]
    near = get_close_matches(str(name), typed, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return ValueError(f"unknown symbol {name!r} in values; {where} has {', '.join(sorted(known)) or 'none'}{meant}")


def values_by_name(
    task: Task, attention: Attention, values: Mapping[Any, object], *, bounded: bool = True
) -> dict[str, object]:
    """Values by name, of the free symbols of a task and an attention.

    Args:
        bounded: whether parameters of the kernel over which risks are minimised take values, too.

    Raises:
        ValueError: for a name that stands for none of them.
    """
    known = {symbol.name for symbol in (task.law.free_symbols - {L}) | task.noise.free_symbols}
    if task.length == L:
        known |= {"L", "P_L"}
    own = attention.parameters | attention.offset.free_symbols
    known |= {str(symbol) for symbol in own if bounded or symbol not in attention.bounds}
    found = by_name(values)
    for name in found:
        if name not in known:
            raise _unknown(name, known, f"task {task.name} with {attention.name} attention")
    return found


def numbers_of(symbols: Iterable[Symbol], values: Mapping[str, object], what: str) -> dict[Symbol, Expr]:
    """Exact numbers for symbols, from values by name.

    Raises:
        ValueError: naming ``what`` and the first symbol without a value.
    """
    missing = sorted(s.name for s in symbols if s.name not in values)
    if missing:
        raise ValueError(f'{what}: no value for {missing[0]}; give one with values={{"{missing[0]}": ...}}')
    return {s: exact(values[s.name], s.name) for s in symbols}


def lengths_of(task: Task, values: Mapping[str, object], most: int, where: str) -> tuple[tuple[int, float], ...]:
    """(length, probability) of every length that occurs; a symbolic one is read from values by name, as L or P_L.

    Raises:
        ValueError: for a length outside 1..``most``, the longest that is possible ``where`` it is asked for.
    """
    length = task.length if task.length != L else values.get("L", values.get("P_L"))
    if length is None:
        raise ValueError(f"length: found none; expected an integer from 1 to {most} or a law of such, as L or P_L")
    pairs = list(length) if isinstance(length, LengthLaw) else [(exact(length, "length"), 1)]
    for n, _ in pairs:
        check_length(n, most, where)
    return tuple((int(n), float(p)) for n, p in pairs)


@lru_cache(maxsize=512)
def _by_name(symbols: frozenset[Symbol]) -> dict[str, list[Symbol]]:
    found: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        found.setdefault(symbol.name, []).append(symbol)
    return found


@lru_cache(maxsize=512)
def _least(symbol: Symbol) -> float:
    """The least number allowed for a symbol; 0 also for a positive real parameter, as the limit of its formula."""
    if symbol.is_integer and symbol.is_positive:
        return 1.0
    return 0.0 if symbol.is_nonnegative else -inf


def _is_plain(symbol: Symbol, value: Any) -> bool:
    """Whether a value is an int or a float that fits the symbol and is represented exactly in float64."""
    if type(value) not in PLAIN or not _least(symbol) <= value <= WHOLE:
        return False
    return value >= -WHOLE and (type(value) is int or not symbol.is_integer)


def _scalar(symbol: Symbol, value: object) -> Any:
    if _is_plain(symbol, value):
        return value
    if isinstance(value, LengthLaw):
        if symbol.is_integer:
            raise ValueError(
                f"{symbol}: found a law of the length; expected an integer >= 1, or a task of random length"
            )
        return value
    try:
        number = exact(value, symbol.name)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if not number.is_number or not number.is_comparable:
        raise ValueError(f"{symbol}: found {number}; expected a finite real number")
    if number.is_infinite:
        raise ValueError(
            f"{symbol}: found {number}; expected a finite real number (take the limit of the formula first)"
        )
    _check(symbol, number)
    return number


def _array(symbol: Symbol, value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        raise ValueError(
            f"{symbol}: found a masked array; expected one without masked numbers, as compressed() gives it"
        )
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        array = np.asarray(value, dtype=float)
    else:
        shape, entries = (value.shape, value.ravel().tolist()) if isinstance(value, np.ndarray) else (len(value), value)
        array = np.reshape([real_number(entry, symbol.name) for entry in entries], shape).astype(float)
    if array.size == 0:
        raise ValueError(f"{symbol}: found an empty array; expected at least one number")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{symbol}: found an array with {array[~np.isfinite(array)][0]}; expected finite numbers")
    _check(symbol, float(np.min(array)))
    if symbol.is_integer and np.any(array != np.round(array)):
        raise ValueError(f"{symbol}: found {array[array != np.round(array)][0]:g}; expected integers")
    return array


def _check(symbol: Symbol, number: Any) -> None:
    """Check a number against the assumptions of its symbol."""
    least = _least(symbol)
    if symbol.is_integer:
        whole = number.is_integer if isinstance(number, Expr) else True
        if not whole or number < least:
            kind = "an integer" if least == -inf else f"an integer >= {least:.0f}"
            raise ValueError(f"{symbol}: found {number}; expected {kind}")
    elif number < least:
        raise ValueError(f"{symbol}: found {number}; expected a number >= 0")
