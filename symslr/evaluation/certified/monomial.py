"""One positive term of a Laplace integral, and sums of them: the normal form that the proofs are about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sympy import Expr, S

Token = Any
"""A one-token factor: (s, c), which is phi_s(u e^c) = E exp(-u e^{c + s z}) for z ~ N(0, 1) and s > 0; or a ``LineToken``."""


@dataclass(frozen=True)
class Monomial:
    """coefficient * u^power * exp(-offset u) * prod over (s, c) of phi_s(u e^c)^n."""

    coefficient: Expr
    power: Expr = S.Zero
    offset: Expr = S.Zero
    tokens: dict[Token, int] = field(default_factory=dict)

    def __mul__(self, other: Monomial) -> Monomial:
        tokens = dict(self.tokens)
        for token, n in other.tokens.items():
            tokens[token] = tokens.get(token, 0) + n
        return Monomial(
            self.coefficient * other.coefficient, self.power + other.power, self.offset + other.offset, tokens
        )

    def __pow__(self, n: int) -> Monomial:
        tokens = {token: n * count for token, count in self.tokens.items()} if n else {}
        return Monomial(self.coefficient**n, self.power * n, self.offset * n, tokens)


def times(left: list[Monomial], right: list[Monomial]) -> list[Monomial]:
    """The product of two sums."""
    return [a * b for a in left for b in right]


def merged(terms: list[Monomial]) -> list[Monomial]:
    """The same sum with one coefficient for each power of u, offset and set of tokens."""
    sums: dict[object, Monomial] = {}
    for term in terms:
        key = (term.power, term.offset, frozenset((token, n) for token, n in term.tokens.items() if n))
        known = sums.get(key)
        sums[key] = term if known is None else replace(term, coefficient=known.coefficient + term.coefficient)
    return list(sums.values())
