"""A budget of processor time: what runs inside ends when it is used up, wherever it is."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

AGAIN = 0.5
"""Seconds after which the end is announced once more, should code inside have caught it."""


SHORTEST = 1e-3
"""Seconds that a budget outside has left at least: a timer set to nothing would be switched off."""

Handler = Callable[[int, FrameType | None], Any] | int | None
"""What ``signal.signal`` takes and gives back."""


_far: list[str] = []
"""What ``reached`` was told last."""


class OutOfTime(Exception):
    """The budget of processor time is used up."""


def reached(what: str) -> None:
    """Note how far a long computation has come, such as "the fit at alpha = 2": the line of ``answered_within`` says it."""
    _far[:] = [what]


@contextmanager
def answered_within(seconds: float, instead: str) -> Iterator[None]:
    """As ``processor_time``, where one line says that the time is used up, how far the work came, and what to ask instead.

    Raises:
        ValueError: that line.
    """
    _far.clear()
    try:
        with processor_time(seconds):
            yield
    except OutOfTime:
        far = f"; it came as far as {_far[0]}" if _far else ""
        raise ValueError(
            f"no answer in {seconds:g} s of processor time{far}; {instead}, or give more time (--seconds {10 * seconds:g})"
        ) from None


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raises ``OutOfTime`` inside once the process has used so many seconds more; budgets may stand inside one another.

    Does nothing off the main thread, and where the system has no timer of processor time (Windows).
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    left_outside, again_outside = signal.getitimer(signal.ITIMER_PROF)
    mine = seconds if left_outside == 0 else min(seconds, left_outside)
    began = time.process_time()
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, mine, AGAIN)
    try:
        yield
    finally:
        _disarmed(before)
        if left_outside:
            left = left_outside - (time.process_time() - began)
            signal.setitimer(signal.ITIMER_PROF, max(left, SHORTEST), again_outside)


def _disarmed(before: Handler) -> None:
    """Stop the timer and put the handler back that stood before, also where the timer fires meanwhile."""
    while True:
        try:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
            return
        except OutOfTime:
            continue
