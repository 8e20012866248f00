"""Every step of every derivation at random admissible points, by the referee's reading of each side."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import tee

from sympy import Expr, S, simplify

from symslr.algebra.derivation import Claim, Derivation, as_text
from symslr.cache.results import Cache, key_of
from symslr.check.branches import branch_points
from symslr.check.compare import compare
from symslr.check.conclude import concluded
from symslr.check.instances import tried
from symslr.check.known import statement
from symslr.check.nodes import unjudged
from symslr.check.numbers import Numbers, is_closed, is_elementary
from symslr.check.points import FLOAT_DIGITS, LONG, Point, cheap_points, far_points, long_points, points, restrictions
from symslr.check.remainders import remainder_tested
from symslr.check.replay import citations, is_house_rule, own_rules, replay, unclear
from symslr.check.report import CheckReport, Comparison, DerivationCheck, StepCheck, Verdict
from symslr.check.start import simulated_start
from symslr.check.untouched import remembered, touched
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.quantity import Quantity
from symslr.model.exact import check_is
from symslr.parallel.processes import Lost, each_forked, processors
from symslr.referee.work import METER, SECOND, Memory

WORK_PER_DERIVATION = 40 * SECOND
"""What is not done by then is unknown: the same on every machine."""

MOST_TELLING = 2
"""The last of the points (two, three and many tokens) that come before everything else."""

MORE = 1
"""Points at which a step is compared beyond those that make it true, in a chain of symslr's rules, which its tests hold against
brute force. A chain with rules of its author's is compared at all points: nothing else has tried them where signals are weak."""

FAR_SHARE = 0.1
"""Of the work that a check took, what it may take besides for points far from 1."""

FAR_WORK = SECOND // 5
"""This much it may always take."""

MOST_OPERATIONS = 120
"""Of a formula that SymPy is asked to prove to be zero: it took 0.24 s at most over symslr's own."""

Progress = Callable[[int, str], None]


def check(
    derivations: Sequence[Derivation],
    *,
    jobs: int | None = None,
    progress: Progress = lambda done, name: None,
    seconds: float | None = None,
    kept: Cache | None = None,
    known: Mapping[int, DerivationCheck] | None = None,
) -> CheckReport:
    """Check derivations, one process each, ``jobs`` at a time. What is compared is a function of each chain alone.

    Rules of an author's run in a process of their own always, so that one that ends it is seen.

    Args:
        derivations: as ``collect`` returns them.
        jobs: processes; the number of processors by default. 1 checks rules of symslr's in this process, where no ``seconds``
            are given.
        progress: called after each derivation with the number done and its name.
        seconds: processor time after which the check of a derivation is stopped, without a verdict; None for no end.
        kept: where verdicts are found that an earlier check of the same chain by the same code reached, and where new
            ones are written at once. What was stopped is not kept.
        known: checks that need not be made, by the number of the derivation, see ``symslr.check.known.spared``.

    Raises:
        ValueError: for ``seconds`` on a system that cannot fork.
    """
    began = time.monotonic()
    derivations = [*derivations, *_cited_elsewhere(derivations)]
    keys = [] if kept is None else [key_of("check", statement(item)) for item in derivations]
    found = [] if kept is None else [kept.get(key) for key in keys]
    results = {i: item for i, item in enumerate(found) if isinstance(item, DerivationCheck)} | dict(known or {})
    if results:
        progress(len(results), "known before")

    def note(index: int, result: DerivationCheck) -> None:
        results[index] = result
        if kept is not None and not result.stopped:
            kept.put(keys[index], result)
        progress(len(results), result.name)

    waiting = [index for index in range(len(derivations)) if index not in results]
    jobs = min(jobs or processors(), max(len(waiting), 1))
    forks = "fork" in multiprocessing.get_all_start_methods()
    if seconds is not None and not forks:
        raise ValueError("found a limit of processor time on a system that cannot stop a process by it; expected none")
    if not forks or (jobs == 1 and seconds is None and not any(own_rules(derivations[i]) for i in waiting)):
        for index in waiting:
            note(index, check_derivation(derivations[index]))
    else:
        _in_processes(derivations, waiting, jobs, note, seconds)
    return CheckReport(tuple(results[i] for i in range(len(derivations))), time.monotonic() - began)


def _cited_elsewhere(derivations: Sequence[Derivation]) -> list[Derivation]:
    """Results that are used and stand in no derivation of the list: they are checked too.

    Raises:
        ValueError: for two chains of one name with other lines, of which one could pass for the other.
    """
    known = {item.name: _said(item) for item in derivations if item.name}
    found: dict[object, Derivation] = {}
    for item in derivations:
        for theorem in citations(item):
            said = _said(theorem)
            if theorem.name and known.setdefault(theorem.name, said) != said:
                raise ValueError(
                    f"{item.name}: cites a chain called {theorem.name}, and another chain is called so too; "
                    "expected one chain for each name"
                )
            found.setdefault(theorem.name or said, theorem)
    here = {item.name for item in derivations if item.name}
    return [theorem for theorem in found.values() if theorem.name not in here]


def _said(item: Derivation) -> object:
    """What tells chains apart: their lines and the rules that made them."""
    steps = tuple((s.before, s.after, s.remainder, s.hypotheses, type(s.rule), s.rule.name) for s in item.steps)
    return type(item), item.start, steps, replay(item) if own_rules(item) else ()


def _in_processes(
    derivations: Sequence[Derivation],
    waiting: Sequence[int],
    jobs: int,
    note: Callable[[int, DerivationCheck], None],
    seconds: float | None,
) -> None:
    """Each in a process of its own; one that died, as of too much memory, is tried again with no other beside it."""
    order = sorted(waiting, key=lambda i: -_weight(derivations[i]))
    for at_once in (jobs, 1):
        died = []
        for index, found in each_forked(lambda index: check_derivation(derivations[index]), order, at_once, seconds):
            if found is Lost.DIED and at_once == jobs > 1:
                died.append(index)
            else:
                note(index, _stopped(derivations[index], found, seconds) if isinstance(found, Lost) else found)
        order = died


def _stopped(item: Derivation, how: Lost, seconds: float | None) -> DerivationCheck:
    reason = f"after {seconds:g} s of processor time" if how is Lost.STOPPED else "as its process died"
    return DerivationCheck(item.name, None, (), (), stopped=reason)


def _weight(item: Derivation) -> int:
    return sum(1 for step in item.steps if not is_elementary(step.before)) + item.start.has(SequenceExpectation)


def _unchecked(item: Derivation, reason: str) -> DerivationCheck:
    def unknown(what: str) -> StepCheck:
        return StepCheck(what, Verdict.UNKNOWN, reason=reason)

    return DerivationCheck(
        item.name,
        None,
        tuple(unknown(step.rule.name) for step in item.steps),
        tuple(unknown(claim.source) for claim in item.claims),
    )


def check_derivation(item: Derivation) -> DerivationCheck:
    """One derivation: its start against Monte Carlo, each step, each claim."""
    check_is(item, Derivation, "derivation", "bayes_risk(task).derivation()")
    began = time.process_time()
    Memory.forget_all()  # the same chain is told the same, whatever was asked before
    with METER.within(WORK_PER_DERIVATION):
        found = _checked(item)
    return replace(found, seconds=time.process_time() - began)


@dataclass
class _Equation:
    """A step or a claim, and what was compared of it.

    Attributes:
        what: the rule's name, or the claim's source.
        sides: both expressions; the left one is at most the right one where ``relation`` says so.
        forged: why it is no step, whatever its numbers.
        missing: why it is not true, however well the numbers agree.
        beyond: points at which it was compared when it lacked nothing.
    """

    item: Derivation
    what: str
    sides: tuple[Expr, Expr]
    remainder: Expr = S.Zero
    relation: str = "="
    forged: str = ""
    missing: str = ""
    beyond: int = 0
    made: list[Comparison] = field(default_factory=list)

    @property
    def is_false(self) -> bool:
        """Whether nothing more has to be compared."""
        return bool(self.forged) or any(c.verdict is Verdict.FALSE for c in self.made)

    @property
    def is_closed(self) -> bool:
        return all(map(is_closed, (*self.sides, self.remainder)))

    @property
    def lacks(self) -> bool:
        """Whether more comparisons would have to be made before it is called true."""
        return concluded("", self.made, self.sides, self.item).verdict is Verdict.UNKNOWN

    def compare(self, point: Point, numbers: Numbers) -> None:
        """Compare the sides at a point, unless they are known to differ; many tokens once, at the longest sequence."""
        longer = point.kind == "many tokens" and any(c.kind == LONG.name and c.effective for c in self.made)
        if not self.is_false and not longer:
            self.made.append(compare(*self.sides, point, numbers, self.remainder, self.relation))

    def found(self, rule: str = "") -> StepCheck:
        """The verdict, with both sides where it is false."""
        if self.forged:
            return StepCheck(self.what, Verdict.FALSE, reason=self.forged)
        found = concluded(self.what, self.made, self.sides, self.item, self.missing)
        if found.verdict is not Verdict.FALSE:
            return found
        return replace(found, sides=(as_text(self.sides[0]), as_text(self.sides[1])), rule=rule)


def _checked(item: Derivation) -> DerivationCheck:
    work, before = METER.done, remembered()
    if reason := unclear(item):
        return DerivationCheck(item.name, StepCheck("start", Verdict.FALSE, reason=reason), (), ())
    try:
        where, beside, cheap, long = points(item), branch_points(item), cheap_points(item), long_points(item)
    except ValueError as refusal:
        return _unchecked(item, str(refusal))
    numbers = Numbers()
    # at a point to which no comparison comes the first line has no number
    sharp = partial(_as_sharp_as_the_start, item=item, numbers=numbers)
    steps = [
        _Equation(item, step.rule.name, (step.before, step.after), step.remainder, step.relation, forged)
        for step, forged in zip(item.steps, replay(item))
    ]
    claims = [_Equation(item, claim.source, (item.result, claim.formula)) for claim in item.claims]
    for equation in [*(e for e, step in zip(steps, item.steps) if not is_house_rule(step.rule)), *claims]:
        equation.missing = unjudged(*equation.sides)
    equations = [*steps, *(claim for claim in claims if claim.sides[0] != claim.sides[1])]
    # point by point, not step by step: where the work is used up every step has had its most telling points
    for point in map(sharp, [*where[:MOST_TELLING], *long, *where[MOST_TELLING : MOST_TELLING + 1], *beside]):
        for equation in equations:
            equation.compare(point, numbers)
    # what the first points have not shown to be false is worth the work that these take
    start = simulated_start(item, numbers)
    for step, equation in zip(item.steps, steps):
        if step.remainder != S.Zero and not equation.is_false:
            tested, missing = remainder_tested(step, item, map(sharp, where), numbers)
            equation.missing = equation.missing or missing
            equation.made += tested
    rest = _turned(where[MOST_TELLING + 1 :], item)
    enough = len(rest) if own_rules(item) else MORE
    for point in rest:
        for equation in equations:
            if equation.beyond < enough and not equation.is_false:
                equation.beyond += not equation.lacks
                equation.compare(sharp(point), numbers)
    for equation in equations:
        for point in cheap if equation.is_closed else ():
            equation.compare(point, numbers)
    _compare_far(far_points(item), equations, numbers, METER.done - work)
    if changed := touched(before):
        start = StepCheck("start", Verdict.FALSE, reason=f"its rules change {', '.join(changed[:3])} while they run")
    return DerivationCheck(
        item.name,
        start,
        tuple(equation.found(step.rule.statement) for step, equation in zip(item.steps, steps)),
        tuple(_claim(claim, equation) for claim, equation in zip(item.claims, claims)),
        restrictions=restrictions(item),
        own_rules=own_rules(item),
        tried=tried(comparison for equation in equations for comparison in equation.made),
    )


def _as_sharp_as_the_start(point: Point, item: Derivation, numbers: Numbers) -> Point:
    """The point with as many digits as the first line can have there: more of a later line show nothing of the chain."""
    if point.digits <= FLOAT_DIGITS or is_closed(item.start):
        return point
    found = numbers.at(item.start, point)
    return replace(point, digits=FLOAT_DIGITS) if found.known and "balls" not in found.method else point


def _turned(where: list[Point], item: Derivation) -> list[Point]:
    """The further points in an order that differs from chain to chain, so that the few that are used are of every kind."""
    first = sum(item.name.encode()) % max(len(where), 1)
    return [*where[first:], *where[:first]]


def _compare_far(where: Iterator[Point], equations: list[_Equation], numbers: Numbers, work: int) -> None:
    """Comparisons far from 1, within a share of the work that the other ones took, the same for each equation.

    Point by point, until one is false; the work that it leaves is the next one's. What is not reached is not compared.
    """
    left = 0.0
    for equation in equations:
        left += max(FAR_WORK, FAR_SHARE * work) / len(equations)
        took = 0
        drawn, where = tee(where)
        for point in drawn:
            if equation.is_false or min(left, METER.left) <= took:  # another one takes as much
                break
            began = METER.done
            equation.compare(point, numbers)
            took = METER.done - began
            left -= took


def _claim(claim: Claim, equation: _Equation) -> StepCheck:
    """The result against the formula of a source. One expression is no comparison: nothing was computed."""
    result, formula = equation.sides
    if result == formula and not equation.item.steps:
        return StepCheck(claim.source, Verdict.UNKNOWN, reason="the chain has no step: the claim is its first line")
    if result == formula:
        return StepCheck(claim.source, Verdict.TRUE, symbolic=True)
    found = replace(equation.found(), symbolic=_symbolic(result - formula))
    return replace(found, verdict=Verdict.DIFFERS) if found.verdict is Verdict.FALSE and claim.quoted else found


def _symbolic(difference: Expr) -> bool | None:
    """Whether SymPy proves a short closed formula to be zero; None where it does not say."""
    if not is_elementary(difference) or difference.has(Quantity) or difference.count_ops() > MOST_OPERATIONS:
        return None
    try:
        return True if simplify(difference) == 0 else None
    except (ArithmeticError, ValueError, TypeError, NotImplementedError, AttributeError):
        return None
