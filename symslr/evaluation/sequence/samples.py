"""Samples of a channel at given overlaps: what is known of the fields, the fields, the label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.sampling.points import normal_points
from symslr.evaluation.sequence.channel import Channel, Seen
from symslr.evaluation.sequence.parts import Part

Array = Any


@dataclass(frozen=True)
class Drawn:
    """n samples: labels (outputs, n), the same without noise, what is known of the fields (L p, n), and weights whose sum over n
    is 1 in the mean."""

    y: Array
    clean: Array
    omega: Array
    weight: Array


class Samples:
    """One randomisation: scrambled Sobol points, the same at all overlaps and at every value of the hidden variables.

    A weight that is the exponential of a linear form moves the fields, so that samples need no weights.

    Args:
        count: a power of two, shared out among the values of the hidden variables.
        width: standard deviation with which what is not known is drawn in place of 1, for means of what grows with the fields;
            weights make up for it.
    """

    def __init__(self, channel: Channel, count: int, seed: int, width: float = 1.0) -> None:
        self.channel, self.size = channel, channel.size
        outputs = channel.split.parts[0].outputs
        normals = normal_points(shared_out(count, len(channel.split.parts)), 2 * self.size + outputs, seed)
        # the first Sobol coordinates are the best, and what is known counts for little where little is known
        self.rest, self.noise, self.known = np.split(normals, [self.size, self.size + outputs])
        self.narrow = width**self.size * np.exp(-(self.rest**2).sum(axis=0) * (width**2 - 1) / 2)
        self.rest = width * self.rest

    def at(self, Q: Array) -> Drawn:
        """The samples at overlaps Q, a symmetric p x p matrix with eigenvalues in [0, 1]."""
        length = self.channel.model.length
        known, hidden = (np.kron(np.eye(length), root_of(own)) for own in (Q, np.eye(len(Q)) - Q))
        omega = known @ self.known
        z = omega + hidden @ self.rest
        drawn = [self._of(part, omega, z, np.kron(np.eye(length), Q)) for part in self.channel.split.parts]
        return Drawn(*(np.concatenate(own, axis=-1) for own in zip(*drawn)))

    def _of(self, part: Part, omega: Array, z: Array, carried: Array) -> tuple[Array, ...]:
        """Labels, those without noise, what is known and weights, at one value of the hidden variables."""
        z, weight = z + part.tilt[:, None], np.exp(part.log_scale + part.tilt @ part.tilt / 2)
        base, slope, rest = part.at(z[list(part.inner)])
        clean = base + np.einsum("oan,an->on", slope, z[list(part.affine)])
        mass = weight * self.narrow * (1.0 if rest is None else np.exp(rest)) / z.shape[1]
        return clean + self.channel.noise * self.noise, clean, omega + (carried @ part.tilt)[:, None], mass

    def seen(self, Q: Array, *, refined: int = 0, second: bool = False) -> tuple[Drawn, Seen]:
        """The samples at overlaps Q, and what their labels tell.

        Both signs of a label that is a sign are taken, each with its probability: so all depends smoothly on Q.
        """
        hidden = np.eye(len(Q)) - Q
        if not self.channel.split.is_sign:
            drawn = self.at(Q)
            return drawn, self.channel.seen(drawn.y, drawn.omega, hidden, refined=refined, second=second)
        omega = np.kron(np.eye(self.channel.model.length), root_of(Q)) @ self.known
        both = np.repeat([1.0, -1.0], omega.shape[1])[None]
        omega = np.concatenate([omega, omega], axis=1)
        seen = self.channel.seen(both, omega, hidden, refined=refined, second=second)
        return Drawn(both, both, omega, 2 * np.exp(seen.log_z) / len(seen.log_z)), seen


def shared_out(count: int, values: int) -> int:
    """Samples, a power of two, at each of so many values of the hidden variables."""
    return max(int(2 ** (math.log2(count / values) // 1)), FEWEST)


FEWEST = 64
"""Samples at one value of the hidden variables."""


def root_of(matrix: Array) -> Array:
    """The symmetric square root of a positive matrix; eigenvalues below 0, which rounding leaves, count as 0."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
