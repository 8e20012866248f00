"""Z(y, omega) = E P(y | z) over fields z ~ N(omega, V), with its first and second derivatives in omega.

Fields in which the label is affine are integrated exactly, hidden variables are summed, and the others, at most three, are
summed over the nodes of a trapezoid rule, which converges faster than any power for what is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.sequence.parts import Part, Split, split
from symslr.model.sequence.model import SequenceModel

Array = Any
MOST_INNER = 3
"""Fields that are summed over nodes."""
REACH = 6.0
"""Standard deviations up to which nodes reach: beyond lies 2e-9."""
NODES = {0: 1, 1: 97, 2: 17, 3: 13}
"""Nodes of a direction by the number of directions, before any refinement, which doubles them less one."""
MOST_NODES = 2**16
"""Nodes of all directions."""
BROKEN_STEP = 0.1
"""Step of the rule for one direction in which the integrand breaks."""
BATCH = 2**16
"""Numbers in an array of nodes and samples."""


@dataclass(frozen=True)
class Seen:
    """What a label tells of the fields, for n samples.

    Attributes:
        log_z: log Z(y, omega), up to a constant of the model, shape (n,).
        force: g = d log Z/d omega = V^-1 (E[z | y, omega] - omega), shape (L p, n).
        second: d^2 Z/d omega^2 / Z, shape (L p, L p, n); where V = 1 and omega = 0 it is E[z z^T | y] - 1.
    """

    log_z: Array
    force: Array
    second: Array | None


@dataclass(frozen=True)
class _Placed:
    """A part at nodes, before a label is known.

    Attributes:
        log_weight: of the nodes (T, n).
        expected, covariance: of the label given the inner fields (O, T, n), (O, O, T, n).
        start: d log/d omega of the nodes (L p, T, n); that of the label is ``pulled`` times its own.
        pulled: (O, L p, T, n).
        inside: the part of the second derivative that the inner fields leave (L p, L p).
    """

    log_weight: Array
    expected: Array
    covariance: Array
    start: Array
    pulled: Array
    inside: Array


class Channel:
    """The channel of a model, ready to be integrated.

    Raises:
        CannotEvaluate: for more inner fields than three, and for a label without noise that is no number more than its affine
            fields can hold.
    """

    def __init__(self, model: SequenceModel) -> None:
        self.model, self.size = model, model.length * len(model.teachers)
        self.noise = float(model.noise)
        self.split: Split = split(model)
        if self.split.inner > MOST_INNER:
            raise CannotEvaluate(
                f"{model.name}: found {self.split.inner} fields in which the label is not affine; expected at most "
                f"{MOST_INNER} beside those in which it is"
            )
        if self.noise == 0:
            self._check_density()

    def _check_density(self) -> None:
        random = np.random.default_rng(7)
        for part in self.split.parts:
            slope = part.at(random.standard_normal((len(part.inner), 8)))[1]
            if np.linalg.matrix_rank(np.moveaxis(slope, -1, 0)).min() < part.outputs:
                raise CannotEvaluate(
                    f"{self.model.name}: found a label without noise that is not affine in some field, or has more outputs "
                    "than such fields; expected noise > 0"
                )

    def seen(self, y: Array, omega: Array, V: Array, *, refined: int = 0, second: bool = False) -> Seen:
        """Z and its derivatives in omega.

        Args:
            y: labels, shape (outputs, n).
            omega: fields as far as they are known, shape (L p, n).
            V: covariance of what is not known of the fields of a token, shape (p, p).
            refined: how often the number of nodes of a direction is doubled.
            second: whether the second derivative is wanted.
        """
        full = np.kron(np.eye(self.model.length), V)
        most = max(count(len(part.inner), refined) for part in self.split.parts) * self.size * (2 if second else 1)
        step = max(1, BATCH // most)
        batches = [
            self._batch(y[:, n : n + step], omega[:, n : n + step], full, refined, second)
            for n in range(0, y.shape[1], step)
        ]
        log_z, force, *more = (np.concatenate(own, axis=-1) for own in zip(*batches))
        return Seen(log_z, force, more[0] if more else None)

    def _batch(self, y: Array, omega: Array, full: Array, refined: int, second: bool) -> tuple[Array, ...]:
        every = [node for part in self.split.parts for node in self._nodes(part, y, omega, full, refined)]
        log_z = np.logaddexp.reduce([np.logaddexp.reduce(own[0], axis=0) for own in every], axis=0)
        force, curvature = np.zeros((self.size, y.shape[1])), np.zeros((self.size, self.size, y.shape[1]))
        for weight, own, pulled, information, inside in every:
            share = np.exp(weight - log_z)
            weighted = own * share
            force += weighted.sum(axis=1)
            if second:
                bent = np.einsum("optn,prtn->ortn", information * share, pulled)
                curvature += np.einsum("atn,btn->abn", weighted, own) - np.einsum("ostn,ortn->srn", pulled, bent)
                curvature -= inside[:, :, None] * share.sum(axis=0)
        return (log_z, force, curvature) if second else (log_z, force)

    def predicted(self, omega: Array, V: Array, refined: int = 0) -> Array:
        """E[y | omega] of a new sequence, shape (outputs, n), where nothing was taken off the label."""
        full = np.kron(np.eye(self.model.length), V)
        every = [self._placed(part, omega, full, refined) for part in self.split.parts]
        top = np.logaddexp.reduce([np.logaddexp.reduce(own.log_weight, axis=0) for own in every], axis=0)
        found: Array = 0.0
        for own in every:
            value = own.expected
            if self.split.is_sign:
                with np.errstate(all="ignore"):
                    at = value / np.sqrt(own.covariance[0])
                value = 2 * ndtr(np.where(np.isfinite(at), at, 0.0)) - 1
            found = found + np.einsum("tn,otn->on", np.exp(own.log_weight - top), value)
        return found

    def _placed(self, part: Part, omega: Array, full: Array, refined: int) -> _Placed:
        inner, affine = list(part.inner), list(part.affine)
        shift = full @ part.tilt
        log_scale = part.log_scale + part.tilt @ omega + part.tilt @ shift / 2
        # x = omega_I + root t, and z_A given x has mean omega_A + carry t and covariance spread
        root = np.linalg.cholesky(full[np.ix_(inner, inner)]) if inner else np.zeros((0, 0))
        away = np.linalg.inv(root)
        carry = full[np.ix_(affine, inner)] @ away.T
        spread = full[np.ix_(affine, affine)] - carry @ carry.T
        known = omega + shift[:, None]
        if part.breaks:
            t, log_share = broken_nodes(part.breaks, known[inner[0]], root[0, 0], refined)
        else:
            t, log_share = nodes(len(inner), refined)
        x = known[inner][:, None, :] + np.einsum("ab,btn->atn", root, t)
        mean = known[affine][:, None, :] + np.einsum("ab,btn->atn", carry, t)
        with np.errstate(all="ignore"):
            base, slope, rest = part.at(x)
        expected = base + np.einsum("oatn,atn->otn", slope, mean)
        half = np.einsum("ab,obtn->oatn", spread, slope)
        covariance = np.einsum("oatn,patn->optn", slope, half)
        covariance = covariance + self.noise**2 * np.eye(part.outputs)[:, :, None, None]
        pull = np.zeros((self.size, len(affine)))
        pull[affine] = np.eye(len(affine))
        pull[inner] = -(away.T @ carry.T)
        start = np.broadcast_to(part.tilt[:, None, None], (self.size, *t.shape[1:])).copy()
        start[inner] += np.einsum("ab,btn->atn", away.T, t)
        inside = np.zeros((self.size, self.size))
        inside[np.ix_(inner, inner)] = away.T @ away
        own = log_scale + log_share + (0.0 if rest is None else rest)
        return _Placed(own, expected, covariance, start, np.einsum("sa,oatn->ostn", pull, slope), inside)

    def _nodes(self, part: Part, y: Array, omega: Array, full: Array, refined: int) -> Iterator[tuple[Array, ...]]:
        """For every sign: log weights (T, n), their d log/d omega (L p, T, n), and what the second derivative needs."""
        at = self._placed(part, omega, full, refined)
        for sign in self.split.signs:
            if self.split.is_sign:
                log_like, residual, information = _sign(sign * y, at.expected, at.covariance)
            else:
                log_like, residual, information = _normal((sign * y)[:, None, :] - at.expected, at.covariance)
            force = at.start + np.einsum("ostn,otn->stn", at.pulled, residual)
            yield at.log_weight + log_like, force, at.pulled, information, at.inside


def _normal(residual: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """log N(residual; 0, covariance) up to its constant, covariance^-1 residual, covariance^-1; -inf where there is no density."""
    outputs = len(residual)
    with np.errstate(all="ignore"):
        if outputs == 1:
            det = covariance[0, 0]
            inverse = 1 / covariance
        elif outputs == 2:
            (a, b), (_, d) = covariance
            det = a * d - b * b
            inverse = np.array([[d, -b], [-b, a]]) / det
        else:
            matrices = np.moveaxis(covariance, (0, 1), (-2, -1))
            det = np.linalg.det(matrices)
            inverse = np.moveaxis(np.linalg.pinv(matrices), (-2, -1), (0, 1))
        pulled = np.einsum("optn,ptn->otn", inverse, residual)
        found = -np.einsum("otn,otn->tn", residual, pulled) / 2 - np.log(det) / 2
        bad = ~(det > 1e-300) | ~np.isfinite(found)
    if bad.any():
        found = np.where(bad, -np.inf, found)
        pulled, inverse = np.where(bad, 0.0, pulled), np.where(bad, 0.0, inverse)
    return found, pulled, inverse


def _sign(y: Array, expected: Array, variance: Array) -> tuple[Array, Array, Array]:
    """log P(sign = y), its first derivative in the expected value, and minus its second one."""
    with np.errstate(all="ignore"):
        width = np.sqrt(variance[0])
        at = y[:, None, :] * expected / width
        at = np.where(np.isfinite(at), at, 0.0)
        found = log_ndtr(at)
        slope = np.exp(-(at**2) / 2 - found) / math.sqrt(2 * math.pi)
        scale = np.where(width > 0, 1 / width, 0.0)
    return found[0], y[:, None, :] * slope * scale, (slope * (at + slope) * scale**2)[None]


def count(directions: int, refined: int) -> int:
    """Nodes of a product rule, and at least those of a broken one."""
    return int((((NODES[directions] - 1) << refined) + 1) ** directions) if directions else 1


def nodes(directions: int, refined: int) -> tuple[Array, Array]:
    """Nodes t (d, T, 1) and logarithms of their weights (T, 1), for means over d standard normals."""
    if directions == 0:
        return np.zeros((0, 1, 1)), np.zeros((1, 1))
    line = np.linspace(-REACH, REACH, ((NODES[directions] - 1) << refined) + 1)
    t = np.array(list(product(line, repeat=directions))).T
    log_share = -(t**2).sum(axis=0) / 2
    near = log_share >= -(REACH**2) / 2 - 1e-9
    t, log_share = t[:, near], log_share[near]
    return t[:, :, None], (log_share - np.logaddexp.reduce(log_share))[:, None]


def broken_nodes(breaks: tuple[float, ...], centre: Array, width: float, refined: int) -> tuple[Array, Array]:
    """Nodes (1, T, n) and logarithms of their weights for one normal N(centre, width^2), dense beside places where it breaks.

    Between two such places the rule is double exponential at both ends, and beyond the outer ones at the inner end.
    """
    step = BROKEN_STEP / 2**refined
    line = np.arange(-4.0, 2.7, step)
    far = np.exp(line - np.exp(-line))
    pieces = [(breaks[0] - far, far * (1 + np.exp(-line))), (breaks[-1] + far, far * (1 + np.exp(-line)))]
    inner = np.arange(-3.0, 3.0 + step, step)
    for low, high in pairwise(breaks):
        bent = np.pi / 2 * np.sinh(inner)
        slope = np.pi / 2 * np.cosh(inner) / np.cosh(bent) ** 2
        pieces.append(((low + high) / 2 + (high - low) / 2 * np.tanh(bent), (high - low) / 2 * slope))
    x, share = (np.concatenate(own) for own in zip(*pieces))
    t = (x[:, None] - centre) / width
    log_share = -(t**2) / 2 + np.log(share * step / width)[:, None] - math.log(2 * math.pi) / 2
    return t[None], log_share


def can_refine(directions: int, refined: int) -> bool:
    """Whether the nodes may be doubled once more."""
    return directions > 0 and count(directions, refined + 1) <= MOST_NODES
