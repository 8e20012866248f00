"""Polynomials in tokens, values and noise under a weight of the relevant token alone: every moment by its number."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from sympy import Expr, Indexed, S, Sum

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import OTHERS, chi, epsilon, eta, m, x, xi, z, zeta
from symslr.referee.arithmetic import Array
from symslr.referee.polynomials import NotPolynomial, read
from symslr.referee.scope import Scope
from symslr.referee.symmetry import symmetric

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

KEY = (str(chi.label), 1)


def polynomial_mean(self: Interpreter, node: SequenceExpectation, scope: Scope, length: int) -> Array | None:
    """E_g[body] from one expectation over the relevant token; None for a body that is no polynomial.

    E x^n is (n - 1)!! for even n and 0 for odd n, for every variable but the relevant token.
    """
    body = _unfolded(node)
    if body is None:
        return None
    given = {epsilon: 1, **{other: i for i, other in enumerate(OTHERS, 2)}}
    if node.law.length.is_Symbol:
        given[node.law.length] = length
    try:
        polynomial = read(self, body, scope.with_integers(given))
    except NotPolynomial:
        return None
    coefficients: dict[int, Array] = {}
    for monomial, coefficient in polynomial.items():
        powers = Counter(monomial)
        power = powers.pop(KEY, 0)
        if all(n % 2 == 0 for n in powers.values()):
            number = prod(k for n in powers.values() for k in range(n - 1, 1, -2))
            coefficients[power] = coefficients.get(power, self.number(0)) + coefficient * self.number(number)
    weight = node.law.weight.xreplace({epsilon: S.One}).xreplace({chi[1]: x})
    total = self.number(0)
    for power, coefficient in coefficients.items():
        mean = ScalarExpectation(x**power * weight, x, node.law.base)
        total = total + coefficient * self.value(mean, scope)
    return total


@lru_cache(maxsize=512)
def _unfolded(node: SequenceExpectation) -> Expr | None:
    """The body with attentions as functions of their scores; None where a normaliser or the weight couples tokens."""
    law = node.law
    coupled = any(n.args[2] != S.Zero for n in node.body.atoms(Activation, ScoredActivation))
    odd = (Posterior, ConditionalMean, IsLargest)
    if law.base != STANDARD_NORMAL or node.has(*odd) or law.weight.has(z, zeta, eta, xi, Sum) or coupled:
        return None
    if law.weight.atoms(Indexed) - {chi[epsilon]} or not symmetric(node):
        return None

    def written(part: Expr) -> Expr:
        index, kernel, *_ = part.args
        if isinstance(part, Activation):
            return kernel.subs(x, part.args[4] * chi[index])
        return kernel.subs(x, part.score.subs(m, index))

    return node.body.replace(lambda n: isinstance(n, (Activation, ScoredActivation)), written)
