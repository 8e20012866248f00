"""Kind ``bayes``: the Bayes risk of a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from symslr.study.points.asked import DIGITS, TASK, problem

if TYPE_CHECKING:
    from symslr.expression.value import Value

PARAMETERS = (*TASK, DIGITS)


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse a task that is none."""
    problem(asked, files)


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """{"risk": E_Bayes}."""
    from symslr.face.tasks import bayes_risk

    found = problem(asked, files)
    return {"risk": bayes_risk(found.task)(found.values, digits=int(asked["digits"]))}
