"""The reference has the module of every name that a room hands out."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PAGES = [page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")]
SHOWN = {name for page in PAGES for name in re.findall(r"^\.\. automodule:: (\S+)", page, re.M)}
TYPED = {name for page in PAGES for name in re.findall(r"^\.\. auto(?:function|class):: symslr\.(\w+)", page, re.M)}
ROOMS = (
    "symslr.theory",
    "symslr.theory.separation",
    "symslr.evaluation",
    "symslr.evaluation.finite_sample",
    "symslr.evaluation.landscape",
    "symslr.evaluation.location",
    "symslr.evaluation.separation",
    "symslr.simulate",
    "symslr.simulate.erm",
    "symslr.check",
    "symslr.export",
)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(room: str) -> None:
    module = import_module(room)
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names}
    homes = {name: getattr(value, "__module__", None) for name, value in values.items() if not ismodule(value)}
    missing = {name: home for name, home in homes.items() if str(home).startswith("symslr.") and home not in SHOWN}
    assert not missing


def test_what_is_typed_is_documented_by_that_name() -> None:
    import symslr

    called = {name for name in symslr.__all__ if callable(getattr(symslr, name))}
    assert called - {"minimal_risk", "minimise"} == TYPED  # of which ``least_risk`` is the name now


def test_every_module_of_the_reference_exists() -> None:
    assert len(SHOWN) > 60
    for name in SHOWN:
        import_module(name)
