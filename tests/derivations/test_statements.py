"""What each derivation says is what a reader has last looked at: a definition or a result that changes is seen.

``check`` holds the lines of a chain against each other; that all of them say something else than before is seen here.
``python -m tests.derivations.statements`` writes the new text, and its difference is what has to be read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.check import builtin_folder
from symslr.check.graph import graph
from symslr.library.index import read_index
from tests.derivations.index import made_now
from tests.derivations.made import FILES, chains, every_chain
from tests.derivations.statements import kept, statements


def test_every_file_is_kept() -> None:
    assert list(kept()) == [file.name for file in FILES]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_says_what_was_kept(file: Path) -> None:
    assert statements(chains(file)) == kept()[file.name]


def test_the_list_of_derivations_is_current() -> None:
    assert made_now(read_index(builtin_folder())) == read_index(builtin_folder())


def test_every_derivation_starts_at_something_defined() -> None:
    """At a definition, a postulate, a cited result, or a formula in means, integrals and derivatives."""
    assert graph(every_chain()).hanging == ()
