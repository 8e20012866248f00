"""The content of the report before it is written as TeX or HTML: sections, equations on lines, rules, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import LABELS, Derivation, Step
from symslr.algebra.rule import Rule
from symslr.cache.results import Cache
from symslr.check.graph import Graph, graph, node_name
from symslr.check.points import restrictions
from symslr.check.replay import citations, own_rules
from symslr.check.report import CheckReport
from symslr.export.abstract import Abstract
from symslr.export.bibliography import REFERENCES, Reference, cited
from symslr.export.breaking import Line
from symslr.export.lines import LINE_WIDTH, Printed, printed
from symslr.export.printing import HousePrinter
from symslr.export.text import anchor, sentence
from symslr.export.verdicts import STEP_WORDS, DerivationVerdict, Verdict, Word, verdicts
from symslr.validation.papers import Beside, Entry
from symslr.validation.published import Judged, Standing, Statement, judge
from symslr.validation.validate import Validation

CHECKED = (
    "Both sides of every step are evaluated at random admissible points by routes that share no code. A comparison is"
    " effective when it could have told a true equation from a false one; a step counts as checked only through"
    " effective comparisons, and ``not decided'' is not a pass."
)
"""What the table of checks says about itself."""

IN_RULES = "Sums and products over $l$ or $m$ without limits run over all tokens."
"""What the statements of the rules leave out."""


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

    ``cites`` names the derivation whose result the step uses, with its title; both are empty where it uses none.
    """

    number: int
    rule: RuleEntry
    note: str
    lines: tuple[Line, ...]
    remainder: tuple[Line, ...]
    verdict: Verdict
    cites: str = ""
    cited_title: str = ""


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
    """One derivation; ``command`` derives it anew, ``compared`` says in which ranges its lines were compared.

    ``here`` says what the letters of the statement stand for, ``within`` what those stand for that the proof adds;
    ``stem`` stands left of the relations of the chain, empty where that is long;
    ``result`` is the last formula as the end of the chain; ``equation`` is what is proved, with its left-hand side.
    """

    name: str
    title: str
    stem: str
    chapter: str
    introduction: str
    here: tuple[str, ...]
    within: tuple[str, ...]
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
    compared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Way:
    """What a result rests on: its definitions, postulates and cited results, and the weakest verdict among them all.

    Attributes:
        definitions: the formula of each.
        postulates: the sentence that says what is assumed, and the formula.
        results: names of the derivations cited, at once or through others.
        weakest: verdict of the weakest derivation on the way, itself included.
    """

    definitions: tuple[tuple[Line, ...], ...]
    postulates: tuple[tuple[str, tuple[Line, ...]], ...]
    results: tuple[str, ...]
    weakest: Verdict


@dataclass(frozen=True)
class Postulate:
    """What is assumed and not derived: a sentence, the formula, and the derivations that rest on it."""

    says: str
    lines: tuple[Line, ...]
    used: tuple[str, ...]


@dataclass(frozen=True)
class Content:
    """The whole report, without its figures; ``checked`` says what was checked when, and is empty where nothing was."""

    sections: tuple[Section, ...]
    rules: tuple[RuleEntry, ...]
    references: tuple[Reference, ...]
    checked: str
    validations: tuple[Validation, ...]
    published: tuple[Judged, ...] = ()
    abstract: Abstract | None = None
    letter: tuple[Entry, ...] = ()
    settings: tuple[Beside, ...] = ()
    authors: tuple[str, ...] = ()

    @property
    def formulas(self) -> list[tuple[Section, str]]:
        """The derivations whose results open the report, and what each result is."""
        found = {section.name: section for section in self.sections}
        return [(found[anchor(name)], says) for name, says in (self.abstract.formulas if self.abstract else ())]

    @property
    def counts(self) -> dict[str, int]:
        """What the sentences of the abstract may count: derivations, steps, those checked, statements by what was found."""
        steps = [step.verdict.word for section in self.sections for step in section.steps]
        found = {"derivations": len(self.sections), "steps": len(steps), "checked": steps.count(Word.TRUE)}
        standings = {str(standing): sum(item.standing is standing for item in self.published) for standing in Standing}
        return {**found, "postulates": len(self.postulates), "statements": len(self.published), **standings}

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
    kept: Cache | None = None,
    width: float = LINE_WIDTH,
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
        kept: where printed formulas are found if they were printed before, and written if not.
        width: of the lines of a formula, in em.

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
    each = zip(derivations, names, found, (printed(item, kept, width) for item in derivations), strict=True)
    sections = tuple(_section(*one, rules, rests, command) for one in each)
    listed = tuple(
        cited(
            [*(own for item in derivations for own in item.origins), *(item.source for item in statements)], references
        )
    )
    judged = tuple(judge(statements, checks, validations))
    return Content(
        *(sections, tuple(rules.values()), listed, "" if checks is None else checks.when),
        *(tuple(validations), judged, abstract),
    )


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
    item: Derivation,
    name: str,
    verdict: DerivationVerdict,
    lines: Printed,
    rules: Mapping[str, RuleEntry],
    rests: Graph,
    command: str,
) -> Section:
    steps = tuple(
        StepEntry(i + 1, rules[step.rule.name], sentence(step.note), *made, verdict.steps[i], *_cited(step))
        for i, (step, made) in enumerate(zip(item.steps, lines.steps, strict=True))
    )
    return Section(
        name,
        item.title or item.name or "Untitled derivation",
        lines.stem,
        item.chapter,
        item.introduction,
        lines.here,
        lines.within,
        lines.start,
        verdict.start,
        steps,
        lines.result,
        lines.equation,
        tuple(
            ClaimEntry(claim.source, claim.label, formula, verdict.claims[i])
            for i, (claim, formula) in enumerate(zip(item.claims, lines.claims, strict=True))
        ),
        item.sources,
        verdict.overall,
        tuple(dict.fromkeys((*item.assumptions, *(hypothesis.text for hypothesis in item.hypotheses)))),
        own_rules(item),
        _way(item, rests, lines),
        command.format(item.name),
        restrictions(item, HousePrinter().doprint, "${} < {} < {}$", r"${} \in \{{{}\}}$"),
    )


def _cited(step: Step) -> tuple[str, str]:
    if not isinstance(step.rule, Cite) or not step.rule.theorem.name:
        return "", ""
    return anchor(step.rule.theorem.name), step.rule.theorem.title or step.rule.theorem.name


def _way(item: Derivation, rests: Graph, lines: Printed) -> Way:
    """What stands between the definitions and a result."""
    weak = rests.weakest(node_name(item))
    word = Verdict(Word.UNCHECKED) if weak is None or weak.verdict is None else Verdict(STEP_WORDS[weak.verdict])
    return Way(
        tuple(formula for postulate, formula in lines.definitions if not postulate),
        tuple((postulate, formula) for postulate, formula in lines.definitions if postulate),
        tuple(dict.fromkeys(node_name(chain) for chain in citations(item))),
        word,
    )
