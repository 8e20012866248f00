"""Integrals over Laplace variables as nodes of a plan, in float64 or in balls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import inf, isfinite, log
from operator import itemgetter
from typing import Any, final

import mpmath
import numpy as np
from flint import ctx
from sympy import Expr, Symbol

from symslr.evaluation.errors import CannotEvaluate, FloatOnly, TooDear, beside
from symslr.evaluation.exponential_kernel.mesh import SharedMesh
from symslr.evaluation.exponential_kernel.points import has_shared_mesh
from symslr.evaluation.laplace.code import Family, LaplaceCode
from symslr.evaluation.laplace.digits import BallSums
from symslr.evaluation.laplace.floats import FloatSums
from symslr.evaluation.laplace.form import LaplaceForm
from symslr.evaluation.laplace.rule import Sums, refined
from symslr.evaluation.laplace.steep.iterated import Iterated, smooth_axes
from symslr.evaluation.laplace.steep.power_tails import TailSums, has_power_tail
from symslr.evaluation.laplace.steep.ridge import LEAST_TOLERANCE, integrals
from symslr.evaluation.laplace.survey import layout
from symslr.evaluation.nodes.node import Context, Node, Pair, ordered
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic, Float64, once_per_kind
from symslr.evaluation.numbers.balls import Balls, from_mpf
from symslr.model.symbols import x

STEEP_NATS, LEAST_NATS = 1000.0, 10.0
"""STEEP_NATS is compared with the rate of an exponential of x times the nats asked for (LEAST_NATS at least). From there on a
product mesh takes longer than the ridge, and from half of that on where an offset ends the axis. At nu = 200 softplus takes 3 s on
it instead of 0.3 s at scale 50, and 20 s, not 1 s, at 402; softmax-1 at nu = 2, scale 150 takes 2.8 s instead of 0.4 s to 1e-7.
Its windows may also miss the ridge on which all mass lies: softmax-1 at nu = 3170, scale 52.7 gave 5e-6 +- 9e-6 instead of 0.867,
and at nu = 60 with a scale of 1000 it was off by three of its errors."""
RIDGE_FIRST = 0.6
"""With two variables the ridge is tried first from this part of STEEP_NATS on, where the product mesh still works: at nu = 60 it
takes half as long or less, to 5 digits or 8."""
LONG_TABLE = 1e7
"""Numbers in a table over one variable, a tenth of a second; for larger ones the ridge is taken. softmax-1 at scale 98 took 25 s
to 13 digits, as exp(-u) ends within a step of a long axis."""
MOST_TOLERANCES = 1e3
"""Where the error is more than so many tolerances, another method is tried."""
OFFSET_FACTOR = 0.4
"""The rate of a variable whose integral an offset ends counts with this factor in the choice of the one that is integrated last."""
LEAST_RATE = 0.1
"""A variable is integrated last only where its rate is at least this part of the largest: tokens crowd within 1/rate of y, and
those that matter to the other variable must not lie many of these widths away."""
GUARD = 16
"""Bits beyond the working precision, for sums of up to 2^16 nodes."""


class SumsNode(Node):
    """Abstract: integrals evaluated by the refinement loop, in float64 or in balls."""

    parameters: tuple[Symbol, ...]

    @abstractmethod
    def in_floats(self, p: tuple[float, ...], tolerance: float) -> list[Pair]:
        """(value, error) of every integral in float64.

        Raises:
            CannotEvaluate: where one of them has no window, or none in the range of float64.
        """

    @abstractmethod
    def in_balls(self, arithmetic: Balls, p: tuple[Any, ...], floats: tuple[float, ...], tolerance: Any) -> Sums | int:
        """The integrals at parameters ``p`` for the refinement loop; their number where all of them vanish.

        Args:
            floats: the parameters in float64.

        Raises:
            CannotEvaluate: where they have no window, or are for float64 only.
        """

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        return self.all(context, scope)[0]

    def all(self, context: Context, scope: Mapping[Symbol, Pair]) -> list[Pair]:
        """(value, error) of every integral; they share one table.

        Raises:
            CannotEvaluate: where one of them has no value.
        """
        floats, zero = tuple(float(scope[s][0]) for s in self.parameters), context.arithmetic.number(0)
        with np.errstate(all="ignore"):
            if isinstance(context.arithmetic, Float64):
                return self.in_floats(floats, float(context.tolerance))
            arithmetic = Balls(int(context.arithmetic.decades / 0.30103) + GUARD)
            with ctx.workprec(arithmetic.bits):
                p = tuple(from_mpf(*map(mpmath.mpf, scope[s])) for s in self.parameters)
                found = self.in_balls(arithmetic, p, floats, context.tolerance)
                if isinstance(found, int):
                    return [(zero, zero)] * found
                with ctx.workprec(ctx.prec + found.guard):
                    return refined(found)


@final
class LaplaceNode(SumsNode):
    """One or more integrals over one or two Laplace variables, of one form."""

    def __init__(self, form: LaplaceForm, parameters: tuple[Symbol, ...], kernel: Expr | None = None) -> None:
        self.parameters, self._open, self._kernel, self.axes = parameters, form, kernel, len(form.logs)

    def closed(self, kernel: Expr) -> LaplaceNode:
        return LaplaceNode(self._open, ordered({*self.parameters, *kernel.free_symbols} - {x}), kernel)

    @cached_property
    def form(self) -> LaplaceForm:
        """The form with its kernel, built at first use: an integral that shares the table of others does not need it."""
        return self._open if self._kernel is None else self._open.closed(self._kernel)

    @cached_property
    def _code(self) -> Callable[[Arithmetic], LaplaceCode]:
        return once_per_kind(partial(LaplaceCode, self.form, self.parameters))

    @cached_property
    def _shared(self) -> SharedMesh | None:
        return SharedMesh(self._code(FLOAT)) if has_shared_mesh(self.form) else None

    @cached_property
    def _iterated(self) -> list[Iterated]:
        """The ways to integrate over one of the variables last."""
        code = self._code(FLOAT)
        return [Iterated(code, axis) for axis in smooth_axes(self.form)]

    def in_floats(self, p: tuple[float, ...], tolerance: float) -> list[Pair]:
        family = Family(self._code(FLOAT), p, -log(tolerance))
        if not family.active:
            return [(0.0, 0.0)] * len(family.integrals)
        if has_power_tail(family):
            return refined(TailSums(family))
        if not self._iterated:
            return refined(FloatSums(family, layout(family)))
        rates, has_offset = (
            [way.rate(p) for way in self._iterated],
            [self.form.offsets[way.axis] != 0 for way in self._iterated],
        )
        order = sorted(range(len(rates)), key=lambda n: -rates[n] * (OFFSET_FACTOR if has_offset[n] else 1.0))
        ridges = [partial(integrals, self._iterated[n]) for n in order if rates[n] >= LEAST_RATE * max(rates)]
        steep = STEEP_NATS / 2.0 if has_offset[int(np.argmax(rates))] else STEEP_NATS
        steepness = max(rates) * max(-log(tolerance), LEAST_NATS)
        is_steep = steepness >= steep
        product = [] if is_steep and self.axes > 1 else [self._product]
        most = MOST_TOLERANCES * max(tolerance, LEAST_TOLERANCE)
        methods: list[Callable[[Family], list[Pair]]] = [*product, *ridges]
        if steepness >= (RIDGE_FIRST * steep if self.axes > 1 else steep):
            methods = [*ridges, *product]
        found: list[Pair] = []
        refusal: Exception | None = None
        for one in methods:
            try:
                other = one(family)
            except CannotEvaluate as reason:
                if refusal is None:
                    refusal = reason
                else:
                    refusal = beside(refusal, reason) if isinstance(reason, TooDear) else beside(reason, refusal)
                continue
            found = [min(two, key=itemgetter(1)) for two in zip(found, other)] if found else other
            if all(error <= max(most * abs(value), FLOAT.tiny) for value, error in found):
                break
        if refusal is not None and not found:
            raise refusal
        return found

    def _product(self, family: Family) -> list[Pair]:
        """The values on a product mesh of all variables and the tokens.

        Raises:
            TooDear: where the ridge takes less time.
            CannotEvaluate: where it has no window, as may be for a steep exponential.
        """
        sums = FloatSums(family, layout(family), LONG_TABLE if self.axes == 1 else inf)
        if self.axes > 1 and sums.is_dear:
            raise TooDear("a product mesh is too large for float64; ask for fewer digits")
        return refined(sums)

    def in_balls(self, arithmetic: Balls, p: tuple[Any, ...], floats: tuple[float, ...], tolerance: Any) -> Sums | int:
        family = Family(self._code(FLOAT), floats, float(-mpmath.log(tolerance)))
        if not family.active:
            return len(family.integrals)
        if has_power_tail(family):
            raise FloatOnly(
                "a token law with a power tail under a kernel that grows or falls exponentially is evaluated in float64 only; "
                "ask for at most 12 digits"
            )
        return BallSums(self._code(arithmetic), family, layout(family), p, arithmetic, tolerance)

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        shared: Pair | None = None
        if self._shared is not None and isinstance(context.arithmetic, Float64):
            with np.errstate(all="ignore"):
                value, error = self._shared.one(tuple(scope[s][0] for s in self.parameters), context.tolerance)
            if error <= MOST_TOLERANCES * context.tolerance * abs(value):
                return value, error
            shared = (value, error) if isfinite(error) else None
        try:
            alone = super().evaluate(context, scope)
        except CannotEvaluate:
            if shared is None:
                raise
            return shared
        return alone if shared is None else min(shared, alone, key=itemgetter(1))

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        if (
            len(scopes) == 1
            or not self.parameters
            or not isinstance(context.arithmetic, Float64)
            or self._shared is None
        ):
            return super().at(context, scopes)
        with np.errstate(all="ignore"):
            p = np.array([[scope[s][0] for scope in scopes] for s in self.parameters])
            values, errors = self._shared.run(p, context.tolerance)
        # over one variable a point that the shared mesh has refused is not asked of it again
        alone = super().evaluate if self.axes == 1 else self.evaluate
        pairs = zip(values.tolist(), errors.tolist(), scopes)
        return [partial(tuple, pair) if isfinite(pair[1]) else partial(alone, context, scope) for *pair, scope in pairs]

    @property
    def is_correlated(self) -> bool:
        """Whether one exponential kernel makes the table a function of one variable, so that sharing it between integrals saves
        nothing.
        """
        return self._shared is not None
