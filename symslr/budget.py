"""Limits of processor time: they choose no result, they end what takes too long.

A timer is the process's own and speaks to its first thread; in other threads, and on Windows, nothing is limited.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

LONGEST = 1e7
"""Seconds that may be given, some four months: the timers of some systems take no more."""

leave: Callable[[int], object] = os._exit
"""How a process ends at its limit; where several commands share one process, as in tests, another way is put here."""

_far: list[str] = []


class OutOfTime(Exception):
    """The processor time is used up."""


def reached(what: str) -> None:
    """Note how far a long computation has come, such as "the fit at alpha = 2", for the line of ``end_after``."""
    _far[:] = [f", it came as far as {what}"]


def end_after(seconds: float, instead: str) -> None:
    """The process ends at once, in one line with status 2, when it has used so many seconds, until ``end_never``.

    No exception has to find its way through libraries, and no half of an answer is printed.
    """

    def end(*_: object) -> None:
        more = f"{instead}, or give more time (--seconds {10 * seconds:g})"
        os.write(2, f"symslr: no answer in {seconds:g} s of processor time{''.join(_far)}; {more}\n".encode())
        leave(2)

    _far.clear()
    _begin(seconds, end)


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raises ``OutOfTime`` inside once so many seconds are used, and at its end where code inside has caught it.

    Not in what the garbage collector calls, where Python would print it and go on: half a second later.
    """
    met: list[bool] = []
    collecting: list[bool] = []

    def note(phase: str, _: object) -> None:
        collecting[:] = [True] if phase == "start" else []

    def stop(_: int, frame: FrameType | None) -> None:
        met.append(True)
        called = {getattr(call, "__code__", None) for call in gc.callbacks}
        if not collecting and not any(caller.f_code in called for caller, _ in traceback.walk_stack(frame)):
            raise OutOfTime

    gc.callbacks.insert(0, note)
    _begin(seconds, stop)
    try:
        yield
    finally:
        end_never()
        gc.callbacks.remove(note)
    if met:
        raise OutOfTime


def end_never() -> None:
    """Take the limit away."""
    _begin(0, signal.SIG_IGN)


def _begin(seconds: float, act: Callable[..., None] | int) -> None:
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPROF, act)
        signal.setitimer(signal.ITIMER_PROF, seconds, 0.5)  # and again, should code inside have caught what was raised
