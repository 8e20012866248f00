"""Work in parts, spread over the processors and kept part by part; seeds travel with the jobs, so order changes nothing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

from symslr.kept.content import NoContent, content
from symslr.kept.results import MISSING, Kept, key_of

Job = TypeVar("Job")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]
"""(jobs done, jobs in all)."""

_place: ContextVar[tuple[Kept, str, Progress] | None] = ContextVar("place", default=None)


@contextmanager
def keeping(kept: Kept, name: str, progress: Progress = lambda done, total: None) -> Iterator[None]:
    """Within the block every finished job of ``mapped`` is kept, under the name of the figure that it is for."""
    token = _place.set((kept, name, progress))
    try:
        yield
    finally:
        _place.reset(token)


def mapped(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """``function`` of every job, in the order of ``jobs``, on every processor where processes can be forked.

    Within ``keeping`` a job that was done before by the same code is not done again.
    """
    kept, name, progress = _place.get() or (Kept(), "", lambda done, total: None)
    keys = [kept_key(partial(function, job)) for job in jobs]
    results: dict[int, Result] = {}
    for index, key in enumerate(keys):
        found = MISSING if key is None else kept.get(key)
        if found is not MISSING:
            results[index] = found  # type: ignore[assignment]
    progress(len(results), len(jobs))
    for index, result in _done(function, {i: job for i, job in enumerate(jobs) if i not in results}):
        results[index] = result
        key = keys[index]
        if key is not None:
            kept.put(key, f"part {index} of {name}", result)
        progress(len(results), len(jobs))
    return [results[index] for index in range(len(jobs))]


def processors() -> int:
    """Those that this process may use: fewer than the machine has where it is told so, as by ``taskset``."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kept_key(compute: Callable[[], object]) -> str | None:
    """Under which a result is kept, or None for a function that has no name to find it again by."""
    try:
        return key_of("figure", content(compute))
    except NoContent:
        return None


def _done(function: Callable[[Job], Result], jobs: dict[int, Job]) -> Iterator[tuple[int, Result]]:
    """Each result as soon as it is there, with its job's index."""
    processes = min(processors(), len(jobs))
    if processes <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from ((index, function(job)) for index, job in jobs.items())
        return
    with forked(processes) as pool:
        with uninterrupted():
            pending = {pool.submit(function, job): index for index, job in jobs.items()}
        try:
            while pending:
                finished, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield pending.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def forked(count: int) -> Iterator[Executor]:
    """Forked processes that end with this one, however it ends, and at once where the block is left by an exception."""
    with warnings.catch_warnings():
        # the children neither print nor take the locks of a progress bar's thread
        warnings.simplefilter("ignore", DeprecationWarning)
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(count, mp_context=context, initializer=become_worker) as pool, ending_workers():
            yield pool


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
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_and_exit, args=(parent.sentinel,), daemon=True).start()


def _wait_and_exit(sentinel: int) -> None:
    from multiprocessing.connection import wait as wait_for

    wait_for([sentinel])
    os._exit(1)
