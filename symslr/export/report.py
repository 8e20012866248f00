"""From derivations to a folder that people read: LaTeX, PDF, one HTML page, fragments, figures, the table of checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from symslr.algebra.derivation import Derivation
from symslr.export import tex
from symslr.export.bibliography import REFERENCES, Reference
from symslr.export.content import Content, content
from symslr.export.definitions import definitions
from symslr.export.figures import Figure, write_figure
from symslr.export.page import page
from symslr.export.pdf import PdfOutcome, compile_pdf
from symslr.export.staging import staged
from symslr.export.verdicts import DerivationVerdict, Verdict

Progress = Callable[[str, int, int], None]
"""(what is being done, parts done, parts in all)."""

TITLE = "Attention on Gaussian sequence models: derivations and checks"


@dataclass(frozen=True)
class ReportFiles:
    """What a report wrote; ``pdf`` is None where TeX is missing or failed, and ``notes`` say so, one line each."""

    folder: Path
    tex: Path
    html: Path
    checks: Path
    pdf: Path | None
    fragments: tuple[Path, ...]
    figures: tuple[Path, ...]
    notes: tuple[str, ...]


def write_report(
    derivations: Sequence[Derivation],
    out: Path,
    *,
    verdicts: Mapping[str, DerivationVerdict] | None = None,
    figures: Sequence[Figure] = (),
    references: Mapping[str, Reference] = REFERENCES,
    title: str = TITLE,
    progress: Progress = lambda what, done, total: None,
) -> ReportFiles:
    """Write ``report.tex``, ``report.pdf``, ``report.html``, ``checks.json``, ``macros.tex``, ``references.bib``,
    ``fragments/`` and ``figures/`` into ``out``; each file appears whole or not at all.

    Args:
        derivations: one section each, in this order.
        out: the folder; files in it that no report wrote stay.
        verdicts: what the checks found, by name of the derivation; None writes a report without checks.
        figures: computed, drawn and shown in this order.
        references: the records that sources are looked up in.
        title: of the report.
        progress: called before each part and once at the end.

    Raises:
        ValueError: for a source without record, two derivations of one name, or a formula that cannot be set.
    """
    total = len(figures) + 4
    progress("printing the formulas", 0, total)
    said = content(derivations, verdicts, references)
    opening = definitions()
    with staged(out) as folder:
        _write(folder / "macros.tex", tex.MACROS)
        _write(folder / "references.bib", "\n".join(record.bibtex() for record in said.references))
        _write(folder / "checks.json", json.dumps(_checks(said), indent=2, ensure_ascii=False) + "\n")
        for section in said.sections:
            _write(folder / "fragments" / f"{section.name}.tex", tex.fragment(section))
        (folder / "figures").mkdir(exist_ok=True)
        drawn = []
        for done, figure in enumerate(figures):
            progress(f"drawing {figure.name}", 1 + done, total)
            files = write_figure(figure, folder / "figures")
            drawn.append((figure, files.svg.read_text(encoding="utf-8")))
        progress("writing LaTeX", 1 + len(figures), total)
        _write(folder / "report.tex", tex.document(said, opening, figures, title))
        progress("writing HTML", 2 + len(figures), total)
        _write(folder / "report.html", page(said, opening, drawn, title))
        progress("running TeX", 3 + len(figures), total)
        outcome = compile_pdf(folder / "report.tex")
    progress("done", total, total)
    return _files(out, said, figures, outcome)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _files(out: Path, said: Content, figures: Sequence[Figure], outcome: PdfOutcome) -> ReportFiles:
    notes = [outcome.message] if outcome.message else []
    notes += list(outcome.warnings)
    notes += [f"report.pdf: a line is {outcome.overfull[0]:.0f} pt too wide"] if outcome.overfull[:1] > (20.0,) else []
    return ReportFiles(
        out,
        out / "report.tex",
        out / "report.html",
        out / "checks.json",
        out / "report.pdf" if outcome.path else None,
        tuple(out / "fragments" / f"{section.name}.tex" for section in said.sections),
        tuple(out / "figures" / f"{item.name}.{end}" for item in figures for end in ("svg", "pdf", "csv")),
        tuple(notes),
    )


def _checks(said: Content) -> dict[str, object]:
    """The table of checks as JSON."""
    return {
        "checked": said.checked,
        "derivations": [
            {
                "name": section.name,
                "title": section.title,
                "verdict": _json(section.verdict),
                "steps": [{"step": s.number, "rule": s.rule.name, **_json(s.verdict)} for s in section.steps],
                "claims": [{"source": c.source, "quoted": c.quoted, **_json(c.verdict)} for c in section.claims],
            }
            for section in said.sections
        ],
    }


def _json(item: Verdict) -> dict[str, object]:
    return {
        "verdict": str(item.word),
        "effective": item.effective,
        "comparisons": item.total,
        "digits": item.digits,
        "detail": item.detail,
    }
