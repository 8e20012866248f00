"""Use of a result: the first line of another derivation is replaced by its last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from sympy import Expr, Ge, Gt, Mul, S, Symbol, together
from sympy.core.function import AppliedUndef
from sympy.core.relational import GreaterThan, LessThan
from sympy.logic.boolalg import Boolean

from symslr.algebra.bound import raised
from symslr.algebra.derivation import Derivation
from symslr.algebra.existence import check_existence
from symslr.algebra.hypothesis import Hypothesis, of_configurations
from symslr.algebra.truncation import Truncation
from symslr.expression.configuration import is_density
from symslr.expression.instance import FIELDS, PAIR, instance, open_functions
from symslr.model.admissible import check_mean_one
from symslr.model.configuration import ConfigurationLaw
from symslr.model.exact import exact
from symslr.model.open_function import OpenFunction
from symslr.model.powers import factored
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import epsilon, x


@final
class Cite(Truncation):
    """Replace what another derivation starts from by its result, at given values of its parameters.

    The remainder and the hypotheses of the cited result come with it. That a weight is nonnegative with mean 1 is decided,
    once the theorem's open functions have formulas: it is no hypothesis then, or the citation is refused. A result that is an
    upper bound is one here, in expressions that grow with it.

    Args:
        theorem: the derivation that is used.
        values: parameter of the theorem -> value here; every other symbol keeps its meaning. That a formula is positive, as
            2 kappa log L in place of nu, is a hypothesis where it is not known. For a function that the theorem
            leaves open, ``OpenFunction.of("g", epsilon)`` -> its formula for the token epsilon, or ``Function("kappa")(x)`` ->
            its formula in x, ``Function("C")(l, m)`` -> its formula in l and m, or ``Function("d")(*FIELDS)`` -> in these.
    """

    statement = r"A = B \text{ as derived}"
    conditions = r"the hypotheses of the result that is cited"

    def __init__(self, theorem: Derivation, values: Mapping[Expr, Any] | None = None) -> None:
        self.theorem = theorem
        given = {symbol: exact(value, str(symbol)) for symbol, value in (values or {}).items()}
        open_ones = {node: value for node, value in given.items() if isinstance(node, (OpenFunction, AppliedUndef))}
        self.functions = {name: value for node, value in open_ones.items() for name in open_functions(node)}
        self.values = {symbol: value for symbol, value in given.items() if symbol not in open_ones}
        self._signs = tuple(sign for symbol, value in given.items() for sign in self._check_admissible(symbol, value))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The rule is called by the result that it uses."""
        return f"by {self.theorem.name or self.theorem.title or 'an unnamed result'}"

    @property
    def relation(self) -> str:  # type: ignore[override]
        """That of the result, save that a remainder is told apart."""
        return "<=" if self.theorem.relation == "<=" else "="

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        if term != self._here(self.theorem.start):
            return None
        return self._here(self.theorem.result), self._here(self.theorem.remainder)

    def rewrite(self, expr: Expr) -> Expr:
        """Anywhere in ``expr`` where the result is exact; where it has a remainder, in polynomials of it alone."""
        if self.relation == "<=":
            start, result = self._here(self.theorem.start), self._here(self.theorem.result)
            return raised(expr, lambda term: result if term == start else None, self.refuse)
        if self.theorem.remainder != S.Zero:
            return super().rewrite(expr)
        return expr.xreplace({self._here(self.theorem.start): self._here(self.theorem.result)})

    def remainder(self, expr: Expr) -> Expr:
        return S.Zero if self.theorem.remainder == S.Zero else super().remainder(expr)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        found: list[Hypothesis] = [Hypothesis.of(sign) for sign in self._signs]
        for hypothesis in self.theorem.hypotheses:
            if hypothesis.law is not None:
                found += self._weight(self._here(hypothesis.law))
                continue
            if hypothesis.means:
                found += check_existence([self._here(mean) for mean in hypothesis.means], self)
                continue
            if hypothesis.positive:
                found += Hypothesis.of_positive([self._here(mean) for mean in hypothesis.positive])
                continue
            condition = hypothesis.condition.subs(self.values) if self.values else hypothesis.condition
            if condition == S.false:
                raise self.refuse(f"its hypothesis {hypothesis.text} fails here")
            if condition == hypothesis.condition:
                found.append(hypothesis)
            elif condition != S.true and not _holds(condition):
                found.append(Hypothesis.of(condition))
        return tuple({hypothesis.text: hypothesis for hypothesis in found}.values())

    def _weight(self, law: SequenceLaw | ConfigurationLaw) -> tuple[Hypothesis, ...]:
        """What is left to assume of a weight: nothing where it has a formula that passes the check of a task."""
        if isinstance(law, ConfigurationLaw):
            if not open_functions(law.weight) and not is_density(law):
                raise self.refuse(f"its hypothesis on the weight is not known to hold of {law.weight}")
            return of_configurations(law)
        if open_functions(law.weight):
            return (Hypothesis.of_weight(law),)
        try:
            check_mean_one(law)
        except ValueError as reason:
            raise self.refuse(f"its hypothesis on the weight fails here: {reason}") from reason
        return ()

    def _here(self, expr: Any) -> Any:
        if self.values:
            expr = expr.subs(self.values, simultaneous=True)
        return instance(expr, self.functions)

    def _check_admissible(self, symbol: Expr, value: Expr) -> list[Boolean]:
        """What is left to assume of a value: the sign of a formula, where it is not known."""
        if isinstance(symbol, AppliedUndef) and symbol.args in ((x,), PAIR, FIELDS):
            if symbol.is_nonnegative and value.is_negative:
                raise self.refuse(f"{symbol} = {value} is negative")
            return []
        if isinstance(symbol, OpenFunction):
            if symbol.index not in (None, epsilon):
                raise self.refuse(f"found {symbol}; expected the open function at the token epsilon")
            if symbol.index is None and epsilon in value.free_symbols:
                raise self.refuse(f"{symbol} is symmetric in the tokens and {value} singles out epsilon")
            return []
        if not isinstance(symbol, Symbol):
            raise self.refuse(f"found {symbol}; expected a parameter of the result")
        facts = {fact: wanted for fact, wanted in symbol.assumptions0.items() if fact != "commutative"}
        unknown = [fact for fact, wanted in facts.items() if getattr(value, f"is_{fact}", None) is not wanted]
        if not unknown:
            return []
        unsigned = [part for part in Mul.make_args(value) if not part.is_positive]
        powers = [part for part in unsigned if part.is_Pow and part.base.is_nonnegative and part.exp.is_real]
        rest = Mul(*(part for part in unsigned if part not in powers))
        sign = Gt(rest, 0) if symbol.is_positive else Ge(rest, 0)
        told = Symbol("_", positive=True) if symbol.is_positive else Symbol("_", nonnegative=True)
        by_sign = symbol.is_nonnegative and all(told.assumptions0.get(fact) is facts[fact] for fact in unknown)
        if not by_sign or value.is_Symbol or sign == S.false:
            fact = unknown[0]
            raise self.refuse(f"{symbol} = {value} is not known to be {fact if facts[fact] else 'not ' + fact}")
        return [*(Gt(part.base, 0) for part in powers), *([] if sign == S.true else [sign])]


def _holds(condition: Boolean) -> bool:
    """Whether a relation between two formulas is seen to hold where their difference is brought together."""
    if not isinstance(condition, (GreaterThan, LessThan)):
        return False
    difference = factored(together(condition.gts - condition.lts))
    return bool(difference.is_nonnegative)
