"""Laplace integrals in balls: proved enclosures, to any number of digits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as grid
from math import ceil, e, exp, inf, lgamma, log
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from symslr.evaluation.errors import TooManyDigits
from symslr.evaluation.numbers.balls import exponentials
from symslr.evaluation.panels.integral import SPARE, Integrals, Summand
from symslr.evaluation.panels.moments import Factor, Moments
from symslr.evaluation.panels.tokens import SLACK

GUARD = 40
"""Bits beyond those of the digits: sums of a million terms lose 20."""
MOST_BALLS = 40_000_000
"""Products of balls in all tables: some ten seconds."""
IN_MATRICES = 25
"""So many times more where tables of two variables are multiplied, those of all factors together: a billion take 17 s."""
MOST_TAYLOR = 24
"""Terms of the series of a token integral in u, which is taken at small u."""


class BallIntegrals(Integrals):
    """See the module's docstring."""

    def __init__(self, moments: Moments, p: Sequence[Any], nats: float) -> None:
        super().__init__(moments, p, nats, ceil(nats / log(2)) + GUARD)

    def prepare(self) -> None:
        self._rows_known: dict[Any, Any] = {}
        self.used = sorted({f for t in self.summands if t.sign for f in t.factors})

    def step(self, largest: float) -> float:
        """log 2 over a whole number: an octave further e^{-u kappa} is a square."""
        return log(2) / ceil(log(2) / largest)

    def sums_on(self, axes: list[tuple[float, int, float]], ends: float) -> list[tuple[Any, Any, float]]:
        bits = self.bits + ceil(self.extra / log(2))
        with ctx.workprec(bits):
            return self._sums(axes, ends)

    def _sums(self, axes: list[tuple[float, int, float]], ends: float) -> list[tuple[Any, Any, float]]:
        if not axes:
            return [(arb(0), arb(0), 0.0)] * len(self.moments.integrals)
        steps = [step for *_, step in axes]
        octaves = [round(log(2) / step) for step in steps]
        lattices = [
            [arb.const_log2() * n / m for n in range(round(first / step), round(first / step) + count + 1)]
            for (first, count, step), m in zip(axes, octaves)
        ]
        work = float(np.prod([len(v) for v in lattices])) * max(len(own.weights[0]) for own in self.nodes)
        if work * (1 if len(axes) == 1 else len(self.used) / IN_MATRICES) > MOST_BALLS:
            raise TooManyDigits(f"tables of {work:.0e} balls are too large; ask for fewer digits or a smaller scale")
        tables = (
            self._lines(lattices[0], octaves[0], axes[0]) if len(axes) == 1 else self._planes(lattices, octaves, axes)
        )
        tables = {f: self._with_errors(f, own, lattices) for f, own in tables.items()}
        measure = arb(1)
        for m in octaves:
            measure *= arb.const_log2() / m
        totals = []
        for t in self.summands:
            total = arb(0)
            if t.sign:
                factors = [(tables[f], n) for f, n in zip(t.factors, t.powers)]
                offsets = [self._offset(t, axis, v) for axis, v in enumerate(lattices)]
                for place in grid(*(range(len(v)) for v in lattices)):
                    term = arb(1)
                    for n, own in zip(place, offsets):
                        term *= own[n]
                    for table, n in factors:
                        own = table[place[0]] if len(place) == 1 else table[place[0]][place[1]]
                        term *= own**n
                    total += term
            totals.append(total)
        return [self._integral(own, totals, measure, steps, ends) for own in self.moments.integrals]

    def _integral(self, own: Sequence[int], totals: list[Any], measure: Any, steps: list[float], ends: float) -> Any:
        whole, bound = arb(0), arb(0)
        for n in own:
            t = self.summands[n]
            if t.sign:
                eps = self.relative_error(t, steps)
                size = self._absolute(t) if self._is_signed(t) else abs(measure * totals[n]).upper()
                off = size * arb(eps).upper() + arb(ends).upper()
                whole += t.sign * t.scale * (measure * totals[n] + arb(0, off.upper()))
                bound += t.scale
        small = 0.0
        if bound > 0 and not whole.contains(0):
            small = float((abs(whole.mid()) / bound).log())
        return whole.mid(), whole.rad(), small

    def _is_signed(self, t: Summand) -> bool:
        factors = [self.moments.factors[f] for f in t.factors]
        return any(self.nodes[f.kernel].are_signed[f.weight] for f in factors)

    def _absolute(self, t: Summand) -> Any:
        """A bound of the integral of the absolute value of a term: that of its weights, Gamma(k) in every variable."""
        factors = [self.moments.factors[f] for f in t.factors]
        whole = sum(
            n
            * float(
                np.logaddexp(
                    np.logaddexp.reduce(self.nodes[f.kernel].tops[f.weight]), self.nodes[f.kernel].lost[f.weight]
                )
            )
            for f, n in zip(factors, t.powers)
        )
        return arb(exp(whole + sum(lgamma(max(k, 1)) for k in t.exponents) + SLACK)).upper()

    def _offset(self, t: Summand, axis: int, lattice: list[Any]) -> list[Any]:
        o, r = t.offsets[axis], t.residues[axis]
        if not o > 0:
            return [arb(1)] * len(lattice)
        loads = [v.exp() * o for v in lattice]
        return [load**r * (-load).exp() for load in loads]

    def _with_errors(self, f: int, table: Any, lattices: list[list[Any]]) -> Any:
        """T of a factor on all nodes with the bounds of discretisation and of what is left out."""
        errors = self._errors(self.moments.factors[f], lattices)
        if len(lattices) == 1:
            return [value + arb(0, error) for value, error in zip(table, errors)]
        return [[value + arb(0, error) for value, error in zip(*both)] for both in zip(table, errors)]

    def _planes(
        self, lattices: list[list[Any]], octaves: list[int], axes: list[tuple[float, int, float]]
    ) -> dict[int, Any]:
        """sum over tokens of weight times (u kappa)^m e^{-u kappa} in both variables, of every factor."""
        rows: dict[tuple[int, int, int], Any] = {}
        found = {}
        for f in self.used:
            factor = self.moments.factors[f]
            nodes, own = self.nodes[factor.kernel], []
            for n, m in enumerate(factor.degrees):
                key = factor.kernel, n, m
                if key not in rows:
                    rows[key] = self._rows(nodes.kernels[n], m, lattices[n], octaves[n], axes[n])
                own.append(rows[key])
            weights = nodes.weights[factor.weight]
            left = arb_mat([[value * w for value, w in zip(row, weights)] for row in own[0]])
            product = left * arb_mat(own[1]).transpose()
            found[f] = [[product[i, j] for j in range(len(own[1]))] for i in range(len(own[0]))]
        return found

    def _lines(self, lattice: list[Any], octave: int, axis: tuple[float, int, float]) -> dict[int, Any]:
        """sum over tokens of weight (u kappa)^m e^{-u kappa} of every factor, by a series where u is small."""
        found: dict[int, Any] = {}
        for kernel, nodes in enumerate(self.nodes):
            own = [f for f in self.used if self.moments.factors[f].kernel == kernel]
            factors = [self.moments.factors[f] for f in own]
            series = [self._series(nodes.weights[t.weight], nodes.kernels[0], t.degrees[0], lattice) for t in factors]
            split = min((places for *_, places in series), default=0)
            split = min(split, len(lattice) - 1)
            later = lattice[split:]
            first = (axis[0] + split * axis[2], len(later), axis[2])
            for m in sorted({t.degrees[0] for t in factors}):
                columns = [n for n, t in enumerate(factors) if t.degrees[0] == m]
                rows = arb_mat(self._rows(nodes.kernels[0], m, later, octave, first))
                weights = arb_mat([nodes.weights[factors[n].weight] for n in columns]).transpose()
                product = rows * weights
                for place, n in enumerate(columns):
                    small = [_polynomial(series[n], v.exp(), m) for v in lattice[:split]]
                    found[own[n]] = small + [product[i, place] for i in range(len(later))]
        return found

    def _rows(self, kernel: list[Any], m: int, lattice: list[Any], octave: int, axis: tuple[float, int, float]) -> Any:
        """(u kappa)^m e^{-u kappa} of every node of v, rows over the tokens."""
        key = id(kernel), round(axis[0] / axis[2]), octave, len(lattice), m
        if key not in self._rows_known:
            if m == 0:
                self._rows_known[key] = exponentials(kernel, *key[1:-1])
            else:
                before, sizes = self._rows(kernel, m - 1, lattice, octave, axis), [v.exp() for v in lattice]
                self._rows_known[key] = [
                    [u * kappa * own for kappa, own in zip(kernel, row)] for u, row in zip(sizes, before)
                ]
        return self._rows_known[key]

    def _series(self, weights: list[Any], kernel: list[Any], m: int, lattice: list[Any]) -> tuple[list[Any], Any, int]:
        """(coefficients of sum w kappa^m e^{-u kappa} in u, bound of the next, number of nodes at which they suffice)."""
        power = [w * kappa**m for w, kappa in zip(weights, kernel)]
        terms = []
        for r in range(MOST_TAYLOR):
            terms.append(sum(power, arb(0)) * (-1) ** r)
            power = [own * kappa / (r + 1) for own, kappa in zip(power, kernel)]
        rest = sum((abs(own) for own in power), arb(0)).upper()
        if not rest > 0:
            return [arb(0)], arb(0), 0
        top = float(((-(self.nats + self.extra + SPARE) - m) - rest.log()).mid()) / (MOST_TAYLOR + m)
        split = sum(1 for v in lattice if float(v) < top)
        return terms, rest, split

    def _errors(self, factor: Factor, lattices: list[list[Any]]) -> Any:
        """Bounds of discretisation and of what is left out, on all nodes."""
        nodes, panels = self.nodes[factor.kernel], self.nodes[factor.kernel].panels
        logs = nodes.errors[factor.weight]
        worst = sum(m * log(m / e) for m in factor.degrees if m)
        for axis, (lattice, m) in enumerate(zip(lattices, factor.degrees)):
            v = np.array([float(own) for own in lattice])
            own = m * (v[:, None] + panels.high[axis]) - np.exp(np.minimum(v[:, None] + panels.low[axis], 700.0))
            shape = [1] * len(lattices) + [own.shape[1]]
            shape[axis] = len(v)
            logs = logs + own.reshape(shape)
        total = np.logaddexp(np.logaddexp.reduce(logs, axis=-1), nodes.lost[factor.weight] + worst) + SLACK * 10
        return _balls(total)


def _polynomial(series: tuple[list[Any], Any, int], u: Any, m: int) -> Any:
    """u^m times the sum of the series, with its remainder."""
    terms, rest, _ = series
    total = arb(0)
    for c in reversed(terms):
        total = total * u + c
    return (total + arb(0, (rest * u ** len(terms)).upper())) * u**m


def _balls(logs: Any) -> Any:
    """Upper bounds e^log, however small."""
    found = np.empty(logs.shape, dtype=object)
    for place in np.ndindex(logs.shape):
        found[place] = arb(float(logs[place])).exp().upper() if logs[place] > -inf else arb(0)
    return found
