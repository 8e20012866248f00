"""What a long command is doing: bars on a terminal, one line for each thing done elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Stage = Callable[[int, int, str], None]
"""(done, in all, what is being done or was done last)."""


@contextmanager
def stages() -> Iterator[Callable[[str], Stage]]:
    """A function that opens a stage by its name; stdout stays free for what is printed."""
    if not sys.stderr.isatty():
        yield _lines
        return
    count = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*count, TextColumn("{task.fields[what]}"), console=Console(stderr=True), transient=True) as bars:

        def open_stage(name: str) -> Stage:
            task = bars.add_task(name, total=None, what="")

            def show(done: int, total: int, what: str) -> None:
                bars.update(task, completed=done, total=total, what=what)

            return show

        yield open_stage


def _lines(name: str) -> Stage:
    began, last = time.monotonic(), ""

    def show(done: int, total: int, what: str) -> None:
        nonlocal last
        line = f"{name} {done}/{total} {what}"
        if line != last:
            print(f"{line} [{time.monotonic() - began:.0f} s]", file=sys.stderr, flush=True)
            last = line

    return show
