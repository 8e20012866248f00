"""Checks that an expression is a model at the values given and that its means exist, before any quadrature."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from sympy import Derivative, Dummy, Expr, Poly, Pow, S, Symbol, cancel

from symslr.algebra.existence import exists
from symslr.evaluation.admission.inputs import Inputs
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.open_kernel import with_kernel, with_open_kernel
from symslr.expression.expectation import Expectation, ScalarExpectation
from symslr.expression.folded import Activation
from symslr.expression.quantity import conditioned
from symslr.expression.scored import ScoredActivation
from symslr.model.admissible import check_density_at, check_weight_at
from symslr.model.catalogue import is_catalogued
from symslr.model.exact import exact
from symslr.model.form import in_brief
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L

MOST_POINTS = 8
"""Points of an array of values that are checked, evenly spaced, with the first and the last."""

LONGEST = 64
"""Largest length at which the mean of a weight of several tokens is checked."""


def check_admitted(expr: Expr, inputs: Inputs) -> None:
    """Check that weights are densities of mean 1 and offsets are not negative at these values.

    Raises:
        ValueError: naming what was found at which values.
    """
    laws = _laws(with_open_kernel(expr)[0])
    offsets = {node.args[3] for node in expr.atoms(Activation, ScoredActivation)} - {S.Zero, S.One}
    if not laws and not offsets:
        return
    for values in _points(inputs):
        for offset in offsets:
            found = offset.subs(values)
            if found.is_negative:
                raise ValueError(f"offset {offset}: found {found}; expected a number >= 0")
        for law in laws:
            own = sorted(law.base.free_symbols, key=str)
            if law.base != STANDARD_NORMAL and all(s in values for s in own):
                check_density_at(law.base, tuple((s, float(values[s])) for s in own))
            for length in _lengths(expr, law, values):
                parameters = sorted(law.free_symbols - {L}, key=str)
                check_weight_at(law, length, tuple((s, float(values[s])) for s in parameters if s in values))


def check_differentiable(expr: Expr, inputs: Inputs) -> None:
    """Check that no derivative is asked for where what stands under a root is 0.

    By rules sqrt(nu) leaves 1/sqrt(nu) times a mean that vanishes at nu = 0, of which nothing is known.

    Raises:
        CannotEvaluate: naming the place and the root.
    """
    asked = [(node, power) for node in expr.atoms(Derivative) for power in node.expr.atoms(Pow)]
    roots = {p for node, p in asked if not p.exp.is_integer and p.base.free_symbols & set(node.variables)}
    for values, root in product(_points(inputs) if roots else (), roots):
        if root.base.free_symbols <= values.keys() and root.base.subs(values) == 0:
            at = ", ".join(f"{symbol} = {values[symbol]}" for symbol in sorted(root.base.free_symbols, key=str))
            raise CannotEvaluate(f"no derivative at {at}, where its formula has {root}; expected a larger number")


def _points(inputs: Inputs) -> Iterator[dict[Symbol, Any]]:
    if not inputs.arrays:
        yield inputs.given
        return
    flat = [grid.ravel() for grid in np.broadcast_arrays(*inputs.arrays.values())]
    for index in np.unique(np.linspace(0, len(flat[0]) - 1, MOST_POINTS).astype(int)):
        yield {**inputs.given, **{s: float(grid[index]) for s, grid in zip(inputs.arrays, flat, strict=True)}}


@lru_cache(maxsize=512)
def _laws(expr: Expr) -> frozenset[SequenceLaw]:
    """The laws that a user wrote, their tokens or their weight, at the lengths at which they are used."""
    used = conditioned(expr).atoms(SequenceLaw) or expr.atoms(SequenceLaw)
    return frozenset(law for law in used if law.base != STANDARD_NORMAL or not is_catalogued(law))


def _lengths(expr: Expr, law: SequenceLaw, values: Mapping[Symbol, Any]) -> set[int]:
    """The lengths at which a law is used, as far as its mean is checked."""
    if law.length.is_Integer:
        found = {int(law.length)}
    else:
        laws = expr.atoms(LengthLaw) | {value for value in values.values() if isinstance(value, LengthLaw)}
        found = {int(length) for item in laws for length, _ in item} | ({int(values[L])} if L in values else set())
    return {length for length in found if length <= LONGEST or law.relevant_factor is not None}


ROOT_STEPS = 500
"""Most steps of the search for simple roots: ten times what mpmath takes."""
REAL_TOLERANCE = 1e-12
"""Relative imaginary part up to which a root counts as real; roots are found to 15 digits."""


def check_means_exist(expr: Expr, values: Mapping[Symbol, Any], moving: Collection[Symbol] = ()) -> None:
    """Check that no mean of an expression is infinite at these values, or at every non-zero value of the ``moving`` symbols.

    Raises:
        CannotEvaluate: naming the mean.
    """
    opened, kernel = with_open_kernel(expr)
    for node in (with_kernel(mean, kernel) for mean in _doubtful(opened)):
        known = {s: exact(v) for s, v in values.items() if s in node.free_symbols and isinstance(v, (int, float, Expr))}
        here = node.xreplace(known)
        free = [symbol for symbol in moving if symbol in here.free_symbols]
        if all(_is_infinite(here.xreplace(dict(zip(free, side)))) for side in _all_signs(len(free))):
            where = f" at every {', '.join(map(str, free))} other than 0" if free else ""
            raise CannotEvaluate(
                f"the mean of {in_brief(here.body)} is infinite{where}: it outgrows the density of the tokens or has a pole; "
                "expected a kernel that grows more slowly, or one that is normalised"
            )


def _is_infinite(node: Expectation) -> bool:
    """Whether a mean is known not to exist, by its tails or by a pole of a rational function."""
    return exists(node) == S.false or (isinstance(node, ScalarExpectation) and _has_pole(node))


def _has_pole(node: ScalarExpectation) -> bool:
    """Whether the body is a rational function with a pole inside the support. A free scale only moves the poles and is set to
    1.
    """
    scales = node.body.free_symbols - {node.variable}
    if len(scales) > 1 or not node.body.is_rational_function(node.variable):
        return False
    below = cancel(node.body.xreplace(dict.fromkeys(scales, S.One))).as_numer_denom()[1]
    if not below.has(node.variable):
        return False
    once = Poly(below, node.variable).sqf_part()  # digits of a root that comes twice are hard to find
    roots = [complex(root) for root in once.nroots(maxsteps=ROOT_STEPS)]
    low, high = float(node.law.lower), float(node.law.upper)
    return any(low < root.real < high and abs(root.imag) < REAL_TOLERANCE * (1 + abs(root)) for root in roots)


@lru_cache(maxsize=512)
def _doubtful(expr: Expr) -> tuple[Expectation, ...]:
    """The means that are not known to exist for all values of the parameters."""
    found = (node for node in conditioned(expr).atoms(Expectation) if exists(node) != S.true)
    return tuple(sorted(found, key=str))


def _all_signs(count: int) -> list[tuple[Expr, ...]]:
    """All combinations of signs of so many numbers, as symbols of either sign."""
    sizes = [Dummy(positive=True) for _ in range(count)]
    return list(product(*((size, -size) for size in sizes)))
