"""Long computations in parts: spread over the processors, kept part by part, with a seed for each part."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar

from symslr.cache.content import NoContent, content
from symslr.cache.records import plain
from symslr.cache.results import MISSING, Cache, key_of
from symslr.parallel.processes import forked, processors, uninterrupted

Job = TypeVar("Job")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]
"""(jobs done, jobs in all)."""


class Beside(Protocol):
    """Results of earlier runs, and what becomes of new ones; see ``symslr.cache.beside``."""

    def results(self, function: Callable[[Job], object], jobs: Sequence[Job]) -> list[object]:
        """Of every job."""


_place: ContextVar[tuple[Cache, str, Progress] | None] = ContextVar("place", default=None)
_beside: ContextVar[Beside | None] = ContextVar("beside", default=None)


@contextmanager
def keeping(
    kept: Cache, name: str, progress: Progress = lambda done, total: None, beside: Beside | None = None
) -> Iterator[None]:
    """Within the block every finished job of ``mapped`` is kept, under the name of the figure that it is for.

    ``beside`` has the results of ``computed_once``.
    """
    token, other = _place.set((kept, name, progress)), _beside.set(beside)
    try:
        yield
    finally:
        _place.reset(token)
        _beside.reset(other)


def computed_once(function: Callable[[Job], object], jobs: Sequence[Job]) -> list[Any]:
    """``mapped`` for what takes minutes: `symslr compute` keeps the results in a file beside the code, reports read them.

    A figure or validation asks for these parts first, and computes what is quick from them. The results are what JSON can
    hold: texts, truth values, numbers, and lists and mappings of them; tuples come back as lists.

    Args:
        function: a function of a module, or ``partial`` of one; its name is the part's. What it returns depends on its
            arguments and on the code that it reaches alone.
        jobs: plain values, SymPy expressions, dataclasses and containers of these.
    """
    beside = _beside.get()
    if beside is None:
        return [plain(result) for result in mapped(function, jobs)]
    return beside.results(function, jobs)


def mapped(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """``function`` of every job, in the order of ``jobs``, on every processor where processes can be forked.

    Within ``keeping`` a job that was done before by the same code is not done again.
    """
    kept, name, progress = _place.get() or (Cache(), "", lambda done, total: None)
    keys = [cache_key(partial(function, job)) for job in jobs]
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


def cache_key(compute: Callable[[], object]) -> str | None:
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
