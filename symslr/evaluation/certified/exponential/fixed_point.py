"""Polynomial products to an absolute error: on integers, several times faster than on balls."""

from __future__ import annotations

from typing import Any

from flint import arb, fmpz_poly

GUARD_BITS = 20
"""Integers have so many below the error asked for."""


def fixed_point_product(weights: list[Any], samples: list[Any], bits: int) -> tuple[list[Any], int, Any]:
    """Coefficients of the product of two polynomials with samples in [0, 1]: integers, their common binary
    exponent, and a ball around 0 for their common error, near 2^-bits for weights of sum near 1.

    Lemma (fixed point): the error is at most sum |w - w'| + (sum |w'|) max |f - f'|.
    """
    scale = bits + GUARD_BITS
    left, left_error = _rounded(weights, scale)
    right, right_error = _rounded(samples, scale)
    total = arb((sum(abs(w) for w in left), -scale))
    error = sum(left_error, arb(0)) + total * max(right_error, default=arb(0))
    return (fmpz_poly(left) * fmpz_poly(right)).coeffs(), -2 * scale, arb(0, error.upper())


def _rounded(balls: list[Any], bits: int) -> tuple[list[Any], list[Any]]:
    """Integers near 2^bits times the balls, and upper bounds of what the rounding costs in units of the balls."""
    scale, unit = arb((1, bits)), arb((1, -bits))
    return [(ball.mid() * scale).floor().unique_fmpz() for ball in balls], [ball.rad() + unit for ball in balls]
