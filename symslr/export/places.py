"""Whether a file or a folder can be written, so that a command can refuse its place before it computes anything.

Nothing is written here. What is refused is refused with the error that writing would raise.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path


def refuse_unwritable_file(path: Path) -> None:
    """Return where a file of this path can be written.

    Raises:
        OSError: for a folder, a path whose folder does not exist, or one that this user may not write.
    """
    if path.is_dir():
        raise _refused(errno.EISDIR, path)
    parent = path.absolute().parent
    if not parent.is_dir():
        raise _refused(errno.ENOTDIR if parent.exists() else errno.ENOENT, path)
    if not os.access(path if path.exists() else parent, os.W_OK):
        raise _refused(errno.EACCES, path)


def refuse_unwritable_folder(path: Path, option: str) -> None:
    """Return where a folder of this path exists or can be made, with the folders above it.

    Raises:
        NotADirectoryError: for a file, or a path that leads through one.
        OSError: for a folder that this user may not write.
    """
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{option} {path}: found a file; expected a folder, or a name that is free")
    nearest = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise _refused(errno.ENOTDIR, path)
    if not os.access(nearest, os.W_OK):
        raise _refused(errno.EACCES, path)


def _refused(number: int, path: Path) -> OSError:
    """The error of the operating system, of the class that belongs to its number."""
    return OSError(number, os.strerror(number), str(path))
