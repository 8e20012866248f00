"""Score statistics and error rates of a trained layer, measured on fresh sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from symslr.model.retrieval import ScoreLaw
from symslr.simulate.estimate import Estimate, RunningMean
from symslr.simulate.log_domain import Array
from symslr.simulate.retrieval.recall import RecallBatch

if TYPE_CHECKING:
    from symslr.simulate.retrieval.layer import Layer


@dataclass(frozen=True)
class Measured:
    """What a layer does on fresh sequences.

    Attributes:
        law: moments of its scores and of its read-out.
        wrong: how often the largest logit is not that of the right value.
        elsewhere: how often another position has more weight than the relevant one.
        read_error: 1 - (E a_eps)^2 / E |a|^2, the risk of reading one of independent values through the attention.
        gaussian: ``wrong`` where independent Gaussians of the same moments stand in the place of its scores: what is left
            of a gap to a prediction from ``law`` comes from the read-out, not from the scores.
    """

    law: ScoreLaw
    wrong: Estimate
    elsewhere: Estimate
    read_error: Estimate
    gaussian: Estimate


def measured(layer: Layer, batches: Sequence[RecallBatch], seed: int) -> Measured:
    """Moments over all queries of the batches, drawn with ``seed``; errors with a standard error over sequences.

    The queries of one sequence are dependent, so a sequence counts as one sample.
    """
    import torch

    kinds, occurring = _Kinds(), np.zeros(layer.recall.vocabulary)
    wrong, elsewhere = RunningMean(), RunningMean()
    first, square = [], []
    with torch.no_grad():
        for batch in batches:
            scores, earlier = layer.scores(batch)
            weights = layer.weights(scores, earlier)
            logits = layer.logits(batch, weights)
            right = logits.argmax(dim=-1).numpy() == batch.answers
            ones = np.ones(len(right))
            wrong.add(1.0 - right.mean(axis=1), ones)
            held = weights.double().numpy()
            here = np.take_along_axis(held, batch.relevant[:, :, None], axis=2)[:, :, 0]
            elsewhere.add((held.max(axis=2) > here).mean(axis=1), ones)
            first.append(here.mean(axis=1))
            square.append((held**2).sum(axis=2).mean(axis=1))
            kinds.add(scores.double().numpy(), earlier.numpy(), batch)
            seen = earlier.numpy() & ~_pairs(batch, scores.shape)
            occurring += np.bincount(batch.tokens.ravel(), seen.sum(axis=1).ravel(), len(occurring))
        read = layer.read().double().numpy()
        trained_shift = float(layer.shift)
    what = "recall on fresh sequences"
    read_out = _read_out(read, layer.recall.key_tokens, layer.recall.value_tokens, occurring)
    law = ScoreLaw(keys=layer.recall.keys, **kinds.moments(), trained_shift=trained_shift, **read_out)
    return Measured(
        law,
        gaussian=_with_gaussian_scores(layer, batches, law, seed),
        wrong=wrong.estimate(seed, what),
        elsewhere=elsewhere.estimate(seed, what),
        read_error=_read_error(np.concatenate(first), np.concatenate(square), seed),
    )


def _pairs(batch: RecallBatch, shape: Sequence[int]) -> NDArray[np.bool_]:
    """Where the values of the pairs stand, (n, K, T)."""
    found = np.zeros(tuple(shape), dtype=bool)
    found[:, :, 1 : 2 * batch.places.shape[1] : 2] = True
    return found


def _with_gaussian_scores(layer: Layer, batches: Sequence[RecallBatch], law: ScoreLaw, seed: int) -> Estimate:
    """How often the layer's own weights and read-out answer wrongly on independent Gaussian scores with a common shift."""
    import torch

    rng, wrong = np.random.default_rng([seed, 1]), RunningMean()
    for batch in batches:
        shape = (*batch.places.shape, batch.tokens.shape[1])
        z = rng.standard_normal(shape)
        scores = np.where(_pairs(batch, shape), law.others + law.others_spread * z, law.rest + law.rest_spread * z)
        relevant = law.relevant + law.apart_spread * rng.standard_normal((*shape[:2], 1))
        np.put_along_axis(scores, batch.relevant[:, :, None], relevant, axis=2)
        scores += law.shift_spread * rng.standard_normal((*shape[:2], 1))
        earlier = torch.as_tensor(np.arange(shape[2]) < batch.places[:, :, None])
        with torch.no_grad():
            logits = layer.logits(batch, layer.weights(torch.as_tensor(scores, dtype=torch.float32), earlier))
        wrong.add((logits.argmax(dim=-1).numpy() != batch.answers).mean(axis=1), np.ones(shape[0]))
    return wrong.estimate(seed, "recall with Gaussian scores")


class _Kinds:
    """Sums of scores over the three kinds of positions."""

    def __init__(self) -> None:
        self.rows: list[Array] = []

    def add(self, scores: Array, earlier: NDArray[np.bool_], batch: RecallBatch) -> None:
        """One row a query: the relevant score, then count, mean and mean square of the other keys' values and of the rest."""
        pairs = _pairs(batch, scores.shape)
        relevant = np.zeros(scores.shape, dtype=bool)
        np.put_along_axis(relevant, batch.relevant[:, :, None], True, axis=2)
        columns = [scores[relevant]]
        for kind in (pairs & ~relevant, ~pairs & earlier):
            count = kind.sum(axis=2)
            at_least_one = np.maximum(count, 1)
            columns.append(count.ravel())
            columns += [((scores**power * kind).sum(axis=2) / at_least_one).ravel() for power in (1, 2)]
        self.rows.append(np.stack(columns, axis=1))

    def moments(self) -> dict[str, float]:
        relevant, pairs, others, others_square, count, rest, rest_square = np.concatenate(self.rows).T
        within = others_square - others**2
        shift = 0.0
        if pairs[0] > 1:
            within = within * pairs / (pairs - 1)
            shift = max(0.0, float(others.var() - (within / pairs).mean())) ** 0.5
        else:
            # a single other key in every sequence: its spread and a shift cannot be told apart
            within = np.full(len(others), others.var())
        apart = (rest_square - rest**2) * count / np.maximum(count - 1, 1)
        together = float(np.mean((relevant - relevant.mean()) * (others - others.mean())))
        return {
            "relevant": float(relevant.mean()),
            "relevant_spread": float(relevant.std()),
            "others": float(others.mean()),
            "others_spread": float(within.mean()) ** 0.5,
            "rest": float(rest.mean()),
            "rest_spread": float(apart.mean()) ** 0.5,
            "shift_spread": shift,
            "shift_covariance": together if shift else 0.0,
            "rest_count": float(count.mean()),
        }


def _read_out(read: Array, keys: int, values: int, occurring: Array) -> dict[str, float]:
    """Sizes of R (values, tokens) on a token's own value, between two values, and on tokens of the rest.

    Args:
        occurring: how often every token stands at a position of the rest: not all of the vocabulary are read alike.
    """
    centred = read - read.mean(axis=0)
    own = centred[:, keys : keys + values]
    between = own[~np.eye(values, dtype=bool)]
    return {
        "read": float(np.diag(own).mean() - between.mean()),
        "read_spread": float(between.std()),
        "rest_read_spread": float(np.sqrt((centred**2).mean(axis=0) @ occurring / occurring.sum())),
    }


def _read_error(first: Array, square: Array, seed: int) -> Estimate:
    """1 - mean(first)^2 / mean(square) over sequences, its standard error by linearisation."""
    mean, energy = first.mean(), square.mean()
    slopes = -2 * mean / energy * (first - mean) + mean**2 / energy**2 * (square - energy)
    total = RunningMean()
    total.add(1 - mean**2 / energy + slopes, np.ones(len(first)))
    return total.estimate(seed, "risk of reading a value")
