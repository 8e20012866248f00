"""What the letters of the theory stand for: real numbers, and none that is said to be no integer or not to be positive."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType

import pytest
from sympy import Basic, Symbol

import symslr.theory
from tests.derivations.statements import odd_symbols

MODULES = [item.name for item in pkgutil.walk_packages(symslr.theory.__path__, "symslr.theory.")]


def expressions(value: object) -> Iterator[Basic]:
    """The expressions in a value of a module, in tuples and tables too."""
    if isinstance(value, Basic):
        yield value
    elif isinstance(value, Mapping):
        yield from (found for pair in value.items() for item in pair for found in expressions(item))
    elif isinstance(value, (tuple, list, frozenset)):
        yield from (found for item in value for found in expressions(item))


def letters(module: ModuleType) -> set[Symbol]:
    """The symbols in what a module defines or uses."""
    return {symbol for value in vars(module).values() for expr in expressions(value) for symbol in expr.atoms(Symbol)}


@pytest.mark.parametrize("name", MODULES)
def test_letters_are_real_numbers(name: str) -> None:
    assert odd_symbols(letters(importlib.import_module(name))) == []


def test_an_odd_letter_is_seen() -> None:
    odd = [Symbol("c"), Symbol("f", integer=False, positive=True), Symbol("m", real=True, positive=False)]
    assert odd_symbols([*odd, Symbol("r", real=True), Symbol("k", integer=True, positive=True)]) == odd
