"""The layer trained on fresh sequences, and what one run found. torch loads when a function is called."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symslr.extras import need
from symslr.simulate.recipe import Recipe
from symslr.simulate.retrieval.layer import Layer
from symslr.simulate.retrieval.recall import Recall
from symslr.simulate.retrieval.scores import Measured, measured

LONGEST_GRADIENT = 1.0
"""Gradients beyond this norm are shortened to it."""
NUMBERS_AT_ONCE = 1_000_000
"""Scores held in memory while a layer is tested."""


@dataclass(frozen=True)
class RetrievalRun:
    """What one run found.

    Attributes:
        kind: of attention.
        recall, blur, recipe, seed: what was trained, on what.
        loss: mean cross-entropy of the last tenth of the steps, in nats.
        found: scores, read-out and errors on fresh sequences after the last step.
        learned: whether the embeddings were trained.
    """

    kind: str
    recall: Recall
    blur: float
    recipe: Recipe
    seed: int
    loss: float
    found: Measured
    learned: bool = False


def train_recall(
    kind: str, recall: Recall, blur: float, recipe: Recipe, seed: int, *, learned: bool = False, test: int = 512
) -> RetrievalRun:
    """Train a layer by cross-entropy at every query, and measure it on ``test`` fresh sequences.

    Args:
        kind, recall, blur, learned: as ``Layer``.
        recipe: Adam, steps, batch, rate and the dimension of the embeddings.
        seed: of the start and of the sequences.

    Raises:
        MissingExtra: when torch is not installed.
        ValueError: as ``Layer``; for another optimiser, or fewer than two sequences to test on.
    """
    torch = need("torch", "training")
    if recipe.optimiser != "adam":
        raise ValueError(f"optimiser: found {recipe.optimiser!r}; expected 'adam' for a layer of attention")
    if test < 2:
        raise ValueError(f"test: found {test}; expected at least 2 sequences for a standard error")
    torch.set_num_threads(1)
    layer, rng = Layer(kind, recall, recipe.dimension, blur, seed, learned=learned), np.random.default_rng(seed)
    optimiser = torch.optim.Adam(layer.parameters(), lr=recipe.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, recipe.share)
    losses = []
    for _ in range(recipe.steps):
        batch = recall.draw(recipe.batch, rng)
        logits = layer.logits(batch, layer.weights(*layer.scores(batch)))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.as_tensor(batch.answers).flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layer.parameters(), LONGEST_GRADIENT)
        optimiser.step()
        schedule.step()
        losses.append(float(loss.detach()))
    at_once = max(1, NUMBERS_AT_ONCE // (recall.length * recall.keys))
    sizes = [min(at_once, test - start) for start in range(0, test, at_once)]
    found = measured(layer, [recall.draw(size, rng) for size in sizes], seed)
    loss = float(np.mean(losses[-max(1, recipe.steps // 10) :]))
    return RetrievalRun(kind, recall, blur, recipe, seed, loss, found, learned)
