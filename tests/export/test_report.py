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
from symslr.export.abstract import Abstract, abstract_in
from symslr.export.bibliography import UnknownReference
from symslr.export.content import content
from symslr.export.figures import Figure, Table
from symslr.export.mathml import mathml
from symslr.export.pdf import compile_pdf
from symslr.export.printing import house_latex
from symslr.export.report import ReportFiles, write_latex, write_report
from tests.export.unpacked import unpacked


def _draw(table: Table) -> object:
    drawing, axes = plt.subplots(figsize=(3, 2))
    axes.plot(table["x"], table["y"])
    return drawing


FIGURE = Figure("parabola", "The square $x^2$ & more, 5 %.", lambda: {"x": [1, 2, 3], "y": [1, 4, 9]}, _draw)


@pytest.fixture
def without_tex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)


@pytest.fixture(scope="module")
def compiled(toy: Derivation, toy_checks: CheckReport, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """A report with its PDFs, where TeX is installed."""
    return write_report([toy], tmp_path_factory.mktemp("compiled"), checks=toy_checks, figures=[FIGURE])


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
    assert files.pdf == ()
    assert "no pdflatex" in files.notes[0]
    assert seen == [(i, 5) for i in range(6)]
    assert json.loads(files.checks.read_text())["derivations"][0]["claims"][1]["verdict"] == "differs"
    assert "cameron1944" in (tmp_path / "references.bib").read_text()


@pytest.mark.usefixtures("without_tex")
def test_page_needs_nothing_else_and_says_the_verdicts(
    toy: Derivation, toy_checks: CheckReport, tmp_path: Path
) -> None:
    markup = unpacked(write_report([toy], tmp_path, checks=toy_checks, figures=[FIGURE]).html)
    assert not re.search(r"<link|<script[^>]+src|@import|url\(\s*['\"]?https?:|<img", markup)
    for verdict in ("✓ checked", "? not decided", "✓ equal", "≠ differs"):
        assert verdict in markup
    assert "at nu = 2 the sides are 1 and 2" in markup
    assert "5 % &lt;x_1&gt;" in markup
    ids = re.findall(r'\bid="([^"]+)"', markup)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', markup):
        assert target in ids


@pytest.mark.usefixtures("without_tex")
def test_the_page_names_authors_and_never_a_key(toy: Derivation, toy_checks: CheckReport, tmp_path: Path) -> None:
    markup = unpacked(write_report([toy], tmp_path, checks=toy_checks).html)
    shown = re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]*>", "", markup, flags=re.DOTALL)
    assert "Stein 1981, Lemma 1" in shown
    assert not re.search(r"stein1981|duranthon2025|cameron1944", shown)
    (line,) = re.findall(r"<summary>(Proof in 2 steps.*?)</summary>", markup)
    assert re.sub(r"<[^>]*>", "", line) == (
        "Proof in 2 steps; equal to our reconstruction of Stein 1981, Lemma 1; differs from Duranthon et al. 2026, as summarised"
    )
    assert "<a " not in line  # a line that folds is a button


@pytest.mark.usefixtures("without_tex")
def test_a_heading_may_hold_mathematics(toy: Derivation, tmp_path: Path) -> None:
    files = write_report([replace(toy, chapter=r"At $\nu=2_1$ & more")], tmp_path)
    markup = unpacked(files.html)
    (heading,) = re.findall(r'<h2 id="chapter-[^"]*">(.*?)</h2>', markup)
    assert heading.startswith("At <math")
    assert heading in re.search(r'<ol id="contents">.*?</ol>', markup, re.DOTALL)[0]
    for file in files.tex:
        assert r"\section{\texorpdfstring{At $\nu=2_1$ \& more}{At nu=2\_1 \& more}}" in file.read_text()


@pytest.mark.usefixtures("without_tex")
def test_without_checks_nothing_is_called_checked(toy: Derivation, tmp_path: Path) -> None:
    files = write_report([toy], tmp_path)
    assert json.loads(files.checks.read_text()) == {"checked": False, "validations": []}
    assert "✓" not in unpacked(files.html)
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
    assert "could not be drawn: no 5 % of digits" in unpacked(files.html)


@pytest.mark.needs("pdflatex")
def test_tex_takes_the_report(compiled: ReportFiles) -> None:
    assert compiled.notes == ()
    assert [path.name for path in compiled.pdf] == ["report.pdf", "supplement.pdf"]
    for source, made in zip(compiled.tex, compiled.pdf, strict=True):
        assert made.read_bytes().startswith(b"%PDF")
        again = compile_pdf(source)
        assert again.warnings == ()
        assert max(again.overfull, default=0.0) < 5.0


@pytest.mark.usefixtures("without_tex")
def test_the_abstract_takes_its_formulas_from_the_derivations(toy: Derivation, tmp_path: Path) -> None:
    abstract = Abstract(r"It is about $\nu$.", (("toy", r"The sum, for all $\nu$."),), "parabola")
    files = write_report(
        [toy], tmp_path, figures=[replace(FIGURE, name="first"), FIGURE], abstract=abstract, command="do {}"
    )
    markup, source = unpacked(files.html), files.tex[0].read_text()
    opening = markup[markup.index('<section class="abstract"') : markup.index('id="model"')]
    assert "<strong>Figure 1.</strong>" in opening
    assert opening.count("<figure") == 1
    assert 'id="fig-parabola"' in opening
    assert '<a href="#toy">derivation</a>' in opening
    result = house_latex(toy.result)
    assert result in source[source.index(r"\begin{abstract}") : source.index(r"\end{abstract}")]
    assert '<code class="command">do toy</code>' in markup
    with pytest.raises(ValueError, match="abstract: found no derivation 'nothing'"):
        content([toy], abstract=replace(abstract, formulas=(("nothing", ""),)))


@pytest.mark.usefixtures("without_tex")
def test_the_numbers_of_the_abstract_are_counted(toy: Derivation, toy_checks: CheckReport, tmp_path: Path) -> None:
    abstract = Abstract("It has <steps> steps in $x < y > z$.", words=(("Found", "<checked> of <steps> are checked."),))
    files = write_report([toy], tmp_path, checks=toy_checks, abstract=abstract)
    assert "<dt>Found</dt><dd>1 of 2 are checked.</dd>" in unpacked(files.html)
    assert "It has 2 steps in $x < y > z$." in files.tex[0].read_text()
    with pytest.raises(ValueError, match="abstract: found <stepz>; expected one of derivations, steps"):
        Abstract("<stepz>").filled({"derivations": 1, "steps": 2})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("says = 3", "expected the text says"),
        ("says = 'a'\nmore = 1", "found says, more; expected"),
        ("says = 'a'\n[[formula]]\nresult = 'toy'", "result, a derivation's name, and says"),
        ("says = ", "expected TOML"),
    ],
)
def test_a_bad_abstract_is_refused_in_one_line(tmp_path: Path, text: str, found: str) -> None:
    assert abstract_in(tmp_path) is None
    (tmp_path / "abstract.toml").write_text(text)
    with pytest.raises(ValueError, match=rf"abstract\.toml: .*{found}"):
        abstract_in(tmp_path)


@pytest.mark.usefixtures("without_tex")
def test_a_result_without_a_symbol_is_printed_with_its_left_side(toy: Derivation, tmp_path: Path) -> None:
    bare = toy.named(symbol="", name="bare")
    files = write_report([bare], tmp_path)
    left, right = house_latex(bare.start), house_latex(bare.result)
    (section,) = content([bare]).sections
    assert [line.tex for line in section.equation] == [f"{left} = {right}"]
    theorem = unpacked(files.html).partition('class="theorem"')[2].partition('class="chain"')[0]
    assert mathml(f"{left} = {right}", block=True) in theorem
    (whole,) = content([toy]).sections
    assert [line.tex for line in whole.equation] == [rf"\mathcal{{T}} = {right}"]


@pytest.mark.needs("pdflatex")
def test_one_file_document_compiles_alone(toy: Derivation, tmp_path: Path) -> None:
    write_latex([toy], tmp_path / "alone.tex")
    outcome = compile_pdf(tmp_path / "alone.tex")
    assert outcome.message == ""
    assert outcome.warnings == ()


@pytest.mark.needs("pdflatex")
def test_fragment_goes_into_a_paper(compiled: ReportFiles) -> None:
    paper = r"""\documentclass{article}
\usepackage{amsmath,amssymb,amsthm}\newtheorem{theorem}{Theorem}
\input{macros}
\begin{document}
\input{fragments/toy}
\begin{thebibliography}{9}\bibitem{duranthon2025} A \bibitem{stein1981} B\end{thebibliography}
\end{document}
"""
    (compiled.folder / "paper.tex").write_text(paper)
    outcome = compile_pdf(compiled.folder / "paper.tex")
    assert outcome.message == ""
    assert outcome.warnings == ()


@pytest.mark.needs("pdflatex")
def test_failing_tex_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "bad.tex").write_text("\\documentclass{article}\n\\begin{document}\n\\nosuch\n\\end{document}\n")
    outcome = compile_pdf(tmp_path / "bad.tex")
    assert outcome.path is None
    assert re.search(r"bad\.tex:3: Undefined control sequence", outcome.message)
