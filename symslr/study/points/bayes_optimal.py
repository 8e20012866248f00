"""Kind ``bayes_optimal``: the least risk of any estimator at N = alpha D samples, by state evolution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from symslr.study.parameter import Parameter, count, positive
from symslr.study.points.asked import TASK, problem, real

if TYPE_CHECKING:
    from symslr.expression.value import Value

PARAMETERS = (*TASK, Parameter("alpha", positive), Parameter("seed", count, "0"))


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse a task that is none."""
    problem(asked, files)


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """Risk and overlaps of the branch of largest free entropy, and the risk from an uninformed start."""
    from symslr.evaluation.finite_sample import bayes_optimal

    found = problem(asked, files)
    best = bayes_optimal(found.task, found.values, alpha=real(asked["alpha"]), seed=int(asked["seed"]))
    return {"risk": best.risk, "q_k": best.q_k, "q_v": best.q_v, "uninformed_risk": best.uninformed_risk}
