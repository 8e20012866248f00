"""A student fitted to N = alpha D samples with ridges, as D grows: the replica-symmetric saddle point of matrix order parameters.

The fit minimises sum_mu l(y, s) + sum_k lambda_k |w_k|^2 / 2. With omega_l = m z_l + S^{1/2} xi_l, S = q - m m^T, the proximal
point of a sample is s = argmin l(y, s) + sum_l |s_l - omega_l|^2_{V^{-1}} / 2, its force h_l = V^{-1} (s_l - omega_l), and

    Vhat = -alpha E sum_l h_l xi_l^T S^{-1/2},  mhat = alpha E sum_l h_l z_l^T + Vhat m,  qhat = alpha E sum_l h_l h_l^T,
    V = (lambda + Vhat)^{-1},  m = V mhat,  S = V qhat V.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fixed_point import MOST_JUMPS
from symslr.evaluation.numbers.anderson import AndersonMemory, anderson
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.numbers.newton import newton, newton_step
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sampling.scatter import RANDOMISATIONS, standard_error, statistical
from symslr.evaluation.sequence.dynamics import Population, smooth
from symslr.evaluation.sequence.state_evolution import INFORMED, UNINFORMED
from symslr.expression.value import Value
from symslr.model.ranges import check_abundance, real_number
from symslr.model.sequence.model import SequenceModel

Array = Any
COUNT = 2**11
"""Samples of a randomisation."""
MOST_FIELDS = 10
"""Students' fields of a sample, among which a proximal minimum is sought."""
TOLERANCE, MOST_STEPS, ARRIVED = 1e-5, 300, 1e-3
"""The most by which one more step moves a coordinate of the saddle point; most steps; what counts as arrived after them."""
LEAST_PIVOT = 1e-3
"""Smallest pivot of a Hessian, in units of the least of V^-1, for which Newton's step is used."""
STARTS, SEVERAL = 6, 5
"""Places from which a proximal minimum is sought where the loss is not convex, in one of so many steps."""
LARGEST_GROWTH = 4.0
"""Largest factor by which a response grows in one step."""


@dataclass(frozen=True)
class Fitted:
    """The fit of a student; errors are one standard error.

    Attributes:
        risk: E l(y, s) on a new sample.
        training_loss: E l(y, s) on the samples.
        energy: least value of the fit's objective, divided by D.
        M, Q, V: overlaps with the teachers (r, p), lengths (r, r) and responses (r, r), with their standard errors.
        branch: the start that leads there, the one of lower energy.
        replicon: below 1 replica symmetry is stable against small changes.
        jumps: share of samples whose least proximal minimum is not the one that descent from their field finds.
        change: the most by which one more step moves a coordinate, over all randomisations.
    """

    alpha: float
    risk: Value
    training_loss: Value
    energy: Value
    M: Array
    Q: Array
    V: Array
    M_error: Array
    Q_error: Array
    V_error: Array
    branch: str
    replicon: float
    jumps: float
    change: float

    @property
    def stable(self) -> bool:
        """Whether replica symmetry is taken to hold: replicon below 1, and few jumps."""
        return self.replicon < 1 and self.jumps < MOST_JUMPS


@dataclass(frozen=True)
class _State:
    """m (r, p), S = q - m m^T (r, r), V (r, r)."""

    m: Array
    S: Array
    V: Array

    @property
    def q(self) -> Array:
        return self.S + self.m @ self.m.T

    def coordinates(self) -> Array:
        return np.concatenate([self.m.ravel(), _spectral(self.S, np.log).ravel(), _spectral(self.V, np.log).ravel()])

    @classmethod
    def of(cls, point: Array, r: int, p: int) -> _State:
        m, S, V = np.split(point, [r * p, r * p + r * r])
        return cls(m.reshape(r, p), *(_spectral(own.reshape(r, r), np.exp) for own in (S, V)))


def _spectral(matrix: Array, function: Any) -> Array:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * function(np.clip(values, *CLIPS[function]))) @ vectors.T


CLIPS: dict[Any, tuple[float, float]] = {np.log: (1e-12, 1e12), np.exp: (-27.0, 27.0), np.sqrt: (1e-14, math.inf)}


@dataclass(frozen=True)
class _Known:
    """Teachers' fields, labels and students' fields without the sample, each of shape (.., n)."""

    z: Array
    y: Array
    omega: Array

    def take(self, columns: Array) -> _Known:
        return _Known(self.z[:, columns], self.y[:, columns], self.omega[:, columns])


class _Saddle:
    """The saddle-point map on one randomisation."""

    def __init__(self, population: Population, alpha: float, ridge: Array) -> None:
        self.own, self.alpha, self.ridge = population, alpha, ridge
        model, student = population.model, population.student
        self.length, self.size = model.length, model.length * population.r
        flat = [symbol for row in student.fields for symbol in row]
        given = [*flat, *(symbol for row in model.fields for symbol in row), *student.outputs]
        self.pairs = list(combinations_with_replacement(range(self.size), 2))
        found = f"{model.name}: found a loss or a predictor with a jump or a kink"
        slopes = smooth([student.loss.diff(symbol) for symbol in flat], found)
        second = smooth([slopes[a].diff(flat[b]) for a, b in self.pairs], found)
        self.terms = compile_float(given, [student.loss, *slopes, *second], keeps_digits=False)
        self.last: Array | None = None
        self.is_convex = self._convex()

    def _convex(self) -> bool:
        """Whether the Hessian of the loss is positive at random fields."""
        s = 2 * np.random.default_rng(9).standard_normal((self.size, self.own.z.shape[1]))
        hessian = self._at(s, self.own.z, self.own.y)[2]
        return bool(np.min(np.linalg.eigvalsh(np.moveaxis(hessian, -1, 0))) > -1e-9)

    def _at(self, s: Array, z: Array, y: Array) -> tuple[Array, Array, Array]:
        """Loss (n,), gradient (d, n), Hessian (d, d, n)."""
        n = s.shape[1]
        with np.errstate(all="ignore"):
            found = [np.broadcast_to(own, n) for own in self.terms(*s, *z, *y)]
        hessian = np.empty((self.size, self.size, n))
        for (a, b), own in zip(self.pairs, found[1 + self.size :]):
            hessian[a, b] = hessian[b, a] = own
        return found[0], np.array(found[1 : 1 + self.size]), hessian

    def descend(self, omega: Array, P: Array, start: Array) -> tuple[Array, Array]:
        """A proximal minimum near ``start`` (d, n), and its value (n,)."""
        width, least = np.linalg.inv(P), LEAST_PIVOT * float(np.linalg.eigvalsh(P)[0])

        def descent(samples: _Known, s: Array) -> tuple[Array, Array, Array]:
            loss, slope, hessian = self._at(s, samples.z, samples.y)
            away = s - samples.omega
            pull = P @ away
            gradient = slope + pull
            step, pivot = newton_step(hessian + P[:, :, None], gradient)
            step = np.where(pivot > least, step, -width @ gradient)
            return loss + np.einsum("an,an->n", away, pull) / 2, step, np.einsum("an,an->n", gradient, step)

        with np.errstate(all="ignore"):
            return newton(descent, _Known(self.own.z, self.own.y, omega), start)

    def fields(self, state: _State) -> Array:
        z, xi = (own.reshape(self.length, -1, own.shape[1]) for own in (self.own.z, self.own.rest))
        root = _spectral(state.S, np.sqrt)
        omega = np.einsum("rp,lpn->lrn", state.m, z) + np.einsum("rq,lqn->lrn", root, xi)
        return omega.reshape(self.size, -1)

    def proximal(self, state: _State, several: bool) -> tuple[Array, Array, Array, Array]:
        """omega, P, and the least minimum found: s, its value."""
        omega, P = self.fields(state), np.kron(np.eye(self.length), np.linalg.inv(state.V))
        found = self.descend(omega, P, omega if self.last is None else self.last)
        random = np.random.default_rng(11)
        starts = [] if self.is_convex else ([omega] if self.last is not None else [])
        if several and not self.is_convex:
            spread = np.kron(np.eye(self.length), _spectral(state.V, np.sqrt))
            starts += [omega + 2 * spread @ random.standard_normal(omega.shape) for _ in range(STARTS)]
        for start in starts:
            other = self.descend(omega, P, start)
            lower = other[1] < found[1] - 1e-9
            found = np.where(lower, other[0], found[0]), np.where(lower, other[1], found[1])
        self.last = found[0]
        return omega, P, *found

    def step(self, state: _State, several: bool = True) -> _State:
        """One application of the map."""
        omega, P, s, _ = self.proximal(state, several)
        weighted = self._tokens(P @ (s - omega)) * self.own.weight
        h = self._tokens(P @ (s - omega))
        away = np.linalg.inv(_spectral(state.S, np.sqrt))
        response, pull, square = (
            self.alpha * np.einsum("lrn,lqn->rq", weighted, own)
            for own in (self._tokens(self.own.rest), self._tokens(self.own.z), h)
        )
        Vhat = -response @ away
        Vhat = (Vhat + Vhat.T) / 2
        values, vectors = np.linalg.eigh(np.diag(self.ridge) + Vhat)
        least = 1 / (LARGEST_GROWTH * float(np.linalg.eigvalsh(state.V)[-1]))
        V = (vectors / np.maximum(values, least)) @ vectors.T
        return _State(V @ (pull + Vhat @ state.m), V @ square @ V, V)

    def _tokens(self, flat: Array) -> Array:
        return flat.reshape(self.length, -1, flat.shape[1])

    def solve(self, state: _State, memory: AndersonMemory) -> tuple[_State, float]:
        """The fixed point on the way from a state, and how far one more step moves its coordinates."""
        r, p = state.m.shape
        count = 0

        def settled(point: Array) -> Array:
            nonlocal count
            count += 1
            found = self.step(_State.of(point, r, p), several=count % SEVERAL == 1).coordinates()
            if not np.all(np.isfinite(found)):
                raise CannotEvaluate(f"fit at alpha = {self.alpha:g}: found a step to no real order parameters")
            return found

        point, _, change = anderson(settled, state.coordinates(), TOLERANCE, MOST_STEPS, memory)
        return _State.of(point, r, p), change

    def losses(self, state: _State) -> tuple[float, float, float]:
        """Test loss, training loss and energy."""
        s = self.proximal(state, True)[2]
        training = float(self._at(s, self.own.z, self.own.y)[0] @ self.own.weight)
        test = self.own.at(state.m, state.q)[0]
        return test, training, self.alpha * training + float(self.ridge @ np.diag(state.q)) / 2

    def stability(self, state: _State) -> tuple[float, float]:
        """The replicon and the share of jumping samples."""
        omega, P, s, value = self.proximal(state, True)
        near = self.descend(omega, P, omega)[1]
        jumps = float((near > value + 1e-9 * (1 + np.abs(value))) @ self.own.weight)
        inverse = np.linalg.inv(np.moveaxis(self._at(s, self.own.z, self.own.y)[2], -1, 0) + P)
        J = (P @ inverse @ P - P).reshape(-1, self.length, len(state.V), self.length, len(state.V))
        r = len(state.V)
        response = np.einsum("ac,nlcmd->nlamd", state.V, J)
        squares = np.einsum("nlamd,nlbme,n->abde", response, response, self.own.weight).reshape(r * r, r * r)
        return self.alpha * float(np.max(np.abs(np.linalg.eigvals(squares)))), jumps


def fitted(
    model: SequenceModel, alpha: float, ridge: float | Sequence[float], *, seed: int = 0, count: int = COUNT
) -> Fitted:
    """The student fitted to N = alpha D samples.

    Args:
        ridge: lambda > 0, one number or one for each of the student's directions.

    Raises:
        ValueError: without a student, and for an alpha or a ridge out of range.
        CannotEvaluate: for more than ten students' fields, and where no start settles.
    """
    check_abundance(alpha)
    began = time.perf_counter()
    drawn = [Population(model, count, sub_seed(seed, n, count)) for n in range(RANDOMISATIONS)]
    r, p = drawn[0].r, drawn[0].p
    if r * model.length > MOST_FIELDS:
        raise CannotEvaluate(f"{model.name}: found {r * model.length} students' fields; expected at most {MOST_FIELDS}")
    ridges = np.array([ridge] * r if isinstance(ridge, float | int) else list(ridge), float)
    if len(ridges) != r or not all(0 < real_number(own, "ridge") < math.inf for own in ridges.tolist()):
        raise ValueError(f"ridge: found {ridge}; expected one positive number, or one for each of {r} directions")
    saddles = [_Saddle(own, alpha, ridges) for own in drawn]
    found: dict[str, tuple[float, _State, AndersonMemory]] = {}
    for name, overlap in ((INFORMED, 0.9), (UNINFORMED, 0.02)):
        memory = AndersonMemory()
        shrink = min(1.0, 4 / alpha)
        m = np.array([[overlap if k == t else 0.0 for t in model.teachers] for k in drawn[0].student.names])
        if not m.any():  # each direction with teachers of its own, as a symmetric start stays one
            m = overlap * (np.arange(p) % r == np.arange(r)[:, None] % p) / max(p / r, 1) ** 0.5
        start = _State(m, (0.2 if name == UNINFORMED else 0.1) * np.eye(r), 0.5 * shrink * np.eye(r))
        saddles[0].last = None
        try:
            state, change = saddles[0].solve(start, memory)
        except (CannotEvaluate, np.linalg.LinAlgError):
            continue
        if change < ARRIVED:
            found[name] = saddles[0].losses(state)[2], state, memory
    if not found:
        raise CannotEvaluate(f"fit at alpha = {alpha:g}: found no start that settles; expected larger ridges")
    branch = min(found, key=lambda name: found[name][0])
    _, first, memory = found[branch]
    states, changes = [], []
    for own in saddles:
        own.last = None
        state, change = own.solve(first, memory)
        states.append(state)
        changes.append(change)
    if max(changes) > ARRIVED:
        raise CannotEvaluate(f"fit at alpha = {alpha:g}: found samples that do not settle; expected larger ridges")
    smallest = min(float(np.linalg.eigvalsh(own)[0]) for state in states for own in (state.S, state.V))
    if smallest < 2 * math.exp(CLIPS[np.exp][0]):
        raise CannotEvaluate(f"fit at alpha = {alpha:g}: found a student that hardly moves; expected smaller ridges")
    losses = np.array([own.losses(state) for own, state in zip(saddles, states)])
    method = f"replica-symmetric fixed point, {len(saddles)} scrambled Sobol sets of {count} samples"
    risk, training, energy = (
        statistical(own, standard_error(own), method, time.perf_counter() - began) for own in losses.T.tolist()
    )
    matrices = [np.array(own) for own in zip(*((s.m, s.q, s.V) for s in states))]
    means = [own.mean(axis=0) for own in matrices]
    errors = [np.apply_along_axis(lambda line: standard_error(line.tolist()), 0, own) for own in matrices]
    replicon, jumps = saddles[0].stability(states[0])
    (m, q, V), (m_error, q_error, V_error) = means, errors
    return Fitted(
        float(alpha), risk, training, energy, m, q, V, m_error, q_error, V_error, branch, replicon, jumps, max(changes)
    )
