"""Rules that return an upper bound: the line before is at most the line after."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from sympy import Add, Expr, Mul, Pow, Sum, exp, log

from symslr.algebra.rule import Rule, RuleRefused
from symslr.expression.folded import Minimum
from symslr.expression.signs import SignExpectation

Upper = Callable[[Expr], "Expr | None"]


class Bound(Rule):
    """Abstract: replaces some terms of an expression by upper bounds, where the expression grows with each of them.

    It does in sums, in products with nonnegative factors, in powers of nonnegative numbers, in exp and log, in means, in
    sums over an index and in minima. Anywhere else, as in 1 - T, the rule refuses: the inequality would turn around.
    """

    relation: ClassVar[str] = "<="

    @abstractmethod
    def upper(self, term: Expr) -> Expr | None:
        """A number that is at least ``term``, or None where the rule has nothing to say of this term.

        Called from the outside in; what is inside of a term that is replaced is not looked at.

        Raises:
            RuleRefused: when the term is one for the rule and a condition fails.
        """

    def rewrite(self, expr: Expr) -> Expr:
        return raised(expr, self.upper, self.refuse)


def raised(expr: Expr, upper: Upper, refuse: Callable[[str], RuleRefused]) -> Expr:
    """``expr`` with its terms replaced by upper bounds, where it is known to grow with them."""
    found = upper(expr)
    if found is not None:
        return found
    grown = [arg for arg in expr.args if isinstance(arg, Expr) and _holds(arg, upper)]
    if not grown:
        return expr
    if _grows(expr, grown):
        return expr.func(*(raised(arg, upper, refuse) for arg in expr.args))
    raise refuse(f"{expr} is not known to grow with {grown[0]}, so a bound on that is none on the whole")


def _holds(expr: Expr, upper: Upper) -> bool:
    return upper(expr) is not None or any(_holds(arg, upper) for arg in expr.args if isinstance(arg, Expr))


def _grows(expr: Expr, grown: list[Expr]) -> bool:
    """Whether an expression grows with each of some of its arguments, and the others do not change."""
    if isinstance(expr, (Add, exp, log)):
        return True
    if isinstance(expr, Mul):
        rest = [arg for arg in expr.args if arg not in grown]
        others = rest if len(grown) == 1 else expr.args
        return all(arg.is_nonnegative for arg in others)
    if isinstance(expr, Pow):
        base, exponent = expr.as_base_exp()
        return grown == [base] and bool(base.is_nonnegative and exponent.is_nonnegative)
    return isinstance(expr, (Minimum, SignExpectation, Sum)) and grown == [expr.args[0]]
