"""Polynomials in tokens, values and noise: each moment as a number; moments coupled by the weight are integrated together."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import prod

from sympy import Add, Basic, Expr, Indexed, Integer, Mul, S, Sum

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import OTHERS, chi, epsilon, eta, x, xi, z, zeta
from symslr.referee.arithmetic import Array
from symslr.referee.interpreter import Interpreter
from symslr.referee.polynomials import NotPolynomial, Polynomial, read
from symslr.referee.products import written
from symslr.referee.scope import Frame, Scope, symbols_of
from symslr.referee.symmetry import symmetric

KEY = (str(chi.label), 1)


def polynomial_mean(self: Interpreter, node: SequenceExpectation, scope: Scope, length: int) -> Array | None:
    """E_g[body] from moments of the tokens; None for a body that is no polynomial.

    Values and noise are integrated out: E x^n is (n - 1)!! for even n and 0 for odd n. Under a weight of the relevant token alone
    so are the other tokens. Under another weight the moments of the tokens are means of their own, which do not depend on
    what stands before them in the body.
    """
    known = {symbol: n for symbol, n in scope.integers.items() if symbol in self.symbols(node)}
    formula = _formula(node, length, tuple(sorted(known.items(), key=str)))
    return None if formula is None or formula == node else self.value(formula, scope)


@lru_cache(maxsize=512)
def _formula(node: SequenceExpectation, length: int, integers: tuple[tuple[Basic, int], ...]) -> Expr | None:
    """The mean as a sum of numbers that no token moves, each times a moment of tokens."""
    law = node.law
    coupled = any(n.args[2] != S.Zero for n in node.body.atoms(Activation, ScoredActivation))
    odd = (Posterior, ConditionalMean, IsLargest)
    if (
        law.base != STANDARD_NORMAL
        or node.has(*odd)
        or law.weight.has(z, zeta, eta, xi)
        or coupled
        or not symmetric(node)
    ):
        return None
    given = {**dict(integers), epsilon: 1, **{other: i for i, other in enumerate(OTHERS, 2)}}
    if node.law.length.is_Symbol:
        given[node.law.length] = length
    terms = _Terms()
    try:
        polynomial = read(terms, written(node.body, given), Scope(Frame({}), given))
    except NotPolynomial:
        return None
    alone = not node.law.weight.has(Sum) and node.law.weight.atoms(Indexed) <= {chi[epsilon]}
    coefficients: dict[tuple[int, ...], Counter[tuple[Expr, ...]]] = {}
    for monomial, times in polynomial.items():
        powers = Counter(monomial)
        numbers = [terms.atoms[variable] for variable in powers.elements() if variable in terms.atoms]
        own = powers.pop(KEY, 0)
        others = [n for (name, _), n in powers.items() if name == KEY[0]]
        beside = [n for variable, n in powers.items() if variable not in terms.atoms and variable[0] != KEY[0]]
        if alone:
            beside, others = beside + others, []
        if len(others) > len(OTHERS):
            return None
        if all(n % 2 == 0 for n in beside):
            moment = prod(k for n in beside for k in range(n - 1, 1, -2))
            products = coefficients.setdefault((own, *sorted(others)), Counter())
            products[tuple(numbers)] += times * moment
    total = S.Zero
    for key, products in coefficients.items():
        coefficient = Add(*(times * Mul(*numbers) for numbers, times in products.items()))
        total += coefficient * _moment(node.law, *key, alone=alone)
    return total


def _moment(law: SequenceLaw, own: int, *others: int, alone: bool) -> Expr:
    """E_g of a power of the relevant token times powers of others: under a weight of that token alone, over one token."""
    if alone:
        weight = law.weight.xreplace({epsilon: S.One}).xreplace({chi[1]: x})
        return ScalarExpectation(x**own * weight, x, law.base)
    monomial = chi[epsilon] ** own * Mul(*(chi[other] ** power for other, power in zip(OTHERS, others)))
    # not by its constructor, which takes the mean of a weight for 1
    return Expr.__new__(SequenceExpectation, monomial, law)


class _Terms:
    """Reads a polynomial in the random variables and in what does not depend on them, with integer coefficients."""

    def __init__(self) -> None:
        self.atoms: dict[tuple[str, int], Expr] = {}
        self._variables: dict[Expr, tuple[str, int]] = {}

    def constant(self, node: Expr, scope: Scope) -> Polynomial:
        """A variable for what no token moves."""
        if isinstance(node, Integer):
            return {(): int(node)}
        variable = self._variables.setdefault(node, (f"number {len(self._variables)}", 0))
        self.atoms[variable] = node
        return {(variable,): 1}

    def symbols(self, node: Basic) -> frozenset[Basic]:
        """Free symbols of a node."""
        return symbols_of(node)

    def integer(self, node: Expr, scope: Scope) -> int:
        """An index, or an end of a sum."""
        return scope.integer(node)

    def number(self, value: int) -> int:
        """The integer itself."""
        return value
