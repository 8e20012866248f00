"""One-token expectations E[f(x) e^{-u K(x) - t W(x)}] as sums of ``LineToken``: a factor F >= 0 beside one or two kernels each."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any

from flint import arb, ctx
from sympy import Add, E, Expr, Integral, Mul, S, Symbol, exp, oo
from sympy import log as log_

from symslr.evaluation.certified.analytic.integral import Transform
from symslr.evaluation.certified.analytic.line import Line
from symslr.evaluation.certified.analytic.plane import PlaneTransform
from symslr.evaluation.certified.analytic.proof import prepared
from symslr.evaluation.certified.monomial import LineToken, Monomial
from symslr.evaluation.certified.outer import Integrand
from symslr.evaluation.errors import NotProved
from symslr.expression.expectation import ScalarExpectation
from symslr.model.symbols import x as law_symbol

GUARD_NATS = 6.0
GUARD_BITS = 40
"""An integral is aimed so much below the error asked for, and numbers have so many bits below that: sums of 10^6 terms take 20."""
X = Symbol("x")
"""Complex: SymPy would write sqrt(x^2) as |x| for a real one, which is not analytic."""


def line_terms(node: ScalarExpectation, variables: tuple[Expr, ...]) -> list[Monomial]:
    """``node`` as a sum of monomials in the variables, each with one ``LineToken``.

    Args:
        node: an expectation of one token.
        variables: those of the Laplace integral around it.

    Raises:
        NotProved: for a law that does not live on the whole line, or a body that is not a sum of f(x) e^{-u K(x) - t W(x)} u^n t^m.
    """
    law = node.law
    if (law.lower, law.upper) != (-oo, oo):
        raise NotProved(f"certified: no proof is available for a law on ({law.lower}, {law.upper})")
    density = law.density.xreplace({law_symbol: X})
    body = node.body.xreplace({node.variable: X})
    return [_line_term(term, density, variables) for term in Add.make_args(body)]


def _line_term(term: Expr, density: Expr, variables: tuple[Expr, ...]) -> Monomial:
    constant, factor = S.One, density
    powers, rates = dict.fromkeys(variables, S.Zero), dict.fromkeys(variables, S.Zero)
    for part in Mul.make_args(term):
        base, exponent = part.as_base_exp()
        if not part.has(X, *variables):
            constant *= part
        elif base in variables and not exponent.has(X, *variables):
            powers[base] += exponent
        elif not part.has(*variables):
            factor *= part
        else:
            inside = part.exp if isinstance(part, exp) or base == E else exponent * log_(base)
            slopes, rest = {u: inside.diff(u) for u in variables}, inside.subs(dict.fromkeys(variables, 0))
            if any(slope.has(*variables) for slope in slopes.values()):
                if part.has(Integral):
                    raise NotProved(
                        "certified: no proof is available for integrals that end at another variable, as where the largest "
                        "key is selected (max at nu = inf); expected integrals over the whole line"
                    )
                raise NotProved(f"certified: no proof is available for {part} under a Laplace integral")
            factor *= exp(rest)
            rates = {u: rate - slopes[u] for u, rate in rates.items()}
    token = LineToken(prepared(factor), tuple(map(prepared, rates.values())))
    return Monomial(constant, tuple(powers.values()), (), {token: 1})


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
        kernels, copies = self.copies(term.tokens)
        nats = bits * log(2) + GUARD_NATS
        needed = nats + GUARD_NATS
        while True:
            transform = self._transform(kernels, needed + 1, nats)  # what is needed moves a little with the nodes
            with ctx.workprec(line_bits(transform.nats)):
                along = [Integrand.of(term, copies, axis) for axis in range(len(kernels))]
                integrand = along[0] if len(along) == 1 else tuple(along)
                needed = transform.needed_nats(integrand, nats)
                if needed <= transform.nats:
                    return transform.integral(integrand, nats)

    def value(self, token: LineToken, bits: int) -> Any:
        """int F dx."""
        nats = bits * log(2) + GUARD_NATS
        with ctx.workprec(line_bits(nats)):
            return self.line(token.kernels).rule(nats).at(arb(0))[self.factors[token.kernels].index(token.factor)]

    def copies(self, tokens: Mapping[Any, int]) -> tuple[tuple[Expr, ...], tuple[int, ...]]:
        """The kernels of some tokens, and how often each of the factors beside them is multiplied."""
        found = {token.kernels for token, n in tokens.items() if n}
        if len(found) != 1:
            raise NotProved("certified: no proof is available for different kernels under one Laplace integral")
        kernels = found.pop()
        counts = {token.factor: n for token, n in tokens.items()}
        return kernels, tuple(counts.get(factor, 0) for factor in self.factors[kernels])

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
