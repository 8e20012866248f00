"""Sweeps and degree windows: what moves with what, and the derived ends of the window against the exact law."""

import math

import pytest
from sympy import Rational

from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.sweeps import by_degree, gap, smallest_taylor_degree, with_parameter, working_window
from symslr.evaluation.separation.widths import hoeffding_bound
from symslr.model.separation import (
    LINEAR_KERNEL,
    SOFTMAX_KERNEL,
    a,
    b,
    c,
    margin,
    n,
    power_kernel,
    separation,
    t,
    taylor_kernel,
)
from symslr.theory.separation.windows import lower_degree, upper_degree

BASE = separation(n=1024, d=258, t=4, a0=0.05, a1=1.1, b=0.2, c=0.8, m=52)


def test_layout_moves_together() -> None:
    assert (with_parameter(BASE, "n", 256).d, with_parameter(BASE, "d", 66).n, with_parameter(BASE, "t", 8).d) == (
        66,
        256,
        130,
    )
    assert with_parameter(BASE, "b", 0.3).b == Rational(3, 10)
    with pytest.raises(ValueError, match="d: found 1030/3; expected a whole number"):
        with_parameter(BASE, "t", 3)


def success(name: str, value: int) -> float:
    """P(separation) of one marked row with one parameter changed."""
    return float(NeuronLaw(with_parameter(BASE, name, value)).fixed_row)


def test_success_grows_with_neurons_and_falls_with_blocks() -> None:
    neurons = [success("m", count) for count in (1, 2, 8, 32)]
    assert neurons == sorted(neurons)
    blocks = [success("t", size) for size in (4, 16, 64)]
    assert blocks == sorted(blocks, reverse=True)
    assert all(
        hoeffding_bound(with_parameter(BASE, "t", size)).success <= success("t", size) for size in (1, 4, 16, 64)
    )


def test_window_of_degrees() -> None:
    """The exact window starts at the derived lower end rounded up; it ends at most 20 % below the derived upper end."""
    for rows, expected in ((256, (3, 56)), (1024, (4, 84)), (4096, (6, 108))):
        here = with_parameter(BASE, "n", rows)
        values = {a: here.a1, b: here.b, c: here.c, n: here.n, t: here.t, margin: here.margin}
        low, high = float(lower_degree().subs(values)), float(upper_degree().subs(values))
        scan = (*range(1, 9), *range(int(0.7 * high), int(high) + 4))
        window = working_window(by_degree(here, power_kernel, scan))
        assert window is not None
        assert window == expected
        assert abs(window[0] - math.ceil(low)) <= 1
        assert 0.8 * high < window[1] < high
    assert working_window({1: 0.0, 2: 0.1}) is None


def test_taylor_degree_grows_like_log_n() -> None:
    """2, 3, 5, 7, 9 at n = 4^3 ... 4^7: two more for each factor of four at the end."""
    found = [smallest_taylor_degree(with_parameter(BASE, "n", 4**k)) for k in range(3, 8)]
    assert found == [2, 3, 5, 7, 9]
    with pytest.raises(ValueError, match="found none up to 2"):
        smallest_taylor_degree(BASE, most=2)


def test_large_taylor_degree_is_softmax() -> None:
    (polynomial,) = by_degree(BASE, taylor_kernel, [60]).values()
    assert polynomial == pytest.approx(success("m", 52), rel=1e-9)


def test_gap_is_of_order_one_for_softmax_and_one_over_n_for_linear() -> None:
    sizes = [with_parameter(BASE, "n", size) for size in (1024, 16384)]
    small, large = (gap(here, SOFTMAX_KERNEL) for here in sizes)
    assert 1.0 < small < large < BASE.a1 + BASE.b
    small, large = (gap(here, LINEAR_KERNEL) for here in sizes)
    assert small / large == pytest.approx(16, rel=0.01)
    assert gap(with_parameter(BASE, "a1", BASE.a0), SOFTMAX_KERNEL) == 0
