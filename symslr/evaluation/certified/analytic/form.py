"""One-token expectations E[f(x) e^{-u K(x)}] as sums of ``LineToken``: one factor F >= 0 beside one kernel K each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any

from flint import arb, ctx
from sympy import Add, E, Expr, Integral, Mul, S, Symbol, exp, oo
from sympy import log as log_

from symslr.evaluation.certified.analytic.integral import Transform
from symslr.evaluation.certified.analytic.line import Line
from symslr.evaluation.certified.analytic.proof import NotProved, prepared
from symslr.evaluation.certified.monomial import Monomial
from symslr.evaluation.certified.outer import Integrand
from symslr.expression.expectation import ScalarExpectation
from symslr.model.symbols import x as law_symbol

GUARD_NATS = 6.0
GUARD_BITS = 40
X = Symbol("x")
"""Complex: SymPy would write sqrt(x^2) as |x| for a real one, which is not analytic."""


@dataclass(frozen=True)
class LineToken:
    """u -> int F(x) e^{-u K(x)} dx over the real line, F with the density of the law."""

    factor: Expr
    kernel: Expr


def line_terms(node: ScalarExpectation, u: Expr) -> list[Monomial]:
    """``node`` as a sum of monomials in u, each with one ``LineToken``.

    Args:
        node: an expectation of one token.
        u: the variable of the Laplace integral around it.

    Raises:
        NotProved: for a law that does not live on the whole line, or a body that is not a sum of f(x) e^{-u K(x)} u^n.
    """
    law = node.law
    if (law.lower, law.upper) != (-oo, oo):
        raise NotProved(f"certified: no proof is available for a law on ({law.lower}, {law.upper})")
    density = law.density.xreplace({law_symbol: X})
    body = node.body.xreplace({node.variable: X})
    return [_line_term(term, density, u) for term in Add.make_args(body)]


def _line_term(term: Expr, density: Expr, u: Expr) -> Monomial:
    constant, power, rate, factor = S.One, S.Zero, S.Zero, density
    for part in Mul.make_args(term):
        base, exponent = part.as_base_exp()
        if not part.has(X, u):
            constant *= part
        elif base == u and not exponent.has(X, u):
            power += exponent
        elif not part.has(u):
            factor *= part
        else:
            inside = part.exp if isinstance(part, exp) or base == E else exponent * log_(base)
            slope, rest = inside.diff(u), inside.subs(u, 0)
            if slope.has(u):
                if part.has(Integral):
                    raise NotProved(
                        "certified: no proof is available for integrals that end at another variable, as where the largest "
                        "key is selected (max at nu = inf); expected integrals over the whole line"
                    )
                raise NotProved(f"certified: no proof is available for {part} under a Laplace integral")
            rate, factor = rate - slope, factor * exp(rest)
    return Monomial(constant, power, S.Zero, {LineToken(prepared(factor), prepared(rate)): 1})


class Lines:
    """The lines of one formula: those with the same kernel share their strip, their nodes and the values there.

    Args:
        terms: all monomials of the formula.
    """

    def __init__(self, terms: list[Monomial]) -> None:
        self.factors: dict[Expr, list[Expr]] = {}
        for term in terms:
            for token in term.tokens:
                if isinstance(token, LineToken):
                    known = self.factors.setdefault(token.kernel, [])
                    if token.factor not in known:
                        known.append(token.factor)
        self.lines: dict[Expr, Line] = {}
        self.transforms: dict[Expr, Transform] = {}

    def integral(self, term: Monomial, bits: int) -> Any:
        """The integral of u^{power} e^{-offset u} prod over tokens, over (0, oo), aimed at relative error 2^-bits.

        Raises:
            NotProved: where no proof is found, with the reason.
        """
        kernel, copies = self.copies(term.tokens)
        nats = bits * log(2) + GUARD_NATS
        needed = nats + GUARD_NATS
        while True:
            transform = self._transform(kernel, needed)
            with ctx.workprec(line_bits(transform.nats)):
                integrand = Integrand.of(term, copies)
                needed = transform.needed_nats(integrand, nats) + 1
                if needed <= transform.nats:
                    return transform.integral(integrand, nats)

    def value(self, token: LineToken, bits: int) -> Any:
        """int F dx."""
        nats = bits * log(2) + GUARD_NATS
        with ctx.workprec(line_bits(nats)):
            return self.line(token.kernel).rule(nats).at(arb(0))[self.factors[token.kernel].index(token.factor)]

    def copies(self, tokens: Mapping[Any, int]) -> tuple[Expr, tuple[int, ...]]:
        kernels = {token.kernel for token, n in tokens.items() if n}
        if len(kernels) != 1:
            raise NotProved("certified: no proof is available for two kernels under one Laplace integral")
        kernel = kernels.pop()
        counts = {token.factor: n for token, n in tokens.items()}
        return kernel, tuple(counts.get(factor, 0) for factor in self.factors[kernel])

    def line(self, kernel: Expr) -> Line:
        if kernel not in self.lines:
            self.lines[kernel] = Line(X, kernel, self.factors[kernel])
        return self.lines[kernel]

    def _transform(self, kernel: Expr, nats: float) -> Transform:
        known = self.transforms.get(kernel)
        if known is None or known.nats < nats:
            with ctx.workprec(line_bits(nats)):
                known = self.transforms[kernel] = Transform(self.line(kernel), nats)
        return known


def line_bits(nats: float) -> int:
    return int(nats / log(2)) + GUARD_BITS
