"""From derivations to a folder that people read: LaTeX, PDF, one HTML page, fragments, figures, the table of checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing import get_all_start_methods
from pathlib import Path
from typing import NoReturn

from symslr.algebra.derivation import Derivation
from symslr.cache.results import Cache
from symslr.check.report import CheckReport
from symslr.export import tex
from symslr.export.abstract import Abstract
from symslr.export.bibliography import REFERENCES, Reference
from symslr.export.content import Content, content
from symslr.export.definitions import definitions
from symslr.export.figures import Drawn, Figure, drawn
from symslr.export.page import page
from symslr.export.pdf import PdfOutcome, compile_pdf
from symslr.export.staging import staged
from symslr.export.tex_supplement import supplement
from symslr.export.theorem import PLAIN, Form, fragment
from symslr.parallel.processes import Lost, each_forked, processors
from symslr.validation.papers import Papers, beside, weighed
from symslr.validation.published import Statement, judge
from symslr.validation.validate import Validation

Progress = Callable[[int, int, str], None]
"""(parts done, parts in all, what is being done now)."""

PAPERS = ("report", "supplement")
"""Names of the LaTeX documents and of their PDFs."""

MACROS_HEAD = r"""% Letters of symslr's fragments. In the preamble of your paper:
%   \usepackage{amsmath,amssymb,amsthm}\newtheorem{theorem}{Theorem}
%   \input{macros}
% and then, for each derivation, \input{fragments/NAME}. Redefine a macro to change its letter.
"""

TITLE = "Attention on Gaussian sequence models: derivations and checks"


@dataclass(frozen=True)
class ReportFiles:
    """What a report wrote: ``tex`` and ``pdf`` the paper and its supplement.

    ``pdf`` is empty where TeX is missing or failed, and ``notes`` say so, one line each.
    """

    folder: Path
    html: Path
    checks: Path
    tex: tuple[Path, ...]
    pdf: tuple[Path, ...]
    fragments: tuple[Path, ...]
    figures: tuple[Path, ...]
    notes: tuple[str, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file, the ones to open first in front."""
        beside = (self.folder / "macros.tex", self.folder / "references.bib")
        return (self.html, *self.pdf, *self.tex, self.checks, *beside, *self.fragments, *self.figures)


def write_report(
    derivations: Sequence[Derivation],
    out: Path,
    *,
    checks: CheckReport | None = None,
    validations: Sequence[Validation] = (),
    figures: Sequence[Figure] = (),
    published: Sequence[Statement] = (),
    papers: Papers | None = None,
    references: Mapping[str, Reference] = REFERENCES,
    title: str = TITLE,
    abstract: Abstract | None = None,
    command: str = "",
    authors: Sequence[str] = (),
    kept: Cache | None = None,
    progress: Progress = lambda done, total, what: None,
) -> ReportFiles:
    """Write the page, the paper and its supplement into ``out``; each file appears whole or not at all.

    These are ``report.html``, ``report.tex``, ``supplement.tex``, their PDFs, ``checks.json``, ``macros.tex``,
    ``references.bib``, ``fragments/`` and ``figures/``.

    Args:
        derivations: one section each, in this order.
        out: the folder; files in it that no report wrote stay.
        checks: what ``symslr.check.check`` found; None writes a report without verdicts.
        validations: what ``symslr.validation.validate`` found; none leaves their section out.
        figures: computed, drawn and shown in this order.
        published: statements of papers, shown with what checks, validations and figures say of them.
        papers: what else the papers have, and the settings of their figures; with them comes the chapter that lists all.
        references: the records that sources are looked up in.
        title: of the report.
        abstract: what the report opens with.
        command: derives one of the derivations anew; ``{}`` in it stands for the name.
        authors: of the report; symslr where there are none.
        kept: where printed formulas and tables of figures are found if they were made before, and written if not.
        progress: called before each part and once at the end.

    Raises:
        ValueError: for a source without record, two derivations of one name, or a formula that cannot be set.
    """
    said = content(derivations, checks, references, validations, published, abstract, command, kept)
    said = replace(said, authors=tuple(authors))
    total = len(figures) + 4
    progress(0, total, "printing the formulas")
    opening = definitions()
    with staged(out) as folder:
        _fragments(said, folder, PLAIN)
        _write(folder / "checks.json", json.dumps(_checks(checks, validations), indent=2, ensure_ascii=False) + "\n")
        (folder / "figures").mkdir(exist_ok=True)
        shown = _drawn(figures, folder / "figures", kept, lambda done, name: progress(1 + done, total, name))
        from_figures = [
            Validation(item.figure.name, item.comparisons, recorded=item.recorded) for item in shown if item.comparisons
        ]
        said = _with_papers(said, published, papers, checks, [*validations, *from_figures], figures)
        progress(1 + len(figures), total, "writing LaTeX")
        _write(folder / "report.tex", tex.document(said, opening, shown, title))
        _write(folder / "supplement.tex", supplement(said, shown, title))
        progress(2 + len(figures), total, "writing HTML")
        _write(folder / "report.html", page(said, opening, shown, title))
        progress(3 + len(figures), total, "running TeX")
        outcome = compile_pdf(folder / "report.tex")
        behind = compile_pdf(folder / "supplement.tex") if outcome.path is not None else outcome
    progress(total, total, "done")
    return _files(out, said, shown, outcome, behind)


def _with_papers(
    said: Content,
    published: Sequence[Statement],
    papers: Papers | None,
    checks: CheckReport | None,
    compared: Sequence[Validation],
    figures: Sequence[Figure],
) -> Content:
    """The content with all that is said of the papers, now that the figures are drawn."""
    judged = tuple(judge(published, checks, compared))
    said = replace(said, published=judged)
    said = replace(said, abstract=said.abstract and said.abstract.filled(said.counts))
    if papers is None:
        return said
    entries = weighed(papers, judged, checks, compared, [figure.name for figure in figures])
    settings = beside(papers.settings, {figure.name: figure.settings for figure in figures})
    return replace(said, letter=tuple(entries), settings=tuple(settings))


def _fragments(said: Content, folder: Path, form: Form) -> None:
    _write(folder / "macros.tex", MACROS_HEAD + form.notation.macros())
    _write(folder / "references.bib", "\n".join(record.bibtex() for record in said.references))
    for name, text in _each(said, replace(form, notation=form.notation.through_macros())).items():
        _write(folder / "fragments" / f"{name}.tex", text)


def _nothing(table: object) -> NoReturn:
    raise NotImplementedError


def _drawn(
    figures: Sequence[Figure], folder: Path, kept: Cache | None, progress: Callable[[int, str], None]
) -> list[Drawn]:
    """The figures, several at once where processes can be forked."""
    found: dict[int, Drawn | Lost] = {}
    if len(figures) > 1 and processors() > 1 and "fork" in get_all_start_methods():
        with suppress(ImportError):  # loaded once, before the processes begin
            import_module("matplotlib.pyplot")

        def made(number: int) -> Drawn:
            # what the functions of a figure hold need not travel back
            return replace(
                drawn(figures[number], folder, kept), figure=Figure(figures[number].name, "", dict, _nothing)
            )

        for number, one in each_forked(made, range(len(figures)), processors()):
            found[number] = one
            progress(len(found), figures[number].name)
    else:
        for number, figure in enumerate(figures):
            progress(number, figure.name)
            found[number] = drawn(figure, folder, kept)
    each = ((figure, found[number]) for number, figure in enumerate(figures))
    return [
        Drawn(figure, failure=one.value) if isinstance(one, Lost) else replace(one, figure=figure)
        for figure, one in each
    ]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _files(out: Path, said: Content, figures: Sequence[Drawn], *outcomes: PdfOutcome) -> ReportFiles:
    notes = list(dict.fromkeys(outcome.message for outcome in outcomes if outcome.message))
    notes += [f"figure {item.figure.name}: not drawn: {item.failure}" for item in figures if item.failure]
    for name, outcome in zip(PAPERS, outcomes, strict=True):
        notes += list(outcome.warnings)
        wide = outcome.overfull[:1] > (20.0,)
        notes += [f"{name}.pdf: a line is {outcome.overfull[0]:.0f} pt too wide"] if wide else []
    made = [item.figure.name for item in figures if not item.failure]
    return ReportFiles(
        out,
        out / "report.html",
        out / "checks.json",
        tuple(out / f"{name}.tex" for name in PAPERS),
        tuple(out / f"{name}.pdf" for name, outcome in zip(PAPERS, outcomes, strict=True) if outcome.path),
        tuple(out / "fragments" / f"{section.name}.tex" for section in said.sections),
        tuple(out / "figures" / f"{name}.{end}" for name in made for end in ("svg", "pdf", "csv")),
        tuple(notes),
    )


def _checks(checks: CheckReport | None, validations: Sequence[Validation]) -> dict[str, object]:
    found: dict[str, object] = {"checked": False} if checks is None else {"checked": True, **checks.as_json()}
    return {**found, "validations": [item.as_json() for item in validations]}


def write_fragments(derivations: Sequence[Derivation], folder: Path, form: Form = PLAIN) -> None:
    """Write what a paper of one's own needs: ``fragments/NAME.tex`` to input, ``macros.tex`` and ``references.bib``.

    Letters are printed through macros such as ``\\symslrnu``; a step that uses another of the derivations refers to it.

    Raises:
        ValueError: for a source without record or two derivations of one name, or letters that clash.
    """
    _fragments(content(derivations, width=form.width), folder, form)


def write_latex(derivations: Sequence[Derivation], path: Path, form: Form = PLAIN, *, title: str = "") -> None:
    """Write the derivations as one LaTeX document that compiles by itself; a single one gives it its title.

    Raises:
        ValueError: for a source without record or two derivations of one name, or letters that clash.
    """
    said = content(derivations, width=form.width)
    path.write_text(
        tex.whole(said, title or (TITLE if len(derivations) > 1 else said.sections[0].title), form), "utf-8"
    )


def latex_of(derivations: Sequence[Derivation], form: Form = PLAIN) -> str:
    """The derivations as LaTeX to paste: each a theorem with its proof; it needs amsmath, amssymb and amsthm.

    Raises:
        ValueError: for a source without record or two derivations of one name, or letters that clash.
    """
    return "\n".join(_each(content(derivations, width=form.width), form).values())


def _each(said: Content, form: Form) -> dict[str, str]:
    """The derivations by their names; one that uses another of them refers to its equation."""
    form = replace(form, references={section.name: rf"\eqref{{eq:{section.name}}}" for section in said.sections})
    return {section.name: fragment(section, form) for section in said.sections}
