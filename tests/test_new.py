"""``symslr new``: the folder it makes works as symslr's own does, and it never writes over anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symslr.check import check
from symslr.check.collect import collect
from symslr.cli import main


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    assert run("new", folder) == 0
    return folder


def test_the_rule_of_the_example_checks(mine: Path) -> None:
    assert check(collect(mine / "own_rule.py")).as_json()["verdict"] == "true"


def test_a_sign_changed_in_the_rule_is_false_and_both_sides_are_shown(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = mine / "own_rule.py"
    text = file.read_text()
    assert "exp(x) + exp(-x)" in text
    file.write_text(text.replace("exp(x) + exp(-x)", "exp(x) - exp(-x)"))
    capsys.readouterr()
    assert run("check", file) == 1
    out = capsys.readouterr().out
    assert "hyperbolic cosine" in out
    for shown in ("before", "after", "nu ="):
        assert shown in out


def test_every_file_is_a_derivation_that_shows(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("derive", mine, "--json") == 0
    names = {item["name"] for item in json.loads(capsys.readouterr().out)}
    assert names == {"quartic-risk", "quartic-overlap", "cosh-moment", "optimal-attention-wider"}


def test_the_model_file_is_read(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("risk", "--task", mine / "model.toml", "--scale", "1", "--digits", "6", "--json") == 0
    assert 0 < float(json.loads(capsys.readouterr().out)["value"]) < 1


def test_nothing_is_written_over(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.read_bytes() for file in mine.iterdir()}
    assert run("new", mine) == 2
    assert "exists and is not empty" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in mine.iterdir()} == before
    assert run("new", mine / "model.toml") == 2
    assert run("new", mine / "no" / "such") == 2


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    assert run("new", tmp_path / "x") == 0
    (tmp_path / "y").mkdir()
    assert run("new", tmp_path / "y") == 0
    assert sorted(f.name for f in (tmp_path / "x").iterdir()) == sorted(f.name for f in (tmp_path / "y").iterdir())
    assert not list(tmp_path.glob(".symslr-new-*"))
