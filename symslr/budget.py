"""A budget of processor time: what runs inside ends when it is used up, wherever it is."""

from __future__ import annotations

import ctypes
import signal
import sys
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

OFTEN = 0.01
"""Seconds between two looks at the clock of another thread, at least; at most ``AGAIN``."""

Handler = Callable[[int, FrameType | None], Any] | int | None
"""What ``signal.signal`` takes and gives back."""


_far = threading.local()
"""What ``reached`` was told last, in every thread."""


class OutOfTime(Exception):
    """The budget of processor time is used up."""


def reached(what: str) -> None:
    """Note how far a long computation has come, such as "the fit at alpha = 2": the line of ``answered_within`` says it."""
    _far.what = what


def used_up(seconds: float, instead: str, far: str = "", asked: str = "no answer") -> str:
    """The line that says that a budget is used up, how far the work came, and what to ask instead."""
    came = f", {far}" if far else ""
    return (
        f"{asked} in {seconds:g} s of processor time{came}; {instead}, or give more time (--seconds {10 * seconds:g})"
    )


@contextmanager
def answered_within(seconds: float, instead: str) -> Iterator[None]:
    """As ``processor_time``, where one line says that the time is used up, how far the work came, and what to ask instead.

    Raises:
        ValueError: that line.
    """
    _far.what = ""
    try:
        with processor_time(seconds):
            yield
    except OutOfTime:
        far = f"it came as far as {_far.what}" if _far.what else ""
        raise ValueError(used_up(seconds, instead, far)) from None


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raises ``OutOfTime`` inside once so many seconds more are used; budgets may stand inside one another.

    On the first thread the time of the whole process counts, on another its own; on a system that times neither (Windows),
    the time that passes. What a library does in one call ends first.
    """
    is_first = threading.current_thread() is threading.main_thread()
    timed = _timed if is_first and hasattr(signal, "setitimer") else _watched
    with _unreported, timed(seconds):
        yield


class _Unreported:
    """Where ``OutOfTime`` meets a destructor, which nothing can leave, Python reports it and goes on; it comes again anyway.

    Inside, that report is left out, whichever thread it comes from; all others are made.
    """

    def __init__(self) -> None:
        self.alone, self.inside, self.before = threading.Lock(), 0, sys.unraisablehook

    def report(self, problem: sys.UnraisableHookArgs) -> None:
        if not issubclass(problem.exc_type, OutOfTime):
            self.before(problem)

    def __enter__(self) -> None:
        with self.alone:
            if not self.inside:
                self.before, sys.unraisablehook = sys.unraisablehook, self.report
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.alone:
            self.inside -= 1
            if not self.inside and sys.unraisablehook == self.report:
                sys.unraisablehook = self.before


_unreported = _Unreported()


@contextmanager
def _timed(seconds: float) -> Iterator[None]:
    """By the signal that the system sends the process."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, AGAIN)  # by itself a timer could fire again before this line ends
        raise OutOfTime

    left_outside, _ = signal.getitimer(signal.ITIMER_PROF)
    mine = seconds if left_outside == 0 else min(seconds, left_outside)
    began = time.process_time()
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, mine)
    try:
        yield
    finally:
        _disarmed(before)
        if left_outside:
            left = left_outside - (time.process_time() - began)
            signal.setitimer(signal.ITIMER_PROF, max(left, SHORTEST))


def _disarmed(before: Handler) -> None:
    """Stop the timer and put the handler back that stood before, also where the timer fires meanwhile."""
    while True:
        try:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
            return
        except OutOfTime:
            continue


@contextmanager
def _watched(seconds: float) -> Iterator[None]:
    """By a thread that looks at this one's clock: signals reach the first thread only."""
    watch = _Watch(threading.get_ident(), seconds)
    try:
        watch.thread.start()
        yield
    finally:
        watch.end()


class _Watch:
    """Raises ``OutOfTime`` in a thread once it has used so many seconds more, and every half second again, until ``end``."""

    def __init__(self, watched: int, seconds: float) -> None:
        self.watched, self.clock = watched, _clock_of(watched)
        self.last, self.is_over = self.clock() + seconds, False
        self.alone = threading.Lock()
        self.thread = threading.Thread(target=self._run, name="budget", daemon=True)

    def _run(self) -> None:
        while True:
            with self.alone:
                if self.is_over:
                    return
                left = self.last - self.clock()
                if left <= 0:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self.watched), ctypes.py_object(OutOfTime)
                    )
                    self.last = self.clock() + AGAIN
            time.sleep(min(max(left, OFTEN), AGAIN))

    def end(self) -> None:
        """From the watched thread: nothing is raised in it any more by this watch, whatever was a moment ago."""
        while True:
            try:
                with self.alone:
                    self.is_over = True
                for _ in range(2):  # what was announced is met where a loop goes round
                    pass
                return
            except OutOfTime:
                continue


def _clock_of(thread: int) -> Callable[[], float]:
    """The processor time of a thread that runs, or the time that passes where the system does not tell it."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)
