"""Points of one shared mesh: their parameters, and the window of the integrand of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from sympy import Dummy, Expr, default_sort_key, degree, erf, erfc, oo

from symslr.evaluation.laplace.code import LARGE_POWER, Constants, LaplaceCode, log_near_one
from symslr.evaluation.laplace.form import LaplaceForm
from symslr.evaluation.laplace.table import TINY
from symslr.evaluation.numbers.compiled import wright_omega
from symslr.expression.special import NormalCdf

SCAN_NODES = 96
"""Values of t at which the integrand is estimated by the saddle points of its moments."""
MOST_LOOKS = 16
"""Each shortens a window by a factor of five or more, or lengthens it by its span: up to 2^16 times the first guess."""
TILT_FROM = 4.0
"""A weight is tilted towards the tokens that contribute where it lies so many nats below its peak there."""
STEPS = (erf, erfc, NormalCdf)
"""Functions with a smooth step, whose width is about one over the slope of their argument."""


def has_shared_mesh(form: LaplaceForm) -> bool:
    """Whether a form has one exponential kernel on the line, and Gaussian weights times polynomials in x and erf(s x + c)."""
    if len(form.logs) > 1 or len(form.kernels) > 1 or form.kinks[0]:
        return False
    (kernel,) = form.kernels
    if kernel.exponential(form.x) is None or (kernel.lower, kernel.upper) != (-oo, oo):
        return False
    names = {step: Dummy() for step in steps(form)}
    if not all(step.args[0].is_polynomial(form.x) and degree(step.args[0], form.x) == 1 for step in names):
        return False
    return all(
        m.gaussian is not None and m.rest.xreplace(names).is_polynomial(form.x, *names.values()) for m in form.moments
    )


def steps(form: LaplaceForm) -> list[Expr]:
    """The error functions of x in its weights, which a mesh must resolve."""
    found = {step for m in form.moments for step in m.rest.atoms(*STEPS) if step.has(form.x)}
    return sorted(found, key=default_sort_key)


class Points:
    """Parameters ``p`` (parameters, points) and all that depends on them alone.

    Attributes:
        columns: the parameters as columns (points, 1), or as numbers where there is one point.
        coefficients: (terms, points, 1).
        curvature, centre, height: weight i is exp(curvature (x - centre)^2 + height), (moments, points, 1).
        rate, shift: s and log C, with t = v + log C + s x, (points, 1).
        survivors, alternating: the moments that are survival functions, and those whose weights may change sign.
    """

    def __init__(self, code: LaplaceCode, p: Any, table: Any = None) -> None:
        form = code.form
        self.code, self.p = code, p
        self.table = code.constant_table(p) if table is None else table
        self.columns = tuple(p[:, :, None]) if p.shape[1] > 1 else tuple(p[:, 0].tolist())
        self.survivors, self.alternating = form.survivors, form.alternating
        self.constants = Constants.of(form, self.table)
        self.coefficients = self.constants.coefficients[..., None]
        self.curvature, self.centre, self.height = self.constants.gaussians.swapaxes(0, 1)[..., None]
        size, rate = self.constants.exponentials[0, :, :, None]
        self.rate, self.shift = rate, np.log(size)

    @cached_property
    def powers(self) -> Any:
        """|power| of every moment in every active term, (terms, moments, points)."""
        return self.constants.sizes

    @cached_property
    def largest(self) -> Any:
        """The largest power of every moment over all terms and points, (moments,)."""
        return self.powers.max(axis=(0, 2))

    @cached_property
    def power(self) -> float:
        """The largest power of a survival function."""
        return float(self.largest[self.survivors].max()) if self.survivors else 0.0

    def take(self, index: Any) -> Points:
        return Points(self.code, self.p[:, index], self.table[:, index])

    @property
    def fit(self) -> Any:
        """Whether the parameters give finite numbers, a positive kernel and Gaussian weights: (points,)."""
        numbers = np.isfinite(self.table[:-2]).all(axis=0)
        return numbers & (self.constants.exponentials[0, 0] > 0) & (self.curvature < 0).all(axis=0)[:, 0]


@dataclass(frozen=True)
class Places:
    """Per point: the window of t = log(u C), the width of the outer peak, and the tilts of the weights.

    A moment is exp(height - q t) times the correlation of exp(q t - e^t) with its weight: a tilt q moves the Gaussian to the
    tokens that contribute, so that neither factor underflows.

    Attributes:
        low, high, width: (points,).
        tilts: (moments, points).
        found: whether the window ends, (points,).
    """

    low: Any
    high: Any
    width: Any
    tilts: Any
    found: Any

    def take(self, index: Any) -> Places:
        return Places(self.low[index], self.high[index], self.width[index], self.tilts[:, index], self.found[index])


def places(points: Points, depth: float) -> Places:
    """The windows of everything above exp(-depth) of the largest contribution, estimated by saddle points of the moments.

    The scan starts from all tokens that any weight reaches. It goes further out where the integrand goes on, and is repeated on
    a shorter window where the integrand lives on a small part.
    """
    crowd = np.log1p(points.power)
    reach = np.abs(points.rate) * np.sqrt(-(depth + crowd) / points.curvature)
    tops = points.rate * points.centre
    low = -(tops + reach).max(axis=0)[:, 0] - depth - crowd - 8.0
    high = -(tops - reach).min(axis=0)[:, 0] + 8.0
    for _ in range(MOST_LOOKS):
        found = _seen(points, depth, low, high)
        span = high - low
        starts, stops = found.low > low, found.high < high
        inside = starts & stops
        closer = inside & (found.high - found.low < 0.2 * span)
        if (inside & ~closer).all():
            break
        low = np.where(closer, found.low, np.where(starts, low, low - span))
        high = np.where(closer, found.high, np.where(stops, high, high + span))
    return found


def _seen(points: Points, depth: float, low: Any, high: Any) -> Places:
    """The windows on equal steps from low to high; one that does not end there is marked as not found."""
    rate, curvature, centre = points.rate, points.curvature, points.centre
    step = (high - low) / (SCAN_NODES - 1)
    t = low[:, None] + step[:, None] * np.arange(SCAN_NODES)
    logs, tokens = saddle(t, rate, curvature, centre, points.height)
    if points.power > LARGE_POWER:
        for i in points.survivors:
            logs[i] = log_survival(t, rate, curvature[i], centre[i])
    size = _logarithm(points, t - points.shift, list(logs))
    every = np.arange(len(size))
    peak = size.argmax(axis=1)
    largest = size[every, peak]
    inside = size > largest[:, None] - depth
    first, last = inside.argmax(axis=1), SCAN_NODES - 1 - inside[:, ::-1].argmax(axis=1)
    bend = size[every, peak - 1] + size[every, (peak + 1) % SCAN_NODES] - 2.0 * largest
    moved = tokens[:, every, peak] - centre[:, :, 0]
    turned = 2.0 * curvature[:, :, 0] * moved
    tilted = -turned * moved > 2.0 * TILT_FROM
    tilted[points.survivors] = False
    ended = (first > 0) & (last < SCAN_NODES - 1)
    return Places(
        low + step * (first - 1.0),
        high - step * (SCAN_NODES - 2.0 - last),
        step / np.sqrt(-bend),
        np.where(tilted, turned / rate[:, 0], 0.0),
        ended,
    )


def _logarithm(points: Points, v: Any, logs: list[Any]) -> Any:
    """log |outer integrand|, its largest term: (points, nodes)."""
    ones = [1.0] * len(logs)
    terms = points.code.terms([v], ones, logs, logs, points.columns)
    sizes = [e + np.log(np.abs(rest * c)) for (e, rest), c in zip(terms, points.coefficients)]
    return sizes[0] if len(sizes) == 1 else np.fmax.reduce(np.broadcast_arrays(*sizes))


def saddle(t: Any, rate: Any, curvature: Any, centre: Any, height: Any) -> tuple[Any, Any]:
    """(log M up to a constant, x at the saddle); the arguments broadcast, ``curvature`` = -1/(2 w^2) < 0.

        M(u) = integral of exp(height - (x - c)^2/(2 w^2)) e^{-u C e^{s x}},  t = log(u C)

    has its saddle at x = c - s w^2 e^{t + s c - y} with y e^y = s^2 w^2 e^{t + s c}. This estimate places a mesh and is never a
    value. Source: Asmussen, Jensen and Rojas-Nandayapa, "On the Laplace transform of the lognormal distribution" (2016), for s
    of either sign.
    """
    start = t + rate * centre
    variance = -0.5 / curvature
    y = wright_omega(start + np.log(rate * rate * variance))
    load = np.exp(start - y)
    moved = rate * variance * load
    return height + curvature * moved * moved - load - 0.5 * np.log1p(y), centre - moved


def log_survival(t: Any, rate: Any, curvature: Any, centre: Any) -> Any:
    """log E[e^{-u C e^{s x}}] for a Gaussian x, accurate in both tails: where M is near 1, 1 - M is E[min(1, u C e^{s x})]."""
    start = t + rate * centre
    spread = np.abs(rate) * np.sqrt(-0.5 / curvature) + TINY
    edge = -start / spread
    special = scipy.special
    missing = special.ndtr(-edge) + np.exp(start + 0.5 * spread * spread + special.log_ndtr(edge - spread))
    far, _ = saddle(t, rate, curvature, centre, 0.0)
    return log_near_one(missing, np.minimum(far, 0.0))
