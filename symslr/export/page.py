"""The report as one HTML page that needs nothing else: MathML, drawings, their data, style and script inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from symslr.export.bibliography import Reference
from symslr.export.content import CHECKED, Content, Section
from symslr.export.definitions import Definitions, Row
from symslr.export.figures import Drawn
from symslr.export.html import display, marked, named, packed, part, table, text, verdict
from symslr.export.html_derivation import chapter, chapter_anchor, rules
from symslr.export.html_figure import figure
from symslr.export.mathml import mathml
from symslr.export.papers import HEADING as LETTER
from symslr.export.papers import papers_to_html
from symslr.export.provenance import HEADING as MADE_WITH
from symslr.export.provenance import provenance_to_html
from symslr.export.published import HEADING as FOUND
from symslr.export.published import found_to_html
from symslr.export.typed import text_to_plain
from symslr.export.validated import validations_to_html
from symslr.export.verdicts import SIGNS, Word


def page(content: Content, opening: Definitions, figures: Sequence[Drawn], title: str) -> str:
    """The page.

    Args:
        content: what the report says.
        opening: the definitions.
        figures: as they were drawn.
        title: of the report.

    Raises:
        CannotTypeset: when a formula of a rule or a note has no MathML.
    """
    style, script = (
        files("symslr.export").joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "page.js")
    )
    numbered = dict(enumerate(in_order(content, figures), 1))
    parts = dict(_parts(content, opening, numbered))
    whole = "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(text_to_plain(title))}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            '<a class="skip" href="#main">Skip to the content</a>',
            _contents(content, list(parts)),
            f'<div class="paper"><header><h1>{text(title)}</h1>{_authors(content)}</header>',
            "<noscript><p>Proofs and drawings unfold by a script; report.pdf and supplement.pdf have them without.</p></noscript>",
            '<main id="main">',
            _abstract(content, numbered),
            _summary(content),
            *parts.values(),
            f"</main></div>\n<script>{script}</script>\n</body>\n</html>\n",
        ]
    )
    return packed(named(whole, content.references, _results(content, numbered)))


def _results(content: Content, figures: dict[int, Drawn]) -> dict[str, tuple[str, str]]:
    """(anchor, title) of what the page has, by its name."""
    found = {section.name: (section.name, text(section.title)) for section in content.sections}
    found |= {item.name: (f"validation-{item.name}", text(item.heading)) for item in content.validations}
    return found | {item.figure.name: (f"fig-{item.figure.name}", f"Figure {n}") for n, item in figures.items()}


def in_order(content: Content, figures: Sequence[Drawn]) -> list[Drawn]:
    """The figures as they are met: that of the abstract, those of the chapters, the others."""
    first = content.abstract.figure if content.abstract is not None else ""
    headings = [heading for heading, _ in content.chapters]

    def place(item: Drawn) -> int:
        if item.figure.name == first:
            return 0
        return 1 + (headings.index(item.figure.chapter) if item.figure.chapter in headings else len(headings))

    return sorted(figures, key=place)


def behind(heading: str, content: Content, figures: Sequence[Drawn]) -> list[Drawn]:
    """The figures that stand in a chapter; with the heading "", those that stand in none, nor before the chapters."""
    first = content.abstract.figure if content.abstract is not None else ""
    headings = {known for known, _ in content.chapters}
    free = [item for item in figures if item.figure.name != first]
    return [item for item in free if (item.figure.chapter if item.figure.chapter in headings else "") == heading]


def _parts(content: Content, opening: Definitions, figures: dict[int, Drawn]) -> Iterator[tuple[str, str]]:
    """(heading, markup) of what the contents list, in order."""
    if content.published or content.postulates:
        yield FOUND, found_to_html(content)
    yield "The model", _definitions(opening)
    shown = list(figures.values())
    number = {item.figure.name: place for place, item in figures.items()}

    def drawings(heading: str) -> list[str]:
        return [figure(number[item.figure.name], item) for item in behind(heading, content, shown)]

    for heading, sections in content.chapters:
        yield heading, chapter(heading, sections, *drawings(heading))
    if others := drawings(""):
        yield "Figures", part("figures", "Figures", *others)
    if content.letter:
        yield LETTER, papers_to_html(content.letter, content.settings)
    if content.rules:
        yield "Rules used", rules(content.rules)
    if content.checked:
        yield (
            "Checks",
            part(
                "checks", "Checks", f"<p>{text(CHECKED)} {text(content.checked)} All verdicts are in checks.json.</p>"
            ),
        )
    if content.validations:
        yield "Validation", validations_to_html(content.validations)
    yield MADE_WITH, provenance_to_html(shown, checked=bool(content.checked), validated=bool(content.validations))
    if content.references:
        yield "References", _references(content.references)


def _authors(content: Content) -> str:
    return f"<p>{text(', '.join(content.authors))}</p>" if content.authors else ""


def _summary(content: Content) -> str:
    counts = content.counts
    count = f"{counts['derivations']} derivations, {counts['steps']} steps"
    if not content.checked:
        return f'<p class="meta">{count}; not checked.</p>'
    bad = sum(step.verdict.word is Word.FALSE for section in content.sections for step in section.steps)
    good, total = counts["checked"], counts["steps"]
    verdicts = f"{good} checked, {bad} false, {total - good - bad} not decided"
    return f'<p class="meta">{count}: {verdicts}; <a href="#checks">when and how</a>.</p>'


def _abstract(content: Content, figures: dict[int, Drawn]) -> str:
    """The opening: sentences, one figure, the formulas that matter."""
    if content.abstract is None:
        return ""
    shown = [figure(number, item) for number, item in figures.items() if item.figure.name == content.abstract.figure]
    formulas = "".join(_formula(section, says) for section, says in content.formulas)
    words = "".join(f"<dt>{escape(head)}</dt><dd>{text(said)}</dd>" for head, said in content.abstract.words)
    opening = f'<dl class="words">{words}</dl>' if words else f"<p>{text(content.abstract.says)}</p>"
    return (
        f'<section class="abstract" aria-label="Abstract">{opening}{"".join(shown)}'
        f'<div class="formulas">{formulas}</div></section>'
    )


def _formula(section: Section, says: str) -> str:
    found = verdict(section.verdict, tally=False)
    link = f'<a href="#{section.name}">derivation</a>'
    return f'<div class="key">{display(section.equation)}<p class="meta">{text(says)} {found} {link}</p></div>'


ANCHORS = {FOUND: "found", LETTER: "letter", MADE_WITH: "versions", "The model": "model"}


def _contents(content: Content, headings: Sequence[str]) -> str:
    """Search, and the parts of the page; the derivations of a chapter fold."""
    chapters = dict(content.chapters)
    items = []
    for heading in headings:
        if heading not in chapters:
            items.append(f'<li><a href="#{ANCHORS.get(heading, heading.split()[0].lower())}">{heading}</a></li>')
            continue
        link = f'<a href="#{chapter_anchor(heading)}">{text(heading)}</a>'
        inner = "".join(_entry(section, bool(content.checked)) for section in chapters[heading])
        label = f"Derivations: {escape(text_to_plain(heading))}"
        items.append(
            f'<li>{link}<details><summary aria-label="{label}">{_count(chapters[heading], bool(content.checked))}</summary>'
            f"<ul>{inner}</ul></details></li>"
        )
    search = (
        '<label class="spoken" for="query">Search this page</label>'
        '<input type="search" id="query" placeholder="Search" autocomplete="off">'
        '<p class="meta" id="told" role="status"></p><ol id="hits"></ol>'
    )
    steps = any(section.steps for section in content.sections)
    button = '<button type="button" id="fold">Unfold all proofs</button>' if steps else ""
    listed = f'<ol id="contents">{"".join(items)}</ol>'
    return (
        f'<nav aria-label="Contents"><details open><summary>Contents</summary><div class="inside">{search}{listed}'
        f"{button}</div></details></nav>"
    )


def _entry(section: Section, checked: bool) -> str:
    word = section.verdict.word
    mark = f" {marked(*SIGNS[word][:2])}" if checked else ""
    return f'<li><a href="#{section.name}">{text(section.title)}</a>{mark}</li>'


def _count(sections: Sequence[Section], checked: bool) -> str:
    good = sum(section.verdict.word is Word.TRUE for section in sections)
    return f"{good} of {len(sections)} checked" if checked else str(len(sections))


def _definitions(item: Definitions) -> str:
    symbols = [(mathml(symbol), text(meaning)) for symbol, meaning in item.symbols]
    tasks = ("task", r"weight $g(\epsilon,\chi)$", r"posterior $p_l \propto w(\chi_l)$ with $w(x)$")
    attentions = ("attention", r"kernel $\kappa(x)$", r"$N$ in $\sigma_l = \kappa(a\chi_l)/N$")
    return part(
        "model",
        "The model",
        f"<p>{text(item.opening)}</p>",
        table(("symbol", "meaning"), symbols, "Symbols"),
        table(tasks, _rows(item.tasks), "Tasks"),
        table(attentions, _rows(item.attentions), "Attentions"),
    )


def _rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [(escape(row.name), *(mathml(formula) for formula in row.formulas)) for row in rows]


def _references(references: Sequence[Reference]) -> str:
    items = "".join(f'<li id="ref-{item.key}">{item.shown("html")}</li>' for item in references)
    return part("references", "References", f'<ol class="references">{items}</ol>')
