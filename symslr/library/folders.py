"""The folders that symslr carries, and the files of a folder."""

from __future__ import annotations

from pathlib import Path

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

    Raises:
        CollectError: where there is no such path, or no such file in it.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CollectError(f"{path}: found no such file or folder; expected a folder of {what}")
    found = sorted(
        file for file in path.rglob("*.py") if not any(p.startswith(("_", ".")) for p in file.relative_to(path).parts)
    )
    if not found:
        raise CollectError(f"no {what} in {path}: expected .py files")
    return found
