"""Taylor models of an expression of Laplace integrals as a function of one scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import gcd
from typing import Any

from flint import arb, arb_poly, ctx
from sympy import Add, Basic, Expr, Integral, Mul, Pow, S, Symbol, exp

from symslr.evaluation.certified.analytic.arithmetic import PROOF_BITS
from symslr.evaluation.certified.analytic.transform import Lines, line_bits
from symslr.evaluation.certified.backend import Modulus, substitute
from symslr.evaluation.certified.least.integrals import Sums, TransformInScale
from symslr.evaluation.certified.least.plane import PlaneTransformInScale
from symslr.evaluation.certified.normal_form import LineToken, Monomial, X, line_terms, normal_forms
from symslr.evaluation.certified.outer import Integrand
from symslr.evaluation.certified.taylor import Jet, TaylorModel
from symslr.evaluation.errors import NotProved, TooManyDigits
from symslr.evaluation.numbers.elementary import Between, ball, elementary_ball
from symslr.evaluation.numbers.exponent import gaussian
from symslr.expression.expectation import ScalarExpectation

ATTEMPTS = 6
"""Most rules that are tried, each more accurate, until the integrals are as accurate as asked for."""

TOO_MANY_NATS = 1e4
"""If more nats than this are missing, no rule is tried again: the bounds over the interval are far too wide."""

INTERVAL_MARGIN = 2.0**-40
"""Relative amount by which proofs cover more than the interval: models exceed it by the rounding of their centre and radius."""

LOST_NATS = 7.0
"""First guess of the nats by which integrals are less accurate than the sums in them: 3 to 7 for the kernels that were tried."""

FORGOTTEN_NATS = 2.0
"""On the next interval the guess is lowered by this many nats."""

GROWTH_LENGTHS = {1: 0.15, 2: 0.08}
"""The coefficients of a model at the scale a grow about like (c a)^-k; c by number of Laplace variables."""

FIRST_PARTS = {1: 3, 2: 5}
"""Number of parts into which an interval is cut at first, by number of Laplace variables; odd, so that the middle of the interval
is the middle of a part."""

SPARE_NATS = 4.0
"""Nats by which the errors of the sums are below those asked of the models."""


class ExpressionInScale:
    """An expression as a function of one scale, on an interval on which strips and tails are proved once.

    Args:
        expr: canonical.
        values: exact numbers for all symbols but ``scale``.
        scale: the symbol of the scale.
        low, high: the interval, exact floats.
        lost: for each tuple of kernels the nats by which integrals were less accurate than their sums on neighbouring intervals;
            updated in place.

    Raises:
        NotProved: where no proof is found on this interval.
    """

    def __init__(
        self,
        expr: Expr,
        values: Mapping[Basic, Basic],
        scale: Symbol,
        low: float,
        high: float,
        lost: dict[tuple[Expr, ...], float] | None = None,
    ) -> None:
        self.low, self.high, self.side = low, high, -1 if high <= 0 else 1
        with ctx.workprec(PROOF_BITS):
            around = (self.side * arb(low)).union(self.side * arb(high))
            self.scale = Between(scale.name, around + arb(0, INTERVAL_MARGIN * max(abs(low), abs(high))))
        own = {**values, scale: self.side * self.scale}
        self.expr = substitute(expr, own)
        forms = normal_forms(self.expr, (line_terms,))
        forms = {node: [term for term in terms if not term.coefficient.is_zero] for node, terms in forms.items()}
        if low * high > 0:
            forms = {node: [_by_scores(term, self.scale) for term in terms] for node, terms in forms.items()}
        self.forms = forms
        self.under_integrals = [term for node, terms in forms.items() if isinstance(node, Integral) for term in terms]
        self.lines = Lines([term for terms in forms.values() for term in terms])
        self.transforms: dict[tuple[tuple[Expr, ...], float], TransformInScale | PlaneTransformInScale] = {}
        self.known_lost = {} if lost is None else lost
        self.lost = {
            own: max(LOST_NATS, self.known_lost.get(own, LOST_NATS) - FORGOTTEN_NATS) for own in self.lines.factors
        }
        self.spare = SPARE_NATS
        variables = max((len(kernels) for kernels in self.lines.factors), default=1)
        self.reach, self.parts = GROWTH_LENGTHS[variables], FIRST_PARTS[variables]
        self.is_by_scores = low * high > 0 and variables == 1

    def prepare(self, nats: float) -> None:
        """Prove strips, and tails of sums to about e^-nats.

        Raises:
            NotProved: where no proof is found.
        """
        for kernels in self.lines.factors:
            self.transform(kernels, nats)

    def sharpen(self, nats: float) -> None:
        """Compute all sums more accurately from now on, by this many nats."""
        self.spare += nats
        for kernels in self.lost:
            self.known_lost[kernels] = self.lost[kernels] + nats

    def model(self, centre: float, radius: float, nats: float, length: int, sharp: int) -> TaylorModel:
        """A Taylor model around ``centre``, within the interval, with errors of about e^-nats in the first ``sharp`` terms.

        Raises:
            NotProved: where no proof is found.
        """
        with ctx.workprec(_bits(2 * nats)):
            model = _Model(self, self.side * centre, radius, nats, length, sharp).of(self.expr)
        return model if self.side > 0 else model.mirrored()

    @cached_property
    def period(self) -> int:
        """n such that the expression is a function of scale^n: 4 for the kernel 1 + x^4, 2 for an even kernel, else 1."""
        powers = [own for own in self.expr.atoms(Pow) if own.base == self.scale and own.exp.is_Integer]
        rest = self.expr.xreplace(dict.fromkeys(powers, S.One))
        found = gcd(*(int(own.exp) for own in powers), 1 if rest.has(self.scale) else 0)
        return 2 if found == 1 and self.expr.xreplace({self.scale: -self.scale}) == self.expr else found

    def transform(self, kernels: tuple[Expr, ...], nats: float) -> Any:
        """The transform of one kernel, or two, accurate enough for errors of about e^-nats of every integral; cached.

        Raises:
            NotProved: where no proof is found.
        """
        nats += self.spare
        key = kernels, nats
        if key not in self.transforms:
            terms = (term for term in self.under_integrals if self.lines.kernels(term) == kernels)
            integrands = list(map(self.lines.integrand, terms))
            for _ in range(ATTEMPTS):
                needed = nats + self.lost[kernels]
                with ctx.workprec(_bits(needed)):
                    kind = TransformInScale if len(kernels) == 1 else PlaneTransformInScale
                    made = kind(self.lines.line(kernels), needed, nats, self.scale, integrands)
                    lost = made.missing_nats()
                if not lost or lost > TOO_MANY_NATS:
                    break
                self.lost[kernels] += lost + 1
                self.known_lost[kernels] = self.lost[kernels]
            if lost:
                raise TooManyDigits("certified: the sums do not reach the digits: extreme parameters")
            self.transforms[key] = made
        return self.transforms[key]


class _Model:
    """The computation of one Taylor model, recursively over the expression."""

    def __init__(
        self, moving: ExpressionInScale, centre: float, radius: float, nats: float, length: int, sharp: int
    ) -> None:
        self.moving, self.nats, self.length, self.sharp = moving, nats, length, sharp
        self.centre, self.radius = arb(centre), arb(radius)
        self.sums: dict[tuple[Expr, ...], Sums] = {}
        self.integrals: dict[tuple[tuple[Expr, ...], Integrand], TaylorModel] = {}

    def _made(self, coefficients: list[Any]) -> TaylorModel:
        return Jet(arb_poly(coefficients), arb(0), self.radius, self.length + 1)

    def of(self, expr: Expr) -> TaylorModel:
        """The model of a part of the expression."""
        if isinstance(expr, (Integral, ScalarExpectation)):
            total = self._made([arb(0)])
            for term in self.moving.forms[expr]:
                product = self._integral(term) if isinstance(expr, Integral) else self._free(term)
                total = total + self.of(term.coefficient) * product
            return total
        if expr == self.moving.scale:
            return self._made([self.centre, arb(1)])
        if not expr.has(self.moving.scale, Integral, ScalarExpectation):
            return self._made([elementary_ball(expr, ball)])
        if expr.is_Add or expr.is_Mul:
            result = self.of(expr.args[0])
            for arg in expr.args[1:]:
                result = result + self.of(arg) if expr.is_Add else result * self.of(arg)
            return result
        if expr.is_Pow and expr.exp.is_Integer:
            return self.of(expr.base).power(int(expr.exp))
        named = "the absolute value" if isinstance(expr, Modulus) else f"the function {expr.func}"
        found = f"one to the power {expr.exp}" if expr.is_Pow else f"{named} of one"
        raise NotProved(
            "certified: over an interval of the scale, sums, products and whole powers of expectations are proved; found "
            f"{found}; give one scale instead (--scale)"
        )

    def _free(self, term: Monomial) -> TaylorModel:
        result = self._made([arb(1)])
        for token, n in term.tokens.items():
            transform, sums = self._sums(token.kernels)
            place = self.moving.lines.factors[token.kernels].index(token.factor)
            result = result * transform.value(place, sums).power(n)
        return result

    def _integral(self, term: Monomial) -> TaylorModel:
        kernels, integrand = self.moving.lines.kernels(term), self.moving.lines.integrand(term)
        if (kernels, integrand) not in self.integrals:
            transform, sums = self._sums(kernels)
            self.integrals[kernels, integrand] = transform.model(integrand, sums)
        return self.integrals[kernels, integrand]

    def _sums(self, kernels: tuple[Expr, ...]) -> tuple[Any, Sums]:
        transform = self.moving.transform(kernels, self.nats)
        if kernels not in self.sums:
            self.sums[kernels] = Sums(transform, self.centre, self.radius, self.length, self.sharp)
        return transform, self.sums[kernels]


def _by_scores(term: Monomial, scale: Between) -> Monomial:
    """The monomial with y = a x, a > 0, as variable of integration: the kernel is then independent of a. Unchanged for two
    kernels."""
    if any(len(token.kernels) > 1 for token in term.tokens):
        return term
    move = {X: X / scale}
    tokens = {
        LineToken(_gathered(own.factor).xreplace(move) / scale, tuple(k.xreplace(move) for k in own.kernels)): n
        for own, n in term.tokens.items()
    }
    return replace(term, tokens=tokens)


def _gathered(factor: Expr) -> Expr:
    """The factor with one exponential, its exponent as a completed square if quadratic: (x - 1)^2 - 1 is narrower in interval
    arithmetic than x^2 - 2x.
    """
    exponents = [part.exp for part in Mul.make_args(factor) if isinstance(part, exp)]
    rest = Mul(*(part for part in Mul.make_args(factor) if not isinstance(part, exp)))
    total = Add(*exponents)
    square = gaussian(total, X)
    return rest * exp(total if square is None else square.centred(X) + square.height)


def _bits(nats: float) -> int:
    """Working precision for errors of e^-nats, at least ``PROOF_BITS``."""
    return max(PROOF_BITS, line_bits(nats))
