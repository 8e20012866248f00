"""Risks of kernels that are hard to evaluate, against a tagged catalogue: `kernels.toml`, most of them printed wrongly once."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sympy import Rational, oo

from symslr.evaluation import evaluate, least_risk
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import x
from symslr.model.text import parse_expression
from symslr.theory import population_risk

PROBLEMS = tomllib.loads((Path(__file__).parent / "kernels.toml").read_text(encoding="utf-8"))["problem"]
TASKS = {"spiked": SpikedSLR, "max": MaxSLR}
NORMALISERS = {"sum": "sum", "none": None}


def _number(text: str) -> Rational:
    return oo if text == "inf" else Rational(text)


def _half_a_unit(text: str) -> Rational:
    """Half a unit of the last digit that is given; nothing for an integer or a fraction, which are exact."""
    return Rational(10) ** Decimal(text).as_tuple().exponent / 2 if "." in text else Rational(0)


@pytest.mark.parametrize("problem", [pytest.param(p, id=f"{p['kernel']}: {', '.join(p['tags'])}") for p in PROBLEMS])
def test_a_kernel_has_its_risk(problem: dict[str, Any]) -> None:
    task = TASKS[problem["task"]](_number(problem["nu"]), problem["length"], noise=0)
    kernel = parse_expression(problem["kernel"], {"x": x}, what="kernel")
    attention = Attention(kernel, NORMALISERS[problem["normalise"]], Rational(problem.get("offset", "0")))
    if "scale" in problem:
        found = evaluate(population_risk(task, attention, _number(problem["scale"])))
    else:
        found = least_risk(task, attention, {})[0]
    assert abs(Rational(str(found.value)) - _number(problem["value"])) <= found.error + _half_a_unit(problem["value"])
