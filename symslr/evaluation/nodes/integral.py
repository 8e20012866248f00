"""One-dimensional integrals of any integrand: a scan of its logarithm finds the window, then the mesh is refined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from sympy import Expr, S, Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic, once_per_kind
from symslr.evaluation.numbers.exponent import gaussian, magnitude, split
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.evaluation.quadrature.breakpoints import centre, centred
from symslr.evaluation.quadrature.convergence import DETUNED, geometric_error, tail_beyond
from symslr.evaluation.quadrature.mesh import Mesh, Piece, joined
from symslr.evaluation.quadrature.scan import scan
from symslr.evaluation.quadrature.token_mesh import at_exact_ends, cover, kinks_between, lost_beside_ends, zeros_of
from symslr.model.breakpoints import bends, breakpoint_equations

DEPTH = 46.0
"""A window ends so many nats below the largest integrand: e^-46 is 1e-20, a ten-thousandth of the roundoff."""
MOST_LEVELS = 9
"""Levels of the mesh, each with half the step: the finest has some ten thousand nodes for one window."""


@final
class IntegralNode(Node):
    """Integral of exp(E) R over (lower, upper); ``children`` are integrals inside it that depend on the variable.

    Over the whole line the variable is measured from the place where R bends, if there is one: 1/(1 + (a x - 3)^2) bends at
    3/a. ``plain`` is the integral without that shift, for parameters at which the place is infinite.
    """

    def __init__(
        self,
        integrand: Expr,
        variable: Symbol,
        ends: tuple[Expr, Expr],
        parameters: tuple[Symbol, ...],
        children: Mapping[Symbol, Node],
        shifted: bool = True,
    ) -> None:
        parts, self.plain = split(integrand), None
        place = centre(parts.rest, variable) if shifted and all(abs(end) is S.Infinity for end in ends) else S.Zero
        if place != 0:
            if place.free_symbols:
                self.plain = IntegralNode(integrand, variable, ends, parameters, children, shifted=False)
            integrand = centred(integrand, place, variable)
            parts = split(integrand)
        self._place = FLOAT.compile(parameters, [place])
        self.variable, self.ends, self.parameters, self.children = variable, ends, parameters, dict(children)
        square = gaussian(parts.exponent, variable) if not children else None
        self.height = square.height if square is not None else integrand * 0
        polynomial = square is not None and parts.rest.is_polynomial(variable)
        self.curvature = square.curvature if square is not None and polynomial else S.NegativeOne
        exponent = parts.exponent if square is None else square.centred(variable)
        self.exprs = [exponent, parts.rest, magnitude(parts.exponent)]
        self._log_rest = signed_log(parts.rest, (variable, *children, *parameters))
        self.kinks = breakpoint_equations(integrand, variable)
        self.bends = [own for own in bends(parts.rest, variable) if not own[0].has(*children)]
        self._code = once_per_kind(self._compiled)

    def _compiled(self, arithmetic: Arithmetic) -> Any:
        """(integrand, functions of the parameters alone, equations of kinks, arguments and equations of bends) as functions of
        numbers.
        """
        table = arithmetic.compile((self.variable, *self.children, *self.parameters), self.exprs)
        outer = arithmetic.compile(self.parameters, [*self.ends, self.height, self.curvature])
        equations = self.kinks, [equation for _, equation in self.bends]
        kinks, bent = (zeros_of(own, self.variable, self.parameters, arithmetic) for own in equations)
        inside = [arithmetic.compile((self.variable, *self.parameters), [inner]) for inner, _ in self.bends]
        return table, outer, kinks, list(zip(inside, bent))

    def _children_at(self, context: Context, x: Any, scope: Mapping[Symbol, Pair]) -> tuple[list[Any], Any]:
        """(values of the children at the nodes, at every node the largest of their relative errors)."""
        columns, errors = [], np.zeros(len(x))
        for child in self.children.values():
            pairs = [child.evaluate(context, {**scope, self.variable: (point, 0)}) for point in x]
            values = np.array([v for v, _ in pairs], dtype=type(x[0]) if x.dtype != object else object)
            relative = [abs(float(e / v)) if v != 0 else 0.0 for v, e in pairs]
            errors = np.maximum(errors, relative)
            columns.append(values)
        return columns, errors

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        with np.errstate(all="ignore"):
            if self.plain is not None and not np.isfinite(
                self._place(*(np.float64(scope[s][0]) for s in self.parameters))
            ):
                return self.plain.evaluate(context, scope)
            return self._evaluate(context, scope)

    def _evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        arithmetic = context.arithmetic
        p = tuple(scope[s][0] for s in self.parameters)
        _, outer, kinks, bent = self._code(arithmetic)
        low, high, height, curvature = outer(*p)
        reversed_ends = low > high
        if reversed_ends:
            low, high = high, low
        if low == high:
            return 0 * arithmetic.number(1), 0 * arithmetic.number(1)
        if curvature > 0 and np.isinf(float(high - low)):
            raise CannotEvaluate(f"an expectation diverges: its integrand grows as exp({float(curvature):.3g} x^2)")
        pieces = self._pieces(context, scope, float(low), float(high))
        if pieces is None:
            return 0 * arithmetic.number(1), 0 * arithmetic.number(1)
        more = lost_beside_ends(pieces, arithmetic.decades) if arithmetic.name != "numpy" else 0
        with arithmetic.more_bits(more):
            if more:
                equations = [*kinks, *(equation for _, equation in bent)]
                pieces = at_exact_ends(pieces, (outer(*p)[:2], equations, p), arithmetic)
            full, mass, error = self._summed(context, scope, pieces, (low, high), arithmetic.eps * 0.5**more)
        factor = arithmetic.exp(height)
        if reversed_ends:
            full = -full
        return full * factor, mass * factor * error + arithmetic.lost(mass * factor)

    def _summed(
        self, context: Context, scope: Mapping[Symbol, Pair], pieces: tuple[Piece, ...], ends: tuple[Any, Any], eps: Any
    ) -> tuple[Any, Any, Any]:
        """(integral, integral of the absolute value, error relative to that), without the height; ``eps`` is the rounding of
        nodes.
        """
        arithmetic, (low, high) = context.arithmetic, ends
        p = tuple(scope[s][0] for s in self.parameters)
        for level in range(MOST_LEVELS):
            mesh = joined(pieces, arithmetic, level)
            columns, errors = self._children_at(context, mesh.nodes, scope)
            values, size = self._values(arithmetic, mesh, columns, p)
            mass = np.sum(abs(values))
            if not mass > 0:
                return 0 * mass, 0 * mass, 0 * mass
            full = np.sum(values)
            half, quarter = (np.sum(values[mesh.nested[n]]) * 2 ** (n + 1) for n in (0, 1))
            error = geometric_error(quarter, half, full, mass)
            if error < context.tolerance and not self.children:
                # on steps near a period of cos(1000 x) every nested rule sees the same slow function
                other = joined(pieces, arithmetic, level + float(np.log2(DETUNED)))
                change = abs(np.sum(self._values(arithmetic, other, [], p)[0]) - full)
                error = max(error, 2 * change / mass - arithmetic.eps * 128)
            if error < context.tolerance:
                break
        # mpmath adds in order, one rounding a term; NumPy adds floats in pairs
        additions = len(values) if values.dtype == object else np.log2(len(values))
        rounding = arithmetic.eps * (8 + additions + np.sum(abs(values) * (abs(size) + 0 * mesh.nodes)) / mass)
        first, second, third, last = (abs(values[n]) for n in (0, 1, -2, -1))
        shifted = mesh.nodes * (1 + NUDGE * eps)
        nearby = Mesh(
            np.where((low < shifted) & (shifted < high), shifted, mesh.nodes),
            mesh.weights,
            mesh.nested,
        )
        rounding += np.sum(abs(self._values(arithmetic, nearby, columns, p)[0] - values)) / mass
        edge = (tail_beyond(first, second) + tail_beyond(last, third)) / mass
        inherited = np.sum(abs(values) * errors) / mass
        return full, mass, error + rounding + edge + inherited

    def _values(self, arithmetic: Arithmetic, mesh: Mesh, columns: list[Any], p: tuple[Any, ...]) -> tuple[Any, Any]:
        """(integrand times the weights of a mesh, the sum of the |terms| of its exponent)."""
        if arithmetic.name != "numpy":
            exponent, rest, size = self._code(arithmetic)[0](mesh.nodes, *columns, *p)
            return arithmetic.exp(exponent) * rest * mesh.weights + 0 * mesh.nodes, size
        left: list[str] = []
        with np.errstate(all="call", under="ignore", call=lambda kind, _: left.append(kind)):
            exponent, rest, size = self._code(arithmetic)[0](mesh.nodes, *columns, *p)
            values = arithmetic.exp(exponent) * rest * mesh.weights + 0 * mesh.nodes
        return (self._in_range(values, mesh, exponent, columns, p) if left else values), size

    def _in_range(self, values: Any, mesh: Mesh, exponent: Any, columns: list[Any], p: tuple[float, ...]) -> Any:
        """Values whose parts leave the range of float64, computed from their logarithms: c/oo is 0 only where the logarithms
        say so.

        What is no number even so, as sin(x)/x at 0, counts as 0; the scan for the window has refused several such places in a
        row.

        Raises:
            CannotEvaluate: where a value overflows.
        """
        sign, log = self._log_rest(mesh.nodes, *columns, *p)
        better = sign * np.exp(exponent + log) * mesh.weights + 0 * mesh.nodes
        are_one = np.isnan(better) | (np.abs(values - better) <= SAME_VALUE * np.abs(better))
        values = np.where(np.isfinite(values) & are_one, values, better)
        if np.isinf(values).any():
            raise CannotEvaluate("an integrand overflows in float64")
        return np.where(np.isnan(values), 0.0, values)

    def _pieces(self, context: Context, scope: Mapping[Symbol, Pair], low: float, high: float) -> Any:
        """The pieces of the window, found in float64; None where the integrand vanishes."""
        rough = Context(FLOAT, 1e-4)
        scope = {s: (float(v), float(e)) for s, (v, e) in scope.items()}
        p = tuple(scope[s][0] for s in self.parameters)
        table, _, kinks, bent = self._code(FLOAT)

        def log_weight(x: Any) -> Any:
            columns, _ = self._children_at(rough, np.atleast_1d(x), scope) if self.children else ([], None)
            exponent = table(x, *columns, *p)[0]
            return exponent + self._log_rest(x, *columns, *p)[1] + 0 * x

        depth = DEPTH if context.arithmetic.name == "numpy" else context.arithmetic.decades * 2.303 + 20
        window = scan(log_weight, low, high, depth)
        if window is None:
            return None
        if window.is_heavy or window.high - window.low > TAIL_PLACES[1]:  # of cos(x^2) the peak itself is that wide
            _check_tails(log_weight, low, high)
        cuts = kinks_between(kinks, p, window.low, window.high)
        for inside, bend in bent:
            found = kinks_between([bend], p, window.low, window.high)
            cuts += [x for x in found if _change_of_argument(inside, p, x, window.width / 2) > LARGEST_SWING]
        pieces = cover([window], low, high, cuts)
        if not pieces:
            raise CannotEvaluate("an integrand leaves the range of float64 where its window is looked for")
        return pieces


SAME_VALUE = 1e-6
"""Relative difference up to which two ways to compute a value agree within rounding."""
NUDGE = 4
"""Nodes are moved by so many roundings, to see how much digits are lost where terms of the integrand cancel."""
LARGEST_SWING = 10.0
"""A function whose argument changes by more over half the width of a peak is not resolved by equal steps: the line is cut
there."""


def _change_of_argument(inside: Any, p: tuple[float, ...], x: float, step: float) -> float:
    """The largest change of a function's argument from a place to either side of it; 0 where it is no number."""
    with np.errstate(all="ignore"):
        low, middle, high = (float(inside(x + n * step, *p)[0]) for n in (-1, 0, 1))
    return float(np.nan_to_num(max(abs(low - middle), abs(high - middle))))


TAIL_PLACES = 1e30, 1e40
"""|x| between which the power of a tail is measured: so far out an algebraic integrand is a power of x."""
NEARER_TAIL_PLACES = (1e12, 1e16), (1e6, 1e8)
"""The same for an integrand that overflows on the way there."""


def _check_tails(log_weight: Any, low: float, high: float) -> None:
    """Check that |integrand| falls faster than 1/|x| towards each infinite end.

    Raises:
        CannotEvaluate: where it does not, or is no number far out.
    """
    for side, end in ((-1.0, low), (1.0, high)):
        if not np.isinf(end):
            continue
        for places in (TAIL_PLACES, *NEARER_TAIL_PLACES):
            near, far = (float(value) for value in log_weight(side * np.array(places)))
            power = -np.inf if far == -np.inf else (far - near) / np.log(places[1] / places[0])
            if not np.isnan(power):
                break
        else:
            raise CannotEvaluate(
                "an integral over a token is not evaluated: its integrand is no number in float64 far out"
            )
        if not power <= -1.0 - 1e-9:
            raise CannotEvaluate(
                f"an integral does not converge absolutely: its integrand falls as |x|^({power:.3g}), no faster than 1/|x|"
            )
