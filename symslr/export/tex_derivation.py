"""Derivations in LaTeX: whole as fragments, short in the supplement, as results in the paper."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.export.breaking import INDENT, Line
from symslr.export.content import ClaimEntry, Content, Section, StepEntry, Way, anchor
from symslr.export.latex import detail, display, source, verdict
from symslr.export.measure import width
from symslr.export.text import plain_to_tex, text_to_plain, text_to_tex


def fragment(section: Section) -> str:
    """One derivation, to ``\\input`` after ``macros.tex``."""
    bookmark = text_to_tex(text_to_plain(section.title, greek=False))
    parts = [rf"\symslrsection{{{text_to_tex(section.title)}}}{{{section.name}}}{{{bookmark}}}"]
    parts += [text_to_tex(section.introduction), ""] if section.introduction else []
    parts += [" ".join(text_to_tex(sentence) for sentence in section.here), ""] if section.here else []
    named = [item for item in section.sources if item]
    parts += [f"Sources of the definition: {'; '.join(source(item) for item in named)}.", ""] if named else []
    parts += [rf"\symslrhead{{Start}}{{{verdict(section.start_verdict)}}}", display(section.start)]
    parts += [detail(section.start_verdict)] if section.start_verdict.detail else []
    parts += [_step(step) for step in section.steps]
    if section.steps:
        parts += [rf"\symslrhead{{Result}}{{{verdict(section.verdict)}}}", display(section.result, boxed=True)]
    parts += [f"For {', '.join(map(text_to_tex, section.hypotheses))}.", ""] if section.hypotheses else []
    own = ", ".join(map(text_to_tex, section.own_rules))
    parts += [f"Rules of the author, not of symslr: {own}.", ""] if own else []
    parts += [_claim(claim) for claim in section.claims]
    parts += [_way(section.way)] if section.way is not None else []
    return "\n".join(part for part in parts if part is not None) + "\n"


def _way(way: Way) -> str:
    """What the result rests on, and the weakest verdict among it."""
    said = [f"Definition:\n{display(lines)}\n" for lines in way.definitions]
    said += [f"\\textbf{{Postulate}}: {text_to_tex(what)}:\n{display(lines)}\n" for what, lines in way.postulates]
    # A typewriter font has no hyphen to break at.
    names = ", ".join(rf"\texttt{{{plain_to_tex(name)}}}".replace("-", r"-\allowbreak{}") for name in way.results)
    said += [rf"{{\raggedright Results used: {names}.\par}}"] if way.results else []
    if not said:
        return ""
    return rf"\symslrhead{{Rests on}}{{weakest: {verdict(way.weakest)}}}" + "\\\\*\n{\\small " + " ".join(said) + "}"


def _step(step: StepEntry) -> str:
    rule = rf"{{{step.rule.anchor}}}{{{text_to_tex(step.rule.name)}}}"
    head = rf"\symslrstep{{{step.number}}}{rule}{{{verdict(step.verdict)}}}"
    # In one paragraph with its heading: a display that begins a paragraph leaves an empty line above.
    note = f"\\\\*\n{text_to_tex(step.note)}" if step.note else ""
    bound = display(step.remainder) if step.remainder else ""
    return "\n".join(part for part in (head + note, display(step.lines), bound, detail(step.verdict)) if part)


def _claim(claim: ClaimEntry) -> str:
    head = rf"\symslrhead{{{claim.label.capitalize()}}}{{{verdict(claim.verdict)}}}"
    return f"{head}\\\\*\n{source(claim.source)}:\n{display(claim.lines)}\n{detail(claim.verdict)}"


def chain(section: Section) -> str:
    """A derivation in the supplement: whole where it is short, else one line a step with the formulas that are short."""
    if _lines(section) <= SHORT_CHAIN:
        return fragment(section)
    bookmark = text_to_tex(text_to_plain(section.title, greek=False))
    parts = [rf"\symslrsection{{{text_to_tex(section.title)}}}{{{section.name}}}{{{bookmark}}}"]
    parts += [text_to_tex(section.introduction), ""] if section.introduction else []
    parts += [rf"\symslrhead{{Start}}{{{verdict(section.start_verdict)}}}", _beginning(section.start)]
    for step in section.steps:
        rule = rf"{{{step.rule.anchor}}}{{{text_to_tex(step.rule.name)}}}"
        note = rf" {{\small {text_to_tex(step.note)}}}" if step.note else ""
        long = len(step.lines) > PRINTED_STEP
        made = rf" {{\small\emph{{({len(step.lines)} lines)}}}}\par" if long else display(step.lines)
        found = verdict(step.verdict, tally=False)
        parts.append(rf"\par\noindent {step.number}. \symslrrule{rule}.{note}\hfill{{\small {found}}}{made}")
    parts += [rf"\symslrhead{{Result}}{{{verdict(section.verdict)}}}", _beginning(section.result)]
    parts += [f"For {', '.join(map(text_to_tex, section.hypotheses))}.", ""] if section.hypotheses else []
    parts += [rf"{_published(claim)} {detail(claim.verdict)}" for claim in section.claims]
    return "\n".join(parts)


SHORT_CHAIN = 10
"""Lines of the longest chain whose formulas the supplement prints whole."""
PRINTED_STEP = 1
"""Lines of the longest formula of a step that it prints in a longer chain."""
PRINTED = 4
"""Lines of the longest result that is printed whole."""
SHOWN_CHAIN = 5
"""Lines of the longest chain that the paper itself prints."""


def _lines(section: Section) -> int:
    return len(section.start) + sum(len(step.lines) for step in section.steps)


def _beginning(lines: Sequence[Line]) -> str:
    """A formula, or the first of its lines and how many there are."""
    if len(lines) <= PRINTED:
        return display(lines)
    return rf"{display(lines[:2])}{{\small\emph{{\ldots\ {len(lines)} lines, whole in report.html.}}\par}}"


def chapter_results(content: Content, sections: Sequence[Section]) -> list[str]:
    """The results of a chapter that speak of published statements, and in a sentence what else is derived."""
    named = {anchor(each.name) for item in content.published for each in item.evidence}
    named |= {section.name for section, _ in content.formulas}
    any_named = any(section.claims or section.name in named for section in content.sections)
    main = [item for item in sections if item.claims or item.name in named or not any_named]
    others = "; ".join(text_to_tex(item.title) for item in sections if item not in main)
    said = [rf"\par\medskip{{\small\emph{{Also derived, in the supplement:}} {others}.\par}}"] if others else []
    return [*map(statement, main), *said]


def statement(section: Section) -> str:
    """A result as the paper prints it: hypotheses, verdict, and the chain where it is short, else its rules in a sentence."""
    title, found = text_to_tex(section.title), verdict(section.verdict, tally=False)
    parts = [rf"\symslrresult{{{title}}}{{{section.name}}}{{{found}}}"]
    said = [f"For {', '.join(map(text_to_tex, section.hypotheses))}."] if section.hypotheses else []
    if section.steps and len(section.steps) > 1 and _lines(section) <= SHOWN_CHAIN:
        parts.append(_short_chain(section))
    else:
        parts.append(_beginning(section.result if section.steps else section.start))
        said += [_proof(section)] if section.steps else []
    said += map(_published, section.claims)
    return "\n".join([*parts, rf"{{\small {' '.join(said)}\par}}"])


def _short_chain(section: Section) -> str:
    """Start and steps under one another, the rule of each at the right."""
    rows = [rf"\quad & {_indented(line)} &&" for line in section.start]
    for step in section.steps:
        *before, last = step.lines
        rows += [rf"\quad & {_indented(line)} &&" for line in before]
        said = "a result above" if step.cites else text_to_tex(step.rule.name)
        rule = rf"\text{{\footnotesize {said}}}"
        narrow = width(last.tex) + INDENT * last.depth < ROOM
        rows += (
            [rf"\quad & {_indented(last)} && {rule}"] if narrow else [rf"\quad & {_indented(last)} &&", rf"&&& {rule}"]
        )
    return "\\begin{flalign*}\n" + "\\\\\n".join(rows) + "\n\\end{flalign*}"


ROOM = 27.0
"""Width in em of a formula beside which the name of a rule fits."""


def _indented(line: Line) -> str:
    return (rf"\hspace{{{INDENT * line.depth:g}em}}" if line.depth else "") + line.tex


def _proof(section: Section) -> str:
    """The rules of the steps in a sentence; one that is used several times in a row is named once."""
    names = [text_to_tex(step.rule.name) for step in section.steps]
    once = [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    steps = f"{len(names)} step{'s' * (len(names) != 1)}"
    return rf"\emph{{Proof in {steps}:}} {', '.join(once)}."


def _published(claim: ClaimEntry) -> str:
    return f"{claim.label.capitalize()}: {source(claim.source)} {verdict(claim.verdict, tally=False)}."
