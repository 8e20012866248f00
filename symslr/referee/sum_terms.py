"""Splits a body into products of functions of few tokens and one function of a sum over all tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sympy import Basic, Dummy, Expr, Indexed, Integer, KroneckerDelta, Mul, Product, S, Sum, powsimp

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import OTHERS, chi, epsilon, eta, x, xi, z, zeta
from symslr.referee.symmetry import symmetric

TOKENS = tuple(Dummy(f"t{i}", real=True) for i in range(len(OTHERS) + 2))
TOTAL = Dummy("s", positive=True)
DEEPEST = 5
"""Sums within sums that are looked into."""


@dataclass(frozen=True)
class Term:
    """One product: a function of the first token and of the sum, factors of one further token each, the other tokens."""

    general: Expr
    factors: tuple[Expr, ...]
    rest: int


@dataclass(frozen=True)
class Reading:
    """A body taken apart: the law of a token, the summand of the one sum, and the terms."""

    base: ScalarLaw
    summand: Expr | None
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, node: SequenceExpectation, length: int) -> Reading | None:
        law = node.law
        body = _unfolded(law.weight * node.body, law)
        if law.length.is_Symbol:
            body = body.xreplace({law.length: Integer(length)})
        named = {epsilon: TOKENS[0], **dict(zip(OTHERS, TOKENS[1:]))}
        body = body.xreplace({chi[index]: token for index, token in named.items()})
        count = max(i for i, token in enumerate(TOKENS[:-1]) if token in body.free_symbols or i == 0) + 1
        taken = _sums_replaced(body, length)
        if taken is None:
            return None
        body, summands = taken
        parts = _split(body, summands, count, length)
        return None if parts is None else cls(law.base, *parts)


@lru_cache(maxsize=512)
def read(node: SequenceExpectation, length: int) -> Reading | None:
    """The terms of a mean at a length; None for a body of another kind."""
    return Reading.of(node, length) if _is_readable(node) else None


def _is_readable(node: SequenceExpectation) -> bool:
    law, body = node.law, node.body
    odd = (z, zeta, eta, xi, ScoredActivation, ConditionalMean, IsLargest, KroneckerDelta, Product)
    return not (body.has(*odd) or law.weight.has(*odd)) and symmetric(node)


def _split(
    body: Expr, summands: dict[Expr, Expr], count: int, length: int
) -> tuple[Expr | None, tuple[Term, ...]] | None:
    """Affine sums written out by symmetry; at most one other sum may be left."""
    affine = [s for s in summands if s not in body.diff(s).free_symbols]
    affine = [s for s in affine if not any(s in summands[other].free_symbols for other in summands)]
    left = [s for s in summands if s not in affine]
    if len(left) > 1 or any(set(affine) & body.diff(s).free_symbols for s in affine):
        return None
    name = left[0] if left else None
    new = TOKENS[count]
    pieces: list[tuple[Expr, int]] = [(body.xreplace(dict.fromkeys(affine, S.Zero)), count)]
    for s in affine:
        slope, h = body.diff(s), summands[s]
        pieces += [(slope * h.subs(x, TOKENS[i]), count) for i in range(count)]
        if length > count:
            pieces.append(((length - count) * slope * h.subs(x, new), count + 1))
    terms = [
        _term(piece.xreplace({name: TOTAL}) if name else piece, used, length) for piece, used in pieces if piece != 0
    ]
    if any(term is None for term in terms):
        return None
    return summands[name] if name else None, tuple(term for term in terms if term is not None)


def _unfolded(expr: Expr, law: SequenceLaw) -> Expr:
    """Attention and posterior as their quotients, every sum over a letter of its own."""

    def renamed(node: Expr) -> Expr:
        found = {}
        for total in node.atoms(Sum):
            (index, low, high), *more = total.limits
            if not more and not total.function.has(Sum):
                fresh = Dummy("i", integer=True, positive=True)
                found[total] = Sum(total.function.xreplace({index: fresh}), (fresh, low, high))
        return node.xreplace(found)

    def quotient(node: Basic) -> Expr:
        fresh = Dummy("i", integer=True, positive=True)
        if isinstance(node, Posterior):
            weight = renamed(node.law.weight)
            total = Sum(renamed(weight).xreplace({epsilon: fresh}), (fresh, 1, node.law.length))
            return weight.xreplace({epsilon: node.index}) / total
        index, kernel, normalised, offset, scale, length = node.args
        own = kernel.xreplace({x: scale * chi[index]})
        if normalised == S.Zero:
            return own
        return own / (offset + Sum(kernel.xreplace({x: scale * chi[fresh]}), (fresh, 1, length)))

    return renamed(expr).replace(lambda node: isinstance(node, (Activation, Posterior)), quotient)


def _sums_replaced(body: Expr, length: int) -> tuple[Expr, dict[Expr, Expr]] | None:
    """The body with a symbol for each sum over tokens, and the summands in x; equal sums up to a factor share one."""
    summands: dict[Expr, Expr] = {}
    for _ in range(DEEPEST):
        inner = [total for total in body.atoms(Sum) if not total.function.has(Sum)]
        if not inner:
            return None if body.has(Indexed) or body.atoms(Sum) else (body, summands)
        for total in sorted(inner, key=str):
            (index, low, high), *more = total.limits
            h = total.function.xreplace({chi[index]: x})
            if more or low != 1 or high != length or h.has(Indexed) or h.free_symbols & {index, *TOKENS}:
                return None
            body = body.xreplace({total: _named(h, summands)})
    return None


def _named(h: Expr, summands: dict[Expr, Expr]) -> Expr:
    for symbol, other in summands.items():
        ratio = powsimp(h / other)
        if x not in ratio.free_symbols:  # another sum in the ratio is the same for every summand
            return ratio * symbol
    symbol = Dummy(f"S{len(summands)}", positive=True)
    summands[symbol] = h
    return symbol


def _term(piece: Expr, used: int, length: int) -> Term | None:
    """The factors of one product by the token they belong to; None where two tokens do not come apart."""
    if used > length:
        return None
    general: list[Expr] = []
    factors: list[list[Expr]] = [[] for _ in range(used - 1)]
    for factor in Mul.make_args(piece):
        tokens = factor.free_symbols & set(TOKENS)
        if len(tokens) > 1 or (tokens - {TOKENS[0]} and TOTAL in factor.free_symbols):
            return None
        if tokens and tokens != {TOKENS[0]}:
            factors[TOKENS.index(tokens.pop()) - 1].append(factor)
        else:
            general.append(factor)
    return Term(
        Mul(*general), tuple(Mul(*own).xreplace({TOKENS[i + 1]: x}) for i, own in enumerate(factors)), length - used
    )
