"""Powers of one number, and exponentials of multiples of its logarithm, as one power."""

from __future__ import annotations

from typing import final

from sympy import Add, Dummy, Expr, Mul, Pow, S, Symbol, exp, expand_log, expand_mul, factor, log, simplify, sqrt

from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation
from symslr.model.powers import factored


@final
class OnePower(Rule):
    """Write every product of powers of ``base`` and of exponentials of multiples of log(base) as one power of it.

    Args:
        base: a number that stands in a logarithm of the line, so it is positive where the line has a meaning.
    """

    name = "powers of one number"
    statement = r"y^c\,e^{d\log y}=y^{c+d}"
    conditions = r"$y>0$"

    def __init__(self, base: Expr) -> None:
        self.base = base

    def rewrite(self, expr: Expr) -> Expr:
        if not expr.has(log(self.base)):
            raise self.refuse(f"found no log({self.base}), so nothing says that {self.base} is positive")
        letter = Dummy(positive=True)
        return self._collected(expr.xreplace({self.base: letter}), letter).xreplace({letter: self.base})

    def _collected(self, expr: Expr, y: Symbol) -> Expr:
        if not expr.args or isinstance(expr, Expectation) or not expr.has(y):
            return expr
        found = self._as_power(expr, y)
        if found is not None:
            return found
        if isinstance(expr, Mul):
            powers = [part for part in expr.args if isinstance(part, exp)]
            rest = [self._collected(part, y) for part in expr.args if part not in powers]
            return Mul(*rest, self._collected(exp(Add(*(part.exp for part in powers))), y)) if powers else Mul(*rest)
        if isinstance(expr, exp):
            return exp(Add(*(self._collected(term, y) for term in Add.make_args(expand_mul(expr.exp)))))
        return expr.func(*(self._collected(arg, y) for arg in expr.args))

    def _as_power(self, expr: Expr, y: Symbol) -> Expr | None:
        """c y^d for a product of powers of y; None for any other expression."""
        exponent = expand_log(log(expr)).expand()
        power = exponent.coeff(log(y))
        rest = exponent - (power * log(y)).expand()
        return None if rest.has(y) or power.has(y) else simplify(exp(rest)) * y ** _in_roots(simplify(power))


def _in_roots(expr: Expr) -> Expr:
    """Factored as a polynomial in the roots that stand in it: (sqrt(t) - 1)^2 for t - 2 sqrt(t) + 1."""
    roots = [part for part in expr.atoms(Pow) if part.exp == S.Half]
    letters = {part.base: Dummy(positive=True) for part in roots if part.base.is_Symbol and part.base.is_positive}
    whole = expr.subs({base: letter**2 for base, letter in letters.items()})
    numbers = [part for part in roots if part.is_number]
    made = factor(whole, extension=numbers) if numbers else factored(whole)
    return made.subs({letter: sqrt(base) for base, letter in letters.items()})
