"""What lies beyond the ends of a mesh of log u: long, low tails of thin ridges, which coarse meshes see at some nodes only."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from sympy import Rational

from symslr.evaluation.laplace.rule import _tail_by_blocks
from symslr.evaluation.nodes.node import Context
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.plan import plan
from symslr.model.catalogue import MaxSLR, softplus
from symslr.model.symbols import a, nu
from symslr.theory import population_risk


def test_a_steep_kernel_at_few_digits() -> None:
    """0.1410 +- 0.0013 stood there for 0.1203 at two digits: windows that ended at a third of a per cent of the peak left out 3 per
    cent of the mass, along a ridge six hundred long."""
    risk = plan(population_risk(MaxSLR(length={1: Rational(1, 3), 4: Rational(2, 3)}, noise=0), softplus))
    at = {a: (81.0, 0.0), nu: (80.0, 0.0)}
    sharp, doubt = risk.evaluate(Context(FLOAT, 1e-5), at)
    assert doubt < 1e-4
    for tolerance in (1e-2, 1e-3):
        value, error = risk.evaluate(Context(FLOAT, tolerance), at)
        assert abs(value - sharp) <= error + doubt


@pytest.mark.parametrize("step", [0.02, 0.05])
@pytest.mark.parametrize("end", [-1.0, -1.5, -2.0])
@pytest.mark.parametrize("jumps", [False, True])
def test_what_goes_on_to_fall_is_bounded(step: float, end: float, jumps: bool) -> None:
    """Of a normal law cut on the left; with jumps only every second node sees it."""
    places = np.arange(end, 9.0, step)
    heights = np.exp(-(places**2) / 2) * (2.0 * (np.arange(len(places)) % 2) if jumps else 1.0)
    heights /= heights.sum()
    left_out = ndtr(end) / ndtr(-end)
    assert left_out <= _tail_by_blocks(heights) <= 100 * left_out


def test_rounding_need_not_fall() -> None:
    assert _tail_by_blocks(np.array([1e-10] * 20 + [1.0] * 20)) == 0.0
    assert _tail_by_blocks(np.array([1e-3] * 20 + [1.0] * 20)) == 1.0


def test_what_falls_quickly_leaves_little() -> None:
    assert _tail_by_blocks(np.exp(-np.arange(0.0, 60.0))[::-1]) == 0.0
