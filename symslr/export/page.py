"""The report as one HTML page that needs nothing else: MathML, drawings, their data and the style inside."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from symslr.export import kept_numbers
from symslr.export.adaptive import adaptive
from symslr.export.bibliography import Reference
from symslr.export.content import Content
from symslr.export.definitions import Definitions, Row
from symslr.export.figures import Drawn
from symslr.export.html import part, table, text, verdict
from symslr.export.html_derivation import chapter, chapter_anchor, checks, rules
from symslr.export.mathml import mathml
from symslr.export.provenance import HEADING as MADE_WITH
from symslr.export.provenance import Provenance, provenance_to_html
from symslr.export.published import HEADING as PUBLISHED
from symslr.export.published import published_to_html, tally
from symslr.export.text import text_to_plain
from symslr.export.validated import rows_to_html, validations_to_html
from symslr.export.verdicts import Word

SCRIPT = """
const steps = document.querySelectorAll('details.step'), button = document.getElementById('fold');
if (button) button.addEventListener('click', () => {
  const fold = button.dataset.folded !== '1';
  steps.forEach(step => { step.open = !fold; });
  button.dataset.folded = fold ? '1' : '0';
  button.textContent = fold ? 'Unfold all steps' : 'Fold all steps';
});
if (matchMedia('(max-width: 40rem)').matches) document.querySelector('nav details').open = false;
// What scrolls sideways can be reached with the keyboard, and nothing else stops the tab key.
const reach = () => document.querySelectorAll('.formula, .scroll, .drawing').forEach(box => {
  if (box.scrollWidth > box.clientWidth) { box.tabIndex = 0; } else { box.removeAttribute('tabindex'); }
});
addEventListener('resize', reach); addEventListener('toggle', reach, true); reach();
"""


def page(
    content: Content, opening: Definitions, figures: Sequence[Drawn], title: str, made: Provenance | None = None
) -> str:
    """The page.

    Args:
        content: what the report says.
        opening: the definitions.
        figures: as they were drawn.
        title: of the report.
        made: the versions and seeds behind it.

    Raises:
        CannotTypeset: when a formula of a rule or a note has no MathML.
    """
    style = files("symslr.export").joinpath("style.css").read_text(encoding="utf-8")
    parts = dict(_parts(content, opening, figures, made))
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(text_to_plain(title))}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            '<a class="skip" href="#main">Skip to the content</a>',
            f"<header><h1>{text(title)}</h1>{_summary(content)}</header>",
            _contents(content, list(parts)),
            '<main id="main">',
            *parts.values(),
            f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def _parts(
    content: Content, opening: Definitions, figures: Sequence[Drawn], made: Provenance | None
) -> Iterator[tuple[str, str]]:
    """(heading, markup) of what the contents list, in order."""
    targets = {section.name for section in content.sections}
    targets |= {f"fig-{item.figure.name}" for item in figures}
    targets |= {f"validation-{item.name}" for item in content.validations}
    if content.published:
        yield PUBLISHED, published_to_html(content.published, targets)
    yield "Definitions", _definitions(opening)
    for heading, sections in content.chapters:
        yield heading, chapter(heading, sections)
    if figures:
        yield "Figures", part("figures", "Figures", *(_figure(i, item) for i, item in enumerate(figures, 1)))
    if content.rules:
        yield "Rules used", rules(content.rules)
    if content.checked:
        yield "Checks", checks(content.sections)
    if content.validations:
        yield "Validation", validations_to_html(content.validations)
    if made is not None:
        yield MADE_WITH, provenance_to_html(made)
    if content.references:
        yield "References", _references(content.references)


def _summary(content: Content) -> str:
    steps = [step.verdict.word for section in content.sections for step in section.steps]
    count = f"{len(content.sections)} derivations, {len(steps)} steps"
    if not content.checked:
        return f'<p class="meta">{count}; not checked.</p>'
    good, bad = steps.count(Word.TRUE), steps.count(Word.FALSE)
    said = [f"{count}: {good} checked, {bad} false, {len(steps) - good - bad} not decided."]
    said += [f"Published: {tally(content.published)}"] if content.published else []
    return f'<p class="meta">{" ".join(said)}</p>'


ANCHORS = {PUBLISHED: "published", MADE_WITH: "versions"}


def _contents(content: Content, headings: Sequence[str]) -> str:
    chapters = dict(content.chapters)
    items = []
    for heading in headings:
        if heading not in chapters:
            items.append(f'<li><a href="#{ANCHORS.get(heading, heading.split()[0].lower())}">{heading}</a></li>')
            continue
        inner = []
        for section in chapters[heading]:
            mark = f" {verdict(section.verdict, tally=False)}" if content.checked else ""
            inner.append(f'<li><a href="#{section.name}">{text(section.title)}</a>{mark}</li>')
        link = f'<a href="#{chapter_anchor(heading)}">{escape(heading)}</a>'
        items.append(f"<li>{link}<ul>{''.join(inner)}</ul></li>")
    listed = f"<details open><summary>Contents</summary><ol>{''.join(items)}</ol></details>"
    steps = any(section.steps for section in content.sections)
    button = '<button type="button" id="fold">Fold all steps</button>' if steps else ""
    return f'<nav aria-label="Contents">{listed}{button}</nav>'


def _definitions(item: Definitions) -> str:
    symbols = [(mathml(symbol), text(meaning)) for symbol, meaning in item.symbols]
    tasks = ("task", r"weight $g(\epsilon,\chi)$", r"posterior $p_l \propto w(\chi_l)$ with $w(x)$")
    attentions = ("attention", r"kernel $\kappa(x)$", r"$N$ in $\sigma_l = \kappa(a\chi_l)/N$")
    return part(
        "definitions",
        "Definitions",
        f"<p>{text(item.opening)}</p>",
        table(("symbol", "meaning"), symbols, "Symbols"),
        table(tasks, _rows(item.tasks), "Tasks"),
        table(attentions, _rows(item.attentions), "Attentions"),
    )


def _rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [(escape(row.name), *(mathml(formula) for formula in row.formulas)) for row in rows]


def _figure(number: int, shown: Drawn) -> str:
    item = shown.figure
    if shown.failure:
        return f'<p class="meta">{escape(item.name)} could not be drawn: {escape(shown.failure)}</p>'
    drawing = adaptive(re.sub(r"^.*?(?=<svg)", "", shown.svg, flags=re.DOTALL))
    # Two drawings on one page must not share the ids of their parts.
    own = "|".join(map(re.escape, sorted(re.findall(r'\bid="([^"]+)"', drawing), key=len, reverse=True)))
    drawing = re.sub(rf'(\bid="|href="#|url\(#)(?=({own})["\)])', rf"\g<1>{item.name}-", drawing)
    label = escape(item.alt or text_to_plain(item.caption))
    data = b64encode(shown.csv.encode()).decode()
    link = f'<a download="{item.name}.csv" href="data:text/csv;base64,{data}">Data of Figure {number} (CSV)</a>'
    kept = kept_numbers.to_html(shown.recorded)
    found = rows_to_html(shown.comparisons, f"What Figure {number} says of published statements")
    return (
        f'<figure id="fig-{item.name}"><div class="drawing"><div role="img" aria-label="{label}">{drawing}</div></div>'
        f"<figcaption><strong>Figure {number}.</strong> {text(item.caption)} {link}.{kept}</figcaption>{found}</figure>"
    )


def _references(references: Sequence[Reference]) -> str:
    items = []
    for item in references:
        place = f" {escape(item.place)}," if item.place else ""
        link = f' <a href="{item.link}">{escape(item.link)}</a>' if item.link else ""
        said = f"{escape(item.names)}. <em>{escape(item.title)}</em>.{place} {item.year}.{link}"
        items.append(f'<li id="ref-{item.key}">{said}</li>')
    return part("references", "References", f'<ol class="references">{"".join(items)}</ol>')
