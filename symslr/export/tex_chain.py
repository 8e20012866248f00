"""Derivations in the supplement: the whole proof, with the rule of each step and the comparisons behind its verdict."""

from __future__ import annotations

from collections.abc import Mapping

from symslr.export.content import ClaimEntry, Section, StepEntry, Way
from symslr.export.latex import detail, display, source, verdict
from symslr.export.measure import width
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.theorem import Form, proof
from symslr.export.typed import text_to_plain
from symslr.export.verdicts import Word

ROOM = 45.0
"""Width of the text in em."""
CLAIM_LINES = 2
"""Lines of the longest formula of a source that is printed though it is the result in another form."""


def chain(section: Section, numbers: Mapping[str, str]) -> str:
    """A derivation in the supplement: what it says of its letters, the proof whole, and what the result was held against.

    Args:
        section: the derivation.
        numbers: where each derivation stands; a step that uses one of them links to it.
    """
    bookmark = text_to_tex(text_to_plain(section.title, greek=False))
    said = [text_to_tex(sentence) for sentence in section.here]
    said += [f"For {', '.join(map(text_to_tex, section.hypotheses))}."] if section.hypotheses else []
    said += [rf"Compared for \texttt{{{plain_to_tex(', '.join(section.compared))}}}."] if section.compared else []
    said += [f"Rules of the author, not of symslr: {', '.join(map(text_to_tex, section.own_rules))}."] * bool(
        section.own_rules
    )
    form = Form(references=numbers)
    start = verdict(section.start_verdict)
    shown = proof(section, form, lambda step: _step_label(step, numbers), start) if section.steps else ""
    troubles = [detail(item.verdict) for item in section.steps if item.verdict.detail]
    troubles += [detail(section.start_verdict)] if section.start_verdict.detail else []
    claims = [_claim(claim, section) for claim in section.claims]
    rests = [_way(section.way, section, numbers)] if section.way is not None else []
    heading = rf"\symslrsection{{{text_to_tex(section.title)}}}{{{section.name}}}{{{bookmark}}}"
    return "\n".join([heading, " ".join(said), shown or display(section.equation), *troubles, *claims, *rests])


def _step_label(step: StepEntry, numbers: Mapping[str, str]) -> str:
    """Number and rule, linked to its statement, or the result that is used; then the verdict."""
    if step.cites in numbers:
        made = rf"by~\hyperref[symslr:{step.cites}]{{{numbers[step.cites]}}}"
    else:
        made = rf"\symslrrule{{{step.rule.anchor}}}{{{text_to_tex(step.rule.name)}}}"
    found = step.verdict
    if found.word is Word.UNCHECKED:
        return f"{step.number}.~{made}"
    digits = f", {found.digits} digits" if found.digits else ""
    counted = f"{found.effective}{digits}" if found.effective else ""
    word = counted if found.word is Word.TRUE else f"{found.word} {counted}".strip()
    shown = verdict(found, tally=False).replace(f"{{{found.word}}}", f"{{{word}}}")
    return f"{step.number}.~{made}~~{shown}"


def _claim(claim: ClaimEntry, section: Section) -> str:
    """A formula that the result was held against; printed where it is another one and not long, or differs."""
    head = rf"\par\noindent {claim.label.capitalize()}: {source(claim.source)} {verdict(claim.verdict)}."
    found = detail(claim.verdict)
    differs = claim.verdict.word is Word.DIFFERS
    if differs or (len(claim.lines) <= CLAIM_LINES and claim.lines != section.result):
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
