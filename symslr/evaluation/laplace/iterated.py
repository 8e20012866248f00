"""An integral over Laplace variables, one after the other: at every value of one of them a form in the other, or in none.

Where a weight e^(nu x) and a kernel are both steep their product mesh is nearly empty, as what counts lies along a ridge of width
1/nu. With t = e^(-nu y) the integral over u is smooth in y on the scale of the tokens, y being the largest x + g/nu, g of Gumbel's
law, and the trapezoid rule takes some dozen values of y. Where it is not, as where a kernel bends, Gauss-Kronrod panels are
halved; the tokens crowd at y, where their weights bend. So it is with the variable of a steep exponential kernel; then an offset
exp(-u o) goes from 0 to 1 within 1/rate of one y, and the trapezoid rule is in w with y = that one + sinh(w)/rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.integrate import quad_vec
from sympy import Dummy, S
from sympy import exp as exp_
from sympy import log as log_

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import LaplaceCode
from symslr.evaluation.laplace.family import Family
from symslr.evaluation.laplace.floats import FloatSums
from symslr.evaluation.laplace.form import Kernel, LaplaceForm, Moment, Term
from symslr.evaluation.laplace.rule import Outer, refined
from symslr.evaluation.laplace.tokens import pieces
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.convergence import alternating_error, behind
from symslr.evaluation.quadrature.mesh import SinhMap
from symslr.evaluation.quadrature.scan import scan, scan_all, zoomed

STEEPEST = 1e5
"""Largest rate of an exponential of x: what x - y is rounded by moves it by 1e-11 of itself then. At 10^10 a risk of 0.29 was 1."""
LOOKS, ROUGH = 16, 5.0
"""Values of y, and nats asked for there, by which the window of y is found."""
FIRST_STEPS, HALVINGS = 32, 3
"""Steps of the trapezoid rule in y, and how often they are halved; no power of the last change is claimed, as a step of a weight
where hardly a largest token lies is hidden by all that lies elsewhere: 1 + tanh(117 x/5) at L = 32, nu = 326.4 was off by 39
claims. For 1e-12 erf on max-SLR at L = 60, nu = 964 takes 64, where halved panels took 252 values; softmax-1 at L = 30, nu = 290,
scale 46 takes 256, where they took 378."""
MOST_PANELS = 60
"""Of 21 values of y each, at some milliseconds."""
NATS = 29.0
"""Asked of the inner integrals, whatever is asked of the outer one: to 23 nats their errors held a fifth of what they were off."""
NOWHERE, FIRST_LEVEL = -1e4, 2.0
"""log u of a variable that is 0, and the first level of the tokens where no variable is left."""
FINEST = 1e-12
"""Relative error from which on panels are not halved: below it the rounding of the inner integrals decides."""
VANISHED = -1e9
"""Exponent of what multiplies an inner integral, as exp(-u o) does, below which nothing is left: no moment makes up for it."""
COARSER = 0.6
"""Levels by which the first mesh of tokens at a y is coarser than the last one at the y before."""


def smooth_axes(form: LaplaceForm) -> list[int]:
    """The variables that multiply one exponential of x; none where the moments are not all over the same tokens."""
    return [n for n, is_one in enumerate(form.are_exponential) if is_one and len(form.kernels) == 1]


class TokensAlone(FloatSums):
    """A form that no Laplace variable is left in: it is written in one that is 0, and multiplies 1."""

    def _laid_out(self, family: Family) -> tuple[list[SinhMap], list[float], float]:
        self.pieces = pieces(family, (NOWHERE,))
        return [], [], FIRST_LEVEL

    @property
    def few(self) -> Outer:
        return self.outer([])

    def outer(self, steps: list[Any], count: int | None = None) -> Outer:
        return Outer([np.array([NOWHERE])], np.ones(1), [], True)


class Iterated:
    """A form in one or two variables as a form in the others at every y.

    Attributes:
        code: of the form in the others; its last parameter is y.
    """

    def __init__(self, code: LaplaceCode, axis: int) -> None:
        form, (kernel,), y = code.form, code.form.kernels, Dummy("y", real=True)
        one = Kernel((kernel.slopes[axis],), kernel.lower, kernel.upper).exponential(form.x)
        assert one is not None
        log_t, load = -one.rate * y - log_(one.constant), exp_(one.rate * (form.x - y))
        self.is_last = len(form.logs) == 1
        others = kernel.slopes[:axis] + kernel.slopes[axis + 1 :], form.logs[:axis] + form.logs[axis + 1 :]
        slopes, logs = ((S.One,), (Dummy("none", real=True),)) if self.is_last else others
        rest = replace(kernel, slopes=slopes)
        whole = {m.log: log_(m.mean) + m.scale for m in form.moments if m.is_survival} | {form.logs[axis]: log_t}

        def moment(m: Moment) -> Moment:
            return replace(m, kernel=rest, exponent=m.exponent - load, gaussian=None, is_survival=False)

        def term(t: Term) -> Term:
            parts = t.exponent.xreplace(whole), t.rest.xreplace(whole)
            return Term(t.coefficient * abs(one.rate), *parts)

        inner = LaplaceForm(
            logs,
            form.x,
            (rest,),
            tuple(map(moment, form.moments)),
            tuple(map(term, form.terms)),
            form.integrals,
            (form.x - y,),
        )
        self.axis, self.whole, self.code = axis, code, LaplaceCode(inner, (*code.parameters, y), FLOAT)
        self._rates = FLOAT.compile(code.parameters, [one.rate])
        inside = {*inner.logs, *(symbol for m in inner.moments for symbol in (m.mean, m.log, m.scale))}
        outside = [t.exponent.as_independent(*inside, as_Add=True)[0] for t in inner.terms]
        self._outside = FLOAT.compile((*code.parameters, y), outside)
        exponentials = [Kernel((slope,), kernel.lower, kernel.upper).exponential(form.x) for slope in kernel.slopes]
        offsets = [
            (own.rate, log_(offset / own.constant) / own.rate)
            for own, offset in zip(exponentials, form.offsets)
            if own is not None and offset != 0
        ]
        self._offsets = FLOAT.compile(code.parameters, [number for pair in offsets for number in pair])
        powers = [] if self.is_last else [t.exponent.coeff(log, 1) for t in inner.terms for log in inner.logs]
        self._others = FLOAT.compile(code.parameters, powers)

    def rate(self, p: tuple[float, ...]) -> float:
        """|rate| of the exponential of x that the variable multiplies which is integrated last."""
        return abs(float(self._rates(*p)[0]))

    def integrals(self, family: Family) -> list[tuple[float, float]]:
        """(value, error) of every integral of a family of the whole form.

        Raises:
            CannotEvaluate: where an integral over one of them has no value, or its exponential is too steep.
        """
        if self.rate(family.p) > STEEPEST:
            raise CannotEvaluate("a kernel or a weight is too steep for float64; ask for a smaller scale or signal")
        levels = {NATS: 0.0, ROUGH: 0.0}

        def at(y: float, nats: float = NATS) -> Any:
            """Values and errors at y, (2, integrals); the tokens begin a little coarser than they ended at the y before."""
            if max(self._outside(*family.p, y)) < VANISHED:
                return np.zeros((2, len(family.integrals)))
            sums = (TokensAlone if self.is_last else FloatSums)(Family(self.code, (*family.p, y), nats))
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
            if not np.all(tops > 0.0):
                raise CannotEvaluate("the outer integrand vanishes in float64")
            return np.any(values > tops * np.exp(-family.depth), axis=1), (nodes[0], values)

        ((low, high),), (nodes, values) = zoomed(look, [self._guess(family)], LOOKS)
        middle = float(nodes[np.argmax(values.min(axis=1))])
        tops, own = np.abs(at(middle))
        tolerance = max(family.tolerance, FINEST, float(np.max(own / tops)))
        found = self._by_trapezoids(lambda y: at(y) / tops, low, high, tolerance, family.p)
        if found is not None:
            return [(value * top, error * top) for (value, error), top in zip(found, tops.tolist())]
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

    def _by_trapezoids(
        self, at: Callable[[float], Any], low: float, high: float, tolerance: float, p: tuple[float, ...]
    ) -> list[tuple[float, float]] | None:
        """(value, error) of every integral of ``at``, (2, integrals), over y from low to high; None where that is not smooth."""
        middle, rate = self._bend(p)
        is_bent = low < middle < high
        first, last = (np.arcsinh(rate * (end - middle)) if is_bent else end for end in (low, high))

        def along(w: float) -> Any:
            y, stretch = (middle + np.sinh(w) / rate, np.cosh(w) / rate) if is_bent else (w, 1.0)
            return at(float(y)) * stretch

        count, table = FIRST_STEPS, np.array([along(w) for w in np.linspace(first, last, FIRST_STEPS + 1)])
        for _ in range(HALVINGS):
            between = first + (last - first) / count * (np.arange(count) + 0.5)
            finer = np.empty((2 * count + 1, *table.shape[1:]))
            finer[::2], finer[1::2] = table, [along(w) for w in between]
            count, table = 2 * count, finer
            values, inherited = table[:, 0], np.abs(table[:, 1]).sum(axis=0)
            masses = np.abs(values).sum(axis=0)
            rules = [4.0 * values[k::4].sum(axis=0) for k in range(4)]
            errors = [alternating_error(four, mass, smooth=False) for *four, mass in zip(*rules, masses)]
            ends = [behind(abs(own[0]), abs(own[1])) + behind(abs(own[-1]), abs(own[-2])) for own in values.T.tolist()]
            if max(errors) <= tolerance:
                step = (last - first) / count
                missed = inherited + np.array(errors) * masses + np.array(ends) + FLOAT.eps * masses
                return [(value * step, error * step) for value, error in zip(values.sum(axis=0), missed)]
        return None

    def _bend(self, p: tuple[float, ...]) -> tuple[float, float]:
        """(y, rate) where the steepest kernel with an offset is as large as that, within 1/rate; y infinite where there is none."""
        rates, places = np.reshape(self._offsets(*p), (-1, 2)).astype(float).T
        return max(zip(np.abs(rates).tolist(), places.tolist()), default=(1.0, np.inf))[::-1]

    def _guess(self, family: Family) -> tuple[float, float]:
        """Where y lives, as the largest token: a moment at y has the tokens before it, and the sum of kernels that of y alone."""
        p, powers, others = family.p, self.code.constants((*family.p, 0.0)).powers, np.array(self._others(*family.p))

        def weights(x: Any) -> tuple[Any, Any]:
            slopes, exponents, rests = self.whole.weights(0, x, p)
            return np.delete(slopes, self.axis, axis=0), exponents + np.log(np.abs(rests))

        (ends,) = family.constants.ends.tolist()
        low, high = ends
        windows = scan_all(lambda x: weights(x)[1], low, high, family.depth)
        if any(window is None for window in windows):
            raise CannotEvaluate("a token integral has a weight that vanishes everywhere")
        peaks, before = (
            [window.peak for window in windows if window],
            np.minimum if self._rates(*p)[0] > 0 else np.maximum,
        )

        def log_density(y: Any) -> Any:
            slopes, moments = weights(y)[0], np.array([weights(before(y, peak))[1][n] for n, peak in enumerate(peaks)])
            outside = np.array([part + 0.0 * y for part in self._outside(*p, y)])
            return np.max(
                (outside + powers @ moments - others.reshape(len(outside), -1) @ slopes)[family.active], axis=0
            )

        window = scan(log_density, low, high, family.depth)
        if window is None:
            raise CannotEvaluate("the outer integrand vanishes in float64")
        reach = family.depth / self.rate(p)
        return window.low - reach, window.high + reach
