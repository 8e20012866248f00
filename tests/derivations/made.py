"""symslr's own chains, made once in a process: every test that reads them reads the same ones.

One process of pytest-xdist runs the tests that tests/conftest.py names for that.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from symslr.algebra.derivation import Derivation
from symslr.check.collect import builtin_folder, members
from symslr.library.folders import files_of

FILES = files_of(builtin_folder())


@cache
def made(file: Path) -> tuple[tuple[str, Derivation], ...]:
    """The derivations of one of ``FILES``, each with the function that makes it."""
    return tuple(members(file))


def chains(file: Path) -> list[Derivation]:
    """The derivations of one of ``FILES``."""
    return [item for _, item in made(file)]


def every_chain() -> list[Derivation]:
    """All of them, in the order of the files."""
    return [item for file in FILES for item in chains(file)]
