"""Runs a study: every waiting point on any executor, each result stored as soon as it is finished."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field

from symslr.parallel.processes import ending_workers, uninterrupted
from symslr.study.executors import Place
from symslr.study.point import Point
from symslr.study.registry import PointKind, kind_named
from symslr.study.remaining import Costs
from symslr.study.store import LEASE, Finished, Store
from symslr.study.work import SECONDS, Outcome, compute_point

TICK = 0.5
"""Seconds between looks at the store while other processes hold what is left."""


@dataclass
class Progress:
    """Where a run stands: points in all, finished (by whichever process), failed, and the time still to go."""

    total: int
    done: int = 0
    failed: int = 0
    remaining: tuple[float, float] | None = None


@dataclass
class _Run:
    store: Store
    place: Place
    points: dict[str, tuple[Point, PointKind, str]]
    report: Callable[[Progress], None]
    seconds: float = SECONDS
    costs: Costs = field(default_factory=Costs)
    flying: dict[Future[Outcome], str] = field(default_factory=dict)
    queue: deque[str] = field(default_factory=deque)
    suspects: deque[str] = field(default_factory=deque)
    finished: list[Finished] = field(default_factory=list)
    alone: bool = False
    renewed: float = field(default_factory=time.monotonic)
    states: dict[str, str] = field(default_factory=dict)

    def refresh(self) -> None:
        """Look at the store: what is finished, what waits."""
        found = self.store.states()
        self.states = {key: found[key] for key in self.points}
        busy = {*self.flying.values(), *self.suspects}
        self.queue = deque(key for key, state in self.states.items() if state == "waiting" and key not in busy)

    def submit(self, executor: Executor) -> bool:
        """Write down what finished, and keep two points per worker under way, a suspect alone; False if it broke."""
        self.alone = bool(self.suspects) or (self.alone and bool(self.flying))
        most = 1 if self.alone else 2 * self.place.workers
        waiting = self.suspects or self.queue
        taken = self.store.exchange(self.finished, waiting, most - len(self.flying))
        self.finished.clear()
        for i, key in enumerate(taken):
            point, kind, _ = self.points[key]
            try:
                with uninterrupted():
                    self.flying[executor.submit(compute_point, kind, point, self.seconds)] = key
            except BrokenExecutor:
                waiting.extendleft(reversed(taken[i:]))
                return False
        return True

    def collect(self) -> bool:
        """Wait for points to finish; False where the executor broke under one."""
        finished, _ = wait(self.flying, timeout=TICK, return_when=FIRST_COMPLETED)
        broken = []
        for future in finished:
            key = self.flying.pop(future)
            problem = future.exception()
            if problem is None:
                self._record(key, future.result())
            elif isinstance(problem, BrokenExecutor):
                broken.append(key)
            else:
                self._fail(key, f"{type(problem).__name__}: {' '.join(str(problem).split())}")
        if not broken:
            return True
        lost = [*broken, *self.flying.values()]
        self.flying.clear()
        if len(lost) == 1:
            self._fail(lost[0], "the worker process died, perhaps for want of memory")
        else:
            self.suspects.extend(lost)
        return False

    def _record(self, key: str, outcome: Outcome) -> None:
        point, kind, version = self.points[key]
        if outcome.version != version:
            raise ValueError(f"a worker runs another version of {kind.module}; install the same symslr everywhere")
        self.finished.append(Finished(key, outcome.answers, outcome.reason, outcome.seconds))
        self.costs.add(point.kind, outcome.seconds)
        self.states[key] = "failed" if outcome.answers is None else "done"

    def _fail(self, key: str, reason: str) -> None:
        self.finished.append(Finished(key, None, reason, 0.0))
        self.states[key] = "failed"

    def show(self) -> None:
        """Report progress, and keep the claims alive."""
        now = time.monotonic()
        if now - self.renewed > LEASE / 6:
            self.store.renew()
            self.renewed = now
        count = Counter(self.states.values())
        left = Counter(self.points[key][0].kind for key, state in self.states.items() if state == "waiting")
        remaining = self.costs.remaining(left, self.place.workers)
        self.report(Progress(len(self.states), count["done"], count["failed"], remaining))


def run_study(
    points: Sequence[Point],
    store: Store,
    place: Place,
    *,
    retry_failed: bool = False,
    seconds: float = SECONDS,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Compute what the store does not have yet; return when every point is done or failed.

    Args:
        points: of one study; the store may hold other studies too.
        store: where the answers go, each at once.
        place: the executor; one that breaks under a point is opened again, and the point that breaks it when it runs
            alone is recorded as failed.
        retry_failed: compute points again that failed.
        seconds: processor time for each point that a process computes on its first thread; one that uses it up has failed.
        report: called after every change.

    Raises:
        ValueError: for an unknown kind, or workers that run other code.
    """
    kinds = {name: kind_named(name) for name in dict.fromkeys(point.kind for point in points)}
    versions = {name: kind.version for name, kind in kinds.items()}
    asked = [(point, versions[point.kind]) for point in points]
    keys = store.add(asked)
    if retry_failed:
        store.retry(keys)
    run = _Run(store, place, {key: (p, kinds[p.kind], v) for key, (p, v) in zip(keys, asked)}, report, seconds)
    run.refresh()
    while run.queue or run.suspects:
        _until_broken_or_done(run)
    run.show()
    count = Counter(run.states.values())
    return Progress(len(run.states), count["done"], count["failed"])


def _until_broken(run: _Run, executor: Executor) -> None:
    while run.submit(executor) or run.flying:
        run.show()
        if run.flying:
            if not run.collect():
                return
            continue
        run.refresh()
        if not run.queue and not run.suspects:
            return
        time.sleep(TICK)  # other processes hold what is left


def _until_broken_or_done(run: _Run) -> None:
    executor = run.place.open()
    try:
        with ending_workers():
            _until_broken(run, executor)
    finally:
        run.store.exchange(run.finished, run.queue, 0)
        run.finished.clear()
        for future in run.flying:
            future.cancel()
        executor.shutdown(wait=False)
