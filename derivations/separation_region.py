"""Exponents of the odds against each share as n grows: the admissible region and its finite-n correction."""

from collections.abc import Iterator

from symslr.algebra.derivation import Derivation
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.region import exponent_derivation

PLACES = ((Row.MARKED, Column.MARK), (Row.MARKED, Column.OWN), (Row.SIBLING, Column.OWN), (Row.STRANGER, Column.OWN))


def derive_exponents() -> Iterator[Derivation]:
    for name, kernel in (("softmax", SOFTMAX_KERNEL), ("linear", LINEAR_KERNEL)):
        for row, column in PLACES:
            label = f"separation-exponent-{name}-{row.name}-{column.name}".lower()
            yield exponent_derivation(row, column, kernel, name=label)
