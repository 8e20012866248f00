"""Every step of every derivation at random admissible points, by routes that share no code beyond SymPy."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import numpy as np
from mpmath import mpf
from sympy import Expr, S, simplify

from symslr.algebra.derivation import Claim, Derivation
from symslr.check.compare import compare
from symslr.check.monte_carlo import simulate_expectation
from symslr.check.points import Point, points
from symslr.check.report import CheckReport, Comparison, DerivationCheck, StepCheck, Verdict
from symslr.check.routes import EVALUATOR, REFEREE, OutOfTime, Routes, is_elementary, processor_time
from symslr.check.zscore import REJECT
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.quantity import Quantity
from symslr.kept.code import code_version
from symslr.kept.content import content
from symslr.kept.results import Kept, key_of
from symslr.model.symbols import L, nu
from symslr.referee.arithmetic import CannotReferee

SECONDS_PER_VALUE = 5.0
SECONDS_PER_DERIVATION = 40.0
"""Processor time; what is not done by then is unknown."""

SAMPLES = 200_000
SEED = 20_259_210
"""Of the simulated starts: the k-th expectation of a derivation has SEED + k."""

MOST_NODES = 3
"""Expectations of one start that are simulated."""

NEEDED = 2
"""Effective comparisons, at different points, that make a step true."""

Progress = Callable[[int, str], None]


def check(
    derivations: Sequence[Derivation],
    *,
    jobs: int | None = None,
    progress: Progress = lambda done, name: None,
    seconds: float = SECONDS_PER_DERIVATION,
    kept: Kept | None = None,
) -> CheckReport:
    """Check derivations, one process each, ``jobs`` at a time.

    Args:
        derivations: as ``collect`` returns them.
        jobs: processes; the number of processors by default. 1 checks in this process.
        progress: called after each derivation with the number done and its name.
        seconds: processor time for one derivation; what is not done by then is unknown.
        kept: where verdicts are found that an earlier check of the same chain by the same code reached, and where new
            ones are written at once. Unknown is not kept: time may have run out on a busy machine.
    """
    began = time.monotonic()
    keys = [] if kept is None else [_key(item, seconds) for item in derivations]
    found = [] if kept is None else [kept.get(key) for key in keys]
    results = {i: item for i, item in enumerate(found) if isinstance(item, DerivationCheck)}
    if results:
        progress(len(results), "found in the store")

    def note(index: int, result: DerivationCheck) -> None:
        results[index] = result
        if kept is not None and result.verdict is not Verdict.UNKNOWN:
            kept.put(keys[index], f"check {result.name}", result)
        progress(len(results), result.name)

    waiting = [index for index in range(len(derivations)) if index not in results]
    jobs = min(jobs or os.cpu_count() or 1, max(len(waiting), 1))
    if jobs == 1 or "fork" not in multiprocessing.get_all_start_methods():
        for index in waiting:
            note(index, check_derivation(derivations[index], seconds))
    else:
        _in_processes(derivations, waiting, jobs, note, seconds)
    return CheckReport(tuple(results[i] for i in range(len(derivations))), time.monotonic() - began)


def _key(item: Derivation, seconds: float) -> str:
    """What a verdict depends on: the chain itself, not the file it stands in."""
    steps = [(s.before, s.after, s.remainder, s.rule.name, s.rule.statement) for s in item.steps]
    asked = content((item.name, item.start, steps, item.claims, item.ranges, seconds))
    return key_of("check", asked, code_version(__name__))


_shared: Sequence[Derivation] = ()
"""What the forked processes read: rules that users wrote live in modules that cannot be pickled by name."""


def _in_processes(
    derivations: Sequence[Derivation],
    waiting: Sequence[int],
    jobs: int,
    note: Callable[[int, DerivationCheck], None],
    seconds: float,
) -> None:
    global _shared  # noqa: PLW0603
    _shared = derivations
    heaviest = sorted(waiting, key=lambda i: -_weight(derivations[i]))
    try:
        with warnings.catch_warnings():
            # the children neither print nor take the locks of a progress bar's thread
            warnings.simplefilter("ignore", DeprecationWarning)
            with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
                pending: dict[Future[DerivationCheck], int] = {pool.submit(_numbered, i, seconds): i for i in heaviest}
                while pending:
                    finished, _ = wait(pending, return_when=FIRST_COMPLETED)
                    for future in finished:
                        index = pending.pop(future)
                        note(index, _result(future, derivations[index]))
    finally:
        _shared = ()


def _weight(item: Derivation) -> int:
    return sum(1 for step in item.steps if not is_elementary(step.before)) + item.start.has(SequenceExpectation)


def _numbered(index: int, seconds: float) -> DerivationCheck:
    return check_derivation(_shared[index], seconds)


def _result(future: Future[DerivationCheck], item: Derivation) -> DerivationCheck:
    try:
        return future.result()
    except BrokenProcessPool:
        return _unchecked(item, "the process that checked it died")


def _unchecked(item: Derivation, reason: str) -> DerivationCheck:
    def unknown(what: str) -> StepCheck:
        return StepCheck(what, Verdict.UNKNOWN, reason=reason)

    return DerivationCheck(
        item.name,
        None,
        tuple(unknown(step.rule.name) for step in item.steps),
        tuple(unknown(claim.source) for claim in item.claims),
    )


def check_derivation(item: Derivation, seconds: float = SECONDS_PER_DERIVATION) -> DerivationCheck:
    """One derivation: its start against Monte Carlo, each step, each claim."""
    began = time.process_time()
    try:
        where = points(item)
    except ValueError as refusal:
        return _unchecked(item, str(refusal))
    routes = Routes(SECONDS_PER_VALUE, began + seconds)
    start = _start(item, routes)
    steps: list[StepCheck] = [StepCheck("", Verdict.UNKNOWN)] * len(item.steps)
    made: list[list[Comparison]] = [[] for _ in item.steps]
    # point by point, not step by step: where time runs out every step has had its most telling points
    for point in where:
        for i, step in enumerate(item.steps):
            if any(c.verdict is Verdict.FALSE for c in made[i]):
                continue
            made[i] += compare(step.before, step.after, point, routes, step.remainder, step.relation)
    for i, step in enumerate(item.steps):
        steps[i] = _concluded(step.rule.name, made[i], (step.before, step.after), item, bool(step.remainder != S.Zero))
        if steps[i].verdict is Verdict.FALSE:
            steps[i] = replace(steps[i], sides=(str(step.before), str(step.after)), rule=step.rule.statement)
    claims = tuple(_claim(item, claim, where, routes) for claim in item.claims)
    return DerivationCheck(item.name, start, tuple(steps), claims, time.process_time() - began)


def _concluded(
    what: str, made: list[Comparison], sides: tuple[Expr, Expr], item: Derivation, truncated: bool = False
) -> StepCheck:
    """The verdict that the comparisons of one step allow."""
    false = [c for c in made if c.verdict is Verdict.FALSE]
    if false:
        return StepCheck(what, Verdict.FALSE, tuple(made), false[0].reason)
    good = [c for c in made if c.effective]
    reasons = "; ".join(dict.fromkeys(c.reason for c in made if c.reason))
    varied = any(side.free_symbols for side in sides)
    if len({c.point for c in good}) < (NEEDED if varied else 1):
        new = sorted(str(s) for s in sides[1].free_symbols - sides[0].free_symbols if s.is_Symbol)
        unbound = f"the step brings in {', '.join(new)}, which the line before does not know: " if new else ""
        return StepCheck(what, Verdict.UNKNOWN, tuple(made), unbound + (reasons or "no comparison could have failed"))
    if _length_matters(sides, item) and not any((c.length or 0) >= 3 for c in good):
        return StepCheck(what, Verdict.UNKNOWN, tuple(made), f"nothing was compared at L >= 3: {reasons}")
    if not truncated and not any(c.independent for c in good) and not all(c.routes == (REFEREE, REFEREE) for c in good):
        return StepCheck(what, Verdict.UNKNOWN, tuple(made), f"no two independent routes: {reasons}")
    return StepCheck(what, Verdict.TRUE, tuple(made))


def _length_matters(sides: tuple[Expr, Expr], item: Derivation) -> bool:
    """Whether L is free and may be 3 or more."""
    if not any(L in side.free_symbols or any(s.name == "P_L" for s in side.free_symbols) for side in sides):
        return False
    allowed = item.ranges.get(L)
    return allowed is None or max(allowed) >= 3  # type: ignore[call-overload]


def _claim(item: Derivation, claim: Claim, where: list[Point], routes: Routes) -> StepCheck:
    if item.result == claim.formula:
        return StepCheck(claim.source, Verdict.TRUE, symbolic=True)
    made: list[Comparison] = []
    for point in where:
        if not any(c.verdict is Verdict.FALSE for c in made):
            made += compare(item.result, claim.formula, point, routes)
    found = _concluded(claim.source, made, (item.result, claim.formula), item)
    found = replace(found, symbolic=_symbolic(item.result - claim.formula))
    if found.verdict is Verdict.FALSE:
        found = replace(found, sides=(str(item.result), str(claim.formula)))
    if found.verdict is Verdict.FALSE and claim.quoted:
        return replace(found, verdict=Verdict.DIFFERS)
    return found


def _symbolic(difference: Expr) -> bool | None:
    """Whether SymPy proves a short closed formula to be zero; None where it does not say."""
    if not is_elementary(difference) or difference.has(Quantity) or difference.count_ops() > 150:
        return None
    try:
        with processor_time(2.0):
            return True if simplify(difference) == 0 else None
    except (OutOfTime, ArithmeticError, ValueError, TypeError, NotImplementedError, AttributeError):
        return None


def _start(item: Derivation, routes: Routes) -> StepCheck | None:
    """Every expectation over sequences in the first line against the mean over simulated sequences."""
    start = item.start.replace(lambda node: isinstance(node, Quantity), lambda node: node.definition())
    nodes = sorted(start.atoms(SequenceExpectation), key=str)[:MOST_NODES]
    if not nodes:
        return None
    made = [_simulated(node, point, routes, i) for i, point in enumerate(_plain(item)) for node in nodes]
    false = [c for c in made if c.verdict is Verdict.FALSE]
    if false:
        return StepCheck("start", Verdict.FALSE, tuple(made), false[0].reason)
    if any(c.effective for c in made):
        return StepCheck("start", Verdict.TRUE, tuple(made))
    return StepCheck("start", Verdict.UNKNOWN, tuple(made), "; ".join(dict.fromkeys(c.reason for c in made)))


def _plain(item: Derivation) -> list[Point]:
    """Points with two and with three tokens at which samples say something.

    The first line is a definition, so it may be simulated at moderate signal where the steps need a strong one. A random
    length takes one of its lengths.
    """
    ranges = {symbol: allowed for symbol, allowed in item.ranges.items() if symbol != nu}
    where = points(item.named(ranges=ranges))
    chosen = [p for p in where if p.kind in ("two tokens", "three tokens")]
    return [replace(p, values={"L": p.length, **p.values}) if p.length is not None else p for p in chosen]


def _simulated(node: SequenceExpectation, point: Point, routes: Routes, number: int) -> Comparison:
    """One expectation: the sample mean against the evaluators, or the referee where they have no number."""
    inner = {s.name: 1 for s in node.free_symbols if s.name not in point.values}
    if inner:
        point = replace(point, values={**point.values, **inner})
    unknown = Comparison(str(point), point.kind, ("simulation", ""), Verdict.UNKNOWN, length=point.length)
    exact = routes.value(EVALUATOR, node, point)
    exact = exact if exact.known else routes.value(REFEREE, node, point)
    if not exact.known:
        return replace(unknown, reason=exact.reason)
    try:
        with processor_time(SECONDS_PER_VALUE):
            sample = simulate_expectation(node, point.values, SAMPLES, seed=SEED + number)
    except OutOfTime:
        return replace(unknown, reason="simulation: out of time")
    except (CannotReferee, ValueError) as refusal:
        return replace(unknown, reason=f"simulation: {refusal}")
    z = sample.z(float(exact.value), float(exact.error))
    wrong = sample.contradicts(float(exact.value), float(exact.error))
    if wrong:
        reason = (
            f"sample mean {sample.mean:.8g} +- {sample.error:.2g} (seed {sample.seed}), "
            f"{exact.route} {float(exact.value):.8g}: z = {z:.1f} at {point}"
        )
    else:
        reason = "" if sample.has_power else f"standard error {sample.error:.2g} of {sample.mean:.3g} says nothing"
    return replace(
        unknown,
        routes=("simulation", exact.route),
        verdict=Verdict.FALSE if wrong else Verdict.TRUE if sample.has_power else Verdict.UNKNOWN,
        left=mpf(sample.mean),
        right=exact.value,
        difference=mpf(abs(sample.mean - float(exact.value))),
        tolerance=mpf(REJECT * sample.error),
        digits=max(0, int(-np.log10(max(sample.error / max(abs(sample.mean), 1e-300), 1e-16)))),
        effective=wrong or sample.has_power,
        reason=reason,
        z=z,
    )
