"""Kept numbers come back bit by bit, and are stale as soon as the code or the sizes behind them change."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from symslr.cache import code
from symslr.cache.records import fingerprint, made, read_record, record_file, recorded
from symslr.check.collect import load_module

FILE = """
from symslr.model.scalar_law import laplace
SIZE = 3
def table(scale=1):
    return [scale, str(laplace()), SIZE]
def draw():
    return {colour!r}
"""
TABLE = {"x": [0.1, math.inf, -math.inf], "name": ["a", "inf", "é"], "n": [1, 2, 3], "flag": [True, False, None]}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., ModuleType]:
    """A function that writes a file of numbers anew and loads it."""

    def written(old: str = "", new: str = "", name: str = "mine.py", colour: str = "red") -> ModuleType:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(FILE.format(colour=colour).replace(old, new) if old else FILE.format(colour=colour))
        code.code_version.cache_clear()
        code._tree.cache_clear()
        return load_module(file)

    return written


def test_numbers_come_back_bit_by_bit(tmp_path: Path) -> None:
    path = record_file(tmp_path / "f.py", "f")
    table = {**TABLE, "nan": [math.nan, 1e-300, 1 / 3]}
    made("f", "symslr compute f", "mark", "1 to 3", 90.04, table).write(path)
    found = read_record(path)
    assert found is not None
    assert math.isnan(found.table["nan"][0])
    assert {name: list(column) for name, column in found.table.items() if name != "nan"} == TABLE
    assert list(found.table["nan"][1:]) == [1e-300, 1 / 3]
    assert (found.seconds, found.seeds, found.duration) == (90.0, "1 to 3", "2 min")
    assert found.versions["numpy"]
    assert read_record(path.with_name("other.json")) is None


@pytest.mark.parametrize("text", ["", "{}", '{"name": 1}', "[1]"])
def test_what_is_no_record_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"broken\.json: .*expected a record") as problem:
        read_record(path)
    assert "\n" not in str(problem.value)


def test_stale_when_the_code_or_the_sizes_change(write: Callable[..., ModuleType], tmp_path: Path) -> None:
    mark = fingerprint(partial(write().table, 2))
    path = tmp_path / "data" / "f.json"
    made("f", "symslr compute f", mark, "", 1.0, TABLE).write(path)

    def stale(module: ModuleType, scale: int = 2) -> bool:
        found = recorded(path, fingerprint(partial(module.table, scale)))
        assert found is not None
        return found.stale

    assert not stale(write())
    assert stale(write("SIZE = 3", "SIZE = 4"))
    assert stale(write("return [scale", "return [2 * scale"))
    assert stale(write(), 3)
    # a drawing is no number, and neither is the place of the file
    assert not stale(write(colour="blue"))
    assert not stale(write(name="elsewhere/mine.py"))


def test_stale_when_what_the_file_imports_changes(
    write: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file outside any package depends on the modules of symslr that it imports, and not on the store."""
    before = fingerprint(write().table)
    reading = Path.read_bytes

    def changed(part: str) -> str:
        monkeypatch.setattr(Path, "read_bytes", lambda path: reading(path) + b"# " * path.match(part))
        code.code_version.cache_clear()
        try:
            return fingerprint(write().table)
        finally:
            monkeypatch.setattr(Path, "read_bytes", reading)

    assert changed("symslr/model/scalar_law.py") != before
    assert changed("symslr/cache/*.py") == before
    assert changed("symslr/export/page.py") == before
