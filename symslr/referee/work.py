"""Work, counted: array elements and nodes that are read decide how far the referee goes, and never a clock.

The same question takes the same work on every machine, on a busy one too, whatever was asked before: what a memory holds is
charged again when it is found there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, ClassVar, TypeVar
from weakref import WeakSet

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

    _all: ClassVar[WeakSet[Memory]] = WeakSet()

    def __init__(self, most: int) -> None:
        self.most = most
        self._known: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._all.add(self)

    def __contains__(self, key: object) -> bool:
        return key in self._known

    def __iter__(self) -> Iterator[Any]:
        return iter(self._known)

    def get(self, key: Hashable, made: Callable[[], Found], kept: Callable[[], bool] = lambda: True) -> Found:
        """What was made for this key, or ``made()``, which is remembered where ``kept()`` says so."""
        if key in self._known:
            self._known.move_to_end(key)
            found, work = self._known[key]
            METER.add(work)
            return found
        before = METER.done
        new = made()
        if kept():
            self._known[key] = new, METER.done - before
            if len(self._known) > self.most:
                self._known.popitem(last=False)
        return new

    @classmethod
    def forget_all(cls) -> None:
        """Begin anew, so that what comes is a function of what is asked from now on."""
        for memory in cls._all:
            memory._known.clear()
