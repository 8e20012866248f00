"""The content of the report before it is written as TeX or HTML: sections, equations on lines, rules, verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sympy import Basic, Expr
from sympy.core.function import AppliedUndef

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import LABELS, Derivation, Step
from symslr.algebra.rule import Rule
from symslr.check.graph import Graph, graph, node_name
from symslr.check.replay import citations, own_rules
from symslr.check.report import CheckReport
from symslr.export.abstract import Abstract
from symslr.export.bibliography import REFERENCES, Reference, cited
from symslr.export.breaking import Line, latex_lines
from symslr.export.measure import width
from symslr.export.printing import HousePrinter
from symslr.export.text import anchor, sentence
from symslr.export.verdicts import STEP_WORDS, DerivationVerdict, Verdict, Word, verdicts
from symslr.expression.folded import Activation
from symslr.expression.open_functions import OpenKernel
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, l
from symslr.model.symbols import m as index_m
from symslr.validation.papers import Beside, Entry
from symslr.validation.published import Judged, Statement, judge
from symslr.validation.validate import Validation

RELATIONS = {"=": "=", "~": r"\approx", "<=": r"\leq", ">=": r"\geq"}
"""How the relation of a line to the one before it is printed."""

LINE_WIDTH = 36.0
"""Room for a formula in em: the report's text width less the indentation and the frame around a result."""

CHECKED = (
    "Both sides of every step are evaluated at random admissible points by routes that share no code. A comparison is"
    " effective when it could have told a true equation from a false one; a step counts as checked only through"
    " effective comparisons, and ``not decided'' is not a pass."
)
"""What the table of checks says about itself."""


@dataclass(frozen=True)
class RuleEntry:
    """A rule as the list of rules shows it; ``anchor`` is what links point to."""

    number: int
    anchor: str
    name: str
    statement: str
    conditions: str
    source: str


@dataclass(frozen=True)
class StepEntry:
    """One application of a rule and the formula it made; ``remainder`` bounds what a truncating rule left out.

    ``cites`` names the derivation whose result the step uses, empty where it uses none.
    """

    number: int
    rule: RuleEntry
    note: str
    lines: tuple[Line, ...]
    remainder: tuple[Line, ...]
    verdict: Verdict
    cites: str = ""


@dataclass(frozen=True)
class ClaimEntry:
    """A formula of a source beside the result; ``label`` and ``explained`` say where the formula was had from."""

    source: str
    label: str
    lines: tuple[Line, ...]
    verdict: Verdict

    @property
    def explained(self) -> str:
        """The label in words."""
        return LABELS[self.label]


@dataclass(frozen=True)
class Section:
    """One derivation; ``command`` derives it anew.

    ``result`` is the last formula as the end of the chain; ``equation`` is what is proved, with its left-hand side.
    """

    name: str
    title: str
    chapter: str
    introduction: str
    here: tuple[str, ...]
    start: tuple[Line, ...]
    start_verdict: Verdict
    steps: tuple[StepEntry, ...]
    result: tuple[Line, ...]
    equation: tuple[Line, ...]
    claims: tuple[ClaimEntry, ...]
    sources: tuple[str, ...]
    verdict: Verdict
    hypotheses: tuple[str, ...] = ()
    own_rules: tuple[str, ...] = ()
    way: Way | None = None
    command: str = ""


@dataclass(frozen=True)
class Way:
    """What a result rests on: its definitions, postulates and cited results, and the weakest verdict among them all.

    Attributes:
        definitions: the formula of each.
        postulates: the sentence that says what is assumed, and the formula.
        results: names of the derivations cited, at once or through others.
        weakest: verdict of the weakest derivation on the way, itself included; ``weak_name`` is its name.
    """

    definitions: tuple[tuple[Line, ...], ...]
    postulates: tuple[tuple[str, tuple[Line, ...]], ...]
    results: tuple[str, ...]
    weakest: Verdict
    weak_name: str


@dataclass(frozen=True)
class Postulate:
    """What is assumed and not derived: a sentence, the formula, and the derivations that rest on it."""

    says: str
    lines: tuple[Line, ...]
    used: tuple[str, ...]


@dataclass(frozen=True)
class Content:
    """The whole report, without its figures."""

    sections: tuple[Section, ...]
    rules: tuple[RuleEntry, ...]
    references: tuple[Reference, ...]
    checked: bool
    validations: tuple[Validation, ...]
    published: tuple[Judged, ...] = ()
    graph: Graph | None = None
    abstract: Abstract | None = None
    letter: tuple[Entry, ...] = ()
    settings: tuple[Beside, ...] = ()

    @property
    def formulas(self) -> list[tuple[Section, str]]:
        """The derivations whose results open the report, and what each result is."""
        found = {section.name: section for section in self.sections}
        return [(found[anchor(name)], says) for name, says in (self.abstract.formulas if self.abstract else ())]

    @property
    def postulates(self) -> list[Postulate]:
        """Each once, with all derivations that rest on it."""
        found: dict[str, Postulate] = {}
        for section in self.sections:
            for says, lines in section.way.postulates if section.way is not None else ():
                used = found[says].used if says in found else ()
                found[says] = Postulate(says, lines, (*used, section.name))
        return list(found.values())

    @property
    def chapters(self) -> list[tuple[str, list[Section]]]:
        """The derivations under their headings, in order; all under one heading where they have none."""
        found: dict[str, list[Section]] = {}
        for section in self.sections:
            found.setdefault(section.chapter or "Derivations", []).append(section)
        return list(found.items())


def content(
    derivations: Sequence[Derivation],
    checks: CheckReport | None = None,
    references: Mapping[str, Reference] = REFERENCES,
    validations: Sequence[Validation] = (),
    statements: Sequence[Statement] = (),
    abstract: Abstract | None = None,
    command: str = "",
) -> Content:
    """What the report says about these derivations.

    Args:
        derivations: each with a name of its own.
        checks: what ``symslr.check.check`` found for them; None where nothing was checked.
        references: the records that sources are looked up in.
        validations: what ``symslr.validation.validate`` found.
        statements: published ones, each with what these checks and validations say of it.
        abstract: what the report opens with.
        command: derives one of them anew; ``{}`` in it stands for the name.

    Raises:
        UnknownReference: when a rule, a derivation or a claim names a source without record.
        ValueError: when two derivations share a name, or a statement or the abstract names a derivation that is not there.
    """
    names = [anchor(item.name or item.title) for item in derivations]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"derivations: found the name {name!r} twice; expected one name each, so rename one")
    if abstract is not None and (missing := [name for name, _ in abstract.formulas if anchor(name) not in names]):
        raise ValueError(f"abstract: found no derivation {missing[0]!r}; expected names of derivations")
    rules = _rules(derivations)
    found = verdicts(list(derivations), checks)
    rests = graph(derivations, checks)
    sections = tuple(_section(*each, rules, rests, command) for each in zip(derivations, names, found, strict=True))
    listed = tuple(cited([*_sources(derivations), *(item.source for item in statements)], references))
    judged = tuple(judge(statements, checks, validations))
    return Content(
        sections, tuple(rules.values()), listed, checks is not None, tuple(validations), judged, rests, abstract
    )


def _sources(derivations: Sequence[Derivation]) -> Iterator[str]:
    for item in derivations:
        yield from item.sources
        yield from (step.rule.source for step in item.steps)
        yield from (claim.source for claim in item.claims)


def _rules(derivations: Sequence[Derivation]) -> dict[str, RuleEntry]:
    """The rules in the order in which they are first used, by name."""
    entries: dict[str, RuleEntry] = {}
    for rule in (step.rule for item in derivations for step in item.steps):
        if rule.name not in entries:
            entries[rule.name] = _rule_entry(len(entries) + 1, rule)
    return entries


def _rule_entry(number: int, rule: Rule) -> RuleEntry:
    return RuleEntry(number, anchor(rule.name), rule.name, rule.statement, rule.conditions, rule.source)


def _section(
    item: Derivation, name: str, verdict: DerivationVerdict, rules: Mapping[str, RuleEntry], rests: Graph, command: str
) -> Section:
    printer = HousePrinter()

    def lines(expr: Expr, relation: str, symbol: str = item.symbol) -> tuple[Line, ...]:
        lead = f"{symbol} {relation}" if symbol else ""
        return tuple(latex_lines(expr, LINE_WIDTH, lead=lead, printer=printer))

    relation = RELATIONS[item.relation]
    told = _bare(printer.doprint(item.start)) == _bare(item.symbol)
    title = item.title or item.name or "Untitled derivation"
    # In the order of reading: the printer names token laws as it meets them.
    here, start = tuple(_here(item, printer)), lines(item.start, "=", "" if told else item.symbol)
    steps = tuple(
        StepEntry(
            i + 1,
            rules[step.rule.name],
            sentence(step.note),
            *_step_lines(step, printer),
            verdict.steps[i],
            _cited(step),
        )
        for i, step in enumerate(item.steps)
    )
    result = lines(item.result, relation)
    return Section(
        name,
        title,
        item.chapter,
        item.introduction,
        here,
        start,
        verdict.start,
        steps,
        result,
        result if item.symbol and item.steps else _equation(item, relation, printer),
        tuple(
            ClaimEntry(claim.source, claim.label, lines(claim.formula, relation), verdict.claims[i])
            for i, claim in enumerate(item.claims)
        ),
        item.sources,
        verdict.overall,
        tuple(dict.fromkeys(hypothesis.text for hypothesis in item.hypotheses)),
        own_rules(item),
        _way(item, rests, printer),
        command.format(item.name),
    )


def _equation(item: Derivation, relation: str, printer: HousePrinter) -> tuple[Line, ...]:
    """What a derivation without a symbol proves: start and result; one without steps states its start."""

    def lines(expr: Expr, lead: str) -> tuple[Line, ...]:
        return tuple(latex_lines(expr, LINE_WIDTH, lead=lead, printer=printer))

    if not item.steps:
        return lines(item.start, f"{item.symbol} =" if item.symbol else "")
    left = printer.doprint(item.start)
    if width(left) <= LINE_WIDTH / 2:
        return lines(item.result, f"{left} {relation}")
    return (*lines(item.start, ""), *lines(item.result, relation))


def _cited(step: Step) -> str:
    return anchor(step.rule.theorem.name) if isinstance(step.rule, Cite) and step.rule.theorem.name else ""


def _way(item: Derivation, rests: Graph, printer: HousePrinter) -> Way:
    """What stands between the definitions and a result, printed from the objects themselves."""
    chains = [*citations(item), item]
    quantities = {quantity.func: quantity for chain in chains for quantity in chain.quantities}.values()
    shown = {
        q: tuple(latex_lines(q.definition(), LINE_WIDTH, lead=f"{printer.doprint(q)} :=", printer=printer))
        for q in quantities
    }
    weak = rests.weakest(node_name(item))
    word = Verdict(Word.UNCHECKED) if weak is None or weak.verdict is None else Verdict(STEP_WORDS[weak.verdict])
    return Way(
        tuple(said for q, said in shown.items() if not q.postulate),
        tuple((q.postulate, said) for q, said in shown.items() if q.postulate),
        tuple(dict.fromkeys(node_name(chain) for chain in chains[:-1])),
        word,
        "" if weak is None else weak.name,
    )


def _step_lines(step: Step, printer: HousePrinter) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """The formula that the step made, and the bound on what it left out."""
    made = latex_lines(step.after, LINE_WIDTH, lead=RELATIONS[step.relation], printer=printer)
    if step.remainder == 0:
        return tuple(made), ()
    return tuple(made), tuple(
        latex_lines(step.remainder, LINE_WIDTH, lead=r"\left|\text{error}\right| \leq", printer=printer)
    )


def _bare(tex: str) -> str:
    """LaTeX without what does not show, to see whether a symbol is the print of its own definition."""
    return re.sub(r"\\left|\\right|[\s{}]", "", tex)


# What the letters stand for in one derivation


def _here(item: Derivation, printer: HousePrinter) -> Iterator[str]:
    """Sentences that define the weights, activations and token laws that occur, printed from the objects themselves."""
    expressions = [item.start, *(step.after for step in item.steps)]
    said: dict[str, str] = {}
    for law in _ordered(expressions, SequenceLaw):
        if law.weight != 1 and (name := printer.weight_name(law)) not in said:
            said[name] = _weight(law, name, printer)
    yield from filter(None, said.values())
    for kernel, normalised, offset, scale in dict.fromkeys(
        node.args[1:5] for node in _ordered(expressions, Activation)
    ):
        yield _activation(kernel, bool(normalised), offset, scale, printer)
    for scalar_law, name in printer.laws.items():
        yield f"${name}(x) = {printer.doprint(scalar_law.density)}$ is a density on {_support(scalar_law, printer)}."


def _ordered(expressions: Sequence[Basic], kind: type[Basic]) -> list:
    """The nodes of a kind, each once, those of earlier expressions first."""
    found: dict[Basic, None] = {}
    for expr in expressions:
        found.update(dict.fromkeys(sorted(expr.atoms(kind), key=str)))
    return list(found)


def _weight(law: SequenceLaw, name: str, printer: HousePrinter) -> str:
    """What the weight is; empty where it is left open and the tokens are standard normal: the hypotheses speak of it."""
    if isinstance(law.weight, OpenFunction) and law.weight.name == name and law.base == STANDARD_NORMAL:
        return ""
    tokens = "" if law.base == STANDARD_NORMAL else rf", $\chi_l \sim {printer.law_name(law.base)}$ before reweighting"
    formula = rf"{name}(\epsilon,\chi) = {printer.doprint(law.weight)}"
    return rf"$\mathbb{{E}}_{{{name}}}$ has the weight $\displaystyle {formula}${tokens}."


def _activation(kernel: Expr, normalised: bool, offset: Expr, scale: Expr, printer: HousePrinter) -> str:
    argument = printer.doprint(scale * chi[l])
    above = rf"\kappa({argument})"
    if normalised:
        total = rf"\sum_{{m}} \kappa({printer.doprint(scale * chi[index_m])})"
        below = total if offset == 0 else rf"{printer.doprint(offset)} + {total}"
        formula = (
            rf"\sigma_l = {above} \big/\allowbreak \bigl({below}\bigr)"
            if offset != 0
            else rf"\sigma_l = {above} \big/\allowbreak {below}"
        )
    else:
        formula = rf"\sigma_l = {above}"
    if isinstance(kernel, (AppliedUndef, OpenKernel)):
        return rf"The attention is ${formula}$ with any kernel ${printer.function_name(kernel)}$."
    return rf"The attention is ${formula}$ with $\kappa(x) = {printer.doprint(kernel)}$."


def _support(law: ScalarLaw, printer: HousePrinter) -> str:
    return f"$({printer.doprint(law.lower)},\\, {printer.doprint(law.upper)})$"
