"""The normal mass below and the skew normal law, which keep their digits in the lower tail."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import owens_t
from sympy import Symbol

from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.numbers.elementary import skew_normal
from symslr.expression.special import NormalCdf, SkewNormal

H, A = Symbol("h", real=True), Symbol("a", real=True)
FLOAT = compile_float([H, A], [SkewNormal(H, A)])


def by_its_density(h: float, a: float) -> mpmath.mpf:
    """2 int phi Phi(a .) up to h, over as many standard deviations as carry 120 bits, relative to its height at h."""
    end, pieces = mpmath.mpf(h), [mpmath.mpf(h) - 2 * k for k in range(9, -1, -1)]
    height = mpmath.npdf(end) * mpmath.ncdf(a * end)
    return 2 * height * mpmath.quad(lambda t: mpmath.npdf(t) * mpmath.ncdf(a * t) / height, pieces)


@pytest.mark.parametrize("a", [0.001, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("h", [-25.0, -8.0, -1.0, -0.001, 0.3, 2.0])
def test_three_arithmetics_agree_far_into_the_tail(h: float, a: float) -> None:
    # The rule itself gave 8e-15 at worst; beside it the exponent h^2 (1 + a^2)/2 is rounded.
    allowed = 1e-14 + h * h * (1 + a * a) / 2 * np.finfo(float).eps
    with mpmath.workprec(120):
        exact = by_its_density(h, mpmath.mpf(a))
        assert abs(FLOAT(h, a)[0] / exact - 1) < allowed
        with ctx.workprec(120):
            ball = skew_normal(arb(h), arb(a))
        middle, radius = (mpmath.mpf(str(part.str(40, radius=False))) for part in (ball.mid(), ball.rad()))
        assert abs(middle - exact) <= radius + abs(exact) * mpmath.mpf(10) ** -30


def test_above_the_median_it_is_the_difference_with_owens_t() -> None:
    assert FLOAT(1.5, 0.4)[0] == pytest.approx(FLOAT(1.5, 0)[0] - 2 * owens_t(1.5, 0.4), rel=1e-14)


@pytest.mark.parametrize("node", [NormalCdf(H), SkewNormal(H, A)])
def test_slopes(node: NormalCdf | SkewNormal) -> None:
    for symbol in node.free_symbols:
        slope = compile_float([H, A], [node.diff(symbol)])(-0.7, 0.6)[0]
        up, down = (compile_float([H, A], [node])(*at)[0] for at in _moved(symbol))
        assert slope == pytest.approx((up - down) / 2e-6, rel=1e-8)


def _moved(symbol: Symbol) -> list[tuple[float, float]]:
    return [(-0.7 + step * (symbol == H), 0.6 + step * (symbol == A)) for step in (1e-6, -1e-6)]


def test_the_lower_tail_is_no_rounding_of_zero() -> None:
    assert np.all(FLOAT(np.array([-9.0, -12.0]), 1.0)[0] > 0)
