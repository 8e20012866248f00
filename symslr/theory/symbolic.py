"""The formula of a quantity as far as the rules derive it, and its exact value where no integral is left."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from sympy import Expr, Function, Integral, S, Sum, erf, exp, factor_terms, log, radsimp

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import Minimise
from symslr.algebra.tokens import unfolded
from symslr.expression.expectation import Expectation, LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.expression.quantity import Quantity
from symslr.model.attention import Attention
from symslr.model.symbols import a, x
from symslr.model.task import Task
from symslr.theory.bayes import bayes_chain, bayes_risk
from symslr.theory.closed_form import in_closed_form
from symslr.theory.definitions import over_length
from symslr.theory.population import (
    least_chain,
    minimal_risk,
    population_chain,
    population_risk,
)

ELEMENTARY = (exp, log, erf)
"""The functions that an exact value may hold."""

FURTHEST = 1e4
"""An exponent beyond which a number is not shortened: SymPy looks for the exponential of the number itself."""

LONGEST = 60
"""Operations in an exact value; a longer one is read as a number."""


@dataclass(frozen=True)
class Formula:
    """A quantity's formula.

    Attributes:
        chain: from the quantity to the formula.
        expr: the formula, averaged over a random length.
        place: the best scale of the key, where it is derived.
    """

    chain: Derivation
    expr: Expr
    place: Expr | None = None

    @property
    def rules(self) -> str:
        """The names of the rules that made it, in order, each once."""
        return ", ".join(dict.fromkeys(step.rule.name for step in self.chain.steps))

    def exact(self, values: Mapping[Expr, Expr]) -> Expr | None:
        """The number at these values without an integral, shortened; None where there is none or it is long."""
        return exact_value(self.expr, values)

    def exact_place(self, values: Mapping[Expr, Expr]) -> Expr | None:
        """The best scale at these values, as ``exact``."""
        return None if self.place is None else exact_value(self.place, values)


def bayes_formula(task: Task) -> Formula:
    """The formula of the Bayes risk: from E_g (y - E[y|X])^2 as far as the rules carry it."""
    return formula_of_bayes(bayes_risk(task))


def formula_of_bayes(risk: Expr) -> Formula:
    """The formula of a Bayes risk, which may be averaged over a random length."""
    mean = risk if isinstance(risk, LengthExpectation) else None
    chain = closed(bayes_chain(*(risk if mean is None else mean.body).args))
    return Formula(chain, chain.result if mean is None else over_length(chain.result, mean.law))


def risk_formula(task: Task, attention: Attention, scale: Expr = a) -> Formula:
    """The formula of the risk of an attention at a scale of the key and at its best value vector."""
    chain = closed(population_chain(population_risk(task, attention, scale)))
    return Formula(chain, chain.result)


def closed(chain: Derivation) -> Derivation:
    """The chain to the closed form; where an expectation is left the chain as it was, which is shorter to read."""
    further = in_closed_form(chain)
    return chain if further.result.has(SequenceExpectation, ScalarExpectation) else further


def least_formula(task: Task, attention: Attention) -> Formula:
    """The formula of the least risk over the scale: by stationarity where rules find the minimum, else the minimum itself."""
    quantity = minimal_risk(task, attention)
    chain = population_chain(quantity.risk)
    with suppress(RuleRefused):
        found = least_chain(quantity)
        (last,) = found.steps[-1].before.atoms(Minimum)
        place, _ = Minimise().lowest(last)
        return Formula(found, found.result, place)
    lowest = chain.result
    for variable in reversed(quantity.variables):
        lowest = Minimum(lowest, variable)
    return Formula(chain, lowest)


def infimum(task: Task, attention: Attention, place: Expr) -> Expr:
    """The risk at a best scale; where that is 0 and the kernel vanishes there, what it tends to: that of the leading term."""
    if place == 0 and attention.kernel.subs(x, 0) == 0:
        attention, place = replace(attention, kernel=attention.kernel.as_leading_term(x)), S.One
    return population_risk(task, attention, place)


def exact_value(expr: Expr, values: Mapping[Expr, Expr]) -> Expr | None:
    """A number made of rational numbers, roots, exp, log and erf; None where something else is left or it is long."""
    found = expr.subs(dict(values))
    found = found.replace(lambda node: isinstance(node, LengthExpectation), lambda node: node.doit())
    found = found.replace(lambda node: isinstance(node, SequenceExpectation), _of_a_constant)
    found = found.replace(lambda node: isinstance(node, Sum), _of_equal_terms)
    if found.free_symbols or found.has(Expectation, Integral, Minimum, Quantity, Sum) or not found.is_finite:
        return None
    if not all(isinstance(node, ELEMENTARY) for node in found.atoms(Function)):
        return None
    is_far = any(abs(node.exp.n(2)) > FURTHEST for node in found.atoms(exp))
    shortest: Expr = min((found, factor_terms(found if is_far else radsimp(found))), key=lambda form: form.count_ops())
    return shortest if shortest.count_ops() <= LONGEST else None


def _of_a_constant(node: SequenceExpectation) -> Expr:
    """The mean of what is the same for all tokens, as a posterior is at no signal; the node as it was elsewhere."""
    body = unfolded(node.body, node.law.length).replace(lambda part: isinstance(part, Sum), _of_equal_terms)
    return body if body.is_number else node


def _of_equal_terms(node: Sum) -> Expr:
    """The sum where its terms do not depend on the index; the node as it was elsewhere, which may have a million terms."""
    index, low, high = node.limits[0]
    return node if len(node.limits) > 1 or node.function.has(index) else node.function * (high - low + 1)
