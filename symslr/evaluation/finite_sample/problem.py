"""What a caller gives, checked once and made numeric: task, attention, parameters, alpha, ridges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from sympy import Expr, Integer, Symbol

from symslr.evaluation.finite_sample.fixed_point.saddle import Problem, Share, Training
from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import L
from symslr.model.task import Task

LONGEST = 10
MOST_ABUNDANT = 1e4
"""Beyond, the fixed point is too steep for the samples to hold, and its risk within 1/alpha of the population's."""
NOISIEST = 1e6
"""Beyond, nothing but the noise is left of the risk in float64."""


def numeric_problem(task: Task, attention: Attention, values: Mapping[object, object]) -> Problem:
    """The problem with numbers for every symbol.

    Args:
        values: symbol or name -> number: nu, Delta, L or P_L (a LengthLaw) if the task has none, parameters of the kernel.

    Raises:
        ValueError: in one line, for a missing value, a length outside 1..10, a negative noise.
    """
    numbers = {str(key): exact(value, str(key)) for key, value in values.items() if not isinstance(value, LengthLaw)}
    law = task.law.subs(_needed(task.law.free_symbols - {L}, numbers, f"task {task.name}"))
    shares = tuple(Share(n, p, law.subs(L, n)) for n, p in _lengths(task, values))
    noise = float(task.noise.subs(_needed(task.noise.free_symbols, numbers, "noise")))
    if not 0 <= noise <= NOISIEST:
        raise ValueError(f"noise: found {noise:g}; expected a standard deviation Delta from 0 to {NOISIEST:g}")
    fixed = _needed(attention.parameters | attention.offset.free_symbols, numbers, f"attention {attention.name}")
    fitted = replace(attention, kernel=attention.kernel.subs(fixed), offset=attention.offset.subs(fixed), bounds={})
    return Problem(shares, noise, fitted)


def _lengths(task: Task, values: Mapping[object, object]) -> list[tuple[int, float]]:
    """(length, probability) of every length that occurs; a symbolic one is read from ``values`` as L or P_L."""
    named = {str(key): value for key, value in values.items()}
    length = task.length
    if length == L:
        length = named.get("L", named.get("P_L"))
        if length is None:
            raise ValueError(
                f"length: found none; expected an integer from 1 to {LONGEST} or a law of such, as L or P_L"
            )
    pairs = list(length) if isinstance(length, LengthLaw) else [(exact(length, "length"), 1)]
    for n, _ in pairs:
        if not (isinstance(n, Integer) and 1 <= n <= LONGEST):
            raise ValueError(f"length: found {n}; expected an integer from 1 to {LONGEST} at finite alpha")
    return [(int(n), float(p)) for n, p in pairs]


def _needed(symbols: set[Symbol], numbers: Mapping[str, Expr], what: str) -> dict[Symbol, Expr]:
    missing = sorted(str(s) for s in symbols if str(s) not in numbers)
    if missing:
        raise ValueError(f"{what}: no value for {missing[0]}; give one")
    return {s: numbers[str(s)] for s in symbols}


def training(alpha: float, ridge: tuple[float, float]) -> Training:
    """alpha and the ridges, checked.

    Raises:
        ValueError: unless all three are positive finite numbers, alpha at most ``MOST_ABUNDANT``.
    """
    for name, number in (("alpha", alpha), ("r_k", ridge[0]), ("r_v", ridge[1])):
        if not (math.isfinite(number) and number > 0):
            raise ValueError(f"{name}: found {number:g}; expected a positive number")
    if alpha > MOST_ABUNDANT:
        raise ValueError(
            f"alpha: found {alpha:g}; expected at most {MOST_ABUNDANT:g}, as beyond it the test risk is that of"
            " alpha -> infinity (`symslr risk`) to four digits"
        )
    return Training(float(alpha), float(ridge[0]), float(ridge[1]))
