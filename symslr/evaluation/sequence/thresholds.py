"""Weak recovery: the alpha from which on a direction of the teachers is learnt, by linear response; then given what is learnt.

With T = E[z z^T | y] - 1 and F(M)_kk' = E sum T_(lk)(mj) M_jj' T_(lk')(mj'), Q = 0 is unstable from alpha = 1/(spectral radius of
F) on. Where E[z | y] is not 0 its directions are learnt from any alpha on. Given overlaps Q of what is learnt, the same holds of
the other directions, of which nothing is known.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sampling.scatter import RANDOMISATIONS, standard_error, statistical
from symslr.evaluation.sequence.bayes_optimal import width_of
from symslr.evaluation.sequence.binned import linear_response
from symslr.evaluation.sequence.channel import Channel, can_refine, count
from symslr.evaluation.sequence.samples import Samples
from symslr.evaluation.sequence.state_evolution import StateEvolution, clipped
from symslr.expression.value import Value
from symslr.model.sequence.model import SequenceModel

Array = Any
PRECISION = 5e-4
"""Relative standard error of a threshold to aim at."""
WORK, FEWEST, MOST = 2**22, 1024, 2**15
"""Nodes times samples of a randomisation at most, and its fewest and most samples."""
SEEN, LEAST, LARGEST = 6.0, 1e-5, 1000.0
"""Standard errors, and the size, from which on E|E[z | y]|^2 of a direction counts as there, and the largest threshold that is
told from none."""
BINNED, BINS = 2**17, 4096
"""Samples of a half, and bins, where a label is only known by its bins."""
LATER = 4
"""Randomisations of a threshold that depends on what is learnt, each of which is sought by itself."""
FARTHEST = 64.0
"""alpha up to which such a threshold is sought."""
SETTLED = 5e-3
"""Relative change of such a threshold under a doubling of the nodes, from which on they are not doubled again."""
ROUNDING = 1e-12
"""Relative error of what scatters less."""
POWER, LITTLE, NEAR = 60, 1e-3, 1e-3
"""Steps of the power iteration, and the share of its largest overlap up to which another is none, or a vector lies on an axis."""


@dataclass(frozen=True)
class Threshold:
    """A threshold of weak recovery.

    Attributes:
        value: alpha = N/D from which on the directions are learnt; 0 where any alpha will do.
        directions: orthonormal vectors of length p that span what is learnt, as rows.
        names: the teachers, where each of the directions is one.
        after: the names, or vectors as text, of what was learnt before.
    """

    value: Value
    directions: Array
    names: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        return f"alpha = {self.value} for {', '.join(self.names)}"


def thresholds(model: SequenceModel, *, ladder: bool = False, seed: int = 0) -> list[Threshold]:
    """The threshold of the directions that are learnt first, or none where no alpha will do for linear response.

    Args:
        ladder: whether the thresholds of the other directions are sought too, given what is learnt before them: this takes
            Bayes-optimal overlaps at every alpha that is tried.

    Raises:
        CannotEvaluate: for a model of more than three inner fields.
    """
    began = time.perf_counter()
    nothing = np.zeros((len(model.teachers), 0))
    try:
        channel = Channel(model)
    except CannotEvaluate:
        if model.noise != 0 or ladder:
            raise
        responses = [linear_response(model, BINNED, BINS, sub_seed(seed, n, BINNED)) for n in range(RANDOMISATIONS)]
        halved = linear_response(model, BINNED, BINS // 2, sub_seed(seed, 0, BINNED))
        method = f"means over {BINS} bins of the label, {len(responses)} scrambled Sobol sets of {BINNED} samples"
        first = _first(responses, method)
        off = 0.0 if first is None else abs(first.at(halved[1]) - first.at(responses[0][1]))
        return [] if first is None else [first.threshold(model, nothing, off, began)]
    first = _at_zero(channel, seed)
    found = [] if first is None else [first.threshold(model, nothing, first.off, began)]
    while ladder and found and len(learnt := np.vstack([own.directions for own in found])) < len(model.teachers):
        following = _after(channel, learnt.T, float(found[-1].value), seed)
        if following is None:
            break
        found.append(following.threshold(model, learnt.T, following.off, began))
    return found


Response = tuple[Array, Array]
"""E sum_l E[z_l | y] E[z_l | y]^T, shape (p, p), and F, shape (p, p, p, p)."""


@dataclass(frozen=True)
class _Rung:
    """What is learnt next: a basis as columns, the alpha of every randomisation, and for linear response the overlaps M."""

    basis: Array
    alphas: list[float]
    method: str
    M: Array | None = None
    off: float = 0.0

    def at(self, F: Array) -> float:
        """The threshold by the map of one randomisation; 0 for what is learnt at once."""
        return 0.0 if self.M is None else 1 / _quotient(F, self.M)

    def threshold(self, model: SequenceModel, before: Array, off: float, began: float) -> Threshold:
        error = math.hypot(standard_error(self.alphas), off)
        value = statistical(self.alphas, error, self.method, time.perf_counter() - began)
        return Threshold(value, self.basis.T, _names(model, self.basis), _names(model, before))


def _names(model: SequenceModel, basis: Array) -> tuple[str, ...]:
    """The teachers that a subspace is spanned by, or its vectors as combinations of them."""
    inside = (basis**2).sum(axis=1)
    if np.all((inside < NEAR) | (inside > 1 - NEAR)):
        return tuple(name for name, share in zip(model.teachers, inside) if share > 1 / 2)
    return tuple(
        " + ".join(f"{share:.3g} {name}" for name, share in zip(model.teachers, column) if abs(share) > NEAR)
        for column in basis.T
    )


def responses(samples: Samples, Q: Array, basis: Array, refined: int = 0) -> Response:
    """Linear response of the directions in ``basis``, of which nothing is known, at overlaps Q of the others."""
    drawn, seen = samples.seen(clipped(Q), refined=refined, second=True)
    assert seen.second is not None
    length, width = samples.channel.model.length, len(Q)
    second = seen.second.reshape(length, width, length, width, -1)
    T = np.einsum("lkmjn,ka,jb->lambn", second, basis, basis)
    mean = np.einsum("lkn,ka->lan", seen.force.reshape(length, width, -1), basis)
    weighted = np.moveaxis(T * drawn.weight, (1, 3), (0, 1))
    flat = [
        np.moveaxis(own, -1, 2).reshape(basis.shape[1] ** 2, -1) for own in (weighted, np.moveaxis(T, (1, 3), (0, 1)))
    ]
    r = basis.shape[1]
    F = (flat[0] @ flat[1].T).reshape(r, r, r, r).transpose(0, 2, 1, 3)
    return np.einsum("lan,lbn,n->ab", mean, mean, drawn.weight), F


def _applied(F: Array, M: Array) -> Array:
    return np.einsum("kKjJ,jJ->kK", F, M)


def _quotient(F: Array, M: Array) -> float:
    size = float(np.sum(M * M))
    return float(np.sum(M * _applied(F, M)) / size) if size > 0 else 0.0


def _first(found: Sequence[Response], method: str) -> _Rung | None:
    """What is learnt at once, else what linear response makes grow first, else None."""
    slope = np.mean([own for own, _ in found], axis=0)
    vectors = np.linalg.eigh(slope)[1].T[::-1]
    at_once = [v for v in vectors if _is_there([float(v @ own @ v) for own, _ in found])]
    if at_once:
        return _Rung(np.array(at_once).T, [0.0] * len(found), f"E[z | y] is not 0: {method}")
    F = np.mean([own for _, own in found], axis=0)
    M = np.eye(len(slope)) / len(slope) ** 0.5
    for _ in range(POWER):  # the shift lets what changes its sign at every step die out
        M = _applied(F, M) + _quotient(F, M) * M / 2
        M = (M + M.T) / 2 / max(float(np.linalg.norm(M)), 1e-300)
    if not _is_there([_quotient(own, M) for _, own in found], 1 / LARGEST):
        return None
    values, vectors_ = np.linalg.eigh(M)
    basis = vectors_[:, values > LITTLE * values.max()][:, ::-1]
    return _Rung(basis, [1 / _quotient(own, M) for _, own in found], method, M)


def _is_there(numbers: Sequence[float], least: float = LEAST) -> bool:
    return float(np.mean(numbers)) > max(least, SEEN * standard_error(numbers))


def _is_nothing(maps: Sequence[Array]) -> bool:
    """Whether linear response is certainly too small for any threshold up to ``LARGEST``."""
    sizes = [float(np.linalg.norm(own)) for own in maps]
    return float(np.mean(sizes)) + SEEN * standard_error(sizes) < 1 / LARGEST


def _at_zero(channel: Channel, seed: int) -> _Rung | None:
    """The first rung: samples are doubled until the threshold has its precision, nodes until they do not count."""
    width = len(channel.model.teachers)
    nothing, every = np.zeros((width, width)), np.eye(width)
    split, refined, size = channel.split, 0, FEWEST
    sample = Samples(channel, FEWEST, seed, width_of(channel))
    here, off = responses(sample, nothing, every)[1], 0.0
    while can_refine(split.inner, refined):
        finer = responses(sample, nothing, every, refined + 1)[1]
        off = float(np.linalg.norm(finer - here) / max(float(np.linalg.norm(finer)), 1 / LARGEST))
        if off < PRECISION / 2:
            break
        here, refined = finer, refined + 1
    nodes = max(count(split.inner, refined), 100) * len(split.signs)
    most = min(max(2 ** round(math.log2(WORK / nodes)), FEWEST), MOST)
    while True:
        drawn = (Samples(channel, size, sub_seed(seed, n, size), width_of(channel)) for n in range(RANDOMISATIONS))
        found = [responses(own, nothing, every, refined) for own in drawn]
        method = f"linear response, {len(found)} scrambled Sobol sets of {size} samples"
        first = _first(found, method)
        if first is not None and first.M is None:
            return first
        if first is None:
            if size >= most or _is_nothing([own for _, own in found]):
                return None
        elif size >= most or standard_error(first.alphas) < PRECISION * float(np.mean(first.alphas)):
            return replace(first, off=(off + ROUNDING) * float(np.mean(first.alphas)))
        size *= 2


def _after(channel: Channel, learnt: Array, before: float, seed: int) -> _Rung | None:
    """The next rung, given the overlaps of what is learnt at every alpha; None where there is none up to ``FARTHEST``."""
    basis = np.linalg.qr(np.hstack([learnt, np.eye(len(learnt))]))[0][:, learnt.shape[1] :]
    drawn = [Samples(channel, FEWEST, sub_seed(seed, n, FEWEST), width_of(channel)) for n in range(LATER)]
    method = f"linear response to overlaps of what is learnt, {len(drawn)} scrambled Sobol sets of {FEWEST} samples"
    low = 1.05 * before or 0.05

    def at(samples: Samples, alpha: float, refined: int = 0) -> Response:
        Q = StateEvolution([(1.0, samples)], learnt, refined).solve(0.01 * learnt @ learnt.T, alpha).Q
        return responses(samples, Q, basis, refined)

    at_once = _first([at(samples, 2 * before or 1.0) for samples in drawn], method)
    if at_once is not None and at_once.M is None:
        return replace(at_once, basis=basis @ at_once.basis, alphas=[before] * LATER)

    def excess(alpha: float, samples: Samples, refined: int) -> float:
        found = at(samples, alpha, refined)
        first = _first([found, found], method)
        return -1.0 if first is None else alpha / first.alphas[0] - 1

    def root(samples: Samples, refined: int, high: float, factor: float) -> float:
        """Where linear response begins to grow, from a guess on; infinite beyond ``FARTHEST``."""
        while excess(high, samples, refined) < 0:
            high *= factor
            if high > FARTHEST:
                return math.inf
        bottom = high / factor
        while bottom > low and excess(bottom, samples, refined) > 0:
            bottom /= factor
        how: dict[str, Any] = {"xtol": PRECISION * bottom, "rtol": PRECISION}
        return float(brentq(excess, max(bottom, low), high, args=(samples, refined), **how))

    refined, first = 0, root(drawn[0], 0, 1.2 * low, 1.5)
    off = 0.0
    while first < math.inf and can_refine(channel.split.inner, refined):
        finer = root(drawn[0], refined + 1, first, 1.04)
        off = abs(finer - first)
        if off < SETTLED * first:
            break
        first, refined = finer, refined + 1
    roots = [first, *(root(samples, refined, first, 1.1) for samples in drawn[1:] if first < math.inf)]
    if not all(own < math.inf for own in roots):
        return None
    last = _first([at(samples, own, refined) for samples, own in zip(drawn, roots)], method)
    return None if last is None else _Rung(basis @ last.basis, roots, method, off=off)
