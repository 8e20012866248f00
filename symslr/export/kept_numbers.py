"""The note under kept numbers: what made them when, the seeds, and the command that computes them again."""

from __future__ import annotations

from html import escape

from symslr.library.records import Record


def duration(seconds: float) -> str:
    """Processor time in words, such as "3 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def to_html(item: Record | None) -> str:
    """A note in HTML that unfolds; nothing for numbers that were computed now."""
    if item is None:
        return ""
    said = f"{escape(_said(item))} To compute them again and compare: <code>{escape(_command(item))}</code>."
    return f'<details class="kept"><summary>How the numbers were computed</summary><p>{said}</p></details>'


def _command(record: Record) -> str:
    return f"symslr compute --file {record.name}"


def _said(record: Record) -> str:
    """What took how long, with what."""
    parts = "; ".join(
        f"{name.replace('_', ' ')} in {duration(sum(point.seconds for point in part.points))}"
        for name, part in record.parts.items()
    )
    used = ", ".join(f"{name} {version}" for name, version in record.versions.items() if version[:3] != "not")
    seeds = f" Seeds: {record.seeds}." if record.seeds else ""
    return f"Computed once, times of one processor: {parts}, with {used}.{seeds}"
