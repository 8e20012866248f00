"""Ctrl-C and SIGTERM at any moment: one line, and the status that a shell expects."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from symslr.budget import end_never

AGAIN = 5.0
"""Seconds after which the end is announced once more, should code inside have caught it."""

SAID = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(BaseException):
    """A signal asks the process to end."""


_kept: list[object] = []
"""Where what the command computed is kept, while it does."""


@contextmanager
def resumable(place: object) -> Iterator[None]:
    """The line of a signal that ends the command inside says that the same command goes on from what ``place`` keeps.

    With None as the place nothing is said.
    """
    _kept[:] = [] if place is None else [place]
    yield
    _kept.clear()


def _unsaid(problem: object) -> None:
    """A thread or a destructor that fails while the process ends, as of a pool whose workers are gone, has nothing to say."""


@contextmanager
def stopping_in_one_line() -> Iterator[None]:
    """SIGINT and SIGTERM inside end the process with one line on stderr and status 128 + the signal's number.

    Does nothing off the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner, asked = os.getpid(), 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = number if number in SAID else asked
        if os.getpid() != owner:  # a worker that was forked a moment ago
            os._exit(128 + asked)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        threading.excepthook = sys.unraisablehook = _unsaid
        raise Stopped

    numbers = [*SAID, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    before = {number: signal.signal(number, stop) for number in numbers}
    _kept.clear()
    try:
        yield
    except BaseException:  # compiled code may turn what is raised inside of it into another exception
        if not asked:
            raise
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        kept = "".join(
            f"; what was computed is kept in {place}, and the same command goes on from there" for place in _kept
        )
        print(f"symslr: {SAID[signal.Signals(asked)]}{kept}", file=sys.stderr, flush=True)
        raise SystemExit(128 + asked) from None
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        end_never()
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_at_once() -> None:
    """From here on SIGINT and SIGTERM end the process as it is, in one line: for a command that is over and tidies up."""
    for number in SAID:
        signal.signal(number, _end)


def stop_no_more() -> None:
    """From here on SIGINT and SIGTERM do nothing: what is left are moments in which Python runs no handler."""
    for number in SAID:
        signal.signal(number, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, f"symslr: {SAID[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)
