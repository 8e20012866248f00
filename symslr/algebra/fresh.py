"""Integration variables that differ from every symbol of the user's."""

from __future__ import annotations

from collections.abc import Iterator, Set

from sympy import Basic, Symbol


def fresh(name: str, taken: Set[Basic], **assumptions: bool) -> Symbol:
    """The symbol ``name``, or ``name_2``, ``name_3``, ... where a symbol in ``taken`` carries that name already.

    Names are compared, not symbols: values are given by name, and two symbols of one name read as one in print.
    """
    names = {str(symbol) for symbol in taken}
    candidates = (name if number == 1 else f"{name}_{number}" for number in range(1, len(names) + 2))
    return Symbol(next(candidate for candidate in candidates if candidate not in names), **assumptions)


def laplace_variables(taken: Set[Basic]) -> Iterator[Symbol]:
    """Fresh positive integration variables u, t, u_3, ..."""
    used = set(taken)
    number = 0
    while True:
        number += 1
        variable = fresh({1: "u", 2: "t"}.get(number, f"u_{number}"), used, positive=True)
        used.add(variable)
        yield variable
