"""Pieces of the page that every part of it uses: running text, formulas, verdicts, sources, tables."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from symslr.export.bibliography import Reference, key_of, place_in
from symslr.export.breaking import INDENT, Line
from symslr.export.mathml import mathml
from symslr.export.text import anchor, text_to_html
from symslr.export.typed import text_to_plain
from symslr.export.verdicts import SIGNS, Verdict


def text(source: str) -> str:
    """Running text with its mathematics."""
    return text_to_html(source, mathml)


def display(lines: Sequence[Line]) -> str:
    """A formula on its lines, in a box of its own that scrolls where the screen is narrower."""
    rows = (
        f'<div style="margin-left:{INDENT * line.depth:g}em">{mathml(line.tex, block=True)}</div>' for line in lines
    )
    return f'<div class="formula">{"".join(rows)}</div>'


LONG = 6
"""Lines of the longest formula that stands unfolded."""


def folding(lines: Sequence[Line]) -> str:
    """``display``, folded where the formula is long."""
    if len(lines) <= LONG:
        return display(lines)
    return f'<details class="long"><summary>a formula of {len(lines)} lines</summary>{display(lines)}</details>'


def verdict(item: Verdict, *, tally: bool = True) -> str:
    """A verdict with sign, word and colour."""
    numbers = f" · {item.tally}" if tally and item.tally else ""
    kind, sign, _ = SIGNS[item.word]
    return marked(kind, f"{sign} {item.word}", numbers)


def marked(kind: str, said: str, after: str = "") -> str:
    """A word in one of the colours good, bad, open and none, with what follows it."""
    return f'<span class="verdict {kind}"><b>{said}</b>{after}</span>'


def detail(item: Verdict) -> str:
    """What a verdict has to say beside its word; nothing where it has nothing."""
    return f'<p class="meta">{escape(item.detail)}</p>' if item.detail else ""


def source(reference: str, *, linked: bool = True) -> str:
    """A source in words, linked to the list of references where it begins with a key; ``named`` tells its authors."""
    key = key_of(reference)
    if key is None:
        return text(reference)
    place = place_in(reference)
    cited = f'<a href="#ref-{key}">{cite(key)}</a>' if linked else cite(key)
    return f"{cited}{', ' if place else ''}{text(place)}"


def cite(key: str) -> str:
    """The place of the authors and the year of a source, which ``named`` fills in."""
    return f"<cite>{escape(key)}</cite>"


def result(name: str) -> str:
    """The place of a derivation, a figure or a validation, which ``named`` calls by its title and links.

    ``name`` may be NAME: BEGINNING OF ROWS.
    """
    bare, _, rows = name.partition(": ")
    return f"<q>{escape(bare)}</q>{f': {escape(rows)}' if rows else ''}"


def named(markup: str, references: Sequence[Reference], results: Mapping[str, tuple[str, str]]) -> str:
    """The page with authors and year in the place of every key that is cited, and with links to results.

    ``results`` has an anchor and a title for each name; a name without them stays as it is.
    """
    known = {item.key: escape(item.short) for item in references}
    linked = {name: f'<a href="#{at}">{title}</a>' for name, (at, title) in results.items()}
    markup = re.sub(r"<q>([^<]*)</q>", lambda name: linked.get(name[1]) or linked.get(anchor(name[1]), name[1]), markup)
    return re.sub(r"(?<=<cite>)[^<]*(?=</cite>)", lambda key: known.get(key[0], key[0]), markup)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, kind: str = "") -> str:
    """A table of cells in HTML under headings in running text; the first cell of a row is its heading.

    ``caption`` says to a screen reader what the table holds; ``kind`` is a class for the style sheet.
    """
    top = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    label = f'<caption class="spoken">{escape(text_to_plain(caption))}</caption>'
    opening = f'<table class="{kind}">' if kind else "<table>"
    return f'<div class="scroll">{opening}{label}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def part(place: str, heading: str, *inside: str, level: int = 2) -> str:
    """A region of the page that is named by its heading; one of the second level folds, on a phone from the start."""
    title = f'<h{level} id="{place}">{heading}</h{level}>'
    ends = (f'<details class="part" open><summary>{title}</summary>', "</details>") if level == 2 else (title, "")
    return "\n".join([f'<section aria-labelledby="{place}">{ends[0]}', *inside, f"{ends[1]}</section>"])


def packed(markup: str) -> str:
    """What ``later`` marked, compressed into scripts: a page that is read in part is built in part."""

    def script(found: re.Match[str]) -> str:
        data = gzip.compress(found[1].encode(), mtime=0)
        return f'<script type="application/gzip">{b64encode(data).decode()}</script>'

    return re.sub(r"<!--later-->(.*?)<!--/later-->", script, markup, flags=re.DOTALL)


def later(*inside: str) -> str:
    """What is built only when it is wanted; it stands alone behind a summary, or in a drawing, and not in one another."""
    return f"<!--later-->{''.join(inside)}<!--/later-->"


def folded(summary: str, *inside: str) -> str:
    """What is opened only when it is wanted, under a line of plain text."""
    return f'<details class="folded"><summary>{escape(summary)}</summary>{later(*inside)}</details>'
