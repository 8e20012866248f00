"""The version of the code changes with what a computation can reach, and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from symslr.cache.code import code_version, file_version
from symslr.library.folders import builtin_folder

FILES = {
    "__init__": "from {p}.inner import deep as deep\nfrom {p}.other import wide as wide\n",
    "inner": "def deep():\n    return 1\n",
    "other": "def wide():\n    return 2\n",
    "sub/__init__": '"""Hands on."""\nfrom {p}.inner import deep as deep\nfrom {p}.other import wide as wide\n',
    "sub/part": "from {p}.sub import deep\n",
    "heavy/__init__": "REGISTER = {{}}\n",
    "heavy/part": "",
    "lazy": "def late():\n    from {p}.inner import deep\n    return deep()\n",
    "hints": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from {p}.inner import deep\n",
    "figure": (
        "from {p}.inner import deep\nfrom {p}.other import wide\n"
        "SIZE = 3\n"
        "def table() -> Table:\n    return rows(deep())\n"
        "def rows(x):\n    return [x] * SIZE\n"
        "def draw():\n    return wide()\n"
    ),
}
numbers = count()

Package = Callable[..., None]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Callable[[str, str], None]]]:
    """A package of a fresh name, and a function that changes one of its files."""
    name = f"pack{next(numbers)}"
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(module: str, text: str) -> None:
        path = tmp_path / name / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(p=name))
        for function in _cached():
            function.cache_clear()

    for module, text in FILES.items():
        write(module, text)
    yield name, write
    for module in [key for key in sys.modules if key.partition(".")[0] == name]:
        del sys.modules[module]
    for function in _cached():
        function.cache_clear()


def _cached() -> list:
    from symslr.cache import code

    return [code.code_version, code._tree]


@pytest.mark.parametrize(
    ("module", "function", "changed", "matters"),
    [
        ("inner", "", "inner", True),
        ("inner", "", "other", False),
        ("lazy", "", "inner", True),
        ("hints", "", "inner", False),
        ("sub.part", "", "inner", True),
        # the package hands two names on: only the one that is asked for counts
        ("sub.part", "", "other", False),
        # a package that does something runs before its modules
        ("heavy.part", "", "heavy/__init__", True),
        ("figure", "table", "inner", True),
        ("figure", "table", "other", False),
        ("figure", "draw", "other", True),
        ("figure", "", "other", True),
    ],
)
def test_only_what_is_reached_matters(
    package: tuple[str, Callable[[str, str], None]], module: str, function: str, changed: str, matters: bool
) -> None:
    name, write = package
    before = code_version(f"{name}.{module}", function)
    write(changed, FILES[changed] + "CHANGED = 1\n")
    assert (code_version(f"{name}.{module}", function) != before) is matters


@pytest.mark.parametrize(
    ("old", "new", "matters"),
    [("SIZE = 3", "SIZE = 4", True), ("return wide()", "return wide() + 1", False), ("[x]", "[x, x]", True)],
)
def test_of_a_functions_own_file_only_what_it_uses_matters(
    package: tuple[str, Callable[[str, str], None]], old: str, new: str, matters: bool
) -> None:
    name, write = package
    before = code_version(f"{name}.figure", "table")
    write("figure", FILES["figure"].replace(old, new))
    assert (code_version(f"{name}.figure", "table") != before) is matters


def test_a_file_outside_counts_its_neighbours_and_the_top_package_hands_on(
    package: tuple[str, Callable[[str, str], None]], tmp_path: Path
) -> None:
    name, write = package
    (tmp_path / "beside.py").write_text("A = 1\n")
    file = tmp_path / "mine.py"
    file.write_text(f"import beside\nfrom {name} import deep\n")
    versions = [file_version(file, name)]
    write("other", FILES["other"] + "B = 1\n")
    assert file_version(file, name) == versions[0]
    write("inner", FILES["inner"] + "B = 1\n")
    versions.append(file_version(file, name))
    (tmp_path / "beside.py").write_text("A = 2\n")
    write("other", FILES["other"])
    versions.append(file_version(file, name))
    assert len(set(versions)) == 3


def test_the_houses_own_chapters_depend_on_few_files() -> None:
    """Figure 3 needs the replica theory, the map of the separation does not."""
    from symslr.cache import code

    reached = {}
    for module, function in (("figure3", "_table"), ("separation", "_success")):
        found: dict[str, bytes] = {}
        path = builtin_folder("figures") / f"{module}.py"
        waiting = code._imports(code._reached(code._tree(path), function))
        while waiting:
            for name, here in code._read(*waiting.pop(), "symslr", path.parent):
                if name not in found:
                    found[name] = b""
                    waiting += code._imports(code._tree(here).body)
        reached[module] = set(found)
    assert any("finite_sample" in name for name in reached["figure3"])
    assert not any("finite_sample" in name for name in reached["separation"])
    assert not any(name in ("symslr.export.page", "symslr.export.figures") for name in set().union(*reached.values()))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="found no source"):
        code_version("symslr.no_such_module")
    with pytest.raises(ValueError, match="found no 'nothing'"):
        code_version("symslr.cache.code", "nothing")
