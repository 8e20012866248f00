"""Laplace transforms M_j(u) = int F_j e^{-uK} dx: the outer rule for them, all lines of a formula: docs/proofs.md, section 7."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from sympy import Expr

from symslr.evaluation.certified.analytic.line import Line, LineRule, most_balls
from symslr.evaluation.certified.analytic.plane import PlaneTransform
from symslr.evaluation.certified.normal_form import LineToken, Monomial, X
from symslr.evaluation.certified.outer import Integrand, Octaves, OuterRule
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.balls import exponentials

GUARD_NATS = 6.0
GUARD_BITS = 40
"""An integral is aimed so much below the error asked for, and numbers have so many bits below that: sums of 10^6 terms take 20."""

BLOCK = 8
"""Octaves of u whose sums are over the same tokens."""

PLANNED = np.arange(-100.0, 300.0, 0.25)
"""Where the integrand is estimated in floats, in log u."""


class Transform(Octaves, OuterRule):
    """The functions M_j of one line at one precision; every integral of a formula takes them from here.

    Args:
        nats: errors of about e^-nats in the M_j.
        power, goal: as for ``Octaves``.
    """

    grid = PLANNED

    def __init__(self, line: Line, nats: float, power: float, goal: float) -> None:
        super().__init__(power, goal)
        self.line, self.nats = line, nats
        self.rule: LineRule = line.rule(nats)
        self.known = {}
        self.logs = self.known_logs = list(self.rule.float_logs(PLANNED))
        self.log_moments, self.errors = self.rule.float_log_moments(0), self.rule.errors

    @property
    def taylor(self) -> list[list[Any]]:
        return self.rule.taylor

    def fill(self, nodes: range) -> None:
        while missing := [i for i in nodes if i not in self.known]:
            run = [i for count, i in enumerate(missing[: BLOCK * self.per_octave]) if i == missing[0] + count]
            seen = self.rule.seen((run[0] * self.exact_step).exp())
            run = run[: max(most_balls() // len(seen.kernel), 1)]
            loads = arb_mat(exponentials(seen.kernel, run[0], self.per_octave, len(run)))
            self.known |= zip(run, self.rule.sums(loads, seen))

    def log_moment(self, j: int, p: float) -> Any:
        return arb(self.line.log_moment(j, p, 0))

    def best_power(self, j: int, v: float) -> tuple[float, float]:
        return self.line.best_power(j, v)


class Lines:
    """The lines of one formula: those with the same kernels share their strip, their nodes and the values there.

    Args:
        terms: all monomials of the formula.

    Attributes:
        factors: beside every kernel, or two.
        powers: one more than the largest of u, or t, under an integral of these.
    """

    def __init__(self, terms: list[Monomial]) -> None:
        self.factors: dict[tuple[Expr, ...], list[Expr]] = {}
        self.powers: dict[tuple[Expr, ...], float] = {}
        for term in terms:
            for token in term.tokens:
                if isinstance(token, LineToken):
                    power = max((float(own) + 1 for own in term.powers), default=1.0)
                    self.powers[token.kernels] = max(power, self.powers.get(token.kernels, 1.0))
                    known = self.factors.setdefault(token.kernels, [])
                    if token.factor not in known:
                        known.append(token.factor)
        self.lines: dict[tuple[Expr, ...], Line] = {}
        self.transforms: dict[tuple[Expr, ...], Transform | PlaneTransform] = {}

    def integral(self, term: Monomial, bits: int) -> Any:
        """The integral of u^{power} e^{-offset u} prod over tokens, over u (and t) in (0, oo), aimed at relative error 2^-bits.

        Raises:
            NotProved: where no proof is found, with the reason.
        """
        kernels = self.kernels(term)
        nats = bits * log(2) + GUARD_NATS
        needed = nats + GUARD_NATS
        while True:
            transform = self._transform(kernels, needed + 1, nats)  # what is needed moves a little with the nodes
            with ctx.workprec(line_bits(transform.nats)):
                integrand = self.integrand(term)
                needed = transform.needed_nats(integrand if len(kernels) > 1 else [integrand], nats)
                if needed <= transform.nats:
                    return transform.integral(integrand, nats)

    def value(self, token: LineToken, bits: int) -> Any:
        """int F dx."""
        nats = bits * log(2) + GUARD_NATS
        with ctx.workprec(line_bits(nats)):
            return self.line(token.kernels).rule(nats).at(arb(0))[self.factors[token.kernels].index(token.factor)]

    def kernels(self, term: Monomial) -> tuple[Expr, ...]:
        """Those of its tokens, which are the same for all."""
        found = {token.kernels for token, n in term.tokens.items() if n}
        if len(found) != 1:
            raise NotProved("certified: no proof is available for different kernels under one Laplace integral")
        return found.pop()

    def integrand(self, term: Monomial) -> Any:
        """What stands under the integral of a term at the current precision: along every variable where there are two."""
        kernels, counts = self.kernels(term), {token.factor: n for token, n in term.tokens.items()}
        copies = tuple(counts.get(factor, 0) for factor in self.factors[kernels])
        along = tuple(Integrand.of(term, copies, axis) for axis in range(len(kernels)))
        return along[0] if len(along) == 1 else along

    def line(self, kernels: tuple[Expr, ...]) -> Line:
        if kernels not in self.lines:
            self.lines[kernels] = Line(X, kernels, self.factors[kernels])
        return self.lines[kernels]

    def _transform(self, kernels: tuple[Expr, ...], nats: float, goal: float) -> Any:
        """A ``Transform``, or a ``PlaneTransform`` for two kernels."""
        known = self.transforms.get(kernels)
        if known is None or known.nats < nats or known.goal < goal:
            with ctx.workprec(line_bits(nats)):
                kind = Transform if len(kernels) == 1 else PlaneTransform
                known = self.transforms[kernels] = kind(self.line(kernels), nats, self.powers[kernels], goal)
        return known


def line_bits(nats: float) -> int:
    return int(nats / log(2)) + GUARD_BITS
