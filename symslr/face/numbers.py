"""A formula as a number at values of its parameters, as a curve over grids of them, and as SymPy's own integrals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sympy import Derivative, Expr, Integral, erf, oo, powsimp, sqrt

from symslr.algebra.equal_forms import EqualForms
from symslr.algebra.rule import RuleRefused
from symslr.evaluation.engine import evaluate, symbols_of
from symslr.evaluation.location.bayes import value_of_bayes
from symslr.evaluation.location.risk import risk_value
from symslr.evaluation.location.samples.points import SECONDS
from symslr.evaluation.minima.at_infinity import limit_of_large_scales
from symslr.evaluation.plan import canonical, with_derivatives
from symslr.expression.expectation import Expectation, LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.expression.special import NormalCdf
from symslr.expression.value import Value
from symslr.model.catalogue import MaxSLR
from symslr.model.exact import exact
from symslr.model.exponential import exponential_slope
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, nu, x
from symslr.theory.asymptotics import shifted_error
from symslr.theory.bayes import BayesRisk
from symslr.theory.population import PopulationRisk


@dataclass(frozen=True)
class Wanted:
    """How a number is wanted.

    Attributes:
        digits: significant ones; None for those that the route to the number gives.
        certified: whether its error has to be proved.
        seconds: processor time after which sampling stops, where nothing else gives the number.
    """

    digits: int | None = None
    certified: bool = False
    seconds: float = SECONDS

    @property
    def backend(self) -> str | None:
        """That of ``evaluate``."""
        return "arb" if self.certified else None


def value_of(expr: Expr, given: dict[str, Any], wanted: Wanted, heard: Collection[str] = ()) -> Value:
    """The value at parameters by name; risks by the functions of every kind of task.

    Args:
        heard: names that may have a value without being in the formula, as a derivative may have lost them.

    Raises:
        CannotEvaluate, ValueError: as ``evaluate``.
    """
    if heard:
        names = {str(symbol) for symbol in symbols_of(with_derivatives(expr))[1]}
        given = {name: one for name, one in given.items() if name in names or name not in heard}
    own = [one for one in given.values() if hasattr(one, "__len__") and not isinstance(one, str)]
    how = wanted.digits, wanted.backend
    if own:  # arrays, laws of the length
        return evaluate(expr, given, *how)
    if isinstance(expr.body if isinstance(expr, LengthExpectation) else expr, BayesRisk):
        return value_of_bayes(expr, given, *how)
    if isinstance(expr, PopulationRisk):
        scale = expr.args[0].args[4]
        return risk_value(expr.task, expr.attention, scale, given, wanted.digits, wanted.seconds, wanted.backend)
    return evaluate(expr, given, *how)


def series(expr: Expr, name: str, point: object, order: int) -> Expr:
    """See ``Quantity.series``."""
    law = expr.args[0] if isinstance(expr, BayesRisk) else None
    if law is None or name != "nu" or exact(point, "series") != oo or not _grows_steeper(law):
        raise ValueError(
            f"series: no rule expands {expr} in {name} at {point}; expected the Bayes risk of a weight that is an "
            "exponential of the relevant token, in nu at oo"
        )
    try:
        return expr.args[1] ** 2 + shifted_error(law, order).result
    except RuleRefused as reason:
        raise ValueError(f"series: {reason}") from None


def _grows_steeper(law: SequenceLaw) -> bool:
    """Whether a weight is an exponential of the relevant token whose slope grows without bound with nu."""
    slope = None if law.is_selection else exponential_slope(law)
    return slope is not None and nu in slope.free_symbols and bool(slope.subs(nu, oo) == oo)


def limit(expr: Expr, name: str, point: object) -> Expr:
    """See ``Quantity.limit``."""
    at = exact(point, "limit")
    found: Expr | None = None
    if name == "a" and at in (oo, -oo) and isinstance(expr, PopulationRisk) and expr.args[0].args[4] == a:
        found = limit_of_large_scales(expr, 1 if at == oo else -1)
    elif name == "nu" and at == oo and isinstance(expr, BayesRisk | PopulationRisk):
        (law,) = (own for own in expr.args if isinstance(own, SequenceLaw))
        if nu in law.free_symbols and law == MaxSLR().law.subs(L, law.length):
            found = expr.xreplace({law: MaxSLR(oo).law.subs(L, law.length)})
        elif isinstance(expr, BayesRisk) and _grows_steeper(law):
            found = expr.noise**2
    if found is None:
        raise ValueError(
            f"limit: no rule gives that of {expr} as {name} goes to {at}; expected a risk as a goes to oo or -oo, or a risk of "
            "max-SLR or a Bayes risk of spiked-SLR as nu goes to oo"
        )
    return found


def as_integral(expr: Expr) -> Expr:
    """The reduced formula in SymPy's own functions and ``Integral`` alone, as its other printers and ``lambdify`` take it.

    Raises:
        ValueError: where it is not reduced to integrals over single tokens.
    """
    found = canonical(expr).doit(deep=False) if isinstance(expr, Derivative) else canonical(expr)
    while found.has(EqualForms):
        found = found.replace(lambda node: isinstance(node, EqualForms), lambda node: node.args[0])
    found = found.replace(lambda node: isinstance(node, LengthExpectation), lambda node: node.doit())
    if found.has(Minimum):
        raise ValueError("as_integral: found a least value; expected a risk at a scale, or a Bayes risk")
    if found.has(SequenceExpectation):
        raise ValueError(
            "as_integral: found a mean over whole sequences; expected a formula that reduces to single tokens"
        )
    found = found.replace(lambda node: isinstance(node, ScalarExpectation), _integral)
    if found.has(Expectation):
        raise ValueError("as_integral: found a mean that stays open; expected a formula that reduces to single tokens")
    return found.replace(lambda node: isinstance(node, NormalCdf), lambda node: (1 + erf(node.args[0] / sqrt(2))) / 2)


def _integral(mean: Any) -> Expr:
    """Exponentials are one, which underflows where its factors, alone, are infinity times 0."""
    law = mean.law
    integrand = powsimp(mean.body * law.density.xreplace({x: mean.variable}), combine="exp", deep=True)
    return Integral(integrand, (mean.variable, law.lower, law.upper))
