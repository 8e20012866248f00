"""The outer rule for Laplace transforms M_j(u) = int F_j e^{-uK} dx, and all such integrals of a formula: docs/proofs.md, section
7."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from sympy import Expr

from symslr.evaluation.certified.analytic.line import Line, LineRule, most_balls
from symslr.evaluation.certified.analytic.plane import PlaneTransform
from symslr.evaluation.certified.normal_form import LineToken, Monomial, X
from symslr.evaluation.certified.outer import Integrand, OctaveNodes, OuterRule
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.balls import exponentials

GUARD_NATS = 6.0
GUARD_BITS = 40
"""Safety margins: the error aimed at is this many nats below that asked for, and numbers have that many further bits, of which a
sum of 10^6 terms needs 20."""

OCTAVES_PER_BLOCK = 8
"""Octaves of u in which the sums run over the same tokens."""

PLANNING_GRID = np.arange(-100.0, 300.0, 0.25)
"""Grid of log u on which the integrand is estimated in floats."""


class Transform(OctaveNodes, OuterRule):
    """The functions M_j of one ``Line`` at one precision, shared by all integrals of a formula.

    Args:
        nats: the errors of the M_j are about e^-nats.
        power, goal: as for ``OctaveNodes``.
    """

    grid = PLANNING_GRID

    def __init__(self, line: Line, nats: float, power: float, goal: float) -> None:
        super().__init__(power, goal)
        self.line, self.nats = line, nats
        self.rule: LineRule = line.rule(nats)
        self.known = {}
        self.logs = self.known_logs = list(self.rule.float_logs(PLANNING_GRID))
        self.log_moments, self.errors = self.rule.float_log_moments(0), self.rule.errors

    @property
    def taylor(self) -> list[list[Any]]:
        return self.rule.taylor

    def fill(self, nodes: range) -> None:
        while missing := [i for i in nodes if i not in self.known]:
            run = [
                i for count, i in enumerate(missing[: OCTAVES_PER_BLOCK * self.per_octave]) if i == missing[0] + count
            ]
            seen = self.rule.seen((run[0] * self.exact_step).exp())
            run = run[: max(most_balls() // len(seen.kernel), 1)]
            loads = arb_mat(exponentials(seen.kernel, run[0], self.per_octave, len(run)))
            self.known |= zip(run, self.rule.sums(loads, seen))

    def log_moment(self, j: int, p: float) -> Any:
        return arb(self.line.log_moment(j, p, 0))

    def best_power(self, j: int, v: float) -> tuple[float, float]:
        return self.line.best_power(j, v)


class Lines:
    """The line integrals of one formula; those with the same kernels share strips, nodes and values.

    Args:
        terms: all monomials of the formula.

    Attributes:
        factors: the factors F for every tuple of kernels.
        powers: for every tuple of kernels the largest power of u or t under an integral, plus one.
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
        """An enclosure of the integral of u^{power} e^{-offset u} prod of tokens over u (and t) in (0, oo), of relative width
        2^-bits.

        Raises:
            NotProved: where no proof is found, with the reason.
        """
        kernels = self.kernels(term)
        nats = bits * log(2) + GUARD_NATS
        needed = nats + GUARD_NATS
        while True:
            transform = self._transform(kernels, needed + 1, nats)  # + 1: the need changes a little with the nodes
            with ctx.workprec(line_bits(transform.nats)):
                integrand = self.integrand(term)
                needed = transform.needed_nats(integrand if len(kernels) > 1 else [integrand], nats)
                if needed <= transform.nats:
                    return transform.integral(integrand, nats)

    def value(self, token: LineToken, bits: int) -> Any:
        """An enclosure of int F dx."""
        nats = bits * log(2) + GUARD_NATS
        with ctx.workprec(line_bits(nats)):
            return self.line(token.kernels).rule(nats).at(arb(0))[self.factors[token.kernels].index(token.factor)]

    def kernels(self, term: Monomial) -> tuple[Expr, ...]:
        """The kernels of the tokens of a monomial, which have to be the same for all.

        Raises:
            NotProved: where they differ.
        """
        found = {token.kernels for token, n in term.tokens.items() if n}
        if len(found) != 1:
            raise NotProved("certified: no proof is available for different kernels under one Laplace integral")
        return found.pop()

    def integrand(self, term: Monomial) -> Any:
        """The integrand of a monomial at the current precision: an ``Integrand``, or one for each of two variables."""
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
