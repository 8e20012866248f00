"""The chapter "The papers to the letter" on the page: what the sources have and ours beside it, and the settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from symslr.export import html
from symslr.export.bibliography import key_of, place_in
from symslr.export.verdicts import counted
from symslr.validation.papers import Beside, Entry, Likeness

HEADING = "The papers to the letter"

OPENING = (
    "Every statement, figure and experiment of the sources that is known to us, beside what was found here. The sources'"
    " own texts were not at hand: what they state is taken from abstracts, captions, summaries and notes of readers."
    " ``Same'' and ``answered'' stand only where the checks of this report confirm them; ``reconstructed'' says that the"
    " source's formula or layout is a reading of ours, so that nothing is compared with the source's own."
)
SETTINGS = "Settings of the figures"
SETTINGS_OPENING = (
    "The parameters with which each figure is computed, beside those of the source's figure. Those of the source come"
    " from its captions and from notes of others on it, which are not always right."
)

SIGNS = {
    Likeness.SAME: ("good", "✓"),
    Likeness.PARTLY: ("open", "≈"),
    Likeness.ANSWERED: ("good", "✓"),
    Likeness.DIFFERS: ("open", "≠"),
    Likeness.RECONSTRUCTED: ("open", "≈"),
    Likeness.OUT_OF_REACH: ("none", "–"),
    Likeness.UNDECIDED: ("none", "?"),
}

KINDS = {
    "Statements": re.compile(r"Prop\.|Cor\.|Lemma|Theorem|Remark|Result"),
    "Figures and tables": re.compile(r"Fig\.|Table"),
    "Sections, experiments and questions": re.compile(""),
}
"""What an entry is, by the place in its source; the first that fits."""

NAMED = 2
"""Names of ours that a line of the PDF has room for."""


def tally(entries: Sequence[Entry]) -> str:
    """How many entries there are of each verdict, in words."""
    counts = {str(one): sum(entry.verdict is one for entry in entries) for one in Likeness}
    return f"{len(entries)} entries: {counted(counts)}."


def _groups(entries: Sequence[Entry]) -> Iterator[tuple[str, str, list[Entry]]]:
    """(kind, key, entries) by source and kind; empty ones are left out, and the key is "" where a source has none."""
    for key in dict.fromkeys(key_of(entry.source) or "" for entry in entries):
        left = [entry for entry in entries if (key_of(entry.source) or "") == key]
        for kind, pattern in KINDS.items():
            here = [entry for entry in left if pattern.search(entry.source)]
            left = [entry for entry in left if entry not in here]
            if here:
                yield kind, key, here


def _figures(settings: Sequence[Beside]) -> Iterator[tuple[str, list[Beside]]]:
    """(name, its settings) of each figure."""
    for name in dict.fromkeys(row.figure for row in settings):
        yield name, [row for row in settings if row.figure == name]


def papers_to_html(entries: Sequence[Entry], settings: Sequence[Beside]) -> str:
    """A region with a table for each source and kind, and one of the settings."""
    parts = []
    head = ("where", "theirs", "verdict", "ours", "remark")
    for number, (kind, key, here) in enumerate(_groups(entries)):
        rows = [_entry_to_html(entry) for entry in here]
        listed = html.folded(
            f"{len(here)} entries", html.table(head, rows, f"{kind} of {key}" if key else kind, "letter")
        )
        heading = f"{escape(kind)} of {html.source(key)}" if key else escape(kind)
        parts.append(html.part(f"letter-{number}", heading, listed, level=3))
    if settings:
        rows = [_setting_to_html(row, first) for _, here in _figures(settings) for first, row in _first(here)]
        inside = html.table(("figure", "setting", "ours", "theirs", "remark"), rows, SETTINGS, "letter")
        inside = html.folded(f"{len(settings)} settings", inside)
        parts.append(html.part("settings", SETTINGS, f"<p>{html.text(SETTINGS_OPENING)}</p>", inside, level=3))
    counts = f'<p class="meta">{tally(entries)}</p>'
    return html.part("letter", HEADING, f"<p>{html.text(OPENING)}</p>", counts, *parts)


def _first(rows: Sequence[Beside]) -> list[tuple[bool, Beside]]:
    return [(number == 0, row) for number, row in enumerate(rows)]


def _entry_to_html(entry: Entry) -> tuple[str, ...]:
    kind, sign = SIGNS[entry.verdict]
    names = "".join(f"<li>{html.result(name)}</li>" for name in entry.ours)
    ours = f'<ul class="ours">{names}</ul>' if names else ""
    if len(entry.ours) > NAMED:
        ours = f"<details><summary>{len(entry.ours)} of ours</summary>{ours}</details>"
    found = html.marked(kind, f"{sign} {entry.verdict}")
    place = html.text(place_in(entry.source) or entry.source)
    return place, html.text(entry.theirs), found, ours, html.text(entry.why)


def _setting_to_html(row: Beside, first: bool) -> tuple[str, ...]:
    figure = html.result(row.figure) if first else ""
    return figure, html.text(row.setting), html.text(row.ours), html.text(row.said), html.text(row.why)
