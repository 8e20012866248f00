"""The command line."""

from __future__ import annotations

import atexit

from symslr.cli.stopping import stop_at_once, stop_no_more, stopping_in_one_line


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input prints one line on stderr and exits with status 2, as a signal does with its own."""
    with stopping_in_one_line():
        from symslr.cli.application import run

        run(arguments)


def command() -> None:
    """What the shell runs: ``main`` and the end of the process, at which Python gives signals their defaults back."""
    atexit.register(stop_no_more)  # the first that is registered runs last
    try:
        main()
    finally:
        stop_at_once()
