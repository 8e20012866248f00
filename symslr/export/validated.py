"""Validations on the page: each number of the theory beside the one that was found without it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from symslr.export import html, kept_numbers
from symslr.validation.validate import Validation
from symslr.validation.validation import NamedComparison

OPENING = (
    "Each number of the theory stands beside one that was found without it: by simulation, by brute force or by"
    " training networks. A simulation agrees within 4 standard errors, and a count where the exact binomial test finds"
    " it as likely as that (the note has the tail). Beside each verdict stands the distance that was allowed."
)
"""What the section says about itself; plain text."""

HEAD = ("what is compared", "theory", "found", "verdict", "note")


def validations_to_html(items: Sequence[Validation]) -> str:
    """A region with one heading and one table per file; each table scrolls by itself where the screen is narrower."""
    return html.part("validation", "Validation", f"<p>{html.text(OPENING)}</p>", *map(_to_html, items))


def _to_html(item: Validation) -> str:
    summary = f'<p class="meta">{escape(item.summary)}.</p>'
    rows = rows_to_html(item.comparisons, item.heading)
    rows = html.folded(f"{len(item.comparisons)} comparisons", rows) if rows else ""
    kept = kept_numbers.to_html(item.recorded)
    return html.part(f"validation-{item.name}", html.text(item.heading), summary, kept, rows, level=3)


def rows_to_html(rows: Sequence[NamedComparison], caption: str) -> str:
    """Comparisons as a table, named by its caption to a screen reader; nothing where there are none."""
    if not rows:
        return ""
    cells = [
        (
            html.text(row.name),
            *_numbers_to_html(row),
            html.text(row.note),
        )
        for row in rows
    ]
    return html.table(HEAD, cells, caption, "validation")


def _numbers_to_html(row: NamedComparison) -> tuple[str, str, str]:
    """What theory says, what was found, and the verdict; in words where the row is a statement and no number."""
    kind, sign = ("good", "✓ ") if row.agrees else ("bad", "✗ not ")
    if (row.expected, row.tolerance) == (1.0, 0.0):
        return "true", str(row.agrees).lower(), html.marked(kind, f"{sign}so")
    within = f"within {_number_to_html(row.tolerance)}"
    return _number_to_html(row.expected), _number_to_html(row.found), html.marked(kind, f"{sign}{within}")


def _number_to_html(number: float) -> str:
    """Six digits; three, and the power of ten, where the number is far from 1."""
    if "e" not in f"{number:.6g}":
        return f"{number:.6g}".replace("-", "−")
    mantissa, exponent = f"{number:.2e}".replace("-", "−").split("e")
    return f"{mantissa}×10<sup>{exponent[0].strip('+')}{exponent[1:].lstrip('0')}</sup>"
