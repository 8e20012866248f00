"""The first line of a chain against simulated sequences: every expectation in it is a mean over samples from the model."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath import mpf
from sympy import Rational

from symslr.algebra.derivation import Derivation
from symslr.check.configuration_means import simulate_configurations
from symslr.check.monte_carlo import simulate_expectation
from symslr.check.numbers import REFEREE, Numbers
from symslr.check.points import Point, points, written_out
from symslr.check.report import Comparison, StepCheck, Verdict
from symslr.check.zscore import HEAVY, POWER, REJECT, SampleMean
from symslr.expression.at import At
from symslr.expression.configuration import ConfigurationExpectation
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.instance import instance
from symslr.model.symbols import nu
from symslr.referee.arithmetic import CannotReferee

SAMPLES, MANY_SAMPLES = 200_000, 1_600_000
SEED = 20_259_210
"""Of the simulated starts: the k-th expectation of a derivation has SEED + k."""

HOPEFUL = 1.3
"""How much larger than what has power a standard error of many samples may promise to be."""

ALWAYS, MOST_TOKENS = 2, 3
"""Points that are simulated in any case, of two and of three tokens; length up to which others are."""

MOST_NODES = 3
"""Expectations of one start that are simulated."""

UNSEEN = "rare and large events may have been missed"

Simulated = SequenceExpectation | ConfigurationExpectation
"""What is simulated."""


def simulated_start(item: Derivation, numbers: Numbers) -> StepCheck | None:
    """Every expectation over sequences, or over configurations, in the first line against the mean over simulated sequences."""
    start = written_out(item.start)
    nodes = sorted(start.atoms(SequenceExpectation, ConfigurationExpectation), key=str)[:MOST_NODES]
    if not nodes:
        return None
    held = {
        str(symbol): Fraction(int(place.p), int(place.q))
        for at in start.atoms(At)
        for symbol, place in at.place.items()
        if isinstance(place, Rational)
    }
    made: list[Comparison] = []
    for i, point in enumerate(_plain(item)):
        if i >= ALWAYS and any(c.effective or UNSEEN in c.reason for c in made):
            break
        made += [_simulated(node, point, numbers, i, held) for node in nodes]
    false = [c for c in made if c.verdict is Verdict.FALSE]
    if false:
        return StepCheck("start", Verdict.FALSE, tuple(made), false[0].reason)
    if any(c.effective for c in made) and not any(UNSEEN in c.reason for c in made):
        return StepCheck("start", Verdict.TRUE, tuple(made))
    return StepCheck("start", Verdict.UNKNOWN, tuple(made), "; ".join(dict.fromkeys(c.reason for c in made)))


def _plain(item: Derivation) -> list[Point]:
    """Points with two and with three tokens at which samples say something, and further ones for a mean that is small there.

    The first line is a definition, so it may be simulated at moderate signal where the steps need a strong one. A random
    length takes one of its lengths.
    """
    ranges = {symbol: allowed for symbol, allowed in item.ranges.items() if symbol != nu}
    where = points(item.named(ranges=ranges))
    first = [p for p in where if p.kind in ("two tokens", "three tokens")]
    few = [p for p in where if p not in first and (p.length is None or p.length <= MOST_TOKENS)]
    chosen = [*first, *(few if len(first) == ALWAYS else [])]
    return [replace(p, values={"L": p.length, **p.values}) if p.length is not None else p for p in chosen]


@lru_cache(maxsize=1024)
def _sampled(node: Simulated, values: tuple[tuple[str, Any], ...], seed: int) -> SampleMean:
    sample = _means(node, dict(values), SAMPLES, seed)
    # a mean that is small beside what it is a mean of takes more of them, where that many are enough
    enough = sample.error * math.sqrt(SAMPLES / MANY_SAMPLES) <= HOPEFUL * POWER * abs(sample.mean)
    if sample.has_power or not (enough or sample.concentration > HEAVY):
        return sample
    return _means(node, dict(values), MANY_SAMPLES, seed)


def _means(node: Simulated, values: dict[str, Any], size: int, seed: int) -> SampleMean:
    if isinstance(node, ConfigurationExpectation):
        return simulate_configurations(node, values, size, seed)
    return simulate_expectation(node, values, size, seed)


def _simulated(node: Simulated, point: Point, numbers: Numbers, number: int, held: dict[str, Fraction]) -> Comparison:
    """One expectation: the sample mean against the referee."""
    node = instance(node, point.functions)
    inner = {s.name: held.get(s.name, 1) for s in sorted(node.free_symbols, key=str) if s.name not in point.values}
    if inner:
        point = replace(point, values={**point.values, **inner})
    unknown = Comparison(str(point), point.kind, ("simulation", ""), Verdict.UNKNOWN, lengths=point.lengths)
    exact = numbers.at(node, point)
    if not exact.known:
        return replace(unknown, reason=exact.reason)
    try:
        sample = _sampled(node, tuple(point.for_expression(node).items()), SEED + number)
    except (CannotReferee, ValueError) as refusal:
        return replace(unknown, reason=f"simulation: {refusal}")
    z = sample.z(float(exact.value), float(exact.error))
    apart = abs(z) > REJECT
    square = numbers.at(node.func(node.body**2, node.law), point) if apart else exact
    # a sample is a weight, of mean 1, times the body
    second = sample.heaviest * abs(float(square.value))
    wrong = apart and square.known and sample.contradicts(float(exact.value), float(exact.error), second)
    if apart and not wrong:
        reason = f"{sample.mean:.8g} from samples, {REFEREE} {float(exact.value):.8g}: {UNSEEN}"
    elif wrong:
        reason = (
            f"sample mean {sample.mean:.8g} +- {sample.error:.2g} (seed {sample.seed}), "
            f"{REFEREE} {float(exact.value):.8g}: z = {z:.1f} at {point}"
        )
    else:
        reason = "" if sample.has_power else f"standard error {sample.error:.2g} of {sample.mean:.3g} says nothing"
    return replace(
        unknown,
        routes=("simulation", REFEREE),
        verdict=Verdict.FALSE if wrong else Verdict.TRUE if sample.has_power and not apart else Verdict.UNKNOWN,
        left=mpf(sample.mean),
        right=exact.value,
        difference=mpf(abs(sample.mean - float(exact.value))),
        tolerance=mpf(REJECT * sample.error),
        digits=max(0, int(-np.log10(max(sample.error / max(abs(sample.mean), 1e-300), 1e-16)))),
        effective=wrong or (sample.has_power and not apart),
        reason=reason,
        z=z,
    )
