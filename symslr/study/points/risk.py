"""Kind ``risk``: the population risk of an attention, at a given scale of the key or the least one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from symslr.study.parameter import Parameter, count, number
from symslr.study.points.asked import ATTENTION, TASK, attention, problem

if TYPE_CHECKING:
    from symslr.expression.value import Value

PARAMETERS = (*TASK, *ATTENTION, Parameter("scale", number, ""), Parameter("digits", count, ""))
"""scale: of the key, the best one where it is unset; digits: where they are unset, those that ``symslr risk`` gives."""


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse a task or an attention that is none."""
    attention(asked, files, problem(asked, files))


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """{"risk": least over the value vector}, and over the scale of the key unless it is given: then {"a": the best scale} too."""
    from symslr.face.tasks import least_risk, population_risk
    from symslr.model.text import parse_number

    found = problem(asked, files)
    scale = parse_number(asked["scale"], what="scale") if asked["scale"] else None
    digits = int(asked["digits"]) if asked["digits"] else None
    model = found.task, attention(asked, files, found)
    risk = least_risk(*model) if scale is None else population_risk(*model, scale)
    value = risk(found.values, digits=digits)
    return {"risk": value, **value.at}
