"""The order of terms and factors in print: numerator, denominator, what follows the fraction, what comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import (
    Add,
    Derivative,
    Expr,
    Function,
    Indexed,
    Integer,
    Integral,
    Max,
    Mul,
    Piecewise,
    Pow,
    Product,
    S,
    Sum,
    Symbol,
    pi,
    preorder_traversal,
    sqrt,
)
from sympy import exp as exp_
from sympy.logic.boolalg import Boolean

from symslr.expression.at import At
from symslr.expression.expectation import Expectation
from symslr.expression.folded import FOLDED, Minimum
from symslr.expression.joint import JointMinimum
from symslr.expression.quantity import Quantity
from symslr.model.symbols import nu

LARGE = (Expectation, Integral, JointMinimum, Minimum, Product, Quantity, Sum)
"""Nodes that a reader looks for: they stand after the plain factors and the plain terms."""

RUNS_ON = (Derivative, Integral, JointMinimum, Minimum, Product, Sum)
"""Nodes whose print has no closing bracket: what follows would seem to belong to them."""


@dataclass(frozen=True)
class Fraction:
    """A product as it is read: sign, numerator over denominator, and the factors after the bar."""

    negative: bool
    numerator: tuple[Expr, ...]
    denominator: tuple[Expr, ...]
    tail: tuple[Expr, ...]


def masked(expr: Expr) -> tuple[Expr, dict[Expr, Expr]]:
    """``expr`` with its outermost large nodes as symbols, and the way back.

    SymPy sorts terms and factors by their numerical values where these are constant, and would integrate for that; slopes are
    masked whole, as that of a symbol would be 0.
    """
    walk = preorder_traversal(expr)
    found: dict[Expr, Expr] = {}
    for node in walk:
        if isinstance(node, (At, Derivative, *LARGE)):
            # A tilde sorts after every letter.
            found.setdefault(node, Symbol(f"~{len(found):03d}"))
            walk.skip()
    return expr.xreplace(found), {symbol: node for node, symbol in found.items()}


def is_negative(term: Expr) -> bool:
    """Whether a term is printed with a minus sign in front."""
    return sum(factor.is_Number and bool(factor.is_negative) for factor in Mul.make_args(term)) % 2 == 1


def terms(expr: Expr, ordered: Sequence[Expr]) -> list[Expr]:
    """The terms of a sum: polynomials, quotients, functions, large ones, each by how fast it falls with the signal strength;
    a positive one in front where there is one.
    """
    arranged = sorted(
        ordered, key=lambda term: (term.has(*LARGE), term.has(Function), _is_quotient(term), falling(term))
    )
    if is_negative(arranged[0]):
        positive = next((term for term in arranged if not is_negative(term)), None)
        if positive is not None:
            arranged.remove(positive)
            arranged.insert(0, positive)
    return arranged


def indicator(expr: Piecewise) -> tuple[Expr, Boolean] | None:
    """(value, condition) of a function that is ``value`` where the condition holds and 0 elsewhere; None for others."""
    if len(expr.args) == 2 and expr.args[1] == (0, True):
        return expr.args[0]
    return None


def falling(term: Expr) -> Expr:
    """The power with which a term falls with the signal strength: an expansion begins with its leading term."""
    return (
        max(-Mul(*(f for f in Mul.make_args(term) if f.as_base_exp()[0] == nu)).as_base_exp()[1], 0)
        if term.has(nu)
        else S.Zero
    )


def order(bound: Expr) -> Expr:
    """nu^-p e^{-q nu}, the order of a bound at large nu, from the slowest of its terms; of one without nu all but its numbers."""
    if not bound.has(nu):
        return Mul(*(factor for factor in Mul.make_args(bound) if not factor.is_number))
    rate, power = _rates(bound)
    return nu**power * exp_(rate * nu)


def _rates(expr: Expr) -> tuple[Expr, Expr]:
    """(q, p) where an expression is of the order e^{q nu} nu^p."""
    base, power = expr.as_base_exp()
    if not expr.has(nu) or expr == nu:
        return S.Zero, S.One if expr == nu else S.Zero
    if isinstance(expr, exp_):
        return expr.exp.expand().coeff(nu), S.Zero
    if isinstance(expr, Mul):
        rates = list(map(_rates, expr.args))
        return Add(*(rate for rate, _ in rates)), Add(*(own for _, own in rates))
    if power != 1:
        return tuple(part * power for part in _rates(base))
    return max(map(_rates, expr.args))


def _is_quotient(term: Expr) -> bool:
    return any(is_negative(f.as_base_exp()[1]) and bool(f.free_symbols) for f in Mul.make_args(term))


def fraction(expr: Expr) -> Fraction:
    """``expr``, a product or a power, split for print."""
    number, factors = _constant(expr)
    above, below = [], []
    for factor in factors:
        base, power = factor.as_base_exp()
        if is_negative(power) and base != S.Exp1:
            below.append(Pow(base, -power))
        else:
            above.append(factor)
    over, under = _number_parts(abs(number))
    below.sort(key=lambda factor: factor.has(*LARGE))
    tail = (
        []
        if any(factor.has(*LARGE) for factor in below)
        else [f for f in above if isinstance(f.as_base_exp()[0], LARGE)]
    )
    tail.sort(key=lambda factor: isinstance(factor, RUNS_ON))
    above = sorted((factor for factor in above if factor not in tail), key=_place)
    below = [*under, *below]
    if below and not tail:
        exponentials = [factor for factor in above if isinstance(factor, exp_)]
        rest = [factor for factor in above if factor not in exponentials]
        if (rest or over) and not any(factor.has(*LARGE) for factor in below):
            above, tail = rest, exponentials
    return Fraction(bool(number.is_negative), (*over, *above), tuple(below), tuple(tail))


def _place(factor: Expr) -> int:
    """Parameters first, then probabilities and attentions, then what they multiply."""
    base = factor.as_base_exp()[0]
    if isinstance(factor, exp_) and factor.has(*LARGE):
        return 3
    return 0 if not factor.has(Indexed, *FOLDED, Function, Add) else 1 if isinstance(base, FOLDED) else 2


def _constant(expr: Expr) -> tuple[Expr, list[Expr]]:
    """The numerical factor of a product (rationals, square roots of positive integers and of pi) and the others."""
    constant: list[Expr] = []
    others: list[Expr] = []
    plain, back = masked(expr)
    for masked_factor in plain.as_ordered_factors() if plain.is_Mul else (plain,):
        factor = masked_factor.xreplace(back)
        base, power = factor.as_base_exp()
        radical = power.is_Rational and power.q == 2 and (base == pi or (base.is_Integer and base.is_positive))
        (constant if factor.is_Rational or radical else others).append(factor)
    return Mul(*constant), others


def _number_parts(number: Expr) -> tuple[list[Expr], list[Expr]]:
    """Factors above and below the bar of a positive number, one root each: sqrt(2)/(2 sqrt(pi)) is 1/sqrt(2 pi)."""
    if number.is_Integer:
        return ([number] if number != 1 else []), []
    square = Mul(*(Pow(base, 2 * power) for base, power in (f.as_base_exp() for f in Mul.make_args(number))))
    rational, powers_of_pi = square.as_coeff_Mul()
    power = powers_of_pi.as_base_exp()[1] if powers_of_pi != 1 else S.Zero
    return _root(Integer(rational.p), Max(power, 0)), _root(Integer(rational.q), Max(-power, 0))


def _root(square: Expr, power: Expr) -> list[Expr]:
    """The factors of sqrt(square * pi^power): a whole number, a power of pi, and one root of what is left."""
    whole, left = sqrt(square).as_coeff_Mul()
    inside = [factor for factor in (left**2, pi if power % 2 else S.One) if factor != 1]
    root = (
        [Pow(Mul(*inside, evaluate=False) if len(inside) > 1 else inside[0], S.Half, evaluate=False)] if inside else []
    )
    return [factor for factor in (whole, pi ** ((power - power % 2) / 2)) if factor != 1] + root


def needs_brackets(factor: Expr, last: bool) -> bool:
    """Whether a factor of a product is bracketed: sums always, nodes that run on unless they come last."""
    while isinstance(factor, Mul) and len(others := [arg for arg in factor.args if arg != 1]) == 1:
        factor = others[0]  # a product with 1 that is held prints as what it holds
    return isinstance(factor, Add) or (isinstance(factor, RUNS_ON) and not last) or is_negative(factor)
