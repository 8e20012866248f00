"""Packages that load a module only when one of its names is first used."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

Loader = tuple[Callable[[str], object], Callable[[], list[str]], list[str]]
"""``__getattr__``, ``__dir__`` and ``__all__`` of a package."""


def handed_on(package: str, file: str) -> Loader:
    """What a package that only hands names on defines besides.

    The names are those that its file imports under ``if TYPE_CHECKING``, so that there is one list of them for people, for
    type checkers and for Python; a module of the package may be among them, which ``import *`` leaves out.

    Args:
        package, file: ``__name__`` and ``__file__`` of the package.
    """
    homes = {
        alias.asname or alias.name: (node.module, alias.name)
        for statement in ast.parse(Path(file).read_bytes()).body
        if isinstance(statement, ast.If)
        for node in statement.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes[name]
        found = import_module(module)
        if module != package and hasattr(found, attribute):
            return getattr(found, attribute)
        return import_module(f"{module}.{attribute}")

    public = sorted(name for name, (module, _) in homes.items() if module != package)
    return load, lambda: sorted(homes), public
