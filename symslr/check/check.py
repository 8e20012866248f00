"""Every step of every derivation at random admissible points, by the referee's reading of each side."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from sympy import Expr, S, simplify

from symslr.algebra.derivation import Claim, Derivation, Step, as_text
from symslr.cache.code import rooms_version
from symslr.cache.content import content
from symslr.cache.results import Cache, key_of
from symslr.check.branches import branch_points
from symslr.check.compare import compare
from symslr.check.conclude import concluded
from symslr.check.numbers import Numbers, is_closed, is_elementary
from symslr.check.points import FLOAT_DIGITS, LONG, Point, cheap_points, far_points, long_points, points, restrictions
from symslr.check.remainders import remainder_tested
from symslr.check.replay import citations, own_rules, replay, unclear
from symslr.check.report import CheckReport, Comparison, DerivationCheck, StepCheck, Verdict
from symslr.check.start import simulated_start
from symslr.check.untouched import remembered, touched
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.quantity import Quantity
from symslr.library.index import ROOMS, text_version
from symslr.parallel.processes import Lost, each_forked, processors
from symslr.referee.work import METER, SECOND

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
) -> CheckReport:
    """Check derivations, one process each, ``jobs`` at a time. What is compared is a function of each chain alone.

    Args:
        derivations: as ``collect`` returns them.
        jobs: processes; the number of processors by default. 1 checks in this process, where no ``seconds`` are given.
        progress: called after each derivation with the number done and its name.
        seconds: processor time after which the check of a derivation is stopped, without a verdict; None for no end.
        kept: where verdicts are found that an earlier check of the same chain by the same code reached, and where new
            ones are written at once. What was stopped is not kept.

    Raises:
        ValueError: for ``seconds`` on a system that cannot fork.
    """
    began = time.monotonic()
    derivations = [*derivations, *_cited_elsewhere(derivations)]
    version = (
        ""
        if kept is None
        else kept.computed(key_of("code", text_version()), "version of the code", partial(rooms_version, ROOMS))
    )
    keys = [] if kept is None else [_key(item, version) for item in derivations]
    found = [] if kept is None else [kept.get(key) for key in keys]
    results = {i: item for i, item in enumerate(found) if isinstance(item, DerivationCheck)}
    if results:
        progress(len(results), "found in the store")

    def note(index: int, result: DerivationCheck) -> None:
        results[index] = result
        if kept is not None and not result.stopped:
            kept.put(keys[index], f"check {result.name}", result)
        progress(len(results), result.name)

    waiting = [index for index in range(len(derivations)) if index not in results]
    jobs = min(jobs or processors(), max(len(waiting), 1))
    forks = "fork" in multiprocessing.get_all_start_methods()
    if seconds is not None and not forks:
        raise ValueError("found a limit of processor time on a system that cannot stop a process by it; expected none")
    if (jobs == 1 and seconds is None) or not forks:
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


def _key(item: Derivation, version: str) -> str:
    """What a verdict depends on: the chain itself, not the file it stands in."""
    steps = [
        (s.before, s.after, s.remainder, s.relation, repr(s.hypotheses), s.rule.name, s.rule.statement)
        for s in item.steps
    ]
    # a chain of an author's own rules may have the lines of an honest one
    made = unclear(item), replay(item) if own_rules(item) else (), own_rules(item)
    asked = content((item.name, item.start, steps, made, item.claims, item.ranges))
    return key_of("check", asked, version)


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
    began = time.process_time()
    with METER.within(WORK_PER_DERIVATION):
        found = _checked(item)
    return replace(found, seconds=time.process_time() - began)


def _checked(item: Derivation) -> DerivationCheck:
    work, before = METER.done, remembered()
    if foreign := _foreign(item):
        return DerivationCheck(item.name, foreign, (), ())
    try:
        where, beside, cheap, long = points(item), branch_points(item), cheap_points(item), long_points(item)
    except ValueError as refusal:
        return _unchecked(item, str(refusal))
    numbers = Numbers()
    # at a point to which no comparison comes the first line has no number
    sharp = partial(_as_sharp_as_the_start, item=item, numbers=numbers)
    made: list[list[Comparison]] = [[] for _ in item.steps]
    missing = [""] * len(item.steps)
    forged = replay(item)
    rest = _turned(where[MOST_TELLING + 1 :], item)
    # point by point, not step by step: where the work is used up every step has had its most telling points
    first = [*where[:MOST_TELLING], *long, *where[MOST_TELLING : MOST_TELLING + 1], *beside]
    for point in map(sharp, first):
        for i, step in enumerate(item.steps):
            if not _is_false(made[i]) and not forged[i] and not _longer_seen(point, made[i]):
                made[i].append(compare(step.before, step.after, point, numbers, step.remainder, step.relation))
    # what the first points have not shown to be false is worth the work that these take
    start = simulated_start(item, numbers)
    missing = [_remainder(step, item, map(sharp, where), numbers, found) for step, found in zip(item.steps, made)]
    enough = len(rest) if own_rules(item) else MORE
    more = [enough if not _lacks(step, item, found) else len(rest) for step, found in zip(item.steps, made)]
    for number, point in enumerate(rest):
        for i, step in enumerate(item.steps):
            if number < more[i] and not _is_false(made[i]) and not forged[i]:
                made[i].append(compare(step.before, step.after, sharp(point), numbers, step.remainder, step.relation))
                if more[i] == len(rest) and not _lacks(step, item, made[i]):
                    more[i] = number + 1 + enough
    for i, step in enumerate(item.steps):
        if all(map(is_closed, (step.before, step.after, step.remainder))):
            made[i] += _compared((step.before, step.after), cheap, numbers, step, made[i])
    reach = _Reach(far_points(item), numbers, METER.done - work, len(item.steps) + len(item.claims))
    for i, step in enumerate(item.steps):
        if not forged[i]:
            made[i] += reach.compared((step.before, step.after), step, made[i])
    steps = tuple(
        StepCheck(step.rule.name, Verdict.FALSE, reason=reason) if reason else _step(step, found, item, lacking)
        for step, found, lacking, reason in zip(item.steps, made, missing, forged)
    )
    claims = tuple(_claim(item, claim, (first, rest, cheap), numbers, reach) for claim in item.claims)
    if changed := touched(before):
        start = StepCheck("start", Verdict.FALSE, reason=f"its rules change {', '.join(changed[:3])} while they run")
    return DerivationCheck(item.name, start, steps, claims, 0.0, restrictions(item), own_rules(item))


def _as_sharp_as_the_start(point: Point, item: Derivation, numbers: Numbers) -> Point:
    """The point with as many digits as the first line can have there: more of a later line show nothing of the chain."""
    if point.digits <= FLOAT_DIGITS or is_closed(item.start):
        return point
    found = numbers.at(item.start, point)
    return replace(point, digits=FLOAT_DIGITS) if found.known and "balls" not in found.method else point


def _foreign(item: Derivation) -> StepCheck | None:
    """What has no meaning that could be checked."""
    reason = unclear(item)
    return StepCheck("start", Verdict.FALSE, reason=reason) if reason else None


def _step(step: Step, made: list[Comparison], item: Derivation, missing: str) -> StepCheck:
    found = concluded(step.rule.name, made, (step.before, step.after), item, missing)
    if found.verdict is not Verdict.FALSE:
        return found
    return replace(found, sides=(as_text(step.before), as_text(step.after)), rule=step.rule.statement)


def _lacks(step: Step, item: Derivation, made: list[Comparison]) -> bool:
    """Whether more comparisons would have to be made before a step is called true."""
    return concluded("", made, (step.before, step.after), item).verdict is Verdict.UNKNOWN


def _turned(where: list[Point], item: Derivation) -> list[Point]:
    """The further points in an order that differs from chain to chain, so that the few that are used are of every kind."""
    first = sum(item.name.encode()) % max(len(where), 1)
    return [*where[first:], *where[:first]]


def _longer_seen(point: Point, made: list[Comparison]) -> bool:
    """Whether many tokens have been compared at a longer sequence, so that a shorter one adds nothing."""
    return point.kind == "many tokens" and any(c.kind == LONG.name and c.effective for c in made)


def _is_false(made: list[Comparison]) -> bool:
    return any(c.verdict is Verdict.FALSE for c in made)


def _compared(
    sides: tuple[Expr, Expr], where: Iterable[Point], numbers: Numbers, step: Step | None, before: list[Comparison]
) -> list[Comparison]:
    """Comparisons point by point, until one of them is false; of a claim, or of a step with its remainder and relation."""
    made: list[Comparison] = []
    remainder, relation = (S.Zero, "=") if step is None else (step.remainder, step.relation)
    for point in where:
        if not _is_false(before) and not _is_false(made) and not _longer_seen(point, made):
            made.append(compare(*sides, point, numbers, remainder, relation))
    return made


class _Reach:
    """Comparisons far from 1, within a share of the work that the other ones took; what is not reached is not compared.

    Args:
        where: ``far_points``, which are drawn as they are needed.
        work: that the other comparisons took.
        pairs: how many steps and claims share it.
    """

    def __init__(self, where: Iterator[Point], numbers: Numbers, work: int, pairs: int) -> None:
        self._waiting, self._numbers = where, numbers
        self._drawn: list[Point] = []
        self._part = max(FAR_WORK, FAR_SHARE * work) / max(pairs, 1)
        self._left = 0.0

    def compared(self, sides: tuple[Expr, Expr], step: Step | None, before: list[Comparison]) -> list[Comparison]:
        """Of one step or claim, point by point, until one is false; the work that it leaves is the next one's."""
        self._left += self._part
        if self._left <= 0:
            return []
        made: list[Comparison] = []
        for point in self._points():
            began = METER.done
            made += _compared(sides, [point], self._numbers, step, before)
            took = METER.done - began
            self._left -= took
            if _is_false(before) or _is_false(made) or self._left < took:  # another one takes as much
                break
        return made

    def _points(self) -> Iterator[Point]:
        """The points that are there, then new ones."""
        yield from self._drawn
        for point in self._waiting:
            self._drawn.append(point)
            yield point


def _remainder(step: Step, item: Derivation, where: Iterable[Point], numbers: Numbers, made: list[Comparison]) -> str:
    """Looks at the order of a remainder, adds what was compared, and says what keeps it from being a bound."""
    if step.remainder == S.Zero or _is_false(made):
        return ""
    more, missing = remainder_tested(step, item, where, numbers)
    made += more
    return missing


def _claim(
    item: Derivation, claim: Claim, where: tuple[list[Point], list[Point], list[Point]], numbers: Numbers, reach: _Reach
) -> StepCheck:
    """The result against the formula of a source. One expression is no comparison: nothing was computed."""
    sides = (item.result, claim.formula)
    if item.result == claim.formula and not item.steps:
        return StepCheck(claim.source, Verdict.UNKNOWN, reason="the chain has no step: the claim is its first line")
    if item.result == claim.formula:
        return StepCheck(claim.source, Verdict.TRUE, symbolic=True)
    first, rest, cheap = where
    sharp = partial(_as_sharp_as_the_start, item=item, numbers=numbers)
    made = _compared(sides, map(sharp, first), numbers, None, [])
    beyond = 0
    for point in rest:
        if _is_false(made) or beyond >= MORE:
            break
        beyond += concluded("", made, sides, item).verdict is Verdict.TRUE
        made.append(compare(*sides, sharp(point), numbers))
    if all(map(is_closed, sides)):
        made += _compared(sides, cheap, numbers, None, made)
    made += reach.compared(sides, None, made)
    found = replace(concluded(claim.source, made, sides, item), symbolic=_symbolic(item.result - claim.formula))
    if found.verdict is Verdict.FALSE:
        found = replace(found, sides=(as_text(item.result), as_text(claim.formula)))
    if found.verdict is Verdict.FALSE and claim.quoted:
        return replace(found, verdict=Verdict.DIFFERS)
    return found


def _symbolic(difference: Expr) -> bool | None:
    """Whether SymPy proves a short closed formula to be zero; None where it does not say."""
    if not is_elementary(difference) or difference.has(Quantity) or difference.count_ops() > MOST_OPERATIONS:
        return None
    try:
        return True if simplify(difference) == 0 else None
    except (ArithmeticError, ValueError, TypeError, NotImplementedError, AttributeError):
        return None
