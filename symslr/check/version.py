"""The version of the code on which a verdict depends."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from symslr.cache.code import rooms_version
from symslr.library.index import Index, checked_text, with_files

ROOMS = ("model", "expression", "referee", "algebra", "theory", "evaluation", "check")
"""The rooms on whose code a verdict depends besides the derivation's own.

They count whole: rules and nodes come with the derivation, and are not named by the code that checks it.
"""


@lru_cache(maxsize=1)
def code_of_rooms() -> str:
    """SHA-256 over what these rooms do. Comments and docstrings do not count: a check reads those of derivations alone."""
    return rooms_version(ROOMS)


def checked_code(files: Mapping[str, str]) -> str:
    """The same with the derivations.

    Args:
        files: the hash of each file of derivations by its name.
    """
    return with_files(code_of_rooms(), files)


def is_of_this_code(index: Index) -> bool:
    """Whether the verdicts of a list are those of the code that runs."""
    return index.text == checked_text(index.files) or index.code == checked_code(index.files)
