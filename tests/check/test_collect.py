"""Collection: what counts as a derivation, and one line for everything that does not."""

import sys
from pathlib import Path

import pytest

from symslr.check import CollectError, builtin_folder, collect

GOOD = """
from sympy import expand
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Algebra
from symslr.model.symbols import nu

square = Derivation((nu + 1) ** 2).apply(Algebra("expand"))

def derive_cube():
    return Derivation((nu + 1) ** 3, name="the-cube").apply(Algebra("expand"))

def derive_many():
    yield Derivation((nu + 1) ** 4).apply(Algebra("expand"))
    yield Derivation((nu + 1) ** 5).apply(Algebra("expand"))

def helper():
    raise AssertionError("not called")
"""


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_objects_and_functions_are_found_and_named(tmp_path: Path) -> None:
    file = write(tmp_path, "powers.py", GOOD)
    write(tmp_path, "_private.py", "raise RuntimeError")
    assert [d.name for d in collect(tmp_path)] == ["square", "the-cube", "many-1", "many-2"]
    assert [d.name for d in collect([file])] == ["square", "the-cube", "many-1", "many-2"]


def test_no_bytecode_and_no_clash_of_module_names(tmp_path: Path) -> None:
    write(tmp_path / "one", "same.py", GOOD)
    write(tmp_path / "two", "same.py", GOOD.replace("(nu + 1) ** 2", "(nu + 2) ** 2"))
    before = sys.dont_write_bytecode
    first, second = collect(tmp_path / "one")[0], collect(tmp_path / "two")[0]
    assert first.start != second.start
    assert not list(tmp_path.rglob("__pycache__"))
    assert sys.dont_write_bytecode is before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "no derivations in .*: expected .py files that define Derivation objects"),
        ("import nowhere_at_all", r"bad.py:1: ModuleNotFoundError: No module named"),
        ("def f(:", r"bad.py:1: SyntaxError: invalid syntax"),
        (GOOD.replace("(nu + 1) ** 2", "nu"), r"bad.py:7: algebra: found nothing to rewrite in nu"),
        ("def derive_it():\n    return 3", r"bad.py: derive_it returned int; expected a Derivation"),
        ("def derive_it():\n    return [3]", r"bad.py: derive_it returned int; expected a Derivation"),
        ("def derive_it(n):\n    return n", r"bad.py: derive_it takes arguments"),
        (GOOD.replace("the-cube", "square"), "the name 'square' is taken"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, "bad.py", text)
    with pytest.raises(CollectError, match=message) as caught:
        collect(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="found no such file or folder"):
        collect(tmp_path / "nowhere")


def test_the_folder_that_symslr_carries() -> None:
    assert builtin_folder().name == "derivations"
    with pytest.raises(CollectError, match="found no such folder"):
        builtin_folder("nothing")
