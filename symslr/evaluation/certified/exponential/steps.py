"""Steps of the trapezoid rules and the strips that justify them, in floats; the bounds are computed in balls."""

from __future__ import annotations

from math import atan, ceil, cos, log, pi, sqrt, tan

WITHIN = 1 - 1e-12
"""Keeps a strip strictly inside its limit."""


def outer_step(k: float, nats: float) -> float:
    """About the largest step h for which the outer strip bound 2 cos(d)^-k / (e^{2 pi d/h} - 1) is below e^-nats."""
    left, right = 1e-6, 10.0
    while right / left > 1.001:
        h = sqrt(left * right)
        left, right = (h, right) if _outer_nats(k, h) > nats else (left, h)
    return left


def outer_strip(k: float, h: float) -> float:
    """The half-width d < pi/2 that minimises cos(d)^-k e^{-2 pi d/h}."""
    return atan(2 * pi / (h * k))


def _outer_nats(k: float, h: float) -> float:
    d = outer_strip(k, h)
    return 2 * pi * d / h + k * log(cos(d)) - log(2)


def inner_strip(s: float, delta: float, p: float) -> float:
    """The half-width d < pi/(2s) that minimises e^{d^2/2 - 2 pi d/delta} cos(s d)^-p."""
    largest = pi / (2 * s) * WITHIN
    left, right = 0.0, min(2 * pi / delta, largest)
    if p == 0:
        return right
    while right - left > 1e-6 * right:
        d = (left + right) / 2
        left, right = (d, right) if 2 * pi / delta - d - p * s * tan(s * d) > 0 else (left, d)
    return left


def inner_step(s: float, nats: float, p: float) -> float:
    """About the largest step delta in z for which the inner strip bound is below e^-nats."""
    left, right = 1e-9, 10.0
    while right / left > 1.001:
        delta = sqrt(left * right)
        d = inner_strip(s, delta, p)
        gain = 2 * pi * d / delta - d**2 / 2 - log(2) + (p * log(cos(s * d)) if p else 0.0)
        left, right = (delta, right) if gain > nats else (left, delta)
    return left


def stride(s: float, h: float, nats: float, p: float) -> int:
    """How many samples of f_p per outer step h the inner rule needs."""
    return max(1, ceil(h / (s * inner_step(s, nats, p)) * (1 - 1e-3)))
