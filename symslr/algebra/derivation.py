"""A derivation is a chain of applied rules: every right-hand side is what the engine produced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sympy import Expr, S, latex

from symslr.algebra.rule import Rule, RuleRefused
from symslr.model.exact import exact


@dataclass(frozen=True)
class Step:
    """``before`` = ``after`` by ``rule``, up to ``remainder`` where the rule truncates; ``note`` is for the reader."""

    before: Expr
    after: Expr
    rule: Rule
    note: str = ""
    remainder: Expr = S.Zero


@dataclass(frozen=True)
class Claim:
    """A published formula, typed in once: what the end of a chain is compared with.

    Attributes:
        formula: the published expression.
        source: bibliography key and place, such as ``"duranthon2025, Prop. 4.1"``.
        quoted: True where only a summary of the source was available; the comparison then may say "differs" without
            being an error of the derivation.
    """

    formula: Expr
    source: str
    quoted: bool = False


@dataclass(frozen=True, repr=False)
class Derivation:
    """``Derivation(start).apply(rule).apply(rule)...``, an immutable chain.

    Args:
        start: the first expression, a definition.
        title: what is derived, a sentence.
        name: the short name used on the command line.
        symbol: LaTeX of the quantity that the chain computes, put before the first equals sign.
        ranges: admissible values for the random points of a check, symbol -> (low, high) or a tuple of choices given as
            ``[..]``; symbols that are not named take the house's defaults for their assumptions.
        sources: bibliography keys and places on which the definition rests.
        introduction: what a reader should know first; text with mathematics between dollar signs.
        chapter: heading under which a report shows it; the title of its file where it has none of its own.

    Raises:
        ValueError: where a step does not begin with the line before it.
    """

    start: Expr
    title: str = ""
    name: str = ""
    symbol: str = ""
    ranges: Mapping[Expr, object] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    claims: tuple[Claim, ...] = ()
    introduction: str = ""
    chapter: str = ""

    def __post_init__(self) -> None:
        line = self.start
        for number, step in enumerate(self.steps, 1):
            if step.before != line:
                raise ValueError(
                    f"{self.name or 'derivation'}, step {number} ({step.rule.name}): begins with {step.before}; "
                    f"expected the line before it, {line}"
                )
            line = step.after

    @property
    def result(self) -> Expr:
        """The last expression of the chain."""
        return self.steps[-1].after if self.steps else self.start

    def apply(self, rule: Rule, note: str = "") -> Derivation:
        """The chain with one more step.

        Raises:
            RuleRefused: when the rule's conditions fail, or when it changes nothing.
        """
        after = rule.rewrite(self.result)
        if after == self.result:
            raise RuleRefused(f"{rule.name}: found nothing to rewrite in {self.result}")
        return replace(self, steps=(*self.steps, Step(self.result, after, rule, note, rule.remainder(self.result))))

    def claim(self, formula: Expr, source: str, *, quoted: bool = False) -> Derivation:
        """The chain with a published formula beside its result."""
        return replace(self, claims=(*self.claims, Claim(exact(formula, "claim"), source, quoted)))

    def __str__(self) -> str:
        heading = ": ".join(part for part in (self.name, self.title) if part)
        lines = [heading] if heading else []
        lines += [f"    {self.start}"]
        lines += [f"  = {step.after}    [{step.rule.name}]" for step in self.steps]
        lines += [f"  published: {claim.formula}    [{claim.source}]" for claim in self.claims]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        lines = [f"{latex(self.start)} &"]
        lines += [rf"={latex(step.after)} & \text{{[{step.rule.name}]}}" for step in self.steps]
        return r"$\displaystyle \begin{array}{ll} " + r" \\ ".join(lines) + r" \end{array}$"
