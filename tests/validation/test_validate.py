"""Validation files: found, run, counted; what cannot be run is said in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symslr.cli import main
from symslr.library.folders import files_of
from symslr.validation.validate import validate

FILE = '''"""A toy: {found} beside 1.

More words.
"""
from symslr.validation.validation import NamedComparison

def validate():
    return [NamedComparison("exact", 2.0, 2.0, 0.0), NamedComparison("one", 1.0, {found}, 0.1, "by hand")]
'''
SKIPPED = "def validate():\n    import symslr_needs_this_missing_package\n"
# A chain without a step is nothing that was checked: unknown.
DERIVATION = """
from sympy import Integer
from symslr.algebra.derivation import Derivation

constant = Derivation(Integer(1), title="One")
"""


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_files_in_order_with_title_and_progress(tmp_path: Path) -> None:
    folder = written(tmp_path, b=FILE.format(found=1.05), a=SKIPPED, _helper="1/0")
    seen: list[tuple[int, int, str]] = []
    first, second = validate(files_of(folder, "validations"), lambda *at: seen.append(at))
    assert seen == [(0, 2, "a"), (1, 2, "b"), (2, 2, "done")]
    assert (first.name, first.heading, first.agrees) == ("a", "a", True)
    assert (
        first.summary
        == "skipped, needs symslr_needs_this_missing_package: pip install symslr_needs_this_missing_package"
    )
    assert (second.heading, second.summary) == ("A toy: 1.05 beside 1", "2 of 2 agree")


def test_command_exits_0_where_all_agree_and_1_where_one_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = written(tmp_path / "good", good=FILE.format(found=1.05))
    status, out, _ = run(capsys, "validate", str(good), "--json")
    assert status == 0
    assert [row["agrees"] for row in json.loads(out)[0]["comparisons"]] == [True, True]
    bad = written(tmp_path / "bad", bad=FILE.format(found=1.5))
    status, out, _ = run(capsys, "validate", str(good), str(bad))
    assert status == 1
    assert "DIFFERS  one: theory 1, found 1.5  [by hand]" in out


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no validations in"),
        ({"none": "x = 1\n"}, "found no function validate()"),
        ({"empty": "def validate():\n    return []\n"}, "validate() returned no comparisons"),
        ({"broken": "import math\n1 / 0\n"}, "broken.py:2: ZeroDivisionError"),
    ],
)
def test_what_cannot_run_is_one_line_and_status_2(
    files: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "validate", str(written(tmp_path / "folder", **files)))
    assert (status, out) == (2, "")
    *progress, last = err.strip().splitlines()
    assert said in last
    assert all(line.startswith("validating ") for line in progress)


@pytest.mark.parametrize(("found", "status", "tally"), [(1.05, 0, "2 of 2 agree"), (1.5, 1, "1 of 2 agree")])
def test_report_of_everything_runs_the_validations(
    found: float,
    status: int,
    tally: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders = {
        "derivations": written(tmp_path / "derivations", one=DERIVATION),
        "validation": written(tmp_path / "validation", toy=FILE.format(found=found)),
    }
    monkeypatch.setattr("symslr.cli.derivations.builtin_folder", lambda kind="derivations": folders[kind])
    monkeypatch.setattr("symslr.export.standard_figures", list)
    monkeypatch.setattr("symslr.export.pdf.shutil.which", lambda name: None)  # tests/export has reports in PDF
    ended, out, err = run(capsys, "report", "--allow-unknown", "--out", str(tmp_path / "out"))
    assert ended == status, err
    assert f"validation toy: {tally}\n" in out
    assert json.loads((tmp_path / "out" / "checks.json").read_text())["validations"][0]["name"] == "toy"


def test_report_of_named_folders_leaves_them_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symslr.export.pdf.shutil.which", lambda name: None)
    folder = written(tmp_path / "derivations", one=DERIVATION)
    status, out, err = run(capsys, "report", "--allow-unknown", str(folder), "--out", str(tmp_path / "out"))
    assert status == 0, err
    assert "validation" not in out
