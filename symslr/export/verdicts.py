"""What a check found, in the words of the report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from symslr.algebra.derivation import Derivation


class Word(StrEnum):
    """A verdict in one word. Unknown is no pass."""

    TRUE = "true"
    UNKNOWN = "unknown"
    FALSE = "false"
    CONFIRMED = "confirmed"
    DIFFERS = "differs"
    UNCHECKED = "not checked"


GOOD, BAD = frozenset({Word.TRUE, Word.CONFIRMED}), frozenset({Word.FALSE, Word.DIFFERS})


@dataclass(frozen=True)
class Verdict:
    """A verdict and what it rests on.

    Attributes:
        word: the verdict.
        effective, total: comparisons that could tell a true equation from a false one, of all that were tried.
        digits: the fewest digits to which the effective comparisons agreed; None where there were none.
        detail: a sentence, such as where the sides differ.
    """

    word: Word
    effective: int = 0
    total: int = 0
    digits: int | None = None
    detail: str = ""

    @property
    def tally(self) -> str:
        """The numbers behind the word, such as "12 of 12 comparisons effective, 25 digits"."""
        if self.word is Word.UNCHECKED:
            return ""
        digits = f", {self.digits} digit{'s' if self.digits != 1 else ''}" if self.digits is not None else ""
        return f"{self.effective} of {self.total} comparisons effective{digits}"


UNCHECKED = Verdict(Word.UNCHECKED)


@dataclass(frozen=True)
class DerivationVerdict:
    """Verdicts of one derivation: overall, per step, per claim."""

    overall: Verdict
    steps: tuple[Verdict, ...]
    claims: tuple[Verdict, ...]

    @classmethod
    def none(cls, derivation: Derivation) -> DerivationVerdict:
        """Nothing was checked."""
        return cls(UNCHECKED, (UNCHECKED,) * len(derivation.steps), (UNCHECKED,) * len(derivation.claims))
