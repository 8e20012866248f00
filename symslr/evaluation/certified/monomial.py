"""One positive term of a Laplace integral, and sums of them: the normal form that the proofs are about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from sympy import Expr, S

Token = Any
"""A one-token factor: (s, c), which is phi_s(u e^c) = E exp(-u e^{c + s z}) for z ~ N(0, 1) and s > 0; or a ``LineToken``."""


@dataclass(frozen=True)
class Monomial:
    """coefficient * prod over the variables u of u^power * exp(-offset u) * prod over (s, c) of phi_s(u e^c)^n.

    Powers and offsets are those of one variable after the other; what is left out at the end is zero.
    """

    coefficient: Expr
    powers: tuple[Expr, ...] = ()
    offsets: tuple[Expr, ...] = ()
    tokens: dict[Token, int] = field(default_factory=dict)

    @property
    def power(self) -> Expr:
        """Of the first variable."""
        return self.powers[0] if self.powers else S.Zero

    @property
    def offset(self) -> Expr:
        """Of the first variable."""
        return self.offsets[0] if self.offsets else S.Zero

    def __mul__(self, other: Monomial) -> Monomial:
        tokens = dict(self.tokens)
        for token, n in other.tokens.items():
            tokens[token] = tokens.get(token, 0) + n
        powers, offsets = _sums(self.powers, other.powers), _sums(self.offsets, other.offsets)
        return Monomial(self.coefficient * other.coefficient, powers, offsets, tokens)

    def __pow__(self, n: int) -> Monomial:
        tokens = {token: n * count for token, count in self.tokens.items()} if n else {}
        powers, offsets = (tuple(own * n for own in parts) for parts in (self.powers, self.offsets))
        return Monomial(self.coefficient**n, powers, offsets, tokens)


def _sums(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(a + b for a, b in zip_longest(left, right, fillvalue=S.Zero))


def times(left: list[Monomial], right: list[Monomial]) -> list[Monomial]:
    """The product of two sums."""
    return [a * b for a in left for b in right]


def merged(terms: list[Monomial]) -> list[Monomial]:
    """The same sum with one coefficient for each power of u, offset and set of tokens."""
    sums: dict[object, Monomial] = {}
    for term in terms:
        key = (term.powers, term.offsets, frozenset((token, n) for token, n in term.tokens.items() if n))
        known = sums.get(key)
        sums[key] = term if known is None else replace(term, coefficient=known.coefficient + term.coefficient)
    return list(sums.values())
