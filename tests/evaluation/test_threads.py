"""Several threads in one process: python-flint and mpmath keep their precision in globals, which no other thread may move."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

from symslr import SpikedSLR, bayes_risk, evaluate, linear, population_risk
from symslr.cache.code import code_version
from symslr.evaluation import minimise
from symslr.model.symbols import a
from symslr.referee.referee import referee

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
    if kind == 4:
        return str(referee(RISK, {"L": 2, "nu": nu}, 8, 0.2).value)
    return code_version("symslr.model.catalogue")


def test_four_threads_give_what_one_gives() -> None:
    """Mixed calls; without the lock four threads made a quarter of the certified ones raise."""
    asked = [(k % 6 if k % 6 != 4 or k < 24 else 1, k // 6) for k in range(72)]
    alone = [number(*item) for item in asked]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda item: number(*item), asked))
    assert together == alone
