"""One thread at a time where a library keeps its precision in a global: python-flint's context and mpmath's."""

from __future__ import annotations

from contextlib import ContextDecorator
from threading import RLock

from symslr.parallel.blas import on_one_blas_thread


class OneAtATime(ContextDecorator):
    """A context, or a decorator, that waits until no other thread is in it, with one thread for NumPy's products.

    A thread that is in it may enter again.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            on_one_blas_thread.__enter__()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *fault: object) -> None:
        try:
            on_one_blas_thread.__exit__(*fault)
        finally:
            self._lock.release()


one_at_a_time = OneAtATime()
