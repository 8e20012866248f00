"""Published statements in TeX and HTML: what each says, what was found, and what that rests on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from symslr.export import html, latex
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.validation.published import Evidence, Judged, Standing, counted

HEADING = "What is published, and what was found"

OPENING = (
    "Derived: it follows by rules from the definitions, and every step was checked. Confirmed: numbers agree with it that"
    " know nothing of it, or that stop short of a proof. Differs: what is derived or measured disagrees with it as it was"
    " quoted to us. Open: nothing was found, or what was found decides nothing. The papers' own texts were not at hand;"
    " the statements are those that summaries of them give."
)

SIGNS = {
    Standing.DERIVED: ("good", "✓", r"\symslrtrue"),
    Standing.CONFIRMED: ("good", "≈", r"\symslrtrue"),
    Standing.DIFFERS: ("open", "≠", r"\symslrdiffers"),
    Standing.OPEN: ("none", "?", r"\symslrunknown"),
}


def tally(items: Sequence[Judged]) -> str:
    """How many statements there are, and how many are derived, confirmed, different and open, in words."""
    counts = ", ".join(f"{count} {standing}" for standing, count in counted(items) if count)
    return f"{len(items)} statement{'s' * (len(items) != 1)}: {counts}."


def published_to_html(items: Sequence[Judged], targets: set[str]) -> str:
    """A section with one entry per statement; evidence links to its place where the page has one (``targets``)."""
    opening = f"<p>{escape(OPENING)}</p>"
    listed = "".join(_to_html(item, targets) for item in items)
    counts = f'<p class="meta">{tally(items)}</p>'
    return html.part("published", HEADING, opening, counts, f'<ul class="published">{listed}</ul>')


def _to_html(item: Judged, targets: set[str]) -> str:
    kind, sign, _ = SIGNS[item.standing]
    head = f"<p>{html.marked(kind, f'{sign} {item.standing}')} {html.source(item.statement.source)}</p>"
    said = f"<p>{html.text(item.statement.says)}</p>"
    remark = f'<p class="meta">{html.text(item.statement.remark)}</p>' if item.statement.remark else ""
    rows = "".join(f"<li>{_evidence_to_html(each, targets)}</li>" for each in item.evidence)
    evidence = f'<ul class="evidence">{rows}</ul>' if rows else ""
    return f"<li>{head}{said}{remark}{evidence}</li>"


def _evidence_to_html(item: Evidence, targets: set[str]) -> str:
    place = next((name for name in (item.name, f"validation-{item.name}", f"fig-{item.name}") if name in targets), None)
    name = f"<code>{escape(item.name)}</code>"
    linked = f'<a href="#{place}">{name}</a>' if place else name
    return f"{_kind(item)} {linked}: {escape(item.summary)}"


def _kind(item: Evidence) -> str:
    return "contradicted by" if item.kind == "against" else item.kind


def published_to_tex(items: Sequence[Judged]) -> str:
    """The same in LaTeX, as a list."""
    rows = [rf"\section{{{HEADING}}}", plain_to_tex(OPENING), "", tally(items)]
    for item in items:
        macro = SIGNS[item.standing][2]
        rows += [rf"\par\medskip\noindent{macro}{{{item.standing}}}\quad {latex.source(item.statement.source)}\\*"]
        rows += [text_to_tex(item.statement.says)]
        rows += [rf"\\{{\small {text_to_tex(item.statement.remark)}}}"] if item.statement.remark else []
        rows += [
            rf"\\{{\small {_kind(each)} \texttt{{{plain_to_tex(each.name)}}}: {plain_to_tex(each.summary)}}}"
            for each in item.evidence
        ]
    return "\n".join(rows)
