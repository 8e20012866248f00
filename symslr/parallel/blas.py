"""NumPy's matrix products on one thread, which is faster where processors are shared.

On two processors with other work, the least risk of softmax-1 at L = 3, nu = 193 took 15 s of processor time with two threads and
0.9 with one, `symslr landscape --task max` 41 and 4.4. With nothing else to do, the risk of softmax on max-SLR at nu = 300 took
2.5 and 1.7 s of processor time, and as long by the clock.
"""

from __future__ import annotations

import sys
from contextlib import ContextDecorator
from functools import lru_cache
from threading import Lock
from typing import Any


class OneBlasThread(ContextDecorator):
    """A context, or a decorator, in which NumPy's products take one thread; the last to leave gives back what there was.

    It holds for the whole process: the library that multiplies has one number for all threads.
    """

    def __init__(self) -> None:
        self._lock, self._depth = Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0 and "numpy" in sys.modules:
                self._limits = _pools("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(self, *fault: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._limits is not None:
                self._limits, limits = None, self._limits
                limits.restore_original_limits()


on_one_blas_thread = OneBlasThread()


@lru_cache
def _pools(with_scipy: bool) -> Any:
    """The libraries that multiply, as they are loaded; SciPy may bring its own, which is looked for anew."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
