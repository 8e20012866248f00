"""The saddle-point map on one randomisation, order parameters -> forces of the samples -> order parameters, and its fixed point.

Anderson acceleration while every sample stays in its basin, alternating with a multistart search for lower proximal minima. The
memory of the acceleration can be reused for further fixed points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from sympy import Expr, Symbol, simplify

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fields import Array
from symslr.evaluation.finite_sample.problem import FitProblem, ReplicaState, Training
from symslr.evaluation.finite_sample.sample_set import SampleSet
from symslr.evaluation.numbers.anderson import AndersonMemory, anderson
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.symbols import x
from symslr.theory.finite_sample_energy import ALPHA, KEY, force_means
from symslr.theory.finite_sample_saddle import saddle_point_equations


@dataclass(frozen=True)
class Step:
    """The result of one application of the saddle-point map.

    Attributes:
        following: the new order parameters.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: value of the fit's objective per dimension, alpha (training loss) + r_k q_k/2 + r_v q_v/2.
    """

    following: ReplicaState
    training_loss: float
    energy: float


F2, FXI, FH = (Symbol(name, real=True) for name in ("f2", "fxi", "fh"))


@cache
def _update() -> tuple[Any, Any]:
    """The saddle-point equations as compiled functions.

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


LARGEST_GROWTH = 4.0
"""Largest factor by which a response V grows in one step: far from the fixed point r + Vhat may even be negative."""
MANY_SAMPLES = 100.0
"""alpha above which means are computed with the label's noise subtracted (see ``SampleSet.means``), at twice the cost of a step."""
MOST_JUMPS = 5e-3
"""Share of jumping samples up to which replica symmetry is taken to hold: fits agreed with the theory up to 0.1 per cent, and no
longer at 1 per cent."""
MOST_SPREAD = 0.1
"""``spread`` up to which replica symmetry is taken to hold: fits agreed with the theory up to 0.05, and from 0.5 on they stopped
in many minima above its energy."""
FIRST_SEPARATION = 0.01
"""Squared distance of two fits from which ``spread`` is iterated, as a share of the largest possible one."""
LARGEST_SEPARATION = 1 - 1e-6
"""Largest squared distance in the iteration of ``spread``, as a share of the largest possible one: the two fits keep a common
field."""
SETTLED = 0.02
"""The iteration of ``spread`` has converged where one step changes the distance by less than this share."""
MOST_SPREAD_STEPS = 40
"""Most steps of ``spread``; each costs two proximal problems with several starts a sample."""
BLOCKS = 4
"""Number of blocks of samples, the median of whose means gives the replicon: a single sample then does not decide it."""


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
            for share, own in problem.with_seeds(seed)
        ]

    @property
    def short_key(self) -> float:
        """Squared length up to which a key counts as near 0; 0 where the attention has no fixed point of that kind."""
        return _short_key_length(self.problem.attention.kernel)

    @property
    def is_affine(self) -> bool:
        """Whether the attention is affine in its scores: the proximal problem is then one scalar equation a sample."""
        return self.sets[0].affine is not None

    def step(self, state: ReplicaState, training: Training, multistart: bool = True) -> Step:
        """One application of the map at these order parameters.

        Args:
            multistart: start every proximal problem from several points, not only from its last solution.

        Raises:
            CannotEvaluate: where the new order parameters are not finite or q <= m^2, as may happen far from a fixed point.
        """
        with np.errstate(all="ignore"):  # what leaves float64 is no real order parameter below
            means = self._mixed(lambda samples: samples.means(state, multistart, training.alpha > MANY_SAMPLES))
            keys = _next_order_parameters(training.alpha, training.r_k, state.m_k, state.q_k, state.V_k, means[:3])
            vals = _next_order_parameters(training.alpha, training.r_v, state.m_v, state.q_v, state.V_v, means[3:6])
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
        """The mean over the lengths of what ``read`` gives for the samples of each."""
        pairs = zip(self.problem.shares, self.sets, strict=True)
        return np.asarray(sum(share.probability * np.asarray(read(samples)) for share, samples in pairs))

    def jumps(self, state: ReplicaState) -> float:
        """Share of samples whose global proximal minimum is not the one that descent from their field finds.

        Their proximal point is a discontinuous function of the field. With a finite share of them replica symmetry is broken: the
        energy is a lower bound, and a fit gets stuck above it. For linear attention the share is 0.
        """
        return float(self._mixed(lambda samples: samples.jumps(state)))

    def replicon(self, state: ReplicaState, training: Training) -> float:
        """Largest eigenvalue of M_ab = alpha V_a^2 E sum_lm (d f_a,l/d omega_b,m)^2 over a, b = k, v.

        Replica symmetry is stable where it is below 1: two fits that differ a little approach each other. Where two minima of a
        proximal problem merge, the squared slope has a finite mean but an infinite variance; so the result is the median over
        ``BLOCKS`` blocks of samples.
        """
        squares = self._mixed(lambda samples: samples.squared_slopes(state))
        scale = training.alpha * np.array([[state.V_k**2], [state.V_v**2]])
        means = (scale * block.mean(axis=2) for block in np.array_split(squares, BLOCKS, axis=2))
        return float(np.median([np.max(np.abs(np.linalg.eigvals(mean))) for mean in means]))

    def spread(self, state: ReplicaState, training: Training) -> float:
        """Squared distance of two fits to the same samples over 2 (q - m^2), that of two fits equal along the truth only; from 0
        to 1.

        The larger of the two for keys and values. Two fits at squared distances d_a, a = k, v, are at
        d_a' = alpha V_a^2 E sum_l (f_a,l - f_a,l')^2 after one more step. The replicon is the slope of this map at d = 0 where no
        proximal point jumps; jumps add a term of order sqrt(d), which a slope does not show. So the map is iterated from
        ``FIRST_SEPARATION`` until it converges: to 0 where replica symmetry holds, else to the distance of many minima of nearly
        the same energy.
        """
        outside = np.array([state.R_k, state.R_v])
        scale = training.alpha * np.array([state.V_k, state.V_v]) ** 2 / (2 * outside)
        share = np.full(2, FIRST_SEPARATION)
        for _ in range(MOST_SPREAD_STEPS):
            apart = 2 * outside * np.minimum(share, LARGEST_SEPARATION)
            before, share = share, scale * self._mixed(partial(SampleSet.force_differences, state=state, apart=apart))
            if np.max(share) < FIRST_SEPARATION / 10 or np.max(np.abs(share - before)) < SETTLED * np.max(share):
                break
        return float(min(np.max(share), 1.0))

    def test_risk(self, state: ReplicaState) -> float:
        """E (y - f)^2 of the fit on a new sample, Delta^2 + 1 - 2 m_v E sigma_eps + q_v E |sigma|^2 (values integrated out)."""
        hit, norm = self._mixed(lambda samples: samples.attention(state))
        return float(self.problem.noise**2 + 1 - 2 * state.m_v * hit + state.q_v * norm)


@cache
def _short_key_length(kernel: Expr) -> float:
    """Squared length up to which a key counts as near 0, in units set by the kernel's derivatives; 0 where key 0 is no fixed point.

    Key 0 is one for a kernel that is even and not 0 at 0: near 0 attention is 1/L up to terms of order of the squared length.
    """
    mirrored = kernel.subs(x, -x)
    if abs(float(kernel.subs(x, 0.7) - mirrored.subs(x, 0.7))) > 1e-9 or simplify(kernel - mirrored) != 0:
        return 0.0
    value, *curved = (kernel.diff(x, order).subs(x, 0) for order in (0, 2, 4))
    if value == 0 or not all(part.is_finite for part in (value, *curved)):
        return 0.0
    second, fourth = (abs(float(part / value)) for part in curved)
    return SHORT_KEY / max(1.0, second, math.sqrt(fourth))


def _next_order_parameters(
    alpha: float, ridge: float, m: float, q: float, V: float, means: Array
) -> tuple[float, float, float]:
    """(m, q, V) of the keys, or of the values, after the step, from E sum f^2, E sum f xi/sqrt(q - m^2) and E sum f h."""
    square, push, hidden = means
    hats, response = _update()
    stiffness, mhat, qhat = map(float, hats(alpha, ridge, m, q, square, push * np.sqrt(q - m * m), hidden))
    width = 1 / max(stiffness, 1 / (LARGEST_GROWTH * V))
    overlap, outside = map(float, response(width, mhat, qhat))
    return overlap, overlap**2 + outside, width


TOLERANCE = 1e-6
"""A fixed point has converged where no coordinate (m, log R, log V of keys and values) moves by more in one more step."""
ARRIVED = 0.1
"""An iteration whose coordinates still move by more has failed: its branch may not exist."""
MOST_STEPS = 150
"""Most applications of the map; what has not converged by then reports how far it still moves."""
MOST_ROUNDS = 6
"""Most alternations of an iteration within fixed basins with a multistart search for the basins."""
SAME_BRANCH = 0.02
"""Fixed points closer than this in every coordinate belong to one branch."""
OTHER_BRANCH = 2.0
"""Fixed points of two randomisations that differ by more in log R or log V, or in m in units of 1 + |m|, are on different
branches: keys of length 25 at a ridge of 3e-5 scatter by 2 in m and by 1 in log R."""


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point on one randomisation.

    Attributes:
        state: the order parameters.
        risk: test risk E (y - f)^2.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: value of the fit's objective per dimension.
        change: largest move of a coordinate under one more step with several starts, or the distance left where the iteration was
            given up. A converged iteration may exceed ``TOLERANCE`` by order 1/n: a few samples with two nearly equal minima jump.
        is_short: whether the key is near 0.
        unseen: where the key is 0, the squared length in units of the kernel that it may have due to samples too rare to be drawn;
            else 0.
    """

    state: ReplicaState
    risk: float
    training_loss: float
    energy: float
    change: float
    is_short: bool = False
    unseen: float = 0.0


SHORT_KEY = 0.01
"""Squared length up to which a key counts as near 0, in units set by the kernel."""
ZERO_KEY = 1e-10
"""Squared length that represents a key of 0: it changes other numbers by no more than this order."""
MOST_PLAIN_STEPS = 60
"""Most plain steps towards a key near 0: they converge geometrically."""


def solve(
    saddle: SaddleMap,
    training: Training,
    start: ReplicaState,
    tolerance: float = TOLERANCE,
    memory: AndersonMemory | None = None,
    most_steps: int = MOST_STEPS,
) -> FixedPoint:
    """The fixed point reached from ``start``; for even attention it may have a key near 0 or equal to 0.

    Raises:
        CannotEvaluate: where the first step gives no valid order parameters; where a later one does, ``change`` is large.
    """
    if start.q_k < SHORT_KEY and start.q_k < saddle.short_key:
        near = _near_zero(saddle, training, start, tolerance)
        if near is not None:
            return near
    found = _anderson_solution(saddle, training, start, tolerance, memory, most_steps)
    if found.change >= ARRIVED and saddle.short_key:
        return _near_zero(saddle, training, start, tolerance) or found
    return found


def _unseen(saddle: SaddleMap, training: Training, state: ReplicaState, risk: float) -> float:
    """Squared length, in units of the kernel, that a key of 0 may have due to kinds of samples of which none was drawn.

    A share s of such samples gives it alpha s d^2, where d <= sqrt(V_k) |y - f| bounds how far the proximal point moves. The
    largest (y - f)^2 of n samples is about 2 log n times the mean, and a share of 4/n is missed once in 50 times: half of it is
    the error.
    """
    count = saddle.sets[0].count
    return 4 * training.alpha * state.V_k * risk * math.log(count) / count * SHORT_KEY / saddle.short_key


def _near_zero(saddle: SaddleMap, training: Training, start: ReplicaState, tolerance: float) -> FixedPoint | None:
    """The fixed point with a key near 0, or equal to 0, by plain steps; None where there is none, or it is not stable.

    A few samples with large labels exert a force on the key however short it is, and its length depends on their share. Where no
    such sample was drawn the key decays to 0, and log R_k has no fixed point. Then the key is held at ``ZERO_KEY`` while the other
    parameters converge. Key 0 is a stable fixed point if one more step shrinks both m_k and R_k.
    """
    held = math.sqrt(ZERO_KEY / 2)
    state = replace(start, q_k=start.m_k**2 + max(start.R_k, saddle.short_key))
    for samples in saddle.sets:
        samples.forget()
    try:
        for _ in range(MOST_PLAIN_STEPS):
            step = saddle.step(state, training)
            after = step.following
            change = np.abs(after.coordinates() - state.coordinates())
            shrinks = state.q_k <= ZERO_KEY and after.R_k < state.R_k and abs(after.m_k) < held
            if np.max(np.delete(change, [0, 1]) if shrinks else change) < tolerance:
                aside = saddle.step(replace(state, m_k=held, q_k=ZERO_KEY), training).following if shrinks else after
                if after.q_k >= saddle.short_key or (
                    shrinks and not (abs(aside.m_k) < held and aside.R_k < ZERO_KEY / 2)
                ):
                    return None
                left = float(np.max(np.delete(change, [0, 1]) if shrinks else change))
                risk = saddle.test_risk(state)
                unseen = _unseen(saddle, training, state, risk) if shrinks else 0.0
                return FixedPoint(state, risk, step.training_loss, step.energy, left, True, unseen)
            state = replace(after, m_k=0.0, q_k=ZERO_KEY) if after.q_k < ZERO_KEY else after
    except CannotEvaluate:
        return None
    return None


def _anderson_solution(
    saddle: SaddleMap,
    training: Training,
    start: ReplicaState,
    tolerance: float,
    memory: AndersonMemory | None,
    most_steps: int,
) -> FixedPoint:
    """The fixed point reached from ``start`` by Anderson acceleration.

    A sample whose proximal problem has two nearly equal minima jumps between them, so that the map is discontinuous by order 1/n.
    Hence a multistart minimisation chooses the basin of every sample, the smooth map within these basins is iterated to its fixed
    point, and both are repeated until a multistart step moves nothing, or ``MOST_ROUNDS`` are done.

    Args:
        memory: of earlier accelerations; it is extended.
        most_steps: applications of the map after which the best state so far is returned.

    Raises:
        CannotEvaluate: where the first step gives no valid order parameters; where a later one does, ``change`` is large.
    """
    memory = AndersonMemory() if memory is None else memory
    for samples in saddle.sets:
        samples.forget()
    point, steps, left = start.coordinates(), 0, 0.0
    best: tuple[float, ReplicaState, Step] | None = None

    def settled(at: Array) -> Array:
        return saddle.step(ReplicaState.from_coordinates(at), training, multistart=False).following.coordinates()

    for _ in range(MOST_ROUNDS):
        state = ReplicaState.from_coordinates(point)
        try:
            step = saddle.step(state, training, multistart=True)
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
            point, more, left = anderson(settled, point, tolerance / 2, most_steps - steps, memory)
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
    """``solve``, or None where it fails or ends with a ``change`` of ``arrived`` or more."""
    try:
        point = solve(saddle, training, start, **how)
    except CannotEvaluate:
        return None
    return point if point.change < arrived else None


def _distances(state: ReplicaState, other: ReplicaState) -> Array:
    """The distance of two states in every coordinate, (6,); for keys near 0 that of R_k instead of log R_k."""
    apart = np.abs(state.coordinates() - other.coordinates())
    if max(state.q_k, other.q_k) < SHORT_KEY:
        apart[1] = abs(state.R_k - other.R_k)
    return apart


def has_strayed(point: FixedPoint, home: ReplicaState) -> bool:
    """Whether a fixed point is on another branch than ``home``, a state on another randomisation."""
    units = np.array([1 + abs(home.m_k), 1, 1, 1 + abs(home.m_v), 1, 1])
    return bool(np.max(_distances(point.state, home) / units) >= OTHER_BRANCH)


def is_new(point: FixedPoint, known: Iterable[FixedPoint]) -> bool:
    """Whether a fixed point differs from all known ones by ``SAME_BRANCH`` or more."""
    return all(np.max(_distances(point.state, other.state)) >= SAME_BRANCH for other in known)
