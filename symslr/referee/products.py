"""Means of products over tokens, each of which is integrated by itself, at any length.

Where the largest token counts, token space is split by which one it is: on such a part every indicator is a constant, and the
other tokens lie below the largest one, each by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from sympy import (
    Add,
    Basic,
    Expr,
    Function,
    Indexed,
    Integer,
    Integral,
    Mul,
    Pow,
    Product,
    S,
    Sum,
    Symbol,
    exp,
    expand_mul,
)

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import FOLDED, Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import OTHERS, chi, epsilon, eta, m, x, xi, z, zeta
from symslr.referee.polynomials import RANDOM, NotPolynomial, given_tokens, moment
from symslr.referee.scope import symbols_of
from symslr.referee.symmetry import symmetric

BELOW = Symbol("y", real=True)
"""A token below the largest one."""


@lru_cache(maxsize=256)
def by_tokens(node: SequenceExpectation, length: int) -> Expr | None:
    """E_g[body] as a sum of products of integrals over single tokens, with epsilon = 1; None for a body of another kind."""
    split = node.has(IsLargest)
    if not symmetric(node) or (not split and node.body.has(*FOLDED, ConditionalMean)):
        return None
    given: dict[Basic, int] = {epsilon: 1, **{other: i for i, other in enumerate(OTHERS, 2)}}
    if node.law.length.is_Symbol:
        given[node.law.length] = length
    parts: Counter[Expr] = Counter()
    try:
        for top in range(1, length + 1) if split else (0,):
            whole = written(node.law.weight * node.body, given, top)
            terms = Add.make_args(whole.expand()) if split else (whole,)
            parts.update(_product(term, top, length, node.law.base) for term in terms)
    except NotPolynomial:
        return None
    return Add(*(times * part for part, times in parts.items()))


def written(node: Expr, given: Mapping[Basic, int], top: int = 0) -> Expr:
    """A formula in which tokens stand by their numbers: sums term by term, posteriors by Bayes' rule, attentions by their kernels.

    Args:
        given: what is known of indices and the length.
        top: the number of the largest token, where it counts.

    Raises:
        NotPolynomial: where that is no formula.
    """
    if isinstance(node, IsLargest):
        return Integer(_number(node.args[1], given) == top)
    if isinstance(node, ConditionalMean):
        return written(given_tokens(node), given, top)
    if isinstance(node, Posterior):
        places = range(1, _number(node.law.length, given) + 1)
        weights = [written(node.law.weight, {**given, epsilon: place}, top) for place in places]
        return weights[_number(node.index, given) - 1] / Add(*weights)
    if isinstance(node, (Activation, ScoredActivation)):
        own, kernel, normalised, offset, score, length = node.args
        score = score * chi[m] if isinstance(node, Activation) else score

        def attention(i: int) -> Expr:
            return kernel.xreplace({x: written(score, {**given, m: i}, top)})

        places = range(1, _number(length, given) + 1)
        total = S.One if normalised == 0 else Add(written(offset, given, top), *map(attention, places))
        return attention(_number(own, given)) / total
    if isinstance(node, (Sum, Product)) and len(node.limits) == 1:
        index, low, high = node.limits[0]
        ends = _number(low, given), _number(high, given)
        terms = (written(node.function, {**given, index: i}, top) for i in range(ends[0], ends[1] + 1))
        return (Add if isinstance(node, Sum) else Mul)(*terms)
    if isinstance(node, Indexed):
        return node.base[tuple(_number(index, given) for index in node.indices)]
    if isinstance(node, Symbol):
        return Integer(given[node]) if node in given else node
    if not node.args:
        return node
    if not isinstance(node, (Add, Mul, Pow, Function)):
        if symbols_of(node) & RANDOM:
            raise NotPolynomial
        known = {symbol: Integer(n) for symbol, n in given.items() if symbol in symbols_of(node)}
        return node.subs(known) if known else node  # not by xreplace: the letters of a mean may be the same
    return node.func(*(written(arg, given, top) for arg in node.args))


def _number(node: Expr, given: Mapping[Basic, int]) -> int:
    found = node.xreplace({symbol: Integer(n) for symbol, n in given.items()})
    if not isinstance(found, Integer):
        raise NotPolynomial
    return int(found)


def _product(term: Expr, top: int, length: int, base: ScalarLaw) -> Expr:
    """The mean of a product of functions of one token, over all space or over the part where ``top`` is the largest."""
    factors: dict[int, Expr] = dict.fromkeys(range(1, length + 1), S.One)
    rest = S.One
    for factor in (piece for part in Mul.make_args(term) for piece in _pieces(part)):
        variable, power = factor.as_base_exp()
        if variable == xi or (isinstance(variable, Indexed) and variable.base != chi):
            rest *= moment(_number(power, {}))
            continue
        if factor.has(z, zeta, eta, xi):
            raise NotPolynomial
        tokens = {int(item.indices[0]) for item in factor.atoms(Indexed)}
        if len(tokens) > 1:
            raise NotPolynomial
        for token in tokens:
            factors[token] *= factor.subs(chi[token], x)
        rest *= S.One if tokens else factor
    if rest == 0:
        return S.Zero
    own = factors.pop(top, None)
    if own is None:
        return rest * Mul(*(ScalarExpectation(f, x, base) ** times for f, times in Counter(factors.values()).items()))
    for below, times in Counter(factors.values()).items():
        density = (below * base.density).subs(x, BELOW)
        own *= Integral(density, (BELOW, base.lower, x)) ** times
    return rest * ScalarExpectation(own, x, base)


def _pieces(factor: Expr) -> list[Expr]:
    """An exponential of a sum as exponentials, one for each term."""
    return [exp(term) for term in Add.make_args(expand_mul(factor.exp))] if isinstance(factor, exp) else [factor]
