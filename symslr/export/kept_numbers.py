"""What stands under numbers that were kept and not computed by this report: what made them, and how to do it again."""

from __future__ import annotations

from html import escape

from symslr.cache.records import Record, Recorded
from symslr.export.html import marked
from symslr.export.text import plain_to_tex

SHOWN = 12
"""Letters of a fingerprint that are shown."""

CHANGED = "the code has changed since"


def to_html(item: Recorded | None) -> str:
    """A line in HTML; nothing for numbers that were computed now."""
    if item is None:
        return ""
    stale = f" {marked('open', '≠ stale')}: {CHANGED}." if item.stale else ""
    said = f"{escape(_said(item.record))} Anew: <code>{escape(item.record.command)}</code>."
    return f'<p class="kept"><strong>Kept numbers.</strong>{stale} {said}</p>'


def to_tex(item: Recorded | None) -> str:
    """The same in LaTeX."""
    if item is None:
        return ""
    stale = rf" \symslrdiffers{{stale}}: {CHANGED}." if item.stale else ""
    said = rf"{plain_to_tex(_said(item.record))} Anew: \texttt{{{plain_to_tex(item.record.command)}}}."
    return rf"{{\small Kept numbers.{stale} {said}}}"


def stale_note(name: str, item: Recorded | None) -> list[str]:
    """The line that a report prints for numbers whose code has changed."""
    if item is None or not item.stale:
        return []
    return [f"{name}: kept numbers are stale, {CHANGED}; `{item.record.command}` computes them anew"]


def _said(record: Record) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items() if version[:3] != "not")
    seeds = f" Seeds: {record.seeds}." if record.seeds else ""
    return (
        f"Computed once, in {record.duration} of processor time, with {versions}; fingerprint of the code "
        f"{record.fingerprint[:SHOWN]}.{seeds}"
    )
