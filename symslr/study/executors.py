"""Where points run: processes of this machine, or a Dask cluster by its address."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker

from symslr.extras import need
from symslr.parallel.processes import become_worker, processors

SCHEME = "dask://"

PATIENCE = "10s"
"""How long a scheduler may take to answer."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Set to 1 for local workers unless the user set them: the parallelism is in the processes."""


@dataclass(frozen=True)
class Place:
    """A way to open an executor.

    Attributes:
        open: makes a new executor; called again where the last one broke.
        workers: points that run at a time.
    """

    open: Callable[[], Executor]
    workers: int


@contextmanager
def place_named(text: str, workers: int | None = None) -> Iterator[Place]:
    """``local`` or ``dask://HOST:PORT``.

    Args:
        text: as on the command line.
        workers: processes of ``local``, by default one per processor; a cluster has its own.

    Raises:
        ValueError: for anything else, a cluster that cannot be reached, or a missing dask.distributed.
    """
    if text == "local":
        count = processors() if workers is None else workers
        if count < 1:
            raise ValueError(f"workers: found {count}; expected at least 1")
        for variable in ONE_THREAD:
            os.environ.setdefault(variable, "1")
        yield Place(lambda: local_executor(count), count)
        return
    if not text.startswith(SCHEME) or text == SCHEME:
        raise ValueError(f"executor: found {text!r}; expected local or {SCHEME}HOST:PORT")
    if workers is not None:
        raise ValueError("workers: found together with a Dask cluster; expected the cluster's own workers")
    distributed = need("distributed", "a Dask cluster")
    address = "tcp://" + text.removeprefix(SCHEME)
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise ValueError(f"executor: no Dask scheduler answers at {address} ({type(problem).__name__})") from None
    with client:
        count = sum(client.nthreads().values())
        if not count:
            raise ValueError(f"executor: the Dask cluster at {address} has no workers; start some")
        yield Place(lambda: client.get_executor(pure=False), count)


LEAKED = "ignore:resource_tracker"
"""An option -W: semaphores that a killed process leaves are removed by Python's own process beside it, which warns of them."""


def _start_tracker() -> None:
    """Start the process that removes what a killed one leaves; it takes the warnings to ignore from this one's options."""
    sys.warnoptions.append(LEAKED)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(LEAKED)


def local_executor(workers: int) -> Executor:
    """Processes that end when this one does, however it ends, and without a word."""
    _start_tracker()
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=become_worker)
