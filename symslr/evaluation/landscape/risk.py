"""The derived risk as a function of overlaps and moments, compiled from the end of its derivation.

``landscape_chain`` ends in expectations of sigma beside chi and, elsewhere than with a shifted Gaussian, z. Each is written
in the moments of ``symslr.evaluation.landscape.moments`` by Stein's lemma, which takes every 1/s and 1/q_kk away: what is
left is a polynomial, and SymPy differentiates it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sympy import Abs, Add, Expr, S, Sum, Symbol, cancel, expand, lambdify, sqrt

from symslr.evaluation.landscape.moments import MOMENTS
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.symbols import (
    ORDER_PARAMETERS,
    Delta,
    L,
    chi,
    epsilon,
    l,
    m_kk,
    nu,
    q_kk,
    z,
)
from symslr.theory.landscape import landscape_chain

SHIFT = Symbol("s", real=True)
"""s of the weight exp(s chi_eps - s^2/2); s^2 is nu for spiked-SLR."""

NAMED = tuple(Symbol(name, real=True) for name in MOMENTS)
Compiled = Callable[..., list[float]]


@cache
def compiled_risk(*, shifted: bool) -> Compiled:
    """(order parameters, moments, Delta, s) -> E, the size of its terms, its slopes in the seven at fixed moments and in them."""
    risk = polynomial(shifted=shifted)
    slopes = [risk.diff(symbol) for symbol in (*ORDER_PARAMETERS, *NAMED)]
    size = sum((Abs(term) for term in Add.make_args(expand(risk))), S.Zero)
    numbers = [*ORDER_PARAMETERS, *NAMED, Delta, SHIFT]
    function: Compiled = lambdify(numbers, [risk, size, *slopes], modules="math", cse=True)
    return function


@cache
def polynomial(*, shifted: bool) -> Expr:
    """E as a polynomial in overlaps, moments, Delta and s.

    ``shifted``: the weight shifts the relevant token's Gaussian, and moments are taken about that shift.
    """
    derived = landscape_chain(SpikedSLR() if shifted else MaxSLR(), softmax).result
    nodes = derived.atoms(SequenceExpectation)
    sigma = next(iter(derived.atoms(Activation if shifted else ScoredActivation))).at(epsilon)
    meant = _about_the_shift(sigma) if shifted else _beside_the_weight(sigma)
    unknown = [node.body for node in nodes if node.body not in meant]
    if unknown:
        raise ValueError(f"derived risk: found the mean of {unknown[0]}; expected one of {', '.join(map(str, meant))}")
    written = derived.xreplace({node: meant[node.body] for node in nodes}).subs(sqrt(nu), SHIFT).subs(nu, SHIFT**2)
    collected = expand(written).as_coefficients_dict(*NAMED, OTHER)
    return sum((cancel(factor) * moment for moment, factor in collected.items()), S.Zero)


OTHER = Symbol("E_X", real=True)
"""E sum_l sigma_l x_l, which the derived risk has twice with opposite signs."""


def _about_the_shift(sigma: Activation) -> dict[Expr, Expr]:
    """Means of chi = x + b for the relevant token, with x_l = rho_l and scores sqrt(q_kk) chi_l."""
    h, n, d1, e1, d2, e2, p = NAMED
    root, b = sqrt(q_kk), SHIFT * m_kk / sqrt(q_kk)
    total = Sum(sigma.at(l) * chi[l], (l, 1, L))
    return {
        sigma: h,
        Sum(sigma.at(l) ** 2, (l, 1, L)): n,
        sigma**2: p,
        total: OTHER + b * h,
        sigma * chi[epsilon]: root * e1 + b * h,
        sigma * total: root * e2 + b * p,
        chi[epsilon] * total: h + q_kk * d1 + b * OTHER + b * root * e1 + b**2 * h,
        total**2: n + q_kk * d2 + 2 * b * root * e2 + b**2 * p,
    }


def _beside_the_weight(sigma: ScoredActivation) -> dict[Expr, Expr]:
    """Means of chi, on which the weight depends, and of z = rho."""
    h, n, d1, e1, d2, e2, p = NAMED
    squared = q_kk - m_kk**2
    in_key, in_noise = (Sum(family[l] * sigma.at(l), (l, 1, L)) for family in (chi, z))
    return {
        sigma: h,
        Sum(sigma.at(l) ** 2, (l, 1, L)): n,
        in_key**2: p,
        in_noise**2: n + squared * d2,
        in_key * in_noise: sqrt(squared) * e2,
        z[epsilon] * in_key: sqrt(squared) * e1,
        z[epsilon] * in_noise: h + squared * d1,
    }
