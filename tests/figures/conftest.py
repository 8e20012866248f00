"""Parts of figures are computed in this process: forked ones would derive anew what it knows, each for itself."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager

import pytest


class _Here(Executor):
    """What is submitted is done at once, and travels as it would to another process and back."""

    def submit(self, fn: Callable[..., object], /, *args: object, **kwargs: object) -> Future:
        done: Future = Future()
        function, job, named = pickle.loads(pickle.dumps((fn, args, kwargs)))
        done.set_result(pickle.loads(pickle.dumps(function(*job, **named))))
        return done


@contextmanager
def _forked(_count: int) -> Iterator[Executor]:
    yield _Here()


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """That forked processes give the same is tested in tests/cache."""
    monkeypatch.setattr("symslr.parallel.processes.forked", _forked)
