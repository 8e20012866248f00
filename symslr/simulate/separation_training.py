"""Trained networks on D0 against D1: what gradient descent finds when more than the construction allows is free.

Attention f = u/<u, 1>, u = kernel(A1 X A2^T), with X = I, X diagonal or X full (both from X = I), on A2 = A3; A1 = A2 in
self-attention, while in cross-attention the queries A1 hold the mark that is to be told. Then a head:

    construction     relu(c w - tau) summed over rows, W random signs and tau fixed as in the paper
    free threshold   the same with one trainable threshold per neuron, started at 0, where half of the neurons are alive
    pooled           the mean of c over rows, without neurons

and a trainable linear readout with bias, trained by logistic loss. Features are centred and divided by the largest of
their spreads at the start, one number, so that a difference of order 1/n is not out of the readout's reach. Samples are
the matrices of D0 and D1, one for each marked row; half of the rows are held out. torch loads when a function is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Expr, lambdify

from symslr.extras import need
from symslr.model.separation import Separation
from symslr.model.symbols import x
from symslr.simulate.separation import attention_on, data_matrix, threshold

if TYPE_CHECKING:
    from torch import Tensor

INTERACTIONS = ("identity", "diagonal", "full")
HEADS = ("construction", "free threshold", "pooled")


@dataclass(frozen=True)
class Recipe:
    """How one network is trained.

    Attributes:
        interaction: what of X is trainable, one of ``INTERACTIONS``.
        head: one of ``HEADS``.
        steps, rate: of Adam on the full batch.

    Raises:
        ValueError: for an unknown name or steps < 1.
    """

    interaction: str = "identity"
    head: str = "construction"
    steps: int = 250
    rate: float = 0.05

    def __post_init__(self) -> None:
        if self.interaction not in INTERACTIONS:
            raise ValueError(f"interaction: found {self.interaction!r}; expected one of {', '.join(INTERACTIONS)}")
        if self.head not in HEADS:
            raise ValueError(f"head: found {self.head!r}; expected one of {', '.join(HEADS)}")
        if self.steps < 1:
            raise ValueError(f"steps: found {self.steps}; expected at least 1")


@dataclass(frozen=True)
class TrainedRun:
    """One seed: accuracy on the rows it saw and on those held out, last loss, whether a feature varied at the start."""

    seed: int
    train_accuracy: float
    test_accuracy: float
    loss: float
    alive: bool


@dataclass(frozen=True)
class TrainingSummary:
    """Several seeds of one recipe: mean held-out accuracy with its standard error over seeds."""

    kernel: Expr
    recipe: Recipe
    runs: tuple[TrainedRun, ...]

    @property
    def mean(self) -> float:
        return float(np.mean([run.test_accuracy for run in self.runs]))

    @property
    def standard_error(self) -> float:
        return float(np.std([run.test_accuracy for run in self.runs], ddof=1) / len(self.runs) ** 0.5)

    @property
    def separated(self) -> int:
        """Seeds with every held-out matrix classified correctly."""
        return sum(run.test_accuracy == 1.0 for run in self.runs)


def train_seeds(parameters: Separation, kernel: Expr, recipe: Recipe, seeds: Sequence[int]) -> TrainingSummary:
    """One run for each seed, on one thread.

    Raises:
        ValueError: for fewer than two seeds.
    """
    if len(seeds) < 2:
        raise ValueError(f"seeds: found {len(seeds)}; expected at least 2 for a standard error")
    return TrainingSummary(kernel, recipe, tuple(train(parameters, kernel, recipe, seed) for seed in seeds))


def train(parameters: Separation, kernel: Expr, recipe: Recipe, seed: int) -> TrainedRun:
    """Train one network; the seed draws the sign weights and the rows that are held out.

    Raises:
        MissingExtra: when torch is not installed.
    """
    torch = need("torch", "training")

    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(parameters.n).tolist()
    model = _Network(parameters, kernel, recipe, rng)
    seen, held_out = (model.samples(part) for part in (rows[: parameters.n // 2], rows[parameters.n // 2 :]))
    alive = model.standardise(seen[0])
    optimiser = torch.optim.Adam(model.trainable(), lr=recipe.rate)
    loss = torch.zeros(())
    for _ in range(recipe.steps):
        optimiser.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model.logits(seen[0]), seen[1])
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        on_seen, on_held_out = (
            float(((model.logits(inputs) > 0) == (labels > 0.5)).double().mean()) for inputs, labels in (seen, held_out)
        )
    return TrainedRun(seed, on_seen, on_held_out, float(loss.detach()), alive)


class _Network:
    """Attention with a trainable X, a head and a readout; features are scaled by their size at the start."""

    def __init__(self, parameters: Separation, kernel: Expr, recipe: Recipe, rng: np.random.Generator) -> None:
        import torch

        self.parameters, self.kernel, self.recipe = parameters, kernel, recipe
        size = parameters.d if recipe.head == "pooled" else parameters.m
        self.weights = torch.tensor(rng.choice((-1.0, 1.0), size=(parameters.d, parameters.m)))
        self.on_tensors = lambdify(x, kernel, [{"exp": torch.exp}])
        self.interaction = torch.eye(parameters.d, dtype=torch.float64) * float(parameters.beta)
        if recipe.interaction == "diagonal":
            self.interaction = torch.diagonal(self.interaction).clone()
        self.interaction.requires_grad_(recipe.interaction != "identity")
        tau = threshold(parameters) if recipe.head == "construction" else 0.0
        self.tau = torch.full((parameters.m,), tau, dtype=torch.float64)
        self.tau.requires_grad_(recipe.head == "free threshold")
        self.readout = torch.zeros(size, dtype=torch.float64, requires_grad=True)
        self.bias = torch.zeros((), dtype=torch.float64, requires_grad=True)
        self.centre, self.scale = torch.zeros(size, dtype=torch.float64), torch.ones((), dtype=torch.float64)

    def trainable(self) -> list[Tensor]:
        parts = (self.interaction, self.tau, self.readout, self.bias)
        return [part for part in parts if part.requires_grad]

    def samples(self, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Inputs of the head, or A1 and A2 for the attention, and labels: D0 and D1 for each marked row."""
        import torch

        fixed = self.recipe.interaction == "identity"

        def sample(which: int, row: int) -> Any:
            if fixed:
                return attention_on(self.parameters, self.kernel, which, row)
            sides = self.parameters.queries(which), self.parameters.values(which)
            return np.stack([data_matrix(self.parameters, marks, row) for marks in sides])

        inputs = np.stack([sample(which, row) for which in (0, 1) for row in rows])
        labels = np.repeat([0.0, 1.0], len(inputs) // 2)
        return torch.tensor(inputs), torch.tensor(labels)

    def features(self, inputs: Tensor) -> Tensor:
        """(samples, features), before scaling."""
        import torch

        outputs = inputs if self.recipe.interaction == "identity" else self._attend(inputs)
        if self.recipe.head == "pooled":
            return outputs.mean(dim=1)
        return torch.relu(outputs @ self.weights - self.tau).sum(dim=1)

    def standardise(self, inputs: Tensor) -> bool:
        """Fix centre and scale of the features at the start; whether any of them varies over the samples."""
        import torch

        with torch.no_grad():
            features = self.features(inputs)
            spread = features.std(dim=0)
            varies = bool(spread.max() > SMALLEST_SPREAD)
            self.centre = features.mean(dim=0)
            self.scale = spread.max() if varies else torch.ones_like(self.scale)
        return varies

    def logits(self, inputs: Tensor) -> Tensor:
        return ((self.features(inputs) - self.centre) / self.scale) @ self.readout + self.bias

    def _attend(self, matrices: Tensor) -> Tensor:
        diagonal = self.recipe.interaction == "diagonal"
        asked, values = matrices[:, 0], matrices[:, 1]
        queries = asked * self.interaction if diagonal else asked @ self.interaction
        weights = self.on_tensors(queries @ values.transpose(1, 2))
        shares: Tensor = weights / weights.sum(dim=2, keepdim=True)
        return shares @ values


SMALLEST_SPREAD = 1e-12
"""A feature that does not vary over the training set is left unscaled."""
