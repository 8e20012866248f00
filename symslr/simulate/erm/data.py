"""Training sets: N sequences of one task in dimension D, held once, as one array of tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from symslr.model.form import in_brief
from symslr.model.symbols import L
from symslr.model.task import Task
from symslr.simulate.log_domain import Array
from symslr.simulate.projections import Placement, Positions, Reweighting, placement
from symslr.simulate.sequences import orthogonal_frame
from symslr.simulate.values import Values, fixed, lengths

NUMBERS_PER_BATCH = 4_000_000
"""Entries of X drawn at once; what a batch needs besides X itself stays below 0.1 GB."""

PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class TrainingSet:
    """N sequences as one array of tokens, with or without the directions that made the labels.

    Attributes:
        tokens: the tokens of all sequences, one after the other, shape (T, D), C-contiguous, float64 or float32.
        offsets: sequence mu owns the rows offsets[mu]:offsets[mu + 1]; shape (N + 1,).
        y: labels, shape (N,), float64.
        k_star, v_star: hidden directions, shape (D,), or None where they are not known.
    """

    tokens: NDArray
    offsets: Positions
    y: Array
    k_star: Array | None = None
    v_star: Array | None = None

    @classmethod
    def of(cls, X: NDArray, y: Array) -> TrainingSet:
        """The set of a user's arrays: X of shape (N, L, D), y of shape (N,). A C-contiguous float X is not copied.

        Raises:
            ValueError: where the shapes do not fit, or X is not real.
        """
        X = np.asarray(X)
        if X.ndim != 3 or 0 in X.shape:
            raise ValueError(f"X: found shape {X.shape}; expected (N, L, D), sequences by tokens by dimensions")
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X: found entries of type {X.dtype}; expected real numbers")
        if X.dtype.name not in PRECISIONS:
            X = X.astype(np.float64)
        y = np.ascontiguousarray(y, dtype=np.float64)
        if y.shape != X.shape[:1]:
            raise ValueError(f"y: found shape {y.shape}; expected ({len(X)},), one label for each sequence of X")
        if not np.all(np.isfinite(y)):
            raise ValueError("y: found a label that is not finite; expected real numbers")
        size, length, dimension = X.shape
        tokens = np.ascontiguousarray(X).reshape(size * length, dimension)
        return cls(tokens, np.arange(size + 1, dtype=np.int64) * length, y)

    @property
    def size(self) -> int:
        """N."""
        return len(self.y)

    @property
    def dimension(self) -> int:
        """D."""
        return self.tokens.shape[1]

    @property
    def X(self) -> NDArray:
        """The tokens as (N, L, D), a view; only where all lengths are equal.

        Raises:
            ValueError: when the lengths differ.
        """
        steps = np.diff(self.offsets)
        if np.any(steps != steps[0]):
            raise ValueError("X: the sequences have different lengths; use tokens and offsets")
        return self.tokens.reshape(self.size, int(steps[0]), self.dimension)


def sample_training_set(
    task: Task, values: Values, size: int, dimension: int, rng: np.random.Generator, *, dtype: DTypeLike = np.float64
) -> TrainingSet:
    """N = ``size`` sequences in dimension D from the definition of the task.

    X starts as iid N(0, 1) entries, and the weight then moves or selects a token exactly as in
    ``sample_sequences``; k*, v* are drawn N(0, I_D), orthogonalised and scaled to norm sqrt(D), the geometry of
    infinite D at every D. X is written batch by batch into the one array that is returned.

    Args:
        task, values: what is sampled; a length that is random in the task is drawn for every sequence.
        size, dimension: N >= 1 and D >= 2.
        rng: NumPy generator; record its seed.
        dtype: float64 or float32, of X; labels are always float64.

    Raises:
        ValueError: for a missing value, another dtype, or a weight that can only be sampled by importance weights,
            which an empirical risk over iid sequences has no place for.
    """
    kind = np.dtype(dtype)
    if kind.name not in PRECISIONS:
        raise ValueError(f"dtype: found {kind}; expected float64 or float32")
    if size < 1:
        raise ValueError(f"size: found {size}; expected a positive number of sequences")
    pairs = lengths(task, values)
    counts = np.array([length for length, _ in pairs])[rng.choice(len(pairs), size=size, p=[p for _, p in pairs])]
    rules = {int(n): _exact_rule(task, values, int(n)) for n in np.unique(counts)}
    stars = orthogonal_frame(dimension, 2, rng)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    tokens, y = np.empty((int(offsets[-1]), dimension), kind), np.empty(size)
    noise = float(fixed(task.noise, values))
    directions = (stars / np.sqrt(dimension)).astype(kind)
    batch = max(1, NUMBERS_PER_BATCH // (dimension * int(counts.max())))
    for start in range(0, size, batch):
        stop = min(start + batch, size)
        rows = tokens[offsets[start] : offsets[stop]]
        rng.standard_normal(dtype=kind, out=rows)  # type: ignore[arg-type]
        chosen = _place(rows, directions, counts[start:stop], rules, rng)
        y[start:stop] = rows[chosen].astype(np.float64) @ stars[1] / np.sqrt(dimension)
    y += noise * rng.standard_normal(size)
    return TrainingSet(tokens, offsets, y, stars[0], stars[1])


def _exact_rule(task: Task, values: Values, length: int) -> Placement:
    rule = placement(task.law.subs(L, length), values)
    if isinstance(rule, Reweighting):
        raise ValueError(
            f"task {task.name}: its weight {in_brief(task.law.weight)} can only be sampled by importance weights; expected a weight"
            " of the relevant token alone, or one that sums to L over the positions"
        )
    return rule


def _place(
    rows: NDArray, directions: NDArray, counts: Positions, rules: dict[int, Placement], rng: np.random.Generator
) -> Positions:
    """Move the tokens of one batch in place; the row of each sequence's relevant token."""
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    start = (rows @ directions[0]).astype(np.float64)
    chosen = np.empty(len(counts), dtype=np.int64)
    for length, rule in rules.items():
        members = np.nonzero(counts == length)[0]
        if not len(members):
            continue
        index = first[members][:, None] + np.arange(length)
        chi, epsilon, _ = rule.place(start[index], rng)
        chosen[members] = first[members] + epsilon
        moved = chi != start[index]  # under a Gaussian base law only the relevant token moves
        rows[index[moved]] += ((chi - start[index])[moved][:, None] * directions[0]).astype(rows.dtype)
    return chosen
