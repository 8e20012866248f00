"""The Bayes risk for a signal too strong for quadrature: the expansion that the rules derive, with their bound of its
remainder.

Source: ``theory.asymptotics``; the remainder is the one that the rules of each chain prove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import mpmath
from sympy import Add, Expr, Sum, Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.expectation import LengthExpectation, SequenceExpectation
from symslr.expression.quantity import conditioned
from symslr.expression.value import Kind, Value
from symslr.model.exact import exact
from symslr.model.exponential import exponential_slope
from symslr.model.length_law import LengthLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, x

STRONG = {False: 100, True: 300}
"""Slope of the posterior kernel from which on the expansion is used, for a shifted (False) and a selected (True) relevant
token.

At the first, nu = 10^4 of spiked-SLR, quadrature takes 0.7 s; it ends at nu = 10^6. At the second, nu of max-SLR, it takes 6 s,
and ends at 10^3."""

ORDERS = {False: (4, 8, 16), True: (3, 5, 7, 9)}
"""Orders tried in turn: SymPy takes 0.5 s for the first and some seconds for the last."""

METHOD = "strong-signal expansion of order {order}, its remainder bounded by the rules that derive it"

FEW = 2
"""Digits of the remainder."""

MOST_BITS = 10**15
"""Numbers with a larger binary exponent are refused: mpmath runs out of memory when it prints their decimal exponent."""

Compute = Callable[[Expr, int], Value]
"""A function from an expression without sequences, and digits, to its value."""


def is_strong(expr: Expr, values: Mapping[Symbol, Any]) -> bool:
    """Whether an expression is a Bayes risk, at a signal from which on the expansion is used."""
    shape = _risk(expr)
    if shape is None:
        return False
    size = shape[3].subs({s: exact(v) for s, v in values.items() if s in shape[3].free_symbols})
    return bool(size.is_number and size.is_finite and abs(size) >= STRONG[shape[1].is_selection])


def by_expansion(expr: Expr, values: Mapping[Symbol, Any], digits: int, compute: Compute) -> Value | None:
    """The Bayes risk from its strong-signal expansion, of the order that the digits need; None where there is none.

    The value may have fewer digits than are asked for.
    """
    shape = _risk(expr)
    if shape is None:
        return None
    noise_square, law, length, _ = shape
    best: Value | None = None
    for order in ORDERS[law.is_selection]:
        found = _expanded(noise_square, law, length, order, digits, compute, order == ORDERS[law.is_selection][-1])
        if found is None:
            break
        best = found if best is None or found.error < best.error else best
        if best.digits >= digits:
            break
    return best


def _expanded(
    square: Expr, law: SequenceLaw, length: Any, order: int, digits: int, compute: Compute, is_last: bool
) -> Value | None:
    """The expansion to one order, with its remainder in the error; to few digits where the next order has a smaller one.

    None where the rules or the evaluators do not reach it.

    Raises:
        CannotEvaluate: for a number too small to be written down.
    """
    from symslr.algebra.rule import RuleRefused
    from symslr.algebra.rules import TransformMoments
    from symslr.evaluation.certified.backend import correct_digits
    from symslr.theory.asymptotics import FREQUENCY, sech_transform, selected_error, shifted_error

    try:
        chain = (selected_error if law.is_selection else shifted_error)(law, order)
        bound = chain.remainder
        if not law.is_selection:
            bound = TransformMoments(sech_transform(1), FREQUENCY).rewrite(bound)
        remainder = compute(_over(bound, length), FEW)
        result = _over(square + chain.result, length)
        found = compute(result, FEW)
        if digits > FEW and (is_last or abs(remainder.value) < abs(found.value) * mpmath.mpf(10) ** -digits):
            found = compute(result, digits)
    except (RuleRefused, CannotEvaluate):
        return None
    error = found.error + abs(remainder.value) + remainder.error
    kind = found.kind if remainder.kind == found.kind else Kind.ESTIMATED
    smallest = min((mpmath.mag(number) for number in (found.value, error) if number), default=0)
    if -smallest > MOST_BITS:
        raise CannotEvaluate(
            f"the number is below 2**-{MOST_BITS:.0e}, which no digits can name; ask for a weaker signal"
        )
    known = correct_digits(found.value, error) if error else 99
    return replace(found, error=error, kind=kind, digits=known, method=METHOD.format(order=order))


@lru_cache(maxsize=512)
def _risk(expr: Expr) -> tuple[Expr, SequenceLaw, Any, Expr] | None:
    """(Delta^2, law, law of the length or None, slope of the posterior) of a Bayes risk Delta^2 + E_g[1 - p_eps].

    None where it is none, or its posterior no exponential.
    """
    expr, length = conditioned(expr), None
    if isinstance(expr, LengthExpectation):
        expr, length = expr.args
    nodes = expr.atoms(SequenceExpectation)
    if len(nodes) != 1:
        return None
    (node,) = nodes
    from symslr.theory.asymptotics import error

    square = Add(expr, -node)
    if node != error(node.law) or square.has(SequenceExpectation):
        return None
    law = _of_any_length(node.law)
    slope = exponential_slope(law)
    return (
        None
        if slope is None
        else (square, law, length if law == node.law else LengthLaw({int(node.law.length): 1}), slope)
    )


def _of_any_length(law: SequenceLaw) -> SequenceLaw:
    """A law of a fixed number of tokens as a law of L tokens, where the rules need that; others unchanged.

    The rules expand a selection among L tokens far more quickly, and leave out the weights of third tokens, which vanish for
    two.
    """
    kernel = law.posterior_kernel
    if kernel is None or not (law.length.is_Integer if law.is_selection else law.length == 2):
        return law
    weight = law.weight
    if law.is_selection:
        weight = L * kernel.subs(x, chi[epsilon]) / Sum(kernel.subs(x, chi[l]), (l, 1, L))
    opened = SequenceLaw(weight, L, law.base)
    return opened if opened.subs(L, law.length) == law else law


def _over(expr: Expr, length: Any) -> Expr:
    return expr if length is None else LengthExpectation(expr, length)
