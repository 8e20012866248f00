"""The report as a whole: what it holds, that TeX takes it, that a browser needs nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from symslr.algebra.derivation import Derivation
from symslr.check.report import CheckReport
from symslr.export import pdf
from symslr.export.bibliography import UnknownReference
from symslr.export.content import content
from symslr.export.figures import Figure, Table
from symslr.export.pdf import compile_pdf
from symslr.export.report import write_latex, write_report


def _draw(table: Table) -> object:
    drawing, axes = plt.subplots(figsize=(3, 2))
    axes.plot(table["x"], table["y"])
    return drawing


FIGURE = Figure("parabola", "The square $x^2$ & more, 5 %.", lambda: {"x": [1, 2, 3], "y": [1, 4, 9]}, _draw)


@pytest.fixture
def without_tex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)


@pytest.mark.usefixtures("without_tex")
def test_files_and_progress(toy: Derivation, toy_checks: CheckReport, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    files = write_report(
        [toy],
        tmp_path,
        checks=toy_checks,
        figures=[FIGURE],
        progress=lambda done, total, what: seen.append((done, total)),
    )
    assert all(path.is_file() for path in files.paths)
    assert files.pdf is None
    assert "no pdflatex" in files.notes[0]
    assert seen == [(i, 5) for i in range(6)]
    assert json.loads(files.checks.read_text())["derivations"][0]["claims"][1]["verdict"] == "differs"
    assert "cameron1944" in (tmp_path / "references.bib").read_text()


@pytest.mark.usefixtures("without_tex")
def test_page_needs_nothing_else_and_says_the_verdicts(
    toy: Derivation, toy_checks: CheckReport, tmp_path: Path
) -> None:
    markup = write_report([toy], tmp_path, checks=toy_checks, figures=[FIGURE]).html.read_text()
    assert not re.search(r"<link|<script[^>]+src|@import|url\(\s*['\"]?https?:|<img", markup)
    for verdict in ("✓ checked", "? not decided", "✓ confirmed", "≠ differs"):
        assert verdict in markup
    assert "at nu = 2 the sides are 1 and 2" in markup
    assert "5 % &lt;x_1&gt;" in markup
    ids = re.findall(r'\bid="([^"]+)"', markup)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', markup):
        assert target in ids


@pytest.mark.usefixtures("without_tex")
def test_without_checks_nothing_is_called_checked(toy: Derivation, tmp_path: Path) -> None:
    files = write_report([toy], tmp_path)
    assert json.loads(files.checks.read_text()) == {"checked": False, "validations": []}
    assert "✓" not in files.html.read_text()
    assert r"\symslrtrue{" not in (tmp_path / "fragments" / "toy.tex").read_text()


def test_checks_of_another_chain_are_not_borrowed(toy: Derivation, toy_checks: CheckReport) -> None:
    shorter = Derivation(toy.start, name=toy.name).apply(toy.steps[0].rule)
    (section,) = content([shorter], toy_checks).sections
    assert section.verdict.word == "not checked"


def test_two_derivations_of_one_name_are_refused(toy: Derivation) -> None:
    with pytest.raises(ValueError, match="'toy' twice"):
        content([toy, toy])


def test_unknown_source_is_refused_before_anything_is_written(toy: Derivation, tmp_path: Path) -> None:
    with pytest.raises(UnknownReference, match="nobody1999"):
        write_report([replace(toy, sources=("nobody1999",))], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_failing_figure_leaves_no_half_report(toy: Derivation, tmp_path: Path) -> None:
    def fail() -> Table:
        raise RuntimeError("no numbers")

    with pytest.raises(RuntimeError, match="no numbers"):
        write_report([toy], tmp_path, figures=[replace(FIGURE, data=fail)])
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("without_tex")
def test_figure_without_numbers_is_said_in_its_place(toy: Derivation, tmp_path: Path) -> None:
    def refuse() -> Table:
        raise ValueError("no 5 % of digits")

    files = write_report([toy], tmp_path, figures=[replace(FIGURE, data=refuse), replace(FIGURE, name="second")])
    assert "figure parabola: not drawn: no 5 % of digits" in files.notes
    assert all(path.is_file() for path in files.paths)
    assert "could not be drawn: no 5 % of digits" in files.html.read_text()


@pytest.mark.needs("pdflatex")
def test_tex_takes_the_report(toy: Derivation, toy_checks: CheckReport, tmp_path: Path) -> None:
    files = write_report([toy], tmp_path, checks=toy_checks, figures=[FIGURE])
    assert files.notes == ()
    assert files.pdf is not None
    assert files.pdf.read_bytes().startswith(b"%PDF")
    again = compile_pdf(files.tex)
    assert again.warnings == ()
    assert max(again.overfull, default=0.0) < 5.0


@pytest.mark.needs("pdflatex")
def test_one_file_document_compiles_alone(toy: Derivation, tmp_path: Path) -> None:
    write_latex([toy], tmp_path / "alone.tex")
    outcome = compile_pdf(tmp_path / "alone.tex")
    assert outcome.message == ""
    assert outcome.warnings == ()


@pytest.mark.needs("pdflatex")
def test_fragment_goes_into_a_paper(toy: Derivation, toy_checks: CheckReport, tmp_path: Path) -> None:
    write_report([toy], tmp_path, checks=toy_checks)
    paper = r"""\documentclass{article}
\usepackage{amsmath,amssymb,xcolor}
\input{macros}
\begin{document}
\input{fragments/toy}
\begin{thebibliography}{9}\bibitem{duranthon2025} A \bibitem{stein1981} B\end{thebibliography}
\end{document}
"""
    (tmp_path / "paper.tex").write_text(paper)
    outcome = compile_pdf(tmp_path / "paper.tex")
    assert outcome.message == ""
    assert outcome.warnings == ()


@pytest.mark.needs("pdflatex")
def test_failing_tex_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "bad.tex").write_text("\\documentclass{article}\n\\begin{document}\n\\nosuch\n\\end{document}\n")
    outcome = compile_pdf(tmp_path / "bad.tex")
    assert outcome.path is None
    assert re.search(r"bad\.tex:3: Undefined control sequence", outcome.message)
