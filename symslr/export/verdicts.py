"""Verdicts of a check in the words of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from symslr.algebra.derivation import Claim, Derivation
from symslr.check.report import CheckReport, DerivationCheck, StepCheck
from symslr.check.report import Verdict as Found


class Word(StrEnum):
    """A verdict in one word. Unknown is no pass; a claim that differs was quoted from a summary and is no error.

    A result that is the formula of a claim is confirmed where that was read in its source, and else equal to it.
    """

    TRUE = "checked"
    UNKNOWN = "not decided"
    FALSE = "false"
    CONFIRMED = "confirmed"
    EQUAL = "equal"
    DIFFERS = "differs"
    UNCHECKED = "not checked"


SIGNS = {
    Word.TRUE: ("good", "✓", "symslrtrue"),
    Word.CONFIRMED: ("good", "✓", "symslrtrue"),
    Word.EQUAL: ("good", "✓", "symslrtrue"),
    Word.FALSE: ("bad", "✗", "symslrfalse"),
    Word.DIFFERS: ("open", "≠", "symslrdiffers"),
    Word.UNKNOWN: ("open", "?", "symslrunknown"),
    Word.UNCHECKED: ("none", "–", "symslrunknown"),
}
"""The class on the page, the sign, the macro in LaTeX: colour is never alone."""


PLURAL = {"differs": "differ"}


def counted(counts: Mapping[str, int]) -> str:
    """How many there are of each verdict, such as "11 derived, 4 differ"; what there is none of is left out."""
    return ", ".join(
        f"{count} {PLURAL.get(word, word) if count > 1 else word}" for word, count in counts.items() if count
    )


@dataclass(frozen=True)
class Verdict:
    """A verdict and what it rests on.

    Attributes:
        word: the verdict.
        effective, total: comparisons that could tell a true equation from a false one, of all that were made.
        digits: the fewest digits to which both sides of equations agreed; None where there were none.
        detail: plain text, such as where the sides differ.
    """

    word: Word
    effective: int = 0
    total: int = 0
    digits: int | None = None
    detail: str = ""

    @property
    def tally(self) -> str:
        """The numbers behind the word, such as "holds at 12 points, equations to 25 digits or more"."""
        digits = f", equations to {self.digits} digit{'s' if self.digits != 1 else ''} or more" if self.digits else ""
        alike = self.word in (Word.TRUE, Word.CONFIRMED, Word.EQUAL)
        told = f"{'holds' if alike else 'compared'} at {self.effective} point{'s' * (self.effective != 1)}"
        return f"{told}{digits if alike else ''}" if self.effective else ""


UNCHECKED = Verdict(Word.UNCHECKED)
STEP_WORDS = {Found.TRUE: Word.TRUE, Found.FALSE: Word.FALSE, Found.UNKNOWN: Word.UNKNOWN, Found.DIFFERS: Word.DIFFERS}


@dataclass(frozen=True)
class DerivationVerdict:
    """Verdicts of one derivation: overall, of the definition it starts from, per step, per claim."""

    overall: Verdict
    start: Verdict
    steps: tuple[Verdict, ...]
    claims: tuple[Verdict, ...]


def verdicts(derivations: list[Derivation], checks: CheckReport | None) -> list[DerivationVerdict]:
    """One entry per derivation, in the same order; unchecked where ``checks`` lacks it or it has changed since."""
    found = {item.name: item for item in checks.derivations} if checks is not None else {}
    return [_of(item, found.get(item.name)) for item in derivations]


def _of(item: Derivation, check: DerivationCheck | None) -> DerivationVerdict:
    same = check is not None and len(check.steps) == len(item.steps) and len(check.claims) == len(item.claims)
    if check is None or not same:
        none = (UNCHECKED,)
        return DerivationVerdict(UNCHECKED, UNCHECKED, none * len(item.steps), none * len(item.claims))
    told = [part.tally for part in check.parts]
    digits = min((tally.digits for tally in told if tally.digits is not None), default=None)
    counts = sum(tally.effective for tally in told), sum(tally.tried for tally in told)
    overall = Verdict(STEP_WORDS[check.verdict], *counts, digits)
    start = _part(check.start) if check.start is not None else UNCHECKED
    return DerivationVerdict(
        overall, start, tuple(map(_part, check.steps)), tuple(map(_claim, check.claims, item.claims))
    )


def _part(part: StepCheck) -> Verdict:
    word = STEP_WORDS[part.verdict]
    return Verdict(
        word, part.tally.effective, part.tally.tried, part.tally.digits, "" if word is Word.TRUE else part.reason
    )


def _claim(part: StepCheck, claim: Claim) -> Verdict:
    found = _part(part)
    if found.word in (Word.DIFFERS, Word.FALSE):
        return replace(found, detail=f"Derived and published: {found.detail}." if found.detail else "")
    if found.word is not Word.TRUE:
        return found
    detail = "SymPy proves the two formulas equal." if part.symbolic else ""
    word = Word.CONFIRMED if claim.label == "published" else Word.EQUAL
    return Verdict(word, found.effective, found.total, found.digits, detail)
