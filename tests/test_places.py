"""Where a command is to write: a place that cannot be used is refused before anything is collected or computed."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import pytest

from symslr.cli import main
from symslr.export import places, staging
from symslr.export.places import refuse_unwritable_file, refuse_unwritable_folder
from symslr.study.store import Store


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a text, a folder and a report whose kept results are none; whatever a command collects or runs fails."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("this is neither a folder nor a store of results\n")
    (tmp_path / "folder" / "of_mine").mkdir(parents=True)
    (tmp_path / "folder.tex").mkdir()
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / staging.KEPT).write_text("this is no store of results\n")
    (tmp_path / "study.toml").write_text("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = 2\n")

    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("collected or computed before the place was looked at")

    for module, what in (
        ("symslr.check.collect", "collect"),
        ("symslr.check.collect", "find"),
        ("symslr.validation.validate", "validate"),
        ("symslr.cache.parts", "recomputed"),
        ("symslr.study.document", "read_study"),
    ):
        monkeypatch.setattr(import_module(module), what, too_late)
    monkeypatch.setattr(Store, "rows", too_late)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("report", "--out", "text"),
        ("report", "--out", "text/inside"),
        ("report", "--out", "report"),
        ("derive", "--latex", "--out", "text"),
        ("derive", "nishimori", "--latex", "--out", "text/inside"),
        ("derive", "nishimori", "--latex", "--out", "nowhere/one.tex"),
        ("derive", "nishimori", "--latex", "--out", "folder.tex"),
        ("validate", "--keep", "text"),
        ("validate", "--keep", "folder"),
        ("validate", "--keep", "nowhere/kept"),
        ("compute", "--all", "--keep", "text"),
        ("compute", "--all", "--keep", "folder"),
        ("compute", "figure2", "--keep", "nowhere/kept"),
        ("study", "run", "study.toml", "--store", "folder"),
        ("study", "run", "study.toml", "--store", "nowhere/store.sqlite"),
        ("study", "show", "text", "--csv", "folder"),
        ("study", "show", "text", "--csv", "table.csv", "--parquet", "nowhere/table.parquet"),
        ("study", "show", "text", "--xarray", "text/inside.nc"),
    ],
    ids=" ".join,
)
def test_a_place_is_refused_before_any_work(
    here: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    before = sorted(here.rglob("*"))
    with pytest.raises(SystemExit) as ended:
        main(list(command))
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1), err
    assert command[-1] in err
    assert sorted(here.rglob("*")) == before


def test_places_that_can_be_used_pass(tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    for name in ("text", "new.tex"):
        refuse_unwritable_file(tmp_path / name)
    for name in (".", "new", "new/inside/of/another"):
        refuse_unwritable_folder(tmp_path / name, "--out")


def test_a_place_that_this_user_may_not_write_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        places.os, "access", lambda path, how: how != os.W_OK
    )  # who runs the tests may write everywhere
    with pytest.raises(PermissionError):
        refuse_unwritable_file(tmp_path / "new.tex")
    with pytest.raises(PermissionError):
        refuse_unwritable_folder(tmp_path / "new" / "inside", "--out")


def test_a_damaged_file_beside_the_derivations_is_refused_before_they_are_collected(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "folder" / "one.py").write_text("x = 1\n")
    for name in ("abstract.toml", "published.toml"):
        (here / "folder" / name).write_text("[")
        with pytest.raises(SystemExit) as ended:
            main(["report", "folder", "--out", "new"])
        assert ended.value.code == 2
        assert name in capsys.readouterr().err
        (here / "folder" / name).unlink()
    assert not (here / "new").exists()
