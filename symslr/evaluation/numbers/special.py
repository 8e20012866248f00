"""Special functions that Arb lacks, on balls."""

from __future__ import annotations

from typing import Any

from flint import acb, arb, ctx


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


def normal_cdf(y: Any) -> Any:
    """Phi(y)."""
    return (-arb(y) / arb(2).sqrt()).erfc() / 2


def skew_normal(h: Any, a: Any) -> Any:
    """F(h, a) = 2 int_{-oo}^h phi Phi(a .); above the median by Owen's T, below it on t = h - x without cancellation.

    There F = e^{-h^2 (1 + a^2)/2} int_0^oo g(t) dt / sqrt(2 pi) with g(t) = e^{h t - t^2/2 + a^2 h^2/2} erfc(a (t - h)/sqrt 2),
    of order one at t = 0. As -log g grows at least as t - h, what lies beyond T is between 0 and g(T)/(T - h).
    """
    h, a = arb(h), arb(a)
    root = arb(2).sqrt()
    if not h < 0 or not a >= 0:
        return normal_cdf(h) - 2 * owens_t(h, a)
    height = a * a * h * h / 2
    cut = (h + (h * h + 2 * ctx.prec).sqrt()).mid()

    def g(t: Any, _: bool = True) -> Any:
        return (h * t - t * t / 2 + height).exp() * (a * (t - h) / root).erfc()

    beyond = g(acb(cut)).real / (cut - h)
    return (-h * h / 2 - height).exp() / (2 * arb.pi()).sqrt() * (acb.integral(g, 0, cut).real + beyond.union(arb(0)))
