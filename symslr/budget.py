"""A budget of processor time: what runs inside ends when it is used up, wherever it is."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

AGAIN = 0.5
"""Seconds after which the end is announced once more, should code inside have caught it."""


LONGEST = 1e7
"""Seconds that may be given, some four months: the timers of some systems take no more."""

SHORTEST = 1e-3
"""Seconds that a budget outside has left at least: a timer set to nothing would be switched off."""

OFTEN = 0.01
"""Seconds between two looks at the clock of another thread, at least; at most ``AGAIN``."""

_far = threading.local()
"""What ``reached`` was told last, in every thread."""


class OutOfTime(Exception):
    """The budget of processor time is used up."""


def reached(what: str) -> None:
    """Note how far a long computation has come, such as "the fit at alpha = 2": the line of ``answered_within`` says it."""
    _far.what = what


def used_up(seconds: float, instead: str, far: str = "", asked: str = "no answer", used: float | None = None) -> str:
    """The line that says that a budget is used up, or the part ``used`` of it, how far the work came, and what to ask instead."""
    came, other = f", {far}" if far else "", f"{instead}, or " if instead else ""
    spent = seconds if used is None else used
    return f"{asked} in {spent:g} s of processor time{came}; {other}give more time (--seconds {10 * seconds:g})"


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


def processor_time(seconds: float) -> AbstractContextManager[None]:
    """Raises ``OutOfTime`` inside once so many seconds more are used; budgets may stand inside one another.

    On the first thread the time of the whole process counts, on another its own; on a system that times neither (Windows),
    the time that passes. What a library does in one call ends first. Nothing is raised while a budget is set up or taken
    down, and nothing after it. Where code inside has caught it, as a bare ``except`` of a library does, the budget's end raises
    it again: what came of such code, a value or another error, is not to be trusted.
    """
    is_first = threading.current_thread() is threading.main_thread()
    return _Timed(seconds) if is_first and hasattr(signal, "setitimer") else _Watched(seconds)


class _Unreported:
    """Where ``OutOfTime`` meets a destructor, which nothing can leave, Python reports it and goes on; it comes again anyway.

    Inside, that report is left out, whichever thread it comes from; all others are made.
    """

    def __init__(self) -> None:
        self.alone, self.inside, self.before = threading.Lock(), 0, sys.unraisablehook

    def report(self, problem: sys.UnraisableHookArgs) -> None:
        if not issubclass(problem.exc_type, OutOfTime):
            self.before(problem)

    def begin(self) -> None:
        with self.alone:
            if not self.inside:
                self.before, sys.unraisablehook = sys.unraisablehook, self.report
            self.inside += 1

    def end(self) -> None:
        with self.alone:
            self.inside -= 1
            if not self.inside and sys.unraisablehook == self.report:
                sys.unraisablehook = self.before


_unreported = _Unreported()

_HERE, _CONTEXTS = processor_time.__code__.co_filename, contextlib.contextmanager.__code__.co_filename
"""The files by whose code a budget, and a context around one, begins and ends."""


_IMPORT = "<frozen importlib._bootstrap>", "_find_and_load"
"""The file and the function in which a module is imported."""

_STORED = os.path.join("numpy", "lib", "_npyio_impl.py")
"""The end of the path of the file that reads stored arrays."""


def _is_whole_only(frame: FrameType | None) -> bool:
    """Whether a thread is where an exception would leave something half done, which is not begun again.

    A budget that begins or ends would stay half taken down. A library whose import ends in its midst cannot be imported again
    in this process: of SciPy's, one says that its types are registered already. SciPy reads the table behind its Sobol points
    inside compiled functions that nothing can leave: they print what was raised with its traceback, and go on.
    """
    if frame is not None and frame.f_code.co_filename == _CONTEXTS:
        return True
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file == _HERE or (file, code.co_name) == _IMPORT or file.endswith(_STORED):
            return True
        frame = frame.f_back
    return False


class _Timed(AbstractContextManager[None]):
    """By the signal that the system sends the process."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.is_over, self.was_raised = seconds, False, False

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.is_over:
            return
        soon = _is_whole_only(frame)
        signal.setitimer(signal.ITIMER_PROF, SHORTEST if soon else AGAIN)  # once: a timer that repeats could fire here
        if not soon:
            self.was_raised = True
            raise OutOfTime

    def __enter__(self) -> None:
        _unreported.begin()
        self.left_outside, _ = signal.getitimer(signal.ITIMER_PROF)
        self.began = time.process_time()
        self.before = signal.signal(signal.SIGPROF, self._stop)
        signal.setitimer(signal.ITIMER_PROF, min(self.seconds, self.left_outside or self.seconds))

    def __exit__(self, _: object, left_by: BaseException | None, __: object) -> None:
        self.is_over = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        # what was sent and not yet met is dropped here: by default it would end the process
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        signal.signal(signal.SIGPROF, self.before)
        if self.left_outside:
            left = self.left_outside - (time.process_time() - self.began)
            signal.setitimer(signal.ITIMER_PROF, max(left, SHORTEST))
        _unreported.end()
        if self.was_raised:
            _raise_again(left_by)


class _Watched(AbstractContextManager[None]):
    """By a thread that looks at this one's clock: signals reach the first thread only."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.is_over, self.was_raised, self.alone = seconds, False, False, threading.Lock()

    def __enter__(self) -> None:
        _unreported.begin()
        arguments = (weakref.ref(self), threading.get_ident(), self.seconds)
        threading.Thread(target=_watch, args=arguments, name="budget", daemon=True).start()

    def __exit__(self, _: object, left_by: BaseException | None, __: object) -> None:
        with self.alone:
            self.is_over = True
        _unreported.end()
        if self.was_raised:
            _raise_again(left_by)


def _raise_again(left_by: BaseException | None) -> None:
    """``OutOfTime``, where what it was raised in ends without it; an interrupt from outside goes first."""
    if left_by is None or (isinstance(left_by, Exception) and not isinstance(left_by, OutOfTime)):
        raise OutOfTime from left_by


def _watch(budget_of: Callable[[], _Watched | None], watched: int, seconds: float) -> None:
    """Raise ``OutOfTime`` in a thread once it has used so many seconds more, and again, until its budget is over or gone."""
    clock = _clock_of(watched)
    last = clock() + seconds
    while (budget := budget_of()) is not None:
        with budget.alone:
            if budget.is_over:
                return
            left = last - clock()
            if left <= 0 and not _is_whole_only(sys._current_frames().get(watched)):
                budget.was_raised = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(watched), ctypes.py_object(OutOfTime))
                last = clock() + AGAIN
        del budget  # one that was left without its end is gone when nothing else holds it
        time.sleep(min(max(left, OFTEN), AGAIN))


def _clock_of(thread: int) -> Callable[[], float]:
    """The processor time of a thread that runs, or the time that passes where the system does not tell it."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)
