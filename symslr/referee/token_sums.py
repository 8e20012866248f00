"""Means of functions of a few tokens and of one sum over all tokens, at any length: the law of the sum, token by token.

E F(x_1, S) with S = h(x_1) + ... + h(x_n) and iid tokens: H_0(s) = E F(x, s + h(x)), then H_k(s) = E H_{k-1}(s + h(x)) for each
further token, and H_{n-1}(0) is the mean. Each H is a table on a grid in log s, so one more token is one more product with a
matrix. It is the definition summed in another order: nothing is transformed, only h > 0 is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Basic, Expr, S

from symslr.expression.expectation import SequenceExpectation
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import x
from symslr.referee.arithmetic import Array
from symslr.referee.axes import SCAN, pieces, stacked
from symslr.referee.kinks import token_breaks, token_peaks
from symslr.referee.scope import Frame, Scope
from symslr.referee.sum_terms import TOKENS, TOTAL, Reading, Term, read
from symslr.referee.work import METER

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

REACH = 14.0
"""Standard deviations over which a token is integrated."""

FAR = 60.0
"""The same for a token whose weight shifts it, before its range is looked for."""

STEPS = {False: (0.15, 0.14), True: (0.12, 0.112)}
"""Steps in the token and in log s, of the first and of the second sum."""

STEEP = 0.6
"""Step in the token times the slope of log h at which sums over steps have thirteen digits, as exp(-2 pi^2/0.6) says."""

STEEP_WITHIN, MOST_SHARPER = 8.0, 12.0

MAPPED = 2.5
"""How much shorter steps are along a map onto a token with heavy tails or kinks."""

SEARCHED, COARSER = 1e-7, 2.5
"""A tolerance from which on, in the search for a minimum, steps may be this much longer."""

STENCIL = 14
"""Points of the local interpolation in log s."""

LAGRANGE = np.array([(-1.0) ** i / (factorial(i) * factorial(STENCIL - 1 - i)) for i in range(STENCIL)])
"""Barycentric weights of equal steps."""

PER_ENTRY = 8
"""Operations for each number of a stencil."""

ROWS = 32
"""Of a matrix that are made at once."""

NOTHING_BESIDE = 1e-17
"""What is smaller by this factor is lost when it is added in double precision."""

MOST_PLACES, MOST_TOKENS, MOST_ROWS = 3000, 1000, 64
LONGEST = 0.45
"""Step in log s beyond which nothing is resolved."""

NEGLIGIBLE = 1e-18

NOISE = 2e-13
"""Relative error that each token adds beside what two sums show: 1.5e-11 was measured at 100 tokens."""


def summed(self: Interpreter, node: SequenceExpectation, scope: Scope, length: int) -> Array | None:
    """E_g[body] by the law of the one sum that the body is not affine in; None for a body of another kind."""
    reading = read(node, length) if length <= MOST_TOKENS else None
    if reading is None or token_peaks(self, node, scope):  # the law of a sum is told from equal steps
        return None
    if scope.depth == 0:
        return _mean(reading, self, scope, token_breaks(self, node, scope))
    rows = _rows(scope)
    if rows is None:
        return None
    shape, scopes = rows
    values = [_mean(reading, self, inner, token_breaks(self, node, inner)) for inner in scopes]
    return None if any(value is None for value in values) else np.array(values, dtype=float).reshape(shape)


def _mean(reading: Reading, reader: Interpreter, scope: Scope, breaks: tuple[Fraction, ...]) -> float | None:
    """The mean; the functions of a token have kinks at ``breaks``."""
    total = 0.0
    for term in reading.terms:
        try:
            value = _Table(reader, scope, reading.summand, term, _TokenLaw(reading.base, breaks)).mean()
        except _DiesOutNowhere:
            return None
        if value is None or not np.isfinite(value):
            return None
        reader.quadrature.magnitude = max(reader.quadrature.magnitude, abs(value))
        reader.quadrature.noise = max(reader.quadrature.noise, NOISE * (term.rest + len(term.factors)) * abs(value))
        total += value
    return total


def _rows(scope: Scope) -> tuple[tuple[int, ...], list[Scope]] | None:
    """A scope for every point of the grid around, where those are few and the arrays are parameters."""
    bound: dict[Basic, Any] = {}
    frame: Frame | None = scope.frame
    while frame is not None:
        bound = {**frame.bound, **bound}
        frame = frame.parent
    if any(isinstance(value, list) for value in bound.values()):
        return None
    arrays = {symbol: value for symbol, value in bound.items() if np.ndim(value) > 0}
    shape = np.broadcast_shapes(*(np.shape(value) for value in arrays.values()))
    if int(np.prod(shape)) > MOST_ROWS:
        return None
    spread = {symbol: np.broadcast_to(value, shape).ravel() for symbol, value in arrays.items()}
    count = int(np.prod(shape))
    scopes = [
        Scope(Frame({**bound, **{symbol: values[i] for symbol, values in spread.items()}}), scope.integers)
        for i in range(count)
    ]
    return shape, scopes


class _DiesOutNowhere(ArithmeticError):
    """A factor of one token grows faster than the density falls."""


@dataclass(frozen=True)
class _TokenLaw:
    """The law of one token, and where the functions of it have kinks."""

    base: ScalarLaw
    breaks: tuple[Fraction, ...]

    @property
    def is_smooth_normal(self) -> bool:
        """Whether equal steps do best."""
        return self.base == STANDARD_NORMAL and not self.breaks


class _Table:
    """One term on its grids."""

    def __init__(
        self, reader: Interpreter, scope: Scope, summand: Expr | None, term: Term, token_law: _TokenLaw
    ) -> None:
        self.reader, self.scope, self.summand, self.term, self.token_law = reader, scope, summand, term, token_law
        quadrature = reader.quadrature
        coarse = COARSER if quadrature.tolerance >= SEARCHED else 1.0
        scale, shifted = quadrature.steps()
        self.step, self.log_step = (s * coarse / scale for s in STEPS[shifted])
        self.step /= self._sharper() if token_law.is_smooth_normal else MAPPED
        self.shift = 0.37 if shifted else 0.0

    def _sharper(self) -> float:
        """How much shorter steps have to be: 1/(s + h(x)) has its poles pi/(log h)' away from the real line."""
        if self.summand is None:
            return 1.0
        look = np.linspace(-STEEP_WITHIN, STEEP_WITHIN, 65)
        with np.errstate(all="ignore"):
            slopes = np.abs(np.diff(np.log(self._h(look)))) / (look[1] - look[0])
        steepest = float(np.max(slopes[np.isfinite(slopes)], initial=0.0))
        return min(max(1.0, steepest * STEPS[False][0] / STEEP), MOST_SHARPER)

    def mean(self) -> float | None:
        """The mean; None where a summand is not positive, or spreads over too many orders of magnitude."""
        if self.summand is None:
            product = float(np.sum(self._weighted(self.term.general, TOKENS[0])[1]))
            for factor in self.term.factors:
                product *= float(np.sum(self._weighted(factor, x)[1]))
            return product
        steps = [self._weighted(S.One, x)] * self.term.rest
        for factor in self.term.factors:
            steps.insert(0, self._weighted(factor, x))
        heights = [self._h(nodes) for nodes, _ in steps]
        if any(not np.all(np.isfinite(h)) or np.any(h <= 0) for h in heights):
            return None
        if not steps:
            return float(self._first(np.array([0.0]))[0])
        low = min(float(np.min(h)) for h in heights)
        high = sum(float(np.max(h)) for h in heights)
        span = np.log(high) - np.log(low)
        # where the sums spread over many orders of magnitude, steps are longer and the digits fewer
        self.log_step = max(self.log_step, span / MOST_PLACES * (1.0 if self.shift else 1.25))
        if self.log_step > LONGEST:
            return None
        count = int(span / self.log_step) + 1 + STENCIL
        logs = np.log(low) + self.log_step * (np.arange(count) - STENCIL // 2)
        table = self._first(np.exp(logs))
        matrices: dict[int, np.ndarray] = {}
        for (_, weights), h in zip(steps[:-1], heights[:-1]):
            if id(weights) not in matrices:
                matrices[id(weights)] = _operator(logs, np.exp(logs), h, weights)
            table = matrices[id(weights)] @ table
        last = _operator(logs, np.array([0.0]), heights[-1], steps[-1][1])
        return float((last @ table)[0])

    def _first(self, sums: np.ndarray) -> np.ndarray:
        """H_0(s) = E F(x, s + h(x))."""
        expr = self.term.general
        nodes, weights = self._grid(expr, TOKENS[0], sums[[0, len(sums) // 2, -1]])
        h = self._h(nodes)
        total = h[:, None] + sums[None, :]
        inside = self.scope.bind({TOKENS[0]: nodes[:, None], TOTAL: total}, 2, total.size)
        values = np.broadcast_to(self.reader.value(expr, inside), total.shape)
        return weights @ values

    def _h(self, nodes: np.ndarray) -> np.ndarray:
        assert self.summand is not None
        return self._on(self.summand, x, nodes)

    def _on(self, expr: Expr, token: Expr, nodes: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.reader.value(expr, self.scope.bind({token: nodes}, 1, len(nodes))), nodes.shape)

    def _weighted(self, factor: Expr, token: Expr) -> tuple[np.ndarray, np.ndarray]:
        """Nodes, and weights times the density and a function of the token."""
        nodes, weights = self._grid(factor, token)
        return nodes, self._on(factor, token, nodes) * weights

    def _grid(self, expr: Expr, token: Expr, sums: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Nodes, and weights times the density, where the expression times the density is not negligible."""
        if not self.token_law.is_smooth_normal:
            nodes, weights = self._mapped()
            with np.errstate(all="ignore"):
                kept = self._matters(expr, token, nodes, np.log(np.abs(weights)), sums)
            return (nodes[kept], weights[kept]) if kept.any() else (nodes, weights)
        if not expr.free_symbols & {token, TOTAL}:
            low, high = -REACH, REACH
        else:
            look = np.linspace(-FAR, FAR, 961)
            kept = look[self._matters(expr, token, look, -(look**2) / 2, sums)]
            ends = (kept[0], kept[-1]) if len(kept) else (-REACH, REACH)
            low, high = min(ends[0] - 0.5, -9.5), max(ends[1] + 0.5, 9.5)
        nodes = low + self.step * (np.arange(int((high - low) / self.step) + 2) + self.shift)
        return nodes, np.exp(-(nodes**2) / 2) * (self.step / np.sqrt(2 * np.pi))

    def _mapped(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of a law that has heavy tails or kinks, piece by piece."""
        base, arithmetic = self.token_law.base, self.reader.arithmetic
        low, high = (
            None if end.is_infinite else self.reader.value(end, self.scope) for end in (base.lower, base.upper)
        )
        parts = []
        for piece in pieces(low, high, self.token_law.breaks, heavy=True):
            first, last, _ = SCAN[piece.map]
            count = int((last - first) / self.step) + 1
            places, slopes = piece.nodes(arithmetic, list(first + self.step * (np.arange(count) + self.shift)), 0)
            parts.append((places, slopes * self.step))
        nodes, weights = stacked(parts)
        return nodes, weights * self._on(base.density, x, nodes)

    def _matters(
        self, expr: Expr, token: Expr, look: np.ndarray, density: np.ndarray, sums: np.ndarray | None
    ) -> np.ndarray:
        """Where the expression times the density, given by its logarithm, is not negligible at any of the sums."""
        with np.errstate(all="ignore"):
            if sums is None or TOTAL not in expr.free_symbols:
                profiles = [np.log(np.abs(self._on(expr, token, look)))]
            else:
                h = self._h(look)
                profiles = []
                for s in sums:
                    inside = self.scope.bind({token: look, TOTAL: s + h}, 1, len(look))
                    profiles.append(np.log(np.abs(np.broadcast_to(self.reader.value(expr, inside), look.shape))))
            kept = np.zeros(len(look), dtype=bool)
            for profile in profiles:
                logs = np.where(np.isfinite(profile), profile, -np.inf) + density
                if np.max(logs) > -np.inf:
                    matters = logs > np.max(logs) + np.log(NEGLIGIBLE)
                    self._check_ends(look, matters, np.isfinite(profile) & np.isfinite(density))
                    kept |= matters
        return kept

    def _check_ends(self, look: np.ndarray, matters: np.ndarray, known: np.ndarray) -> None:
        """That the product dies out before it overflows, or the nodes end, where the law goes on without end.

        Raises:
            _DiesOutNowhere: where it does not: in the sum over all tokens another factor may tame it, here none does.
        """
        places = np.where(known, look, np.nan)
        for end, place in (
            (self.token_law.base.lower, np.nanmin(places)),
            (self.token_law.base.upper, np.nanmax(places)),
        ):
            if end.is_infinite and matters[places == place].any():
                raise _DiesOutNowhere


def _operator(logs: np.ndarray, sums: np.ndarray, h: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The matrix of H -> sum_q w_q H(s + h_q), H given on a uniform grid in log s, by local polynomials.

    A part of the rows at a time, so that what is in between stays in the processor's cache. Where h_q is nothing beside s, s + h_q
    is s; where s is nothing beside h_q, the row is that of s = 0.
    """
    METER.add(PER_ENTRY * STENCIL * len(sums) * len(h))
    columns = len(logs)
    k = np.arange(STENCIL)
    weights = np.asarray(weights, dtype=np.float64)
    alone, shares = _stencils(logs, h)
    alone_at, alone_entries = alone[:, None] + k, shares * weights[:, None]
    result = np.empty((len(sums), columns))
    for start in range(0, len(sums), ROWS):
        part = sums[start : start + ROWS]
        small = h < np.min(part) * NOTHING_BESIDE
        large = h > np.max(part) / NOTHING_BESIDE
        near = ~(small | large)
        first, shares = _stencils(logs, part[:, None] + h[near][None, :])
        places = (first + columns * np.arange(len(part))[:, None])[..., None] + k
        entries = shares * weights[near][:, None]
        made = np.bincount(places.ravel(), entries.ravel(), len(part) * columns).astype(np.float64)
        made = made.reshape(len(part), columns)
        made += np.bincount(alone_at[large].ravel(), alone_entries[large].ravel(), columns)
        if small.any():
            first, shares = _stencils(logs, part)
            own = first[:, None] + k
            made[np.arange(len(part))[:, None], own] += shares * weights[small].sum()
        result[start : start + ROWS] = made
    return result


def _stencils(logs: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each sum the first of the points between which H is a polynomial, and the share of each."""
    # the logarithms of long doubles, which reach further, are short numbers
    position = np.asarray((np.log(sums) - logs[0]) / (logs[1] - logs[0]), dtype=np.float64)
    first = np.clip(position.astype(int) - STENCIL // 2 + 1, 0, len(logs) - STENCIL)
    gaps = np.clip(position - first, 0.0, STENCIL - 1.0)[..., None] - np.arange(STENCIL)
    gaps[np.abs(gaps) < 1e-14] = 1e-14
    shares = LAGRANGE / gaps
    return first, shares / shares.sum(axis=-1)[..., None]
