"""Laplace integrals conditioned on the largest token x, recognised from their structure.

    Integral over u of sum of E_x[ f(x, u) prod_j C_j(u, x)^{n_j} ],   C_j = integral over y < x of f_j(y) e^{-u kappa(y)}

Every C_j is a running integral over the mesh of x itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sympy import Add, Dummy, Expr, Integral, S, Symbol, Tuple, oo
from sympy import exp as exp_

from symslr.evaluation.laplace.form import LOGS, Term, moving
from symslr.evaluation.numbers.exponent import slope, split
from symslr.evaluation.quadrature.breakpoints import vanishing_factors
from symslr.expression.expectation import ScalarExpectation
from symslr.model.breakpoints import breakpoint_equations
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import x

LOG_U = LOGS[0]
"""v = log u."""


@dataclass(frozen=True, slots=True)
class Running:
    """A running integral C = exp(scale) mean of exp(exponent) rest e^{-u kappa}; ``log`` is the symbol of log mean."""

    mean: Symbol
    log: Symbol
    scale: Symbol
    exponent: Expr
    rest: Expr


@dataclass(frozen=True)
class CumulativeForm:
    """See the module's docstring. LOG_U is v = log u, and x the largest token (in running integrals, y).

    Attributes:
        kinks: functions of x at whose zeros a weight or kappa has a kink or a jump.
        zeros: functions of x at whose zeros kappa may vanish.
    """

    kappa: Expr
    law: ScalarLaw
    running: tuple[Running, ...]
    terms: tuple[Term, ...]
    kinks: tuple[Expr, ...]
    zeros: tuple[Expr, ...]

    @property
    def ends_by_itself(self) -> bool:
        """Whether an offset exp(-u o) ends the integral over u, within a width of order one in log u."""
        addends = (part for t in self.terms for part in Add.make_args(t.exponent))
        return any(part.has(exp_(LOG_U)) and not part.has(x) for part in addends)


@lru_cache(maxsize=512)
def cumulative_form(integral: Integral) -> CumulativeForm | None:
    """The form of an integral; None where it has another structure."""
    if len(integral.limits) != 1 or integral.limits[0][1:] != (S.Zero, oo) or x in integral.free_symbols:
        return None
    u = integral.limits[0][0]
    nodes = moving(integral.function, (u,))
    laws = {node.law for node in nodes if isinstance(node, ScalarExpectation)}
    if len(laws) != 1 or any(not isinstance(node, ScalarExpectation) for node in nodes):
        return None
    law = laws.pop()
    if law.free_symbols & {u}:
        return None
    found: dict[Expr, Running] = {}
    kappas: set[Expr] = set()
    terms = []
    for term in Add.make_args(integral.function):
        inside = [node for node in nodes if term.has(node)]
        if len(inside) != 1 or term.as_independent(inside[0], as_Add=False)[1] != inside[0]:
            return None
        body = inside[0].body.xreplace({inside[0].variable: x})
        for node in moving(body, (u,)):
            if node not in found:
                made = _running(node, u, law, kappas)
                if made is None:
                    return None
                found[node] = made
        outer = term.xreplace({inside[0]: S.One}) * u
        terms.append(_term(outer * body * law.density, u, found))
    if not found or len(kappas) != 1:
        return None
    weights: list[Running | Term] = [*found.values(), *terms]
    parts = (part for own in weights for part in (own.exponent, own.rest))
    kinks = breakpoint_equations(Tuple(law.density, *kappas, *parts), x)
    kappa = kappas.pop()
    zeros = tuple(vanishing_factors(kappa, x))
    return CumulativeForm(kappa, law, tuple(found.values()), tuple(terms), kinks, zeros)


def _running(node: Expr, u: Symbol, law: ScalarLaw, kappas: set[Expr]) -> Running | None:
    if not isinstance(node, Integral) or len(node.limits) != 1 or node.limits[0][1:] != (law.lower, x):
        return None
    parts = split(node.function.xreplace({node.limits[0][0]: x}))
    kappa = slope(parts.exponent, u)
    if kappa is None or parts.rest.has(u) or moving(parts.rest, (u,)):
        return None
    kappas.add(kappa)
    mean = Dummy("C", real=True, positive=True)
    return Running(
        mean, Dummy("logC", real=True), Dummy("scale", real=True), parts.exponent.xreplace({u: S.Zero}), parts.rest
    )


def _term(term: Expr, u: Symbol, found: dict[Expr, Running]) -> Term:
    term = term.xreplace({node: running.mean for node, running in found.items()})
    known = {u: LOG_U} | {r.mean: r.log + r.scale for r in found.values()}
    return Term.of(term, known, (LOG_U, x, *(symbol for r in found.values() for symbol in (r.log, r.scale))))
