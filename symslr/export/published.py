"""The findings on published statements, in TeX and HTML: proved, estimated, postulated, different, open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from symslr.export import html, latex
from symslr.export.content import Content, Postulate
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.verdicts import counted as in_words
from symslr.validation.published import Evidence, Judged, Standing, counted

HEADING = "What was found"

OPENING = (
    "Statements of the papers, taken from abstracts, captions, summaries and notes: the papers' own texts were not at hand. Each"
    " is compared with what is derived, simulated, fitted and trained here; what is proved of a statement that is called"
    " reconstructed is proved of our reading of it."
)

GROUPS = {
    Standing.DERIVED: ("Proved", "It follows by rules from the definitions, and every step was checked."),
    Standing.ESTIMATED: (
        "Estimated",
        "Independent numbers agree with it; a proof is missing, or covers a part of it.",
    ),
    Standing.DIFFERS: (
        "Found to differ",
        "What is derived or measured disagrees with the statement as it was quoted to us.",
    ),
    Standing.OPEN: ("Open", "Nothing here decides it."),
}
"""What stands over the statements of each standing."""

POSTULATED = (
    "Postulated",
    "Assumed, not derived. Results that rest on it are proved from it and compared with numbers.",
)

SIGNS = {
    Standing.DERIVED: ("good", "✓"),
    Standing.ESTIMATED: ("good", "≈"),
    Standing.DIFFERS: ("open", "≠"),
    Standing.OPEN: ("none", "?"),
}


def tally(items: Sequence[Judged]) -> str:
    """How many statements there are, and how many are derived, estimated, different and open, in words."""
    return f"{len(items)} statement{'s' * (len(items) != 1)}: {in_words(dict(counted(items)))}."


def _groups(content: Content) -> list[tuple[str, str, list[Judged | Postulate]]]:
    """(heading, what it means, what stands under it); headings without anything are left out."""
    found: list[tuple[str, str, list[Judged | Postulate]]] = []
    for standing, heading in GROUPS.items():
        if standing is Standing.DIFFERS:
            found.append((*POSTULATED, list(content.postulates)))
        found.append((*heading, [item for item in content.published if item.standing is standing]))
    return [group for group in found if group[2]]


def found_to_html(content: Content) -> str:
    """A region with a heading for each group."""
    parts = []
    for heading, means, items in _groups(content):
        listed = "".join(_postulate_to_html(item) if isinstance(item, Postulate) else _to_html(item) for item in items)
        inside = f'<p class="meta">{escape(means)}</p><ul class="published">{listed}</ul>'
        parts.append(html.part(f"found-{heading.split()[-1].lower()}", heading, inside, level=3))
    counts = f'<p class="meta">{tally(content.published)}</p>' if content.published else ""
    opening = f"<p>{html.text(OPENING)}</p>" if content.published else ""
    return html.part("found", HEADING, opening, counts, *parts)


def _to_html(item: Judged) -> str:
    kind, sign = SIGNS[item.standing]
    head = f"{html.marked(kind, f'{sign} {item.standing}')} {html.source(item.statement.source)}"
    said = f"<p>{html.text(item.statement.says)}</p>"
    remark = f'<p class="meta">{html.text(item.statement.remark)}</p>' if item.statement.remark else ""
    rows = "".join(f"<li>{_evidence_to_html(each)}</li>" for each in item.evidence)
    counted = f"{len(item.evidence)} piece{'s' * (len(item.evidence) != 1)} of evidence"
    listed = f'<ul class="evidence">{rows}</ul>'
    evidence = f'<details class="evidence"><summary>{counted}</summary>{listed}</details>' if rows else ""
    return f'<li>{said}<p class="meta">{head}</p>{remark}{evidence}</li>'


def _postulate_to_html(item: Postulate) -> str:
    links = "; ".join(map(html.result, item.used))
    rests = f'<details class="evidence"><summary>{_resting(item)}</summary><p>{links}</p></details>'
    return f"<li><p>{html.text(item.says)}</p>{html.display(item.lines)}{rests}</li>"


def _resting(item: Postulate) -> str:
    return "1 result rests on it" if len(item.used) == 1 else f"{len(item.used)} results rest on it"


def _evidence_to_html(item: Evidence) -> str:
    return f"{_kind(item)} {html.result(item.name)}: {html.text(item.summary)}"


def _kind(item: Evidence) -> str:
    return "contradicted by" if item.kind == "against" else item.kind


def found_to_tex(content: Content, figures: Mapping[str, str]) -> str:
    """The same in LaTeX; ``figures``, references by their names, are cited by the statements of which they speak."""
    rows = [rf"\section{{{HEADING}}}"]
    rows += [plain_to_tex(OPENING), tally(content.published)] if content.published else []
    for heading, means, items in _groups(content):
        rows.append(rf"\paragraph{{{heading}.}} {plain_to_tex(means)}")
        listed = [_postulate_to_tex(item) if isinstance(item, Postulate) else _to_tex(item, figures) for item in items]
        rows += [r"\begin{itemize}\setlength{\itemsep}{0pt}", *listed, r"\end{itemize}"]
    return "\n".join(rows)


def _to_tex(item: Judged, figures: Mapping[str, str]) -> str:
    names = {each.name.partition(": ")[0] for each in item.evidence}
    shown = [reference for name, reference in figures.items() if name in names]
    see = f" {to_figures(shown)}." if shown else ""
    remark = rf" {{\small {text_to_tex(item.statement.remark)}}}" if item.statement.remark else ""
    cited = latex.source(item.statement.source)
    named = cited if cited.startswith(r"\cite") else f"({cited})"
    return rf"\item {text_to_tex(item.statement.says)} {{\small {named}}}{remark}{see}"


def to_figures(references: Sequence[str]) -> str:
    """Figures by their references, in LaTeX."""
    return f"Figure{'s' * (len(references) > 1)}~{', '.join(references)}"


def _postulate_to_tex(item: Postulate) -> str:
    return rf"\item {text_to_tex(item.says)}{latex.display(item.lines)}{{\small {_resting(item)}.}}"
