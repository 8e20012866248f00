"""Laplace forms as a node of the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import isfinite
from typing import Any, final

import mpmath
import numpy as np
from sympy import Symbol

from symslr.evaluation.arithmetic import Arithmetic, Float64, Multiprecision
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.fixed_outer import FixedOuter
from symslr.evaluation.laplace_code import LaplaceCode
from symslr.evaluation.laplace_dense import DenseFloat
from symslr.evaluation.laplace_fixed import DenseFixed
from symslr.evaluation.laplace_float import FloatOuter
from symslr.evaluation.laplace_form import LaplaceForm
from symslr.evaluation.node import Context, Node, Pair
from symslr.evaluation.power_tails import PowerTails, has_power_tail
from symslr.evaluation.shared_fixed import SharedFixed
from symslr.evaluation.shared_mesh import SharedMesh
from symslr.evaluation.shared_points import suits

FLOAT = Float64()


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
        p = tuple(scope[s][0] for s in self.parameters)
        code = self._code(context.arithmetic)
        if isinstance(context.arithmetic, Multiprecision):
            self._check_tails(p)
            return self._fixed(FixedOuter(code, self._code(FLOAT), p, context.arithmetic, context.tolerance))
        with np.errstate(all="ignore"):
            return self._float(code, p, context)

    def _check_tails(self, p: tuple[Any, ...]) -> None:
        """Raises CannotEvaluate where the integral needs a mesh of its own for every u."""
        code, floats = self._code(FLOAT), tuple(float(value) for value in p)
        with np.errstate(all="ignore"):
            if has_power_tail(code, code.constants(floats), floats):
                raise CannotEvaluate(
                    "a token law with a power tail under a kernel that grows exponentially is evaluated in float64 only; "
                    "ask for at most 12 digits"
                )

    @staticmethod
    def _fixed(outer: FixedOuter) -> Pair:
        if not outer.active:
            return mpmath.mpf(0), mpmath.mpf(0)
        outer.find_layout()
        with mpmath.workprec(outer.arithmetic.bits + outer.guard):
            return (SharedFixed(outer) if SharedFixed.fits(outer) else DenseFixed(outer)).run()

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        if len(scopes) == 1 or not isinstance(context.arithmetic, Float64) or self._shared is None:
            return super().at(context, scopes)
        with np.errstate(all="ignore"):
            p = np.array([[scope[s][0] for scope in scopes] for s in self.parameters])
            values, errors = self._shared.run(p, context.tolerance)
        alone = super().at(context, scopes)
        pairs = zip(values.tolist(), errors.tolist())
        return [partial(tuple, pair) if isfinite(pair[1]) else get for pair, get in zip(pairs, alone)]

    def _float(self, code: LaplaceCode, p: tuple[float, ...], context: Context) -> Pair:
        if self._shared is not None:
            value, error = self._shared.one(p, context.tolerance)
            if isfinite(error):
                return value, error
        outer = FloatOuter(code, code.constants(p), p, context.tolerance)
        if not outer.active:
            return 0.0, 0.0
        if has_power_tail(code, outer.constants, p):
            value, error = PowerTails(outer).run()
        elif context.memory is None or any(self.form.kinks):
            value, error = DenseFloat(outer).run()
        else:
            value, error, context.memory[self] = DenseFloat(outer).near(context.memory.get(self))
        if value == 0 and error == 0:
            raise CannotEvaluate("a Laplace integral underflows in float64")
        return value, error
