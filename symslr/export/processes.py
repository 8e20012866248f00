"""Work that a figure spreads over the processors; seeds travel with the jobs, so the order changes nothing."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def mapped(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """``function`` of every job, in the order of ``jobs``, on every processor where processes can be forked."""
    processes = min(os.cpu_count() or 1, len(jobs))
    if processes <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        return [function(job) for job in jobs]
    with warnings.catch_warnings():
        # the children neither print nor take the locks of a progress bar's thread
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork")) as pool:
            return list(pool.map(function, jobs))
