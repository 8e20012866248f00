"""Independent randomisations of one fixed point: their mean is the result, their scatter its error."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter

import numpy as np
from sympy import Float, Rational, sqrt

from symslr.evaluation.admission.admitted import check_means_exist
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fixed_point import (
    ARRIVED,
    MOST_JUMPS,
    MOST_SPREAD,
    ZERO_KEY,
    FixedPoint,
    SaddleMap,
    attempt,
    has_strayed,
    is_new,
    solve,
)
from symslr.evaluation.finite_sample.problem import FitProblem, ReplicaState, Training, start
from symslr.evaluation.numbers.anderson import AndersonMemory
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sampling.scatter import RANDOMISATIONS, standard_error, statistical, student_factor
from symslr.evaluation.sequence.state_evolution import STARTS
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.value import Value
from symslr.model.attention import Attention
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import x

CONFIRMED = 2 * RANDOMISATIONS
"""Number of randomisations once the first half has shown a small enough error."""
COARSE, FINEST, FINEST_AFFINE = 1024, 2**14, 2**17
"""Samples in a randomisation: at first, at most, and at most for affine attention, whose proximal problem is a scalar equation."""
FIRST = COARSE, 4 * COARSE
"""Sample sizes on which branches are searched: the second where the first shows none."""
ABUNDANT = 1000.0
"""alpha beyond which a fit is approached by continuation from this alpha: see ``_ways``."""
MODERATE, MOST_DECADES = 1.0, 16
"""Ridges more than the first number of decades away from 1 are also approached by continuation, if they are at most the second
number of decades further away."""
STABILITY = 2048
"""Samples from which the measures of stability are computed."""
WITHOUT = {2: "is infinite", 4: "scatters without bound, so that samples of it say nothing"}
"""Words of the message about the risk where the mean of this power of kappa(sqrt(q_k) x), x standard normal, does not exist."""


@dataclass(frozen=True)
class FiniteSample:
    """The fit at finite alpha by the replica-symmetric theory.

    Errors are one standard error plus, in quadrature, the second-order bias from the scatter of the order parameters.

    Attributes:
        risk: test risk E (y - f)^2 on a new sample.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: least value of the fit's objective, divided by D.
        order_parameters: m_k, q_k, V_k, m_v, q_v, V_v.
        change: largest move of m, log R or log V under one more step, over all randomisations: how well the iteration converged.
        replicon: below 1 replica symmetry is stable: two fits that differ a little approach each other.
        jumps: share of samples whose global proximal minimum is not the one that descent from their field finds.
        spread: squared distance of two fits to the same samples in units of 2 (q - m^2): near 0 where the fit has one minimum,
            larger where many have nearly the same energy.
        branch: the start that leads to this fixed point.
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
        """Whether replica symmetry is taken to hold: replicon below 1, jumps below 5e-3 and spread below 0.1."""
        return self.replicon < 1 and self.jumps < MOST_JUMPS and self.spread < MOST_SPREAD

    @property
    def symmetry(self) -> str:
        """The same in words, and what follows where it is broken."""
        broken = "is broken: fits get stuck above this energy, and the risk need not be theirs"
        return f"replica symmetry {'holds' if self.stable else broken}"

    @property
    def state(self) -> ReplicaState:
        """The order parameters as floats."""
        return ReplicaState(**{name: float(value) for name, value in self.order_parameters.items()})


def randomised(
    problem: FitProblem, training: Training, state: ReplicaState, *, precision: float, seed: int, branch: str
) -> FiniteSample:
    """The branch reached from ``state``; samples are doubled until the risk's relative standard error is ``precision``.

    Every randomisation has a fixed point of its own. Where one has none, as close to an interpolation threshold, all take more
    samples. The scatter of the first ``RANDOMISATIONS`` decides whether the samples suffice. It may be small by chance: with that
    error alone 7 per cent of the results would be off by more than two errors. So as many further randomisations are added, and
    the error is that of all. An iteration that ends on another branch is repeated from ``state``; if it does so again it counts as
    not converged.

    Raises:
        CannotEvaluate: where the finest samples still have no fixed point, or the risk is infinite.
    """
    began, count, memory, home = time.perf_counter(), COARSE, AndersonMemory(), state
    finest = FINEST_AFFINE if SaddleMap(problem, COARSE, seed).is_affine else FINEST
    # ratio of the standard error of all randomisations to that of the first half, at equal scatter
    shrinks = student_factor(CONFIRMED) / student_factor(RANDOMISATIONS) * math.sqrt(RANDOMISATIONS / CONFIRMED)

    def more(found: Sequence[FixedPoint], most: int) -> list[FixedPoint]:
        """``found`` and further fixed points up to ``most`` in number, each started from the last one that converged."""
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
        # the scatter falls at least like 1/sqrt(count), often faster: at most four times as many samples at once
        wanted = min(count * (1.1 * error / precision) ** 2, 4 * count)
        count = min(finest, max(2 * count, 2 ** math.ceil(math.log2(wanted) - 0.5)))


def _relative_error(problem: FitProblem, found: Sequence[FixedPoint]) -> float:
    """The relative standard error of the risk; infinite where a randomisation did not converge.

    Raises:
        CannotEvaluate: where the risk is infinite, whatever the number of samples.
    """
    if not max(point.change for point in found) < ARRIVED:
        return math.inf
    check_risk(problem.attention, float(np.mean([point.state.q_k for point in found])))
    risks = [point.risk for point in found]
    return _error(risks, found) / abs(float(np.mean(risks)))


def check_risk(attention: Attention, q_k: float) -> None:
    """Refuse a fit whose test risk, or the variance of samples of it, is infinite.

    That happens at long keys for an element-wise kernel that grows like exp(b x^2). The scores of a new sample are normal with
    variance q_k; the shift of the relevant token does not matter for convergence.

    Raises:
        CannotEvaluate: where E kappa^2 or E kappa^4 is infinite.
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
    """The error of a mean over randomisations: standard error and, in quadrature, the bias from the scatter of the fixed points.

    A coordinate that scatters by d shifts a mean by about d^2/2 relative to its size, even where the number itself hardly scatters,
    as a risk near its maximum. Near key 0 the coordinate is the squared length, not its logarithm; and as that cannot be negative,
    the mean may be off by as much as it scatters.
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
    """Squared length that a key of 0 may have due to samples too rare to be drawn (see ``FixedPoint.unseen``).

    0 where no key is 0; else at least ``ZERO_KEY``.
    """
    mean = sum(point.unseen for point in found) / len(found)
    return max(mean / len(found), ZERO_KEY) if mean else 0.0


def branches(
    problem: FitProblem, training: Training, seed: int, starts: Sequence[str] = STARTS
) -> dict[str, FixedPoint]:
    """Distinct fixed points on one coarse randomisation, by the start they come from, the lowest energy first.

    Starts from which the iteration does not converge are left out; the result may be empty.
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
    """Continuation paths to a training, tried in turn: directly; from ``ABUNDANT`` samples, as at large alpha the basin of
    attraction shrinks like 1/alpha; from moderate ridges where its own are extreme.
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
    """The fixed point at the end of a continuation path, each stage started from the one before; None where a stage fails."""
    state, before, point = start(name, way[0].alpha), way[0].alpha, None
    for stage in way:
        point = attempt(saddle, stage, state.with_samples(stage.alpha / before))
        if point is None:
            return None
        state, before = point.state, stage.alpha
    return point


def not_found(training: Training) -> CannotEvaluate:
    """The error to raise where no iteration converges."""
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
        # rare samples exert a force that does not vanish with the key, and so change V_k in proportion to sqrt(q_k)
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
