"""A law of location at given values, made from what a command line or a study file asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sympy import Expr

from symslr.model.length_law import LengthLaw
from symslr.model.location.task import LocationTask
from symslr.model.request import LENGTH_EXPECTED
from symslr.model.symbols import Delta, L, nu


def location_problem(
    task: LocationTask,
    values: Mapping[Expr, Expr],
    length: Expr | LengthLaw | None,
    noise: Expr | None,
    *,
    dash: str = "",
    symbolic: bool = False,
) -> tuple[LocationTask, dict[Expr, Expr]]:
    """The task at its length and noise, and the values of its other parameters.

    Args:
        task, values: as the model file writes them, with what the options say of nu.
        length, noise: of the options, or None where they are silent; they win over the file.
        dash: what stands before the name of an option in messages.
        symbolic: whether a formula is wanted, in which what has no value stays a symbol.

    Raises:
        ValueError: in one line, for a value that is missing, or one that makes the task none.
    """
    given = dict(values)
    written = given.pop(L, None)
    spread = given.pop(Delta, None)
    if length is None and task.length == L:
        length = written
    if length is not None:
        task = replace(task, length=length)
    if noise is not None or (task.noise == Delta and not symbolic):
        task = replace(task, noise=next((n for n in (noise, spread) if n is not None), 0))
    if task.length == L and not symbolic:
        raise ValueError(f"{dash}length: missing; {LENGTH_EXPECTED}")
    missing = sorted(str(s) for s in task.free_symbols - {L, Delta} - set(given))
    if missing and not symbolic:
        mend = f"{dash}nu" if missing == ["nu"] else "[values] in the model file"
        raise ValueError(f"task {task.name}: no value for {', '.join(missing)}; give one with {mend}")
    if given.get(nu) is not None and given[nu] < 0:
        raise ValueError(f"{dash}nu: found {given[nu]}; expected a signal strength nu >= 0")
    used = {symbol: value for symbol, value in given.items() if symbol in task.free_symbols}
    task.at(used)  # refuses the values that make it no task
    return task, used
