"""How k, v and perhaps a kernel are trained, and the results of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from symslr.simulate.estimate import Estimate
from symslr.simulate.log_domain import Array
from symslr.simulate.overlaps import Overlaps

OPTIMISERS = ("sgd", "adam")


@dataclass(frozen=True)
class Recipe:
    """How k, v and perhaps a kernel are trained.

    Attributes:
        optimiser: "sgd" with rate D * ``rate`` on k and v, or "adam".
        steps, batch: fresh sequences at each step.
        rate: learning rate; it falls linearly to zero over the last half unless ``steady``.
        dimension: D.
        start: size of the coordinates of k and v at the start.
        steady: the same rate to the end.
        every: steps between records of the overlaps, and between checkpoints.

    Raises:
        ValueError: for an unknown optimiser, or a number out of range.
    """

    optimiser: str = "sgd"
    steps: int = 1500
    batch: int = 400
    rate: float = 0.1
    dimension: int = 50
    start: float = 0.5
    steady: bool = False
    every: int = 50

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise ValueError(f"optimiser: found {self.optimiser!r}; expected one of {', '.join(OPTIMISERS)}")
        if min(self.steps, self.batch, self.every) < 1 or self.dimension < 2 or self.rate <= 0:
            raise ValueError(f"recipe: found {self}; expected steps, batch, every >= 1, D >= 2 and a positive rate")

    def share(self, step: int) -> float:
        """Of the learning rate at a step."""
        return 1.0 if self.steady else min(1.0, 2 * (1 - step / self.steps))


@dataclass(frozen=True)
class Trained:
    """What one run found.

    Attributes:
        overlaps: the seven order parameters at the end.
        path: the order parameters (m_kk, m_vv, m_kv, m_vk, q_kk, q_vv, q_kv) at the recorded steps, shape (n, 7).
        at: the recorded steps.
        losses: mean squared error on each step's batch.
        test: mean squared error on fresh sequences after the last step, where it was asked for.
        network: log kappa as a function of an array of scores, where the kernel was trained; None elsewhere.
        parameters: those of the kernel that were trained, such as the shift c of erf attention, by name.
    """

    seed: int
    recipe: Recipe
    overlaps: Overlaps
    path: Array
    at: Array
    losses: Array
    test: Estimate | None = None
    network: Callable[[Array], Array] | None = field(default=None, repr=False)
    parameters: Mapping[str, float] = field(default_factory=dict)
