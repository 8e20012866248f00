"""Expands the body of an expectation as a polynomial in its random variables and leaves all else as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Set
from functools import lru_cache

from sympy import Add, Basic, Dummy, Expr, Integral, Mul, S, Sum, cancel, together
from sympy import expand as sympy_expand
from sympy.core.function import Application

from symslr.expression.configuration import PosteriorMean
from symslr.expression.expectation import Expectation
from symslr.expression.folded import FOLDED, ConditionalMean, Minimum
from symslr.expression.joint import AtMinimiser, JointMinimum, Solution
from symslr.expression.quantity import Quantity
from symslr.model.powers import factored
from symslr.model.symbols import BOUND_IN_SEQUENCE

OPAQUE = (
    Sum,
    Integral,
    Expectation,
    ConditionalMean,
    Minimum,
    JointMinimum,
    AtMinimiser,
    Solution,
    Quantity,
    PosteriorMean,
    *FOLDED,
)
"""Nodes that algebra treats as letters."""


def separate(term: Expr, symbols: Set[Basic]) -> tuple[Expr, Expr]:
    """(factors free of ``symbols``, the others): folded nodes depend on chi though no chi stands in them."""
    fixed: list[Expr] = []
    moving: list[Expr] = []
    for factor in Mul.make_args(term):
        (moving if factor.free_symbols & symbols else fixed).append(factor)
    return Mul(*fixed), Mul(*moving)


def split_sums(expr: Expr) -> Expr:
    """``expr`` with every sum over tokens written as a combination of sums of single terms."""

    def split(total: Sum) -> Expr:
        terms = []
        for term in Add.make_args(expand_polynomial(total.function)):
            fixed, moving = separate(term, BOUND_IN_SEQUENCE | set(total.variables))
            terms.append(fixed * (Sum(moving, *total.limits) if moving != 1 else _count(total)))
        return Add(*terms)

    return expr.xreplace({total: split(total) for total in _outermost_sums(expr)})


def _count(total: Sum) -> Expr:
    """How many terms a sum has; itself where it does not begin at 1 or has several indices."""
    ((_, first, last), *others) = total.limits
    return last if first == 1 and not others else Sum(1, *total.limits)


def _outermost_sums(expr: Expr) -> set[Sum]:
    """Sums of the body itself, not those inside another sum, an activation or the weight of a law."""
    if isinstance(expr, Sum):
        return {expr}
    if isinstance(
        expr, (*FOLDED, PosteriorMean, Expectation, ConditionalMean, JointMinimum, AtMinimiser, Solution, Quantity)
    ):
        return set()
    return {total for arg in expr.args for total in _outermost_sums(arg)}


def gathered(expr: Expr) -> Expr:
    """``expr``, a body, with one coefficient in lowest terms for each random variable, in sums over tokens too."""
    if isinstance(expr, Sum):
        return Sum(gathered(expr.function), *expr.limits)
    if expr.is_Add:
        coefficients: dict[Expr, Expr] = defaultdict(lambda: S.Zero)
        for term in Add.make_args(expand_polynomial(Add(*(gathered(arg) for arg in expr.args)))):
            fixed, moving = separate(term, BOUND_IN_SEQUENCE)
            coefficients[moving] += fixed
        return Add(*(_in_lowest_terms(fixed) * moving for moving, fixed in coefficients.items()))
    if expr.is_Mul or expr.is_Pow:
        return expr.func(*(gathered(arg) for arg in expr.args))
    return expr


@lru_cache(maxsize=4096)
def _in_lowest_terms(coefficient: Expr) -> Expr:
    return factored(cancel(together(coefficient)))


def on_letters(rewrite: Callable[[Expr], Expr], expr: Expr, opaque: tuple[type[Expr], ...]) -> Expr:
    """``rewrite`` applied to ``expr`` with its opaque nodes replaced by letters, so that it cannot walk into them."""
    letters: dict[Expr, Expr] = {}

    def hide(node: Expr) -> Expr:
        if isinstance(node, opaque):
            return letters.setdefault(node, Dummy(real=True, positive=node.is_positive))
        return node.func(*(hide(arg) for arg in node.args)) if node.args and not node.is_Indexed else node

    return rewrite(hide(expr)).xreplace({letter: node for node, letter in letters.items()})


def expand_polynomial(expr: Expr) -> Expr:
    """``expr`` multiplied out, with functions, sums and folded nodes treated as letters.

    SymPy's ``expand`` walks into laws and exponents and returns equal nodes that no longer compare equal.
    """
    return on_letters(_multiplied_out, expr, (Application, *OPAQUE))


def _multiplied_out(expr: Expr) -> Expr:
    """Sums, products and whole powers of them multiplied out, from the inside; nothing else is entered."""
    if isinstance(expr, (Add, Mul)) or (expr.is_Pow and expr.exp.is_Integer and expr.exp.is_positive):
        return sympy_expand(expr.func(*(_multiplied_out(arg) for arg in expr.args)), deep=False)
    return expr
