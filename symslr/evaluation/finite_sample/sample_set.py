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
from symslr.evaluation.finite_sample.proximal import Samples, SampleTerms, dual_residual, minimise
from symslr.evaluation.sampling.points import normal_points, sub_seed
from symslr.model.attention import Attention
from symslr.model.sequence_law import SequenceLaw
from symslr.theory.finite_sample import ProximalProblem


@lru_cache(maxsize=64)
def _proximal(attention: Attention) -> tuple[SampleTerms, tuple[float, float] | None]:
    """The compiled proximal problem of an attention, shared by all randomisations, and (c0, c1) where it is affine."""
    problem = ProximalProblem(attention)
    affine = problem.affine
    return SampleTerms(problem), None if affine is None else (float(affine[0]), float(affine[1]))


NUDGE = 1e-4
"""Half of a central difference of the forces."""


class SampleSet:
    """Fixed random points that become samples of one length; remembers the last proximal points.

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
        self._quiet_keys: Array | None = None

    def mean(self, per_sample: Array) -> float:
        """Mean over the samples, with their importance weights where they have any."""
        weights = self.sampler.weights
        return float(np.mean(per_sample if weights is None else per_sample * weights))

    def forget(self) -> None:
        """Drop the remembered proximal points."""
        self._keys = self._quiet_keys = None

    def means(self, state: ReplicaState, guarded: bool, quieted: bool = False) -> Array:
        """What the saddle-point equations ask of these samples, shape (7,).

        E sum f^2, E sum f xi/sqrt(q - m^2) and E sum f h of the keys, the same of the values, and E (y - f)^2/2 on the
        training samples.

        Args:
            quieted: subtract the same means with forces that know neither the label's noise nor that of drawn keys. What
                is subtracted has mean zero, and without it E f xi/sqrt(q - m^2) scatters like sqrt(alpha/n) where data
                abound. It costs a second proximal problem a sample.
        """
        keys, values, samples = self._samples(state)
        self._keys, force_k, force_v, residual = self._forces(samples, self._keys, guarded)
        pairs = [(f, g) for f, of in ((force_k, keys), (force_v, values)) for g in (f, of.push, of.hidden)]
        means = np.array([*(self.mean(np.einsum("ln,ln->n", *pair)) for pair in pairs), self.mean(residual**2) / 2])
        if quieted:
            means[[1, 4, 5]] -= self._quiet_means(state, keys, values, samples, guarded)
        return means

    def _quiet_means(
        self, state: ReplicaState, keys: Fields, values: Fields, samples: Samples, guarded: bool
    ) -> list[float]:
        """Means of noise times forces that do not know it: f xi of the keys, f xi and f h of the values."""
        share = state.m_v / state.q_v
        omega = samples.omega_chi if keys.quiet is None else keys.quiet
        known = replace(samples, omega_chi=omega, label=share * values.omega[0])
        self._quiet_keys, force_k, force_v, _ = self._forces(known, self._quiet_keys, guarded)
        of_label = values.push[0] - values.omega[0] / state.q_v, values.hidden[0] - share * values.omega[0]
        of_keys = 0.0 if keys.quiet is None else self.mean(np.einsum("ln,ln->n", force_k, keys.push))
        return [of_keys, *(self.mean(force_v[0] * part) for part in of_label)]

    def _samples(self, state: ReplicaState) -> tuple[Fields, Fields, Samples]:
        keys = self.sampler.fields(state.m_k, state.q_k)
        values, label = value_fields(self.value_normals, state.m_v, state.q_v, self.noise)
        return keys, values, Samples(keys.omega, values.omega, label, state.V_k, state.V_v)

    def _forces(self, samples: Samples, start: Array | None, guarded: bool) -> tuple[Array | None, Array, Array, Array]:
        """Proximal keys, forces on keys and values, each of shape (L, n), and residuals y - f there.

        Args:
            start: keys near the proximal ones; where there are none, several starts are tried.
        """
        if self.affine is not None:
            return None, *self._affine_forces(samples, *self.affine)
        keys, _ = minimise(self.terms, samples, start, guarded or start is None)
        sigma = self.terms.activation(keys)
        norm = np.einsum("ln,ln->n", sigma, sigma)
        residual = (samples.label - np.einsum("ln,ln->n", sigma, samples.omega_z)) / (1 + samples.V_v * norm)
        # (chi - omega)/V_k without the cancellation where V_k is small: minus the data term's slope.
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
        """Share of samples whose proximal minimum is not the one that descent from their field finds."""
        if self.affine is not None:
            return 0.0
        samples = self._samples(state)[2]
        near, best = (minimise(self.terms, samples, guarded=guarded)[1] for guarded in (False, True))
        return self.mean((near > best + 1e-9 * (1 + best)).astype(float))

    def squared_slopes(self, state: ReplicaState) -> Array:
        """sum_lm (d f_a,l/d omega_b,m)^2 of every sample with its weight, shape (2, 2, n), a, b = k, v.

        By central differences of the forces along every field; jumps of the proximal point are not in them.
        """
        samples = self._samples(state)[2]
        self._keys, *_ = self._forces(samples, self._keys, guarded=True)
        squares = np.zeros((2, 2, len(samples.label)))
        for b, name in enumerate(("omega_chi", "omega_z")):
            field = getattr(samples, name)
            for moved in NUDGE * np.eye(self.length)[:, :, None]:
                sides = (replace(samples, **{name: field + side}) for side in (moved, -moved))
                up, down = (self._forces(side, self._keys, guarded=False)[1:3] for side in sides)
                for a in (0, 1):
                    slope = (up[a] - down[a]) / (2 * NUDGE)
                    squares[a, b] += np.einsum("ln,ln->n", slope, slope)
        return squares if self.sampler.weights is None else squares * self.sampler.weights

    def parted(self, state: ReplicaState, apart: Array) -> tuple[float, float]:
        """E sum (f - f')^2 of keys and of values, of two fits to the same samples whose fields are a little apart.

        Args:
            apart: mean squared difference of the two fields of a key and of a value, below 2 (q - m^2).
        """
        # What the two share is a field of the same overlap and of shorter length; what they do not is independent of it.
        shared = replace(state, q_k=state.q_k - apart[0] / 2, q_v=state.q_v - apart[1] / 2)
        common = self._samples(shared)[2]
        # Not Sobol points: a second scrambling of the same ones would depend on the first.
        normals = np.random.default_rng(self._own_seed).standard_normal((2, 2, *common.omega_chi.shape))
        (keys, values), (others, other_values) = (
            self._forces(
                replace(
                    common,
                    omega_chi=common.omega_chi + np.sqrt(apart[0] / 2) * key_part,
                    omega_z=common.omega_z + np.sqrt(apart[1] / 2) * value_part,
                ),
                None,
                guarded=True,
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
