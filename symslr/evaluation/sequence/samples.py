"""Samples of a channel at given overlaps: what is known of the fields, the fields, the label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.sampling.points import normal_points, uniforms
from symslr.evaluation.sequence.channel import Channel, Seen

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
    """One randomisation: scrambled Sobol points, the same at all overlaps.

    A weight that is the exponential of a linear form moves the fields, so that samples need no weights.

    Args:
        count: a power of two.
        width: standard deviation with which what is not known is drawn in place of 1, for means of what grows with the fields;
            weights make up for it.
    """

    def __init__(self, channel: Channel, count: int, seed: int, width: float = 1.0) -> None:
        self.channel, self.size = channel, channel.size
        parts = channel.split.parts
        outputs = parts[0].outputs
        normals = normal_points(count, 2 * self.size + outputs, seed)
        # the first Sobol coordinates are the best, and what is known counts for little where little is known
        self.rest, self.noise, self.known = np.split(normals, [self.size, self.size + outputs])
        self.narrow = width**self.size * np.exp(-(self.rest**2).sum(axis=0) * (width**2 - 1) / 2)
        self.rest = width * self.rest
        self.level = np.concatenate(list(uniforms(1, count, seed + 1))).T[0]
        self.is_moved = not any(part.has_rest for part in parts)

    def at(self, Q: Array) -> Drawn:
        """The samples at overlaps Q, a symmetric p x p matrix with eigenvalues in [0, 1]."""
        length, parts = self.channel.model.length, self.channel.split.parts
        known, hidden = (np.kron(np.eye(length), root_of(own)) for own in (Q, np.eye(len(Q)) - Q))
        omega = known @ self.known
        z = omega + hidden @ self.rest
        if self.is_moved:
            shares = np.exp([part.log_mean for part in parts])
            chosen = np.searchsorted(np.cumsum(shares)[:-1] / shares.sum(), self.level)
            tilt = np.array([part.tilt for part in parts])[chosen].T
            z, omega = z + tilt, omega + np.kron(np.eye(length), Q) @ tilt
            weight = np.ones(len(chosen))
        else:
            logs = np.array([part.tilt @ z + part.log_scale + _rest(part, z) for part in parts])
            masses = np.exp(logs)
            weight = masses.sum(axis=0)
            chosen = (np.cumsum(masses, axis=0)[:-1] <= self.level * weight).sum(axis=0)
        y = np.zeros((parts[0].outputs, z.shape[1]))
        for n, part in enumerate(parts):
            own = chosen == n
            base, slope, _ = part.at(z[list(part.inner)][:, own])
            y[:, own] = base + np.einsum("oan,an->on", slope, z[list(part.affine)][:, own])
        if self.channel.split.is_sign:
            y = np.where(y > 0, 1.0, -1.0)
        return Drawn(y + self.channel.noise * self.noise, y, omega, weight * self.narrow / len(weight))

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


def _rest(part: Any, z: Array) -> Array:
    found = part.at(z[list(part.inner)])[2]
    return 0.0 if found is None else found


def root_of(matrix: Array) -> Array:
    """The symmetric square root of a positive matrix; eigenvalues below 0, which rounding leaves, count as 0."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
