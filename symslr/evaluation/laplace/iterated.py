"""An integral over two Laplace variables, one after the other: for every node of one of them a form in the other.

Where both a weight e^(nu x) and a kernel are steep, their product mesh is nearly empty: what counts lies along a ridge. Between the
two integrals the integrand is smooth on the scale of the tokens again, as the steep steps of both are averaged over the tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sympy import log
from sympy import exp as exp_

from symslr.evaluation.laplace.code import LaplaceCode
from symslr.evaluation.laplace.family import Family
from symslr.evaluation.laplace.floats import FloatSums
from symslr.evaluation.laplace.form import Kernel, LaplaceForm
from symslr.evaluation.laplace.rule import WIDER, Outer, Sums, refined
from symslr.evaluation.laplace.survey import layout
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.mesh import Line


def given(form: LaplaceForm, axis: int) -> LaplaceForm:
    """The form in the other variable, with the logarithm of this one as a parameter."""
    v, others = form.logs[axis], tuple(s for n, s in enumerate(form.logs) if n != axis)
    kernels, loads = {}, {}
    for own in form.kernels:
        kernels[own] = Kernel(tuple(s for n, s in enumerate(own.slopes) if n != axis), own.lower, own.upper)
        one = Kernel((own.slopes[axis],), own.lower, own.upper).exponential(form.x)
        loads[own] = exp_(v) * own.slopes[axis] if one is None else exp_(v + log(one.constant) + one.rate * form.x)
    moments = tuple(
        replace(m, kernel=kernels[m.kernel], exponent=m.exponent - loads[m.kernel], gaussian=None, is_survival=False)
        for m in form.moments
    )
    whole = {m.log: log(m.mean) + m.scale for m in form.moments if m.is_survival}
    terms = tuple(replace(t, exponent=t.exponent.xreplace(whole)) for t in form.terms)
    return replace(form, logs=others, kernels=tuple(dict.fromkeys(kernels.values())), moments=moments, terms=terms)


def smooth_axes(form: LaplaceForm) -> list[int]:
    """The variables that multiply one exponential of x and enter through the moments and powers alone."""
    outside = [part for t in form.terms for part in (t.exponent, t.rest)]
    return [
        n
        for n, v in enumerate(form.logs)
        if form.are_exponential[n] and not any(part.has(exp_(v)) for part in outside)
    ]


class IteratedSums(Sums):
    """The outer integral, as the refinement loop takes it; its integrands come with errors of their own."""

    arithmetic = FLOAT
    level = 0.0
    is_nested = False

    def __init__(self, family: Family) -> None:
        axes = layout(family).axes
        self.family, self.tolerance = family, family.tolerance
        n = max(smooth_axes(family.form), key=lambda n: axes[n].high - axes[n].low)
        self.low, self.high = axes[n].low, axes[n].high
        self.code = LaplaceCode(given(family.form, n), (*family.code.parameters, family.form.logs[n]), FLOAT)
        self.steps = [(self.high - self.low) / 48]
        self.known: dict[float, list[tuple[float, float]]] = {}

    def at(self, v: float) -> list[tuple[float, float]]:
        if v not in self.known:
            own = Family(self.code, (*self.family.p, v), -float(np.log(self.tolerance)))
            self.known[v] = refined(FloatSums(own))
        return self.known[v]

    @property
    def few(self) -> Outer:
        return self.outer([4.0 * h for h in self.steps])

    def outer(self, steps: list[Any]) -> Outer:
        mesh = Line(self.low, self.high, float(steps[0])).mesh(FLOAT, 0.0)
        return Outer([mesh.nodes], mesh.weights / mesh.weights[0], [float(mesh.weights[0])])

    def widen(self, late: list[int]) -> None:
        self.high += WIDER

    def inner(self, level: float) -> None:
        return None

    def table(self, outer: Outer, inner: None) -> IteratedTable:
        return IteratedTable(self, outer)

    def rounding(self, table: IteratedTable) -> list[float]:
        return [float(np.sum(errors) / np.sum(np.abs(values))) for values, errors in zip(table.pairs[0], table.pairs[1])]


class IteratedTable:
    def __init__(self, sums: IteratedSums, outer: Outer) -> None:
        self.pairs = np.array([sums.at(float(v)) for v in outer.v[0]]).T  # (value or error, integrals, nodes)?
        self.pairs = np.moveaxis(np.array([sums.at(float(v)) for v in outer.v[0]]), 0, -1).swapaxes(0, 1)

    def values(self, coarser: int = 0) -> list[Any]:
        return list(self.pairs[0])
