"""The list of symslr's own derivations: it says what the files say, and a file that changed is not believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.check.collect import find, listed
from symslr.library.folders import builtin_folder, files_of
from symslr.library.index import NAME, Entry, Index, content_of, read_index

GOOD = """
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Algebra
from symslr.model.symbols import nu

square = Derivation((nu + 1) ** 2, title="A square").apply(Algebra("expand"))

def derive_powers():
    yield Derivation((nu + 1) ** 3, name="cube").apply(Algebra("expand"))
    raise AssertionError("nothing behind the derivation that is asked for runs")

def derive_others():
    raise AssertionError("no other function runs")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, the first of which does not even run, and the list of both."""
    (tmp_path / "a.py").write_text("raise RuntimeError('not asked for')")
    (tmp_path / "b.py").write_text(GOOD)
    entries = (
        Entry("first", "A title", "a.py", verdict="true"),
        Entry("square", "A square", "b.py"),
        Entry("cube", "", "b.py", "derive_powers"),
    )
    Index(entries, {file.name: content_of(file) for file in files_of(tmp_path)}).write(tmp_path)
    return tmp_path


def test_only_what_makes_a_derivation_is_run(folder: Path) -> None:
    cube, square = find("cube", folder), find("square", folder)
    assert cube is not None
    assert cube.name == "cube"
    assert square is not None
    assert square.title == "A square"
    assert [(entry.name, entry.verdict) for entry in listed(folder)] == [
        ("first", "true"),
        ("square", ""),
        ("cube", ""),
    ]


def test_a_file_that_changed_is_read_again(folder: Path) -> None:
    changed = GOOD.replace("A square", "Another title").replace('raise AssertionError("no', 'return []\n    raise ("')
    (folder / "b.py").write_text(changed.replace('    raise AssertionError("nothing', '    return\n    raise ("'))
    assert read_index(folder).of_file(folder / "b.py") is None
    assert [(entry.name, entry.title, entry.function) for entry in listed(folder)] == [
        ("first", "A title", ""),
        ("square", "Another title", ""),
        ("cube", "", "derive_powers"),
    ]
    (folder / "a.py").write_text((folder / "b.py").read_text().replace("cube", "fourth"))
    found = find("fourth", folder)
    assert found is not None
    assert find("nothing", folder) is None


def test_line_ends_do_not_count(folder: Path) -> None:
    (folder / "b.py").write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert read_index(folder).of_file(folder / "b.py") is not None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 3}', '{"entries": [{"no": 1}], "files": {}}'])
def test_a_damaged_list_is_no_list(folder: Path, text: str) -> None:
    (folder / NAME).write_text(text)
    assert read_index(folder) == Index((), {})


def test_every_file_of_symslr_is_in_its_list() -> None:
    index = read_index(builtin_folder())
    assert [file.name for file in files_of(builtin_folder()) if index.of_file(file) is None] == []
