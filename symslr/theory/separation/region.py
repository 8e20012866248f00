"""Where softmax separates as n -> oo: exponents of n, taken from the derived shares with theta = log t / log n.

A share s with odds (1 - s)/s = n**E * (bounded) tends to 1 where E < 0 and to 0 where E > 0. ``exponent_derivation``
gives log((1 - s)/s) / log n = E + (bounded)/log n as an identity at every n; the last term is the finite-n correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sympy import And, Expr, Symbol, expand, latex, log
from sympy.core.relational import Relational

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.blocks.powers import LargestPower
from symslr.model import separation as symbols
from symslr.model.exact import exact
from symslr.model.separation import SOFTMAX_KERNEL, n, t
from symslr.theory.separation.definition import Column, Row, Share
from symslr.theory.separation.shares import COLUMNS, NAMES, ROWS, SMALL_LAYOUTS, share_derivation

BLOCK_RATE = Symbol("theta", positive=True)
"""theta = log t / log n, so that t = n**theta; 0 < theta < 1."""
MARK_0, MARK_1 = Symbol("a_0", positive=True), Symbol("a_1", positive=True)

RANGES = {
    **SMALL_LAYOUTS,
    symbols.a: (0.1, 1.5),
    symbols.b: (0.1, 0.9),
    symbols.c: (0.1, 1.0),
    symbols.beta: (0.5, 2.0),
}


@lru_cache
def exponent_derivation(row: Row, column: Column, kernel: Expr = SOFTMAX_KERNEL, name: str = "") -> Derivation:
    """log odds / log n of a share as its limit and a remainder that vanishes like 1/log n."""
    share = Share.of(row, column, kernel)
    chain = Derivation(
        log((1 - share) / share) / log(n),
        name=name,
        title=f"Growth exponent of the odds against attention of {ROWS[row]} to {COLUMNS[row, column]}, kernel ${latex(kernel)}$",
        symbol=rf"\frac{{1}}{{\log n}}\log\frac{{1-{NAMES[row, column]}}}{{{NAMES[row, column]}}}",
        ranges=RANGES,
        sources=("deng2023, section 4",),
    )
    return chain.apply(Cite(share_derivation(row, column, kernel))).apply(LargestPower(n, t))


@lru_cache
def exponent(row: Row, column: Column, kernel: Expr = SOFTMAX_KERNEL) -> Expr:
    """E, the limit of the last line of the derivation: every logarithm but log n stays bounded."""
    result = expand(exponent_derivation(row, column, kernel).result.subs(log(t), BLOCK_RATE * log(n)))
    bounded = [e for e in result.atoms(log) if e != log(n)]
    return expand(result.subs(dict.fromkeys(bounded, 0)))


def admissible_region() -> And:
    """Conditions for b > margin, as inequalities in a_0, a_1, b, theta, beta (0 < theta < 1, c > 0 fixed).

    The own-class share must vanish on sibling and stranger rows and on the marked row of D0, since b > margin would let
    it fire, and must tend to 1 on the marked row of D1.
    """
    silent_rows = exponent(Row.SIBLING, Column.OWN)
    marked = exponent(Row.MARKED, Column.OWN)
    conditions: list[Relational] = [
        silent_rows > 0,
        marked.subs(symbols.a, MARK_0) > 0,
        marked.subs(symbols.a, MARK_1) < 0,
    ]
    return And(*conditions)


@dataclass(frozen=True)
class LimitVerdict:
    """What happens as n -> oo at t = n**theta with everything else fixed.

    Attributes:
        separates: True, False, or None on a boundary.
        shares: limits (0, 1, or None on a boundary) of: own share of silent rows; mark and own share on D0; on D1.
        reason: the first condition that fails, or why it works.
    """

    separates: bool | None
    shares: dict[str, int | None]
    reason: str


def limit_verdict(
    *, a0: object, a1: object, b: object, theta: object, margin: object, beta: object = 1
) -> LimitVerdict:
    """The verdict at numbers for the parameters, for any sign of b - margin.

    Raises:
        ValueError: when theta is not inside (0, 1).
    """
    numbers = {"a0": a0, "a1": a1, "b": b, "theta": theta, "margin": margin, "beta": beta}
    low, high, width, rate, kappa, inverse = (exact(value, name) for name, value in numbers.items())
    if not 0 < rate < 1:
        raise ValueError(f"theta: found {rate}; expected 0 < theta < 1, t = n**theta")

    def tends_to(row: Row, column: Column, mark: Expr) -> int | None:
        at = {symbols.a: mark, symbols.b: width, BLOCK_RATE: rate, symbols.beta: inverse}
        value = exponent(row, column).subs(at)
        return None if value == 0 else int(bool(value < 0))

    limits = {
        "mu": tends_to(Row.SIBLING, Column.OWN, low),
        "p0": tends_to(Row.MARKED, Column.MARK, low),
        "m0": tends_to(Row.MARKED, Column.OWN, low),
        "p1": tends_to(Row.MARKED, Column.MARK, high),
        "m1": tends_to(Row.MARKED, Column.OWN, high),
    }
    if None in limits.values():
        return LimitVerdict(None, limits, "on the boundary: a share tends to neither 0 nor 1")
    silent, small, large = (
        width * limits["mu"],
        low * limits["p0"] + width * limits["m0"],
        high * limits["p1"] + width * limits["m1"],
    )
    if silent > kappa:
        return LimitVerdict(False, limits, "rows without the mark attend to their own class: theta > 1 - beta b^2")
    if small > kappa:
        return LimitVerdict(False, limits, "the marked row of D0 concentrates: beta a0^2 > 1 - beta b^2")
    if large < kappa:
        return LimitVerdict(False, limits, "the marked row of D1 does not concentrate: beta a1^2 < 1 - beta b^2")
    if kappa in (silent, small, large):
        return LimitVerdict(None, limits, "on the boundary: what a row gives tends to the threshold itself")
    return LimitVerdict(True, limits, "softmax concentrates on the marked row of D1 and nowhere else")
