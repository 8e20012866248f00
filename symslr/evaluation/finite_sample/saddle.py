"""One step of the fixed-point iteration: order parameters -> forces of the samples -> order parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from sympy import Symbol

from symslr.evaluation.compiled import compile_float
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.keys import Fields, KeySampler, key_dimensions, key_sampler
from symslr.evaluation.finite_sample.order_parameters import OrderParameters
from symslr.evaluation.finite_sample.points import Array, normal_points
from symslr.evaluation.finite_sample.proximal import Samples, minimise
from symslr.evaluation.finite_sample.proximal_affine import dual_residual
from symslr.evaluation.finite_sample.sample_terms import SampleTerms
from symslr.evaluation.finite_sample.values import value_fields
from symslr.model.attention import Attention
from symslr.model.sequence_law import SequenceLaw
from symslr.theory.finite_sample import ProximalProblem
from symslr.theory.finite_sample_saddle import (
    ALPHA,
    FORCE,
    KEY,
    SPREAD,
    TEACHER,
    TokenMean,
    saddle_point_equations,
)


@dataclass(frozen=True)
class Problem:
    """What is fitted and on what; every formula has numbers for its parameters.

    Attributes:
        law: law of a sequence.
        length: L, from 1 to 10.
        noise: Delta.
        attention: kernel and normaliser.
    """

    law: SequenceLaw
    length: int
    noise: float
    attention: Attention


@dataclass(frozen=True)
class Training:
    """alpha = N/D and the ridges of sum_mu (y - f)^2/2 + r_k |k|^2/2 + r_v |v|^2/2."""

    alpha: float
    r_k: float
    r_v: float


@dataclass(frozen=True)
class Step:
    """What one pass over the samples found.

    Attributes:
        following: the next order parameters.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: value of the fit's objective per dimension, alpha (training loss) + r_k q_k/2 + r_v q_v/2.
    """

    following: OrderParameters
    training_loss: float
    energy: float


F2, FXI, FH = (Symbol(name, real=True) for name in ("f2", "fxi", "fh"))


@cache
def _update() -> tuple[Any, Any]:
    """The saddle-point equations as functions.

    (alpha, r, m, q, E sum f^2, E sum f xi, E sum f h) -> (r + Vhat, mhat, qhat), and (V, mhat, qhat) -> (m, q - m^2).
    """
    t = KEY
    solved = {equation.lhs: equation.rhs for equation in saddle_point_equations(t)}
    means = {TokenMean(FORCE**2): F2, TokenMean(FORCE * SPREAD): FXI, TokenMean(FORCE * TEACHER): FH}
    mhat = solved[t.mhat].subs(t.Vhat, solved[t.Vhat])
    hats = [1 / solved[t.V].subs(t.Vhat, solved[t.Vhat]), mhat, solved[t.qhat]]
    outside = (solved[t.q] - solved[t.m] ** 2).expand()
    return (
        compile_float([ALPHA, t.ridge, t.m, t.q, F2, FXI, FH], [hat.xreplace(means) for hat in hats]),
        compile_float([t.V, t.mhat, t.qhat], [solved[t.m], outside]),
    )


@lru_cache(maxsize=64)
def _proximal(attention: Attention) -> tuple[SampleTerms, tuple[float, float] | None]:
    """The compiled proximal problem of an attention, shared by all randomisations, and (c0, c1) where it is affine."""
    problem = ProximalProblem(attention)
    affine = problem.affine
    return SampleTerms(problem), None if affine is None else (float(affine[0]), float(affine[1]))


FASTEST = 4.0
"""In one step a response grows at most this many times: far from the fixed point r + Vhat may even be negative."""


NUDGE = 1e-4
"""Half of a central difference of the forces."""
BLOCKS = 4
"""Blocks of samples whose means are compared, so that one sample does not decide on stability."""


class SaddleMap:
    """The map whose fixed point is sought, on one randomisation of the samples; remembers the last proximal points.

    Args:
        count: samples, a power of two.
        seed: of the scrambling; the same points serve every order parameter, ridge and alpha.
    """

    def __init__(self, problem: Problem, count: int, seed: int) -> None:
        length = problem.length
        if length == 1 and problem.attention.is_normalised and problem.attention.offset == 0:
            raise ValueError(
                f"length: found 1 with {problem.attention.name} attention, which is then 1 whatever the key; expected at "
                "least 2, or an offset in the normaliser"
            )
        keys = key_dimensions(problem.law, length)
        normals = normal_points(count, keys + length + 1, seed)
        self.problem = problem
        self.sampler: KeySampler = key_sampler(problem.law, length, normals[:keys])
        self.value_normals = normals[keys:]
        self.terms, self.affine = _proximal(problem.attention)
        self._keys: Array | None = None

    def mean(self, per_sample: Array) -> float:
        """Mean over the samples, with their importance weights where they have any."""
        weights = self.sampler.weights
        return float(np.mean(per_sample if weights is None else per_sample * weights))

    def forget(self) -> None:
        """Drop the remembered proximal points."""
        self._keys = None

    def step(self, state: OrderParameters, training: Training, guarded: bool = True) -> Step:
        """One application of the map at these order parameters.

        Args:
            guarded: start every proximal problem from several points, not only from its last solution.

        Raises:
            CannotEvaluate: where the step leaves the reals, as it may far from a fixed point.
        """
        key_fields = self.sampler.fields(state.m_k, state.q_k)
        values, label = value_fields(self.value_normals, state.m_v, state.q_v, self.problem.noise)
        samples = Samples(key_fields.omega, values.omega, label, state.V_k, state.V_v)
        force_k, force_v, residual = self._forces(samples, guarded)
        loss = self.mean(residual**2) / 2
        energy = training.alpha * loss + (training.r_k * state.q_k + training.r_v * state.q_v) / 2
        with np.errstate(all="ignore"):
            keys = self._channel(training.alpha, training.r_k, state.m_k, state.q_k, state.V_k, force_k, key_fields)
            vals = self._channel(training.alpha, training.r_v, state.m_v, state.q_v, state.V_v, force_v, values)
        outside = (keys[1] - keys[0] ** 2, vals[1] - vals[0] ** 2)
        if not (np.all(np.isfinite([*keys, *vals])) and min(outside) > 0):
            raise CannotEvaluate(
                f"fixed point at alpha = {training.alpha:g}: found a step to no real order parameters; expected "
                "convergence, so try larger ridges or an alpha nearer 1"
            )
        return Step(OrderParameters(*keys, *vals), loss, energy)

    def _channel(
        self, alpha: float, ridge: float, m: float, q: float, V: float, force: Array, fields: Fields
    ) -> tuple[float, float, float]:
        """(m, q, V) of one channel after the step."""
        moments = (
            self.mean(np.einsum("ln,ln->n", force, force)),
            self.mean(np.einsum("ln,ln->n", force, fields.push)) * np.sqrt(q - m * m),
            self.mean(np.einsum("ln,ln->n", force, fields.hidden)),
        )
        hats, response = _update()
        stiffness, mhat, qhat = map(float, hats(alpha, ridge, m, q, *moments))
        width = 1 / max(stiffness, 1 / (FASTEST * V))
        overlap, outside = map(float, response(width, mhat, qhat))
        return overlap, overlap**2 + outside, width

    def _forces(self, samples: Samples, guarded: bool) -> tuple[Array, Array, Array]:
        """Forces on keys and values, shape (L, n), and residuals y - f at the proximal points."""
        if self.affine is not None:
            return self._affine_forces(samples)
        start = self._keys
        keys, _ = minimise(self.terms, samples, start, guarded or start is None)
        self._keys = keys
        sigma = self.terms.activation(keys)
        norm = np.einsum("ln,ln->n", sigma, sigma)
        residual = (samples.label - np.einsum("ln,ln->n", sigma, samples.omega_z)) / (1 + samples.V_v * norm)
        # (chi - omega)/V_k without the cancellation where V_k is small: minus the data term's slope.
        force = -self.terms.force(keys, samples.omega_z, samples.label, samples.V_v)
        return force, sigma * residual, residual

    def _affine_forces(self, samples: Samples) -> tuple[Array, Array, Array]:
        constant, slope = self.affine or (0.0, 0.0)
        u, w = constant + slope * samples.omega_chi, samples.omega_z
        width = slope**2 * samples.V_k
        uu, uw, ww = (np.einsum("ln,ln->n", a, b) for a, b in ((u, u), (u, w), (w, w)))
        rho = dual_residual(uu, uw, ww, samples.label, width, samples.V_v)
        shrink = 1 - width * samples.V_v * rho**2
        attention, value = (u + width * rho * w) / shrink, (w + samples.V_v * rho * u) / shrink
        return slope * rho * value, rho * attention, rho

    def jumps(self, state: OrderParameters) -> float:
        """Share of samples whose proximal minimum is not the one that descent from their field finds.

        There the proximal point jumps as the field moves, and with a finite share of such samples replica symmetry is
        broken: the energy is a lower bound, and a fit gets stuck above it. Linear attention never jumps.
        """
        if self.affine is not None:
            return 0.0
        fields = self.sampler.fields(state.m_k, state.q_k)
        values, label = value_fields(self.value_normals, state.m_v, state.q_v, self.problem.noise)
        samples = Samples(fields.omega, values.omega, label, state.V_k, state.V_v)
        near, best = (minimise(self.terms, samples, guarded=guarded)[1] for guarded in (False, True))
        return self.mean((near > best + 1e-9 * (1 + best)).astype(float))

    def replicon(self, state: OrderParameters, training: Training) -> float:
        """Largest eigenvalue of M_ab = alpha V_a^2 E sum_lm (d f_a,l/d omega_b,m)^2 over a, b = k, v.

        Replica symmetry is stable where it is below 1: two fits that differ a little are then pulled together. The
        slopes are central differences of the forces along every field; jumps of the proximal point are not in them.
        Where two minima are about to merge the squared slope has a finite mean and an infinite variance, so the mean is
        the median of the means of a few blocks of samples.
        """
        fields = self.sampler.fields(state.m_k, state.q_k)
        values, label = value_fields(self.value_normals, state.m_v, state.q_v, self.problem.noise)
        samples = Samples(fields.omega, values.omega, label, state.V_k, state.V_v)
        self._forces(samples, guarded=True)
        keys, squares = self._keys, np.zeros((2, 2, len(label)))
        for b, name in enumerate(("omega_chi", "omega_z")):
            for token in range(self.problem.length):
                sides = []
                for sign in (1, -1):
                    moved = getattr(samples, name).copy()
                    moved[token] += sign * NUDGE
                    self._keys = keys
                    sides.append(self._forces(replace(samples, **{name: moved}), guarded=False))
                for a in (0, 1):
                    slope = (sides[0][a] - sides[1][a]) / (2 * NUDGE)
                    squares[a, b] += np.einsum("ln,ln->n", slope, slope)
        self._keys = keys
        if self.sampler.weights is not None:
            squares *= self.sampler.weights
        scale = training.alpha * np.array([[state.V_k**2], [state.V_v**2]])
        means = (scale * block.mean(axis=2) for block in np.array_split(squares, BLOCKS, axis=2))
        return float(np.median([np.max(np.abs(np.linalg.eigvals(mean))) for mean in means]))

    def test_risk(self, state: OrderParameters) -> float:
        """E (y - f)^2 of the fit on a new sample: Delta^2 + 1 - 2 m_v E sigma_eps + q_v E |sigma|^2, values integrated."""
        sigma = self.terms.activation(self.sampler.fields(state.m_k, state.q_k).omega)
        hit, norm = self.mean(sigma[0]), self.mean(np.einsum("ln,ln->n", sigma, sigma))
        return self.problem.noise**2 + 1 - 2 * state.m_v * hit + state.q_v * norm
