"""The versions and seeds behind a report, on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symslr.check.start import SAMPLES, SEED
from symslr.export import html
from symslr.export.figures import Drawn
from symslr.library.records import versions

HEADING = "Versions and seeds"

OPENING = (
    "The same versions and seeds give the same numbers; the timing of the machine decides only which comparisons fit"
    " into the processor time of a check."
)


@dataclass(frozen=True)
class Provenance:
    """Versions and seeds as (what, which) pairs."""

    versions: tuple[tuple[str, str], ...]
    seeds: tuple[tuple[str, str], ...]


def provenance(figures: Sequence[Drawn], *, checked: bool, validated: bool) -> Provenance:
    """The versions of symslr, Python and the libraries that compute, and the seeds of what the report shows."""
    seeds = []
    if checked:
        seeds.append(("points of a check", "SHA-256 of each symbol's name, the number of the point and of the try"))
        seeds.append(("simulated starts of a check", f"{SEED}, {SEED + 1}, ..., {SAMPLES} sequences each"))
    if validated:
        seeds.append(("validations", "in the note of each row"))
    seeds += [
        (html.result(item.figure.name), item.figure.seeds) for item in figures if item.figure.seeds and not item.failure
    ]
    return Provenance(tuple(versions().items()), tuple(seeds))


def provenance_to_html(item: Provenance) -> str:
    """Two tables."""
    versions = html.table(("package", "version"), item.versions, "Versions")
    seeds = html.table(("where chance enters", "seed"), item.seeds, "Seeds") if item.seeds else ""
    return html.part("versions", HEADING, f"<p>{OPENING}</p>", versions, seeds)
