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
    from symslr.face.samples import bayes_optimal

    found = problem(asked, files)
    value = bayes_optimal(found.task, seed=int(asked["seed"]))(found.values, alpha=real(asked["alpha"]))
    return {"risk": value, **value.at, "uninformed_risk": value.result.uninformed_risk}
