"""The real zeros of a polynomial with parameters: those that are proved to exist, and those that may exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sympy import Abs, Expr, Mul, Poly, S, Symbol, cancel, real_roots, sqrt

from symslr.model.powers import factored

Sign = Callable[[Expr], int | None]
"""1 where provably positive, 0 where provably nonnegative, -1 where provably negative, None where undecided."""


class ZerosUnknown(ValueError):
    """A factor of degree three or more with parameters: its real zeros are not found in closed form."""


@dataclass(frozen=True)
class Zero:
    """A zero of a polynomial in one variable; ``real`` says whether it certainly lies on the line."""

    place: Expr
    multiplicity: int
    real: bool


def real_zeros(polynomial: Expr, t: Symbol, sign: Sign) -> list[Zero]:
    """Every zero of a polynomial in ``t`` that is real or may be, for some values of the parameters.

    Raises:
        ZerosUnknown: for a factor of degree three or more whose coefficients are not all rational.
    """
    zeros = []
    for part in Mul.make_args(factored(polynomial)):
        base, multiplicity = part.as_base_exp()
        if base.has(t):
            zeros += [Zero(place, int(multiplicity), real) for place, real in _zeros_of(base, t, sign)]
    return zeros


def _zeros_of(base: Expr, t: Symbol, sign: Sign) -> list[tuple[Expr, bool]]:
    poly = Poly(base, t)
    coefficients = poly.all_coeffs()
    if all(c.is_Rational for c in coefficients):
        return [(root, True) for root in sorted(set(real_roots(poly)))]
    if poly.degree() == 1:
        lead, constant = coefficients
        place = -constant / lead
        certain = place.is_real is True or (constant.is_real is True and sign(lead) in (1, -1))
        return [] if place.is_real is False else [(place, certain)]
    if _positive_everywhere(coefficients, sign):
        return []
    if poly.degree() > 2:
        raise ZerosUnknown(f"the zeros of {base} in {t} are not found in closed form")
    lead, middle, constant = coefficients
    discriminant = factored(middle**2 - 4 * lead * constant)
    known = sign(discriminant)
    if known == -1:
        return []
    root = sqrt(discriminant).replace(Abs, lambda inner: inner)  # both signs follow, so |r| may be r
    return [(cancel((-middle + side * root) / (2 * lead)), known is not None) for side in (-1, 1)]


def _positive_everywhere(coefficients: list[Expr], sign: Sign) -> bool:
    """Whether only even powers stand in a polynomial, none with a negative coefficient and a positive constant."""
    if any(c != S.Zero for c in coefficients[-2::-2]):
        return False
    return sign(coefficients[-1]) == 1 and all(sign(c) in (0, 1) for c in coefficients[::-1][2::2])
