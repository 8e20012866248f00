"""The papers to the letter: what is said to be the same is shown so only where it is borne out."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.check.collect import builtin_folder
from symslr.check.report import CheckReport, DerivationCheck, StepCheck, Verdict
from symslr.export.papers import papers_to_html
from symslr.export.standard import standard_figures
from symslr.validation.papers import Entry, Likeness, Papers, Setting, beside, papers_in, weighed
from symslr.validation.published import Statement, judge, published_in
from symslr.validation.validate import Validation
from symslr.validation.validation import states

GOOD = DerivationCheck("good", None, (StepCheck("limit", Verdict.TRUE),), ())
UNKNOWN = DerivationCheck("unknown", None, (StepCheck("limit", Verdict.UNKNOWN),), ())
CHECKS = CheckReport((GOOD, UNKNOWN))
RUNS = [Validation("numbers", (states("risk one", True, ""), states("limit", False, "")))]


def _entry(*ours: str, verdict: Likeness = Likeness.SAME) -> Entry:
    return Entry("deng2023, Fig. 9", "It is so.", ours, verdict, "Because.")


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        (_entry("good"), Likeness.SAME),
        (_entry("numbers: risk"), Likeness.SAME),
        (_entry("good", "numbers"), Likeness.UNDECIDED),
        (_entry("unknown"), Likeness.UNDECIDED),
        (_entry("drawn"), Likeness.UNDECIDED),
        (_entry("good", "drawn"), Likeness.SAME),
        (_entry("unknown", verdict=Likeness.DIFFERS), Likeness.DIFFERS),
        (_entry(verdict=Likeness.OUT_OF_REACH), Likeness.OUT_OF_REACH),
    ],
)
def test_same_is_kept_only_where_it_is_borne_out(entry: Entry, verdict: Likeness) -> None:
    (found,) = weighed(Papers((entry,)), [], CHECKS, RUNS, ["drawn"])
    assert found.verdict is verdict


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="found no 'none'"):
        weighed(Papers((_entry("none"),)), [], CHECKS, RUNS)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"derivations": ("good",)}, Likeness.SAME),
        ({"derivations": ("good",), "source": "deng2023, Lemma 1, reconstructed"}, Likeness.RECONSTRUCTED),
        ({"against": (("numbers", "risk"),)}, Likeness.DIFFERS),
        ({"derivations": ("unknown",)}, Likeness.UNDECIDED),
        ({"reach": "none"}, Likeness.OUT_OF_REACH),
    ],
)
def test_a_published_statement_is_listed_with_its_standing(fields: dict[str, object], verdict: Likeness) -> None:
    statement = Statement(**{"source": "deng2023, Lemma 1", "says": "It is so.", **fields})  # type: ignore[arg-type]
    (found,) = weighed(Papers(), judge([statement], CHECKS, RUNS), CHECKS, RUNS)
    assert (found.verdict, found.theirs) == (verdict, "It is so.")


def test_settings_are_compared_and_a_difference_has_its_reason() -> None:
    ours = {"one": (("L", "$L=2$"), ("nu", "1 to 2"), ("seed", "3"))}
    theirs = [Setting("one", "deng2023, Fig. 9", "L", "$L=2$"), Setting("one", "deng2023, Fig. 9", "nu", "3", "Wider.")]
    rows = beside(theirs, ours)
    assert [row.equal for row in rows] == [True, False, None]
    with pytest.raises(ValueError, match="found '1 to 2' beside '3'; expected why"):
        beside([Setting("one", "deng2023", "nu", "3")], ours)
    with pytest.raises(ValueError, match="found no such one"):
        beside([Setting("one", "deng2023", "size", "3")], ours)
    with pytest.raises(ValueError, match="found twice"):
        beside([theirs[0], theirs[0]], ours)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[entry]]\nsource = 'a'\ntheirs = 'x'\nverdict = 'true'", "found verdict = 'true'; expected one of same"),
        ("[[entry]]\nsource = 'a'\ntheirs = 'x'\nverdict = 'not decided'\nwhy = 'y'", "expected one of same"),
        ("[[entry]]\nsource = 'a'\ntheirs = 'x'\nverdict = 'differs'", "without a reason; expected why"),
        ("[[entry]]\nsource = 'a'\ntheirs = 'x'\nverdict = 'same'", "nothing of ours; expected names"),
        ("[[entry]]\nsource = 'a'\nverdict = 'differs'\nwhy = 'y'", "found theirs = ''; expected a text"),
        ("[[entry]]\nsource = 'a'\nours = 'b'", "found ours = 'b'; expected a list of names"),
        ("[[setting]]\nfigure = 'a'\nvalue = 2", "found value; expected figure"),
        ("[[settings]]", r"expected \[\[entry\]\] and \[\[setting\]\] tables"),
        ("[[", "expected TOML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "papers.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        papers_in(tmp_path)


def test_all_files_of_a_folder_are_read(tmp_path: Path) -> None:
    for name in ("papers.toml", "papers_more.toml"):
        table = f"[[entry]]\nsource = '{name}'\ntheirs = 'x'\nverdict = 'out of reach'\nwhy = 'y'\n"
        (tmp_path / name).write_text(table)
    assert [entry.source for entry in papers_in(tmp_path).entries] == ["papers.toml", "papers_more.toml"]
    assert papers_in(tmp_path / "papers.toml") == Papers()


def test_the_houses_settings_are_those_of_its_figures_and_no_statement_is_repeated() -> None:
    papers = papers_in(builtin_folder())
    assert beside(papers.settings, {figure.name: figure.settings for figure in standard_figures()})
    said = {item.says for item in published_in(builtin_folder())}
    assert not said & {entry.theirs for entry in papers.entries}


def test_the_page_has_every_entry_and_setting() -> None:
    entries = weighed(Papers((_entry("good"), _entry(verdict=Likeness.OUT_OF_REACH))), [], CHECKS, RUNS)
    rows = beside([Setting("one", "deng2023, Fig. 9", "L", "3", "Wider_x.")], {"one": (("L", "$L=2$"),)})
    markup = papers_to_html(entries, rows)
    for part in ("✓ same", "– out of reach", "<q>good</q>", "<q>one</q>", "Wider_x.", "2 entries: 1 same"):
        assert part in markup
