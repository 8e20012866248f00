"""Independent randomisations of one fixed point: their mean is the number, their scatter its error."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from mpmath import mpf

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fixed_point.acceleration import Memory
from symslr.evaluation.finite_sample.fixed_point.saddle import MOST_JUMPS, Problem, SaddleMap, Training
from symslr.evaluation.finite_sample.fixed_point.solve import FixedPoint, solve
from symslr.evaluation.finite_sample.order_parameters import STARTS, OrderParameters, start
from symslr.evaluation.finite_sample.samples.scatter import standard_error
from symslr.expression.value import Kind, Value

RANDOMISATIONS = 8
COARSE, FINEST, FINEST_AFFINE = 1024, 2**14, 2**17
FIRST = COARSE, 4 * COARSE
"""Samples on which branches are looked for: the second where the first shows none."""
ABUNDANT = 1000.0
MODERATE, MOST_DECADES = 10.0, 16
"""Ridges from a tenth to this need no detour; beyond so many decades from them there is none."""
ARRIVED = 0.1
"""A solution that still moves by more has not arrived: its branch may have ended."""
STABILITY = 2048
"""Samples from which the stability is found."""


@dataclass(frozen=True)
class FiniteSample:
    """The fit at finite alpha, as the replica-symmetric theory has it. Errors are one standard error, and what the
    scatter of the order parameters moves a number by in second order.

    Attributes:
        risk: test risk E (y - f)^2 on a new sample.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: least value of the fit's objective, divided by D.
        order_parameters: m_k, q_k, V_k, m_v, q_v, V_v.
        change: largest move of m, log R or log V under one more step, worst of the randomisations: how well all six
            have converged.
        branch: the start whose fixed point this is.
        count: samples per randomisation.
    """

    risk: Value
    training_loss: Value
    energy: Value
    order_parameters: dict[str, Value]
    change: float
    replicon: float
    jumps: float
    branch: str
    count: int

    @property
    def stable(self) -> bool:
        """Whether replica symmetry holds: replicon below 1, and hardly a sample that jumps."""
        return self.replicon < 1 and self.jumps < MOST_JUMPS

    @property
    def state(self) -> OrderParameters:
        """The order parameters as plain numbers."""
        return OrderParameters(**{name: float(value) for name, value in self.order_parameters.items()})


def randomised(
    problem: Problem,
    training: Training,
    state: OrderParameters,
    *,
    precision: float,
    seed: int,
    branch: str,
) -> FiniteSample:
    """The branch reached from ``state``; samples are doubled until the risk's relative standard error is ``precision``.

    Every randomisation has a fixed point of its own. Where one has none, as beside an interpolation threshold, all take more
    samples.
    """
    began, count, memory = time.perf_counter(), COARSE, Memory()
    while True:
        found: list[FixedPoint] = []
        for number in range(RANDOMISATIONS):
            saddle = SaddleMap(problem, count, sub_seed(seed, number, count))
            found.append(solve(saddle, training, state, memory=memory))
            if found[-1].change < ARRIVED:
                state = found[-1].state
        finest = FINEST_AFFINE if saddle.is_affine else FINEST
        if not max(point.change for point in found) < ARRIVED:
            if count >= finest:
                raise not_found(training)
            count = min(finest, 4 * count)
            continue
        error = _error([point.risk for point in found], found) / abs(float(np.mean([point.risk for point in found])))
        if error <= precision or count >= finest:
            sample = SaddleMap(problem, min(count, STABILITY), sub_seed(seed, 0, STABILITY))
            stability = sample.replicon(state, training), sample.jumps(state)
            return _summary(found, stability, branch, count, time.perf_counter() - began)
        # The scatter falls at least like 1/sqrt(count), often faster: no more than four times as many at once.
        wanted = count * (1.1 * error / precision) ** 2
        count = min(finest, 4 * count, max(2 * count, 2 ** math.ceil(math.log2(wanted) - 0.5)))


def _error(numbers: Sequence[float], found: Sequence[FixedPoint]) -> float:
    """The standard error of a mean over randomisations, and what their fixed points move it by in second order.

    A coordinate that scatters by d moves a number by about d^2/2 on average, relative to its size. It does so too where the
    number hardly scatters, as a risk near its largest value.
    """
    scatter = np.var([point.state.coordinates() for point in found], axis=0, ddof=1)
    return math.hypot(standard_error(numbers), abs(float(np.mean(numbers))) * float(np.max(scatter)) / 2)


def branches(problem: Problem, training: Training, seed: int, starts: Sequence[str] = STARTS) -> dict[str, FixedPoint]:
    """The fixed point of one coarse randomisation from each start, the lowest energy first; equal ones once.

    An iteration that did not arrive is left out, as the energy where it stopped says nothing; maybe none is left.
    """
    found: dict[str, FixedPoint] = {}
    for count in FIRST:
        saddle = SaddleMap(problem, count, sub_seed(seed, 0, count))
        for name in starts:
            point = _from_start(saddle, training, name)
            if point is not None and not any(is_same(point.state, other.state) for other in found.values()):
                found[name] = point
        if found:
            break
    return dict(sorted(found.items(), key=lambda item: item[1].energy))


def _from_start(saddle: SaddleMap, training: Training, name: str) -> FixedPoint | None:
    """The fixed point from a start, None where the iteration does not arrive.

    Where data abound the basin shrinks like 1/alpha, and a second attempt goes by way of fewer samples; where ridges are
    extreme, by way of moderate ones.
    """
    return next((point for way in _ways(training) if (point := _along(saddle, name, way)) is not None), None)


def _ways(training: Training) -> Iterator[list[Training]]:
    yield [training]
    if training.alpha > ABUNDANT:
        yield [replace(training, alpha=ABUNDANT), training]
    moderate = [min(max(ridge, 1 / MODERATE), MODERATE) for ridge in (training.r_k, training.r_v)]
    decades = max(abs(math.log10(ridge / near)) for ridge, near in zip((training.r_k, training.r_v), moderate))
    count = math.ceil(decades)
    if 0 < count <= MOST_DECADES:
        shares = [step / count for step in range(count + 1)]
        ends = tuple(zip(moderate, (training.r_k, training.r_v), strict=True))
        yield [Training(training.alpha, *(near * (end / near) ** share for near, end in ends)) for share in shares]


def _along(saddle: SaddleMap, name: str, way: Sequence[Training]) -> FixedPoint | None:
    """The fixed point at the end of a way, each stage from the one before."""
    state, before, point = start(name, way[0].alpha), way[0].alpha, None
    for stage in way:
        point = attempt(saddle, stage, state.with_samples(stage.alpha / before))
        if point is None:
            return None
        state, before = point.state, stage.alpha
    return point


def attempt(saddle: SaddleMap, training: Training, state: OrderParameters) -> FixedPoint | None:
    """The fixed point reached from a state, None where the iteration does not arrive."""
    try:
        point = solve(saddle, training, state)
    except CannotEvaluate:
        return None
    return point if point.change < ARRIVED else None


def not_found(training: Training) -> CannotEvaluate:
    """What to say where no iteration arrives."""
    return CannotEvaluate(
        f"fixed point at alpha = {training.alpha:g}, ridges {training.r_k:g} and {training.r_v:g}: found no start from "
        "which the order parameters settle; expected convergence, so try larger ridges or an alpha nearer 1"
    )


def is_same(one: OrderParameters, two: OrderParameters) -> bool:
    """Whether two fixed points are one branch."""
    return bool(np.max(np.abs(one.coordinates() - two.coordinates())) < 0.02)


def sub_seed(seed: int, number: int, count: int) -> int:
    """Its own scrambling for every randomisation and size; the same on every machine."""
    return int(np.random.SeedSequence([seed, number, count]).generate_state(1)[0])


def _summary(
    found: Sequence[FixedPoint], stability: tuple[float, float], branch: str, count: int, seconds: float
) -> FiniteSample:
    method = f"replica-symmetric fixed point, {len(found)} scrambled Sobol sets of {count} samples"

    def value(numbers: Sequence[float]) -> Value:
        return statistical(float(np.mean(numbers)), _error(numbers, found), method, seconds)

    states = [point.state for point in found]
    return FiniteSample(
        value([point.risk for point in found]),
        value([point.training_loss for point in found]),
        value([point.energy for point in found]),
        {item.name: value([getattr(state, item.name) for state in states]) for item in fields(OrderParameters)},
        max(point.change for point in found),
        *stability,
        branch,
        count,
    )


def statistical(number: float, error: float, method: str, seconds: float) -> Value:
    """A Value whose error is one standard error."""
    if error > 0 and number:
        digits = max(0, math.floor(math.log10(abs(number) / error)) + 1)
    else:
        digits = 15 if number else 0
    return Value(mpf(number), mpf(error), Kind.STATISTICAL, min(digits, 15), method, seconds)
