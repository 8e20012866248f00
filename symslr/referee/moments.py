"""Polynomials in tokens, values and noise under a weight of the relevant token alone: every moment by its number."""

from __future__ import annotations

from functools import lru_cache

from sympy import Dummy, Expr, Indexed, Integer, Mul, Poly, PolynomialError, S, Sum, Symbol, factorial2

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import OTHERS, chi, epsilon, eta, m, x, xi, z, zeta
from symslr.referee.symmetry import symmetric

MOST_MONOMIALS = 20_000


@lru_cache(maxsize=512)
def polynomial_mean(node: SequenceExpectation, length: int) -> Expr | None:
    """E_g[body] as one expectation over the relevant token, the sums over tokens written out; None for any other body.

    E x^n is (n - 1)!! for even n and 0 for odd n, for every variable but the relevant token.
    """
    law = node.law
    odd = (Posterior, ConditionalMean, IsLargest)
    if law.base != STANDARD_NORMAL or node.has(*odd) or law.weight.has(z, zeta, eta, xi, Sum) or not symmetric(node):
        return None
    given = {epsilon: Integer(1), **{other: Integer(i) for i, other in enumerate(OTHERS, 2)}}
    if law.length.is_Symbol:
        given[law.length] = Integer(length)
    body = _unfolded(node.body)
    if body is None:
        return None
    body = body.xreplace(given).replace(lambda n: isinstance(n, Sum), lambda n: n.doit())
    letters: dict[Indexed, Symbol] = {item: Dummy(str(item), real=True) for item in body.atoms(Indexed)}
    key = letters.setdefault(chi[1], Dummy("key", real=True))
    variables = [*letters.values(), xi]
    try:
        polynomial = Poly(body.xreplace(letters), *variables)
    except PolynomialError:
        return None
    weight = law.weight.xreplace(given).xreplace({chi[1]: x})
    if weight.has(Indexed) or len(polynomial.terms()) > MOST_MONOMIALS:
        return None
    place = variables.index(key)
    total: dict[int, Expr] = {}
    for powers, coefficient in polynomial.terms():
        others = [n for i, n in enumerate(powers) if i != place]
        if all(n % 2 == 0 for n in others):
            number = Mul(*(factorial2(n - 1) for n in others if n))
            total[powers[place]] = total.get(powers[place], S.Zero) + number * coefficient
    return sum((c * ScalarExpectation(x**n * weight, x, law.base) for n, c in total.items()), S.Zero)


def _unfolded(body: Expr) -> Expr | None:
    """Attentions without a normaliser as functions of their scores."""
    folded = [n for n in body.atoms(Activation, ScoredActivation) if n.args[2] != S.Zero]
    if folded:
        return None

    def written(node: Expr) -> Expr:
        index, kernel, *_ = node.args
        if isinstance(node, Activation):
            return kernel.subs(x, node.args[4] * chi[index])
        return kernel.subs(x, node.score.subs(m, index))

    return body.replace(lambda n: isinstance(n, (Activation, ScoredActivation)), written)
