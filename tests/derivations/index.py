"""The list of symslr's own derivations. ``python -m tests.derivations.index`` checks them all and writes it anew.

A derivation that says what it said keeps its verdict with ``--names``, which checks nothing, and with ``--new``, which checks
the others. With ``--keep FOLDER`` verdicts are kept there, so that a run which was stopped goes on.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from symslr.cache.results import Cache
from symslr.check import builtin_folder, check
from symslr.check.known import statement, told
from symslr.check.report import DerivationCheck
from symslr.library.index import Entry, Index, content_of, read_index
from tests.derivations.made import FILES, every_chain, made


def made_now(known: Index) -> Index:
    """The list as the files have it now; a derivation that says what it said keeps its verdict."""
    verdicts = {entry.statement: entry for entry in known.entries if entry.verdict}
    entries = []
    for file in FILES:
        for function, item in made(file):
            said = statement(item)
            new = Entry(item.name, item.title, file.name, function, statement=said)
            old = verdicts.get(said, new)
            entries.append(replace(new, verdict=old.verdict, version=old.version, check=old.check))
    return Index(tuple(entries), {file.name: content_of(file) for file in FILES})


def checked(index: Index, kept: Cache, *, only_new: bool) -> Index:
    """The list with the verdicts of a check of all its derivations, or of those that have none."""
    known = {i: DerivationCheck(e.name, None, (), ()) for i, e in enumerate(index.entries) if only_new and e.verdict}
    report = check(
        every_chain(), progress=lambda done, name: print(done, name, file=sys.stderr), kept=kept, known=known
    )
    found = {item.name: item for item in report.derivations[: len(index.entries)] if item.parts}
    by = version("symslr")
    entries = (
        replace(e, verdict=str(found[e.name].verdict), version=by, check=told(found[e.name])) if e.name in found else e
        for e in index.entries
    )
    return replace(index, entries=tuple(entries))


if __name__ == "__main__":
    parser = ArgumentParser(description="Checks symslr's own derivations and writes the list of them.")
    parser.add_argument("--names", action="store_true", help="write the list without a check")
    parser.add_argument("--new", action="store_true", help="check those that have no verdict")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="verdicts found and kept there")
    asked = parser.parse_args()
    names = made_now(read_index(builtin_folder()))
    (names if asked.names else checked(names, Cache(asked.keep), only_new=asked.new)).write(builtin_folder())
