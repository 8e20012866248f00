"""Whether a formula is that of a quantity: the check of a claim, for one formula that is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sympy import Expr

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Unfold
from symslr.check.check import check_derivation
from symslr.check.points import symbols_of
from symslr.check.report import Comparison, Verdict
from symslr.expression.quantity import Quantity
from symslr.model.exact import exact
from symslr.model.text import parse_expression
from symslr.theory.symbolic import closed


class Answer(StrEnum):
    """What is said of a formula."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


ANSWERS = {Verdict.TRUE: Answer.AGREES, Verdict.FALSE: Answer.DIFFERS, Verdict.UNKNOWN: Answer.UNKNOWN}


@dataclass(frozen=True)
class Agreement:
    """What ``compare_with`` found of a formula; ``if agreement:`` is told where it is known.

    Attributes:
        answer: "agrees", "differs" or "unknown".
        proved: whether SymPy proves the formula equal to what rules derive; else it was compared at points, which proves nothing.
        comparisons: the referee's numbers of the quantity (``left``) and of the formula (``right``), point by point.
        reason: why it differs or is unknown.
    """

    answer: Answer
    proved: bool
    comparisons: tuple[Comparison, ...]
    reason: str

    def __bool__(self) -> bool:
        if self.answer is Answer.UNKNOWN:
            raise ValueError(f"compare_with: unknown: {self.reason}")
        return self.answer is Answer.AGREES

    def __repr__(self) -> str:
        told = [c for c in self.comparisons if c.effective]
        if self.answer is Answer.UNKNOWN:
            return f"unknown: {self.reason}"
        if self.answer is Answer.DIFFERS:
            return "\n".join(["differs", *map(_line, told)])
        many = f"{len(told)} point{'s' * (len(told) > 1)}"
        digits = min((c.digits for c in told), default=0)
        compared = f"compared at {many}, to {digits} digits or more" if told else ""
        if self.proved:
            words = ["proved equal to what rules derive, by SymPy", *filter(None, [compared])]
        else:
            words = [compared, "no proof"]
        return "\n".join([f"agrees: {'; '.join(words)}", *map(_line, told)])

    def as_json(self) -> dict[str, object]:
        """Numbers as decimal strings."""
        return {
            "answer": str(self.answer),
            "proved": self.proved,
            "reason": self.reason,
            "comparisons": [comparison.as_json() for comparison in self.comparisons],
        }


def _line(comparison: Comparison) -> str:
    said = comparison.as_json()
    place = f" at {comparison.point}" if comparison.point else ""
    return f"  {said['left']} and {said['right']}{place}"


def compare(expr: Expr, formula: Expr | str) -> Agreement:
    """See ``Quantity.compare_with``."""
    own = {symbol.name: symbol for symbol in symbols_of(Derivation(expr))}
    asked = parse_expression(formula, own, what="formula") if isinstance(formula, str) else exact(formula, "formula")
    if unknown := sorted(str(symbol) for symbol in asked.free_symbols.difference(own.values())):
        expected = f"no symbol but {', '.join(own)}, on which the quantity depends" if own else "a number"
        raise ValueError(f"formula: found {', '.join(unknown)}; expected {expected}")
    checked = check_derivation(_chain(expr).claim(asked, "formula"))
    found = checked.claims[-1]
    for step in checked.steps:
        if step.verdict is Verdict.FALSE:
            reason = f"what rules derive is false by {step.what}: {step.reason}"
            return Agreement(Answer.UNKNOWN, False, found.comparisons, reason)
    return Agreement(ANSWERS[found.verdict], found.symbolic is True, found.comparisons, found.reason)


def _chain(expr: Expr) -> Derivation:
    """From the quantity to what rules derive of it, in closed form where there is one; also inside a mean over lengths."""
    chain = Derivation(expr)
    for quantity in chain.quantities:
        chain = _derived(chain, quantity)
    return chain


def _derived(chain: Derivation, quantity: Quantity) -> Derivation:
    """The chain with what is derived in place of a quantity; of one of which nothing is, in place of those in its definition."""
    try:
        derived = closed(quantity.derivation())
    except ValueError:
        chain = chain.apply(Unfold(type(quantity)))
        for inner in sorted(quantity.definition().atoms(Quantity), key=str):
            chain = _derived(chain, inner)
        return chain
    return derived if quantity == chain.result else chain.apply(Cite(derived))
