"""Independent randomisations of one fixed point: their mean is the number, their scatter its error."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter

import numpy as np
from mpmath import mpf
from sympy import Float, Rational, sqrt

from symslr.evaluation.admission.admitted import check_means_exist
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fixed_point import (
    ARRIVED,
    MOST_JUMPS,
    MOST_SPREAD,
    VANISHED,
    FixedPoint,
    Memory,
    SaddleMap,
    attempt,
    has_strayed,
    is_new,
    solve,
)
from symslr.evaluation.finite_sample.problem import STARTS, FitProblem, ReplicaState, Training, start
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sampling.scatter import standard_error, student_factor
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import x

RANDOMISATIONS = 8
"""Whose spread gives the standard error, known to 27 per cent then."""
CONFIRMED = 2 * RANDOMISATIONS
"""Randomisations of a fit whose error is small enough by the first half of them."""
COARSE, FINEST, FINEST_AFFINE = 1024, 2**14, 2**17
"""Samples in a randomisation at first, at most, and at most where the proximal minimum is that of an affine score."""
FIRST = COARSE, 4 * COARSE
"""Samples on which branches are looked for: the second where the first shows none."""
ABUNDANT = 1000.0
"""Samples per dimension beyond which the way to a fit leads over so many: see ``_ways``."""
MODERATE, MOST_DECADES = 1.0, 16
"""Ridges within so many decades of 1 need no detour; beyond so many more there is none."""
STABILITY = 2048
"""Samples from which the stability is found."""
WITHOUT = {2: "is infinite", 4: "scatters without bound, so that samples of it say nothing"}
"""What is said of the risk where the mean of this power of kappa(sqrt(q_k) x), x standard normal, does not exist."""


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
        replicon: stability against two fits that differ a little; below 1 they come together.
        jumps: share of samples whose proximal minimum is not the one that descent from their field finds.
        spread: squared distance at which two fits to the same samples stay, over that of two that share only what they
            learnt: near 0 where the fit has one minimum, larger where many are nearly level.
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
    spread: float
    branch: str
    count: int

    @property
    def stable(self) -> bool:
        """Whether replica symmetry holds: replicon below 1, hardly a sample that jumps, and two fits that come together."""
        return self.replicon < 1 and self.jumps < MOST_JUMPS and self.spread < MOST_SPREAD

    @property
    def state(self) -> ReplicaState:
        """The order parameters as plain numbers."""
        return ReplicaState(**{name: float(value) for name, value in self.order_parameters.items()})


def randomised(
    problem: FitProblem, training: Training, state: ReplicaState, *, precision: float, seed: int, branch: str
) -> FiniteSample:
    """The branch reached from ``state``; samples are doubled until the risk's relative standard error is ``precision``.

    Every randomisation has a fixed point of its own. Where one has none, as beside an interpolation threshold, all take more
    samples. The first ``RANDOMISATIONS`` decide whether the samples are enough. Where they do so by chance they scatter too
    little, and with their error alone 7 per cent of the numbers would be beyond two errors. So as many that did not decide
    are added, and the error is that of all. A step that goes astray may end on another branch: that randomisation begins again
    from ``state``, and has not arrived where it strays again.
    """
    began, count, memory, home = time.perf_counter(), COARSE, Memory(), state
    finest = FINEST_AFFINE if SaddleMap(problem, COARSE, seed).is_affine else FINEST
    # The error of all randomisations over that of the first half, where the scatter is the same.
    shrinks = student_factor(CONFIRMED) / student_factor(RANDOMISATIONS) * math.sqrt(RANDOMISATIONS / CONFIRMED)

    def more(found: Sequence[FixedPoint], most: int) -> list[FixedPoint]:
        """These, and the fixed points of further randomisations up to so many, each from the last that arrived."""
        longer = list(found)
        for number in range(len(found), most):
            arrived = (point.state for point in reversed(longer) if point.change < ARRIVED)
            saddle = SaddleMap(problem, count, sub_seed(seed, number, count))
            point = solve(saddle, training, next(arrived, state), memory=memory)
            if has_strayed(point, home):
                memory.pairs.clear()
                point = solve(saddle, training, home, memory=memory)
            longer.append(replace(point, change=math.inf) if has_strayed(point, home) else point)
        return longer

    while True:
        found = more([], RANDOMISATIONS)
        error = _relative_error(problem, found) * shrinks
        if error <= precision:
            found = more(found, CONFIRMED)
            error = _relative_error(problem, found)
        state = next((point.state for point in reversed(found) if point.change < ARRIVED), state)
        if not error < math.inf and count >= finest:
            raise not_found(training)
        if error <= precision or count >= finest:
            sample = SaddleMap(problem, min(count, STABILITY), sub_seed(seed, 0, STABILITY))
            stability = sample.replicon(state, training), sample.jumps(state), sample.spread(state, training)
            return _summary(found, stability, branch, count, time.perf_counter() - began)
        # The scatter falls at least like 1/sqrt(count), often faster: no more than four times as many at once.
        wanted = min(count * (1.1 * error / precision) ** 2, 4 * count)
        count = min(finest, max(2 * count, 2 ** math.ceil(math.log2(wanted) - 0.5)))


def _relative_error(problem: FitProblem, found: Sequence[FixedPoint]) -> float:
    """The risk's standard error over the risk; infinite where a randomisation did not arrive.

    Raises:
        CannotEvaluate: where the risk is infinite, which no more samples change.
    """
    if not max(point.change for point in found) < ARRIVED:
        return math.inf
    check_risk(problem.attention, float(np.mean([point.state.q_k for point in found])))
    risks = [point.risk for point in found]
    return _error(risks, found) / abs(float(np.mean(risks)))


def check_risk(attention: Attention, q_k: float) -> None:
    """Refuse a fit whose test risk, or the standard error of samples of it, does not exist.

    An element-wise kernel that grows like exp(b x^2) makes it infinite at long keys.
    The scores of a new sample are normal with variance q_k, up to the shift of the relevant token, which decides nothing.

    Raises:
        CannotEvaluate: in one line.
    """
    if attention.is_normalised:
        return
    length = sqrt(Rational(Float(q_k)))
    for power, what in WITHOUT.items():
        try:
            check_means_exist(ScalarExpectation(attention.kernel.subs(x, length * x) ** power, x, STANDARD_NORMAL), {})
        except CannotEvaluate:
            raise CannotEvaluate(
                f"kernel {attention.kernel}: at the fit's squared length of the key, q_k = {q_k:.4g}, the test risk {what}; "
                "expected a larger ridge r_k or a kernel that grows more slowly"
            ) from None


def _error(numbers: Sequence[float], found: Sequence[FixedPoint]) -> float:
    """The standard error of a mean over randomisations, and what their fixed points move it by in second order.

    A coordinate that scatters by d moves a number by about d^2/2 on average, relative to its size. It does so too where the
    number hardly scatters, as a risk near its largest value. A key near 0 moves a number in proportion to its squared length,
    not to the logarithm; and as that is never below 0, its mean may be off by as much as it scatters.
    """
    coordinates = np.array([point.state.coordinates() for point in found])
    beside = 0.0
    if any(point.is_short for point in found):
        coordinates[:, 1] = [point.state.R_k for point in found]
        beside = float(np.std(numbers, ddof=1))
    size = abs(float(np.mean(numbers)))
    second = size * float(np.max(np.var(coordinates, axis=0, ddof=1))) / 2
    return math.hypot(standard_error(numbers), second, beside, size * _unseen(found))


def _unseen(found: Sequence[FixedPoint]) -> float:
    """Squared length of a key that may be there though it is 0 on these samples, as the share of those not seen has it.

    It is no less than what is held in the place of 0.
    """
    mean = sum(point.unseen for point in found) / len(found)
    return max(mean / len(found), VANISHED) if mean else 0.0


def branches(
    problem: FitProblem, training: Training, seed: int, starts: Sequence[str] = STARTS
) -> dict[str, FixedPoint]:
    """The fixed point of one coarse randomisation from each start, the lowest energy first; equal ones once.

    An iteration that did not arrive is left out, as the energy where it stopped says nothing; maybe none is left.
    """
    found: dict[str, FixedPoint] = {}
    for count in FIRST:
        saddle = SaddleMap(problem, count, sub_seed(seed, 0, count))
        for name in starts:
            ways = (_along(saddle, name, way) for way in _ways(training))
            point = next((point for point in ways if point is not None), None)
            if point is not None and is_new(point, found.values()):
                found[name] = point
        if found:
            break
    return dict(sorted(found.items(), key=lambda item: item[1].energy))


def _ways(training: Training) -> Iterator[list[Training]]:
    """Stages on the way to a training: none before it, then fewer samples, as where data abound the basin shrinks like
    1/alpha; then moderate ridges where its own are extreme.
    """
    yield [training]
    if training.alpha > ABUNDANT:
        yield [replace(training, alpha=ABUNDANT), training]
    ends = np.log10([training.r_k, training.r_v])
    moderate = np.clip(ends, -MODERATE, MODERATE)
    count = math.ceil(np.max(np.abs(ends - moderate)))
    if 0 < count <= MOST_DECADES:
        logs = np.linspace(moderate, ends, count + 1)
        yield [*(Training(training.alpha, *map(float, 10**log)) for log in logs[:-1]), training]


def _along(saddle: SaddleMap, name: str, way: Sequence[Training]) -> FixedPoint | None:
    """The fixed point at the end of a way, each stage from the one before."""
    state, before, point = start(name, way[0].alpha), way[0].alpha, None
    for stage in way:
        point = attempt(saddle, stage, state.with_samples(stage.alpha / before))
        if point is None:
            return None
        state, before = point.state, stage.alpha
    return point


def not_found(training: Training) -> CannotEvaluate:
    """What to say where no iteration arrives."""
    return CannotEvaluate(
        f"fixed point at alpha = {training.alpha:g}, ridges {training.r_k:g} and {training.r_v:g}: found no start from "
        "which the order parameters settle; expected convergence, so try ridges or an alpha nearer 1"
    )


def _summary(
    found: Sequence[FixedPoint], stability: tuple[float, float, float], branch: str, count: int, seconds: float
) -> FiniteSample:
    method = f"replica-symmetric fixed point, {len(found)} scrambled Sobol sets of {count} samples"

    def value(name: str) -> Value:
        numbers = [attrgetter(name)(point) for point in found]
        # The few samples pull with a force that does not vanish with the key, and so they move V_k by the root of q_k.
        hidden = {"state.q_k": _unseen(found), "state.V_k": float(np.mean(numbers)) * math.sqrt(_unseen(found))}
        return statistical(numbers, math.hypot(_error(numbers, found), hidden.get(name, 0.0)), method, seconds)

    return FiniteSample(
        value("risk"),
        value("training_loss"),
        value("energy"),
        {item.name: value(f"state.{item.name}") for item in fields(ReplicaState)},
        max(point.change for point in found),
        *stability,
        branch,
        count,
    )


def statistical(numbers: Sequence[float], error: float, method: str, seconds: float) -> Value:
    """The mean of independent numbers as a Value, with this for one standard error."""
    mean = float(np.mean(numbers))
    digits = math.floor(math.log10(abs(mean) / error)) + 1 if mean and error > 0 else 15 if mean else 0
    return Value(mpf(mean), mpf(error), Kind.STATISTICAL, min(max(digits, 0), 15), method, seconds)
