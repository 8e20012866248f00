"""Chains in LaTeX as rows under one another: what each step made at the left, and what made it at the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symslr.export.breaking import INDENT, Line
from symslr.export.content import ClaimEntry, Section, StepEntry, Way
from symslr.export.latex import detail, display, source, verdict
from symslr.export.measure import width
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.typed import text_to_plain
from symslr.export.verdicts import Verdict, Word

ROOM = 45.0
"""Width of the text in em: formula and label stand beside one another where both fit."""
LETTER = 0.43
"""Width in em of a letter of a label."""
STEP_LINES = 2
"""Lines of the longest formula within a chain that the supplement prints whole; a result always is."""


def chain(section: Section, numbers: Mapping[str, str]) -> str:
    """A derivation in the supplement: a row for each step, with its rule, its note and the comparisons behind its verdict.

    Args:
        section: the derivation.
        numbers: where each derivation stands; a step that uses one of them links to it.
    """
    bookmark = text_to_tex(text_to_plain(section.title, greek=False))
    named = "; ".join(source(item) for item in section.sources if item)
    said = [text_to_tex(section.introduction)] if section.introduction else []
    said += [text_to_tex(sentence) for sentence in section.here]
    said += [f"For {', '.join(map(text_to_tex, section.hypotheses))}."] if section.hypotheses else []
    said += [rf"Compared for \texttt{{{plain_to_tex(', '.join(section.compared))}}}."] if section.compared else []
    said += [f"Sources of the definition: {named}."] if named else []
    said += [f"Rules of the author, not of symslr: {', '.join(map(text_to_tex, section.own_rules))}."] * bool(
        section.own_rules
    )
    rows = _row(section.start, _label("start", "start", section.start_verdict))
    for step in section.steps:
        rows += [rf"\shortintertext{{\footnotesize {text_to_tex(step.note)}}}"] if step.note else []
        rows += _row(_shown(step, section), _step_label(step, numbers))
        rows += _row(step.remainder, ("", 0.0)) if step.remainder else []
    troubles = [detail(item.verdict) for item in section.steps if item.verdict.detail]
    troubles += [detail(section.start_verdict)] if section.start_verdict.detail else []
    claims = [_claim(claim, section) for claim in section.claims]
    rests = [_way(section.way, section, numbers)] if section.way is not None else []
    heading = rf"\symslrsection{{{text_to_tex(section.title)}}}{{{section.name}}}{{{bookmark}}}"
    return "\n".join([heading, " ".join(said), aligned(rows), *troubles, *claims, *rests])


def aligned(rows: Sequence[str]) -> str:
    """Rows as one display that breaks across pages, not behind the first of them."""
    body = ""
    for row, after in zip(rows, [*rows[1:], ""], strict=True):
        ends = not after or row.startswith(r"\shortintertext") or after.startswith(r"\shortintertext")
        body += row + ("\n" if ends else "\\\\*\n" if row is rows[0] else "\\\\\n")
    return "\\begin{flalign*}\n" + body + "\\end{flalign*}"


def row(lines: Sequence[Line], label: str, letters: float) -> list[str]:
    """The lines of a formula; its label ends at the right margin, in a line of its own where the last has no room.

    Args:
        lines: of the formula.
        label: LaTeX text, perhaps empty.
        letters: how many the label shows.
    """
    *before, last = lines
    rows = [rf"\quad & {indented(line)} &&" for line in before]
    put = rf"\llap{{\footnotesize {label}}}" if label else ""
    if width(last.tex) + INDENT * last.depth + LETTER * letters < ROOM:
        return [*rows, rf"\quad & {indented(last)} && {put}"]
    return [*rows, rf"\quad & {indented(last)} &&", rf"&&& {put}"]


def indented(line: Line) -> str:
    """A line of a formula, set in."""
    return (rf"\hspace{{{INDENT * line.depth:g}em}}" if line.depth else "") + line.tex


def _row(lines: Sequence[Line], label: tuple[str, float]) -> list[str]:
    return row(lines, *label)


def _shown(step: StepEntry, section: Section) -> Sequence[Line]:
    """What a row prints of a step: the last one whole, with the symbol of the derivation where it has one."""
    if step is not section.steps[-1]:
        return _folded(step.lines)
    return section.result if section.result == section.equation else step.lines


def _folded(lines: Sequence[Line]) -> tuple[Line, ...]:
    """A formula, or where it is long its first line and how many there are."""
    if len(lines) <= STEP_LINES:
        return tuple(lines)
    return (Line(lines[0].depth, rf"{lines[0].tex}\;\cdots\;\text{{\footnotesize\emph{{({len(lines)} lines)}}}}"),)


def _step_label(step: StepEntry, numbers: Mapping[str, str]) -> tuple[str, float]:
    """Number and rule, linked to its statement, or the result that is used; then the verdict."""
    if step.cites in numbers:
        said = f"by {numbers[step.cites]}"
        made = rf"by~\hyperref[symslr:{step.cites}]{{{numbers[step.cites]}}}"
    else:
        said = f"{step.rule.name} (R{step.rule.number})"
        made = rf"\symslrrule{{{step.rule.anchor}}}{{{text_to_tex(step.rule.name)}}}"
    return _label(f"{step.number}. {said}", f"{step.number}.~{made}", step.verdict)


def _label(said: str, made: str, found: Verdict) -> tuple[str, float]:
    """LaTeX and letters of what made a formula and of what was found; ``said`` is the first in plain letters."""
    if found.word is Word.UNCHECKED:
        return made, len(text_to_plain(said))
    digits = f", {found.digits} digits" if found.digits else ""
    counted = f"{found.effective}{digits}" if found.effective else ""
    word = counted if found.word is Word.TRUE else f"{found.word} {counted}".strip()
    shown = verdict(found, tally=False).replace(f"{{{found.word}}}", f"{{{word}}}")
    return f"{made}~~{shown}", len(text_to_plain(said)) + len(word) + 4


def _claim(claim: ClaimEntry, section: Section) -> str:
    """A formula that the result was held against; printed where it is another one and not long, or differs."""
    head = rf"\par\noindent {claim.label.capitalize()}: {source(claim.source)} {verdict(claim.verdict)}."
    found = detail(claim.verdict)
    differs = claim.verdict.word is Word.DIFFERS
    if differs or (len(claim.lines) <= STEP_LINES and claim.lines != section.result):
        return f"{head}\n{display(claim.lines)}\n{found}"
    return f"{head} {found}"


def _way(way: Way, section: Section, numbers: Mapping[str, str]) -> str:
    """What a result rests on, and the weakest verdict among it; short definitions are printed that the chain has not."""
    said = []
    if way.results:
        said.append("results " + ", ".join(_linked(name, numbers) for name in way.results))
    printed = [_bare(line.tex) for step in section.steps for line in step.lines]
    new = [lines for lines in way.definitions if _bare(lines[0].tex) not in printed]
    short = [lines[0].tex for lines in new if len(lines) == 1 and width(lines[0].tex) < ROOM / 2]
    said += [f"definition ${tex}$" for tex in short]
    said += [f"definitions of more than half a line: {len(new) - len(short)}"] if len(short) < len(new) else []
    said += [rf"the \textbf{{postulate}} ({text_to_tex(what)})" for what, _ in way.postulates]
    if not said:
        return ""
    return rf"\par\noindent{{\footnotesize Rests on {'; '.join(said)}. Weakest verdict: {verdict(way.weakest)}.\par}}"


def _bare(tex: str) -> str:
    """A formula without its left-hand side."""
    return tex.rpartition(":=")[2].removeprefix("=").strip()


def _linked(name: str, numbers: Mapping[str, str]) -> str:
    shown = rf"\texttt{{{plain_to_tex(name)}}}".replace("-", r"-\allowbreak{}")
    return rf"\hyperref[symslr:{name}]{{{numbers[name]}}}" if name in numbers else shown
