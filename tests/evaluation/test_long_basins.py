"""Least risks of kernels with a threshold under a strong signal: tiny numbers, at the end of a long and narrow basin."""

from __future__ import annotations

from operator import mul

import mpmath
import pytest
from flint import arb, ctx
from mpmath import mpf
from sympy import Rational

from symslr.evaluation import evaluate, minimise
from symslr.model.catalogue import SpikedSLR, erf
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import a, c
from symslr.theory import population_risk


def by_integrals(scale: mpf, shift: mpf, nu: int, mean_length: mpf) -> mpf:
    """The risk of 1 + erf(a x + c) from its definition: both tails by a trapezoid sum, nothing subtracted from 2."""
    with ctx.workprec(130):
        a, c, signal = arb(scale), arb(shift), arb(nu).sqrt()
        middle, spread = -c / a, 1 / (arb(2).sqrt() * a)
        step = spread / 4  # both factors are analytic on the scale of the spread, and fall within some dozen of it

        def means(centre: arb, sign: int) -> list[arb]:
            """E erfc(sign (a x + c)) and of its square for x of mean ``centre``."""
            nodes = [middle + k * step for k in range(-400, 401)]
            tails = [(sign * (a * x + c)).erfc() for x in nodes]
            first = [(-((x - centre) ** 2) / 2).exp() * tail for x, tail in zip(nodes, tails)]
            sums = sum(first, arb(0)), sum(map(mul, first, tails), arb(0))
            return [step * total / (2 * arb.pi()).sqrt() for total in sums]

        (first, second), (_, other) = means(signal, 1), means(arb(0), -1)
        others = (arb(mean_length) - 1) * other
        found = (second - first**2 + others) / (4 - 4 * first + second + others)
        return mpf(found.mid().str(40, radius=False))


@pytest.mark.parametrize(
    ("length", "mean", "nu"),
    [(3, 3, 1000), (LengthLaw(*((n, Rational(1, 4)) for n in (1, 4, 6, 99))), mpf("27.5"), 193)],
)
def test_a_tiny_least_risk_has_its_digits(length: object, mean: mpf, nu: int) -> None:
    """At nu = 1000 it is 3e-56: values had one digit, a risk looked level, and mpmath took its Hessian for a singular matrix."""
    found, at = minimise(population_risk(SpikedSLR(nu=nu, length=length, noise=0), erf), [a, c])
    value, error = found.value, found.error
    assert error < 1e-9 * value
    with mpmath.workdps(30):
        scale, shift = mpf(at[a].value), mpf(at[c].value)
        assert abs(by_integrals(scale, shift, nu, mean) - value) <= error + mpf(10) ** -12 * value
        # nowhere beside it is it lower: along both variables, and along the ray on which the threshold stays
        for moved in ((1.02, 1), (0.98, 1), (1, 1.002), (1, 0.998), (1.05, 1.05), (0.95, 0.95)):
            assert by_integrals(scale * moved[0], shift * moved[1], nu, mean) > value - error


def test_a_risk_keeps_its_digits_however_small() -> None:
    """E[sigma^2] - E[sigma]^2 of numbers near 4 that is 1e-164."""
    values = {"nu": 3000, "L": 10, "Delta": 0, a: 22.375, c: -613.67}
    found = evaluate(population_risk(SpikedSLR(), erf), values)
    with mpmath.workdps(30):
        expected = by_integrals(mpf(22.375), mpf(-613.67), 3000, mpf(10))
        assert found.error < 1e-10 * expected
        assert abs(found.value - expected) <= found.error + mpf(10) ** -12 * expected
