"""Bounds of a formula at all tokens, read from its structure: at most or at least exponential, linear, away from zero."""

from __future__ import annotations

from collections.abc import Callable

from sympy import (
    Abs,
    Add,
    Expr,
    Heaviside,
    Indexed,
    Max,
    Min,
    Mul,
    Pow,
    Sum,
    atan,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    log,
    sign,
    sin,
    sinh,
    tanh,
)

from symslr.algebra.positivity import holds_a_term, is_nonnegative
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.special import NormalCdf
from symslr.model.largest import IsLargest
from symslr.model.symbols import BOUND_IN_SEQUENCE, x

BOUNDED = (sin, cos, tanh, erf, erfc, sign, Heaviside, atan, NormalCdf, IsLargest, Posterior)
"""Functions that are bounded whatever they are taken of."""
RANDOM = BOUND_IN_SEQUENCE | {x}
"""Tokens, values, noise and the argument of a kernel."""


def at_most_exponential(f: Expr) -> bool:
    """Whether |f| <= exp(C (1 + the sizes of all tokens)): then it has a mean under any Gaussian tokens."""
    if not f.args or isinstance(f, (Indexed, Expectation, *BOUNDED)):
        return True
    if isinstance(f, (Activation, ScoredActivation)):
        return bool(f.args[2] == 1) or at_most_exponential(f.args[1])
    if isinstance(f, ConditionalMean):
        return at_most_exponential(f.label)
    if isinstance(f, (Add, Mul, Abs, Max, Min)):
        return all(at_most_exponential(arg) for arg in f.args)
    if isinstance(f, Sum):
        return at_most_exponential(f.function)
    if isinstance(f, (exp, cosh, sinh)):
        return at_most_linear(f.args[0]) or (isinstance(f, exp) and is_nonnegative(-_random_part(f.args[0])))
    if isinstance(f, log):
        return at_least_exponential(f.args[0]) and at_most_exponential(f.args[0])
    if isinstance(f, Pow) and at_most_exponential(f.base) and not is_random(f.exp):
        return bool(f.exp.is_nonnegative) or not is_random(f.base) or at_least_exponential(f.base)
    return False


def at_least_exponential(f: Expr) -> bool:
    """Whether f >= exp(-C (1 + the sizes of all tokens))."""
    return _at_least(f, lambda exponent: at_most_linear(exponent) or is_nonnegative(_random_part(exponent)))


def is_away_from_zero(f: Expr) -> bool:
    """Whether f >= c at all tokens, for some c > 0."""
    return _at_least(f, lambda exponent: is_nonnegative(_random_part(exponent)))


def _at_least(f: Expr, enough: Callable[[Expr], bool]) -> bool:
    """Whether f has a lower bound of a kind that is closed under products and powers, as exp(u) has for ``enough`` of u."""
    if not is_random(f):
        return bool(f.is_positive)
    if isinstance(f, exp):
        return enough(f.args[0])
    if isinstance(f, Add):
        return all(map(is_nonnegative, f.args)) and any(_at_least(arg, enough) for arg in f.args)
    if isinstance(f, Mul):
        return all(_at_least(arg, enough) for arg in f.args)
    if isinstance(f, Max):
        return any(_at_least(arg, enough) for arg in f.args)
    if isinstance(f, Sum):
        return holds_a_term(f) and is_nonnegative(f.function) and _at_least(f.function, enough)
    if isinstance(f, Pow):
        return bool(f.exp.is_nonnegative) and not is_random(f.exp) and _at_least(f.base, enough)
    if isinstance(f, log):
        return _at_least(f.args[0] - 1, enough)  # log(1 + u) >= u/(1 + u)
    return isinstance(f, cosh)


def _random_part(f: Expr) -> Expr:
    return Add(*(term for term in Add.make_args(f) if is_random(term)))


def at_most_linear(f: Expr) -> bool:
    """Whether |f| <= C (1 + the sizes of all tokens)."""
    if not is_random(f) or isinstance(f, (Indexed, *BOUNDED)) or f == x:
        return True
    if isinstance(f, (Add, Abs, Max, Min)):
        return all(at_most_linear(arg) for arg in f.args)
    if isinstance(f, Mul):
        return sum(is_random(arg) and not isinstance(arg, BOUNDED) for arg in f.args) <= 1 and all(
            at_most_linear(arg) for arg in f.args
        )
    if isinstance(f, Sum):
        return at_most_linear(f.function)
    return isinstance(f, log) and at_most_exponential(f)  # which asks for both bounds of its argument


def is_random(f: Expr) -> bool:
    """Whether a formula depends on tokens, values, noise or the argument of a kernel."""
    return bool(f.free_symbols & RANDOM)
