"""Means of functions of the largest token: token space is split by which token is the largest.

On such a part every indicator is a constant, and the other tokens lie below the largest one, each by itself where the body is a
sum of products of functions of one token: a mean is an integral over the largest token of products of integrals below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from sympy import Add, Basic, Expr, Function, Indexed, Integer, Integral, Mul, Pow, S, Sum, Symbol

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import ConditionalMean, Posterior
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import OTHERS, chi, epsilon, eta, x, xi, z, zeta
from symslr.referee.polynomials import NotPolynomial, given_tokens, moment
from symslr.referee.symmetry import symmetric

BELOW = Symbol("y", real=True)
"""A token below the largest one."""


class _NoFormula(Exception):
    """The body does not become a formula of single tokens on the parts."""


@lru_cache(maxsize=256)
def by_largest(node: SequenceExpectation, length: int) -> Expr | None:
    """E_g[body] as a sum of integrals over the largest token, with epsilon = 1; None for a body of another kind."""
    if not symmetric(node):
        return None
    given: dict[Basic, int] = {epsilon: 1, **{other: i for i, other in enumerate(OTHERS, 2)}}
    if node.law.length.is_Symbol:
        given[node.law.length] = length
    parts: Counter[Expr] = Counter()
    try:
        for top in range(1, length + 1):
            written = _written(node.law.weight * node.body, given, top)
            parts.update(_over_part(term, top, length, node.law.base) for term in Add.make_args(written.expand()))
    except (_NoFormula, NotPolynomial):
        return None
    return Add(*(times * part for part, times in parts.items()))


def _written(node: Expr, given: Mapping[Basic, int], top: int) -> Expr:
    """A formula where ``top`` is the largest token: sums over tokens term by term, posteriors by Bayes' rule."""
    if isinstance(node, IsLargest):
        return Integer(_number(node.args[1], given) == top)
    if isinstance(node, ConditionalMean):
        return _written(given_tokens(node), given, top)
    if isinstance(node, Posterior):
        places = range(1, _number(node.law.length, given) + 1)
        weights = [_written(node.law.weight, {**given, epsilon: place}, top) for place in places]
        return weights[_number(node.index, given) - 1] / Add(*weights)
    if isinstance(node, Sum) and len(node.limits) == 1:
        index, low, high = node.limits[0]
        ends = _number(low, given), _number(high, given)
        return Add(*(_written(node.function, {**given, index: i}, top) for i in range(ends[0], ends[1] + 1)))
    if isinstance(node, Indexed):
        return node.base[_number(node.indices[0], given)]
    if isinstance(node, Symbol):
        return Integer(given[node]) if node in given else node
    if not node.args:
        return node
    if not isinstance(node, (Add, Mul, Pow, Function)):
        raise _NoFormula
    return node.func(*(_written(arg, given, top) for arg in node.args))


def _number(node: Expr, given: Mapping[Basic, int]) -> int:
    found = node.xreplace({symbol: Integer(n) for symbol, n in given.items()})
    if not isinstance(found, Integer):
        raise _NoFormula
    return int(found)


def _over_part(term: Expr, top: int, length: int, base: ScalarLaw) -> Expr:
    """The mean of a product of functions of one token over the part where ``top`` is the largest."""
    factors: dict[int, Expr] = dict.fromkeys(range(1, length + 1), S.One)
    rest = S.One
    for factor in Mul.make_args(term):
        variable, power = factor.as_base_exp()
        if variable == xi or (isinstance(variable, Indexed) and variable.base != chi):
            rest *= moment(_number(power, {}))
            continue
        if factor.has(z, zeta, eta, xi):
            raise _NoFormula
        tokens = {int(item.indices[0]) for item in factor.atoms(Indexed)}
        if len(tokens) > 1:
            raise _NoFormula
        for token in tokens:
            factors[token] *= factor.subs(chi[token], x)
        rest *= S.One if tokens else factor
    own = factors.pop(top)
    for below, times in Counter(factors.values()).items():
        density = (below * base.density).subs(x, BELOW)
        own *= Integral(density, (BELOW, base.lower, x)) ** times
    return rest * ScalarExpectation(own, x, base) if rest != 0 else S.Zero
