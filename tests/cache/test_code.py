"""The version of the code changes with what a computation can reach, and with nothing else."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from symslr.cache.code import LEFT_OUT, code_version, file_version, rooms_version
from symslr.cache.reached import Reached
from symslr.library.folders import builtin_folder

FILES = {
    "__init__": "from {p}.inner import deep as deep\n",
    "hands/__init__": (
        '"""Hands on."""\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from {p}.inner import deep as deep\n'
        "    from {p}.other import wide as wide\nelse:\n    __getattr__ = {{}}\n"
    ),
    "uses_hands": "from {p}.hands import deep\ndef asked():\n    return deep()\n",
    "inner": (
        '"""Words."""\n'
        "from {p} import bases\n"
        "from {p}.deco import doubled, DEFAULT\n"
        "LEVEL = 3\n"
        "def deep(x=DEFAULT):\n    '''Say.'''\n    return Shape(x).area() + bases.helped(LEVEL)  # so\n"
        "@doubled\ndef decorated():\n    return 1\n"
        "class Shape(bases.Base):\n    def area(self):\n        return measured(self)\n"
        "def measured(shape):\n    return shape.side\n"
        "def unreached():\n    return 5\n"
        "UNREAD = 7\n"
        "def own(unreached):\n    UNREAD = unreached\n    return [unreached for unreached in UNREAD]\n"
        "def mixed():\n    return [unreached for unreached in unreached()]\n"
    ),
    "bases": (
        "class Root:\n    def kept(self):\n        return 0\n"
        "class Base(Root):\n    side = 1\n    def hidden(self):\n        return 2\n"
        "def helped(x):\n    return x\n"
        "def alone():\n    return 3\n"
    ),
    "deco": "DEFAULT = 4\ndef doubled(f):\n    return lambda: 2 * f()\n",
    "other": "def wide():\n    return 2\n",
    "lazy": "def late():\n    from {p}.inner import deep\n    return deep()\n",
    "hints": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from {p}.inner import deep\n"
    "def f(x: deep) -> deep:\n    return 1\n",
    "register": "HELD = []\ndef held(f):\n    HELD.append(f)\n    return f\ndef all_held():\n    return [f() for f in HELD]\n",
    "plugin": "from {p}.register import held\n@held\ndef plugged():\n    return behind()\n"
    "def behind():\n    return 1\ndef aside():\n    return 2\n",
    "uses_plugin": "import {p}.plugin\nfrom {p}.register import all_held\ndef asked():\n    return all_held()\n",
    "filled": "from {p}.register import HELD, held\nfrom {p}.other import wide\nHELD.append(wide)\nMADE = held(wide)\n",
    "limits": "LIMITS = {{}}\ndef asked():\n    return LIMITS\n",
    "sets": "from {p}.limits import LIMITS\nLIMITS['a'] = 1\nif LIMITS:\n    LIMITS['b'] = 5\n",
    "uses_sets": "from {p} import sets\nfrom {p}.limits import asked\n",
    "uses_filled": "from {p} import filled\nfrom {p}.register import all_held\ndef asked():\n    return all_held()\n",
    "by_name": "from {p} import inner\ndef asked(name):\n    return getattr(inner, name)()\n",
    "by_text": "from importlib import import_module\ndef asked():\n    return import_module('{p}.inner').deep()\n",
    "by_globals": "def asked(name):\n    return globals()[name]()\ndef one():\n    return 1\n",
    "starred": "from {p}.inner import *\ndef asked():\n    return unreached()\n",
    "family": "class Parent:\n    pass\ndef asked():\n    return [kind().value for kind in Parent.__subclasses__()]\n",
    "child": "from {p}.family import Parent\nclass Child(Parent):\n    value = 1\n",
    "uses_family": "from {p} import child\nfrom {p}.family import asked\n",
    "reads_words": "from {p}.inner import deep\ndef asked():\n    return deep.__doc__\n",
    "shared": "STATE = 1\ndef asked():\n    return STATE\ndef changes():\n    global STATE\n    STATE = 2\n",
    "scopes": "from typing import TYPE_CHECKING\nCOUNT = 1\ndef helped():\n    return 2\nfound = 3\n"
    "def counted():\n    global COUNT\n    COUNT = COUNT + 1\n    return COUNT\n"
    "def classed():\n    class Inner:\n        helped = 1\n    return helped()\n"
    "def walrus():\n    rest = [[(found := i) for i in (1,)] for _ in (1,)]\n    return found, rest\n"
    "def typed():\n    if TYPE_CHECKING:\n        return helped()\n    return 1\n"
    "def caught():\n    try:\n        return 1\n    except ValueError as found:\n        return found\n",
}
numbers = count()

Package = tuple[str, Callable[[str, str], None]]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """A package of a fresh name, and a function that changes one of its files."""
    name = f"pack{next(numbers)}"
    monkeypatch.syspath_prepend(str(tmp_path))
    for module, text in FILES.items():
        path = tmp_path / name / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(p=name))

    def write(module: str, text: str) -> None:
        (tmp_path / name / f"{module}.py").write_text(text.format(p=name))
        code_version.cache_clear()
        rooms_version.cache_clear()

    yield name, write
    for module in [key for key in sys.modules if key.partition(".")[0] == name]:
        del sys.modules[module]


DEEP = ("inner", "deep")


@pytest.mark.parametrize(
    ("start", "changed", "old", "new", "matters"),
    [
        # what a function reads: itself, constants, functions, classes with their methods, bases and attributes, defaults
        (DEEP, "inner", "return Shape(x).area() +", "return Shape(x).area() -", True),
        (DEEP, "inner", "LEVEL = 3", "LEVEL = 4", True),
        (DEEP, "inner", "return shape.side", "return 2 * shape.side", True),
        (DEEP, "inner", "return measured(self)", "return measured(self) + 1", True),
        (DEEP, "bases", "side = 1", "side = 2", True),
        (DEEP, "bases", "return 2", "return 3", True),
        (DEEP, "bases", "return 0", "return 1", True),
        (DEEP, "bases", "return x", "return -x", True),
        (DEEP, "deco", "DEFAULT = 4", "DEFAULT = 5", True),
        (("inner", "decorated"), "deco", "2 * f()", "3 * f()", True),
        # and nothing else
        (DEEP, "inner", "return 5", "return 6", False),
        (DEEP, "inner", "UNREAD = 7", "UNREAD = 8", False),
        (DEEP, "bases", "return 3", "return 4", False),
        (DEEP, "other", "return 2", "return 3", False),
        (DEEP, "inner", '"""Words."""', '"""Other words."""', False),
        (DEEP, "inner", "'''Say.'''", "'''Say more.'''", False),
        (DEEP, "inner", "# so", "# and so on", False),
        (DEEP, "inner", "Shape(x).area()", "(Shape(\n        x,\n    ).area())", False),
        (("reads_words", "asked"), "inner", "'''Say.'''", "'''Say more.'''", True),
        # a function's own names are not the module's; the first iterable of a comprehension is read outside it
        (("inner", "own"), "inner", "return 5", "return 6", False),
        (("inner", "own"), "inner", "UNREAD = 7", "UNREAD = 8", False),
        (("inner", "mixed"), "inner", "return 5", "return 6", True),
        (("scopes", "counted"), "scopes", "COUNT = 1", "COUNT = 7", True),
        (("scopes", "classed"), "scopes", "return 2", "return 3", True),
        (("scopes", "walrus"), "scopes", "found = 3", "found = 4", False),
        (("scopes", "typed"), "scopes", "return 2", "return 3", False),
        (("scopes", "caught"), "scopes", "found = 3", "found = 4", False),
        # imports within functions, for types, and names that packages hand on
        (("lazy", "late"), "inner", "LEVEL = 3", "LEVEL = 4", True),
        (("hints", "f"), "inner", "LEVEL = 3", "LEVEL = 4", False),
        (("uses_hands", "asked"), "inner", "LEVEL = 3", "LEVEL = 4", True),
        (("uses_hands", "asked"), "other", "return 2", "return 3", False),
        # what runs when modules are loaded: decorators and calls that keep what others read
        (("uses_plugin", "asked"), "plugin", "return 1", "return 3", True),
        (("uses_plugin", "asked"), "plugin", "return 2", "return 3", False),
        (("uses_filled", "asked"), "other", "return 2", "return 3", True),
        (("uses_filled", "asked"), "filled", "HELD.append(wide)", "HELD.insert(0, wide)", True),
        (("uses_filled", "asked"), "filled", "MADE = held(wide)", "MADE = held(held)", True),
        (("uses_sets", "asked"), "sets", "= 1", "= 2", True),
        (("uses_sets", "asked"), "sets", "= 5", "= 6", True),
        # what cannot be decided counts whole
        (("by_name", "asked"), "inner", "return 5", "return 6", True),
        (("by_text", "asked"), "inner", "return 5", "return 6", True),
        (("by_globals", "asked"), "by_globals", "return 1", "return 2", True),
        (("starred", "asked"), "inner", "return 5", "return 6", True),
        (("uses_family", "asked"), "child", "value = 1", "value = 2", True),
        (("shared", "asked"), "shared", "STATE = 1", "STATE = 3", True),
        # a whole module
        (("inner", ""), "inner", "return 5", "return 6", True),
        (("inner", ""), "other", "return 2", "return 3", False),
    ],
)
def test_only_what_is_reached_matters(
    package: Package, start: tuple[str, str], changed: str, old: str, new: str, matters: bool
) -> None:
    name, write = package
    module, function = f"{name}.{start[0]}", start[1]
    before = code_version(module, function)
    assert old in FILES[changed]
    write(changed, FILES[changed].replace(old, new))
    assert (code_version(module, function) != before) is matters


def test_a_file_outside_counts_its_neighbours_and_not_its_place(package: Package, tmp_path: Path) -> None:
    name, write = package
    (tmp_path / "beside.py").write_text("A = 1\nB = 1\n")
    text = (
        f"import beside\nfrom {name}.inner import deep\ndef f():\n    return deep(beside.A)\ndef g():\n    return 1\n"
    )
    file = tmp_path / "mine.py"
    file.write_text(text)

    def version(path: Path = file) -> str:
        return file_version(path, "f", name)

    before = version()
    write("inner", FILES["inner"].replace("UNREAD = 7", "UNREAD = 8"))
    (tmp_path / "beside.py").write_text("A = 1\nB = 2\n")
    file.write_text(text.replace("return 1", "return 2"))
    assert version() == before
    (tmp_path / "beside.py").write_text("A = 2\nB = 2\n")
    assert version() != before
    (tmp_path / "elsewhere").mkdir()
    for path in (file, tmp_path / "beside.py"):
        (tmp_path / "elsewhere" / path.name).write_text(path.read_text())
    assert version(tmp_path / "elsewhere" / "mine.py") == version()
    write("inner", FILES["inner"].replace("LEVEL = 3", "LEVEL = 4"))
    assert version() != before


@pytest.mark.parametrize(
    ("file", "function", "reached", "not_reached"),
    [
        # fits are made by the simulation from the model, and nothing that is compared with them counts
        ("figure3", "_fit", ("simulate", "model"), ("evaluation", "theory", "referee", "algebra", "check")),
        ("figure3", "_theory", ("evaluation", "theory"), ("simulate", "check")),
        ("separation", "_success", ("evaluation",), ("simulate", "check")),
    ],
)
def test_the_houses_own_figures_depend_on_few_rooms(
    file: str, function: str, reached: tuple[str, ...], not_reached: tuple[str, ...]
) -> None:
    path = builtin_folder("figures") / f"{file}.py"
    found = Reached("symslr", path, LEFT_OUT)
    found.ask(path.name, function)
    found.follow()
    rooms = {module.split(".")[1] for module in found.modules if module != path.name}
    assert rooms >= set(reached)
    assert not rooms & set(not_reached)


def test_of_rooms_all_modules_count(monkeypatch: pytest.MonkeyPatch, package: Package) -> None:
    name, write = package
    monkeypatch.setattr("symslr.cache.code.OURS", name)
    before = rooms_version(("inner", "hands"))
    write("inner", FILES["inner"].replace("# so", "# and so").replace("Say.", "Say it."))
    assert rooms_version(("inner", "hands")) == before
    write("inner", FILES["inner"].replace("return 5", "return 6"))
    assert rooms_version(("inner", "hands")) != before


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="found no source"):
        code_version("symslr.no_such_module")
    with pytest.raises(ValueError, match="found no 'nothing'"):
        code_version("symslr.cache.code", "nothing")


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_left_as_found(monkeypatch: pytest.MonkeyPatch, collects: bool) -> None:
    """Also by a refusal; while code is read it rests."""
    seen = []
    read = Reached.follow
    monkeypatch.setattr(Reached, "follow", lambda self: seen.append(gc.isenabled()) or read(self))
    (gc.enable if collects else gc.disable)()
    try:
        code_version.cache_clear()
        code_version("symslr.cache.content")
        with pytest.raises(ValueError, match="expected a name that it defines"):
            code_version("symslr.cache.code", "nothing")
        assert (seen, gc.isenabled()) == ([False], collects)
    finally:
        gc.enable()
