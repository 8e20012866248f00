"""The list of symslr's own derivations. ``python -m tests.derivations.index`` checks them all and writes it anew.

With ``--names`` it is written without a check: a derivation keeps the verdict that it had. With ``--keep FILE`` verdicts
are kept there, so that a run which was stopped goes on, and those that the same code reached before, such as those of a
report (``.kept.sqlite`` in its folder), are taken from there.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path

from symslr.cache.code import rooms_version

from symslr.cache.results import Cache
from symslr.check import builtin_folder, check
from symslr.check.collect import collect
from symslr.check.report import DerivationCheck
from symslr.library.index import ROOMS, Entry, Index, checked_text, content_of, read_index, with_files
from tests.derivations.made import FILES, made


def made_now(known: Index) -> Index:
    """The list as the files have it now; a derivation keeps the verdict that it had."""
    verdicts = {entry.name: (entry.verdict, entry.seconds) for entry in known.entries}
    entries = (
        Entry(item.name, item.title, file.name, function, *verdicts.get(item.name, ("", 0.0)))
        for file in FILES
        for function, item in made(file)
    )
    return Index(tuple(entries), {file.name: content_of(file) for file in FILES}, known.code, known.text)


def check_on(index: Index, kept: Cache) -> None:
    """Check what has no verdict of this code yet, all files together, and write the list."""
    code, text = with_files(rooms_version(ROOMS), index.files), checked_text(index.files)
    entries = index.entries if index.code == code else tuple(replace(e, verdict="", seconds=0.0) for e in index.entries)
    waiting = {entry.name for entry in entries if not entry.verdict}
    chains = [item for file in FILES if waiting & names_in(entries, file.name) for item in collect(file)]
    report = check(chains, progress=lambda done, name: print(done, name, file=sys.stderr), kept=kept)
    found = {item.name: item for item in report.derivations}
    entries = tuple(_told(e, found[e.name]) if e.name in found else e for e in entries)
    Index(entries, index.files, code, text).write(builtin_folder())


def names_in(entries: tuple[Entry, ...], file: str) -> set[str]:
    """Of the derivations that a file makes."""
    return {entry.name for entry in entries if entry.file == file}


def _told(entry: Entry, item: DerivationCheck) -> Entry:
    return replace(entry, verdict=item.verdict.value, seconds=round(item.seconds, 2))


if __name__ == "__main__":
    parser = ArgumentParser(description="Checks symslr's own derivations and writes the list of them.")
    parser.add_argument("--names", action="store_true", help="write the list without a check")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="verdicts found and kept there")
    asked = parser.parse_args()
    names = made_now(read_index(builtin_folder()))
    names.write(builtin_folder())
    if not asked.names:
        check_on(names, Cache(asked.keep))
