"""Long computations in parts: spread over the processors, kept point by point, and what becomes of kept points."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar

from symslr.cache.content import NoContent, content
from symslr.cache.results import MISSING, Cache, key_of
from symslr.library.records import Part, Point, Record, plain, said, versions
from symslr.parallel.processes import each_done

Job = TypeVar("Job")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]
"""(jobs done, jobs in all)."""


Again = Callable[[Any, int], Any]
"""(job, number of another run) -> the same job with that run's seeds."""

OTHER_SEEDS = 1_000_000
"""Lies between the seeds of two runs of one job: none is used twice."""


class Beside(Protocol):
    """What ``computed_once`` does: show what is kept, or compute it."""

    def results(self, function: Callable[[Job], object], jobs: Sequence[Job], again: Again | None) -> list[object]:
        """Of every job."""


_place: ContextVar[tuple[Cache, Progress] | None] = ContextVar("place", default=None)
_beside: ContextVar[Beside | None] = ContextVar("beside", default=None)


@contextmanager
def keeping(kept: Cache, progress: Progress = lambda done, total: None, beside: Beside | None = None) -> Iterator[None]:
    """Within the block every finished job of ``mapped`` is kept, and ``beside`` has the results of ``computed_once``."""
    token, other = _place.set((kept, progress)), _beside.set(beside)
    try:
        yield
    finally:
        _place.reset(token)
        _beside.reset(other)


def measured(value: Any, error: Any = None) -> dict[str, Any]:
    """A number with its error, or arrays of both, as results hold them; a ``Value`` has its own error, and its kind is kept.

    An infinite error says that none is known: then such a number is shown and never compared.
    """
    if error is not None:
        return {"value": value, "error": error}
    return {"value": _float(value.value), "error": _float(value.error), "kind": str(value.kind)}


def _float(number: Any) -> Any:
    return number if hasattr(number, "tolist") else float(number)


REFUSED = measured(math.nan, math.nan)
"""Stands for a number that is refused."""


def computed_once(function: Callable[[Job], object], jobs: Sequence[Job], *, again: Again | None = None) -> list[Any]:
    """``mapped`` for what takes minutes: `symslr compute` keeps the results in a file beside the code, reports read them.

    A figure or validation asks for these parts first, and computes what is quick from them. The results are what JSON can
    hold: texts, truth values, whole numbers, parameters, ``measured`` numbers, and lists and mappings of them; tuples come
    back as lists. A number that is computed stands in ``measured``: others have to come out the same in every run.

    Args:
        function: a function of a module, or ``partial`` of one; its name is the part's.
        jobs: plain values, SymPy expressions, dataclasses and containers of these.
        again: where results are drawn and errors are standard errors: the same job with the seeds of another run, 1, 2, ...
    """
    beside = _beside.get()
    if beside is None:
        return [plain(result) for result in mapped(function, jobs)]
    return beside.results(function, jobs, again)


def mapped(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """``function`` of every job, in the order of ``jobs``, on every processor where processes can be forked.

    Within ``keeping`` a job that was done before by the same code is not done again.
    """
    kept, progress = _place.get() or (Cache(), lambda done, total: None)
    keys = [cache_key(partial(function, job)) for job in jobs]
    found = {i: kept.get(key) for i, key in enumerate(keys) if key is not None}
    results: dict[int, Any] = {i: result for i, result in found.items() if result is not MISSING}
    progress(len(results), len(jobs))
    for index, result in each_done(function, {i: job for i, job in enumerate(jobs) if i not in results}):
        results[index], key = result, keys[index]
        if key is not None:
            kept.put(key, result)
        progress(len(results), len(jobs))
    return [results[index] for index in range(len(jobs))]


def cache_key(compute: Callable[[], object]) -> str | None:
    """Under which a result is kept, or None for a function that has no name to find it again by."""
    try:
        return key_of("part", content(compute))
    except NoContent:
        return None


class Lacking(ValueError):
    """A record does not have what the code asks for."""


class Shown:
    """Points as they are kept."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def results(self, function: Callable[[Job], object], jobs: Sequence[Job], again: Again | None) -> list[object]:
        """Of the part.

        Raises:
            Lacking: where the record has no such part, or one that was asked something else.
        """
        part = self.record.parts.get(name_of(function))
        asked = sizes_of(function), [said(job) for job in jobs], again is not None
        if part is None or (part.sizes, [point.asked for point in part.points], part.drawn) != asked:
            what = f"{name_of(function)!r} as its code asks for it now"
            raise Lacking(f"{self.record.name}: its kept numbers lack {what}; `{self.record.command}` computes them")
        return [point.found for point in part.points]


class Computing:
    """Points computed now; ``parts`` has them afterwards."""

    def __init__(self) -> None:
        self.parts: dict[str, Part] = {}

    def results(self, function: Callable[[Job], object], jobs: Sequence[Job], again: Again | None) -> list[object]:
        """Of the part.

        Raises:
            ValueError: where two parts have one name.
        """
        if (name := name_of(function)) in self.parts:
            raise ValueError(f"found two parts called {name}; expected functions of different names")
        made = mapped(partial(timed, function), jobs)
        points = tuple(Point(said(job), found, seconds) for job, (found, seconds) in zip(jobs, made, strict=True))
        self.parts[name] = Part(sizes_of(function), points, again is not None)
        return [point.found for point in points]


def recomputed(name: str, seeds: str, run: Callable[[], object], kept: Cache, progress: Progress) -> Record:
    """The record of a figure or a validation, all its slow parts computed now.

    Raises:
        ValueError: where it has none.
    """
    computing = Computing()
    with keeping(kept, progress, computing):
        run()
    if not computing.parts:
        raise ValueError(f"{name}: nothing of it is kept; every report computes it")
    return Record(name, seeds, versions(), computing.parts)


def name_of(function: Callable[..., object]) -> str:
    """The name of a part: of its function, without leading underscores."""
    while isinstance(function, partial):
        function = function.func
    return function.__name__.lstrip("_")


def sizes_of(function: Callable[..., object]) -> object:
    """What a part is asked besides its jobs."""
    return said(function) if isinstance(function, partial) else []


def timed(function: Callable[[Job], object], job: Job) -> tuple[object, float]:
    """The result of a job, and its processor time, with that of processes that it has waited for."""
    began = sum(os.times()[:4])
    result = plain(function(job))
    return result, sum(os.times()[:4]) - began
