"""Work spread over processes that end with the one that started them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor
from concurrent.futures import wait as wait_for_futures
from contextlib import contextmanager
from enum import Enum
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Job = TypeVar("Job")
Result = TypeVar("Result")
Found = TypeVar("Found")


class Lost(Enum):
    """What comes of a process that ends without a result."""

    STOPPED = "its processor time was used up"
    DIED = "it died"


def processors() -> int:
    """Those that this process may use: fewer than the machine has where it is told so, as by ``taskset``."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def forked(count: int) -> Iterator[Executor]:
    """Forked processes that end with this one, however it ends, and at once where the block is left by an exception."""
    with warnings.catch_warnings():
        # the children neither print nor take the locks of a progress bar's thread
        warnings.simplefilter("ignore", DeprecationWarning)
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(count, mp_context=context, initializer=become_worker) as pool, ending_workers():
            yield pool


def each_done(function: Callable[[Job], Result], jobs: Mapping[Key, Job]) -> Iterator[tuple[Key, Result]]:
    """(key, ``function`` of its job) as soon as it is there, on every processor where processes can be forked."""
    processes = min(processors(), len(jobs))
    if processes <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from ((key, function(job)) for key, job in jobs.items())
        return
    with forked(processes) as pool:
        with uninterrupted():
            pending = {pool.submit(function, job): key for key, job in jobs.items()}
        try:
            while pending:
                finished, _ = wait_for_futures(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield pending.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def each_forked(
    made: Callable[[int], Found], numbers: Iterable[int], jobs: int, seconds: float | None = None
) -> Iterator[tuple[int, Found | Lost]]:
    """(number, ``made(number)``) as they come, each from a forked process of its own, ``jobs`` at a time.

    After so many seconds of processor time the system ends a process, wherever it is. What ``made`` raises is raised here.
    """
    context = multiprocessing.get_context("fork")
    waiting, running = list(numbers), dict[Any, tuple[int, multiprocessing.process.BaseProcess]]()
    with ending_workers():
        while waiting or running:
            while waiting and len(running) < jobs:
                receiver, sender = context.Pipe(duplex=False)
                child = context.Process(target=_report, args=(sender, made, waiting[0], seconds))
                with uninterrupted(), warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)  # as in ``forked``
                    child.start()
                sender.close()
                running[receiver] = waiting.pop(0), child
            ready = wait(list(running))
            for ended in [receiver for receiver in running if receiver in ready]:
                number, process = running.pop(ended)
                try:
                    with ended:
                        found = ended.recv()
                except (EOFError, OSError):  # OSError where it ended while it told
                    process.join()
                    found = Lost.STOPPED if process.exitcode == -signal.SIGPROF else Lost.DIED
                process.join()
                if isinstance(found, Exception):
                    raise found
                yield number, found


def _report(sender: Connection, made: Callable[[int], Found], number: int, seconds: float | None) -> None:
    become_worker()
    if seconds is not None:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        sender.send(made(number))
    except Exception as problem:
        sender.send(problem)


@contextmanager
def ending_workers() -> Iterator[None]:
    """Processes that are started inside are ended where the block is left by an exception."""
    before = multiprocessing.active_children()
    try:
        yield
    except BaseException:
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
        raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Processes that are started inside never see Ctrl-C, which a terminal sends to all: this one ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def become_worker() -> None:
    """Let this process end on SIGTERM, without a word, and when the process that started it is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    keep_freed_memory()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_and_exit, args=(parent.sentinel,), daemon=True).start()


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Names of glibc's ``mallopt``, as in malloc.h."""

MOST_KEPT, LARGEST_KEPT = 2**28, 2**25
"""Bytes: of freed memory that a process keeps; of one array that it takes from there, the most that glibc allows."""


def keep_freed_memory() -> None:
    """Take arrays from memory that this process has had before; nothing happens where the C library is not glibc.

    By default it goes back to the system at once, and every 4 kB of the next array cost a page fault: over five chains 4 to 8 %
    of the processor time of a check, a fifth of it where arrays are large.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, MOST_KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)


def _wait_and_exit(sentinel: int) -> None:
    from multiprocessing.connection import wait as wait_for

    wait_for([sentinel])
    os._exit(1)
