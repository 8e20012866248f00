"""The state of one training: vectors, network, optimiser, records and checkpoints. torch loads when a run is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from sympy import Symbol, lambdify

from symslr.model.attention import Attention
from symslr.model.symbols import x
from symslr.simulate.estimate import Estimate, RunningMean
from symslr.simulate.log_domain import Array
from symslr.simulate.overlaps import Overlaps
from symslr.simulate.recipe import Recipe, Trained
from symslr.simulate.sequences import LengthSampler, Sequences
from symslr.simulate.values import Values, fixed

if TYPE_CHECKING:
    from torch import Tensor

TEST_BATCH = 10_000
WIDTH = 24
"""Of both hidden layers of a network that learns log kappa."""


@final
class Run:
    """One training from its start to what it found."""

    def __init__(
        self,
        attention: Attention | None,
        values: Values,
        recipe: Recipe,
        seed: int,
        sampler: LengthSampler,
        vectors: tuple[Array, Array] | None,
        model: str,
    ) -> None:
        import torch

        torch.manual_seed(seed)
        self.model = model
        self.recipe, self.seed, self.sampler = recipe, seed, sampler
        rng = np.random.default_rng([seed, 0])
        start = rng.standard_normal((2, recipe.dimension)) * recipe.start
        if vectors is not None:
            start = np.stack(_with_coordinates(sampler, vectors, rng))
        self.k, self.v = (torch.tensor(row, requires_grad=True) for row in start)
        self.network = _network() if attention is None else None
        self.free = _free(attention, values)
        self.parameters = torch.zeros(len(self.free), dtype=torch.float64, requires_grad=True)
        self.activation = self._learned if attention is None else _activation(attention, values, self.parameters)
        extra = list(self.network.parameters()) if self.network is not None else []
        extra += [self.parameters] if self.free else []
        rate = recipe.rate * (recipe.dimension if recipe.optimiser == "sgd" else 1)
        groups = [{"params": [self.k, self.v], "lr": rate}, {"params": extra, "lr": recipe.rate}]
        make = torch.optim.SGD if recipe.optimiser == "sgd" else torch.optim.Adam
        self.optimiser = make([group for group in groups if group["params"]])
        self.rates = [group["lr"] for group in self.optimiser.param_groups]
        self.losses: list[float] = []
        self.path: list[Array] = []
        self.at: list[int] = []

    def _learned(self, scores: Tensor) -> Tensor:
        assert self.network is not None
        return self.network(scores[..., None])[..., 0].softmax(dim=-1)

    def descend(self, batch: Sequence[Sequences], noise: float, step: int) -> None:
        """One step on the mean squared error of the batch, which comes in a part for each length."""
        import torch

        errors = [torch.from_numpy(part.weights) * self._squared_errors(part, noise) for part in batch]
        loss = torch.cat(errors).mean()
        left = self.recipe.share(step)
        for group, rate in zip(self.optimiser.param_groups, self.rates):
            group["lr"] = rate * left
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.losses.append(float(loss.detach()))

    def _squared_errors(self, batch: Sequences, noise: float) -> Tensor:
        import torch

        size = self.recipe.dimension**0.5
        tokens, label = torch.from_numpy(batch.X), torch.from_numpy(batch.label(noise))
        prediction = (self.activation(tokens @ self.k / size) * (tokens @ self.v / size)).sum(dim=1)
        return (label - prediction) ** 2

    def _tested(self, noise: float, size: int) -> Estimate:
        """On sequences that no step has seen."""
        import torch

        mean = RunningMean()
        for number, first in enumerate(range(0, size, TEST_BATCH)):
            batch = self.sampler.draw(min(TEST_BATCH, size - first), np.random.default_rng([self.seed, number, 1]))
            for part in batch:
                with torch.no_grad():
                    mean.add(self._squared_errors(part, noise).numpy(), part.weights)
        return mean.estimate(self.seed, "trained predictor on fresh sequences")

    def record(self, step: int, *, last: bool = False) -> None:
        """The order parameters before this step."""
        if last or step % self.recipe.every == 0:
            self.path.append(self._overlaps())
            self.at.append(step)

    def _overlaps(self) -> Array:
        k, v = self.k.detach().numpy(), self.v.detach().numpy()
        stars = self.sampler.k_star, self.sampler.v_star
        pairs = ((k, stars[0]), (v, stars[1]), (k, stars[1]), (v, stars[0]), (k, k), (v, v), (k, v))
        return np.array([one @ two for one, two in pairs]) / self.recipe.dimension

    def trained(self, noise: float, test: int) -> Trained:
        """What was found; tested on ``test`` fresh sequences."""
        if not np.all(np.isfinite(self.path[-1])):
            raise ValueError(f"training: k or v is not finite after {self.recipe}; expected a lower rate or start")
        m_kk, m_vv, m_kv, m_vk, q_kk, q_vv, q_kv = self.path[-1]
        overlaps = Overlaps(m_kk, m_vv, q_kk, q_vv, m_kv, m_vk, q_kv)
        learned = self._log_kernel if self.network is not None else None
        records = np.array(self.path), np.array(self.at), np.array(self.losses)
        tested = self._tested(noise, test) if test else None
        found = {str(symbol): float(value) for symbol, value in zip(self.free, self.parameters.detach(), strict=True)}
        return Trained(self.seed, self.recipe, overlaps, *records, tested, learned, found)

    def _log_kernel(self, scores: Array) -> Array:
        import torch

        assert self.network is not None
        with torch.no_grad():
            found: Array = self.network(torch.from_numpy(np.asarray(scores, dtype=float))[..., None])[..., 0].numpy()
        return found

    def _state(self) -> dict[str, Any]:
        network = self.network.state_dict() if self.network is not None else None
        vectors = {"k": self.k.detach(), "v": self.v.detach(), "parameters": self.parameters.detach()}
        return {"vectors": vectors, "network": network, "optimiser": self.optimiser.state_dict()}

    def keep(self, checkpoint: Path, step: int) -> None:
        """Write the state beside the checkpoint, then in its place: it is whole or it is the one before."""
        import torch

        records = {"losses": self.losses, "path": np.array(self.path).tolist(), "at": self.at}
        beside = checkpoint.with_name(checkpoint.name + ".part")
        torch.save({**self._state(), "records": records, "step": step, "name": self._name()}, beside)
        beside.replace(checkpoint)

    def restored(self, checkpoint: Path) -> int:
        """Take up the state of a checkpoint; the step to go on with."""
        import torch

        kept = torch.load(checkpoint, weights_only=True)
        if kept["name"] != self._name():
            raise ValueError(f"{checkpoint}: found a run with {kept['name']}; expected {self._name()}; remove the file")
        with torch.no_grad():
            self.k.copy_(kept["vectors"]["k"])
            self.v.copy_(kept["vectors"]["v"])
            self.parameters.copy_(kept["vectors"]["parameters"])
        if self.network is not None:
            self.network.load_state_dict(kept["network"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.losses, self.at = list(kept["records"]["losses"]), list(kept["records"]["at"])
        self.path = [np.array(row) for row in kept["records"]["path"]]
        return int(kept["step"])

    def _name(self) -> str:
        return f"seed {self.seed}, {self.recipe}, length {self.sampler.described}, {self.model}"


def _with_coordinates(
    sampler: LengthSampler, vectors: tuple[Array, Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Vectors in R^D with these coordinates along k*, v* and two further orthogonal directions of norm sqrt(D)."""
    dimension = len(sampler.k_star)
    stars = np.stack([sampler.k_star, sampler.v_star])
    random = rng.standard_normal((2, dimension))
    random -= (random @ stars.T / dimension) @ stars
    q, _ = np.linalg.qr(random.T)
    frame = np.concatenate([stars, np.sqrt(dimension) * q.T])
    k, v = np.stack(vectors) @ frame
    return k, v


def _network() -> Any:
    """log kappa: one score in, one number out; smooth, unrestricted in shape."""
    from torch import float64, nn

    return nn.Sequential(nn.Linear(1, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)).to(
        float64
    )


def _free(attention: Attention | None, values: Values) -> list[Symbol]:
    """Parameters of the kernel that no value is given for: they are trained, from 0 on."""
    given = {str(name) for name in values}
    free = () if attention is None else sorted(attention.bounds, key=str)
    return [symbol for symbol in free if str(symbol) not in given]


def _activation(attention: Attention, values: Values, parameters: Tensor) -> Callable[[Tensor], Tensor]:
    """sigma on scores (batch, L), at what the free parameters of the kernel are when it is called."""
    import torch

    names = {"exp": torch.exp, "log": torch.log, "erf": torch.erf, "Abs": torch.abs, "sqrt": torch.sqrt}
    free = _free(attention, values)
    kernel = lambdify((x, *free), fixed(attention.kernel, values, frozenset({x, *free})), [names, "math"])
    offset = float(fixed(attention.offset, values))

    def sigma(scores: Tensor) -> Tensor:
        kappa: Tensor = kernel(scores, *parameters)
        return kappa / (offset + kappa.sum(dim=-1, keepdim=True)) if attention.is_normalised else kappa

    return sigma
