"""Laplace integrals as functions of a scale: Taylor models over an interval of it.

The rules of ``analytic`` are finite sums, analytic in the scale, and their errors are bounded at every scale of an interval.
So the sums are expanded at a centre, the last coefficient is enclosed over the whole interval, and the errors are added:
docs/proofs.md, section 8.
"""

from __future__ import annotations

from math import floor, log
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_poly, arb_series

from symslr.evaluation.certified.analytic.integral import Integrand, Transform
from symslr.evaluation.certified.analytic.line import Line
from symslr.evaluation.certified.analytic.proof import enclosed
from symslr.evaluation.certified.exponential.integral import outer_error
from symslr.evaluation.certified.exponential.steps import outer_strip
from symslr.evaluation.certified.least.series import Series, series_power, terms
from symslr.evaluation.certified.least.taylor import Taylor
from symslr.evaluation.numbers.elementary import Between


class MovingTransform(Transform):
    """The functions M_j of one line at every scale of an interval.

    ``at`` of the base class encloses them there, so that its bounds of the tails hold throughout.

    Args:
        line: with ``scale`` in its kernel or factors.
        nats: errors of about e^-nats in the M_j.
        goal: errors of about e^-goal of an integral in its tails.
        scale: holds the interval.
    """

    def __init__(self, line: Line, nats: float, goal: float, scale: Between) -> None:
        self.scale, self.goal = scale, goal
        super().__init__(line, nats)
        self.windows: dict[Integrand, tuple[range, Any, Any]] = {}
        self.loads: dict[Any, Any] = {}
        self.is_kernel_moving = line.kernel.has(scale)

    def model(self, integrand: Integrand, sums: Sums) -> Taylor:
        """The model of int_0^oo u^{k-1} e^{-ou} prod_j M_j(u)^{n_j} du, from the sums of a part of the interval."""
        window, off, tails = self._kept_window(integrand)
        step, length = arb(self.step), sums.length
        thin = self._sum(sums.thin, integrand, window, length)
        wide = self._sum(sums.wide, integrand, window, length + 1)
        rest = step * (wide[length] * sums.spread + arb(0, off.upper()) + tails * arb(0.5, 0.5))
        error = outer_error(integrand.k, step, outer_strip(float(integrand.k), self.step))
        around = abs(step * (wide[0] + arb(0, (off + tails).upper()))) * error / (1 - error)
        rest += arb(0, around.upper())
        return sums.model([step * thin[i] for i in range(length)], rest)

    def value(self, j: int, sums: Sums) -> Taylor:
        """The model of M_j(0)."""
        thin, wide = sums.thin.at(None, arb(0))[j], sums.wide.at(None, arb(0))[j]
        rest = wide[sums.length] * sums.spread + arb(0, self.rule.errors[j])
        return sums.model([thin[i] for i in range(sums.length)], rest)

    def missing_nats(self, integrand: Integrand) -> float:
        """How much smaller the errors of the M_j have to be for an integral to about e^-goal; 0 where they are."""
        needed = self.needed_nats(integrand, self.goal) - self.nats
        if needed > 0:
            return needed
        _, off, _ = self._kept_window(integrand)
        size = float(np.logaddexp.reduce(self._log_terms(integrand))) + log(0.25 / self.step)
        return max(0.0, float(off.log()) - size + self.goal)

    def _kept_window(self, integrand: Integrand) -> tuple[range, Any, Any]:
        if integrand not in self.windows:
            self.windows[integrand] = self._window(integrand)
        return self.windows[integrand]

    def _window(self, integrand: Integrand) -> tuple[range, Any, Any]:
        """The nodes, and bounds of what the errors of the M_j change in their sum and of the nodes beyond."""
        planned = self._log_terms(integrand)
        size = float(np.logaddexp.reduce(planned)) + log(0.25)
        zero = sum(n * self.logs[j][0] for j, n in enumerate(integrand.copies) if n)
        low = floor(((size - self.goal - max(zero, 0.0)) / float(integrand.k) - 2) / self.step)
        high, frozen, powers = self._right_end(integrand, planned, size - self.goal)
        window = range(low, high + 1)
        off = sum((self._off(integrand, i) for i in window), arb(0))
        return window, off, self._left_tail(integrand, low) + self._right_tail(integrand, high, frozen, powers)

    def _weight(self, integrand: Integrand, i: int) -> Any:
        v = i * arb(self.step)
        exponent = integrand.k * v
        if not integrand.offset.is_zero():
            exponent -= integrand.offset * v.exp()
        return exponent.exp()

    def _sum(self, sums: FiniteSums, integrand: Integrand, window: range, length: int) -> Any:
        """sum over the window of the integrand of the finite sums, as a series."""
        step = arb(self.step)
        with terms(length):
            total = arb_series([0])
            for i in window:
                product = arb_series([self._weight(integrand, i)])
                for n, moment in zip(integrand.copies, sums.at(i, (i * step).exp())):
                    if n:
                        product = product * series_power(moment, n)
                total = total + product
            return total

    def _off(self, integrand: Integrand, i: int) -> Any:
        """A ball above the change of a node of the outer sum by the errors of the M_j, at every scale."""
        above = [abs(moment).upper() for moment in self.at(i)]
        total = arb(0)
        for j, n in enumerate(integrand.copies):
            if n:
                change = n * self.rule.errors[j] * above[j] ** (n - 1)
                for other, copies in enumerate(integrand.copies):
                    if copies and other != j:
                        change *= above[other] ** copies
                total += change
        return total * self._weight(integrand, i)


class FiniteSums:
    """The sums M_j(u) = step sum_i F_j(x_i) e^{-u K(x_i)} of one rule, as series in the scale.

    Args:
        transform: whose rule it is.
        at: where the series begin: a number, or a whole interval.
        length: terms kept.
    """

    def __init__(self, transform: MovingTransform, at: Any, length: int) -> None:
        rule, line = transform.rule, transform.line
        self.transform, self.length = transform, length
        self.known: dict[Any, list[Any]] = {}
        self.orders = range(length if transform.is_kernel_moving else 1)
        self.kernel, rows = [], []
        series = Series(transform.scale, at)
        with terms(length):
            for x in rule.nodes:
                kernel = enclosed(line.kernel, line.variable, arb_series([x]), series)
                factors = [enclosed(f, line.variable, arb_series([x]), series) * rule.step for f in line.factors]
                self.kernel.append(kernel[0])
                rows.append(self._moments(kernel - arb_series([kernel[0]]), factors))
        self.weights = arb_mat(rows)

    def _moments(self, change: Any, factors: list[Any]) -> list[Any]:
        """Coefficients of F_j (K - K_0)^m from t^m on, for every j and m."""
        powers = [arb_series([1])]
        for _ in self.orders[1:]:
            powers.append(powers[-1] * change)
        products = ((m, factor * power) for factor in factors for m, power in enumerate(powers))
        return [product[k] for m, product in products for k in range(m, self.length)]

    def at(self, key: Any, u: Any) -> list[Any]:
        """The series of M_j(u) for every factor; ``key`` names u."""
        if key not in self.known:
            self.known[key] = self._at(key, u)
        return self.known[key]

    def _at(self, key: Any, u: Any) -> list[Any]:
        minus = -u
        row = self._loads(key, minus) * self.weights
        powers = [arb(1)]
        for m in self.orders[1:]:
            powers.append(powers[-1] * minus / m)
        found, place = [], 0
        for _ in self.transform.line.factors:
            coefficients = [arb(0)] * self.length
            for m in self.orders:
                for k in range(m, self.length):
                    coefficients[k] += powers[m] * row[0, place]
                    place += 1
            found.append(arb_series(coefficients, self.length))
        return found

    def _loads(self, key: Any, minus: Any) -> Any:
        """e^{-uK} at the nodes; kept where the kernel does not move."""
        if self.transform.is_kernel_moving:
            return arb_mat([[(minus * k).exp() for k in self.kernel]])
        loads = self.transform.loads
        if key not in loads:
            loads[key] = arb_mat([[(minus * k).exp() for k in self.kernel]])
        return loads[key]


class Sums:
    """The finite sums of a transform at the centre of a part of its interval, and over the whole part.

    Args:
        transform: of an interval that holds the part.
        centre, radius: of the part, exact.
        length: terms of the models.
    """

    def __init__(self, transform: MovingTransform, centre: Any, radius: Any, length: int) -> None:
        self.radius, self.length = radius, length
        self.spread = arb(0, radius**length)
        self.thin = FiniteSums(transform, centre, length)
        self.wide = FiniteSums(transform, centre + arb(0, radius), length + 1)

    def model(self, coefficients: list[Any], rest: Any) -> Taylor:
        return Taylor(arb_poly(coefficients), rest, self.radius, self.length)
