"""Is what is asked for a model at the values asked for? Weights are checked when a task is made, at a few values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Expr, S, Symbol

from symslr.evaluation.admission.inputs import Inputs
from symslr.expression.folded import Activation
from symslr.expression.quantity import conditioned
from symslr.expression.scored import ScoredActivation
from symslr.model.admissible import check_weight_at
from symslr.model.catalogue import is_catalogued
from symslr.model.length_law import LengthLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L

MOST_POINTS = 8
"""Of an array of values so many are checked, evenly spaced, the first and the last among them."""

LONGEST = 64
"""A length up to which the mean of a weight of several tokens is looked at."""


def check_admitted(expr: Expr, inputs: Inputs) -> None:
    """Refuse values at which a weight is no density of mean 1 or a normaliser has a negative offset; remembered.

    Raises:
        ValueError: with what was found at which values.
    """
    laws = _laws(expr)
    offsets = {node.args[3] for node in expr.atoms(Activation, ScoredActivation)} - {S.Zero, S.One}
    if not laws and not offsets:
        return
    for values in _points(inputs):
        for offset in offsets:
            found = offset.subs(values)
            if found.is_negative:
                raise ValueError(f"offset {offset}: found {found}; expected a number >= 0")
        for law in laws:
            for length in _lengths(expr, law, values):
                parameters = sorted(law.free_symbols - {L}, key=str)
                check_weight_at(law, length, tuple((s, float(values[s])) for s in parameters if s in values))


def _points(inputs: Inputs) -> Iterator[dict[Symbol, Any]]:
    if not inputs.arrays:
        yield inputs.given
        return
    flat = [grid.ravel() for grid in np.broadcast_arrays(*inputs.arrays.values())]
    for index in np.unique(np.linspace(0, len(flat[0]) - 1, MOST_POINTS).astype(int)):
        yield {**inputs.given, **{s: float(grid[index]) for s, grid in zip(inputs.arrays, flat, strict=True)}}


@lru_cache(maxsize=512)
def _laws(expr: Expr) -> frozenset[SequenceLaw]:
    """The laws that a user wrote, at the lengths at which they are used."""
    used = conditioned(expr).atoms(SequenceLaw) or expr.atoms(SequenceLaw)
    return frozenset(law for law in used if not is_catalogued(law))


def _lengths(expr: Expr, law: SequenceLaw, values: Mapping[Symbol, Any]) -> set[int]:
    """Every length at which a law is used, as far as its mean is looked at."""
    if law.length.is_Integer:
        found = {int(law.length)}
    else:
        laws = expr.atoms(LengthLaw) | {value for value in values.values() if isinstance(value, LengthLaw)}
        found = {int(length) for item in laws for length, _ in item} | ({int(values[L])} if L in values else set())
    return {length for length in found if length <= LONGEST or law.relevant_factor is not None}
