"""An integral over two Laplace variables, one after the other: at every value of one of them a form in the other.

Where a weight e^(nu x) and a kernel are both steep their product mesh is nearly empty, as what counts lies along a ridge of width
1/nu. With t = e^(-nu y) the integral over u is smooth in y on the scale of the tokens, y being the largest x + g/nu, g of Gumbel's
law. Where it is not, as where a kernel bends, Gauss-Kronrod panels are halved; the tokens crowd at y, where their weights bend.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.integrate import quad_vec
from sympy import Dummy
from sympy import exp as exp_
from sympy import log as log_

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import LaplaceCode
from symslr.evaluation.laplace.family import Family
from symslr.evaluation.laplace.floats import FloatSums
from symslr.evaluation.laplace.form import Kernel, LaplaceForm, Moment, Term
from symslr.evaluation.laplace.rule import refined
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.scan import scan, zoomed

LOOKS, ROUGH = 16, 5.0
"""Values of y, and nats asked for there, by which the window of y is found."""
MOST_PANELS = 60
"""Of 21 values of y each, at some milliseconds."""
NATS = 29.0
"""Asked of the inner integrals, whatever is asked of the outer one: to 23 nats their errors held a fifth of what they were off."""
FINEST = 1e-12
"""Relative error from which on panels are not halved: below it the rounding of the inner integrals decides."""
COARSER = 0.6
"""Levels by which the first mesh of tokens at a y is coarser than the last one at the y before."""


def smooth_axes(form: LaplaceForm) -> list[int]:
    """The variables that multiply one exponential of x and enter through the moments and powers alone.

    None where the moments are not all over the same tokens, or none of them is of their law.
    """
    if len(form.kernels) > 1 or not form.survivors:
        return []
    outside = [part for t in form.terms for part in (t.exponent, t.rest)]
    axes = zip(form.logs, form.are_exponential)
    return [n for n, (v, is_one) in enumerate(axes) if is_one and not any(part.has(exp_(v)) for part in outside)]


class Iterated:
    """A form in two variables as a form in one of them at every y.

    Attributes:
        code: of the form in one variable; its last parameter is y.
    """

    def __init__(self, code: LaplaceCode, axis: int) -> None:
        form, (kernel,), y = code.form, code.form.kernels, Dummy("y", real=True)
        one = Kernel((kernel.slopes[axis],), kernel.lower, kernel.upper).exponential(form.x)
        assert one is not None
        log_t, load = -one.rate * y - log_(one.constant), exp_(one.rate * (form.x - y))
        rest = replace(kernel, slopes=kernel.slopes[:axis] + kernel.slopes[axis + 1 :])
        whole = {m.log: log_(m.mean) + m.scale for m in form.moments if m.is_survival} | {form.logs[axis]: log_t}

        def moment(m: Moment) -> Moment:
            return replace(m, kernel=rest, exponent=m.exponent - load, gaussian=None, is_survival=False)

        def term(t: Term) -> Term:
            parts = t.exponent.xreplace(whole), t.rest.xreplace(whole)
            return Term(t.coefficient * abs(one.rate), *parts)

        inner = LaplaceForm(
            form.logs[:axis] + form.logs[axis + 1 :],
            form.x,
            (rest,),
            tuple(map(moment, form.moments)),
            tuple(map(term, form.terms)),
            form.integrals,
            (form.x - y,),
        )
        self.whole, self.code = code, LaplaceCode(inner, (*code.parameters, y), FLOAT)
        self._rates = FLOAT.compile(code.parameters, [one.rate])

    def rate(self, p: tuple[float, ...]) -> float:
        """|rate| of the exponential of x that the variable multiplies which is integrated last."""
        return abs(float(self._rates(*p)[0]))

    def integrals(self, family: Family) -> list[tuple[float, float]]:
        """(value, error) of every integral of a family of the form in two variables.

        Raises:
            CannotEvaluate: where an integral over one of them has no value.
        """
        levels = {NATS: 0.0, ROUGH: 0.0}

        def at(y: float, nats: float = NATS) -> Any:
            """Values and errors at y, (2, integrals); the tokens begin a little coarser than they ended at the y before."""
            sums = FloatSums(Family(self.code, (*family.p, y), nats))
            sums.level = max(sums.level, levels[nats] - COARSER)
            found = refined(sums)
            levels[nats] = sums.level
            return np.array(found).T

        def rough(y: float) -> Any:
            try:
                return np.abs(at(y, ROUGH)[0])
            except CannotEvaluate:  # where hardly a token comes, every weight may vanish
                return np.zeros(len(family.integrals))

        def look(nodes: list[Any]) -> tuple[Any, tuple[Any, Any]]:
            values = np.array([rough(float(y)) for y in nodes[0]])
            tops = values.max(axis=0)
            return np.any(values > tops * np.exp(-family.depth), axis=1), (nodes[0], values)

        ((low, high),), (nodes, values) = zoomed(look, [self._guess(family)], LOOKS)
        middle = float(nodes[np.argmax(values.min(axis=1))])
        tops, own = np.abs(at(middle))
        tolerance = max(family.tolerance, FINEST, float(np.max(own / tops)))
        whole, error = quad_vec(
            lambda y: at(y) / tops,
            low,
            high,
            epsabs=0.0,
            epsrel=tolerance,
            norm="max",
            limit=MOST_PANELS,
            points=[middle],
            quadrature="gk21",
        )
        beyond = sum(np.abs(at(end)[0]) for end in (low, high)) * (nodes[1] - nodes[0])
        found, inherited = whole * tops
        return list(zip(found, inherited + error * tops + beyond))

    def _guess(self, family: Family) -> tuple[float, float]:
        """Where tokens come, and by how much a Gumbel variable moves them."""
        (survivor, *_), (ends,) = self.whole.form.survivors, family.constants.ends
        n = family.moments_of[0].index(survivor)

        def log_density(x: Any) -> Any:
            _, exponents, rests = self.whole.weights(0, x, family.p)
            return exponents[n] + np.log(np.abs(rests[n]))

        window = scan(log_density, float(ends[0]), float(ends[1]), family.depth)
        if window is None:
            raise CannotEvaluate("a token integral has a weight that vanishes everywhere")
        reach = family.depth / self.rate(family.p)
        return window.low - reach, window.high + reach
