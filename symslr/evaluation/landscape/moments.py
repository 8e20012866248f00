"""Means over sequences from tables of one token: products over tokens, one table for each role.

A table T(a, f) is E[kappa^a f e^(-u kappa)] over one token, at every node of the Laplace variables; S is that of the
relevant token, N that of another, phi = N(0, 1). Without normaliser u = 0. With A = f(token), sigma = kappa/N:
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from symslr.evaluation.landscape.dual import Array, Dual

Monomial = tuple[int, int]
"""(p, q) stands for chi*^p rho^q; p = 0 where a token has one Gaussian."""

ONE: Monomial = (0, 0)


class Tables(Protocol):
    """Tables of one token for both roles, and the weights of the Laplace nodes for each power of the normaliser."""

    def relevant(self, a: int, f: Monomial) -> Dual:
        """S(a, f)."""

    def other(self, a: int, f: Monomial) -> Dual:
        """N(a, f)."""

    def weights(self, power: int) -> Array:
        """What turns a table into a mean, for sigma to this power."""


class Means:
    """Expectations of sigma times values of tokens at one length."""

    def __init__(self, tables: Tables, length: int) -> None:
        self.tables, self.length = tables, length
        self._powers: dict[int, Dual] = {}

    def attended(self, own: Monomial, f: Monomial) -> Dual:
        """E[A_eps sum_l sigma_l B_l] for A = own, B = f."""
        table = self.tables
        terms = table.relevant(1, _times(own, f)) * self._phi(self.length - 1)
        if self.length > 1:
            pair = table.relevant(0, own) * table.other(1, f)
            terms = terms + (pair * self._phi(self.length - 2)).scaled(self.length - 1)
        return terms.total(table.weights(1))

    def hit(self, own: Monomial = ONE) -> Dual:
        """E[sigma_eps A_eps]."""
        return (self.tables.relevant(1, own) * self._phi(self.length - 1)).total(self.tables.weights(1))

    def hit_squared(self) -> Dual:
        """E[sigma_eps^2]."""
        return (self.tables.relevant(2, ONE) * self._phi(self.length - 1)).total(self.tables.weights(2))

    def norm(self) -> Dual:
        """E[sum_l sigma_l^2]."""
        return self._diagonal(ONE).total(self.tables.weights(2))

    def hit_and_sum(self, f: Monomial) -> Dual:
        """E[sigma_eps sum_l sigma_l B_l]."""
        table = self.tables
        terms = table.relevant(2, f) * self._phi(self.length - 1)
        if self.length > 1:
            pair = table.relevant(1, ONE) * table.other(1, f)
            terms = terms + (pair * self._phi(self.length - 2)).scaled(self.length - 1)
        return terms.total(table.weights(2))

    def product(self, f: Monomial, g: Monomial) -> Dual:
        """E[(sum_l sigma_l A_l)(sum_l sigma_l B_l)]."""
        table, length = self.tables, self.length
        terms = self._diagonal(_times(f, g))
        if length > 1:
            pair = table.relevant(1, f) * table.other(1, g)
            pair = pair.scaled(2) if f == g else pair + table.relevant(1, g) * table.other(1, f)
            terms = terms + (pair * self._phi(length - 2)).scaled(length - 1)
        if length > 2:
            both = table.relevant(0, ONE) * table.other(1, f) * table.other(1, g)
            terms = terms + (both * self._phi(length - 3)).scaled((length - 1) * (length - 2))
        return terms.total(table.weights(2))

    def _diagonal(self, f: Monomial) -> Dual:
        table = self.tables
        own = table.relevant(2, f) * self._phi(self.length - 1)
        if self.length == 1:
            return own
        return own + (table.relevant(0, ONE) * table.other(2, f) * self._phi(self.length - 2)).scaled(self.length - 1)

    def _phi(self, power: int) -> Dual:
        if power not in self._powers:
            self._powers[power] = self.tables.other(0, ONE).power(power)
        return self._powers[power]


def _times(f: Monomial, g: Monomial) -> Monomial:
    return f[0] + g[0], f[1] + g[1]


Moments = Mapping[str, Dual]
"""Name -> mean, with slopes in m_kk, q_kk and the kernel's own parameters."""
