"""Random samples of one length: their fields, proximal points and forces at given order parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from symslr.evaluation.finite_sample.order_parameters import OrderParameters
from symslr.evaluation.finite_sample.proximal.affine import dual_residual
from symslr.evaluation.finite_sample.proximal.minimise import Samples, minimise
from symslr.evaluation.finite_sample.proximal.sample_terms import SampleTerms
from symslr.evaluation.finite_sample.samples.keys import Fields, KeySampler, key_dimensions, key_sampler
from symslr.evaluation.finite_sample.samples.points import Array, normal_points
from symslr.evaluation.finite_sample.samples.values import value_fields
from symslr.model.attention import Attention
from symslr.model.sequence_law import SequenceLaw
from symslr.theory.finite_sample import ProximalProblem


@dataclass(frozen=True)
class Moments:
    """Means over the samples of one length.

    Attributes:
        keys, values: E sum f^2, E sum f xi/sqrt(q - m^2) and E sum f h of each channel, shape (3,).
        loss: E (y - f)^2/2 on the training samples.
    """

    keys: Array
    values: Array
    loss: float


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
        self.length, self.noise = length, noise
        self.sampler: KeySampler = key_sampler(law, length, normals[:keys])
        self.value_normals = normals[keys:]
        self.terms, self.affine = _proximal(attention)
        self._keys: Array | None = None
        self._quiet_keys: Array | None = None

    def mean(self, per_sample: Array) -> float:
        """Mean over the samples, with their importance weights where they have any."""
        weights = self.sampler.weights
        return float(np.mean(per_sample if weights is None else per_sample * weights))

    def forget(self) -> None:
        """Drop the remembered proximal points."""
        self._keys = self._quiet_keys = None

    def moments(self, state: OrderParameters, guarded: bool, quieted: bool = False) -> Moments:
        """What the saddle-point equations ask of these samples.

        Args:
            quieted: subtract the same means with forces that know neither the label's noise nor that of drawn keys. What
                is subtracted has mean zero, and without it E f xi/sqrt(q - m^2) scatters like sqrt(alpha/n) where data
                abound. It costs a second proximal problem a sample.
        """
        fields, values, samples = self._samples(state)
        force_k, force_v, residual = self._forces(samples, guarded)
        key_means, value_means = self._channel(force_k, fields), self._channel(force_v, values)
        if quieted:
            quiet = self._quiet_means(state, fields, values, samples, guarded)
            key_means, value_means = key_means - quiet[0], value_means - quiet[1]
        return Moments(key_means, value_means, self.mean(residual**2) / 2)

    def _quiet_means(
        self, state: OrderParameters, fields: Fields, values: Fields, samples: Samples, guarded: bool
    ) -> Array:
        """Means of noise times forces that do not know it, for keys and for values, shape (2, 3)."""
        share = state.m_v / state.q_v
        omega = samples.omega_chi if fields.quiet is None else fields.quiet
        known = replace(samples, omega_chi=omega, label=share * values.omega[0])
        keys, self._keys = self._keys, self._quiet_keys
        force_k, force_v, _ = self._forces(known, guarded)
        self._quiet_keys, self._keys = self._keys, keys
        of_label = values.push[0] - values.omega[0] / state.q_v, values.hidden[0] - share * values.omega[0]
        means = np.zeros((2, 3))
        means[1, 1:] = [self.mean(force_v[0] * part) for part in of_label]
        if fields.quiet is not None:
            means[0, 1] = self.mean(np.einsum("ln,ln->n", force_k, fields.push))
        return means

    def _samples(self, state: OrderParameters) -> tuple[Fields, Fields, Samples]:
        keys = self.sampler.fields(state.m_k, state.q_k)
        values, label = value_fields(self.value_normals, state.m_v, state.q_v, self.noise)
        return keys, values, Samples(keys.omega, values.omega, label, state.V_k, state.V_v)

    def _channel(self, force: Array, fields: Fields) -> Array:
        with np.errstate(all="ignore"):
            parts = (np.einsum("ln,ln->n", force, other) for other in (force, fields.push, fields.hidden))
            return np.array([self.mean(part) for part in parts])

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
        """Share of samples whose proximal minimum is not the one that descent from their field finds."""
        if self.affine is not None:
            return 0.0
        samples = self._samples(state)[2]
        near, best = (minimise(self.terms, samples, guarded=guarded)[1] for guarded in (False, True))
        return self.mean((near > best + 1e-9 * (1 + best)).astype(float))

    def squared_slopes(self, state: OrderParameters) -> Array:
        """sum_lm (d f_a,l/d omega_b,m)^2 of every sample with its weight, shape (2, 2, n), a, b = k, v.

        By central differences of the forces along every field; jumps of the proximal point are not in them.
        """
        samples = self._samples(state)[2]
        self._forces(samples, guarded=True)
        keys, squares = self._keys, np.zeros((2, 2, len(samples.label)))
        for b, moved in self._moved(samples):
            sides = []
            for side in moved:
                self._keys = keys
                sides.append(self._forces(side, guarded=False))
            for a in (0, 1):
                slope = (sides[0][a] - sides[1][a]) / (2 * NUDGE)
                squares[a, b] += np.einsum("ln,ln->n", slope, slope)
        self._keys = keys
        return squares if self.sampler.weights is None else squares * self.sampler.weights

    def _moved(self, samples: Samples) -> Iterator[tuple[int, list[Samples]]]:
        """Every field moved up and down by ``NUDGE``."""
        for b, name in enumerate(("omega_chi", "omega_z")):
            for token in range(self.length):
                sides = []
                for sign in (1, -1):
                    field = getattr(samples, name).copy()
                    field[token] += sign * NUDGE
                    sides.append(replace(samples, **{name: field}))
                yield b, sides

    def attention(self, state: OrderParameters) -> tuple[float, float]:
        """(E sigma_eps, E |sigma|^2) on a new sequence."""
        sigma = self.terms.activation(self.sampler.fields(state.m_k, state.q_k).omega)
        return self.mean(sigma[0]), self.mean(np.einsum("ln,ln->n", sigma, sigma))
