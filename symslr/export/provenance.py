"""The versions and seeds behind a report, on the page."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.check.start import SAMPLES, SEED
from symslr.export import html
from symslr.export.figures import Drawn
from symslr.library.records import versions

HEADING = "Versions and seeds"

OPENING = (
    "The same versions and seeds give the same numbers; the timing of the machine decides only which comparisons fit"
    " into the processor time of a check."
)


def provenance_to_html(figures: Sequence[Drawn], *, checked: bool, validated: bool) -> str:
    """The versions of symslr, Python and the libraries that compute, and the seeds of what the report shows, as two tables."""
    seeds = []
    if checked:
        seeds.append(("points of a check", "SHA-256 of each symbol's name, the number of the point and of the try"))
        seeds.append(("simulated starts of a check", f"{SEED}, {SEED + 1}, ..., {SAMPLES} sequences each"))
    seeds += [("validations", "in the note of each row")] if validated else []
    drawn = [item for item in figures if item.figure.seeds and not item.failure]
    seeds += [(html.result(item.figure.name), item.figure.seeds) for item in drawn]
    used = html.table(("package", "version"), list(versions().items()), "Versions")
    chance = html.table(("where chance enters", "seed"), seeds, "Seeds") if seeds else ""
    return html.part("versions", HEADING, f"<p>{OPENING}</p>", used, chance)
