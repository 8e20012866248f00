"""Work, counted: array elements and nodes that are read decide how far the referee goes, and never a clock.

The same question takes the same work on every machine, on a busy one too, whatever was asked before: what a memory holds is
charged again when it is found there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeVar

from symslr.referee.arithmetic import CannotReferee

Found = TypeVar("Found")

SECOND = 250_000_000
"""Work that a processor does in about a second; a unit is one operation on one float64 of an array."""

NODE = 3000
"""For the reading of one node, however few numbers it has."""


class TooCostly(CannotReferee):
    """What this precision needs is more than the work that is allowed."""


class Meter:
    """Work that was done in this process, and the count at which to give up; the referee reads one expression at a time."""

    done = 0
    limit: float = inf

    def add(self, work: int) -> None:
        """Count work.

        Raises:
            TooCostly: beyond the limit.
        """
        self.done += work
        if self.done > self.limit:
            raise TooCostly("more work than is allowed")

    @contextmanager
    def within(self, work: float) -> Iterator[None]:
        """Inside, so much more work may be done, and no more than outside."""
        before = self.limit
        self.limit = min(before, self.done + int(work))
        try:
            yield
        finally:
            self.limit = before

    @property
    def left(self) -> float:
        """What may still be done."""
        return self.limit - self.done


METER = Meter()


class Memory:
    """The latest results of one kind, each with the work that it took."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._known: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._known

    def clear(self) -> None:
        """Forget all."""
        self._known.clear()

    def get(
        self, key: Hashable, made: Callable[[], Found], kept: Callable[[Found], bool] = lambda found: True
    ) -> Found:
        """What was made for this key, or ``made()``, which is remembered where ``kept`` says so."""
        if key in self._known:
            self._known.move_to_end(key)
            found, work = self._known[key]
            METER.add(work)
            return found  # type: ignore[return-value]
        before = METER.done
        new = made()
        if kept(new):
            while len(self._known) >= self.most:
                self._known.popitem(last=False)
            self._known[key] = new, METER.done - before
        return new
