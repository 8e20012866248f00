"""Z(y, omega) = E P(y | z) over fields z ~ N(omega, V), with its first and second derivatives in omega.

Fields in which the label is affine are integrated exactly, hidden variables are summed, and the others, at most three, are
summed over the nodes of a trapezoid rule, which converges faster than any power for what is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.sequence.parts import Part, Split, split
from symslr.evaluation.sequence.selection import Selected, selected
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

    Args:
        selects: whether a weight that selects a token is integrated exactly; there are then no second derivatives.

    Raises:
        CannotEvaluate: for more inner fields than three, and for a label without noise that is no number more than its affine
            fields can hold.
    """

    def __init__(self, model: SequenceModel, selects: bool = False) -> None:
        self.model, self.size = model, model.length * len(model.teachers)
        self.noise = float(model.noise)
        self.split: Split = split(model, selects)
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

    @cached_property
    def mixture(self) -> Mixture | None:
        """The channel where no field is inner: given omega a label is a mixture of normals; None elsewhere."""
        split = self.split
        return (
            Mixture(split.parts, self.noise) if split.inner == 0 and split.signs == (1,) and not split.is_sign else None
        )

    def selected(self, omega: Array, V: Array) -> Selected | None:
        """What is known of the selected token, where the weight selects one."""
        own = self.split.selection
        if own is None:
            return None
        omega = omega[own.direction :: len(V)]
        return selected(own.rate, omega, 1 - float(V[own.direction, own.direction]))

    def seen(
        self,
        y: Array,
        omega: Array,
        V: Array,
        *,
        refined: int = 0,
        second: bool = False,
        chosen: Selected | None = None,
    ) -> Seen:
        """Z and its derivatives in omega.

        Args:
            y: labels, shape (outputs, n).
            omega: fields as far as they are known, shape (L p, n).
            V: covariance of what is not known of the fields of a token, shape (p, p).
            refined: how often the number of nodes of a direction is doubled.
            second: whether the second derivative is wanted.
            chosen: ``selected`` at these arguments, where the weight selects a token.
        """
        full = np.kron(np.eye(self.model.length), V)
        exact = self.mixture is not None and not second
        most = max(count(len(part.inner), refined) for part in self.split.parts) * self.size * (2 if second else 1)
        step = max(1, BATCH // (4 * len(self.split.parts) if exact else most))
        slices = [slice(n, n + step) for n in range(0, y.shape[1], step)]
        found = partial(self._exact, full) if exact else partial(self._batch, full, refined, second)
        batches = [found(y[:, at], omega[:, at], chosen and chosen.at(at)) for at in slices]
        log_z, force, *more = (np.concatenate(own, axis=-1) for own in zip(*batches))
        return Seen(log_z, force, more[0] if more else None)

    @property
    def _weighed(self) -> Array:
        """Whether the weight holds fields of a direction, (p,), where no field is inner."""
        width, own = len(self.model.teachers), self.split.selection
        tilts = np.array([part.tilt for part in self.split.parts]).reshape(-1, width).any(axis=0)
        return tilts if own is None else tilts | (np.arange(width) == own.direction)

    def _exact(self, full: Array, y: Array, omega: Array, chosen: Selected | None) -> tuple[Array, ...]:
        assert self.mixture is not None
        log_z, force, share = self.mixture.seen(y, omega, full, 0.0 if chosen is None else chosen.log_weight)
        if chosen is not None:
            self._of_direction(force)[...] += np.einsum("hn,hln->ln", share, chosen.slopes)
        return log_z, force

    def _of_direction(self, fields: Array) -> Array:
        """The rows of the fields (L p, ...) among which a token is selected."""
        assert self.split.selection is not None
        return fields[self.split.selection.direction :: len(self.model.teachers)]

    def _batch(
        self, full: Array, refined: int, second: bool, y: Array, omega: Array, chosen: Selected | None
    ) -> tuple[Array, ...]:
        placed = (self._at_nodes(h, omega, full, refined, chosen) for h in range(len(self.split.parts)))
        every = [node for at in placed for node in self._nodes(at, y)]
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

    def variance(self, omega: Array, V: Array, refined: int = 0, chosen: Selected | None = None) -> Array:
        """E|f - E[f | omega]|^2 of the label without noise, (n,), where nothing was taken off the label.

        It is given omega, or where no field is inner given the part of omega that the weight depends on, at an overlap 1 - V.
        """
        full = np.kron(np.eye(self.model.length), V)
        if self.mixture is not None:
            free = np.tile(~self._weighed & ~self.split.tied[:, self._weighed].any(axis=1), self.model.length)
            carried = np.where(np.outer(free, free), np.eye(len(full)) - full, 0.0)
            known = np.where(free[:, None], 0.0, omega)
            return self.mixture.variance(known, full, carried, 0.0 if chosen is None else chosen.log_weight)
        every = [self._at_nodes(h, omega, full, refined, chosen) for h in range(len(self.split.parts))]
        top = np.logaddexp.reduce([np.logaddexp.reduce(own.log_weight, axis=0) for own in every], axis=0)
        mean, square = np.zeros((every[0].expected.shape[0], omega.shape[1])), np.zeros(omega.shape[1])
        for own in every:
            value, spread = own.expected, np.einsum("ootn->tn", own.covariance) - len(mean) * self.noise**2
            if self.split.is_sign:
                with np.errstate(all="ignore"):
                    at = value / np.sqrt(own.covariance[0])
                value = 2 * ndtr(np.where(np.isfinite(at), at, 0.0)) - 1
                spread = 1 - value[0] ** 2
            share = np.exp(own.log_weight - top)
            mean += np.einsum("tn,otn->on", share, value)
            square += np.einsum("tn,tn->n", share, spread + (value**2).sum(axis=0))
        return square - (mean**2).sum(axis=0)

    def _at_nodes(self, h: int, omega: Array, full: Array, refined: int, chosen: Selected | None) -> _Placed:
        """The part at the nodes of its inner fields."""
        part = self.split.parts[h]
        if part.breaks:
            (n,) = part.inner
            known = omega[n] + full[n] @ part.tilt
            at = self._placed(part, omega, full, *broken_nodes(part.breaks, known, full[n, n] ** 0.5, refined))
        else:
            at = self._placed(part, omega, full, *nodes(len(part.inner), refined))
        if chosen is None:
            return at
        pull = np.zeros((self.size, 1, omega.shape[1]))
        self._of_direction(pull)[...] = chosen.slopes[h][:, None]
        return replace(at, log_weight=at.log_weight + chosen.log_weight[h], start=at.start + pull)

    def _placed(self, part: Part, omega: Array, full: Array, t: Array, log_share: Array) -> _Placed:
        """The part at places t (d, T, n) of its inner fields, in standard deviations of what is not known of them."""
        inner, affine = list(part.inner), list(part.affine)
        shift = full @ part.tilt
        log_scale = part.log_scale + part.tilt @ omega + part.tilt @ shift / 2
        # x = omega_I + root t, and z_A given x has mean omega_A + carry t and covariance spread
        root = np.linalg.cholesky(full[np.ix_(inner, inner)]) if inner else np.zeros((0, 0))
        away = np.linalg.inv(root)
        carry = full[np.ix_(affine, inner)] @ away.T
        spread = full[np.ix_(affine, affine)] - carry @ carry.T
        known = omega + shift[:, None]
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
        return _Placed(
            log_scale + log_share + (0.0 if rest is None else rest),
            expected,
            covariance,
            start,
            np.einsum("sa,oatn->ostn", pull, slope),
            inside,
        )

    def _nodes(self, at: _Placed, y: Array) -> Iterator[tuple[Array, ...]]:
        """For every sign: log weights (T, n), their d log/d omega (L p, T, n), and what the second derivative needs."""
        for sign in self.split.signs:
            if self.split.is_sign:
                log_like, residual, information = _sign(sign * y, at.expected, at.covariance)
            else:
                log_like, residual, information = _normal((sign * y)[:, None, :] - at.expected, at.covariance)
            force = at.start + np.einsum("ostn,otn->stn", at.pulled, residual)
            yield at.log_weight + log_like, force, at.pulled, information, at.inside


class Mixture:
    """Parts without inner fields: given what is known a label is normal at each value h of the hidden variables."""

    def __init__(self, parts: Sequence[Part], noise: float) -> None:
        at = [part.at(np.zeros((0, 1))) for part in parts]
        self.base = np.array([base[:, 0] for base, _, _ in at])
        self.slope = np.zeros((*self.base.shape, len(parts[0].tilt)))
        for slope, part, (_, own, _) in zip(self.slope, parts, at):
            slope[:, list(part.affine)] = own[..., 0]
        self.tilt, self.log_scale = np.array([p.tilt for p in parts]), np.array([p.log_scale for p in parts])
        self.noise = noise

    def labels(self, h: int, omega: Array, full: Array, normals: Array) -> Array:
        """Labels (O, n) at one value of the hidden variables given what is known, from normals (O, n)."""
        mean = self.base[h][:, None] + self.slope[h] @ (omega + (full @ self.tilt[h])[:, None])
        covariance = self.slope[h] @ full @ self.slope[h].T + self.noise**2 * np.eye(len(mean))
        values, vectors = np.linalg.eigh(covariance)
        return mean + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * normals)

    def seen(self, y: Array, omega: Array, full: Array, log_weight: Array | float) -> tuple[Array, Array, Array]:
        """log Z (n,), its derivative in omega (L p, n) but for that of the weight, and the posterior P(h | y, omega) (H, n)."""
        expected, score = self._given(omega, full)
        covariance = np.einsum("hos,st,hpt->oph", self.slope, full, self.slope)
        covariance += self.noise**2 * np.eye(len(y))[..., None]
        log_like, pulled, _ = _normal((y[:, None] - expected.transpose(1, 0, 2)), covariance[..., None])
        log_z, share = _shares(log_like + log_weight + score)
        force = self.tilt.T @ share + np.einsum("hos,ohn->sn", self.slope, pulled * share, optimize=True)
        return log_z, force, share

    def _given(self, omega: Array, full: Array) -> tuple[Array, Array]:
        """The label without noise (H, O, n) at every value of the hidden variables, and log of its weight (H, n)."""
        shift = self.tilt @ full
        expected = self.slope @ omega + (self.base + np.einsum("hos,hs->ho", self.slope, shift))[..., None]
        scale = self.log_scale + np.einsum("hs,hs->h", shift, self.tilt) / 2
        return expected, self.tilt @ omega + scale[:, None]

    def variance(self, omega: Array, full: Array, carried: Array, log_weight: Array | float) -> Array:
        """E|f - E[f | omega]|^2 (n,), where fields of covariance ``carried``, on which no weight depends, are averaged over; omega
        is 0 there."""
        expected, score = self._given(omega, full)
        _, share = _shares(log_weight + score)
        common = np.einsum("hos,st,got->hg", self.slope, carried, self.slope)
        within = np.einsum("hos,st,hot->h", self.slope, full, self.slope) + np.diag(common)
        mean = np.einsum("hn,hon->on", share, expected)
        square = np.einsum("hn,hon->n", share, (expected - mean) ** 2)
        return square + within @ share - np.einsum("hn,hn->n", share, common @ share)


def _shares(score: Array) -> tuple[Array, Array]:
    """log sum_h exp(score) (n,), and exp(score) over it (H, n)."""
    top = score.max(axis=0)
    share = np.exp(score - top)
    total = share.sum(axis=0)
    return top + np.log(total), share / total


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
