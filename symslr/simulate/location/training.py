"""A layer of several heads trained by gradient descent on fresh sequences of a law of location: no theory inside.

Tokens are vectors x_l in R^D with the keys along p of their directions and the value along another; the rest is noise. The
layer knows nothing of these directions: it has a key, a value vector and a bias for every head. torch loads when a function
is called.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symslr.extras import need
from symslr.model.task import Task
from symslr.simulate.estimate import Estimate, RunningMean
from symslr.simulate.location.sampler import LocationSample, LocationSampler
from symslr.simulate.log_domain import Array
from symslr.simulate.recipe import Recipe
from symslr.simulate.values import Values

TESTED = 100_000
"""Fresh sequences on which a trained layer is tested."""


@dataclass(frozen=True)
class TrainedHeads:
    """What one run found.

    Attributes:
        keys: overlap of every head's key with the p directions of the signal, shape (heads, p).
        outside: norm of the rest of every key, shape (heads,).
        values: overlap of every head's value vector with v*, shape (heads,).
        biases: of the heads, the first 0, shape (heads,).
        test: mean squared error on fresh sequences after the last step.
        seed, recipe: of the run.
    """

    keys: Array
    outside: Array
    values: Array
    biases: Array
    test: Estimate
    seed: int
    recipe: Recipe


def train_heads(
    task: Task, values: Values, heads: int, recipe: Recipe, seed: int, *, joint: bool = True
) -> TrainedHeads:
    """Train f(X) = sum_{h, l} a_{h l} <v_h, x_l> on the squared loss.

    Args:
        task, values: what the sequences are drawn from.
        heads: how many.
        recipe: optimiser, steps, batch, rate and dimension D; D must leave room for the directions of keys and value.
        seed: of the start and of the sequences.
        joint: a_{h l} is a softmax of <k_h, x_l> + b_h over heads and tokens together; else over the tokens of each head.

    Raises:
        MissingExtra: when torch is not installed.
        ValueError: for a missing value, a dimension that is too small, or an optimiser other than Adam.
    """
    torch = need("torch", "training")
    torch.set_num_threads(1)
    sampler, rng = LocationSampler.of(task, values), np.random.default_rng(seed)
    directions = sampler.support.shape[1]
    if recipe.dimension < directions + 1:
        raise ValueError(f"dimension: found {recipe.dimension}; expected at least {directions + 1}")
    if recipe.optimiser != "adam":
        raise ValueError(f"optimiser: found {recipe.optimiser!r}; expected 'adam' for a layer of several heads")
    frame = np.linalg.qr(rng.standard_normal((recipe.dimension, recipe.dimension)))[0]
    shape = (heads, recipe.dimension)
    start = recipe.start / np.sqrt(recipe.dimension) * rng.standard_normal((2, *shape))
    key, value = (torch.tensor(start[n], requires_grad=True) for n in range(2))
    bias = torch.zeros(heads, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([key, value, bias], lr=recipe.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, recipe.share)

    def predicted(tokens: Array) -> object:
        seen = torch.tensor(tokens)
        scores = torch.einsum("nld,hd->nhl", seen, key) + bias[:, None]
        flat = scores.reshape(len(tokens), -1) if joint else scores
        weights = torch.softmax(flat, dim=-1).reshape(scores.shape)
        return torch.einsum("nhl,nld,hd->n", weights, seen, value)

    for _ in range(recipe.steps):
        sample = sampler.draw(recipe.batch, rng)
        loss = torch.mean((torch.tensor(sample.y) - predicted(embedded(sample, frame, rng))) ** 2)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    total = RunningMean()
    with torch.no_grad():
        for _ in range(TESTED // 10_000):
            sample = sampler.draw(10_000, rng)
            error = (torch.tensor(sample.y) - predicted(embedded(sample, frame, rng))).numpy()
            total.add(error**2, np.ones(len(error)))
    keys, vectors = key.detach().numpy() @ frame, value.detach().numpy() @ frame
    biases = bias.detach().numpy()
    return TrainedHeads(
        keys[:, :directions],
        np.linalg.norm(keys[:, directions:], axis=1),
        vectors[:, directions],
        biases - biases[0],
        total.estimate(seed, f"{heads} heads after {recipe.steps} steps in dimension {recipe.dimension}"),
        seed,
        recipe,
    )


def embedded(sample: LocationSample, frame: Array, rng: np.random.Generator) -> Array:
    """Tokens of shape (n, L, D) whose projections on the first columns of ``frame`` are keys, then the value, then noise."""
    count, length, directions = sample.chi.shape
    rest = rng.standard_normal((count, length, len(frame) - directions - 1))
    made: Array = np.concatenate([sample.chi, sample.z[:, :, None], rest], axis=2) @ frame.T
    return made
