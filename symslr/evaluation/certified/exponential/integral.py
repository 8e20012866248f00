"""int_0^oo u^{k-1} e^{-ou} prod_j phi_{s_j}(u e^{c_j})^{n_j} du, enclosed: the outer trapezoid rule in v = log u.

Discretisation error relative to the integral itself, tails by moments: docs/proofs.md, sections 3 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log2
from typing import Any

import numpy as np
from flint import arb, ctx
from sympy import Expr, Rational

from symslr.evaluation.certified.exponential.common_step import common_step, multiple
from symslr.evaluation.certified.exponential.inner import InnerRule, clip, power
from symslr.evaluation.certified.exponential.plan import Plan, Shape, make_plan, moment_copies
from symslr.evaluation.certified.exponential.steps import inner_step, outer_step, outer_strip, stride
from symslr.evaluation.certified.monomial import Monomial
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.elementary import ball, nearest_float, sign

GUARD_NATS = 3.0
GUARD_BITS = 40
LARGEST_SHRINK = 1.6


@dataclass(frozen=True)
class Mesh:
    """Nodes v_i = low + i*step, i = 0..count-1; the strip |Im v| <= strip bounds the discretisation."""

    low: Any
    step: Any
    count: int
    strip: float

    @property
    def high(self) -> Any:
        return self.low + (self.count - 1) * self.step


def laplace_integral(term: Monomial, bits: int) -> Any:
    """The integral of u^{power} e^{-offset u} prod phi^n over (0, oo), aimed at relative error 2^-bits.

    The coefficient of ``term`` is left out. The enclosure holds whatever its width.

    Raises:
        CannotEvaluate: when the integral diverges, or its parameters are out of reach.
    """
    if sign(term.offset) < 0:
        raise CannotEvaluate(f"certified: the Laplace integral diverges, found exp({-term.offset}*u)")
    power = term.power + 1
    if not power.is_Rational or power <= 0:
        raise CannotEvaluate(f"certified: found u^({term.power}); expected a rational power above -1")
    tokens = _present(term)
    if not tokens:
        if sign(term.offset) == 0:
            raise CannotEvaluate("certified: the Laplace integral diverges, nothing decays as u -> oo")
        with ctx.workprec(bits + GUARD_BITS):
            k = ball(power)
            return k.gamma() / ball(term.offset) ** k
    floats = tuple((nearest_float(s), nearest_float(c), n) for s, c, n in tokens)
    shape = Shape(float(power), nearest_float(term.offset), floats)
    nats = bits * log(2) + GUARD_NATS
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            plan = make_plan(shape, nats)
    except OverflowError:
        raise CannotEvaluate("certified: the window of the Laplace integral overflows: extreme parameters") from None
    size = log2(sum(n for _, _, n in tokens) + 1) + log2(plan.high - plan.low + 2)
    with ctx.workprec(int(plan.token_nats / log(2) + size) + GUARD_BITS):
        return _Integral(term, shape, plan, nats).enclosure()


def _present(term: Monomial) -> list[tuple[Expr, Expr, int]]:
    return [(s, c, n) for (s, c), n in term.tokens.items() if n]


class _Integral:
    """One monomial with its plan, at the working precision of the current context."""

    def __init__(
        self,
        term: Monomial,
        shape: Shape,
        plan: Plan,
        nats: float,
    ) -> None:
        tokens = _present(term)
        self.shape, self.tokens, self.tilts = shape, tokens, plan.tilts
        self.k, self.offset = ball(term.power + 1), ball(term.offset)
        self.scales = [ball(s) for s, _, _ in tokens]
        self.shifts = [ball(c) for _, c, _ in tokens]
        self.token_nats = plan.token_nats + GUARD_NATS
        largest = outer_step(shape.k, nats)
        inner = [s * inner_step(s, self.token_nats, p) for (s, _, _), p in zip(shape.tokens, self.tilts)]
        largest = tied_to_inner(largest, inner)
        # psi_p is wanted at v + c - p s^2.
        self.places = [c - Rational(p) * s**2 for (s, c, _), p in zip(tokens, self.tilts)]
        self.symbolic_step = common_step(self.places, largest)
        step = arb(largest) if self.symbolic_step is None else ball(self.symbolic_step)
        count = ceil((plan.high - plan.low) / float(step.mid())) + 1
        self.mesh = Mesh(arb(plan.low), step, count, outer_strip(shape.k, float(step.mid())))

    def enclosure(self) -> Any:
        """Trapezoid sum, plus both tails of the infinite sum, over 1 + [-eps, eps]."""
        psis = self._psis()
        exponent, constant = self.k, arb(0)
        for index, (_, _, n) in enumerate(self.tokens):
            exponent -= n * arb(self.tilts[index])
            constant += n * self._log_factor(index)
        total, value = arb(0), (exponent * self.mesh.low + constant).exp()
        u, growth, rise = self.mesh.low.exp(), self.mesh.step.exp(), (exponent * self.mesh.step).exp()
        for i in range(self.mesh.count):
            term = value * (-self.offset * u).exp()
            for (_, _, n), psi in zip(self.tokens, psis):
                term *= power(psi[i], n)
            total += term
            value *= rise
            u *= growth
        tails = self.mesh.step * (total + self.left_tail() + self.right_tail([psi[-1] for psi in psis]))
        return tails / (1 + arb(0, self.discretisation().upper()))

    def _log_factor(self, index: int) -> Any:
        """log of phi_s(e^{v+c}) / (e^{-p v} psi_p(v + c - p s^2)), free of v."""
        p = arb(self.tilts[index])
        if p == 0:
            return arb(0)
        return p * p.log() - p - p * self.shifts[index] + (p * self.scales[index]) ** 2 / 2

    def discretisation(self) -> Any:
        """Theorem (outer strip): |S - I| <= eps I with eps = 2 cos(d)^-k / (e^{2 pi d/h} - 1), d < pi/2."""
        return outer_error(self.k, self.mesh.step, self.mesh.strip)

    def left_tail(self) -> Any:
        """Lemma (left tail): sum_{m >= 1} G(low - m h) <= e^{k low} / (e^{kh} - 1), as every phi <= 1."""
        bound = (self.k * self.mesh.low).exp() / (self.k * self.mesh.step).expm1()
        return arb(0.5, 0.5) * bound

    def right_tail(self, last: list[Any]) -> Any:
        """Lemma (right tail): frozen copies at the last node, moment bounds e^{-p(v - high)} on the others."""
        high, copies = self.mesh.high, moment_copies(self.shape)
        rate = self.offset * high.exp()
        bound = (self.k * high - rate).exp()
        for index, (m, (s, c, n), psi) in enumerate(zip(copies, self.shape.tokens, last)):
            phi = psi * (self._log_factor(index) - self.tilts[index] * high).exp()
            p = arb(self.shape.chernoff_power(s, c, float(high.mid())))
            bound *= power(clip(phi), n - m)
            if p > 0:
                moment = p * p.log() - p - p * (high + self.shifts[index]) + (self.scales[index] * p) ** 2 / 2
                bound *= (m * moment).exp()
                rate += m * p
        if not rate > self.k:
            raise CannotEvaluate("certified: the right tail of the Laplace integral could not be bounded")
        return arb(0.5, 0.5) * bound / ((rate - self.k) * self.mesh.step).expm1()

    def _psis(self) -> list[list[Any]]:
        """psi of every token at every node; tokens whose places differ by whole steps share one product."""
        psis: list[list[Any]] = [[] for _ in self.tokens]
        waiting = list(range(len(self.tokens)))
        while waiting:
            here = waiting[0]
            moves = {index: self._steps_between(here, index) for index in waiting}
            shared = {index: move for index, move in moves.items() if move is not None}
            lowest, highest = min(shared.values()), max(shared.values())
            step, tilt = self.mesh.step, self.tilts[here]
            r = stride(self.shape.tokens[here][0], float(step.mid()), self.token_nats, tilt)
            rule = InnerRule.for_nats(self.scales[here], step / r, tilt, self.token_nats)
            start = self.mesh.low + ball(self.places[here]) + lowest * step
            values = rule.at(start, r, self.mesh.count + highest - lowest)
            for index, move in shared.items():
                psis[index] = values[move - lowest : move - lowest + self.mesh.count]
            waiting = [index for index in waiting if index not in shared]
        return psis

    def _steps_between(self, here: int, there: int) -> int | None:
        if self.tokens[here][0] != self.tokens[there][0] or self.tilts[here] != self.tilts[there]:
            return None
        difference = self.places[there] - self.places[here]
        if difference == 0:
            return 0
        return None if self.symbolic_step is None else multiple(difference, self.symbolic_step)


def tied_to_inner(h: float, inner: list[float]) -> float:
    """``h``, or a slightly smaller step that spares the inner rule a second set of samples."""
    usable = [step for step in inner if h / LARGEST_SHRINK < step < h]
    return min(usable, default=h)


def outer_error(k: Any, step: Any, strip: float) -> Any:
    """eps = 2 cos(d)^-k / (e^{2 pi d/h} - 1) for the half-width d = ``strip`` < pi/2 of the strip in v."""
    d = arb(strip)
    if not 2 * d < arb.pi():
        raise ArithmeticError("outer strip: half-width beyond pi/2")
    return 2 * d.cos() ** (-k) / (2 * arb.pi() * d / step).expm1()
