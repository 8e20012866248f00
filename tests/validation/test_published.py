"""A published statement is derived, estimated, differs or open by what was found, never by what was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.check.collect import builtin_folder
from symslr.check.report import CheckReport, DerivationCheck, StepCheck, Verdict
from symslr.export.content import content
from symslr.export.standard import standard_figures
from symslr.library.folders import files_of
from symslr.validation.papers import papers_in
from symslr.validation.published import FILE, Standing, Statement, judge, published_in
from symslr.validation.validate import Validation
from symslr.validation.validation import states
from tests.derivations.made import every_chain

GOOD = DerivationCheck(
    "good", None, (StepCheck("limit", Verdict.TRUE),), (StepCheck("paper2020, Th. 1", Verdict.TRUE),)
)
UNKNOWN = DerivationCheck("unknown", None, (StepCheck("limit", Verdict.UNKNOWN),), ())
OTHER = DerivationCheck(
    "other", None, (StepCheck("limit", Verdict.TRUE),), (StepCheck("paper2020, summary", Verdict.DIFFERS),)
)
CHECKS = CheckReport((GOOD, UNKNOWN, OTHER))
RUNS = [
    Validation("numbers", (states("risk one", True, ""), states("risk two", True, ""), states("limit", False, ""))),
    Validation("absent", (), "needs torch"),
]


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({"derivations": ("good",)}, Standing.DERIVED),
        ({"derivations": ("good",), "validations": (("numbers", "risk"),)}, Standing.DERIVED),
        ({"validations": (("numbers", "risk"),)}, Standing.ESTIMATED),
        ({"derivations": ("good", "unknown")}, Standing.ESTIMATED),
        ({"derivations": ("unknown",)}, Standing.OPEN),
        ({"derivations": ("other",)}, Standing.DIFFERS),
        ({"derivations": ("good",), "validations": (("numbers", "limit"),)}, Standing.DIFFERS),
        ({"validations": (("absent", ""),)}, Standing.OPEN),
        ({"validations": (("never", ""),)}, Standing.OPEN),
        ({"against": (("numbers", "risk"),)}, Standing.DIFFERS),
        ({"against": (("numbers", "limit"),)}, Standing.OPEN),
        ({"derivations": ("good",), "reach": "none"}, Standing.OPEN),
        ({"derivations": ("good",), "reach": "part"}, Standing.ESTIMATED),
        ({}, Standing.OPEN),
    ],
)
def test_standing(fields: dict[str, object], standing: Standing) -> None:
    statement = Statement("paper2020, Th. 1", "It is so.", **fields)  # type: ignore[arg-type]
    (judged,) = judge([statement], CHECKS, RUNS)
    assert judged.standing is standing
    assert len(judged.evidence) == sum(len(fields.get(name, ())) for name in ("derivations", "validations", "against"))  # type: ignore[arg-type]


def test_nothing_is_derived_where_nothing_was_checked() -> None:
    (judged,) = judge([Statement("paper2020", "It is so.", ("good",))], None, [])
    assert judged.standing is Standing.OPEN


def test_names_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="no derivation 'none'; expected one of good, unknown, other"):
        judge([Statement("paper2020", "It.", ("none",))], CHECKS, RUNS)
    with pytest.raises(ValueError, match="numbers compares nothing that begins with 'x'"):
        judge([Statement("paper2020", "It.", (), (("numbers", "x"),))], CHECKS, RUNS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[statement]]\nsays = 'x'", "statement 1: expected the texts source and says"),
        ("[[statement]]\nsource = 'a'\nsays = 'x'\nverdict = 'derived'", "found verdict; expected"),
        ("[[statement]]\nsource = 'a'\nsays = 'x'\nderivations = 'b'", "as lists of names"),
        ("[[statement]]\nsource = 'a'\nsays = 'x'\nreach = 1", "found reach = 1; expected one of whole"),
        ("statement = 3", r"expected \[\[statement\]\] tables"),
        ("claims = []", r"found claims; expected \[\[statement\]\] tables"),
        ("[[", "expected TOML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ValueError, match=message):
        published_in(tmp_path)


def test_a_folder_without_statements_has_none(tmp_path: Path) -> None:
    assert published_in(tmp_path) == []


def test_the_houses_statements_name_what_exists_and_miss_no_claim() -> None:
    statements = published_in(builtin_folder())
    derivations = every_chain()
    said = content(derivations[:1], statements=statements)
    assert {item.standing for item in said.published} == {Standing.OPEN}
    named = {name for item in statements for name in item.derivations}
    assert named <= {item.name for item in derivations}
    claimed = {
        item.name for item in derivations for claim in item.claims if claim.source.startswith(("duranthon", "deng"))
    }
    runs = {path.stem for path in files_of(builtin_folder("validation"), "validations")}
    runs |= {figure.name for figure in standard_figures()}
    assert {name for item in statements for name, _ in (*item.validations, *item.against)} <= runs
    entries = papers_in(builtin_folder()).entries
    beside = {name.partition(": ")[0] for entry in entries for name in entry.ours}
    assert beside <= runs | {item.name for item in derivations}
    assert claimed <= named | beside
