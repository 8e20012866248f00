"""The command line."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from symslr.cli.stopping import stop_at_once, stop_no_more, stopping_in_one_line


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input prints one line on stderr and exits with status 2, as a signal does with its own."""
    with stopping_in_one_line():
        from symslr.cli.application import run

        run(arguments)


SYMPY_CACHE = "100000"
"""Results that SymPy keeps of each of its functions, read where it is imported: with its own 1000 they are made again and again.
Making all derivations took 26.4 s of processor time instead of 30.7, checking four of them 23.5 instead of 26.7, for 50 MB."""


OBJECTS_BETWEEN_COLLECTIONS = 400_000
"""Python looks for garbage in circles after 700 new objects, of which loading SymPy alone makes hundreds of thousands: without that
`symslr risk --attention softplus --length 3 --nu 2` takes 0.04 s of processor time less."""


def command() -> None:
    """What the shell runs: ``main`` and the end of the process, at which Python gives signals their defaults back."""
    atexit.register(stop_no_more)  # the first that is registered runs last
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    os.environ.setdefault("SYMPY_CACHE_SIZE", SYMPY_CACHE)
    try:
        if sys.stdout is None:  # else everything that is printed is lost, with status 0
            print("symslr: standard output is closed; expected a place to write to, such as /dev/null", file=sys.stderr)
            raise SystemExit(2)
        main()
    finally:
        gc.freeze()  # else Python looks through all objects once more at its end, which takes 0.15 s of a short command
        stop_at_once()
