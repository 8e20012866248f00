"""Means that do not exist are refused by the growth of what they average, before any mesh is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from sympy import Dummy, Expr, Poly, S, Symbol, cancel

from symslr.algebra.growth import exists
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.expectation import Expectation, ScalarExpectation
from symslr.expression.quantity import conditioned
from symslr.model.exact import exact

REAL = 1e-12
"""Imaginary part, relative, up to which a root is one on the line: they are found to 15 digits."""


def check_means_exist(expr: Expr, values: Mapping[Symbol, Any], moving: Collection[Symbol] = ()) -> None:
    """Refuse an expression with a mean that is infinite at these values, or at every value of the moving symbols but 0.

    Raises:
        CannotEvaluate: naming the mean.
    """
    for node in _doubtful(expr):
        known = {s: exact(v) for s, v in values.items() if s in node.free_symbols and isinstance(v, (int, float, Expr))}
        here = node.xreplace(known)
        free = [symbol for symbol in moving if symbol in here.free_symbols]
        if all(_is_infinite(here.xreplace(dict(zip(free, side)))) for side in _sides(len(free))):
            where = f" at every {', '.join(map(str, free))} other than 0" if free else ""
            raise CannotEvaluate(
                f"the mean of {_brief(here.body)} is infinite{where}: it outgrows the density of the tokens or has a pole; "
                "expected a kernel that grows more slowly, or one that is normalised"
            )


def _is_infinite(node: Expectation) -> bool:
    """Whether a mean is known not to exist, for the tails of what it averages or for a pole of a rational function."""
    return exists(node) == S.false or (isinstance(node, ScalarExpectation) and _has_pole(node))


def _has_pole(node: ScalarExpectation) -> bool:
    """Whether the body is a rational function with a pole inside the support.

    A scale that is left open only moves the poles: it is put at 1.
    """
    scales = node.body.free_symbols - {node.variable}
    if len(scales) > 1 or not node.body.is_rational_function(node.variable):
        return False
    below = cancel(node.body.xreplace(dict.fromkeys(scales, S.One))).as_numer_denom()[1]
    if not below.has(node.variable):
        return False
    roots = [complex(root) for root in Poly(below, node.variable).nroots()]
    low, high = float(node.law.lower), float(node.law.upper)
    return any(low < root.real < high and abs(root.imag) < REAL * (1 + abs(root)) for root in roots)


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
