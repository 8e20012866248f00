"""Which results are printed in the paper and which in the supplement alone.

A result *stands out* where it opens the report, where a published statement rests on it, where it is held against a
formula of a source, or where FOUNDATION others rest on it. In a chapter in which nothing does, what is held against a formula of
one's own stands out, and where there is none of that every end result: one on which no other rests.

* A result that stands out is a theorem of the paper: formula, hypotheses, verdict, and where its proof stands.
* One that is proved by the same rules in the same order as a theorem before it in its chapter is a row under that; which
  results were used makes no difference.
* What does not stand out, and what has no room (a theorem of more than THEOREM_LINES lines, a row of more than ROW_LINES),
  is named, with a link.

The supplement has every proof, and every result with all its lines.

A figure stands in the paper where it speaks of a published statement of which no figure before it speaks; so does the
figure of the abstract and that of a chapter, and every figure of a report without published statements. The others are in
the supplement, and so are all tables of numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from symslr.export.content import Content, Section
from symslr.export.figures import Drawn
from symslr.export.page import in_order
from symslr.export.text import anchor

FOUNDATION = 3
"""Results that rest on one which stands out for that."""
THEOREM_LINES = 4
"""Lines of the longest result that the paper prints as a theorem."""
ROW_LINES = 2
"""Lines of the longest result that it prints in a row."""
OWN = "own"
"""The label of a claim that is no formula of a source."""


@dataclass(frozen=True)
class Theorem:
    """A result that stands out, and those like it: proved by the same rules in the same order."""

    section: Section
    like: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """A chapter of the paper: its theorems in order, and what it only names; each derivation is in one of them."""

    heading: str
    results: tuple[Theorem, ...]
    named: tuple[Section, ...]


def chapters(content: Content) -> list[Chapter]:
    """The derivations of each chapter where the rule above puts them, in their order."""
    used = _used(content)
    known = _standing_out(content, used)
    return [_chapter(heading, sections, known, used) for heading, sections in content.chapters]


def _chapter(heading: str, sections: Sequence[Section], known: set[str], used: Counter[str]) -> Chapter:
    ends = [section for section in sections if not used[section.name]]
    choices = ([s for s in sections if s.name in known], [s for s in sections if s.claims], ends)
    out = {section.name for section in next(filter(None, choices), [])}
    theorems: dict[tuple[str, ...], list[Section]] = {}
    named = []
    for section in sections:
        rules, lines = _rules(section), len(section.equation)
        if section.name in out and rules in theorems and lines <= ROW_LINES:
            theorems[rules].append(section)
        elif section.name in out and rules not in theorems and lines <= THEOREM_LINES:
            theorems[rules] = [section]
        else:
            named.append(section)
    made = (Theorem(first, tuple(like)) for first, *like in theorems.values())
    return Chapter(heading, tuple(made), tuple(named))


def _rules(section: Section) -> tuple[str, ...]:
    """What a chain does, whichever results it uses; derivations without steps are each of their own kind."""
    return tuple("a result" if step.cites else step.rule.anchor for step in section.steps) or (section.name,)


def _used(content: Content) -> Counter[str]:
    """How many derivations use the result of each."""
    return Counter(
        name for section in content.sections for name in {step.cites for step in section.steps if step.cites}
    )


def _standing_out(content: Content, used: Counter[str]) -> set[str]:
    """Names of the results that stand out in the whole report."""
    found = {anchor(each.name) for item in content.published for each in item.evidence}
    found |= {section.name for section, _ in content.formulas}
    found |= {item.name for item in content.sections if any(claim.label != OWN for claim in item.claims)}
    return found | {name for name, count in used.items() if count >= FOUNDATION}


def numbers(content: Content) -> dict[str, str]:
    """Where each derivation stands in the supplement, as "S3.1"; chapters have the numbers that they have in the paper."""
    first = before(content) + 1
    return {
        section.name: f"S{chapter}.{place}"
        for chapter, (_, sections) in enumerate(content.chapters, first)
        for place, section in enumerate(sections, 1)
    }


def before(content: Content) -> int:
    """Numbered sections of the paper before its chapters: what was found, where there is such a section, and the model."""
    return 1 + bool(content.published or content.postulates)


def paper_figures(content: Content, figures: Sequence[Drawn]) -> list[Drawn]:
    """The figures of the paper, in order."""
    about = [{each.name.partition(": ")[0] for each in item.evidence} for item in content.published]
    headings = {heading for heading, _ in content.chapters}
    first = content.abstract.figure if content.abstract is not None else ""
    every = not about
    chosen: list[Drawn] = []
    for item in in_order(content, figures):
        name = item.figure.name
        told = [names for names in about if name in names]
        always = name == first or item.figure.chapter in headings or every
        if always or told:
            chosen.append(item)
            about = [names for names in about if name not in names]
    return chosen
