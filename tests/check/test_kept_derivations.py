"""Derivations that are kept: found again where their text is the same, made anew where anything behind it has changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sympy import Add, Mul, Pow

from symslr.cache.results import Cache
from symslr.check import collect
from symslr.model.symbols import nu

CITED = """
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Algebra
from symslr.model.symbols import nu

def derive_square():
    return Derivation((nu + 1) ** 2).apply(Algebra("expand"))
"""

CITING = """
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Algebra
from symslr.check.collect import neighbour

squares = neighbour(__file__, "squares.py")

def derive_twice():
    return Derivation(2 * squares.derive_square().start).apply(Algebra("expand"))
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are run."""
    module = sys.modules["symslr.check.collect"]
    run: list[str] = []
    loaded = module._loaded
    monkeypatch.setattr(module, "_loaded", lambda file: run.append(file.name) or loaded(file))
    monkeypatch.setattr(module, "_known_files", {})
    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "squares.py").write_text(CITED)
    (tmp_path / "d" / "twice.py").write_text(CITING)
    return tmp_path / "d"


def test_only_what_changed_is_made_anew(folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of symslr's own folder, a changed file of which may be cited by each."""
    monkeypatch.setattr(sys.modules["symslr.check.collect"], "builtin_folder", lambda: folder)
    kept = Cache()
    first = collect(folder, kept)
    assert made == ["squares.py", "twice.py"]
    made.clear()
    assert [(d.name, d.result) for d in collect(folder, kept)] == [(d.name, d.result) for d in first]
    assert made == []
    (folder / "squares.py").write_text(CITED.replace("nu + 1", "nu + 5"))
    assert [str(d.start) for d in collect(folder, kept)] == ["(nu + 5)**2", "2*(nu + 5)**2"]


def test_files_of_an_author_are_run(folder: Path, made: list[str]) -> None:
    """They may read what their text does not show."""
    kept = Cache()
    collect(folder, kept)
    made.clear()
    (folder / "squares.py").write_text(CITED.replace("nu + 1", "nu + 5"))
    assert str(collect(folder / "twice.py", kept)[0].start) == "2*(nu + 5)**2"
    assert made


def test_lines_come_back_as_they_are_written(tmp_path: Path) -> None:
    held = [
        Mul(-1, Add(nu, 1), evaluate=False),
        Pow(Pow(nu, 2), 3, evaluate=False),
        Add(nu, Mul(2, Add(nu, 1), evaluate=False), evaluate=False),
    ]
    with Cache(tmp_path / "kept.sqlite") as kept:
        kept.put("key", held)
        found = kept.get("key")
    assert isinstance(found, list)
    assert found == held
    assert [node.args for node in found] == [node.args for node in held]
