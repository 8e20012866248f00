"""Forms conditioned on the largest token in numbers: the trapezoid rule in v = log u, Gauss panels for the tokens.

What lies below a node is the sum of the panels before its own and, inside that, the integral of the polynomial through the
panel's nodes: as many numbers for a running integral as for a whole one. Source: L. Greengard, SIAM J. Numer. Anal. 28 (1991).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, pairwise
from math import ceil, log2, pi
from typing import Any, final

import mpmath
import numpy as np
from flint import arb, arb_mat, ctx
from sympy import Add, Expr, Symbol

from symslr.evaluation.errors import CannotEvaluate, FloatOnly, TooDear
from symslr.evaluation.laplace.node import SumsNode
from symslr.evaluation.laplace.rule import WIDER, Outer, Sums, refined
from symslr.evaluation.largest_token.form import LOG_U, CumulativeForm
from symslr.evaluation.nodes.node import Pair
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic, Float64, once_per_kind
from symslr.evaluation.numbers.balls import Balls, array
from symslr.evaluation.numbers.exponent import magnitude
from symslr.evaluation.numbers.logarithm import PlainExp, leaves_float64, sign_and_log, signed_log
from symslr.evaluation.quadrature.mesh import SinhMap
from symslr.evaluation.quadrature.scan import converged_windows, scan
from symslr.evaluation.quadrature.token_mesh import kinks_between, zeros_of
from symslr.model.symbols import x as token

FLOAT_NODES = 16
"""Nodes of a panel in float64; with more digits their number grows with these."""
MOST_TOKENS = 40_000
"""Nodes of all panels, as for other token meshes."""
LARGEST = 2e7
"""Numbers in one table, of which some are held at once: half a second."""
BLOCK = 2**18
"""Numbers of one table that are made at once: a few MiB, which the processor's caches hold."""
COARSE = 64
"""Values of log u by which its window is found."""
SHARP = 0.5
"""Nats to which it is known where an offset ends an integral."""
SHORT = 0.5
"""Levels by which the first panels may be too many and are made fewer, to leave the digits that they have."""
FINER = 1.5
"""Ratio of the numbers of panels that have to agree."""
FIRST_STEP = {"numpy": 0.72, "balls": 0.54}
"""Times pi^2/nats, the first step of log u: one round is enough for most kernels; balls claim no power of a change."""
FEW = 24
"""Outer nodes at which the numbers of panels are compared."""
NEAR = np.concatenate([[0.0], np.exp(-np.linspace(41.0, 0.0, 801))])
"""Parts of a piece at which a kernel is looked at beside its ends: nearer than e^-41 lie no tokens that float64 tells from none."""
RANGE = 500.0
"""Largest |log kappa| beyond the law's own window: its square is still a float."""


class Code:
    """A form as functions of numbers.

    Attributes:
        kappa, weights: of x; the weights are pairs (exponent, rest).
        terms, sizes: of log u, x, the logs and scales of the running integrals: pairs (exponent, rest), and sums of |addends|.
        powers, coefficients: of the running integrals in every term, and of the terms.
        cuts: the kinks and zeros, as ``zeros_of`` gives them.
    """

    def __init__(self, form: CumulativeForm, parameters: tuple[Symbol, ...], arithmetic: Arithmetic) -> None:
        inner = (token, *parameters)
        logs, scales = [r.log for r in form.running], [r.scale for r in form.running]
        outer = (LOG_U, token, *logs, *scales, *parameters)
        weights, terms = [(r.exponent, r.rest) for r in form.running], [(t.exponent, t.rest) for t in form.terms]
        if arithmetic.name == "numpy":
            weights, terms = [_in_range(*w) for w in weights], [_in_range(*t) for t in terms]
        self.kappa = arithmetic.compile(inner, [form.kappa])
        self.weights = arithmetic.compile(inner, list(chain(*weights)))
        self.terms = arithmetic.compile(outer, list(chain(*terms)))
        self.sizes = arithmetic.compile(outer, [magnitude(exponent) for exponent, _ in terms])
        self.powers = arithmetic.compile(parameters, [t.exponent.coeff(log, 1) for t in form.terms for log in logs])
        self.coefficients = arithmetic.compile(parameters, [t.coefficient for t in form.terms])
        self.cuts = zeros_of((*form.kinks, *form.zeros), token, parameters, arithmetic)


def _in_range(exponent: Expr, rest: Expr) -> tuple[Expr, Expr]:
    """(exponent, rest) of the same number, where u, kappa or a factor alone may leave the range of float64: through logarithms."""
    logs = [(addend, sign_and_log(addend)) for addend in Add.make_args(exponent)]
    exponent = Add(*(sign * PlainExp(log) if leaves_float64(addend) else addend for addend, (sign, log) in logs))
    if not leaves_float64(rest):
        return exponent, rest
    sign, log = sign_and_log(rest)
    return exponent + log, sign


@final
class LargestTokenNode(SumsNode):
    """An integral conditioned on the largest token."""

    def __init__(self, form: CumulativeForm, parameters: tuple[Symbol, ...]) -> None:
        self.form, self.parameters, self.is_float_only = form, parameters, bool(form.kinks)
        self.code = once_per_kind(partial(Code, form, parameters))
        inner = (token, *parameters)
        self.log_weights = [signed_log(r.rest, inner) for r in form.running]
        self.log_kappa = signed_log(form.kappa, inner)
        self.log_density = signed_log(form.law.density, inner)

    def in_floats(self, p: tuple[float, ...], tolerance: float) -> list[Pair]:
        if not any(self.code(FLOAT).coefficients(*p)):
            return [(0.0, 0.0)]
        return refined(TokenSums(self, FLOAT, p, p, tolerance))

    def in_balls(self, arithmetic: Balls, p: tuple[Any, ...], floats: tuple[float, ...], tolerance: Any) -> Sums | int:
        if not any(self.code(FLOAT).coefficients(*floats)):
            return 1
        if self.is_float_only:
            raise FloatOnly(
                "the largest token is selected under a kernel with kinks: found more digits than float64 has; ask for at most 12"
            )
        return TokenSums(self, arithmetic, p, floats, tolerance)


@dataclass(frozen=True, slots=True)
class Panels:
    """Nodes of panels, their weights, and half the length of every panel."""

    nodes: Any
    weights: Any
    halves: Any

    @property
    def count(self) -> int:
        return len(self.halves)


class TokenSums(Sums):
    """The integral as the refinement loop takes it; a level more doubles the number of panels."""

    is_nested = False

    def __init__(
        self,
        node: LargestTokenNode,
        arithmetic: Float64 | Balls,
        p: tuple[Any, ...],
        floats: tuple[float, ...],
        tolerance: Any,
    ) -> None:
        self.node, self.form, self.arithmetic, self.p, self.floats = node, node.form, arithmetic, p, floats
        self.tolerance, nats = tolerance, float(-mpmath.log(tolerance))
        self.depth = nats + 12.0
        self.order = FLOAT_NODES if isinstance(arithmetic, Float64) else max(FLOAT_NODES, int(0.5 * nats))
        self.edges = self._tokens()
        self.paces = [self._pace(*ends) for ends in pairwise(self.edges)]
        self.pace = sum(float(moved[-1]) for _, moved in self.paces)
        self.axis = self._window()
        self.level = log2(max(8.0, self.pace * nats / self.order / 4.0))
        if isinstance(arithmetic, Float64):  # with the digits that so many nodes have
            self.finest = log2(MOST_TOKENS / FINER / self.order - 1.0)
            if self.level < self.finest + SHORT:
                self.level = min(self.level, self.finest)
        self.steps = [FIRST_STEP[arithmetic.name] * pi**2 / (2.0 + nats)]

    @property
    def few(self) -> Outer:
        return self.outer(self.steps, FEW)

    def outer(self, steps: list[Any], count: int | None = None) -> Outer:
        v, density, step = self.axis.nodes(float(steps[0]), self.arithmetic)
        some = slice(None, None, max(1, len(v) // count) if count else 1)
        return Outer([v[some]], density[some], [step])

    def is_smooth(self, axis: int) -> bool:
        return isinstance(self.arithmetic, Float64) and np.isinf(self.axis.scale)

    def widen(self, late: list[int]) -> None:
        self.axis = replace(self.axis, high=self.axis.high + WIDER)

    def inner(self, level: float) -> int:
        """The number of panels."""
        count = round(2.0**level)
        if count * FINER * self.order > MOST_TOKENS:
            raise TooDear("the running integrals need too many nodes: the kernel is too steep")
        return count

    def table(self, outer: Outer, inner: int, rules: int = 1) -> TokenTable:
        if isinstance(self.arithmetic, Float64) and len(outer.v[0]) * inner * FINER * self.order > LARGEST:
            raise TooDear("the table of running integrals is too large: the kernel is too steep")
        counts = [ceil(inner * FINER), inner] if rules > 1 else [ceil(inner * FINER)]
        panels = [self.panels(self.arithmetic, count, self.order) for count in counts]
        found = [self.integrand(self.arithmetic, outer.v[0], own, self.p) for own in panels]
        rows = [values for values, _ in found]
        rows += rows[1:] * (rules - 2)  # from two rules no power of their difference is claimed
        return TokenTable((np.array(rows) * outer.density)[None], found[0][1])

    def rounding(self, table: TokenTable) -> list[float]:
        return [table.rounding]

    def panels(self, arithmetic: Arithmetic, count: int, order: int) -> Panels:
        """About so many panels, over each of which log kappa moves by as much between two cuts."""
        t, weights, _ = _rule(order, 0 if arithmetic.name == "numpy" else ctx.prec)
        ends = [self.edges[0]]
        for x, moved in self.paces:
            own = max(1, ceil(count * float(moved[-1]) / self.pace - 1e-9))
            ends += np.interp(np.linspace(0.0, moved[-1], own + 1)[1:], moved, x).tolist()
        places = np.array([arithmetic.number(end) for end in ends])
        first, half = places[:-1, None], np.diff(places)[:, None] / 2
        return Panels((first + half * (1 + t)).ravel(), (half * weights).ravel(), half[:, 0])

    def _below(self, arithmetic: Arithmetic, values: Any, panels: Panels) -> Any:
        """Integrals of ``values`` (rows, nodes) from the lowest node up to every node."""
        order = values.shape[1] // panels.count
        _, _, inside = _rule(order, 0 if arithmetic.name == "numpy" else ctx.prec)
        blocks, half = values.reshape(-1, order), np.tile(panels.halves, len(values))[:, None]
        if arithmetic.name == "numpy":
            within = (blocks @ inside.T) * half
        else:
            product = arb_mat([list(row) for row in blocks]) * arb_mat([list(row) for row in inside.T])
            within = array(product.entries()).reshape(blocks.shape) * half
        sums = np.sum((values * panels.weights).reshape(len(values), panels.count, order), axis=2)
        before = np.cumsum(sums, axis=1) - sums if panels.count > 1 else sums * 0
        return (within.reshape(len(values), panels.count, order) + before[:, :, None]).reshape(values.shape)

    def integrand(self, arithmetic: Arithmetic, v: Any, panels: Panels, p: tuple[Any, ...]) -> tuple[Any, Any]:
        """Values on the outer mesh and, in floats, the relative rounding error where they are largest."""
        parts = max(1, len(v) * len(panels.nodes) // BLOCK) if arithmetic.name == "numpy" else 1
        found = [self._rows(arithmetic, own, panels, p) for own in np.array_split(v, min(parts, len(v)))]
        values, tops, errors = zip(*found)
        return np.concatenate(values), errors[int(np.argmax(tops))]

    def _rows(self, arithmetic: Arithmetic, v: Any, panels: Panels, p: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """Values at some nodes of the outer mesh and, in floats, the largest integrand and its relative rounding error."""
        code, x = self.node.code(arithmetic), panels.nodes
        if arithmetic.name == "numpy":  # under a steep kernel u and 1/kappa leave the range of float64
            load = np.exp(v[:, None] + self._log_kappa(x)[None, :])
        else:
            load = arithmetic.exp(v)[:, None] * (code.kappa(x, *p)[0] + 0 * x)[None, :]
        parts = code.weights(x, *p)
        logs, scales = [], []
        for exponent, rest in zip(parts[::2], parts[1::2]):
            if arithmetic.name == "numpy" and np.any(np.asarray(rest) < 0):
                raise CannotEvaluate("a running integral may change its sign, and its logarithm is needed")
            height = exponent + 0 * x - load
            top = self._tops(height)
            below = self._below(arithmetic, arithmetic.exp(height - top) * rest, panels)
            logs.append(self._log(arithmetic, below))
            scales.append(top)
        arguments = (v[:, None], x[None, :], *logs, *scales, *p)
        values = code.terms(*arguments)
        terms = zip(values[::2], values[1::2], code.coefficients(*p))
        total = sum(arithmetic.exp(e) * r * c for e, r, c in terms if c != 0) + 0 * load
        if arithmetic.name != "numpy":
            return np.sum(total * panels.weights, axis=1), 0, 0
        total = np.where(np.isnan(total), 0.0, total)
        peak = np.unravel_index(int(np.argmax(np.abs(total))), total.shape)
        at = (v[peak[0]], x[peak[1]], *(g[peak] for g in logs), *(s[peak[0], 0] for s in scales), *p)
        power = max((abs(float(c)) for c in code.powers(*p)), default=0.0)
        units = 16 + 4 * max(float(s) for s in code.sizes(*at)) + 16 * power
        return total @ panels.weights, abs(total[peak]), FLOAT.eps * units

    @staticmethod
    def _tops(height: Any) -> Any:
        """About the largest number of every row, as a column: what it is divided by need not be exact."""
        if height.dtype != object:
            return np.max(height, axis=1, keepdims=True)
        middles = np.array([[float(h.mid()) for h in row] for row in height])
        tops = np.clip(np.max(middles, axis=1), -1e300, 1e300)
        return array([arb(float(top)) for top in tops])[:, None]

    @staticmethod
    def _log(arithmetic: Arithmetic, below: Any) -> Any:
        """log C; where C is below the rounding, that of the rounding."""
        if arithmetic.name == "numpy":
            return np.log(np.maximum(below, FLOAT.eps * 1e-3 * np.max(below, axis=1, keepdims=True)))
        floor = arb((1, -ctx.prec))
        return np.frompyfunc(lambda c: (c if c > floor else floor).log(), 1, 1)(below)

    def _log_kappa(self, x: Any) -> Any:
        return self.node.log_kappa(x, *self.floats)[1] + 0 * x

    def _pace(self, low: float, high: float) -> tuple[Any, Any]:
        """Tokens between two cuts, crowded at these, and how far log kappa has moved before each, or the token where it moves more.

        In log kappa the integrand varies over nats; beside a zero of kappa those are ever shorter in x.
        """
        x = np.unique(low + (high - low) * np.concatenate([NEAR, np.linspace(0.0, 1.0, len(NEAR)), 1.0 - NEAR]))
        moves = np.abs(np.diff(self._log_kappa(x)))
        moves = np.maximum(np.where(np.isfinite(moves), moves, 0.0), np.diff(x))
        return x, np.concatenate([[0.0], np.cumsum(moves)])

    def _tokens(self) -> list[float]:
        """Where the weights live, and the law itself: e^{-u kappa} leaves of a weight what lies between; with the kinks there."""
        low, high = float(self.form.law.lower), float(self.form.law.upper)
        weights, floats = self.node.code(FLOAT).weights, self.floats

        def log_weight(n: int, x: Any) -> Any:
            return weights(x, *floats)[2 * n] + self.node.log_weights[n](x, *floats)[1] + 0 * x

        logs = [lambda x: self.node.log_density(x, *floats)[1] + 0 * x]
        logs += [partial(log_weight, n) for n in range(len(self.node.log_weights))]
        windows = []
        for log in logs:
            window = scan(log, low, high, self.depth)
            if window is None or window.is_heavy:
                raise CannotEvaluate("running integrals are evaluated for token laws with light tails")
            windows.append(window)
        x = np.linspace(min(w.low for w in windows), max(w.high for w in windows), 801)
        size = np.abs(self._log_kappa(x))
        # A weight may live where kappa is out of range, far beyond the law: e^{-u kappa} leaves nothing of it there.
        kept = x[(size < RANGE) | ((windows[0].low <= x) & (x <= windows[0].high))]
        low, high = float(kept[0]), float(kept[-1])
        cuts = kinks_between(self.node.code(FLOAT).cuts, floats, low, high)
        return [low, *(place for place in cuts if low < place < high), high]

    def _window(self) -> SinhMap:
        """The part of v that matters."""
        panels = self.panels(FLOAT, int(np.clip(self.pace / 8.0, 12, 200)), FLOAT_NODES)
        logs = self._log_kappa(panels.nodes)
        logs = logs[np.isfinite(logs)]
        guess = -float(np.max(logs)) - self.depth, -float(np.min(logs)) + 6.0

        def look(nodes: list[Any]) -> tuple[Any, float]:
            values = np.abs(self.integrand(FLOAT, nodes[0], panels, self.floats)[0])
            inside = np.log(values) > np.log(np.max(values)) - self.depth
            if not inside.any():
                raise CannotEvaluate("the outer integrand vanishes in float64")
            return inside, float(nodes[0][np.argmax(values)])

        (window,), peak = converged_windows(look, [guess], COARSE, [np.sort(-logs)])
        if not self.form.ends_by_itself:
            return SinhMap.over(window, [peak])
        last, end = window[1] - 2.0 * (window[1] - window[0]) / COARSE, window[1]
        while end - last > SHARP:
            nodes = np.linspace(last, end, COARSE)
            inside = np.flatnonzero(look([nodes])[0])
            last, end = float(nodes[max(inside[-1] - 1, 0)]), float(nodes[min(inside[-1] + 1, COARSE - 1)])
        return SinhMap.over((window[0], end), [end])


@dataclass(frozen=True)
class TokenTable:
    """The integrand at outer nodes, with the tokens on panels; ``rounding`` is its relative rounding error in floats."""

    values: Any
    rounding: Any


@lru_cache(maxsize=32)
def _rule(order: int, bits: int) -> tuple[Any, Any, Any]:
    """Gauss nodes on (-1, 1), their weights, and the matrix of integrals from -1 to every node; floats where bits = 0."""
    if bits:
        pairs = [arb.legendre_p_root(order, order - 1 - k, weight=True) for k in range(order)]
        t, weights = array([root for root, _ in pairs]), array([weight for _, weight in pairs])
    else:
        t, weights = np.polynomial.legendre.leggauss(order)
    polynomials = [0 * t + 1, t]
    for m in range(1, order):
        polynomials.append(((2 * m + 1) * t * polynomials[m] - m * polynomials[m - 1]) / (m + 1))
    inside = np.outer(t + 1, weights) / 2
    for m in range(1, order):
        rise = (polynomials[m + 1] - polynomials[m - 1]) / 2
        inside = inside + np.outer(rise, weights * polynomials[m])
    return t, weights, inside
