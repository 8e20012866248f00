"""A derivation is a chain of applied rules: every line is what a rule made of the line before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sympy import Add, Basic, Expr, Integral, S, Symbol, latex
from sympy.core.function import AppliedUndef
from sympy.core.sorting import default_sort_key
from sympy.printing.str import StrPrinter

from symslr.algebra.hypothesis import Hypothesis, of_open_means, of_weights
from symslr.algebra.rule import Rule, RuleRefused
from symslr.expression.expectation import LengthExpectation
from symslr.expression.folded import Minimum
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import Quantity
from symslr.expression.sample import SampleExpectation
from symslr.model.exact import check_is, exact
from symslr.model.symbols import P_L


class AsciiPrinter(StrPrinter):
    """SymPy's, but for the order of a sum of integrals: by their form, and not by their values."""

    def _as_ordered_terms(self, expr: Expr, order: str | None = None) -> list[Expr]:
        if expr.has(Integral):
            return sorted(expr.args, key=default_sort_key)
        return super()._as_ordered_terms(expr, order=order)


def as_text(expr: Expr) -> str:
    """As ``str``; it leaves integrals alone, of which SymPy computes the values to bring a sum's terms in order."""
    return AsciiPrinter().doprint(expr)


@dataclass(frozen=True)
class Step:
    """``after`` is what ``rule`` made of ``before``; ``note`` is for the reader.

    Attributes:
        remainder: a bound on |before - after|, zero where the rule is exact.
        hypotheses: what the rule assumed and could not decide.
    """

    before: Expr
    after: Expr
    rule: Rule
    note: str = ""
    remainder: Expr = S.Zero
    hypotheses: tuple[Hypothesis, ...] = ()

    @classmethod
    def of(cls, rule: Rule, before: Expr, note: str = "") -> Step:
        """The step that a rule makes from a line.

        Raises:
            RuleRefused: when the rule's conditions fail, or when it changes nothing.
        """
        after, hypotheses = rule.assuming(before)
        if after == before:
            raise RuleRefused(f"{rule.name}: found nothing to rewrite in {before}")
        if any(hypothesis.condition == S.false for hypothesis in hypotheses):
            said = f" ({rule.conditions})" if rule.conditions else ""
            raise RuleRefused(f"{rule.name}: a condition of it never holds for {before}{said}")
        return cls(before, after, rule, note, rule.remainder(before), hypotheses)

    @property
    def relation(self) -> str:
        """``=``, ``~`` where the rule left something out, ``<=`` where the line after is an upper bound."""
        return self.rule.relation if self.remainder == S.Zero else "~"


@dataclass(frozen=True)
class Claim:
    """A formula of a source, typed in once: what the end of a chain is compared with.

    Attributes:
        formula: the expression.
        source: bibliography key and place, such as ``"duranthon2025, Prop. 4.1"``.
        label: where the formula was had from, one of ``LABELS``.
    """

    formula: Expr
    source: str
    label: str = "reconstructed"

    @property
    def quoted(self) -> bool:
        """Whether only a summary's words were available: the comparison may then say "differs" without an error here."""
        return self.label == "quoted"


LABELS = {
    "published": "the formula is the source's, as textbooks have it",
    "reconstructed": "the source names the statement and does not show its formula to us",
    "own": "ours",
    "quoted": "a summary's",
}
"""Where a claimed formula was had from."""


SYMBOLS: tuple[tuple[Callable[[Symbol], bool | None], str, str], ...] = (
    (lambda s: s.is_integer and s.is_positive, "$ a positive integer", "$ positive integers"),
    (lambda s: s.is_integer and s.is_nonnegative, "$ a nonnegative integer", "$ nonnegative integers"),
    (lambda s: s.is_positive, " > 0$", " > 0$"),
    (lambda s: s.is_nonnegative, r" \geq 0$", r" \geq 0$"),
    (lambda s: s.is_real, "$ real", "$ real"),
)
"""What is said of a symbol, and of several, behind their names; the first that fits."""


def _of_node(node: Expr) -> str:
    """What is assumed of a function that is left open, or of the place of a quantity."""
    if isinstance(node, Quantity):
        return node.domain
    name = r"\kappa" if isinstance(node, OpenKernel) else latex(node.func)
    if node.is_positive:
        return f"${name}$ a positive function"
    if node.is_nonnegative:
        return f"${name}$ a nonnegative function"
    return f"${name}$ a real function" if node.is_real else ""


def _of_law(law: Basic) -> str:
    """What is assumed of a law that is left open: that of the length, or of a sample."""
    return (
        r"$L\sim P_L$, on finitely many lengths"
        if law == P_L
        else "any law of a sample under which the means are finite"
    )


@dataclass(frozen=True, repr=False)
class Derivation:
    """``Derivation(start).apply(rule).apply(rule)...``, an immutable chain.

    A chain says: the first line equals the last one, up to ``remainder``, under ``hypotheses``. Lines are made by ``apply``
    alone, and a check makes them anew. What another chain showed is used by ``apply(Cite(other))``.

    Args:
        start: the first expression: a definition or a postulate (a ``Quantity``), or a formula in expectations, whose
            meaning is that of its nodes.
        title: what is derived, a sentence.
        name: the short name used on the command line.
        symbol: LaTeX of the quantity that the chain computes, put before the first equals sign.
        ranges: admissible values for the random points of a check, symbol -> (low, high) or a tuple of choices given as
            ``[..]``; symbols that are not named take the house's defaults for their assumptions.
        sources: bibliography keys and places on which the definition rests.
        introduction: what a reader should know first; text with mathematics between dollar signs.
        chapter: heading under which a report shows it; the title of its file where it has none of its own.
    """

    start: Expr
    title: str = ""
    name: str = ""
    symbol: str = ""
    ranges: Mapping[Expr, object] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    introduction: str = ""
    chapter: str = ""
    steps: tuple[Step, ...] = field(default=(), init=False)
    claims: tuple[Claim, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", exact(self.start, "start"))

    @property
    def result(self) -> Expr:
        """The last expression of the chain."""
        return self.steps[-1].after if self.steps else self.start

    @property
    def remainder(self) -> Expr:
        """A bound on |start - result|: the remainders of the steps added up."""
        return Add(*(step.remainder for step in self.steps))

    @property
    def relation(self) -> str:
        """How the first line stands to the result: ``=``, ``~`` where a step left something out, ``<=`` where one is a bound."""
        relations = {step.relation for step in self.steps} - {"="}
        return relations.pop() if relations else "="

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """What is assumed of the weights left open in the first line, then what the steps assumed, each once."""
        assumed = [hypothesis for step in self.steps for hypothesis in step.hypotheses]
        means = dict.fromkeys((*of_open_means(self.start), *(mean for each in assumed for mean in each.means)))
        exist = [Hypothesis.of_means(tuple(means))] if means else []
        others = (hypothesis for hypothesis in assumed if not hypothesis.means)
        return tuple(dict.fromkeys((*of_weights(self.start), *exist, *others)))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed of the symbols in the lines, in words: "$L$ a positive integer", "$\\nu, \\theta > 0$"."""
        lines = [self.start, *(line for step in self.steps for line in (step.after, step.remainder))]
        lines += [quantity.definition() for line in lines for quantity in sorted(line.atoms(Quantity), key=str)]
        means = (node for line in lines for node in line.atoms(LengthExpectation, SampleExpectation))
        laws = dict.fromkeys(node.law for node in sorted(means, key=str) if node.law.is_Symbol)
        bound = {node.variable for line in lines for node in line.atoms(Minimum)}
        free = {s for line in lines for s in line.free_symbols if s.is_Symbol}
        symbols = sorted((free | bound) - laws.keys(), key=str)
        told = []
        for fact, one, many in SYMBOLS:
            found = [symbol for symbol in symbols if fact(symbol)]
            symbols = [symbol for symbol in symbols if symbol not in found]
            if found:
                names = ", ".join(map(latex, found))
                told.append(f"${names}{many if len(found) > 1 else one}")
        nodes = [node for line in lines for node in line.atoms(OpenKernel, AppliedUndef, Quantity)]
        return (*told, *dict.fromkeys(filter(None, map(_of_node, sorted(nodes, key=str)))), *map(_of_law, laws))

    @property
    def origins(self) -> tuple[str, ...]:
        """Keys and places of the sources of the definition, the rules and the claims, each once."""
        rules, claims = (step.rule.source for step in self.steps), (claim.source for claim in self.claims)
        return tuple(dict.fromkeys(filter(None, (*self.sources, *rules, *claims))))

    @property
    def cited(self) -> tuple[Derivation, ...]:
        """The chains whose results the steps use, each once."""
        found = (getattr(step.rule, "theorem", None) for step in self.steps)
        return tuple({id(item): item for item in found if isinstance(item, Derivation)}.values())

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The named definitions and postulates in the first line, by name."""
        return tuple(sorted(self.start.atoms(Quantity), key=str))

    def apply(self, rule: Rule, note: str = "") -> Derivation:
        """The chain with one more step.

        Raises:
            RuleRefused: when the rule's conditions fail, when it changes nothing, or when it would put an approximation
                and an upper bound in one chain, of which neither relation would hold.
        """
        check_is(rule, Rule, "rule", "Linearity()")
        step = Step.of(rule, self.result, note)
        if {step.relation, self.relation} == {"~", "<="}:
            raise RuleRefused(f"{rule.name}: found a step with {step.relation} in a chain with {self.relation}")
        return self._with(steps=(*self.steps, step))

    def claim(self, formula: Expr, source: str, *, label: str = "reconstructed") -> Derivation:
        """The chain with a formula of a source beside its result.

        Raises:
            ValueError: for a label other than published, reconstructed, own and quoted.
        """
        if label not in LABELS:
            raise ValueError(f"claim of {source}: found label {label!r}; expected {', '.join(LABELS)}")
        return self._with(claims=(*self.claims, Claim(exact(formula, "claim"), source, label)))

    def named(self, **fields: object) -> Derivation:
        """The same chain with other words about it: title, name, symbol, ranges, sources, introduction, chapter."""
        return replace(self, **fields)._with(steps=self.steps, claims=self.claims)  # type: ignore[arg-type]

    def _with(self, **made: object) -> Derivation:
        copy = replace(self)
        for name, value in {"steps": self.steps, "claims": self.claims, **made}.items():
            object.__setattr__(copy, name, value)
        return copy

    def __str__(self) -> str:
        heading = ": ".join(part for part in (self.name, self.title) if part)
        lines = [heading] if heading else []
        lines += [f"    {as_text(self.start)}"]
        lines += [f"  {step.relation} {as_text(step.after)}    [{step.rule.name}]" for step in self.steps]
        lines += [f"  for {hypothesis.text}" for hypothesis in self.hypotheses]
        lines += [f"  {claim.label}: {as_text(claim.formula)}    [{claim.source}]" for claim in self.claims]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        signs = {"=": "=", "~": r"\sim ", "<=": r"\le "}
        lines = [f"{latex(self.start)} &"]
        lines += [rf"{signs[step.relation]}{latex(step.after)} & \text{{[{step.rule.name}]}}" for step in self.steps]
        return r"$\displaystyle \begin{array}{ll} " + r" \\ ".join(lines) + r" \end{array}$"
