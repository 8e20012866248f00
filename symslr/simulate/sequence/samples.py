"""Samples of a sequence model from its definition: tokens in R^D, hidden variables, labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sympy import S

from symslr.model.sequence.model import SequenceModel
from symslr.simulate.log_domain import Array
from symslr.simulate.sequences import orthogonal_frame

STEPS = 400
"""Of the Markov chains of fields under a weight. Their memory of the start is shorter by far: it is forgotten in some 10."""
KEPT = (0.0, 0.7)
"""What a chain keeps of its fields in a proposal, by turns: nothing, so that it may leap, and most, so that it may climb."""


@dataclass(frozen=True)
class SequenceData:
    """``size`` samples of a model in dimension D.

    Attributes:
        X: tokens, shape (size, L, D).
        y: labels, shape (size, outputs).
        hidden: which joint value of the hidden variables each sample has, an index into ``model.configurations``.
        teachers: W, shape (D, p); the columns are orthogonal, of norm sqrt(D): the geometry of infinite D, at which fields have
            their law at any D.
        z: fields X W/sqrt(D), shape (size, L, p).
    """

    X: Array
    y: Array
    hidden: np.ndarray
    teachers: Array
    z: Array


def sample_sequence_model(
    model: SequenceModel, size: int, dimension: int, rng: np.random.Generator, teachers: Array | None = None
) -> SequenceData:
    """``size`` samples of the model.

    Without a weight the tokens are N(0, I_D) and the fields are theirs. Under a weight the fields are drawn first, by Markov
    chains, one for each sample; the tokens then are normal with these fields.

    Raises:
        ValueError: for a size below 1, or a dimension below the number of teachers.
    """
    if size < 1:
        raise ValueError(f"size: found {size}; expected a positive number of samples")
    W = orthogonal_frame(dimension, len(model.teachers), rng).T if teachers is None else teachers
    X = rng.standard_normal((size, model.length, dimension))
    z = X @ W / np.sqrt(dimension)
    if model.weight_written != S.One:
        tilted = tilted_fields(model, z, rng)
        X += (tilted - z) @ W.T / np.sqrt(dimension)
        z = tilted
    hidden = draw_hidden(model, z, rng)
    clean = model.labels_at(z)[hidden, :, np.arange(size)]
    return SequenceData(X, clean + float(model.noise) * rng.standard_normal(clean.shape), hidden, W, z)


def tilted_fields(model: SequenceModel, z: Array, rng: np.random.Generator) -> Array:
    """Fields under the weight summed over hidden variables, from normal ones of shape (size, L, p).

    Metropolis steps whose proposals c z + sqrt(1 - c^2) xi leave the normal law as it is.
    """
    weight = model.weights_at(z).sum(axis=0)
    for step in range(STEPS):
        kept = KEPT[step % len(KEPT)]
        proposed = kept * z + np.sqrt(1 - kept**2) * rng.standard_normal(z.shape)
        at_proposed = model.weights_at(proposed).sum(axis=0)
        moves = rng.uniform(size=len(z)) * weight < at_proposed
        z = np.where(moves[:, None, None], proposed, z)
        weight = np.where(moves, at_proposed, weight)
    return z


def draw_hidden(model: SequenceModel, z: Array, rng: np.random.Generator) -> np.ndarray:
    """The hidden variables given the fields: an index into ``model.configurations`` for each sample."""
    shares = np.cumsum(model.weights_at(z), axis=0)
    return np.argmax(rng.uniform(size=len(z)) * shares[-1] < shares, axis=0)
