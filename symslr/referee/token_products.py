"""Bodies as polynomials in one-token factors, with terms grouped by the factor of each token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb, hypot
from typing import TYPE_CHECKING

import numpy as np
from sympy import Add, Dummy, Expr, Indexed, Integer, Mul, Pow, S, Sum, exp, expand_mul

from symslr.expression.expectation import Expectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import OTHERS, chi, epsilon, eta, m, x, xi, z, zeta
from symslr.referee.one_token import Factor, Line, Score, Total
from symslr.referee.polynomials import RANDOM, NotPolynomial, Polynomial, added, given_tokens, moment, multiplied, read
from symslr.referee.scope import Scope
from symslr.referee.work import Memory

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

CHI, Z, ZETA, ETA = (str(family.label) for family in (chi, z, zeta, eta))
XI = str(xi)

FEW = (4, 6)
"""Tokens that are written out; where a term takes fewer, it stands for as many as there are choices of tokens for it."""

PLACE = "."
"""The variable that says that a sum has been at a token."""

MOST_TOTALS = 2
ULP = 4e-16
"""Relative difference up to which two spreads are one."""

ONE: Factor = (0, 0, ())
"""The factor of a token that takes no part."""

Others = tuple[tuple[Factor, int], ...]
"""Factors of tokens that are not the relevant one, and of how many; those that are 1 left out."""

Classes = dict[tuple[int, ...], dict[Others, dict[Factor, float]]]
"""Powers of the totals -> factors of the other tokens -> factor of the relevant token -> coefficient."""


@dataclass
class Reading:
    """A weight times a body as a polynomial in what one-token integrals are made of.

    Attributes:
        written: the tokens that sums run over; fewer than ``length`` where that tells the others.
    """

    reader: Interpreter
    scope: Scope
    length: int
    written: int
    law: ScalarLaw
    score: Score = field(default_factory=Score)
    shares: tuple[float, float] = (0.0, 0.0)
    lines: dict[str, Line] = field(default_factory=dict)
    totals: dict[str, Total] = field(default_factory=dict)
    classes: Classes = field(default_factory=dict)
    named: dict[tuple[Expr, bool, float, float], str] = field(default_factory=dict)

    @classmethod
    def of(cls, reader: Interpreter, node: SequenceExpectation, scope: Scope, length: int) -> Reading:
        given = {epsilon: 1, **{other: i for i, other in enumerate(OTHERS, 2)}}
        if node.law.length.is_Symbol:
            given[node.law.length] = length
        alike = not reader.symbols(node.body) & set(OTHERS)
        alike = alike and not any(power.has(Sum) for part in (node.law.weight, node.body) for power in part.atoms(exp))
        for written in (*(few for few in FEW if few < length and alike), length):
            self = cls(reader, scope.with_integers(given), length, written, node.law.base)
            parts = [read(reader, part, self.scope, self._atom) for part in (node.law.weight, node.body)]
            if self._classify(multiplied(reader, parts)):
                return self
        raise NotPolynomial

    # --- what a body is made of

    def _atom(self, node: Expr, scope: Scope) -> Polynomial | None:
        one = self.reader.number(1)
        if isinstance(node, Posterior):
            return read(self.reader, _quotient(node), scope, self._atom)
        if isinstance(node, ConditionalMean):
            return read(self.reader, given_tokens(node), scope, self._atom)
        if isinstance(node, (Activation, ScoredActivation)):
            return {self._attention(node, scope): one}
        if isinstance(node, exp) and node.has(Sum):
            return multiplied(
                self.reader, [self._exponential(term, scope) for term in Add.make_args(expand_mul(node.exp))]
            )
        if isinstance(node, Sum) and self.written < self.length and self.reader.symbols(node) & RANDOM:
            return self._sum(node, scope)
        if isinstance(node, (Add, Mul, Sum, Indexed)) or node == xi or not self.reader.symbols(node) & RANDOM:
            return None
        if isinstance(node, Pow) and isinstance(node.exp, Integer):
            if node.exp > 0:
                return None
            if node.base.has(Sum):
                outside, base = _outside(node.base)
                total: Polynomial = {((self._total(base, scope), 0),) * -int(node.exp): one}
                return multiplied(self.reader, [read(self.reader, outside**node.exp, scope, self._atom), total])
        if node.has(Sum, SequenceExpectation):
            raise NotPolynomial
        tokens = {self._token(item, scope) for item in node.atoms(Indexed)}
        if len(tokens) != 1:
            raise NotPolynomial
        times, power = node.exp.as_coeff_Mul() if isinstance(node, exp) else (S.One, S.One)
        if times.is_Integer and times > 1:  # e^{2 s} is seen to be no more than the square of a sum of e^s
            return {((self._line(self._in_x(exp(power))), tokens.pop()),) * int(times): one}
        return {((self._line(self._in_x(node)), tokens.pop()),): one}

    def _sum(self, node: Sum, scope: Scope) -> Polynomial:
        """A sum over all tokens, of which the first are written."""
        index, low, high = node.limits[0]
        if len(node.limits) > 1 or low != 1 or self.reader.integer(high, scope) != self.length:
            raise NotPolynomial
        parts = []
        for place in range(1, self.written + 1):
            inside = read(self.reader, node.function, scope.with_integers({index: place}), self._atom)
            parts.append(multiplied(self.reader, [{((PLACE, place),): self.reader.number(1)}, inside]))
        return added(parts)

    def _exponential(self, term: Expr, scope: Scope) -> Polynomial:
        """e to the power of a term: of a sum over all tokens a product over them."""
        sums = [factor for factor in Mul.make_args(term) if isinstance(factor, Sum)]
        if not sums:
            return read(self.reader, exp(term), scope, self._atom)
        (index, low, high), *more = sums[0].limits
        summand = term / sums[0] * sums[0].function
        if more or low != 1 or self.reader.integer(high, scope) != self.written or summand.has(Sum):
            raise NotPolynomial
        places = [
            read(self.reader, exp(summand), scope.with_integers({index: place}), self._atom)
            for place in range(1, self.written + 1)
        ]
        return multiplied(self.reader, places)

    def _attention(self, node: Activation | ScoredActivation, scope: Scope) -> tuple[tuple[str, int], ...]:
        index, kernel, normalised, offset, written, length = node.args
        if self.reader.integer(length, scope) != self.length:
            raise NotPolynomial
        score = written * chi[m] if isinstance(node, Activation) else written
        line = self._line(kernel, *self._score(score, scope))
        own = (line, self.reader.integer(index, scope))
        if normalised == S.Zero:
            return (own,)
        return tuple(sorted((own, (self._named_total(line, offset), 0))))

    def _score(self, score: Expr, scope: Scope) -> tuple[bool, float, float]:
        """Whether a score leaves the line of chi, its slope along it and its start."""
        parts = {k: float(v) for k, v in read(self.reader, score, scope.with_integers({m: 1})).items()}
        slope, start = parts.pop(((CHI, 1),), 0.0), parts.pop((), 0.0)
        by_z, by_eta = parts.pop(((Z, 1),), 0.0), parts.pop(((ETA, 1),), 0.0)
        if parts:
            raise NotPolynomial
        spread = _seen_before(hypot(by_z, by_eta))
        if spread == 0:
            return False, slope, start
        found = Score(slope, spread, start), (by_z / spread, by_eta / spread)
        if self.score.spread and found != (self.score, self.shares):
            raise NotPolynomial
        self.score, self.shares = found
        return True, 1.0, 0.0

    def _total(self, base: Expr, scope: Scope) -> str:
        """A sum over all tokens of a function of each, and what is added to it."""
        sums = [term for term in Add.make_args(base) if term.has(Sum)]
        factors = Mul.make_args(sums[0])
        inner = [factor for factor in factors if isinstance(factor, Sum)]
        if len(sums) != 1 or len(inner) != 1 or len(inner[0].limits) != 1:
            raise NotPolynomial
        (index, low, high) = inner[0].limits[0]
        summand = Mul(*(factor for factor in factors if factor is not inner[0])) * inner[0].function
        whole = low == 1 and self.reader.integer(high, scope) == self.length
        if not whole or summand.atoms(Indexed) != {chi[index]} or summand.has(Sum, Expectation):
            raise NotPolynomial
        return self._named_total(self._line(summand.xreplace({chi[index]: x})), base - sums[0])

    def _named_total(self, line: str, offset: Expr) -> str:
        if self.reader.symbols(offset) & RANDOM:
            raise NotPolynomial
        total = Total(self.lines[line], float(self.reader.value(offset, self.scope)))
        name = f"1/({total.offset} + {line})"
        self.totals[name] = total
        if len(self.totals) > MOST_TOTALS or total.offset < 0:
            raise NotPolynomial
        return name

    def _line(self, expr: Expr, of_score: bool = False, slope: float = 1.0, start: float = 0.0) -> str:
        key = expr, of_score, slope, start
        if key not in self.named:
            line = Line(expr, numbers_of(self.reader, expr, self.scope), *key[1:])
            self.named[key] = f"f{len(self.named)}"
            self.lines[self.named[key]] = line
        return self.named[key]

    def _token(self, item: Indexed, scope: Scope) -> int:
        if item.base != chi:
            raise NotPolynomial
        return self.reader.integer(item.indices[0], scope)

    def _in_x(self, node: Expr) -> Expr:
        return node.xreplace({item: x for item in node.atoms(Indexed)})

    # --- from monomials to products over tokens

    def _classify(self, polynomial: Polynomial) -> bool:
        """Terms gathered by what they ask of the tokens; False where more tokens than are written could take part in one."""
        names = list(self.totals)
        known: dict[tuple[str, ...], list[tuple[float, Factor]]] = {}
        order: dict[Factor, int] = {}
        for monomial, coefficient in polynomial.items():
            tokens: dict[int, list[str]] = {}
            for name, token in monomial:
                tokens.setdefault(token, []).append(name)
            beside = tokens.pop(0, [])
            others = len(tokens.keys() - {1})
            if self.written < self.length and others >= self.written - 1:
                return False
            choices = comb(self.length - 1, others) / comb(self.written - 1, others)
            powers = tuple(beside.count(name) for name in names)
            terms: list[tuple[float, Factor, tuple[Factor, ...]]] = [
                (float(coefficient) * choices * moment(beside.count(XI)), ONE, ())
            ]
            for token, variables in tokens.items():
                key = tuple(variables)
                if key not in known:
                    known[key] = list(self._factors(Counter(variables)))
                if token == 1:
                    terms = [(c * d, factor, rest) for c, _, rest in terms for d, factor in known[key]]
                else:
                    terms = [(c * d, own, (*rest, factor)) for c, own, rest in terms for d, factor in known[key]]
            for number, own, rest in terms:
                if number != 0:
                    met = Counter(factor for factor in rest if factor != ONE)
                    factors = tuple(sorted(met.items(), key=lambda pair: order.setdefault(pair[0], len(order))))
                    of_own = self.classes.setdefault(powers, {}).setdefault(factors, {})
                    of_own[own] = of_own.get(own, 0.0) + number
        return True

    def _factors(self, powers: Counter[str]) -> Iterator[tuple[float, Factor]]:
        """A product of the variables of one token, its values averaged given chi and the score."""
        lines = tuple((line, powers[name]) for name, line in self.lines.items() if powers[name])
        number = moment(powers[ZETA])
        if self.score.spread == 0:
            yield number * moment(powers[Z]) * moment(powers[ETA]), (powers[CHI], 0, lines)
            return
        # z = b w + c t and eta = c w - b t, with t independent of chi and w
        b, c = self.shares
        by_power: dict[int, float] = {}
        for i in range(powers[Z] + 1):
            for j in range(powers[ETA] + 1):
                own = comb(powers[Z], i) * b ** (powers[Z] - i) * c**i
                own *= comb(powers[ETA], j) * c ** (powers[ETA] - j) * (-b) ** j
                power = powers[Z] - i + powers[ETA] - j
                by_power[power] = by_power.get(power, 0.0) + own * moment(i + j)
        for power, share in by_power.items():
            yield number * share, (powers[CHI], power, lines)

    def unbounded(self) -> tuple[tuple[Line, int], ...]:
        """Functions that may move the mass of a token, and the highest power in which they stand beside it.

        One that stands over its own sum is at most 1, where it stands there no more often than the sum.
        """
        found: dict[Line, int] = {}
        for powers, classes in self.classes.items():
            below = Counter({total.line: p for total, p in zip(self.totals.values(), powers)})
            for others, of_own in classes.items():
                beside = Counter[Line]()
                highest: dict[Line, int] = {}
                for factor, times in others:
                    for line, power in factor[2]:
                        beside[line] += times * power
                        highest[line] = max(highest.get(line, 0), power)
                for _, _, lines in of_own:
                    for line, power in {**dict.fromkeys(highest, 0), **dict(lines)}.items():
                        if beside[line] + power > below[line]:
                            found[line] = max(found.get(line, 0), power, highest.get(line, 0))
        place = {line: n for n, line in enumerate(self.lines.values())}
        return tuple(sorted(found.items(), key=lambda pair: place[pair[0]]))


def _outside(base: Expr) -> tuple[Expr, Expr]:
    """What stands before a sum over tokens, or in all of its terms alike, and the sum without it."""
    if not isinstance(base, Sum) or len(base.limits) != 1:
        return S.One, base
    outside, inside = base.function.as_independent(base.limits[0][0], as_Add=False)
    return (outside, Sum(inside, *base.limits)) if outside.has(Sum) else (S.One, base)


@lru_cache(maxsize=256)
def _quotient(node: Posterior) -> Expr:
    """g_i/sum_m g_m: Bayes' rule, without the factors of the weight that are the same for every position."""
    own = Mul(*(factor for factor in Mul.make_args(node.law.weight) if factor.has(epsilon)))
    token = Dummy("i", integer=True, positive=True)
    return own.xreplace({epsilon: node.index}) / Sum(own.xreplace({epsilon: token}), (token, 1, node.law.length))


def numbers_of(self: Interpreter, expr: Expr, scope: Scope) -> tuple[tuple[str, object], ...]:
    """What the symbols of an expression stand for, x aside."""
    numbers = []
    for symbol in sorted(self.symbols(expr) - {x, *RANDOM}, key=str):
        found = scope.integers.get(symbol, scope.lookup(symbol))
        if found is None or np.ndim(found) > 0:
            raise NotPolynomial
        numbers.append((str(symbol), found))
    return tuple(numbers)


def _seen_before(spread: float) -> float:
    """A spread that an earlier score had up to rounding, so that keys at other overlaps with v* share a table."""
    known = next((known for known in _spreads if abs(known - spread) <= ULP * spread), spread)
    return _spreads.get(known, lambda: known)


_spreads = Memory(32)
