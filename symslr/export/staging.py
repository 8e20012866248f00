"""Reports are written whole or not at all: into a hidden folder beside their place, and then moved there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from symslr.cache.results import Cache
from symslr.export.places import refuse_unwritable_folder

MANIFEST = ".symslr-report"
"""Lists what a report wrote, so that the next one removes what it no longer makes, and nothing else."""

KEPT = ".kept"
"""A folder that holds what a report computed, so that the next one, or the same one after an interruption, does not do it again."""


def refuse_unusable(out: Path) -> None:
    """Return where a report can be written into a folder of this path; makes nothing.

    Raises:
        OSError: when ``out`` is a file, or a folder that cannot be made or written.
        ValueError: when nothing can be kept in its folder of results.
    """
    refuse_unwritable_folder(out, "--out")
    if (out / KEPT).exists():
        with Cache(out / KEPT):
            pass


def kept_in(out: Path) -> Cache:
    """The results that are kept in a report's folder, which is made where there is none.

    Raises:
        NotADirectoryError: when ``out`` is a file.
    """
    _folder(out)
    return Cache(out / KEPT)


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A folder to write into; its files replace those of ``out`` one by one when the block ends without an exception.

    Files of ``out`` that no earlier report wrote are left alone.

    Raises:
        NotADirectoryError: when ``out`` is a file.
    """
    _folder(out)
    # Inside out, so that the moves stay within one file system.
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=out))
    try:
        yield partial
        _publish(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _folder(out: Path) -> None:
    refuse_unwritable_folder(out, "--out")
    out.mkdir(parents=True, exist_ok=True)


def _publish(partial: Path, out: Path) -> None:
    names = sorted(path.relative_to(partial).as_posix() for path in partial.rglob("*") if path.is_file())
    manifest = out / MANIFEST
    before = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(partial / name, out / name)
    for name in set(before) - set(names):
        old = out / name
        if old.resolve().is_relative_to(out.resolve()):
            old.unlink(missing_ok=True)
    (partial / MANIFEST).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    os.replace(partial / MANIFEST, manifest)
