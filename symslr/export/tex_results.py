"""Results in LaTeX as the paper prints them: theorems, and names with links to the proofs in the supplement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symslr.export.bibliography import key_of
from symslr.export.content import ClaimEntry, Section
from symslr.export.definitions import Definitions
from symslr.export.latex import source, verdict
from symslr.export.measure import width
from symslr.export.placing import Chapter, Theorem
from symslr.export.text import text_to_tex
from symslr.export.theorem import theorem
from symslr.export.typed import text_to_plain

LINE = 47.0
"""Width in em of a row."""
LETTER = 0.43
"""Width in em of a letter of a title."""


def chapter(item: Chapter, numbers: Mapping[str, str], model: Definitions) -> list[str]:
    """What the paper prints of a chapter.

    Args:
        item: the chapter.
        numbers: where each derivation stands in the supplement.
        model: its tasks are called by their names.
    """
    parts = [_theorem(each, numbers, model) for each in item.results]
    if item.named:
        names = "; ".join(f"{text_to_tex(section.title)} ({see(section.name, numbers)})" for section in item.named)
        more = "Further" if item.results else "Proved"
        parts.append(rf"\par\smallskip{{\small\emph{{{more}, in the supplement:}} {names}.\par}}")
    return parts


def see(name: str, numbers: Mapping[str, str]) -> str:
    """The place of a derivation in the supplement, linked."""
    return rf"\symslrsee{{{name}}}{{{numbers[name]}}}"


def _theorem(item: Theorem, numbers: Mapping[str, str], model: Definitions) -> str:
    """A result and where its proof stands; below it those that are proved alike."""
    section = replace(item.section, here=tuple(_here(item.section, model)))
    steps = f", {len(section.steps)} step{'s' * (len(section.steps) != 1)}" if section.steps else ""
    said = [rf"{verdict(section.verdict, tally=False)} \emph{{Proof:}} {see(section.name, numbers)}{steps}."]
    held = {key_of(claim.source) for claim in section.claims}
    origin = ", ".join(source(item) for item in section.sources if item and key_of(item) not in held)
    said += [f"Sources: {origin}."] if origin else []
    said += map(_published, section.claims)
    like = [r"\symslrmore{In the same steps}"] if item.like else []
    like += [_row(other, numbers, model, above=section) for other in item.like]
    return "\n".join([theorem(section), rf"{{\small {' '.join(said)}\par}}", *like])


def _here(section: Section, model: Definitions) -> list[str]:
    """What the letters stand for; a weight of a task of the model is called by the task, unless the title does so."""
    said = []
    for sentence in section.here:
        named = [task.name for task in model.tasks if sentence.endswith(f" = {task.formulas[0].split(' ', 1)[1]}$.")]
        if not named:
            said.append(sentence.replace(r"\displaystyle ", ""))
        elif named[0] not in section.title:
            said.append(f"On {named[0]}.")
    return said


def _row(section: Section, numbers: Mapping[str, str], model: Definitions, above: Section) -> str:
    """A result in a few lines: title, formula, verdict and link; what its letters stand for where ``above`` has not said it,
    and its hypotheses, all of them, unless they are those of ``above``.
    """
    given = list(map(text_to_tex, _here(above, model)))
    alike = set(section.hypotheses) == set(above.hypotheses)
    said = [] if alike or not section.hypotheses else [f"For {', '.join(map(text_to_tex, section.hypotheses))}."]
    more = " ".join([*said, *(item for item in map(text_to_tex, _here(section, model)) if item not in given)])
    *before, last = section.equation
    alone = not before and not more
    letters = len(text_to_plain(section.title)) + len(numbers[section.name]) + 6
    fits = alone and LETTER * letters + width(last.tex) < LINE
    found = f"{verdict(section.verdict, tally=False).replace('{checked}', '{}')}{see(section.name, numbers)}"
    shown = r"\\*".join(rf"\hspace*{{1.5em}}$\displaystyle {line.tex}$" for line in section.equation)
    if fits:
        shown = rf"\quad $\displaystyle {last.tex}$"
    title = rf"\textsl{{{text_to_tex(section.title)}.}} {more}" + ("" if fits else r"\\*[2pt]")
    return rf"\symslrrow{{{section.name}}}{{{title}{shown}}}{{{found}}}"


def _published(claim: ClaimEntry) -> str:
    """Where a formula is from and how it compares."""
    return f"{claim.label.capitalize()}: {source(claim.source.removeprefix('symslr, '))} {verdict(claim.verdict, tally=False)}."
