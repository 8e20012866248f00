"""The note under numbers taken from a record: the code, versions and seeds that made them, and the command that repeats it."""

from __future__ import annotations

from html import escape

from symslr.cache.records import Record, Recorded, duration
from symslr.export.html import marked
from symslr.export.text import plain_to_tex

SHOWN = 12
"""Letters of a fingerprint that are shown."""

CHANGED = "the code has changed since"


def to_html(item: Recorded | None) -> str:
    """A line in HTML; nothing for numbers that were computed now."""
    if item is None:
        return ""
    stale = f" {marked('open', '≠ stale')}{escape(_which(item))}: {CHANGED}." if item.stale else ""
    said = f"{escape(_said(item.record))} To compute them anew: <code>{escape(item.record.command)}</code>."
    return f'<p class="kept"><strong>Kept numbers.</strong>{stale} {said}</p>'


def to_tex(item: Recorded | None) -> str:
    """The same in LaTeX."""
    if item is None:
        return ""
    stale = rf" \symslrdiffers{{stale}}{plain_to_tex(_which(item))}: {CHANGED}." if item.stale else ""
    said = rf"{plain_to_tex(_said(item.record))} To compute them anew: \texttt{{{plain_to_tex(item.record.command)}}}."
    return rf"{{\small Kept numbers.{stale} {said}}}"


def named_to_tex(item: Recorded | None) -> str:
    """That numbers were kept, whether they are stale, and the command that computes them; the rest stands elsewhere."""
    if item is None:
        return ""
    stale = rf" \symslrdiffers{{stale}}{plain_to_tex(_which(item))}." if item.stale else ""
    return rf"Kept numbers:{stale} \texttt{{{plain_to_tex(item.record.command)}}}."


def stale_note(name: str, item: Recorded | None) -> list[str]:
    """The line that a report prints for numbers whose code has changed."""
    if item is None or not item.stale:
        return []
    return [f"{name}: kept numbers{_which(item)} are stale, {CHANGED}; `{item.record.command}` computes them anew"]


def _which(item: Recorded) -> str:
    """The parts that are stale where others are not."""
    return f" ({', '.join(item.aged)})" if set(item.record.parts) - set(item.aged) else ""


def _said(record: Record) -> str:
    """What took how long, with what; parts that one run computed are told together."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, part in record.parts.items():
        told = (
            f"{name.replace('_', ' ')} in {duration(part.seconds)} (fingerprint of the code {part.fingerprint[:SHOWN]})"
        )
        groups.setdefault(tuple(part.versions.items()), []).append(told)
    ways = []
    for versions, parts in groups.items():
        used = ", ".join(f"{name} {version}" for name, version in versions if version[:3] != "not")
        ways.append(f"{'; '.join(parts)}, with {used}")
    seeds = f" Seeds: {record.seeds}." if record.seeds else ""
    return f"Computed once, times of one processor: {'. '.join(ways)}.{seeds}"
