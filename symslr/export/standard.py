"""The figures of the house's own report: every ``figure_*`` function of a module ``figure*.py`` of this room."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from symslr.export.figures import Figure


def standard_figures() -> list[Figure]:
    """The figures in the order of their modules' names and, within a module, of definition; nothing is computed yet."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("figure*.py") if path.stem != "figures")
    found = []
    for module in (import_module(f"symslr.export.{name}") for name in modules):
        made = [value for name, value in vars(module).items() if name.startswith("figure") and callable(value)]
        found += [make() for make in made if make.__module__ == module.__name__]
    return found
