"""A rule: one named idea that rewrites an expression into an equal one, or refuses and says why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from sympy import Expr, S

from symslr.algebra.hypothesis import Hypothesis


class RuleRefused(ValueError):
    """A rule's conditions fail on the expression it was applied to; the message says which and why."""


class Rule(ABC):
    """Abstract rule. A concrete rule is a small final class with the class attributes below and ``rewrite``.

    Attributes:
        name: how the rule is called in a derivation.
        statement: its mathematical statement, LaTeX without dollar signs.
        conditions: when it holds, LaTeX text (mathematics between dollar signs).
        source: where the statement comes from, a key of the bibliography or a name; empty for textbook algebra.
        relation: "=" where the line before equals the line after, "<=" where it is at most that (see ``Bound``).
    """

    name: ClassVar[str]
    statement: ClassVar[str]
    conditions: ClassVar[str] = ""
    source: ClassVar[str] = ""
    relation: ClassVar[str] = "="

    @abstractmethod
    def rewrite(self, expr: Expr) -> Expr:
        """The expression equal to ``expr`` that the rule makes of it.

        Raises:
            RuleRefused: when a condition of the rule fails.
        """

    def remainder(self, expr: Expr) -> Expr:
        """A bound on |expr - rewrite(expr)|: zero for the exact rules; see ``Truncation`` for the others."""
        return S.Zero

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """What ``rewrite`` assumed of ``expr`` and could not decide: they travel with the result.

        A condition that the rule can decide is no hypothesis: it holds, or the rule refuses.
        """
        return ()

    def assuming(self, expr: Expr) -> tuple[Expr, tuple[Hypothesis, ...]]:
        """``rewrite(expr)`` and ``hypotheses(expr)``, none where nothing changes; a rule that finds both at once gives both.

        Raises:
            RuleRefused: when a condition of the rule fails.
        """
        after = self.rewrite(expr)
        return after, () if after == expr else tuple(self.hypotheses(expr))

    def match(self, expr: Expr) -> bool:
        """Whether the rule applies to ``expr`` and changes it."""
        try:
            return self.rewrite(expr) != expr
        except RuleRefused:
            return False

    def refuse(self, reason: str) -> RuleRefused:
        """The refusal to raise, with the rule's name before the reason."""
        return RuleRefused(f"{self.name}: {reason}")
