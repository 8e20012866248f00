"""The figures of a folder: every ``figure*`` function of its files."""

from __future__ import annotations

from pathlib import Path

from symslr.check.collect import load_module
from symslr.export.figures import Figure, figures_in
from symslr.library.figures import figure_functions
from symslr.library.folders import builtin_folder, files_of


def standard_figures(folder: Path | None = None) -> list[Figure]:
    """The figures of a folder or a file, symslr's own by default, in the order of its files and of definition; nothing is
    computed yet.

    Raises:
        CollectError: where there is no such folder, or a file of it fails to run.
    """
    files = files_of(folder or builtin_folder("figures"), "figures")
    return [figure for file in files if figure_functions(file) for figure in figures_in(file, load_module(file))]
