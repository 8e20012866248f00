"""Expectations over at most three tokens by product quadrature, for weights and activations that no rule reduces.

Source: the definition of the expectation; only the Gaussian average over the value projections is taken by algebra.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from functools import reduce as fold
from typing import Any, final

import numpy as np
from sympy import Dummy, Expr, Integer, Poly, S, Sum, Symbol, factorial2, preorder_traversal

from symslr.evaluation.errors import CannotEvaluate, FloatOnly, OutOfDigits
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT, Float64
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.evaluation.quadrature.convergence import DETUNED, geometric_error
from symslr.evaluation.quadrature.mesh import joined
from symslr.evaluation.quadrature.scan import Window, scan
from symslr.evaluation.quadrature.token_mesh import cover
from symslr.expression.expectation import SequenceExpectation
from symslr.model.breakpoints import breakpoint_equations, solved
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import OTHERS, L, chi, epsilon, xi, z, zeta
from symslr.model.symbols import x as law_variable

LONGEST = 3
"""Most tokens of a product mesh: three with 300 nodes each make 27 million points, as do four with 74."""
DEPTH = 42.0
"""A window ends so many nats below the largest integrand: e^-42 is 6e-19 of it."""
MOST_POINTS = 30_000_000
"""Points of a product mesh: 240 MB an array."""
NODES_PER_WINDOW = 41
"""Nodes per window of the law on the coarse mesh, three windows long, that finds the window of the integrand."""
FEWEST_NODES = 128, 128, 48
"""Least number of nodes of an axis at L = 1, 2, 3: a ridge such as u e^(-u^2), u = 12 tanh(2 chi_1 - 2 chi_2), falls between
fewer."""
FINEST = 6
"""Most halvings of the first step."""
DETUNING_POWERS = 1.0, 0.5, 1.5
"""Powers of ``DETUNED`` by which the steps of the axes of a confirming mesh differ from the first ones, each by its own."""
ROUNDING = 200.0 * FLOAT.eps
"""Rounding error of a sum over such a mesh, relative to the sum of the |terms|."""
CONVERGED = 1e-6
"""Relative error below which a value is given though finer meshes are too large: the rule converges."""


@final
class ProductNode(Node):
    """E_g[body] at L = 1, 2, 3 in float64; ``reason`` says in refusals why nothing faster applies."""

    def __init__(self, expectation: SequenceExpectation, reason: str) -> None:
        self.expectation, self.reason = expectation, reason
        self._product = cache(partial(_Product, expectation))

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        length = self.expectation.law.length
        tokens = int(scope[length][0]) if length.is_Symbol else int(length)
        if tokens > LONGEST:
            raise CannotEvaluate(f"L = {tokens}: {self.reason}; by direct quadrature only L <= {LONGEST} is in reach")
        if not isinstance(context.arithmetic, Float64):
            raise FloatOnly(f"{self.reason}; direct quadrature is in float64 only: ask for 12 digits or fewer")
        with np.errstate(all="ignore"):
            return self._product(tokens).value(scope, context.tolerance)


class _Product:
    """The integrand at one length as a function of the tokens."""

    def __init__(self, expectation: SequenceExpectation, tokens: int) -> None:
        law = expectation.law
        self.tokens = [Dummy(f"t{i}", real=True) for i in range(tokens)]
        body = (expectation.body * law.weight).xreplace({law.length: Integer(tokens), L: Integer(tokens)})
        body = _gaussian_average(_in_tokens(body, self.tokens), tokens)
        density = fold(lambda a, b: a * b, (law.base.density.xreplace({law_variable: t}) for t in self.tokens), S.One)
        self.parameters = tuple(sorted((body * density).free_symbols - set(self.tokens), key=str))
        self.logarithm = signed_log(density * body, (*self.tokens, *self.parameters))
        self.base = signed_log(law.base.density, (law_variable, *self.parameters))
        self.ends = FLOAT.compile(self.parameters, [law.base.lower, law.base.upper])
        self.kinks = self._kinks(body * density, law)

    def _kinks(self, integrand: Expr, law: SequenceLaw) -> list[Any]:
        """Places of kinks at a fixed value of a single token, the same for all tokens, as functions of the parameters."""
        places: set[Expr] = set()
        for token in self.tokens:
            for equation in breakpoint_equations(integrand, token):
                place = solved(equation, token)
                if place is not None and not place.has(*self.tokens):
                    places.add(place)
        return [FLOAT.compile(self.parameters, [place]) for place in places]

    def value(self, scope: Mapping[Symbol, Pair], tolerance: float) -> Pair:
        p = tuple(float(scope[s][0]) for s in self.parameters)
        low, high = (float(end) for end in self.ends(*p))
        kinks = sorted(float(place(*p)[0]) for place in self.kinks)
        window = self._window(p, low, high)
        if window is None:
            return 0.0, 0.0
        pieces = cover([window], low, high, [k for k in kinks if window.low < k < window.high])
        full, mass, error, change, done = 0.0, 0.0, np.inf, np.inf, 0
        for level in range(1, FINEST + 1):
            mesh = joined(pieces, FLOAT, level)
            count = len(mesh.nodes)
            if count ** len(self.tokens) > MOST_POINTS:
                if done and error < CONVERGED:
                    break
                raise OutOfDigits(
                    f"direct quadrature needs more than {MOST_POINTS:.0e} points: the weight or the activation is not smooth "
                    "where two tokens meet or where all vanish"
                )
            if count < FEWEST_NODES[len(self.tokens) - 1] and level < FINEST:
                continue
            done = level
            table = self._table([mesh.nodes] * len(self.tokens), p)
            mass = self._summed(np.abs(table), [mesh.weights] * len(self.tokens))
            full, half, quarter = (
                self._summed(table, [mesh.weights * factor] * len(self.tokens)) for factor in mesh.factors()
            )
            error = float(geometric_error(quarter, half, full, mass))
            if error < tolerance and (change := self._change(pieces, level, p, full, mass)) < tolerance:
                break
        if not change < tolerance:  # meshes that came to no end may agree by chance as well
            change = self._change(pieces, done, p, full, mass)
        return full, mass * (max(error, change) + ROUNDING)

    def _change(self, pieces: Any, level: int, p: tuple[float, ...], full: float, mass: float) -> float:
        """Twice the relative change on a mesh with other steps: finer ones, or coarser where these are too many.

        Its steps are nested in none of the others, as twice the step may agree by chance. Each axis has its own: with equal
        steps the difference of two tokens is a multiple of the step, and a ridge where they nearly agree would be seen at its
        crest alone.
        """
        for sign in (1, -1):
            powers = DETUNING_POWERS[: len(self.tokens)]
            axes = [joined(pieces, FLOAT, level + sign * power * float(np.log2(DETUNED))) for power in powers]
            if np.prod([float(len(axis.nodes)) for axis in axes]) <= MOST_POINTS:
                break
        other = self._summed(self._table([axis.nodes for axis in axes], p), [axis.weights for axis in axes])
        return 2.0 * abs(other - full) / mass - ROUNDING if mass > 0 else 0.0

    def _summed(self, table: Any, weights: list[Any]) -> float:
        for own in reversed(weights):
            table = table @ own
        return float(table)

    def _table(self, axes: list[Any], p: tuple[float, ...]) -> Any:
        grids = np.meshgrid(*axes, indexing="ij", sparse=True)
        sign, log = self.logarithm(*grids, *p)
        table = sign * np.exp(log) + 0.0 * sum(grids)
        return np.where(np.isnan(table), 0.0, table)

    def _window(self, p: tuple[float, ...], low: float, high: float) -> Window | None:
        """The window of the integrand in any of its tokens, found on a wide coarse product mesh; None where it vanishes."""
        own = scan(lambda x: self.base(x, *p)[1] + 0.0 * x, low, high, DEPTH)
        if own is None or own.is_heavy:
            raise CannotEvaluate("direct quadrature is for token laws with light tails")
        span = own.high - own.low
        nodes = np.linspace(max(low, own.low - span), min(high, own.high + span), NODES_PER_WINDOW * 3)
        grids = np.meshgrid(*[nodes] * len(self.tokens), indexing="ij", sparse=True)
        log = self.logarithm(*grids, *p)[1] + 0.0 * sum(grids)
        above = np.where(np.isnan(log), -np.inf, log)
        if np.max(above) == -np.inf:
            return None
        if np.max(above) == np.inf:
            raise CannotEvaluate("the integrand overflows in float64")
        above = above > np.max(above) - DEPTH
        index = np.flatnonzero(np.any(above, axis=tuple(range(1, above.ndim))))
        for axis in range(1, above.ndim):
            others = tuple(n for n in range(above.ndim) if n != axis)
            index = np.union1d(index, np.flatnonzero(np.any(above, axis=others)))
        if (index[0] == 0 and np.isinf(low)) or (index[-1] == len(nodes) - 1 and np.isinf(high)):
            raise CannotEvaluate("the weight moves the tokens too far for direct quadrature")
        first, last = nodes[max(index[0] - 1, 0)], nodes[min(index[-1] + 1, len(nodes) - 1)]
        return Window(float(first), float(last), own.peak, own.width, own.depth)


def _in_tokens(body: Expr, tokens: list[Expr]) -> Expr:
    """The body with tokens for keys, the first for position epsilon, and sums written out."""
    labels = [epsilon, *OTHERS][: len(tokens)]
    numbered = {index: Integer(n) for n, index in enumerate(labels, start=1)}
    while sums := {s: s.doit() for s in body.atoms(Sum) if not s.function.has(Sum)}:
        body = body.xreplace(sums)
    body = body.xreplace(numbered)
    return body.xreplace({chi[n]: t for n, t in enumerate(tokens, start=1)})


def _gaussian_average(body: Expr, tokens: int) -> Expr:
    """The Gaussian average over the values z, zeta and the noise xi, in which bodies are polynomial."""
    variables = [v for v in (xi, *(b[n] for b in (z, zeta) for n in range(1, tokens + 1))) if body.has(v)]
    if not variables:
        return body
    hidden = {v: Dummy() for v in variables}
    body = body.xreplace(hidden)
    if any(node.func.is_Function and node.has(*hidden.values()) for node in preorder_traversal(body)):
        raise CannotEvaluate("the body is not polynomial in the values z; take their average first")
    poly = Poly(body, *hidden.values())
    return sum((c * _moment(powers) for powers, c in poly.terms()), S.Zero)


def _moment(powers: tuple[int, ...]) -> Expr:
    return S.Zero if any(n % 2 for n in powers) else fold(lambda a, n: a * factorial2(n - 1), powers, S.One)
