"""What one would otherwise run for the Bayes risk of spiked-SLR: a trapezoid rule, nested quadrature, Monte Carlo.

Given epsilon, D_l = sqrt(nu) (chi_l - chi_eps) of the n = L - 1 others is Gaussian with mean -nu and covariance
nu (1 + delta), and the risk at Delta = 0 is E[S/(1 + S)], S = sum_l e^{D_l}: one dimension fewer than there are tokens.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable

import mpmath
import numpy as np
from scipy.integrate import nquad


def trapezoid(nu: float, nodes: int = 161, reach: float = 8.5) -> float:
    """A rule of 161 x 161 nodes by hand, for L = 3."""
    t = np.linspace(-reach, reach, nodes)
    h = t[1] - t[0]
    first, second = np.meshgrid(t, t, indexing="ij")
    scale = np.sqrt(nu)
    one = -nu + scale * np.sqrt(2) * first
    two = -nu + scale * (first / np.sqrt(2) + np.sqrt(1.5) * second)
    weight = np.exp(-(first**2 + second**2) / 2) * h * h / (2 * np.pi)
    total = np.exp(one) + np.exp(two)
    return float(np.sum(weight * total / (1 + total)))


def in_the_trapezoids_favour() -> None:
    """Raise the size from which on the C library gives arrays back: below it the rule's cost triples, by page faults."""
    np.ones(4_000_000)


def nested(length: int, nu: float, tolerance: float) -> float:
    """scipy's ``nquad`` over L - 1 independent normals t, with D = sqrt(nu) (t + b sum t) - nu and n b^2 + 2 b = 1."""
    others = length - 1
    root, b = math.sqrt(nu), (math.sqrt(1 + others) - 1) / others
    norm = (2 * math.pi) ** (-others / 2)

    def body(*t: float) -> float:
        shift = b * sum(t)
        total = sum(math.exp(root * (x + shift) - nu) for x in t)
        return norm * math.exp(-0.5 * sum(x * x for x in t)) * total / (1 + total)

    options = {"epsabs": tolerance, "epsrel": tolerance}
    return float(nquad(body, [(-8.0, 8.0)] * others, opts=options)[0])


def nested_mpmath(nu: float) -> float:
    """mpmath's nested quadrature at L = 3, to its 15 digits."""
    root, b = mpmath.sqrt(nu), (mpmath.sqrt(3) - 1) / 2

    def body(s: object, t: object) -> object:
        total = sum(mpmath.exp(root * (x + b * (s + t)) - nu) for x in (s, t))
        return mpmath.exp(-(s * s + t * t) / 2) * total / (1 + total)

    ends = [-9, 0, 9]
    return float(mpmath.quad(body, ends, ends) / (2 * mpmath.pi))


def plain_monte_carlo(nu: float, samples: int, seed: int = 1) -> tuple[float, float]:
    """From the definition at L = 3: the mean and its relative standard error."""
    chi = np.random.default_rng(seed).standard_normal((3, samples))
    root = math.sqrt(nu)
    total = np.exp(root * (chi[1] - chi[0]) - nu) + np.exp(root * (chi[2] - chi[0]) - nu)
    return _mean(total / (1 + total))


def tuned_monte_carlo(nu: float, samples: int, seed: int = 1) -> tuple[float, float]:
    """Importance sampling at L = 3: the mean and its relative standard error.

    By symmetry the risk is 2 E[1/(1 + e^{-D_1} + e^{D_2 - D_1})]. Without D_2 the integrand times its density is
    e^{-nu/4} e^{-D_1^2/(4 nu)} sech(D_1/2)/2 up to a constant, so D_1 is drawn from sech(D_1/2)/(2 pi) and D_2 given D_1.
    """
    rng = np.random.default_rng(seed)
    one = 2 * np.log(np.tan(0.5 * np.pi * rng.random(samples)))
    two = (one - nu) / 2 + math.sqrt(1.5 * nu) * rng.standard_normal(samples)
    density = np.exp(-((one + nu) ** 2) / (4 * nu)) / math.sqrt(4 * math.pi * nu)
    drawn = 1 / (2 * np.pi * np.cosh(one / 2))
    return _mean(2 * density / drawn / (1 + np.exp(-one) + np.exp(two - one)))


def _mean(values: np.ndarray) -> tuple[float, float]:
    mean = float(values.mean())
    return mean, float(values.std()) / mean / math.sqrt(len(values))


def within(limit: float, call: Callable[[], float]) -> tuple[float | None, float]:
    """(result, seconds of the processor); the result is None where the call was stopped at the limit."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    start = time.process_time()
    try:
        result: float | None = call()
    except TimeoutError:
        result = None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return result, time.process_time() - start
