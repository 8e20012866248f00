"""A folder appears whole or stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.export.staging import MANIFEST, staged


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_failure_leaves_the_old_files(tmp_path: Path) -> None:
    with staged(tmp_path) as folder:
        (folder / "a.txt").write_text("old")
    with pytest.raises(RuntimeError), staged(tmp_path) as folder:  # noqa: PT012
        (folder / "a.txt").write_text("half")
        raise RuntimeError
    assert (tmp_path / "a.txt").read_text() == "old"
    assert _names(tmp_path) == {"a.txt", MANIFEST}


def test_old_files_of_a_report_go_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with staged(tmp_path) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "gone.txt").write_text("1")
        (folder / "kept.txt").write_text("1")
    with staged(tmp_path) as folder:
        (folder / "kept.txt").write_text("2")
    assert _names(tmp_path) == {"mine.txt", "kept.txt", MANIFEST}
    assert (tmp_path / "kept.txt").read_text() == "2"


def test_a_manifest_cannot_reach_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("safe")
    out = tmp_path / "out"
    with staged(out) as folder:
        (folder / "a.txt").write_text("1")
    (out / MANIFEST).write_text("../outside.txt\n")
    with staged(out) as folder:
        (folder / "a.txt").write_text("2")
    assert outside.read_text() == "safe"


def test_out_may_not_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="expected a folder"), staged(tmp_path / "file"):
        pass
