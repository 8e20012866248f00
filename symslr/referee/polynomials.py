"""Bodies as polynomials in the variables of the tokens, their coefficients as numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Protocol

from sympy import Add, Basic, Dummy, Expr, Indexed, Integer, Mul, Pow, S, Sum

from symslr.expression.folded import ConditionalMean, Posterior
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, eta, xi, z, zeta
from symslr.referee.arithmetic import Array
from symslr.referee.scope import Scope

RANDOM = frozenset({chi.label, z.label, zeta.label, eta.label, xi})
MOST_MONOMIALS = 200_000

Monomial = tuple[tuple[str, int], ...]
"""Each variable, by its name and its token, as often as its power says; sorted."""

Polynomial = dict[Monomial, Array]

Atom = Callable[[Expr, Scope], Polynomial | None]
"""What a node that is no sum and no product stands for; None where it is to be looked into."""


class Reader(Protocol):
    """What reading a polynomial takes: the interpreter, or one that keeps the numbers as formulas."""

    def symbols(self, node: Basic) -> frozenset[Basic]:
        """Free symbols of a node."""

    def integer(self, node: Expr, scope: Scope) -> int:
        """An index, or an end of a sum."""

    def number(self, value: int) -> Array:
        """An integer as a coefficient."""

    def constant(self, node: Expr, scope: Scope) -> Polynomial:
        """What a node without random variables is."""


class NotPolynomial(Exception):
    """The body is no polynomial, or one of too many terms."""


def read(self: Reader, node: Expr, scope: Scope, atom: Atom = lambda node, scope: None) -> Polynomial:
    """A body as a polynomial in tokens, values and noise, and in what ``atom`` makes variables of.

    Raises:
        NotPolynomial: when it is none.
    """
    found = atom(node, scope)
    if found is not None:
        return found
    if not self.symbols(node) & RANDOM:
        return self.constant(node, scope)
    if node == xi:
        return {((str(xi), 0),): self.number(1)}
    if isinstance(node, Indexed):
        return {((str(node.base.label), self.integer(node.indices[0], scope)),): self.number(1)}
    if isinstance(node, Add):
        return added([read(self, arg, scope, atom) for arg in node.args])
    if isinstance(node, Mul):
        return multiplied(self, [read(self, arg, scope, atom) for arg in node.args])
    if isinstance(node, Pow) and isinstance(node.exp, Integer) and node.exp > 0:
        return multiplied(self, [read(self, node.base, scope, atom)] * int(node.exp))
    if isinstance(node, Sum) and len(node.limits) == 1:
        index, low, high = node.limits[0]
        places = range(self.integer(low, scope), self.integer(high, scope) + 1)
        return added([read(self, node.function, scope.with_integers({index: place}), atom) for place in places])
    raise NotPolynomial


def added(parts: list[Polynomial]) -> Polynomial:
    """The sum of polynomials."""
    total: Polynomial = {}
    for part in parts:
        for monomial, coefficient in part.items():
            total[monomial] = total[monomial] + coefficient if monomial in total else coefficient
    return total


def multiplied(self: Reader, parts: list[Polynomial]) -> Polynomial:
    """The product of polynomials.

    Raises:
        NotPolynomial: for one of too many terms.
    """
    total: Polynomial = {(): self.number(1)}
    for part in parts:
        if len(total) * len(part) > MOST_MONOMIALS:
            raise NotPolynomial
        product: Polynomial = {}
        for left, a in total.items():
            for right, b in part.items():
                monomial = tuple(sorted(left + right))
                product[monomial] = product[monomial] + a * b if monomial in product else a * b
        total = product
    return total


def moment(power: int) -> int:
    """E t^n for a standard normal t."""
    return 0 if power % 2 else prod(range(power - 1, 1, -2))


@lru_cache(maxsize=256)
def given_tokens(node: ConditionalMean) -> Expr:
    """sum_e p_e label_e for a label that is linear in its noise."""
    if not isinstance(node.law, SequenceLaw) or node.label.diff(xi).has(xi):
        raise NotPolynomial
    token = Dummy("e", integer=True, positive=True)
    label = node.label.subs({xi: S.Zero, epsilon: token})  # not into a mean, whose own letters may be the same
    return Sum(Posterior(token, node.law) * label, (token, 1, node.law.length))
