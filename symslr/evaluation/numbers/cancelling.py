"""Sums that cancel in a tail, as sqrt(1 + e^x) - 1 does: in float64 where they keep digits, in Arb balls elsewhere.

A sum is marked before it is compiled. Where what is left is less than ``LEAST_LEFT`` of the size of its terms, it is evaluated
again, one place at a time, with as many bits as needed. Not where two of its variables are arrays: such sums vanish at isolated
places by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from itertools import count
from typing import Any

import numpy as np
from sympy import Add, Dummy, Expr, Function, Integer, Pow, log
from sympy.core.function import AppliedUndef

from symslr.model.float64 import uncancelled
from symslr.parallel.serial import one_at_a_time

LEAST_LEFT = 2.0**-10
"""Of the size of the terms: a sum below this has lost three digits."""
BITS = (128, 256, 512, 1024, 2048, 4096)
"""Precisions tried in turn; a sum that 4096 bits do not tell from 0, below 1e-1200 of its terms, is 0."""
MOST_CACHED = 2**17
"""Places of a sum that are cached: several rules look at the same ones, and at a sign and a logarithm there."""
ENOUGH_BITS = 80
"""Correct bits asked for, so that the result is rounded to float64 in the same way whatever the precision."""

Uncancelled, SignUncancelled, LogUncancelled = map(Function, ("Uncancelled", "SignUncancelled", "LogUncancelled"))
"""Functions of the index of a sum and of its symbols, which ``compile_float`` evaluates by ``functions``."""

_SUMS: dict[int, Sum] = {}
_NUMBERS = count()


@cache
def may_cancel(expr: Expr) -> bool:
    """Whether an expression is a sum, or the logarithm of one, whose terms may cancel in a tail; those of a polynomial do so at
    isolated places only.
    """
    total = expr.args[0] if isinstance(expr, log) else expr
    if not isinstance(total, Add) or total.has(AppliedUndef):
        return False
    powers = {power: Dummy() for power in total.atoms(Pow) if power.base.is_Symbol and power.exp.is_Rational}
    plain = total.xreplace(powers)
    if plain.is_polynomial(*plain.free_symbols):
        return False
    if not isinstance(expr, log) and (
        all(term.is_nonnegative for term in total.args) or all(term.is_nonpositive for term in total.args)
    ):
        return False
    return bool(uncancelled(expr, lambda y: y) == expr)


def marked(expr: Expr) -> Expr:
    """``expr`` with sums that may cancel replaced by ``Uncancelled``; sums inside these are marked when they are compiled."""
    if not expr.args:
        return expr
    if may_cancel(expr):
        return Uncancelled(*arguments(expr))
    args = [marked(arg) for arg in expr.args]
    return expr if all(new is old for new, old in zip(args, expr.args)) else expr.func(*args)


@cache
def arguments(expr: Expr) -> tuple[Expr, ...]:
    """(index of a sum in the table of sums, its symbols)."""
    number, total = next(_NUMBERS), Sum(expr)
    _SUMS[number] = total
    return Integer(number), *total.symbols


def functions() -> dict[str, Any]:
    """The functions for the three marks, by name."""
    return {
        "Uncancelled": lambda number, *at: _SUMS[number].value(*at),
        "SignUncancelled": lambda number, *at: _SUMS[number].sign_and_log(*at)[0],
        "LogUncancelled": lambda number, *at: _SUMS[number].sign_and_log(*at)[1],
    }


class Sum:
    """A sum, or the logarithm of one, as a function of arrays of its symbols."""

    def __init__(self, expr: Expr) -> None:
        self.expr, self.symbols = expr, tuple(sorted(expr.free_symbols, key=str))
        self._found: dict[tuple[float, ...], Any] = {}
        self._level = 0

    @cached_property
    def _terms(self) -> Any:
        from symslr.evaluation.numbers.compiled import compile_float

        if isinstance(self.expr, Add):
            return compile_float(self.symbols, self.expr.args)
        own = log(marked(self.expr.args[0]), evaluate=False)
        return compile_float(self.symbols, [own], keeps_digits=False)  # marked itself it would be asked for itself

    @cached_property
    def _logs(self) -> Any:
        from symslr.evaluation.numbers.compiled import compile_float
        from symslr.evaluation.numbers.logarithm import sign_and_log

        return compile_float(self.symbols, [part for term in self.expr.args for part in sign_and_log(term)])

    def value(self, *at: Any) -> Any:
        """The sum."""
        shape, at, is_curve = _places(at)
        with np.errstate(all="ignore"):
            terms = self._terms(*at)
            found = sum(terms) + np.zeros(at[0].shape)
            size = sum(map(np.abs, terms)) if isinstance(self.expr, Add) else 1.0
            lost = ~(np.abs(found) >= LEAST_LEFT * size)
        if is_curve and lost.any():
            self._recompute([found], lost, at, lambda number: (float(number),))
        return found.reshape(shape)[()]

    def sign_and_log(self, *at: Any) -> tuple[Any, Any]:
        """The sign of the sum and the logarithm of its size."""
        shape, at, is_curve = _places(at)
        with np.errstate(all="ignore"):
            parts = self._logs(*at)
            top = np.max(np.stack([np.broadcast_to(own, at[0].shape) for own in parts[1::2]]), axis=0)
            total = sum(sign * np.exp(own - top) for sign, own in zip(parts[::2], parts[1::2]))
            sign, found = np.sign(total), top + np.log(np.abs(total))
            lost = ~(np.abs(total) >= LEAST_LEFT)
        if is_curve and lost.any():
            self._recompute([sign, found], lost, at, _sign_and_log)
        return sign.reshape(shape)[()], found.reshape(shape)[()]

    @one_at_a_time
    def _recompute(self, arrays: list[Any], lost: Any, at: Any, parts_of: Callable[[Any], tuple[float, ...]]) -> None:
        """Replaces entries of ``arrays`` where digits were lost by values computed in balls, where these succeed.

        Each ball is correct to all digits of float64. At most one symbol varies, so its values identify the places.

        Args:
            parts_of: from the ball of the sum to one number for each of the arrays.
        """
        if len(self._found) > MOST_CACHED:
            self._found.clear()
        columns = [own[lost] for own in at]
        varies = next((own for own in columns if own[0] != own[-1] or np.any(own != own[0])), columns[0])
        _, first, which = np.unique(varies, return_index=True, return_inverse=True)
        numbers = []
        for place in zip(*(own[first].tolist() for own in columns)):
            if place not in self._found:
                self._found[place] = self._in_balls(place)
            number = self._found[place]
            numbers.append((np.nan,) * len(arrays) if number is None else parts_of(number))
        again = np.array(numbers)[which]
        known = ~np.isnan(again[:, 0])
        for array, new in zip(arrays, again.T):
            array[lost] = np.where(known, new, array[lost])

    def _in_balls(self, numbers: tuple[float, ...]) -> Any:
        """The ball of the sum at one place, None where it has no value; starts one precision below that which sufficed last."""
        from flint import arb, ctx

        from symslr.evaluation.numbers.balls import Balls

        at = [arb(number) for number in numbers]
        for level, bits in enumerate(BITS[self._level :], self._level):
            with ctx.workprec(bits):
                (found,) = Balls(bits).function(self.symbols, [self.expr])(*at)
                if found.is_finite() and found.rel_accuracy_bits() >= ENOUGH_BITS:
                    self._level = max(level - 1, 0)
                    with ctx.workprec(2 * ENOUGH_BITS):
                        return +found
        self._level = len(BITS) - 1
        return arb(0) if found.is_finite() and found.contains(0) else None


def _sign_and_log(number: Any) -> tuple[float, float]:
    return float(number.sgn()), float(abs(number).log()) if number != 0 else -np.inf


def _places(at: tuple[Any, ...]) -> tuple[tuple[int, ...], Any, bool]:
    """(shape of the result, the arrays of the symbols broadcast, whether at most one symbol varies)."""
    shape, is_curve = np.broadcast_shapes(*map(np.shape, at)), sum(np.size(numbers) > 1 for numbers in at) < 2
    return shape, np.broadcast_arrays(*(np.atleast_1d(np.asarray(numbers, dtype=float)) for numbers in at)), is_curve
