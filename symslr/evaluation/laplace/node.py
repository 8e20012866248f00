"""Integrals over Laplace variables as nodes of the plan, in float64 or in balls."""

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
from symslr.evaluation.exponential_kernel.points import suits
from symslr.evaluation.laplace.code import Family, LaplaceCode
from symslr.evaluation.laplace.digits import BallSums
from symslr.evaluation.laplace.floats import FloatSums
from symslr.evaluation.laplace.form import LaplaceForm
from symslr.evaluation.laplace.rule import Sums, refined
from symslr.evaluation.laplace.steep.iterated import Iterated, smooth_axes
from symslr.evaluation.laplace.steep.power_tails import TailSums, has_power_tail
from symslr.evaluation.laplace.steep.ridge import FINEST, integrals
from symslr.evaluation.laplace.survey import layout
from symslr.evaluation.nodes.node import Context, Node, Pair, ordered
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic, Float64, once_per_kind
from symslr.evaluation.numbers.balls import Balls, from_mpf
from symslr.model.symbols import x

STEEP, LEAST_NATS, POOR = 1000.0, 10.0, 0.1
"""The rate of an exponential of x times the nats asked for (or so many) from where on the product mesh takes longer; its windows
may also miss the ridge along which all lies, and a relative error shows it. Softmax-1 at nu = 3170, scale 52.7 had 5e-6 with an
error of 9e-6 in the place of 0.867; with a scale of 1000 at nu = 60 it was off by three of its errors. At nu = 200 softplus takes
3 s in the place of 0.3 at scale 50, and 20 s in the place of 1 at 402. Where an offset ends the axis it takes longer from half of
that on: softmax-1 at nu = 2, scale 150 takes 2.8 s to 1e-7 in the place of 0.4."""
EARLIER = 0.6
"""The part of that from where on the ridge is tried first, where the product mesh is there still: it takes half as long or less at
nu = 60, to 5 digits or 8."""
LONG_TABLE, LACKING = 1e7, 1e3
"""Numbers in a table over one variable, a tenth of a second, and tolerances in its error, from where on one exponential of x is
integrated last instead: softmax-1 at scale 98 took 25 s to 13 digits, as exp(-u) ends within a step of a long axis."""
BENT, BESIDE = 0.4, 0.1
"""How much less steep the other variable may be where an offset ends the one, whose integrand bends at one y, and at all: tokens
crowd within 1/rate of y, so that those of the other must not lie many of its widths away."""
GUARD = 16
"""Bits beyond the working precision: for sums of up to 2^16 nodes."""


class SumsNode(Node):
    """Abstract: what the refinement loop sums, at parameters in either arithmetic."""

    parameters: tuple[Symbol, ...]

    @abstractmethod
    def in_floats(self, p: tuple[float, ...], tolerance: float) -> list[Pair]:
        """(value, error) of every integral in float64.

        Raises:
            CannotEvaluate: where one of them has no window, or none in the range of float64.
        """

    @abstractmethod
    def in_balls(self, arithmetic: Balls, p: tuple[Any, ...], floats: tuple[float, ...], tolerance: Any) -> Sums | int:
        """What is to be summed at parameters, given in floats too; or the number of integrals where all of them vanish.

        Raises:
            CannotEvaluate: where they have no window, or are for float64 only.
        """

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        return self.all(context, scope)[0]

    def all(self, context: Context, scope: Mapping[Symbol, Pair]) -> list[Pair]:
        """(value, error) of every integral, on one table.

        Raises:
            CannotEvaluate: where one of them has none.
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
    """An integral over one or two Laplace variables."""

    def __init__(self, form: LaplaceForm, parameters: tuple[Symbol, ...], kernel: Expr | None = None) -> None:
        self.parameters, self._open, self._kernel, self.axes = parameters, form, kernel, len(form.logs)

    def closed(self, kernel: Expr) -> LaplaceNode:
        return LaplaceNode(self._open, ordered({*self.parameters, *kernel.free_symbols} - {x}), kernel)

    @cached_property
    def form(self) -> LaplaceForm:
        """With the kernel, made when it is asked for: an integral that shares its table with others is not."""
        return self._open if self._kernel is None else self._open.closed(self._kernel)

    @cached_property
    def _code(self) -> Callable[[Arithmetic], LaplaceCode]:
        return once_per_kind(partial(LaplaceCode, self.form, self.parameters))

    @cached_property
    def _shared(self) -> SharedMesh | None:
        return SharedMesh(self._code(FLOAT)) if suits(self.form) else None

    @cached_property
    def _iterated(self) -> list[Iterated]:
        """The ways to integrate over one variable after the others."""
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
        rates, bent = (
            [way.rate(p) for way in self._iterated],
            [self.form.offsets[way.axis] != 0 for way in self._iterated],
        )
        order = sorted(range(len(rates)), key=lambda n: -rates[n] * (BENT if bent[n] else 1.0))
        ridges = [partial(integrals, self._iterated[n]) for n in order if rates[n] >= BESIDE * max(rates)]
        steep = STEEP / 2.0 if bent[int(np.argmax(rates))] else STEEP
        steepness = max(rates) * max(-log(tolerance), LEAST_NATS)
        is_steep = steepness >= steep
        product = [] if is_steep and self.axes > 1 else [self._product]
        most = LACKING * max(tolerance, FINEST)
        ways: list[Callable[[Family], list[Pair]]] = [*product, *ridges]
        if steepness >= (EARLIER * steep if self.axes > 1 else steep):
            ways = [*ridges, *product]
        found: list[Pair] = []
        refusal: Exception | None = None
        for one in ways:
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
        """On a product mesh.

        Raises:
            TooDear: where it takes longer than one variable after another.
            CannotEvaluate: where it has no windows, as it may be under a steep exponential.
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
            if error <= LACKING * context.tolerance * abs(value):
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
        """Whether the table depends on one variable, so that it costs less than it would save to share it."""
        return self._shared is not None
