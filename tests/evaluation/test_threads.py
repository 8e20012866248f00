"""Several threads in one process: python-flint and mpmath keep their precision in globals, which no other thread may move."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from symslr import SpikedSLR, evaluate, linear, softmax
from symslr.evaluation import minimise
from symslr.evaluation.location import risk_value
from symslr.model.symbols import a
from symslr.model.task import Task
from symslr.parallel.blas import on_one_blas_thread
from symslr.referee.referee import referee
from symslr.referee.work import SECOND
from symslr.theory import bayes_risk, population_risk

SPIKED = SpikedSLR(noise=0)
RISK = bayes_risk(SPIKED)


def number(kind: int, n: int) -> Any:
    """The n-th number of a kind: float64, certified, estimated at many digits, a minimum, a reading of the definition."""
    nu = Fraction(n + 5, 7)
    if kind == 0:
        return evaluate(RISK, {"L": 2 + n % 4, "nu": nu}).value
    if kind == 1:
        return evaluate(RISK, {"L": 3, "nu": nu}, digits=20 + 5 * (n % 3), backend="arb").as_json()["value"]
    if kind == 2:
        return evaluate(RISK, {"L": 3, "nu": nu}, digits=15, backend="mpmath").as_json()["value"]
    if kind == 3:
        return minimise(population_risk(SPIKED, linear), [a], {"L": 3, "nu": nu}, digits=8)[0].value
    return str(referee(RISK, {"L": 2, "nu": nu}, 8, SECOND).value)


def test_four_threads_give_what_one_gives() -> None:
    """Mixed calls; without the lock four threads made a quarter of the certified ones raise."""
    asked = [(k % 5 if k % 5 != 4 or k < 20 else 1, k // 5) for k in range(60)]
    alone = [number(*item) for item in asked]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda item: number(*item), asked))
    assert together == alone


def threads_of_blas() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_products_take_one_thread_and_what_there_was_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[int]] = {}
    for module, name in (("engine", "finite"), ("location.risk", "risk_from_excess")):
        home = sys.modules[f"symslr.evaluation.{module}"]
        own = getattr(home, name)

        def watched(*args: Any, own: Any = own, module: str = module) -> Any:
            seen[module] = threads_of_blas()
            return own(*args)

        monkeypatch.setattr(home, name, watched)
    with threadpool_limits(2, user_api="blas"):
        before = threads_of_blas()
        evaluate(RISK, {"L": 2, "nu": Fraction(11, 13)}, backend="numpy")
        risk_value(Task(length=3, noise=0, location="subset(2)"), softmax, 1, {"nu": 2})
        assert threads_of_blas() == before
    assert {name: set(one) for name, one in seen.items()} == {"engine": {1}, "location.risk": {1}}


def test_the_last_thread_to_leave_gives_them_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        first, second = on_one_blas_thread, on_one_blas_thread
        before = threads_of_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__()
        assert set(threads_of_blas()) == {1}
        second.__exit__()
        assert threads_of_blas() == before
