"""One thread at a time where a library keeps its precision in a global: python-flint's context and mpmath's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

from symslr.parallel.blas import on_one_blas_thread

P = ParamSpec("P")
T = TypeVar("T")

LOCK = RLock()
"""A thread that holds it may take it again."""


def one_at_a_time(function: Callable[P, T]) -> Callable[P, T]:
    """The function, waiting until no other thread is in one of its kind, and with one thread for NumPy's products."""

    @wraps(function)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> T:
        with LOCK, on_one_blas_thread:
            return function(*args, **kwargs)

    return waiting
