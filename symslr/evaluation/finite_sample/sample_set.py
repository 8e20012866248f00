"""Random samples of one length: their fields, proximal points and forces at given order parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from symslr.evaluation.finite_sample.fields import (
    Array,
    Fields,
    key_dimensions,
    key_sampler,
    value_fields,
)
from symslr.evaluation.finite_sample.problem import ReplicaState
from symslr.evaluation.finite_sample.proximal import ProximalTerms, Samples, dual_residual, minimise
from symslr.evaluation.sampling.points import normal_points, sub_seed
from symslr.model.attention import Attention
from symslr.model.sequence_law import SequenceLaw
from symslr.theory.finite_sample import ProximalProblem


@lru_cache(maxsize=64)
def _proximal(attention: Attention) -> tuple[ProximalTerms, tuple[float, float] | None]:
    """The compiled proximal problem of an attention, and (c0, c1) where sigma = c0 + c1 chi, else None; cached."""
    problem = ProximalProblem(attention)
    affine = problem.affine
    return ProximalTerms(problem), None if affine is None else (float(affine[0]), float(affine[1]))


DIFFERENCE_STEP = 1e-4
"""Step of central differences of the forces."""


class SampleSet:
    """Samples of one length from fixed random points; the last proximal points are kept as starts of the next ones.

    Args:
        law: law of a sequence of this length.
        count: samples, a power of two.
        seed: of the scrambling; the same points serve every order parameter, ridge and alpha.
    """

    def __init__(
        self, law: SequenceLaw, length: int, noise: float, attention: Attention, count: int, seed: int
    ) -> None:
        keys = key_dimensions(law, length)
        normals = normal_points(count, keys + length + 1, seed)
        self.length, self.noise, self.count = length, noise, count
        self.sampler = key_sampler(law, length, normals[:keys])
        self.value_normals = normals[keys:]
        self.terms, self.affine = _proximal(attention)
        self._own_seed = sub_seed(seed, 1)
        self._keys: Array | None = None
        self._noiseless_keys: Array | None = None

    def mean(self, per_sample: Array) -> float:
        """Mean over the samples, with their importance weights where they have any."""
        weights = self.sampler.weights
        return float(np.mean(per_sample if weights is None else per_sample * weights))

    def forget(self) -> None:
        """Forget the last proximal points."""
        self._keys = self._noiseless_keys = None

    def means(self, state: ReplicaState, multistart: bool, noise_subtracted: bool = False) -> Array:
        """The means in the saddle-point equations, shape (7,).

        E sum f^2, E sum f xi/sqrt(q - m^2) and E sum f h of the keys, the same of the values, and E (y - f)^2/2 on the
        training samples.

        Args:
            multistart: start every proximal problem from several points.
            noise_subtracted: use control variates of mean 0: the same means with forces that do not depend on the noise of the
                label and of drawn keys. Without them E f xi/sqrt(q - m^2) scatters like sqrt(alpha/n) at large alpha. They cost a
                second proximal problem a sample.
        """
        keys, values, samples = self._samples(state)
        self._keys, force_k, force_v, residual = self._forces(samples, self._keys, multistart)
        pairs = [(f, g) for f, of in ((force_k, keys), (force_v, values)) for g in (f, of.push, of.hidden)]
        means = np.array([*(self.mean(np.einsum("ln,ln->n", *pair)) for pair in pairs), self.mean(residual**2) / 2])
        if noise_subtracted:
            means[[1, 4, 5]] -= self._noise_means(state, keys, values, samples, multistart)
        return means

    def _noise_means(
        self, state: ReplicaState, keys: Fields, values: Fields, samples: Samples, multistart: bool
    ) -> list[float]:
        """The control variates: noise times forces independent of it, f xi of the keys, f xi and f h of the values."""
        share = state.m_v / state.q_v
        omega = samples.omega_chi if keys.noiseless is None else keys.noiseless
        known = replace(samples, omega_chi=omega, label=share * values.omega[0])
        self._noiseless_keys, force_k, force_v, _ = self._forces(known, self._noiseless_keys, multistart)
        of_label = values.push[0] - values.omega[0] / state.q_v, values.hidden[0] - share * values.omega[0]
        of_keys = 0.0 if keys.noiseless is None else self.mean(np.einsum("ln,ln->n", force_k, keys.push))
        return [of_keys, *(self.mean(force_v[0] * part) for part in of_label)]

    def _samples(self, state: ReplicaState) -> tuple[Fields, Fields, Samples]:
        keys = self.sampler.fields(state.m_k, state.q_k)
        values, label = value_fields(self.value_normals, state.m_v, state.q_v, self.noise)
        return keys, values, Samples(keys.omega, values.omega, label, state.V_k, state.V_v)

    def _forces(
        self, samples: Samples, start: Array | None, multistart: bool
    ) -> tuple[Array | None, Array, Array, Array]:
        """Proximal keys, forces on keys and values, each of shape (L, n), and residuals y - f there.

        Args:
            start: keys near the proximal ones; None for several starts.
        """
        if self.affine is not None:
            return None, *self._affine_forces(samples, *self.affine)
        keys, _ = minimise(self.terms, samples, start, multistart or start is None)
        sigma = self.terms.activation(keys)
        norm = np.einsum("ln,ln->n", sigma, sigma)
        residual = (samples.label - np.einsum("ln,ln->n", sigma, samples.omega_z)) / (1 + samples.V_v * norm)
        # (chi - omega)/V_k as minus the slope of the data term: no cancellation where V_k is small
        force = -self.terms.force(keys, samples.omega_z, samples.label, samples.V_v)
        return keys, force, sigma * residual, residual

    def _affine_forces(self, samples: Samples, constant: float, slope: float) -> tuple[Array, Array, Array]:
        u, w = constant + slope * samples.omega_chi, samples.omega_z
        width = slope**2 * samples.V_k
        uu, uw, ww = (np.einsum("ln,ln->n", a, b) for a, b in ((u, u), (u, w), (w, w)))
        rho = dual_residual(uu, uw, ww, samples.label, width, samples.V_v)
        shrink = 1 - width * samples.V_v * rho**2
        attention, value = (u + width * rho * w) / shrink, (w + samples.V_v * rho * u) / shrink
        return slope * rho * value, rho * attention, rho

    def jumps(self, state: ReplicaState) -> float:
        """Share of samples whose global proximal minimum is not the one that descent from their field finds."""
        if self.affine is not None:
            return 0.0
        samples = self._samples(state)[2]
        near, best = (minimise(self.terms, samples, multistart=multistart)[1] for multistart in (False, True))
        return self.mean((near > best + 1e-9 * (1 + best)).astype(float))

    def squared_slopes(self, state: ReplicaState) -> Array:
        """sum_lm (d f_a,l/d omega_b,m)^2 of every sample times its weight, shape (2, 2, n), a, b = k, v.

        By central differences within the basin of each sample: jumps of the proximal point are not included.
        """
        samples = self._samples(state)[2]
        self._keys, *_ = self._forces(samples, self._keys, multistart=True)
        squares = np.zeros((2, 2, len(samples.label)))
        for b, name in enumerate(("omega_chi", "omega_z")):
            field = getattr(samples, name)
            for moved in DIFFERENCE_STEP * np.eye(self.length)[:, :, None]:
                sides = (replace(samples, **{name: field + side}) for side in (moved, -moved))
                up, down = (self._forces(side, self._keys, multistart=False)[1:3] for side in sides)
                for a in (0, 1):
                    slope = (up[a] - down[a]) / (2 * DIFFERENCE_STEP)
                    squares[a, b] += np.einsum("ln,ln->n", slope, slope)
        return squares if self.sampler.weights is None else squares * self.sampler.weights

    def force_differences(self, state: ReplicaState, apart: Array) -> tuple[float, float]:
        """E sum (f - f')^2 of keys and of values, for two fits to the same samples whose fields differ.

        Args:
            apart: mean squared difference of the two fields, of keys and of values, below 2 (q - m^2), shape (2,).
        """
        # the common part of the two fields has the same overlap and a smaller length; the rest is independent of it
        shared = replace(state, q_k=state.q_k - apart[0] / 2, q_v=state.q_v - apart[1] / 2)
        common = self._samples(shared)[2]
        # pseudorandom, not Sobol points: a second scrambling of the same points would not be independent of the first
        normals = np.random.default_rng(self._own_seed).standard_normal((2, 2, *common.omega_chi.shape))
        (keys, values), (others, other_values) = (
            self._forces(
                replace(
                    common,
                    omega_chi=common.omega_chi + np.sqrt(apart[0] / 2) * key_part,
                    omega_z=common.omega_z + np.sqrt(apart[1] / 2) * value_part,
                ),
                None,
                multistart=True,
            )[1:3]
            for key_part, value_part in normals
        )
        between = (keys - others, values - other_values)
        first, second = (self.mean(np.einsum("ln,ln->n", part, part)) for part in between)
        return first, second

    def attention(self, state: ReplicaState) -> tuple[float, float]:
        """(E sigma_eps, E |sigma|^2) on a new sequence."""
        sigma = self.terms.activation(self.sampler.fields(state.m_k, state.q_k).omega)
        return self.mean(sigma[0]), self.mean(np.einsum("ln,ln->n", sigma, sigma))
