"""Means that do not exist are refused by the growth of what they average, before any mesh is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from sympy import Dummy, Expr, S, Symbol

from symslr.algebra.growth import exists
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.expectation import Expectation
from symslr.expression.quantity import conditioned
from symslr.model.exact import exact


def check_means_exist(expr: Expr, values: Mapping[Symbol, Any], moving: Collection[Symbol] = ()) -> None:
    """Refuse an expression with a mean that is infinite at these values, or at every value of the moving symbols but 0.

    Raises:
        CannotEvaluate: naming the mean.
    """
    for node in _doubtful(expr):
        known = {s: exact(v) for s, v in values.items() if s in node.free_symbols and isinstance(v, (int, float, Expr))}
        here = node.xreplace(known)
        free = [symbol for symbol in moving if symbol in here.free_symbols]
        if all(exists(here.xreplace(dict(zip(free, side)))) == S.false for side in _sides(len(free))):
            where = f" at every {', '.join(map(str, free))} other than 0" if free else ""
            raise CannotEvaluate(
                f"the mean of {_brief(here.body)} is infinite{where}: it outgrows the density of the tokens; "
                "expected a kernel that grows more slowly, or one that is normalised"
            )


@lru_cache(maxsize=512)
def _doubtful(expr: Expr) -> tuple[Expectation, ...]:
    """The means that do not exist at all values of the parameters."""
    found = sorted(conditioned(expr).atoms(Expectation), key=str)
    return tuple(node for node in found if exists(node) != S.true)


def _sides(count: int) -> list[tuple[Expr, ...]]:
    """All signs of so many numbers."""
    found: list[tuple[Expr, ...]] = [()]
    for _ in range(count):
        size = Dummy(positive=True)
        found = [(*signs, one) for signs in found for one in (size, -size)]
    return found


def _brief(body: Expr) -> str:
    text = str(body)
    return text if len(text) <= 80 else f"{text[:60]}...{text[-12:]}"
