"""Kind ``risk``: the population risk of an attention, at a given scale of the key or the least one."""

from __future__ import annotations

from collections.abc import Mapping

from symslr.evaluation import Value, evaluate, risk_at
from symslr.model.text import parse_number
from symslr.study.parameter import Parameter, number
from symslr.study.points.asked import ATTENTION, DIGITS, TASK, attention, problem
from symslr.theory.population import minimal_risk

PARAMETERS = (*TASK, *ATTENTION, Parameter("scale", number, ""), DIGITS)


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse a task or an attention that is none."""
    attention(asked, files, problem(asked, files))


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """{"risk": least over the value vector, and over the scale of the key unless it is given}."""
    found = problem(asked, files)
    chosen = attention(asked, files, found)
    if asked["scale"]:
        scale = parse_number(asked["scale"], what="scale")
        return {"risk": risk_at(found.task, chosen, scale, found.values, int(asked["digits"]))}
    return {"risk": evaluate(minimal_risk(found.task, chosen), found.values, digits=int(asked["digits"]))}
