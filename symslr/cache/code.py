"""The version of the code that matters: a hash of the definitions that a computation can reach.

From a function the names that it reads are followed, through every file of its own package: to functions, constants and
classes, to what their decorators, defaults, bases and bodies read, and so on. What is taken into account is never less than
what can run, and mostly more:

* A name counts with every statement of its module that binds it. A name that a function owns is not the module's.
* A class counts whole, with its bases and all its methods. An object whose method is called was made by code that names its
  class, so that the methods of classes nobody names cannot run.
* What runs when a module is loaded counts for every module that the reached ones import, directly or not: calls,
  loops, conditions, assignments to parts of an object; and whatever calls code of the package to be bound or is decorated
  by it, as that may keep it in a list that others read. Of other packages' decorators some are known to keep nothing.
* A module counts whole where it is handed around as an object, where one of its functions reads ``globals()``, ``vars()``,
  ``exec`` or ``eval``, where an attribute of it is asked for that it does not bind, and where it is star-imported.
* Where code imports modules by computed names, every module counts whole that a string of the reached code names.
* Where code asks a class for its subclasses, or a class is told of them, the classes of all loaded modules count.
* Docstrings count where reached code reads them; comments and formatting never do.

What the arguments of a computation are made of is the caller's to add, see ``symslr.cache.content``. Rooms that store
results and hand them on do not count, as they compute none, nor do other packages, whose versions are kept beside.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from symslr.cache.reached import Reached
from symslr.cache.sources import Sources, place

OURS = "symslr"
"""The package whose code counts for files that stand in none."""

LEFT_OUT = (f"{OURS}.cache.", f"{OURS}.parallel.", f"{OURS}.lazily.")
"""The rooms whose code changes no result, and the loader of packages that hand names on: these are followed by name."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """The garbage collector rests: syntax trees hold no cycles, and to look through them is a tenth of what a file costs."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@lru_cache(maxsize=4096)
def code_version(module: str, name: str = "") -> str:
    """SHA-256 over what ``name`` of ``module`` can reach within its own package; without a name, all of the module.

    Of a file outside any package, such as a figure's, what it reaches in symslr and in files beside it counts, and not
    where the file lies.

    Raises:
        ValueError: when there is no such module, or no such name in it.
    """
    path = _source(module)
    if _outside(path):
        return file_version(path, name)
    return _version(module.partition(".")[0], None, module, name)


def file_version(path: Path, name: str = "", package: str = OURS) -> str:
    """``code_version`` of a file outside any package, wherever it lies: what it reaches in ``package`` and beside it."""
    return _version(package, path, path.name, name)


@lru_cache(maxsize=4)
@_uncollected()
def rooms_version(rooms: tuple[str, ...]) -> str:
    """SHA-256 over all modules of some packages of symslr and what they reach; docstrings do not count."""
    with Sources(place()) as source_of:
        reached = Reached(OURS, None, LEFT_OUT, source_of)
        for room in rooms:
            reached.below(f"{OURS}.{room}")
        reached.follow()
        return reached.version(documented=False)


def home(module: str) -> str:
    """The name of a module; of a file outside any package that of the file, wherever it lies and however it was loaded.

    Raises:
        ValueError: when there is no such module.
    """
    path = _source(module)
    return path.name if _outside(path) else module


@_uncollected()
def _version(package: str, file: Path | None, module: str, name: str) -> str:
    with Sources(place()) as source_of:
        reached = Reached(package, file, LEFT_OUT, source_of)
        if name and not reached.binds(module, name):
            raise ValueError(f"module {module}: found no {name!r}; expected a name that it defines")
        reached.ask(module, name)
        reached.follow()
        return reached.version()


def _source(module: str) -> Path:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None or not spec.has_location:
        raise ValueError(f"module {module}: found no source; expected an importable module")
    return Path(spec.origin)


def _outside(path: Path) -> bool:
    return not (path.parent / "__init__.py").is_file()
