"""The names of the figures of a file, read from its text: nothing of the file is run."""

from __future__ import annotations

import ast
from pathlib import Path

from symslr.library.folders import tree_of

PREFIX = "figure"


def figure_functions(file: Path) -> dict[str, str]:
    """{name of the figure: name of the function that makes it}, in the order of the file.

    Every function of the module whose name starts with ``figure`` makes one figure. The figure has the function's name,
    with dashes for underscores.

    Raises:
        CollectError: where the file cannot be read as Python.
    """
    made = [
        node.name for node in tree_of(file).body if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIX)
    ]
    return {name.replace("_", "-"): name for name in made}
