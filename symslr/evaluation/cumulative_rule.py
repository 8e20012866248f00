"""Cumulative forms in numbers: the trapezoid rule in v = log u and x, sinc integration for what lies below x.

Source of the running rule: F. Stenger, Numerical Methods Based on Sinc and Analytic Functions, section 4.5: with step h,
int_{-oo}^{kh} f = h sum_l f(lh) (1/2 + Si(pi (k - l))/pi), geometrically convergent like the trapezoid rule itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import mpmath
import numpy as np
from flint import fmpz_mat
from scipy.special import sici
from sympy import Symbol

from symslr.evaluation.arithmetic import Arithmetic, Float64
from symslr.evaluation.convergence import geometric_error
from symslr.evaluation.cumulative_form import CumulativeForm, sizes
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.logarithm import signed_log
from symslr.evaluation.node import Context, Node, Pair
from symslr.evaluation.scan import scan

FLOAT = Float64()
MOST_TOKENS = 1_600
COARSE = 48


@final
class CumulativeNode(Node):
    """An integral conditioned on the largest token."""

    def __init__(self, form: CumulativeForm, parameters: tuple[Symbol, ...]) -> None:
        self.form, self.parameters = form, parameters
        self._codes: dict[str, Any] = {}
        inner = (form.x, *parameters)
        self._log_weights = [(signed_log(r.rest, inner), r.exponent) for r in form.running]

    def code(self, arithmetic: Arithmetic) -> tuple[Any, Any, Any, Any]:
        """(log kappa, weights, outer terms, sizes) as functions."""
        if arithmetic.name not in self._codes:
            form = self.form
            inner = (form.x, *self.parameters)
            outer = (
                form.log_u,
                form.x,
                *(r.log for r in form.running),
                *(r.scale for r in form.running),
                *self.parameters,
            )
            self._codes[arithmetic.name] = (
                arithmetic.compile(inner, [form.kappa]),
                arithmetic.compile(inner, [e for r in form.running for e in (r.exponent, r.rest)]),
                arithmetic.compile(outer, [e for t in form.terms for e in (t.exponent, t.rest)]),
                arithmetic.compile(outer, sizes(form)),
            )
        return self._codes[arithmetic.name]

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        with np.errstate(all="ignore"):
            return _Run(self, context, tuple(scope[s][0] for s in self.parameters)).run()


class _Run:
    def __init__(self, node: CumulativeNode, context: Context, p: tuple[Any, ...]) -> None:
        self.node, self.form, self.arithmetic = node, node.form, context.arithmetic
        self.tolerance, self.p = context.tolerance, p
        self.decay = float(-mpmath.log(context.tolerance))
        self.depth = self.decay + 12.0

    def run(self) -> Pair:
        low, high = self._tokens()
        start, stop = self._window(low, high)
        outer_step, inner_step = 7.1 / (2.0 + self.decay), min((high - low) / 40.0, 8.0 / (2.0 + self.decay))
        for _ in range(12):
            tokens = 4 * int(np.ceil((high - low) / inner_step / 4))
            if tokens > MOST_TOKENS:
                raise CannotEvaluate("the running integrals need too many nodes: the kernel is too steep")
            rows = 4 * int(np.ceil((stop - start) / outer_step / 4))
            number = self.arithmetic.number
            h, H = (number(high) - number(low)) / tokens, (number(stop) - number(start)) / rows
            v = number(start) + H * self.arithmetic.integers(0, rows + 1)
            x = number(low) + h * self.arithmetic.integers(0, tokens + 1)
            values, rounding = self._integrand(self.arithmetic, v, x, h, self.p)
            few = slice(None, None, 4)
            coarse = [self._integrand(self.arithmetic, v[few], x[::n], h * n, self.p)[0] for n in (2, 4)]
            mass = np.sum(abs(values))
            if not mass > 0:
                raise CannotEvaluate("the outer integrand vanishes")
            quarter, half, full = (np.sum(values[::n]) * n for n in (4, 2, 1))
            outer = geometric_error(quarter, half, full, mass)
            thin = np.sum(abs(values[few]))
            near, far = np.sum(abs(coarse[0] - values[few])) / thin, np.sum(abs(coarse[1] - coarse[0])) / thin
            inner = geometric_error(near + far, near, near * 0, 1)
            if outer < self.tolerance and inner < self.tolerance:
                edge = 8 * (abs(values[0]) + abs(values[-1])) / mass
                return full * H, mass * H * (outer + inner + edge + rounding)
            outer_step /= 1.5 if outer >= self.tolerance else 1.0
            inner_step /= 1.5 if inner >= self.tolerance else 1.0
        raise CannotEvaluate("the integral conditioned on the largest token does not converge geometrically")

    def _integrand(self, arithmetic: Arithmetic, v: Any, x: Any, h: Any, p: tuple[Any, ...]) -> tuple[Any, Any]:
        """Values on the outer mesh and the relative rounding error."""
        kappa, weights, terms, size = self.node.code(arithmetic)
        load = arithmetic.exp(v)[:, None] * (kappa(x, *p)[0] + 0 * x)[None, :]
        table = arithmetic.exp(-load)
        parts = weights(x, *p)
        logs, scales, powers = [], [], arithmetic.number(0)
        running = _running_rule(arithmetic, len(x))
        for exponent, rest in zip(parts[::2], parts[1::2]):
            top = max(exponent + 0 * x)
            row = arithmetic.exp(exponent - top) * rest * h
            below = _product(arithmetic, table * row[None, :], running)
            floor = arithmetic.eps * arithmetic.number(1e-3)
            logs.append(arithmetic.log(np.where(below > floor, below, floor)))
            scales.append(top)
        arguments = (v[:, None], x[None, :], *logs, *scales, *p)
        values = terms(*arguments)
        total = sum(arithmetic.exp(e) * r for e, r in zip(values[::2], values[1::2])) + 0 * load
        if arithmetic.name == "numpy":
            total = np.where(np.isnan(total), 0.0, total)
        peak = np.unravel_index(int(np.argmax(np.abs(total))), total.shape)
        at = (v[peak[0]], x[peak[1]], *(g[peak] for g in logs), *scales, *p)
        power = max((abs(float(c)) for c in self._powers(p)), default=0.0)
        powers = 16 + 4 * max(float(s) for s in size(*at)) + 16 * power
        return np.sum(total, axis=1) * h, arithmetic.eps * powers

    def _powers(self, p: tuple[Any, ...]) -> list[Any]:
        """Powers of the running integrals in the terms."""
        exprs = [t.exponent.coeff(r.log, 1) for t in self.form.terms for r in self.form.running]
        if "powers" not in self.node._codes:
            self.node._codes["powers"] = FLOAT.compile(self.node.parameters, exprs)
        return list(self.node._codes["powers"](*(float(value) for value in p)))

    def _tokens(self) -> tuple[float, float]:
        """Where the weights live."""
        p = tuple(float(value) for value in self.p)
        low, high = float(self.form.law.lower), float(self.form.law.upper)
        if np.isfinite(low) or np.isfinite(high):
            raise CannotEvaluate("running integrals are evaluated for token laws on the whole line")
        weights = self.node.code(FLOAT)[1]
        windows = []
        for n, (log_rest, _) in enumerate(self.node._log_weights):

            def log_weight(x: Any, n: int = n, log_rest: Any = log_rest) -> Any:
                return weights(x, *p)[2 * n] + log_rest(x, *p)[1] + 0 * x

            window = scan(log_weight, low, high, self.depth)
            if window is None or window.is_heavy:
                raise CannotEvaluate("running integrals are evaluated for token laws with light tails")
            windows.append(window)
        return min(w.low for w in windows), max(w.high for w in windows)

    def _window(self, low: float, high: float) -> tuple[float, float]:
        """The part of v that matters."""
        p = tuple(float(value) for value in self.p)
        x = np.linspace(low, high, 161)
        kappa = self.node.code(FLOAT)[0](x, *p)[0] + 0 * x
        sizes_ = np.log(kappa[kappa > 0])
        start, stop = -float(np.max(sizes_)) - self.depth, -float(np.min(sizes_)) + 6.0
        for _ in range(12):
            v = np.linspace(start, stop, COARSE)
            values = np.abs(self._integrand(FLOAT, v, x, x[1] - x[0], p)[0])
            inside = np.flatnonzero(np.log(values) > np.log(np.max(values)) - self.depth)
            if not len(inside):
                raise CannotEvaluate("the outer integrand vanishes in float64")
            step = v[1] - v[0]
            first = start - (stop - start) / 2 if inside[0] == 0 else v[inside[0]] - step
            last = stop + (stop - start) / 2 if inside[-1] == COARSE - 1 else v[inside[-1]] + step
            if first >= start and last <= stop and last - first > 0.6 * (stop - start):
                return float(first), float(last)
            start, stop = float(first), float(last)
        return start, stop


def _running_rule(arithmetic: Arithmetic, count: int) -> Any:
    """The matrix 1/2 + Si(pi (l - k))/pi that maps values at x_k to running sums up to x_l."""
    if isinstance(arithmetic, Float64):
        line = 0.5 + sici(np.pi * np.arange(-count + 1, count))[0] / np.pi
    else:
        positive = [mpmath.si(mpmath.pi * n) / mpmath.pi for n in range(count)]
        half = mpmath.mpf(1) / 2
        line = np.array([half - s for s in positive[:0:-1]] + [half + s for s in positive], dtype=object)
    index = np.arange(count)[None, :] - np.arange(count)[:, None] + count - 1
    return line[index]


def _product(arithmetic: Arithmetic, left: Any, right: Any) -> Any:
    """A matrix product; in fixed point for multiprecision."""
    if isinstance(arithmetic, Float64):
        return left @ right
    bits = mpmath.mp.prec + 16
    top = mpmath.frexp(max(abs(w) for w in left.ravel()))[1]
    one = fmpz_mat([[int(mpmath.ldexp(w, bits - top)) for w in row] for row in left])
    two = fmpz_mat([[int(mpmath.ldexp(w, bits)) for w in row] for row in right])
    unit = mpmath.ldexp(1, top - 2 * bits)
    return np.array([[mpmath.mpf(int(n)) * unit for n in row] for row in (one * two).tolist()], dtype=object)
