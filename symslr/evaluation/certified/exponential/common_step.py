"""One mesh for all shifts: where those of several phi_s(e^{v+c}) are commensurate, one product serves them all."""

from __future__ import annotations

from math import ceil, lcm

from sympy import Expr, cancel, expand

from symslr.evaluation.numbers.elementary import nearest_float, sign

LARGEST_DENOMINATOR = 12
SMALLEST_GAIN = 4.0
"""A step is tied to a shift only where the shift is this many steps long: a tie must not shrink the step much."""


def common_step(shifts: list[Expr], largest: float) -> Expr | None:
    """A step <= ``largest`` of which as many differences of ``shifts`` as possible are exact multiples."""
    best: tuple[int, Expr] | None = None
    for other in shifts[1:]:
        difference = expand(other - shifts[0])
        if sign(difference) == 0:
            continue
        ratios = [r for shift in shifts if (r := rational_ratio(shift - shifts[0], difference)) is not None]
        unit = difference / lcm(*(q for _, q in ratios))
        length = abs(nearest_float(unit))
        if length >= SMALLEST_GAIN * largest and (best is None or len(ratios) > best[0]):
            best = (len(ratios), unit / ceil(length / largest * (1 + 1e-9)))
    if best is None:
        return None
    return best[1] * sign(best[1])


def rational_ratio(numerator: Expr, denominator: Expr) -> tuple[int, int] | None:
    """(p, q) where numerator/denominator = p/q is seen to be rational with a small denominator."""
    ratio = cancel(expand(numerator) / denominator)
    if not ratio.is_Rational or ratio.q > LARGEST_DENOMINATOR:
        return None
    return int(ratio.p), int(ratio.q)


def multiple(numerator: Expr, step: Expr) -> int | None:
    """numerator/step where it is seen to be an integer."""
    ratio = cancel(expand(numerator) / step)
    return int(ratio) if ratio.is_Integer else None
