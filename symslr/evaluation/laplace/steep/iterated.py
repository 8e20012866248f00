"""A form in one or two Laplace variables as a form in the others for every y, where t = e^(-rate y) multiplies an exponential
of x.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sympy import Dummy, S
from sympy import exp as exp_
from sympy import log as log_

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import Family, LaplaceCode
from symslr.evaluation.laplace.form import Kernel, LaplaceForm, Moment, Term
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.scan import scan, scan_all

VANISHES = "the outer integrand vanishes in float64"


def smooth_axes(form: LaplaceForm) -> list[int]:
    """The variables that multiply one exponential of x; none where the moments are over different kernels."""
    return [n for n, is_one in enumerate(form.are_exponential) if is_one and len(form.kernels) == 1]


class Iterated:
    """A form in one or two variables as a form in the others, one of them being replaced by the parameter y.

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
        """|rate| of the exponential of x that multiplies the variable integrated last."""
        return abs(self.signed_rate(p))

    def signed_rate(self, p: tuple[float, ...]) -> float:
        """That rate with its sign."""
        return float(self._rates(*p)[0])

    def bend(self, p: tuple[float, ...]) -> tuple[float, float]:
        """(y, rate): where the steepest kernel that has an offset equals it, within 1/rate; y is infinite where none has."""
        rates, places = np.reshape(self._offsets(*p), (-1, 2)).astype(float).T
        return max(zip(np.abs(rates).tolist(), places.tolist()), default=(1.0, np.inf))[::-1]

    def guess(self, family: Family) -> tuple[float, float]:
        """A first interval of y, found as for the largest token: a moment at y counts the tokens before y, and the sum of
        kernels is that at y.
        """
        p, powers, others = family.p, self.code.constants((*family.p, 0.0)).powers, np.array(self._others(*family.p))
        offsets = np.log(np.delete(self.whole.offsets(p), self.axis))[:, None]

        def weights(x: Any) -> tuple[Any, Any]:
            slopes, exponents, rests = self.whole.weights(0, x, p)
            return np.logaddexp(np.delete(slopes, self.axis, axis=0), offsets), exponents + np.log(np.abs(rests))

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
            raise CannotEvaluate(VANISHES)
        reach = family.depth / self.rate(p)
        return window.low - reach, window.high + reach
