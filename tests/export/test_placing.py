"""What stands in the paper and what in the supplement: nothing is lost, and links arrive."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from symslr.algebra.derivation import Derivation
from symslr.check.report import CheckReport
from symslr.export import tex
from symslr.export.breaking import Line
from symslr.export.content import Content, Section, content
from symslr.export.definitions import definitions
from symslr.export.figures import Drawn, Figure
from symslr.export.placing import (
    FOUNDATION,
    ROW_LINES,
    THEOREM_LINES,
    Chapter,
    Theorem,
    chapters,
    numbers,
    paper_figures,
)
from symslr.export.printing import house_latex
from symslr.export.tex_results import chapter
from symslr.export.tex_supplement import supplement
from symslr.validation.published import Evidence, Judged, Standing, Statement

LINE = Line(0, "x")


@pytest.fixture
def toys(toy: Derivation, toy_checks: CheckReport) -> Content:
    """The toy alone."""
    return content([toy], toy_checks)


def made(toys: Content, name: str, lines: int = 1, *, bases: tuple[str, ...] = (), **fields: object) -> Section:
    """A result of so many lines that uses others and claims nothing, unless ``fields`` say otherwise."""
    (section,) = toys.sections
    steps = [replace(section.steps[0], cites="", rule=replace(section.steps[0].rule, anchor=f"rule-of-{name}"))]
    steps += [replace(steps[0], cites=base) for base in bases]
    new = {"name": name, "title": name, "steps": tuple(steps), "equation": (LINE,) * lines, "claims": (), **fields}
    return replace(section, **new)


def placed(toys: Content, *sections: Section) -> dict[str, str]:
    """Where each result of one chapter is."""
    (chapter,) = chapters(replace(toys, sections=sections))
    found = {section.name: "named" for section in chapter.named}
    for item in chapter.results:
        found[item.section.name] = "theorem"
        found.update({other.name: "like" for other in item.like})
    assert sum(1 + len(item.like) for item in chapter.results) + len(chapter.named) == len(sections)
    return found


def test_what_is_published_is_a_theorem_and_the_rest_names(toys: Content) -> None:
    claims = toys.sections[0].claims
    steps = made(toys, "held").steps
    found = placed(
        toys,
        made(toys, "held", claims=claims),
        made(toys, "alike", claims=claims, steps=steps),
        made(toys, "long", THEOREM_LINES + 1, claims=claims),
        made(toys, "wide-alike", ROW_LINES + 1, claims=claims, steps=steps),
        made(toys, "end", bases=("passed",)),
        made(toys, "long-end", ROW_LINES + 1),
        made(toys, "passed"),
        made(toys, "own", claims=(replace(claims[0], label="own"),)),
    )
    assert found == {
        "held": "theorem",
        "alike": "like",
        "long": "named",
        "wide-alike": "named",
        "end": "named",
        "long-end": "named",
        "passed": "named",
        "own": "named",
    }


def test_what_many_rest_on_stands_out(toys: Content) -> None:
    ends = [made(toys, f"end-{i}", bases=("base",)) for i in range(FOUNDATION)]
    assert placed(toys, made(toys, "base"), *ends)["base"] == "theorem"
    assert placed(toys, made(toys, "base"), *ends[1:])["base"] == "named"


def test_without_sources_what_is_held_against_a_formula_stands_out_and_else_every_end(toys: Content) -> None:
    own = made(toys, "own", claims=(replace(toys.sections[0].claims[0], label="own"),))
    assert placed(toys, made(toys, "end", bases=("base",)), own, made(toys, "base")) == {
        "end": "named",
        "own": "theorem",
        "base": "named",
    }
    assert placed(toys, made(toys, "end", bases=("base",)), made(toys, "base")) == {"end": "theorem", "base": "named"}


def test_evidence_and_the_abstract_make_theorems(toys: Content) -> None:
    says = Judged(Statement("stein1981", "x"), Standing.DERIVED, (Evidence("derivation", "second", True, ""),))
    one, two = made(toys, "first"), made(toys, "second")
    known = replace(toys, published=(says,))
    assert placed(known, one, two) == {"first": "named", "second": "theorem"}


def drawing(name: str, chapter: str = "") -> Drawn:
    return Drawn(Figure(name, name, dict, dict, chapter=chapter), svg='<svg viewBox="0 0 400 200">')


def test_a_figure_is_in_the_paper_where_it_is_the_first_to_speak_of_something(toys: Content) -> None:
    statements = tuple(
        Judged(Statement("stein1981", "x"), Standing.ESTIMATED, tuple(Evidence("figure", n, True, "") for n in names))
        for names in (("one: rows", "two"), ("two",), ("three", "two"), ())
    )
    drawn = [*map(drawing, ("one", "two", "three", "silent")), drawing("beside", toys.chapters[0][0])]

    def shown(known: Content) -> list[str]:
        return [item.figure.name for item in paper_figures(known, drawn)]

    assert shown(replace(toys, published=statements)) == ["beside", "one", "two"]
    assert shown(toys) == ["beside", "one", "two", "three", "silent"]


def test_a_statement_cites_its_figures_where_they_stand(toys: Content) -> None:
    evidence = tuple(Evidence("figure", name, True, "") for name in ("one: rows", "two"))
    known = replace(toys, published=(Judged(Statement("stein1981", "x"), Standing.ESTIMATED, evidence),))
    drawn = [drawing("one"), drawing("two")]
    assert r"Figures~\ref{fig:one}, \href{supplement.pdf\#fig:two}{S1}." in tex.document(
        known, definitions(), drawn, "T"
    )
    assert r"\label{fig:two}" in supplement(known, drawn, "T")


def test_nothing_is_lost_and_every_link_has_its_place(toys: Content) -> None:
    sections = [made(toys, f"result-{i}", lines) for i, lines in enumerate((1, ROW_LINES + 1, THEOREM_LINES + 9))]
    known = replace(toys, sections=(*toys.sections, *sections))
    drawn = [drawing("one"), drawing("two")]
    paper, behind = tex.document(known, definitions(), drawn, "T"), supplement(known, drawn, "T")
    for section in known.sections:
        assert rf"\symslrsee{{{section.name}}}{{{numbers(known)[section.name]}}}" in paper
    places = {f"symslr:{name}" for name in re.findall(r"\\symslrsection\{.*\}\{([^{}]+)\}\{.*\}", behind)}
    places |= set(re.findall(r"\\label\{(symslr:[^{}#]+)\}", behind))
    seen = {f"symslr:{name}" for name in re.findall(r"\\symslrsee\{([^{}#]+)\}", paper)}
    assert seen <= places
    for name in ("one", "two"):
        assert (f"figures/{name}}}" in paper) is not (f"figures/{name}}}" in behind)


def test_the_supplement_prints_every_step_whole(toys: Content) -> None:
    marked = tuple(Line(0, rf"\text{{line {i}}}") for i in range(40))
    section = made(toys, "long", bases=("a", "b"))
    first, *others = section.steps
    known = replace(toys, sections=(replace(section, steps=(replace(first, lines=marked), *others)),))
    behind = supplement(known, (), "T")
    assert all(behind.count(line.tex) == 1 for line in marked)


def test_a_last_step_has_the_symbol_or_a_sign(toy: Derivation) -> None:
    bare = toy.named(symbol="", name="bare")
    with_symbol, without = (
        supplement(content([item]), (), "T").partition(r"\subsection")[2].partition(r"\section{Rules")[0]
        for item in (toy, bare)
    )
    right = house_latex(toy.result)
    assert r"\mathcal{T} &= " in with_symbol
    for said in (with_symbol, without):
        assert f"&= {right}" in said


@pytest.mark.needs("pdflatex")
def test_the_links_of_the_paper_arrive_at_its_numbers_in_the_supplement(
    toys: Content, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    sections = tuple(replace(toys.sections[0], name=f"toy-{i}", chapter=f"Chapter {i // 2}") for i in range(4))
    known = replace(toys, sections=sections)
    (tmp_path / "supplement.tex").write_text(supplement(known, (), "T"))
    readable = r"\pdfcompresslevel=0\pdfobjcompresslevel=0\input{supplement}"
    command = [tool("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "-jobname=supplement", readable]
    for _ in range(3):
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=300)
    labels = re.findall(r"\\newlabel\{symslr:(toy-\d)\}\{\{([^{}]+)\}", (tmp_path / "supplement.aux").read_text())
    assert dict(labels) == numbers(known)
    named = set(re.findall(rb"\(symslr:(toy-\d)\)", (tmp_path / "supplement.pdf").read_bytes()))
    assert named == {name.encode() for name in numbers(known)}
    assert numbers(known)["toy-2"] == "S3.1"


def test_a_result_that_is_proved_alike_prints_its_hypotheses_unless_they_are_the_same(toys: Content) -> None:
    """Regression: S18.8 was printed for every lambda > 0; from 1 to 4 it is true, which stood with another result above."""
    first = made(toys, "first", hypotheses=("$b > 0$", "$c > 1$"))
    fewer, same = replace(first, name="fewer", hypotheses=("$c > 1$",)), replace(first, name="same")
    item = Chapter("", (Theorem(first, (fewer, same)),), ())
    tex = "\n".join(chapter(item, dict.fromkeys(("first", "fewer", "same"), "S1"), definitions()))
    rows = {name: tex.split(rf"\symslrrow{{{name}}}")[1].split("\n")[0] for name in ("fewer", "same")}
    assert "For $c > 1$." in rows["fewer"]
    assert "For" not in rows["same"]
