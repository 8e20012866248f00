"""Laplace forms as a node of the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import isfinite
from typing import final

import mpmath
import numpy as np
from flint import ctx
from sympy import Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.exponential_kernel.mesh import SharedMesh
from symslr.evaluation.exponential_kernel.points import suits
from symslr.evaluation.laplace import digits
from symslr.evaluation.laplace.code import LaplaceCode
from symslr.evaluation.laplace.family import Family
from symslr.evaluation.laplace.floats import integrate
from symslr.evaluation.laplace.form import LaplaceForm
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic, Float64, Multiprecision
from symslr.evaluation.numbers.balls import Balls, centre, from_mpf, radius
from symslr.evaluation.power_tails.tails import has_power_tail


@final
class LaplaceNode(Node):
    """An integral over one or two Laplace variables."""

    def __init__(self, form: LaplaceForm, parameters: tuple[Symbol, ...]) -> None:
        self.form, self.parameters = form, parameters
        self._codes: dict[str, LaplaceCode] = {}

    def _code(self, arithmetic: Arithmetic) -> LaplaceCode:
        if arithmetic.name not in self._codes:
            self._codes[arithmetic.name] = LaplaceCode(self.form, self.parameters, arithmetic)
        return self._codes[arithmetic.name]

    @cached_property
    def _shared(self) -> SharedMesh | None:
        return SharedMesh(self._code(FLOAT)) if suits(self.form) else None

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        if self._shared is not None and isinstance(context.arithmetic, Float64):
            with np.errstate(all="ignore"):
                value, error = self._shared.one(tuple(scope[s][0] for s in self.parameters), context.tolerance)
            if isfinite(error):
                return value, error
        return self.all(context, scope)[0]

    def all(self, context: Context, scope: Mapping[Symbol, Pair]) -> list[Pair]:
        """(value, error) of every integral of the form, on one table.

        Raises:
            CannotEvaluate: where one of them has none.
        """
        floats = tuple(float(scope[s][0]) for s in self.parameters)
        with np.errstate(all="ignore"):
            family = Family(self._code(FLOAT), floats, float(-mpmath.log(context.tolerance)))
            if isinstance(context.arithmetic, Float64):
                return integrate(family)
            if family.active and has_power_tail(family):
                raise CannotEvaluate(
                    "a token law with a power tail under a kernel that grows exponentially is evaluated in float64 only; "
                    "ask for at most 12 digits"
                )
        return self._in_balls(context, scope)

    def _in_balls(self, context: Context, scope: Mapping[Symbol, Pair]) -> list[Pair]:
        assert isinstance(context.arithmetic, Multiprecision)
        arithmetic = Balls(context.arithmetic.bits)
        with ctx.workprec(arithmetic.bits):
            p = tuple(from_mpf(*map(mpmath.mpf, scope[s])) for s in self.parameters)
            found = digits.integrate(self._code(arithmetic), self._code(FLOAT), p, arithmetic, context.tolerance)
            return [(centre(ball), radius(ball)) for ball in found]

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        if len(scopes) == 1 or not isinstance(context.arithmetic, Float64) or self._shared is None:
            return super().at(context, scopes)
        with np.errstate(all="ignore"):
            p = np.array([[scope[s][0] for scope in scopes] for s in self.parameters])
            values, errors = self._shared.run(p, context.tolerance)
        alone = super().at(context, scopes)
        pairs = zip(values.tolist(), errors.tolist())
        return [partial(tuple, pair) if isfinite(pair[1]) else get for pair, get in zip(pairs, alone)]

    @property
    def is_correlated(self) -> bool:
        """Whether the table depends on one variable, so that it costs less than it would save to share it."""
        return self._shared is not None
