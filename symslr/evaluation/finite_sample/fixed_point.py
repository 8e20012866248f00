"""The saddle-point map on one randomisation, order parameters -> forces of the samples -> order parameters, and its fixed point.

Accelerated steps in settled basins, then a guarded look for better ones; Anderson's acceleration has a memory that outlives one
iteration.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from sympy import Expr, Symbol, simplify

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fields import Array
from symslr.evaluation.finite_sample.problem import FitProblem, ReplicaState, Training
from symslr.evaluation.finite_sample.sample_set import SampleSet
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.symbols import x
from symslr.theory.finite_sample_energy import ALPHA, KEY, force_means
from symslr.theory.finite_sample_saddle import saddle_point_equations


@dataclass(frozen=True)
class Step:
    """What one pass over the samples found.

    Attributes:
        following: the next order parameters.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: value of the fit's objective per dimension, alpha (training loss) + r_k q_k/2 + r_v q_v/2.
    """

    following: ReplicaState
    training_loss: float
    energy: float


F2, FXI, FH = (Symbol(name, real=True) for name in ("f2", "fxi", "fh"))


@cache
def _update() -> tuple[Any, Any]:
    """The saddle-point equations as functions.

    (alpha, r, m, q, E sum f^2, E sum f xi, E sum f h) -> (r + Vhat, mhat, qhat), and (V, mhat, qhat) -> (m, q - m^2).
    """
    t = KEY
    means = dict(zip(force_means(t), (F2, FXI, FH), strict=True))
    solved = {unknown: value.xreplace(means) for unknown, value in saddle_point_equations(t).items()}
    hats = [1 / solved[t.V].subs(t.Vhat, solved[t.Vhat]), solved[t.mhat], solved[t.qhat]]
    stiffness = 1 / t.V - t.ridge
    overlap, length = (simplify(solved[s].subs(t.Vhat, stiffness)) for s in (t.m, t.q))
    return (
        compile_float([ALPHA, t.ridge, t.m, t.q, F2, FXI, FH], hats),
        compile_float([t.V, t.mhat, t.qhat], [overlap, (length - overlap**2).expand()]),
    )


FASTEST = 4.0
"""In one step a response grows at most this many times: far from the fixed point r + Vhat may even be negative."""
ABUNDANT = 100.0
"""alpha from which on a label's noise is subtracted, at twice the cost of a step."""
MOST_JUMPS = 5e-3
"""Fits agreed with the theory up to 0.1 per cent of jumping samples, and no longer at 1 per cent."""
MOST_SPREAD = 0.1
"""Fits agreed with the theory up to 0.05, and from 0.5 on they stopped in many minima above its energy."""
NEARBY = 0.01
"""Squared distance at which two fits are let go, as a share of the largest."""
FARTHEST = 1 - 1e-6
"""Share of the largest squared distance at which the two still have a field in common."""
SETTLED = 0.02
"""The distance has settled where one more step moves it by less, as a share of itself."""
MOST_PARTINGS = 40
"""Steps of two fits; each costs two guarded proximal problems a sample."""
BLOCKS = 4
"""Blocks of samples whose means are compared, so that one sample does not decide on stability."""


class SaddleMap:
    """The map whose fixed point is sought, on one randomisation of the samples.

    Args:
        count: samples of each length, a power of two.
        seed: of the scrambling.
    """

    def __init__(self, problem: FitProblem, count: int, seed: int) -> None:
        attention = problem.attention
        if all(share.length == 1 for share in problem.shares) and attention.is_normalised and attention.offset == 0:
            raise ValueError(
                f"length: found 1 with {attention.name} attention, which is then 1 whatever the key; expected at "
                "least 2, or an offset in the normaliser"
            )
        self.problem = problem
        self.sets = [
            SampleSet(share.law, share.length, problem.noise, attention, count, own)
            for share, own in problem.scrambled(seed)
        ]

    @property
    def short(self) -> float:
        """Squared length up to which a key is near 0; 0 where it is no such key."""
        return _short(self.problem.attention.kernel)

    @property
    def is_affine(self) -> bool:
        """Whether the proximal problem is one scalar equation a sample."""
        return self.sets[0].affine is not None

    def step(self, state: ReplicaState, training: Training, guarded: bool = True) -> Step:
        """One application of the map at these order parameters.

        Args:
            guarded: start every proximal problem from several points, not only from its last solution.

        Raises:
            CannotEvaluate: where the step leaves the reals, as it may far from a fixed point.
        """
        with np.errstate(all="ignore"):  # what leaves float64 is no real order parameter below
            means = self._mixed(lambda samples: samples.means(state, guarded, training.alpha > ABUNDANT))
            keys = _channel(training.alpha, training.r_k, state.m_k, state.q_k, state.V_k, means[:3])
            vals = _channel(training.alpha, training.r_v, state.m_v, state.q_v, state.V_v, means[3:6])
        loss = float(means[6])
        energy = training.alpha * loss + (training.r_k * state.q_k + training.r_v * state.q_v) / 2
        outside = (keys[1] - keys[0] ** 2, vals[1] - vals[0] ** 2)
        if not (np.all(np.isfinite([*keys, *vals])) and min(outside) > 0):
            raise CannotEvaluate(
                f"fixed point at alpha = {training.alpha:g}: found a step to no real order parameters; expected "
                "convergence, so try ridges or an alpha nearer 1"
            )
        return Step(ReplicaState(*keys, *vals), loss, energy)

    def _mixed(self, read: Callable[[SampleSet], Any]) -> Array:
        """The mean of what is read off the samples over their lengths."""
        pairs = zip(self.problem.shares, self.sets, strict=True)
        return np.asarray(sum(share.probability * np.asarray(read(samples)) for share, samples in pairs))

    def jumps(self, state: ReplicaState) -> float:
        """Share of samples whose proximal minimum is not the one that descent from their field finds.

        There the proximal point jumps as the field moves, and with a finite share of such samples replica symmetry is
        broken: the energy is a lower bound, and a fit gets stuck above it. Linear attention never jumps.
        """
        return float(self._mixed(lambda samples: samples.jumps(state)))

    def replicon(self, state: ReplicaState, training: Training) -> float:
        """Largest eigenvalue of M_ab = alpha V_a^2 E sum_lm (d f_a,l/d omega_b,m)^2 over a, b = k, v.

        Replica symmetry is stable where it is below 1: two fits that differ a little are then pulled together. Where
        two minima are about to merge the squared slope has a finite mean and an infinite variance, so the mean is the
        median of the means of a few blocks of samples.
        """
        squares = self._mixed(lambda samples: samples.squared_slopes(state))
        scale = training.alpha * np.array([[state.V_k**2], [state.V_v**2]])
        means = (scale * block.mean(axis=2) for block in np.array_split(squares, BLOCKS, axis=2))
        return float(np.median([np.max(np.abs(np.linalg.eigvals(mean))) for mean in means]))

    def spread(self, state: ReplicaState, training: Training) -> float:
        """Squared distance of two fits to the same samples over that of two fits that share only what they learnt.

        From 0 to 1, the larger of keys and values. Two fits whose squared distances are d_a, a = k, v, are d_a' apart
        after one more step, d_a' = alpha V_a^2 E sum_l (f_a,l - f_a,l')^2. The replicon is the slope of this map at
        d = 0, as far as no proximal point jumps. Those that jump add a term of order sqrt(d) to it, which no slope shows.
        So the map is iterated from ``NEARBY`` until the distance settles. Where replica symmetry holds it dies out.
        Where it does not, the fit has many minima of nearly the same energy that far apart.
        """
        outside = np.array([state.R_k, state.R_v])
        scale = training.alpha * np.array([state.V_k, state.V_v]) ** 2 / (2 * outside)
        share = np.full(2, NEARBY)
        for _ in range(MOST_PARTINGS):
            apart = 2 * outside * np.minimum(share, FARTHEST)
            before, share = share, scale * self._mixed(partial(SampleSet.parted, state=state, apart=apart))
            if np.max(share) < NEARBY / 10 or np.max(np.abs(share - before)) < SETTLED * np.max(share):
                break
        return float(min(np.max(share), 1.0))

    def test_risk(self, state: ReplicaState) -> float:
        """E (y - f)^2 of the fit on a new sample: Delta^2 + 1 - 2 m_v E sigma_eps + q_v E |sigma|^2, values integrated."""
        hit, norm = self._mixed(lambda samples: samples.attention(state))
        return float(self.problem.noise**2 + 1 - 2 * state.m_v * hit + state.q_v * norm)


@cache
def _short(kernel: Expr) -> float:
    """Squared length up to which a key is near 0, in units of the kernel's curvature; 0 where a key may not be 0.

    It may where attention is even, so that no direction is told from its negative, and not 0 at 0. Near 0 attention is then
    1/L up to terms of the order of the squared length.
    """
    mirrored = kernel.subs(x, -x)
    if abs(float(kernel.subs(x, 0.7) - mirrored.subs(x, 0.7))) > 1e-9 or simplify(kernel - mirrored) != 0:
        return 0.0
    value, *curved = (kernel.diff(x, order).subs(x, 0) for order in (0, 2, 4))
    if value == 0 or not all(part.is_finite for part in (value, *curved)):
        return 0.0
    second, fourth = (abs(float(part / value)) for part in curved)
    return SHORT / max(1.0, second, math.sqrt(fourth))


def _channel(alpha: float, ridge: float, m: float, q: float, V: float, means: Array) -> tuple[float, float, float]:
    """(m, q, V) of one channel after the step."""
    square, push, hidden = means
    hats, response = _update()
    stiffness, mhat, qhat = map(float, hats(alpha, ridge, m, q, square, push * np.sqrt(q - m * m), hidden))
    width = 1 / max(stiffness, 1 / (FASTEST * V))
    overlap, outside = map(float, response(width, mhat, qhat))
    return overlap, overlap**2 + outside, width


TOLERANCE = 1e-6
"""No coordinate (m, log R, log V of keys and values) may move by more under one more step."""
ARRIVED = 0.1
"""A solution that still moves by more has not arrived: its branch may have ended."""
MOST_STEPS = 150
"""Of all iterations together; what has not arrived by then says how far it still moves."""
MOST_ROUNDS = 6
"""Iterations, each with the jumps of the samples between their minima found anew."""
SAME = 0.02
"""Fixed points no farther apart in any coordinate are one branch."""
ELSEWHERE = 2.0
"""Those of two randomisations that are farther apart in log R or log V, or in m in units of 1 + |m|, are not: keys of length 25 at
a ridge of 3e-5 scatter by 2 in m and by 1 in log R."""


DEPTH = 8
"""Changes that are remembered; there are six coordinates."""
LONGEST = 1.0
"""Largest move of a coordinate (m, log R or log V) in one step."""


@dataclass(frozen=True)
class Memory:
    """Changes of the point and of the residual that they caused: what is known of the map's Jacobian.

    Maps that differ little, such as those of two randomisations, share it, and the second needs few steps.
    """

    pairs: deque[tuple[Array, Array]] = field(default_factory=lambda: deque(maxlen=DEPTH))

    def propose(self, point: Array, residual: Array) -> Array:
        """The next point: the combination of remembered changes that cancels the residual best, then a plain step."""
        if not self.pairs:
            return point + residual
        moves, changes = (np.array(part).T for part in zip(*self.pairs, strict=True))
        weights = np.linalg.lstsq(changes, residual, rcond=1e-9)[0]
        return point + residual - (moves + changes) @ weights


def accelerated(
    function: Callable[[Array], Array], start: Array, tolerance: float, most_steps: int, memory: Memory
) -> tuple[Array, int, float]:
    """x = function(x), until every coordinate moves by less than ``tolerance``.

    Anderson's type-II mixing; no coordinate moves by more than ``LONGEST`` at once, and the memory is dropped where the
    residual grew fivefold.

    Returns:
        The point, the steps made, and what is left: 0, or the largest coordinate of the way to the fixed point, as the memory has
        it, where the steps did not suffice. Where the map is nearly the identity that is much more than a step.
    """
    point = start
    residual = function(point) - point
    steps = 1
    while steps < most_steps and np.max(np.abs(residual)) >= tolerance:
        move = np.clip(memory.propose(point, residual) - point, -LONGEST, LONGEST)
        found = function(point + move) - (point + move)
        steps += 1
        if np.max(np.abs(found)) > 5 * np.max(np.abs(residual)):
            memory.pairs.clear()
        else:
            memory.pairs.append((move, found - residual))
        point, residual = point + move, found
    is_open = np.max(np.abs(residual)) >= tolerance
    return point, steps, float(np.max(np.abs(memory.propose(point, residual) - point))) if is_open else 0.0


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point on one randomisation.

    Attributes:
        state: the order parameters.
        risk: test risk E (y - f)^2.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: value of the fit's objective per dimension.
        change: largest move of a coordinate under one more guarded step, or what is left of the way where the iteration was
            given up. Above ``TOLERANCE`` it is the jump of the few samples whose two best minima are nearly level, of order
            1/n, unless the iteration has not arrived.
        is_short: whether it is that of a key near 0.
        unseen: where the key is 0, the squared length in units of the kernel that samples too rare to be seen may give it; else 0.
    """

    state: ReplicaState
    risk: float
    training_loss: float
    energy: float
    change: float
    is_short: bool = False
    unseen: float = 0.0


SHORT = 0.01
"""Squared length of a key near 0, in units of the kernel."""
VANISHED = 1e-10
"""Squared length of a key in whose place 0 may stand: it moves no other number by more than its order."""
MOST_PLAIN = 60
"""Plain steps towards a key near 0: one step shrinks what is left of it by a factor."""


def solve(
    saddle: SaddleMap,
    training: Training,
    start: ReplicaState,
    tolerance: float = TOLERANCE,
    memory: Memory | None = None,
    most_steps: int = MOST_STEPS,
) -> FixedPoint:
    """The fixed point reached from ``start``; where attention is even, maybe that of a key near 0 or 0.

    Raises:
        CannotEvaluate: where the first step leaves the reals; where a later one does, ``change`` tells.
    """
    if start.q_k < SHORT and start.q_k < saddle.short:
        near = _near_zero(saddle, training, start, tolerance)
        if near is not None:
            return near
    found = _accelerated_solution(saddle, training, start, tolerance, memory, most_steps)
    if found.change >= ARRIVED and saddle.short:
        return _near_zero(saddle, training, start, tolerance) or found
    return found


def _unseen(saddle: SaddleMap, training: Training, state: ReplicaState, risk: float) -> float:
    """Squared length, in units of the kernel, that samples may give a key of 0 of which none was drawn.

    A share s of them gives it alpha s d^2, where d <= sqrt(V_k) |y - f| is how far the proximal point moves. Of n samples the
    largest (y - f)^2 is about 2 log n times the mean, and a share of 4/n is missed once in 50 times: half of it is the error.
    """
    count = saddle.sets[0].count
    return 4 * training.alpha * state.V_k * risk * math.log(count) / count * SHORT / saddle.short


def _near_zero(saddle: SaddleMap, training: Training, start: ReplicaState, tolerance: float) -> FixedPoint | None:
    """The fixed point of a key near 0, or of the key 0, by plain steps; None where there is none, or it is not stable.

    Few samples, of large labels, pull at a key of 0 however short it is, and its length depends on their share. On samples
    without one of them the key dies out, and its logarithm has no fixed point. There the key is held at ``VANISHED``, the
    others settle, and 0 is a fixed point that is stable where one more step shrinks both parts of the key.
    """
    held = math.sqrt(VANISHED / 2)
    state = replace(start, q_k=start.m_k**2 + max(start.R_k, saddle.short))
    for samples in saddle.sets:
        samples.forget()
    try:
        for _ in range(MOST_PLAIN):
            step = saddle.step(state, training)
            after = step.following
            change = np.abs(after.coordinates() - state.coordinates())
            shrinks = state.q_k <= VANISHED and after.R_k < state.R_k and abs(after.m_k) < held
            if np.max(np.delete(change, [0, 1]) if shrinks else change) < tolerance:
                aside = saddle.step(replace(state, m_k=held, q_k=VANISHED), training).following if shrinks else after
                if after.q_k >= saddle.short or (shrinks and not (abs(aside.m_k) < held and aside.R_k < VANISHED / 2)):
                    return None
                left = float(np.max(np.delete(change, [0, 1]) if shrinks else change))
                risk = saddle.test_risk(state)
                unseen = _unseen(saddle, training, state, risk) if shrinks else 0.0
                return FixedPoint(state, risk, step.training_loss, step.energy, left, True, unseen)
            state = replace(after, m_k=0.0, q_k=VANISHED) if after.q_k < VANISHED else after
    except CannotEvaluate:
        return None
    return None


def _accelerated_solution(
    saddle: SaddleMap,
    training: Training,
    start: ReplicaState,
    tolerance: float,
    memory: Memory | None,
    most_steps: int,
) -> FixedPoint:
    """The fixed point reached from ``start`` by accelerated steps.

    A sample whose proximal problem has two nearly level minima jumps between them, which makes the map discontinuous by
    order 1/n. So the basins are settled by guarded minimisation, the smooth map in these basins is iterated to its fixed
    point, and this is repeated until a guarded step moves nothing, or the same few samples keep changing sides.

    Args:
        memory: what earlier solutions taught about the map's Jacobian; added to.
        most_steps: passes over the samples after which the best state so far is returned.

    Raises:
        CannotEvaluate: where the first step leaves the reals; where a later one does, ``change`` tells.
    """
    memory = Memory() if memory is None else memory
    for samples in saddle.sets:
        samples.forget()
    point, steps, left = start.coordinates(), 0, 0.0
    best: tuple[float, ReplicaState, Step] | None = None

    def settled(at: Array) -> Array:
        return saddle.step(ReplicaState.from_coordinates(at), training, guarded=False).following.coordinates()

    for _ in range(MOST_ROUNDS):
        state = ReplicaState.from_coordinates(point)
        try:
            step = saddle.step(state, training, guarded=True)
        except CannotEvaluate:
            if best is None:
                raise
            break
        steps += 1
        change = float(np.max(np.abs(step.following.coordinates() - point)))
        if best is None or change < best[0]:
            best = change, state, step
        if change < tolerance or steps >= most_steps:
            break
        try:
            point, more, left = accelerated(settled, point, tolerance / 2, most_steps - steps, memory)
        except CannotEvaluate:
            break
        steps += more
    assert best is not None
    change, state, step = best
    change = max(change, left)
    return FixedPoint(state, saddle.test_risk(state), step.training_loss, step.energy, change)


def attempt(
    saddle: SaddleMap, training: Training, start: ReplicaState, arrived: float = ARRIVED, **how: Any
) -> FixedPoint | None:
    """``solve``, or None where the iteration leaves the reals or ends while it still moves by ``arrived``."""
    try:
        point = solve(saddle, training, start, **how)
    except CannotEvaluate:
        return None
    return point if point.change < arrived else None


def _distances(state: ReplicaState, other: ReplicaState) -> Array:
    """How far apart two states are in every coordinate; keys near 0 are apart by their lengths, not by the logarithms."""
    apart = np.abs(state.coordinates() - other.coordinates())
    if max(state.q_k, other.q_k) < SHORT:
        apart[1] = abs(state.R_k - other.R_k)
    return apart


def has_strayed(point: FixedPoint, home: ReplicaState) -> bool:
    """Whether a fixed point is not on the branch that is ``home`` on another randomisation."""
    units = np.array([1 + abs(home.m_k), 1, 1, 1 + abs(home.m_v), 1, 1])
    return bool(np.max(_distances(point.state, home) / units) >= ELSEWHERE)


def is_new(point: FixedPoint, known: Iterable[FixedPoint]) -> bool:
    """Whether a fixed point is on none of the branches that are known."""
    return all(np.max(_distances(point.state, other.state)) >= SAME for other in known)
