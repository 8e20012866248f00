"""Derivations in LaTeX, whole: the fragments that go into a paper of one's own."""

from __future__ import annotations

from symslr.export.content import ClaimEntry, Section, StepEntry, Way
from symslr.export.latex import detail, display, source, verdict
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.typed import text_to_plain


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
    parts += [rf"Compared for \texttt{{{plain_to_tex(', '.join(section.compared))}}}.", ""] if section.compared else []
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
    weakest = f"weakest: {found}" if (found := verdict(way.weakest)) else ""
    return rf"\symslrhead{{Rests on}}{{{weakest}}}" + "\\\\*\n{\\small " + " ".join(said) + "}"


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
