"""The page in a real browser: at desktop and phone width, in light and dark, and as a screen reader meets it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from sympy import Add, Symbol

from symslr.algebra.derivation import Derivation
from symslr.check.report import CheckReport
from symslr.export import pdf
from symslr.export.figures import COLOURS, OTHER_COLOURS, Figure, Table
from symslr.export.html_figure import adaptive
from symslr.export.report import ReportFiles, write_report
from symslr.validation.published import Statement
from symslr.validation.validate import Validation
from symslr.validation.validation import states
from tests.export.browser import Browser, chromium
from tests.export.unpacked import unpacked

WIDTHS = {"phone": 390, "desktop": 1280}
UNFOLDED = "document.querySelectorAll('details.part').forEach(part => { part.open = true; })"


def _draw(table: Table) -> object:
    drawing, axes = plt.subplots(figsize=(6.3, 2))
    axes.plot(table["x"], table["y"], color="#000000")
    return drawing


FIGURE = Figure(
    "parabola",
    "The square $x^2$ & more, 5 %.",
    lambda: {"x": [1, 2, 3], "y": [1, 4, 9]},
    _draw,
    "A curve that rises from 1 to 9.",
    lambda table: [states("it rises", table["y"] == sorted(table["y"]), "at 3 of 3 points")],
    "seed 7",
)
STATEMENT = Statement("stein1981, Lemma 1", r"The square $x^2$ rises.", (), (("parabola", ""),), remark="On the right.")


@pytest.fixture(scope="module")
def report(toy: Derivation, toy_checks: CheckReport, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pdf.shutil, "which", lambda name: None)
        return write_report(
            [toy],
            tmp_path_factory.mktemp("page") / "report",
            checks=toy_checks,
            figures=[FIGURE],
            validations=[Validation("numbers", (states("agreement", True, "a note"),), title="Numbers.")],
            published=[STATEMENT],
        )


@pytest.fixture(scope="module")
def running(tool: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tool("chromium"), tmp_path_factory.mktemp("browser") / "profile") as found:
        yield found


@pytest.fixture
def browser(running: Browser) -> Browser:
    """The browser, with nothing of another test in it."""
    running.ask("Page.navigate", url="about:blank")
    return running


def _luminance(colour: str) -> float:
    """Relative luminance of an rgb(...) colour, as WCAG defines it."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, two: str) -> float:
    low, high = sorted((_luminance(one), _luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.needs("chromium")
def test_widths_and_schemes(browser: Browser, report: ReportFiles) -> None:
    for width in WIDTHS.values():
        for dark in (False, True):
            browser.open(report.html, width, dark=dark)
            assert browser.value("document.documentElement.scrollWidth") <= width
            paper = browser.value("getComputedStyle(document.body).backgroundColor")
            assert (_luminance(paper) < 0.05) is dark
            for what in ("body", ".meta", "a[href]", ".good", ".open"):
                ink = browser.value(f"getComputedStyle(document.querySelector('{what}')).color")
                # WCAG AA for running text
                assert _contrast(ink, paper) >= 4.5, (what, ink, paper)
            browser.value(UNFOLDED)
            browser.value("document.querySelector('figure').scrollIntoView({behavior: 'instant'})")
            browser.settle()
            line = "[...document.querySelectorAll('figure svg path')].find(p => p.style.strokeWidth === '1.5')"
            assert _contrast(browser.value(f"getComputedStyle({line}).stroke"), paper) > 10
            assert browser.value("performance.getEntriesByType('resource').length") == 0


@pytest.mark.needs("chromium")
def test_a_wide_formula_scrolls_in_its_box(
    browser: Browser, toy: Derivation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    wide = Symbol("w" * 12, real=True) ** Add(*(Symbol(f"e_{i}", real=True) for i in range(25)))
    longer = replace(toy, name="wide", start=toy.start + wide)
    files = write_report([toy, longer], tmp_path / "wide")
    browser.open(files.html, WIDTHS["phone"])
    assert browser.value("document.documentElement.scrollWidth") <= WIDTHS["phone"]
    assert browser.value("document.documentElement.scrollHeight") < 3000  # the parts are folded on a phone
    browser.value(UNFOLDED)
    browser.value("document.getElementById('wide').scrollIntoView({behavior: 'instant'})")
    browser.settle()
    wider = "[...document.querySelectorAll('.formula')].filter(box => box.scrollWidth > box.clientWidth)"
    assert browser.value(f"{wider}.length") >= 1
    # reached by the keyboard; formulas that fit are not in the way of the tab key
    assert browser.value(f"{wider}.every(box => box.tabIndex === 0)")
    assert browser.value("document.querySelectorAll('.formula:not([tabindex])').length") >= 1


@pytest.mark.needs("chromium")
def test_a_wide_formula_within_a_sentence_does_not_widen_the_page(browser: Browser, report: ReportFiles) -> None:
    """As the weight of a chain about long contexts on a phone: the page was half as wide again as the screen."""
    browser.open(report.html, WIDTHS["phone"])
    sentence = f"<p>It is <math><mrow><mi>{'w' * 80}</mi></mrow></math>.</p>"
    browser.value(f"document.querySelector('.paper').insertAdjacentHTML('beforeend', {json.dumps(sentence)})")
    assert browser.value("document.querySelector('.paper > p:last-child math').getBoundingClientRect().width") > 390
    assert browser.value("document.documentElement.scrollWidth") <= WIDTHS["phone"]


@pytest.mark.needs("chromium")
def test_what_a_screen_reader_meets(browser: Browser, report: ReportFiles) -> None:
    browser.open(report.html, WIDTHS["desktop"])
    assert browser.value("document.documentElement.lang") == "en"
    browser.value("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
    browser.settle()
    met = browser.accessible()
    roles = {role for role, _ in met}
    assert {"banner", "main", "navigation", "region", "figure", "table", "columnheader", "rowheader"} <= roles
    assert "MathMLMath" in roles or "math" in roles
    assert ("image", "A curve that rises from 1 to 9.") in met
    names = {name for role, name in met if role == "table"}
    assert {"Symbols", "Tasks", "Attentions", "Versions", "Seeds"} <= names
    assert all(names)
    regions = [name for role, name in met if role == "region"]
    assert any(name.startswith("A toy with") for name in regions)
    assert "What was found" in regions
    levels = browser.value("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.needs("chromium")
def test_proofs_fold_and_contents_are_a_drawer_on_a_phone(browser: Browser, report: ReportFiles) -> None:
    opened = "document.querySelectorAll('details.chain[open]').length"
    browser.open(report.html, WIDTHS["phone"])
    assert not browser.value("document.querySelector('nav details').open")
    assert browser.value(opened) == 0
    for expected in (1, 0):
        browser.value("document.getElementById('fold').click()")
        assert browser.value(opened) == expected
    browser.value("document.querySelector('nav details').open = true")
    browser.value("document.querySelector('#contents a').click()")
    assert not browser.value("document.querySelector('nav details').open")
    browser.open(report.html, WIDTHS["desktop"])
    assert browser.value("document.querySelector('nav details').open")
    # beside the text, not over it
    assert browser.value("document.querySelector('nav').getBoundingClientRect().right") <= browser.value(
        "document.querySelector('main').getBoundingClientRect().left"
    )


@pytest.mark.needs("chromium")
def test_a_link_into_what_is_folded_unfolds_it(browser: Browser, report: ReportFiles) -> None:
    browser.open(report.html, WIDTHS["desktop"])
    for target in ("toy", "rule-expand"):
        browser.value(f"location.hash = '{target}'")
        assert browser.value(f"new Promise(done => setTimeout(() => done({SEEN}('{target}')), 300))", wait=True)
    assert browser.value("document.querySelector('details.chain').open")


SEEN = "(id => document.getElementById(id).checkVisibility({contentVisibilityAuto: true}))"


@pytest.mark.needs("chromium")
def test_search_finds_a_result_by_its_words(browser: Browser, report: ReportFiles) -> None:
    browser.open(report.html, WIDTHS["desktop"])

    def search(words: str) -> list[str]:
        browser.value(f"query.value = '{words}'; query.dispatchEvent(new Event('input'))")
        browser.settle()
        return browser.value("[...hits.querySelectorAll('a')].map(link => link.getAttribute('href'))")

    assert search("signs TOY") == ["#toy"]
    assert search("gaussian integral")[0] == "#rule-gaussian-integral"
    assert search("figure 1")[0] == "#fig-parabola"
    assert search("gaussianity")[0] == "#rule-gaussian-integral"  # ends of long words do not count
    # the result, whose chain names the rule, and the rule; no other rule of their section
    assert set(search("expand")) == {"#rule-expand", "#toy"}
    assert browser.value("hits.textContent").count("#") == 0
    assert browser.value("told.textContent").endswith("found")
    assert browser.value("document.getElementById('contents').hidden")
    assert search("nowhere to be found") == []
    assert search("") == []
    assert not browser.value("document.getElementById('contents').hidden")


@pytest.mark.needs("chromium")
def test_pointing_at_a_curve_says_its_value(browser: Browser, report: ReportFiles) -> None:
    browser.open(report.html, WIDTHS["desktop"])
    browser.value("document.querySelector('figure').scrollIntoView({behavior: 'instant'})")
    browser.settle()
    place = "(([line]) => new DOMPoint(line.at[2], line.at[3] + {far}).matrixTransform(svg.getScreenCTM()))"
    curves = "JSON.parse(document.querySelector('figure > script').textContent)"
    for far, said in (("0", "4 at 2"), ("5", "4 at 2"), ("60", None)):
        script = (
            f"(svg => {{ const p = {place.format(far=far)}({curves});"
            " svg.dispatchEvent(new PointerEvent('pointermove', {clientX: p.x, clientY: p.y, bubbles: true})); })"
            "(document.querySelector('figure svg'))"
        )
        browser.value(f"void {script}")
        tip = "(tip => tip.hidden ? null : tip.textContent)(document.querySelector('.tip'))"
        assert browser.value(tip) == said
    # the mark sits on the drawn line, which Matplotlib drew without knowing of it
    line = "[...document.querySelectorAll('figure svg path')].find(p => p.style.strokeWidth === '1.5')"
    drawn = browser.value(f"({line}).getAttribute('d')").split()[4:6]
    at = browser.value(f"{curves}[0].at.slice(2, 4)")
    assert [float(number) for number in drawn] == pytest.approx(at, abs=0.06)


def test_data_behind_a_figure_come_with_the_page(report: ReportFiles) -> None:
    markup = unpacked(report.html)
    data = markup.partition('<a download="parabola.csv.gz" href="data:application/gzip;base64,')[2].partition('"')[0]
    written = (report.folder / "figures" / "parabola.csv").read_bytes()
    assert gzip.decompress(base64.b64decode(data)) == written == b"x,y\n1,1\n2,4\n3,9\n"


def test_published_statements_versions_and_seeds_are_said(report: ReportFiles) -> None:
    page = unpacked(report.html)
    paper = report.tex[0].read_text(encoding="utf-8")
    for markup in (page, paper):
        assert "1 statement: 1 estimated." in markup
        assert "Estimated" in markup
    assert r"{\small \cite[Lemma 1]{stein1981}}" in paper  # its brackets stand in no others
    for word in ("1 of 1 comparisons agree", "python-flint", "mpmath", "seed 7"):
        assert word in page


def test_only_paper_ink_and_faint_colours_of_a_drawing_follow_the_page() -> None:
    svg = '<path style="fill: none; stroke: #000000"/><path style="fill: #D55E00"/><path id="a#000000"/>'
    assert adaptive(svg) == svg.replace("stroke: #000000", "stroke: var(--figure-ink, #000000)")


def test_the_colours_of_curves_are_apart_and_visible_in_the_dark() -> None:
    style = files("symslr.export").joinpath("style.css").read_text(encoding="utf-8")
    dark = style[style.index("prefers-color-scheme: dark") :]

    def shown(colour: str) -> tuple[float, float, float]:
        role = re.fullmatch(r"(?:var\(--(figure-\w+), )?(#\w{6})\)?", adaptive(f": {colour.lower()}")[2:])
        assert role is not None
        found = re.search(rf"--{role[1]}: (#\w{{6}})", dark) if role[1] else role
        assert found is not None
        number = found[1] if role[1] else found[2]
        red, green, blue = (int(number[at : at + 2], 16) for at in (1, 3, 5))
        return red, green, blue

    for palette in (COLOURS.values(), OTHER_COLOURS):
        curves = [shown(colour) for colour in palette]
        for red, green, blue in curves:
            assert _contrast(f"rgb({red}, {green}, {blue})", "rgb(21, 23, 26)") > 3  # WCAG 1.4.11, of graphics
        for one, other in combinations(curves, 2):
            assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 40
