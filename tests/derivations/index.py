"""The list of symslr's own derivations. ``python -m tests.derivations.index`` checks them all and writes it anew.

With ``--names`` it is written without a check: a derivation keeps the verdict that it had.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from symslr.check import builtin_folder, check
from symslr.check.collect import collect, entries_of
from symslr.library.folders import files_of
from symslr.library.index import Entry, Index, code_of_symslr, content_of, read_index


def made_now(known: Index) -> Index:
    """The list as the files have it now; a derivation keeps the verdict that it had."""
    files = files_of(builtin_folder())
    verdicts = {entry.name: (entry.verdict, entry.seconds) for entry in known.entries}
    entries = (
        replace(e, verdict=v, seconds=s)
        for f in files
        for e in entries_of(f)
        for v, s in [verdicts.get(e.name, ("", 0.0))]
    )
    return Index(tuple(entries), {file.name: content_of(file) for file in files}, known.code)


def checked(index: Index) -> Index:
    """The list with the verdicts of a check of every derivation."""
    report = check(collect(builtin_folder()), progress=lambda done, name: print(done, name, file=sys.stderr))
    found = {item.name: item for item in report.derivations}

    def told(entry: Entry) -> Entry:
        item = found[entry.name]
        return replace(entry, verdict=item.verdict.value, seconds=round(item.seconds, 2))

    return replace(index, entries=tuple(map(told, index.entries)), code=code_of_symslr())


if __name__ == "__main__":
    names = made_now(read_index(builtin_folder()))
    (names if "--names" in sys.argv[1:] else checked(names)).write(builtin_folder())
