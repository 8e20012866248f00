"""The folders that symslr carries, and the files of a folder."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from symslr.parallel.serial import one_at_a_time

MOST_FILES = 1000
"""Python files of the largest folder that is read."""
MOST_SEEN = 50_000
"""Files and folders in it, whatever they are."""
PACKAGE = Path(__file__).parents[1]
BUNDLED = PACKAGE / "_bundled"
"""Where an installed symslr carries the folders that stand beside the package in a checkout."""


class CollectError(ValueError):
    """A folder holds no derivations, or a file of it cannot be read as derivations; one line, with file and line."""


def builtin_folder(kind: str = "derivations") -> Path:
    """The folder that symslr carries: ``derivations``, ``figures`` or ``validation``.

    An installed symslr has it inside the package, a checkout beside it.

    Raises:
        CollectError: when neither exists.
    """
    for place in (BUNDLED / kind, PACKAGE.parent / kind):
        if place.is_dir():
            return place
    raise CollectError(f"{kind}: found no such folder inside or beside {PACKAGE}; name one")


def files_of(path: Path, what: str = "derivations") -> list[Path]:
    """The Python files of a folder and of its subfolders in the order of their names, or the one file.

    Files and folders whose names start with ``_`` or a dot are left alone.

    Nor are virtual environments. A folder that holds much more than this, such as a home folder, is refused and not read
    through: every file would be run.

    Raises:
        CollectError: where there is no such path, no such file in it, or too many.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CollectError(f"{path}: found no such file or folder; expected a folder of {what}")
    found: list[Path] = []
    seen = 0
    for folder, inner, names in os.walk(path):
        files = [] if "pyvenv.cfg" in names else [name for name in names if _is_meant(name)]
        inner[:] = [] if "pyvenv.cfg" in names else filter(_is_meant, inner)
        found += (Path(folder, name) for name in files if name.endswith(".py"))
        seen += len(names) + len(inner)
        if len(found) > MOST_FILES or seen > MOST_SEEN:
            many = f"more than {MOST_FILES} Python files" if len(found) > MOST_FILES else f"more than {MOST_SEEN} files"
            raise CollectError(f"{path}: found {many}; expected a folder of {what} alone")
    if not found:
        raise CollectError(f"no {what} in {path}: expected .py files")
    return sorted(found)


@one_at_a_time  # ast.parse is not safe in threads before Python 3.12
def tree_of(file: Path) -> ast.Module:
    """The syntax tree of a file; nothing of it is run.

    Raises:
        CollectError: where it is no Python, with its line.
    """
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        where = f"{file}:{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else str(file)
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise CollectError(f"{where}: {type(error).__name__}: {said}") from None


def _is_meant(name: str) -> bool:
    return not name.startswith(("_", "."))
