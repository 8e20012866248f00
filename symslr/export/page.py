"""The report as one HTML page that needs nothing else: MathML, drawings and style inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from symslr.export.bibliography import Reference, key_of, place_in
from symslr.export.breaking import INDENT, Line
from symslr.export.content import CHECKED, ClaimEntry, Content, RuleEntry, Section, StepEntry
from symslr.export.definitions import Definitions, Row
from symslr.export.figures import Drawn
from symslr.export.mathml import mathml
from symslr.export.text import text_to_html, text_to_plain
from symslr.export.validated import validations_to_html
from symslr.export.verdicts import SIGNS, Verdict, Word

FOLD = (
    "for(const d of document.querySelectorAll('details.step'))d.open=this.dataset.open==='1';"
    "this.dataset.open=this.dataset.open==='1'?'0':'1';"
    "this.textContent=this.dataset.open==='1'?'Unfold all steps':'Fold all steps'"
)
CLOSE_ON_PHONE = "if(matchMedia('(max-width:40rem)').matches)document.querySelector('nav details').open=false"


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
    style = files("symslr.export").joinpath("style.css").read_text(encoding="utf-8")
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(text_to_plain(title))}</title>\n<style>\n{style}</style>\n</head>\n<body>",
        f"<header><h1>{text(title)}</h1>{_summary(content)}</header>",
        _contents(content, figures),
        "<main>",
        _definitions(opening),
        *(_section(item) for item in content.sections),
    ]
    if figures:
        parts += ['<h2 id="figures">Figures</h2>', *map(_figure, figures)]
    parts += [_rules(content.rules)] if content.rules else []
    parts += [_checks(content.sections)] if content.checked else []
    parts += [validations_to_html(content.validations)] if content.validations else []
    parts += [_references(content.references)] if content.references else []
    return "\n".join([*parts, "</main>\n</body>\n</html>\n"])


def text(source: str) -> str:
    """Running text with its mathematics."""
    return text_to_html(source, mathml)


def display(lines: Sequence[Line]) -> str:
    """A formula on its lines, in a box of its own that scrolls where the screen is narrower."""
    rows = (
        f'<div style="margin-left:{INDENT * line.depth:g}em">{mathml(line.tex, block=True)}</div>' for line in lines
    )
    return f'<div class="formula" tabindex="0">{"".join(rows)}</div>'


def verdict(item: Verdict, *, tally: bool = True) -> str:
    """A verdict with sign, word and colour."""
    numbers = f" · {item.tally}" if tally and item.tally else ""
    return f'<span class="verdict {CLASS[item.word]}"><b>{SIGNS[item.word]} {item.word}</b>{numbers}</span>'


CLASS = {
    Word.TRUE: "good",
    Word.CONFIRMED: "good",
    Word.FALSE: "bad",
    Word.DIFFERS: "open",
    Word.UNKNOWN: "open",
    Word.UNCHECKED: "none",
}


def _detail(item: Verdict) -> str:
    return f'<p class="meta">{escape(item.detail)}</p>' if item.detail else ""


def source(reference: str) -> str:
    """A source in words, linked to the list of references where it begins with a key."""
    key = key_of(reference)
    if key is None:
        return text(reference)
    place = place_in(reference)
    return f'<a href="#ref-{key}">{escape(key)}</a>{", " if place else ""}{text(place)}'


def _summary(content: Content) -> str:
    steps = [step.verdict.word for section in content.sections for step in section.steps]
    count = f"{len(content.sections)} derivations, {len(steps)} steps"
    if not content.checked:
        return f'<p class="meta">{count}; not checked.</p>'
    good, bad = steps.count(Word.TRUE), steps.count(Word.FALSE)
    return f'<p class="meta">{count}: {good} checked, {bad} false, {len(steps) - good - bad} not decided.</p>'


def _contents(content: Content, figures: Sequence[object]) -> str:
    items = ['<li><a href="#definitions">Definitions</a></li>']
    for section in content.sections:
        mark = verdict(section.verdict, tally=False) if content.checked else ""
        items.append(f'<li><a href="#{section.name}">{text(section.title)}</a> {mark}</li>')
    later = {
        "Figures": figures,
        "Rules used": content.rules,
        "Checks": content.checked,
        "Validation": content.validations,
        "References": content.references,
    }
    ends = [heading for heading, there in later.items() if there]
    items += [f'<li><a href="#{heading.split()[0].lower()}">{heading}</a></li>' for heading in ends]
    button = f'<button type="button" data-open="0" onclick="{FOLD}">Fold all steps</button>'
    listed = f"<details open><summary>Contents</summary><ol>{''.join(items)}</ol></details>"
    return f'<nav aria-label="Contents">{listed}{button}</nav><script>{CLOSE_ON_PHONE}</script>'


def _definitions(item: Definitions) -> str:
    symbols = _table(("symbol", "meaning"), [(mathml(symbol), text(meaning)) for symbol, meaning in item.symbols])
    tasks = ("task", r"weight $g(\epsilon,\chi)$", r"posterior $p_l \propto w(\chi_l)$ with $w(x)$")
    attentions = ("attention", r"kernel $\kappa(x)$", r"$N$ in $\sigma_l = \kappa(a\chi_l)/N$")
    tables = [symbols, _table(tasks, _rows(item.tasks)), _table(attentions, _rows(item.attentions))]
    return f'<h2 id="definitions">Definitions</h2><p>{text(item.opening)}</p>{"".join(tables)}'


def _rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [(escape(row.name), *(mathml(formula) for formula in row.formulas)) for row in rows]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _section(section: Section) -> str:
    parts = [f'<section><h2 id="{section.name}">{text(section.title)}</h2>']
    parts += [f"<p>{text(section.introduction)}</p>"] if section.introduction else []
    parts += [f"<p>{' '.join(text(sentence) for sentence in section.here)}</p>"] if section.here else []
    named = "; ".join(source(item) for item in section.sources if item)
    parts += [f'<p class="meta">Sources of the definition: {named}.</p>'] if named else []
    known = section.start_verdict.word is not Word.UNCHECKED
    parts += [f"<h3>Start {verdict(section.start_verdict) if known else ''}</h3>", display(section.start)]
    parts += [_detail(section.start_verdict), *(_step(step) for step in section.steps)]
    if section.steps:
        parts.append(f'<div class="result"><h3>Result {verdict(section.verdict)}</h3>{display(section.result)}</div>')
    parts += [_claim(claim) for claim in section.claims]
    return "\n".join([*parts, "</section>"])


def _step(step: StepEntry) -> str:
    rule = f'<a href="#rule-{step.rule.anchor}">{text(step.rule.name)}</a>'
    head = f'<span class="step-name">{step.number}. {rule}</span>{verdict(step.verdict)}'
    note = f"<p>{text(step.note)}</p>" if step.note else ""
    bound = display(step.remainder) if step.remainder else ""
    body = f"{note}{display(step.lines)}{bound}{_detail(step.verdict)}"
    return f'<details class="step" open><summary>{head}</summary>{body}</details>'


def _claim(claim: ClaimEntry) -> str:
    quoted = " (as quoted in summaries)" if claim.quoted else ""
    head = f"<strong>Published</strong>: {source(claim.source)}{quoted} {verdict(claim.verdict)}"
    return f'<div class="claim">{head}{display(claim.lines)}{_detail(claim.verdict)}</div>'


def _figure(shown: Drawn) -> str:
    item = shown.figure
    if shown.failure:
        return f'<p class="meta">{escape(item.name)} could not be drawn: {escape(shown.failure)}</p>'
    drawing = re.sub(r"^.*?(?=<svg)", "", shown.svg, flags=re.DOTALL)
    # Two drawings on one page must not share the ids of their parts.
    drawing = re.sub(r'(id="|xlink:href="#|href="#|url\(#)', rf"\g<1>{item.name}-", drawing)
    label = escape(item.alt or text_to_plain(item.caption))
    return (
        f'<figure id="fig-{item.name}"><div class="drawing" role="img" aria-label="{label}">{drawing}</div>'
        f"<figcaption>{text(item.caption)}</figcaption></figure>"
    )


def _rules(rules: Sequence[RuleEntry]) -> str:
    items = []
    for rule in rules:
        origin = f' <span class="meta">{source(rule.source)}</span>' if rule.source else ""
        items.append(f'<dt id="rule-{rule.anchor}">R{rule.number} {text(rule.name)}{origin}</dt>')
        items.append(f"<dd>{display((Line(0, rule.statement),))}</dd>")
        items += [f"<dd>Conditions: {text(rule.conditions)}.</dd>"] if rule.conditions else []
    return f'<h2 id="rules">Rules used</h2><dl class="rules">{"".join(items)}</dl>'


def _checks(sections: Sequence[Section]) -> str:
    rows = []
    for section in sections:
        title = f'<a href="#{section.name}">{text(section.title)}</a>'
        rows.append(f'<tr class="group"><td colspan="5">{title}</td></tr>')
        known = section.start_verdict.word is not Word.UNCHECKED
        entries = [("start", "simulation", section.start_verdict)] if known else []
        entries += [(f"step {step.number}", text(step.rule.name), step.verdict) for step in section.steps]
        entries += [("claim", source(claim.source), claim.verdict) for claim in section.claims]
        for where, what, found in entries:
            digits = "" if found.digits is None else str(found.digits)
            numbers = f"{found.effective}/{found.total}" if found.total else ""
            rows.append(
                f"<tr><td>{where}</td><td>{what}</td><td>{verdict(found, tally=False)}</td>"
                f'<td class="number">{numbers}</td><td class="number">{digits}</td></tr>'
            )
    return (
        f'<h2 id="checks">Checks</h2><p>{text(CHECKED)}</p>'
        '<div class="scroll"><table><thead><tr><th scope="col">where</th>'
        '<th scope="col">rule or source</th><th scope="col">verdict</th><th scope="col" class="number">effective</th>'
        f'<th scope="col" class="number">digits</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _references(references: Sequence[Reference]) -> str:
    items = []
    for item in references:
        place = f" {escape(item.place)}," if item.place else ""
        link = f' <a href="{item.link}">{escape(item.link)}</a>' if item.link else ""
        said = f"{escape(item.names)}. <em>{escape(item.title)}</em>.{place} {item.year}.{link}"
        items.append(f'<li id="ref-{item.key}">{said}</li>')
    return f'<h2 id="references">References</h2><ol class="references">{"".join(items)}</ol>'
