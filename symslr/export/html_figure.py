"""Figures on the page: the drawing, what it shows, its data, and what it says of published statements."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from html import escape

from symslr.export import kept_numbers
from symslr.export.figures import Drawn
from symslr.export.html import later, table, text
from symslr.export.typed import text_to_plain
from symslr.export.validated import rows_to_html

ROLES = {
    "#ffffff": "paper",
    "#000000": "ink",
    "#111111": "ink",
    "#333333": "ink",
    "#555555": "soft",
    "#666666": "soft",
    "#888888": "faint",
    "#bbbbbb": "fainter",
    "#cccccc": "grid",
    "#dddddd": "grid",
    "#0072b2": "blue",
    "#084594": "blue",
    "#6a51a3": "violet",
    "#7f3c8d": "violet",
}
"""Colours that would vanish on dark paper; the others stay, and so do the pixels of heat maps."""
COLOUR = re.compile(r"(?<=: )#[0-9a-f]{6}\b", re.IGNORECASE)


def figure(number: int, shown: Drawn) -> str:
    """One figure with its caption; in its place the reason where there is none."""
    item = shown.figure
    if shown.failure:
        return f'<p class="meta">{escape(item.name)} could not be drawn: {escape(shown.failure)}</p>'
    label = escape(text_to_plain(item.alt or item.caption))
    data = b64encode(gzip.compress(shown.csv.encode(), mtime=0)).decode()
    link = (
        f'<a download="{item.name}.csv.gz" href="data:application/gzip;base64,{data}">Data of Figure {number} (CSV)</a>'
    )
    rows = rows_to_html(shown.comparisons, f"What Figure {number} says of published statements")
    agree = sum(row.agrees for row in shown.comparisons)
    said = f"What it says of published statements: {agree} of {len(shown.comparisons)} agree"
    found = f"<details><summary>{said}</summary>{rows}</details>" if rows else ""
    # "<" cannot end the script: what stands in it are numbers and names, and names are escaped as JSON allows.
    points = f'<script type="application/json">{shown.curves.replace("<", chr(92) + "u003c")}</script>'
    # the figure of the first screen waits for no script
    drawing = _drawing(shown) if number == 1 else later(_drawing(shown))
    return (
        f'<figure id="fig-{item.name}"><div class="drawing"><div role="img" aria-label="{label}">{drawing}</div>'
        f"</div><figcaption><strong>Figure {number}.</strong> {_beside(item.name)}{text(item.caption)} {link}."
        f"{kept_numbers.to_html(shown.recorded)}</figcaption>{points}{_printed(shown)}{found}</figure>"
    )


def _printed(shown: Drawn) -> str:
    """The table under a figure."""
    if shown.printed is None:
        return ""
    rows = [[text(cell) for cell in row] for row in shown.printed.rows]
    said = text_to_plain(shown.printed.caption)
    numbers = all(cell.replace(".", "").isdigit() for row in shown.printed.rows for cell in row[1:-1])
    return f"<p>{text(shown.printed.caption)}</p>{table(shown.printed.head, rows, said, 'numbers' * numbers)}"


def _beside(name: str) -> str:
    """Which figure of the source a figure is drawn after, by its name."""
    found = re.match(r"figure(\d+)", name)
    return f"After Figure {found[1]} of the source. " if found else ""


def _shorter(number: re.Match[str]) -> str:
    """A number of a drawing to a hundredth of a point; what is small, such as a scale, keeps its digits."""
    value = float(number[0])
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.6g}"


def _drawing(shown: Drawn) -> str:
    drawing = adaptive(
        re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", "", shown.svg, flags=re.DOTALL)
    )
    drawing = re.sub(r"-?\d+\.\d{3,}", _shorter, drawing)
    # Letters are drawn as paths: a link within the page says where it leads, and opens it there.
    drawing = re.sub(r'<a xlink:href="#([^"]*)" target="_blank">', r'<a href="#\1" aria-label="\1">', drawing)
    # Two drawings on one page must not share the ids of their parts.
    own = "|".join(map(re.escape, sorted(re.findall(r'\bid="([^"]+)"', drawing), key=len, reverse=True)))
    return re.sub(rf'(\bid="|href="#|url\(#)(?=({own})["\)])', rf"\g<1>{shown.figure.name}-", drawing)


def adaptive(svg: str) -> str:
    """The drawing with ``var(--figure-ROLE, COLOUR)`` in place of these colours, and text in the page's ink."""

    def replaced(found: re.Match[str]) -> str:
        role = ROLES.get(found[0].lower())
        return f"var(--figure-{role}, {found[0]})" if role else found[0]

    return COLOUR.sub(replaced, svg)
