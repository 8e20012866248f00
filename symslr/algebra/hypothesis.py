"""A hypothesis: what a rule assumed of an expression and could not decide, printed beside the result."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import S
from sympy.logic.boolalg import Boolean


@dataclass(frozen=True)
class Hypothesis:
    """One condition under which a line equals the line before it.

    Attributes:
        text: as a mathematician would print it, LaTeX text with mathematics between dollar signs.
        condition: a relation in the free symbols that every point of a check satisfies; true where the hypothesis is about
            something else, such as a function left open.
    """

    text: str
    condition: Boolean = S.true

    def __str__(self) -> str:
        return self.text
