"""Every expectation over sequences as integrals of one-token expectations: any length at the cost of a double integral.

The evaluators call this on what they are given; a derivation applies the same rules one by one.
Source: symslr's own derivation (derivations/30_laplace_reduction.py), checked there step by step.
"""

from __future__ import annotations

from sympy import Add, Expr, Integral, S

from symslr.algebra.rules.gaussian.parity import Parity
from symslr.algebra.rules.laplace.representation import LaplaceRepresentation
from symslr.algebra.rules.measure.change_of_measure import ChangeOfMeasure
from symslr.algebra.rules.measure.independence import Independence
from symslr.algebra.rules.symmetry.exchangeability import Exchangeability
from symslr.algebra.rules.symmetry.largest import ConditionOnMaximum
from symslr.expression.expectation import Expectation, SequenceExpectation, rewrite_expectations

RULES = (
    ChangeOfMeasure(),
    Exchangeability(),
    LaplaceRepresentation(),
    ConditionOnMaximum(),
    Independence(),
    Parity(),
)


def reduce(expr: Expr) -> Expr:
    """``expr`` with every sequence expectation reduced to Laplace integrals of scalar expectations.

    Raises:
        RuleRefused: when a weight or an activation is no ratio of token functions to powers of sums over tokens.
    """
    return rewrite_expectations(expr, _reduce_one, SequenceExpectation)


def _reduce_one(node: SequenceExpectation) -> Expr:
    result: Expr = node
    for rule in RULES:
        result = rule.rewrite(result)
    return merged_integrals(result)


def merged_integrals(expr: Expr) -> Expr:
    """A sum of Laplace integrals over the same variables as one integral of a sum, so that tables are shared."""
    rest: list[Expr] = []
    by_limits: dict[tuple, list[Expr]] = {}
    for term in Add.make_args(expr):
        coefficient, integral = _as_integral(term)
        if integral is None:
            rest.append(term)
        else:
            by_limits.setdefault(integral.limits, []).append(coefficient * integral.function)
    return Add(*rest, *(Integral(Add(*bodies), *limits) for limits, bodies in by_limits.items()))


def _as_integral(term: Expr) -> tuple[Expr, Integral | None]:
    if isinstance(term, Integral):
        return S.One, term
    if term.is_Mul:
        integrals = [factor for factor in term.args if isinstance(factor, Integral)]
        rest = term.func(*(factor for factor in term.args if not isinstance(factor, Integral)))
        if len(integrals) == 1 and not rest.has(Expectation):
            return rest, integrals[0]
    return term, None
