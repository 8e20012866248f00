"""Special functions that Arb lacks, on balls."""

from __future__ import annotations

from typing import Any

from flint import acb, arb


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T(h, a) = (1/2 pi) int_0^a e^{-h^2 (1 + x^2)/2} / (1 + x^2) dx.

    With x = a y the path is [0, 1] and a factor e^{-h^2/2} comes out, which keeps relative accuracy at large h.
    ``acb.integral`` encloses the rest: the integrand is meromorphic, so that no analyticity check has to be forwarded.
    """
    h, a = arb(h), arb(a)
    square = (a * a) * (h * h) / 2

    def integrand(y: Any, _: bool) -> Any:
        return (-square * y * y).exp() / (1 + a * a * y * y)

    return (-h * h / 2).exp() * a / (2 * arb.pi()) * acb.integral(integrand, 0, 1).real
