"""Formulas of a few numbers with running error bounds: every operation returns (value, error) with its rounding included.

Used where integrals are combined. Errors add to first order. Where a factor is exactly zero the others are not evaluated, so
that (L - 1) E[...] is 0 at L = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import mpmath
from sympy import Add, Dummy, Expr, Mul, Pow, Symbol, exp, log

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic
from symslr.evaluation.numbers.balls import Multiprecision
from symslr.expression.special import NormalCdf, OwensT, SkewNormal

Pair = tuple[Any, Any]
Formula = Callable[[Arithmetic, Mapping[Symbol, Pair]], Pair]


class Lazy(dict[Symbol, Pair]):
    """(value, error) of symbols; those that are still to be computed are, once, when they are asked for."""

    def __init__(self, known: Mapping[Symbol, Pair], unfinished: Mapping[Symbol, Callable[[], Pair]]) -> None:
        super().__init__(known)
        self.unfinished = unfinished

    def __missing__(self, symbol: Symbol) -> Pair:
        pair = self[symbol] = self.unfinished[symbol]()
        return pair


CANCELLED = 1e-10
"""Relative error of a float64 value above which more bits are used: the ten digits given where none are asked for."""
MORE_BITS = (192, 384, 768, 1536)
"""Precisions tried in turn while they help: a difference of terms near 1 keeps ten digits down to 1e-47, 1e-105, 1e-221 and
1e-452; float64 ends at 1e-308."""


def in_numbers(formula: Formula, arithmetic: Arithmetic, scope: Mapping[Symbol, Pair]) -> Pair:
    """(value, error) of a formula of known numbers; in float64 with more bits inside where its terms cancel.

    For E[sigma^2] - E[sigma]^2 of 1 + erf(a x + c) at nu = 180 float64 leaves four digits, 3e-15 of 3e-11; at nu = 1000 the
    least value is 3e-56.
    """
    value, error = formula(arithmetic, scope)
    if arithmetic != FLOAT or error <= CANCELLED * abs(value):
        return value, error
    numbers = {symbol: pair for symbol, pair in scope.items() if isinstance(pair, tuple)}
    for bits in MORE_BITS:
        with mpmath.workprec(bits):
            exact = {symbol: (mpmath.mpf(float(v)), mpmath.mpf(float(e))) for symbol, (v, e) in numbers.items()}
            better = tuple(map(float, formula(Multiprecision(bits), {**scope, **exact})))
        rounded = better[0], better[1] + FLOAT.eps * abs(better[0]) + FLOAT.lost(better[0])
        if rounded[1] >= error:
            break  # what is left is the error of what the formula is given
        value, error = rounded
        if error <= CANCELLED * abs(value):
            break
    return value, error


SPECIAL = NormalCdf, OwensT, SkewNormal
"""Functions that take longer than the rest of a formula and that SymPy cannot turn into numbers."""


def compiled_formula(expr: Expr) -> Formula:
    """``expr`` as a function of (arithmetic, {symbol: (value, error)}); each special function is evaluated once."""
    letters = {part: Dummy(f"special_{n}", real=True) for n, part in enumerate(expr.atoms(*SPECIAL))}
    if not letters:
        return _compiled(expr)
    parts = {letter: _compiled(part) for part, letter in letters.items()}
    whole = _compiled(expr.xreplace(letters))

    def formula(arithmetic: Arithmetic, scope: Mapping[Symbol, Pair]) -> Pair:
        own = Lazy(scope, {letter: partial(part, arithmetic, scope) for letter, part in parts.items()})
        return whole(arithmetic, own)

    return formula


def _compiled(expr: Expr) -> Formula:
    if expr.is_Symbol:
        return lambda arithmetic, scope: scope[expr]
    if not expr.free_symbols and not expr.has(*SPECIAL):
        return _constant(expr)
    if isinstance(expr, Add):
        return _sum([_compiled(arg) for arg in expr.args])
    if isinstance(expr, Mul):
        factors = _with_one_exponential(expr.args)
        cheap_first = sorted(factors, key=lambda arg: any(isinstance(s, Dummy) for s in arg.free_symbols))
        return _product([_compiled(arg) for arg in cheap_first])
    if isinstance(expr, Pow) and expr.exp.is_Integer:
        return _integer_power(_compiled(expr.base), int(expr.exp))
    if isinstance(expr, Pow) and expr.exp.is_Rational:
        return _function(lambda base: base**expr.exp, [_compiled(expr.base)])
    return _function(expr.func, [_compiled(arg) for arg in expr.args])


def _with_one_exponential(factors: Sequence[Expr]) -> list[Expr]:
    """The factors with all exponentials merged into one: e^800 e^(-801) is a float64 number, and e^800 is not."""
    exponents = [factor.exp for factor in factors if isinstance(factor, exp)]
    if len(exponents) < 2:
        return list(factors)
    return [*(factor for factor in factors if not isinstance(factor, exp)), exp(Add(*exponents))]


def _constant(expr: Expr) -> Formula:
    kept: dict[Any, Any] = {}
    exact = expr.is_Integer

    def constant(arithmetic: Arithmetic, scope: Mapping[Symbol, Pair]) -> Pair:
        key = arithmetic.eps
        if key not in kept:
            number = arithmetic.number(expr)
            kept[key] = number if expr.is_infinite else arithmetic.held(number)
        value = kept[key]
        if exact:
            return value, 0 * value
        return value, abs(value) * key + arithmetic.lost(value)

    return constant


def _sum(parts: list[Formula]) -> Formula:
    def total(arithmetic: Arithmetic, scope: Mapping[Symbol, Pair]) -> Pair:
        pairs = [part(arithmetic, scope) for part in parts]
        value = arithmetic.held(sum(v for v, _ in pairs))
        return value, sum(e for _, e in pairs) + arithmetic.eps * sum(abs(v) for v, _ in pairs)

    return total


def _product(parts: list[Formula]) -> Formula:
    def product(arithmetic: Arithmetic, scope: Mapping[Symbol, Pair]) -> Pair:
        value, error = 1, 0
        for part in parts:
            v, e = part(arithmetic, scope)
            if v == 0 and e == 0:
                return v, e
            error = abs(value) * e + abs(v) * error + error * e
            value = arithmetic.held(value * v)
        return value, error + len(parts) * arithmetic.eps * abs(value) + arithmetic.lost(value)

    return product


def _integer_power(base: Formula, exponent: int) -> Formula:
    def power(arithmetic: Arithmetic, scope: Mapping[Symbol, Pair]) -> Pair:
        v, e = base(arithmetic, scope)
        if exponent < 0 and abs(v) <= e:
            raise CannotEvaluate("a denominator cannot be told from zero")
        value = arithmetic.held(v**exponent)
        nearest = abs(v) - e if exponent < 0 else abs(v) + e
        error = abs(exponent) * nearest ** (exponent - 1) * e + 2 * arithmetic.eps * abs(value)
        return value, error if v == 0 == e else error + arithmetic.lost(value)

    return power


def _function(head: Any, parts: list[Formula]) -> Formula:
    dummies = [Dummy(f"y{i}", real=True) for i in range(len(parts))]
    applied = head(*dummies)

    kept: dict[tuple[str, bool], Any] = {}

    def call(arithmetic: Arithmetic, scope: Mapping[Symbol, Pair]) -> Pair:
        pairs = [part(arithmetic, scope) for part in parts]
        # Slopes of exact arguments are not formed: sqrt has none at zero.
        key = arithmetic.name, all(e == 0 for _, e in pairs)
        function = kept.get(key)
        if function is None:
            slopes = [] if key[1] else [applied.diff(d) for d in dummies]
            function = kept[key] = arithmetic.compile(dummies, [applied, *slopes])
        value, *slopes = function(*(v for v, _ in pairs))
        error = 8 * arithmetic.eps * abs(arithmetic.held(value))
        if head is not log and all(v != 0 for v, _ in pairs):
            error = error + arithmetic.lost(value)
        for slope, (_, e) in zip(slopes, pairs):
            if e != 0:
                error = error + abs(slope) * e
        return value, error

    return call
