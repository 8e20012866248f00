"""Integrals over one variable, and expectations of one token, as balls on panels."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log
from typing import Any

import numpy as np
from flint import arb, ctx
from sympy import Expr, Integral, Symbol, oo

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.exponent import Split, gaussian, split
from symslr.evaluation.panels.functions import TokenFunctions
from symslr.evaluation.panels.panels import Search
from symslr.evaluation.panels.tokens import Nodes
from symslr.expression.expectation import ScalarExpectation
from symslr.model.symbols import x

SPARE = 4.0
"""Nats by which an error is aimed lower than asked for."""
ROUNDS = 3
"""An integral much smaller than that of the absolute value is summed again, to a tolerance relative to itself."""
GUARD = 30
"""Bits beyond those of the tolerance."""


def enclosed_integral(expr: Expr, nats: float, scope: Mapping[Any, Any]) -> Any:
    """An expectation of one token, or an integral over one variable, as a ball; ``scope`` has balls for its parameters.

    Raises:
        CannotEvaluate: where it does not converge absolutely, costs too much, or is an integral of another kind.
    """
    if isinstance(expr, ScalarExpectation):
        law, variable = expr.law, expr.variable
        body, low, high = expr.body * law.density.xreplace({x: variable}), law.lower, law.upper
    elif len(expr.limits) == 1 and len(expr.limits[0]) == 3 and not expr.function.has(ScalarExpectation, Integral):
        body, (variable, low, high) = expr.function, expr.limits[0]
    elif any(limit[1:] != (0, oo) for part in expr.function.atoms(Integral) for limit in part.limits):
        raise CannotEvaluate(
            "certified: no proof is available for integrals that end at another variable, as where the largest key is selected "
            "(max at nu = inf); expected integrals over the whole line"
        )
    else:
        raise CannotEvaluate(f"certified: no proof is available for {expr}; expected an integral over one variable")
    return LineIntegral(body, variable, (low, high), tuple(scope))(list(scope.values()), nats)


class LineIntegral:
    """The integral of ``body`` over a variable from a first to a last end, as a function of parameters."""

    def __init__(self, body: Expr, variable: Symbol, ends: tuple[Expr, Expr], parameters: tuple[Symbol, ...]) -> None:
        weight = split(body)
        square = gaussian(weight.exponent, variable)
        if square is not None:
            weight = Split(square.centred(variable) + square.height, weight.rest)
        self._forward, self._backward = (
            TokenFunctions(variable, (), (weight,), *own, parameters, ((),)) for own in (ends, ends[::-1])
        )

    def __call__(self, p: list[Any], nats: float) -> Any:
        """As a ball whose radius is aimed at e^-nats of it; ``p`` are balls.

        Raises:
            CannotEvaluate: where it does not converge absolutely, or costs too much.
        """
        with ctx.workprec(ceil(nats / log(2)) + GUARD):
            first, last = self._forward.ends(*p)
            if first > last:
                return -_enclosed(self._backward, p, nats)
            if first.is_finite() and last.is_finite() and not first < last:
                return arb(0)
            return _enclosed(self._forward, p, nats)


def _enclosed(functions: TokenFunctions, p: list[Any], nats: float) -> Any:
    extra = 0.0
    for _ in range(ROUNDS):
        with ctx.workprec(ctx.prec + ceil(extra / log(2))):
            panels = Search(functions.at(p), nats + extra + SPARE).panels([])
            nodes = Nodes(functions, panels, panels.masses, p)
            error = np.logaddexp.reduce([*nodes.errors[0], nodes.lost[0]])
            total = sum(nodes.weights[0], arb(0)) + arb(0, arb(float(error)).exp().upper())
            if total.rad() <= abs(total.mid()) * arb(-nats).exp():
                break
            extra = -float(abs(total.mid()).log()) if abs(total.mid()) > 0 else nats
    return total * arb(float(panels.masses[0])).exp()
