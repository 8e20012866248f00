"""Which files of a folder are read, and a folder that is none of derivations."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.library import folders
from symslr.library.folders import CollectError, files_of


def test_files_of_a_folder(tmp_path: Path) -> None:
    for name in (
        "b.py",
        "a.py",
        "_c.py",
        ".d.py",
        "e.txt",
        "in/f.py",
        "_in/g.py",
        ".in/h.py",
        "venv/pyvenv.cfg",
        "venv/i.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [str(file.relative_to(tmp_path)) for file in files_of(tmp_path)] == ["a.py", "b.py", "in/f.py"]


@pytest.mark.parametrize(
    ("limit", "said"),
    [("MOST_FILES", "found more than 2 Python files"), ("MOST_SEEN", "found more than 2 files")],
)
def test_a_folder_that_is_too_large_is_not_read_through(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, said: str
) -> None:
    monkeypatch.setattr(folders, limit, 2)
    (tmp_path / "a.py").touch()
    (tmp_path / "b.py").touch()
    assert len(files_of(tmp_path)) == 2
    (tmp_path / "c.py").touch()
    with pytest.raises(CollectError, match=said):
        files_of(tmp_path)
