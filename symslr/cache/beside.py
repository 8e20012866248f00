"""What ``computed_once`` does beside a record: show what is kept, look whether it is still true, or compute it anew."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from symslr.cache.content import content
from symslr.cache.parts import Progress, keeping, mapped
from symslr.cache.records import Part, Record, Recorded, fingerprint, plain, read_record
from symslr.cache.results import Cache, library_versions

Job = TypeVar("Job")

LETTERS = 16
"""Of the digest of a job."""


class Looked(BaseException):
    """All kept parts have been asked for: what follows needs not be computed to know whether they are still true."""


class Lacking(ValueError):
    """A record does not have the parts that the code asks for."""


def name_of(function: Callable[..., object]) -> str:
    """The name of a part: of its function, without leading underscores."""
    while isinstance(function, partial):
        function = function.func
    return function.__name__.lstrip("_")


def digest_of(job: object) -> str:
    """Of what a job is made of."""
    return hashlib.sha256(content(job).encode()).hexdigest()[:LETTERS]


def timed(function: Callable[[Job], object], job: Job) -> tuple[float, object]:
    """The processor time of a job, with that of processes that it has waited for, and its result."""
    began = sum(os.times()[:4])
    result = function(job)
    return sum(os.times()[:4]) - began, result


class Shown:
    """Kept parts as they are, also where the code or the sizes have changed since."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def results(self, function: Callable[[Job], object], jobs: Sequence[Job]) -> list[object]:
        """Of the part.

        Raises:
            Lacking: where the record has no such part, or one of another size.
        """
        part = self.record.parts.get(name_of(function))
        if part is None or len(part.results) != len(jobs):
            lacking = f"part {name_of(function)!r} for its {len(jobs)} jobs"
            raise Lacking(f"its kept numbers lack {lacking}; `{self.record.command}` computes them anew")
        return list(part.results)


class Looking:
    """Kept parts as they are, until all have been asked for; tells which of them are still true."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.true: set[str] = set()
        self.asked: set[str] = set()

    def results(self, function: Callable[[Job], object], jobs: Sequence[Job]) -> list[object]:
        """Of the part."""
        name = name_of(function)
        part = self.record.parts.get(name)
        self.asked.add(name)
        now = fingerprint(function), tuple(map(digest_of, jobs))  # type: ignore[arg-type]
        if part is not None and (part.fingerprint, part.jobs) == now:
            self.true.add(name)
        if part is None or len(part.results) != len(jobs) or self.asked >= set(self.record.parts):
            raise Looked
        return list(part.results)


class Computing:
    """Parts computed now; those of ``earlier`` that are still true are taken over, job by job.

    Args:
        name: of the figure or the validation.
        earlier: its record, or None to compute everything.
        store: keeps finished jobs, each with the time it took, so that an interrupted run goes on from there.
        progress: called with the jobs that are done, and their number.
    """

    def __init__(self, name: str, earlier: Record | None, store: Cache, progress: Progress) -> None:
        self.name, self.store, self.progress = name, store, progress
        self.earlier = {} if earlier is None else earlier.parts
        self.parts: dict[str, Part] = {}

    def results(self, function: Callable[[Job], object], jobs: Sequence[Job]) -> list[object]:
        """Of the part.

        Raises:
            ValueError: where two parts have one name.
        """
        name, mark = name_of(function), fingerprint(function)  # type: ignore[arg-type]
        if name in self.parts:
            raise ValueError(f"{self.name}: found two parts called {name}; expected functions of different names")
        keys = [digest_of(job) for job in jobs]
        old = self.earlier.get(name)
        known = dict(zip(old.jobs, old.results)) if old is not None and old.fingerprint == mark else {}
        left = [(key, job) for key, job in zip(keys, jobs, strict=True) if key not in known]
        with keeping(self.store, self.name, self.progress, self):
            done = mapped(partial(timed, function), [job for _, job in left]) if left else []
        known |= {key: plain(result) for (key, _), (_, result) in zip(left, done, strict=True)}
        spent = sum(seconds for seconds, _ in done)
        seconds = spent + (old.seconds if old is not None and len(left) < len(jobs) else 0.0)
        results = tuple(known[key] for key in keys)
        versions = old.versions if old is not None and not left else library_versions()
        self.parts[name] = Part(mark, tuple(keys), results, seconds, versions)
        return list(results)

    def record(self, run: Callable[[], object], seeds: str) -> Record:
        """Run a figure or a validation, its slow parts computed.

        Raises:
            ValueError: where it has no such parts.
        """
        with keeping(self.store, self.name, self.progress, self):
            run()
        if not self.parts:
            raise ValueError(f"{self.name}: nothing of it is kept; every report computes it")
        return Record(self.name, seeds, self.parts)


def recorded(path: Path, run: Callable[[], object]) -> Recorded | None:
    """The record of a file, and which of its parts are not what ``run`` would compute now; None where there is no file."""
    record = read_record(path)
    if record is None:
        return None
    looking = Looking(record)
    with Cache() as store, keeping(store, record.name, beside=looking), suppress(Looked, Exception):
        run()  # what earlier results do to other code, drawing will tell
    new = sorted(looking.asked - set(record.parts))
    return Recorded(record, (*(name for name in record.parts if name not in looking.true), *new))
