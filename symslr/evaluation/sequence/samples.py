"""Samples of a channel at given overlaps: what is known of the fields, the fields, the label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.sampling.points import normal_points
from symslr.evaluation.sequence.channel import Channel, Seen
from symslr.evaluation.sequence.selection import Selected

Array = Any


@dataclass(frozen=True)
class Drawn:
    """n samples.

    Attributes:
        y: labels, shape (outputs, n).
        omega: what is known of the fields, shape (L p, n).
        weight: weights whose sum over n is 1 in the mean.
        chosen: what is known of the token that the weight selects, if it does.
    """

    y: Array
    omega: Array
    weight: Array
    chosen: Selected | None = None


class Samples:
    """One randomisation: scrambled Sobol points, the same at all overlaps and at every value of the hidden variables.

    Where no field is inner the label is drawn as it is given what is known, else with the fields. A weight that is the exponential
    of a linear form moves the fields, and one that selects a token is integrated, so that samples scatter little.

    Args:
        count: a power of two, shared out among the values of the hidden variables.
        width: standard deviation with which what is not known is drawn in place of 1, for means of what grows with the fields;
            weights make up for it.
    """

    def __init__(self, channel: Channel, count: int, seed: int, width: float = 1.0) -> None:
        self.channel, self.size = channel, channel.size
        split, outputs = channel.split, channel.split.parts[0].outputs
        unknown = outputs if channel.mixture is not None else self.size
        count = shared_out(count, len(split.copies))
        normals = normal_points(count, unknown + outputs * (channel.mixture is None) + self.size, seed)
        # the first Sobol coordinates are the best, and what is known counts for little where little is known
        self.unknown, self.noise, self.known = np.split(normals, [unknown, len(normals) - self.size])
        self.width = width

    def at(self, Q: Array, width: float | None = None) -> Drawn:
        """The samples at overlaps Q, a symmetric p x p matrix with eigenvalues in [0, 1].

        Args:
            width: in place of that of the constructor, as for means in which no label stands.
        """
        width = self.width if width is None else width
        channel, length = self.channel, self.channel.model.length
        carried, full = (np.kron(np.eye(length), own) for own in (Q, np.eye(len(Q)) - Q))
        centred = np.kron(np.eye(length), root_of(Q)) @ self.known
        chosen = channel.selected(centred, np.eye(len(Q)) - Q)
        unknown = width * self.unknown
        narrow = width ** len(unknown) * np.exp(-(self.unknown**2).sum(axis=0) * (width**2 - 1) / 2) / unknown.shape[1]
        drawn = []
        for h, times in channel.split.copies:
            part = channel.split.parts[h]
            omega = centred + (carried @ part.tilt)[:, None]
            log_weight: Any = part.log_scale + part.tilt @ part.tilt / 2
            if channel.mixture is not None:
                y = channel.mixture.labels(h, omega, full, unknown)
            else:
                z = omega + np.kron(np.eye(length), root_of(np.eye(len(Q)) - Q)) @ unknown + (full @ part.tilt)[:, None]
                base, slope, rest = part.at(z[list(part.inner)])
                y = base + np.einsum("oan,an->on", slope, z[list(part.affine)]) + channel.noise * self.noise
                log_weight = log_weight if rest is None else log_weight + rest
            log_weight = log_weight if chosen is None else chosen.log_weight[h]
            drawn.append((y, omega, times * narrow * np.exp(log_weight)))
        y, omega, weight = (np.concatenate(own, axis=-1) for own in zip(*drawn))
        return Drawn(y, omega, weight, chosen and chosen.repeated(len(drawn)))

    def seen(self, Q: Array, *, refined: int = 0, second: bool = False) -> tuple[Drawn, Seen]:
        """The samples at overlaps Q, and what their labels tell.

        Both signs of a label that is a sign are taken, each with its probability: so all depends smoothly on Q.
        """
        hidden = np.eye(len(Q)) - Q
        if not self.channel.split.is_sign:
            drawn = self.at(Q)
            y, omega, chosen = drawn.y, drawn.omega, drawn.chosen
            return drawn, self.channel.seen(y, omega, hidden, refined=refined, second=second, chosen=chosen)
        omega = np.kron(np.eye(self.channel.model.length), root_of(Q)) @ self.known
        both = np.repeat([1.0, -1.0], omega.shape[1])[None]
        omega = np.concatenate([omega, omega], axis=1)
        seen = self.channel.seen(both, omega, hidden, refined=refined, second=second)
        return Drawn(both, omega, 2 * np.exp(seen.log_z) / len(seen.log_z)), seen


def shared_out(count: int, values: int) -> int:
    """Samples, a power of two, at each of so many values of the hidden variables."""
    return max(int(2 ** (math.log2(count / values) // 1)), FEWEST)


FEWEST = 64
"""Samples at one value of the hidden variables."""


def root_of(matrix: Array) -> Array:
    """The symmetric square root of a positive matrix; eigenvalues below 0, which rounding leaves, count as 0."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
