"""What docs/domain.md says is inside has a value, and what it says is refused is refused in one line."""

from __future__ import annotations

import pytest

from symslr import Attention, SpikedSLR, evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.theory import population_risk

VALUES = {"L": 3, "nu": 2, "a": "13/10", "Delta": 0}


@pytest.mark.parametrize(
    "kernel", ["log(1+exp(x))", "1+x**4", "2+sin(3*x)", "max(x,0)+1/10", "1+tanh(x)", "x**2", "gamma(2+tanh(x))"]
)
def test_kernels_inside_have_values(kernel: str) -> None:
    assert evaluate(population_risk(SpikedSLR(), Attention(kernel)), VALUES).error < 1e-9


def test_what_is_outside_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="kernel x") as fault:
        Attention("x")
    assert "\n" not in str(fault.value)
    with pytest.raises(ValueError, match="besselj") as fault:
        Attention("1+besselj(0,x)")
    assert "\n" not in str(fault.value)
    with pytest.raises((CannotEvaluate, ValueError)) as fault:
        evaluate(population_risk(SpikedSLR(), Attention("exp(x**2)", normaliser=None)), VALUES)
    assert "\n" not in str(fault.value)
