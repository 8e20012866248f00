"""The way of one number through the files of the toolkit: ``OMP_NUM_THREADS=1 python benchmarks/walk.py``.

Prints, for some commands, the longest chain of calls from the command's own function to the innermost one, by the files it
passes, and every file to which a chain comes back. What is passed once a formula, to plan it and to hold it against its
definition (rules, referee), is left out, as are imports. A search that is given a function calls it back: its file is named.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import symslr
from symslr.cli import main

ROOT = Path(symslr.__file__).parent
SEARCHES = frozenset({"evaluation/fewer.py", "evaluation/quadrature/scan.py"})
"""Files whose functions call a function that they are given: for its window, or for fewer digits."""
NUMBERS = ("cli/numbers.py", "evaluation/")
"""What a number passes; ``cli/__init__.py`` and ``cli/application.py`` only read the command line."""
ONCE = (
    "evaluation/admission/guard.py",
    "evaluation/plan.py",
)
"""What leads to rules and to the referee: once for a formula."""

TABLES = frozenset({"evaluation/routes.py"})
"""What looks a route up in the caller's table and calls it: no station of its own."""

Chain = tuple[str, ...]

COMMANDS = (
    "risk --attention softplus --length 3 --nu 2 --scale 1.3",
    "risk --attention softmax1 --length 3 --nu 2 --scale 1.3 --digits 8",
    "risk --kernel 1+x**4 --length 10 --nu 1/2 --scale 2",
    "risk --task max --attention softplus --length 3 --nu 2 --scale 1.3",
    "risk --task max --kernel 1+x**2 --length 3 --nu 30 --scale 7",
)


def chains(arguments: list[str]) -> set[Chain]:
    """The files on the stack at every call, from the outermost on, of a command that prints nothing here."""
    found: set[Chain] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and _passed(frame):
            found.add(_files(frame))

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.setprofile(profile)
        try:
            main(arguments)
        finally:
            sys.setprofile(None)
    return {chain for chain in found if not any(file.startswith(ONCE) for file in chain)}


def _passed(frame: FrameType) -> str | None:
    """The file of a call, relative to the package; None for one that a number does not pass, and for the import of a module."""
    _, _, file = frame.f_code.co_filename.rpartition(f"{ROOT}/")
    is_station = file.startswith(NUMBERS) and file not in TABLES
    return file if is_station and frame.f_code.co_name != "<module>" else None


def _files(innermost: FrameType) -> Chain:
    files: list[str] = []
    frame: FrameType | None = innermost
    while frame is not None:
        file = _passed(frame)
        if file is not None and files[-1:] != [file]:
            files.append(file)
        frame = frame.f_back
    return tuple(reversed(files))


def turns(chain: Chain) -> Iterator[tuple[str, str]]:
    """(file, the one before it) wherever a chain comes back to a file; not from a search that calls its function."""
    for n, file in enumerate(chain):
        if file in chain[:n] and chain[n - 1] not in SEARCHES:
            yield file, chain[n - 1]


def longest(found: set[Chain], key: Callable[[Chain], Any] = lambda chain: (len(set(chain)), chain)) -> Chain:
    return max(found, key=key)


def _main() -> None:
    for command in COMMANDS:
        found = chains(command.split())
        chain = longest(found)
        print(f"symslr {command}: {len(set(chain))} files")
        print("  " + "\n  ".join(chain))
        for file, before in sorted({turn for one in found for turn in turns(one)}):
            print(f"  comes back to {file} from {before}")


if __name__ == "__main__":
    _main()
