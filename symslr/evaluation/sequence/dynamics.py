"""One-pass SGD of a student on a sequence model, as D grows: order parameters over the time t = gamma steps/D.

dM/dt = -E sum_l d_l z_l^T - lambda M and dQ/dt = -E sum_l (d_l s_l^T + s_l d_l^T) - 2 lambda Q + gamma E sum_l d_l d_l^T, with
d_l the gradient of the loss in the student's fields s_l, M = W^T W*/D the overlaps with the teachers and Q = W^T W/D. At gamma = 0
this is the gradient flow of the population risk. Means are over Sobol points of teachers' fields, students' fields and noise.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from sympy import DiracDelta, Expr

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.sampling.points import normal_points, sub_seed
from symslr.evaluation.sampling.scatter import RANDOMISATIONS, standard_error, statistical
from symslr.evaluation.sequence.parts import tilt_of
from symslr.evaluation.sequence.samples import root_of, shared_out
from symslr.expression.value import Value
from symslr.model.sequence.model import SequenceModel

Array = Any
COUNT = 2**13
"""Samples of a randomisation."""
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""Tolerances of the integration over time, far below what the samples scatter."""
START = 0.01
"""Overlap with which a student begins where none is given."""
SOON = 1e-9
"""Times up to which nothing has changed."""
MOST_APART = 0.05
"""The largest standard error of an order parameter, relative to 1 plus its size, with which the paths are one."""


def smooth(slopes: list[Expr], found: str) -> list[Expr]:
    """Derivatives, where none is that of a jump.

    Raises:
        ValueError: elsewhere; ``found`` says what was found.
    """
    if any(own.has(DiracDelta) for own in slopes):
        raise ValueError(f"{found}; expected one with derivatives, such as tanh in place of sign")
    return slopes


@dataclass(frozen=True)
class Dynamics:
    """Order parameters over time.

    Attributes:
        times: shape (T,).
        M, Q: shapes (T, r, p), (T, r, r), with their standard errors.
        risk: E l(y, s), the population loss without ridge, at every time.
    """

    times: Array
    M: Array
    Q: Array
    M_error: Array
    Q_error: Array
    risk: list[Value]


class Population:
    """Means over the data at given order parameters, on one randomisation."""

    def __init__(self, model: SequenceModel, count: int, seed: int) -> None:
        if model.student is None:
            raise ValueError(f"{model.name}: found no [student]; expected fields and a predictor, or a loss")
        self.model, self.student = model, model.student
        self.p, self.r = len(model.teachers), len(model.student.names)
        size, other, outputs = model.length * self.p, model.length * self.r, len(model.outputs)
        values = len(model.configurations)
        normals = normal_points(shared_out(count, values), size + other + outputs, seed)
        drawn = [self._of(h, *np.split(normals, [size, size + other])) for h in range(values)]
        self.z, self.rest, self.y, self.weight = (np.concatenate(own, axis=-1) for own in zip(*drawn))
        flat = [symbol for row in self.student.fields for symbol in row]
        given = [*flat, *(symbol for row in model.fields for symbol in row), *self.student.outputs]
        loss: Expr = self.student.loss
        slopes = smooth([loss.diff(symbol) for symbol in flat], f"{model.name}: found a loss or a predictor that jumps")
        self.terms = compile_float(given, [loss, *slopes], keeps_digits=False)

    def _of(self, h: int, z: Array, rest: Array, noise: Array) -> tuple[Array, ...]:
        """Fields, the students' own part, labels and weights at one value of the hidden variables; a weight that is the
        exponential of a linear form moves the fields."""
        tilt = tilt_of(self.model, self.model.weights[h])
        if tilt is None:
            weight = self.model.weights_at(z.T)[h]
        else:
            z, weight = z + tilt[0][:, None], np.full(z.shape[1], np.exp(tilt[1] + tilt[0] @ tilt[0] / 2))
        y = self.model.labels_at(z.T)[h] + float(self.model.noise) * noise
        return z, rest, y, weight / z.shape[1]

    def at(self, M: Array, Q: Array) -> tuple[float, Array, Array, Array]:
        """E l, E sum d_l z_l^T (r, p), E sum d_l s_l^T (r, r), and E sum d_l d_l^T (r, r)."""
        length = self.model.length
        z = self.z.reshape(length, self.p, -1)
        outside = root_of(Q - M @ M.T)
        s = np.einsum("rp,lpn->lrn", M, z) + np.einsum("rq,lqn->lrn", outside, self.rest.reshape(length, self.r, -1))
        with np.errstate(all="ignore"):
            loss, *slopes = self.terms(*s.reshape(-1, z.shape[2]), *self.z, *self.y)
        d = np.array([np.broadcast_to(own, z.shape[2]) for own in slopes]).reshape(s.shape)
        if not np.all(np.isfinite(d)):
            raise CannotEvaluate(f"{self.model.name}: the loss has no finite gradient; expected a smaller step or time")
        weighted = d * self.weight
        means = (np.einsum("lrn,lqn->rq", weighted, own) for own in (z, s, d))
        return (float(np.broadcast_to(loss, z.shape[2]) @ self.weight), *means)


def population_risk(model: SequenceModel, M: Array, Q: Array, *, seed: int = 0, count: int = COUNT) -> Value:
    """E l(y, s) of a student with overlaps M (r, p) with the teachers and Q (r, r) among its own directions.

    Raises:
        ValueError: without a student, and where Q - M M^T is negative.
    """
    began = time.perf_counter()
    drawn = [Population(model, count, sub_seed(seed, n, count)) for n in range(RANDOMISATIONS)]
    at = _checked(drawn[0], M, Q)
    numbers = [own.at(*at)[0] for own in drawn]
    method = f"{len(drawn)} scrambled Sobol sets of {count} samples"
    return statistical(numbers, standard_error(numbers), method, time.perf_counter() - began)


def _checked(own: Population, M: Array, Q: Array) -> tuple[Array, Array]:
    M, Q = np.asarray(M, float).reshape(own.r, own.p), np.asarray(Q, float).reshape(own.r, own.r)
    if not np.allclose(Q, Q.T) or np.linalg.eigvalsh(Q - M @ M.T)[0] < -1e-12:
        raise ValueError(
            "M, Q: found Q - M M^T that is not symmetric and positive; expected lengths above the overlaps"
        )
    return M, Q


def dynamics(
    model: SequenceModel,
    times: Sequence[float],
    *,
    gamma: float = 0.0,
    ridge: float = 0.0,
    M: Array | None = None,
    Q: Array | None = None,
    seed: int = 0,
    count: int = COUNT,
) -> Dynamics:
    """Order parameters of one-pass SGD with step gamma/D at the given times, from t = 0 on.

    Args:
        times: rising, from 0 on.
        gamma: step; 0 is gradient flow.
        ridge: lambda >= 0.
        M, Q: where they begin; by default Q = 1 and M = 0.01 for each student's direction with every teacher's.

    Raises:
        ValueError: without a student, for times that do not rise, and where Q - M M^T is negative.
        CannotEvaluate: where the order parameters run away.
    """
    at = np.array([float(own) for own in times])
    if not len(at) or at[0] < 0 or np.any(np.diff(at) <= 0) or not np.all(np.isfinite(at)):
        raise ValueError("times: found numbers that are not finite, or do not rise from 0 on; expected such as 0,1,10")
    if not (gamma >= 0 and ridge >= 0):
        raise ValueError(f"gamma, ridge: found {gamma:g}, {ridge:g}; expected numbers from 0 on")
    began = time.perf_counter()
    drawn = [Population(model, count, sub_seed(seed, n, count)) for n in range(RANDOMISATIONS)]
    r, p = drawn[0].r, drawn[0].p
    M0, Q0 = _checked(drawn[0], START * np.ones((r, p)) if M is None else M, np.eye(r) if Q is None else Q)

    def flow(own: Population) -> Any:
        def slope(_: float, state: Array) -> Array:
            M, Q = state[: r * p].reshape(r, p), state[r * p :].reshape(r, r)
            _, dz, ds, dd = own.at(M, Q)
            return np.concatenate([(-dz - ridge * M).ravel(), (-ds - ds.T - 2 * ridge * Q + gamma * dd).ravel()])

        start = np.concatenate([M0.ravel(), Q0.ravel()])
        later = at[at > SOON]
        if not len(later):
            return np.tile(start, (len(at), 1))
        found = solve_ivp(slope, (0, later[-1]), start, method="LSODA", t_eval=later, rtol=RELATIVE, atol=ABSOLUTE)
        if not found.success or found.y.shape[1] < len(later):
            raise CannotEvaluate(
                f"{model.name}: the order parameters run away ({found.message}); expected a smaller step"
            )
        return np.concatenate([np.tile(start, (len(at) - len(later), 1)), found.y.T])

    paths = np.array([flow(own) for own in drawn])
    errors = np.array(
        [[standard_error(paths[:, t, k].tolist()) for k in range(paths.shape[2])] for t in range(len(at))]
    )
    apart = np.flatnonzero((errors > MOST_APART * (1 + np.abs(paths.mean(axis=0)))).any(axis=1))
    if len(apart):
        raise CannotEvaluate(
            f"{model.name}: at t = {at[apart[0]]:g} the samples have led to different states, as a balance is left by chance; "
            "expected earlier times"
        )
    method = f"order parameters of SGD, {len(drawn)} scrambled Sobol sets of {count} samples"
    split_at = r * p
    risks = []
    for t in range(len(at)):
        numbers = [
            own.at(path[t, :split_at].reshape(r, p), path[t, split_at:].reshape(r, r))[0]
            for own, path in zip(drawn, paths)
        ]
        risks.append(statistical(numbers, standard_error(numbers), method, time.perf_counter() - began))
    mean = paths.mean(axis=0)
    return Dynamics(
        at,
        mean[:, :split_at].reshape(-1, r, p),
        mean[:, split_at:].reshape(-1, r, r),
        errors[:, :split_at].reshape(-1, r, p),
        errors[:, split_at:].reshape(-1, r, r),
        risks,
    )
