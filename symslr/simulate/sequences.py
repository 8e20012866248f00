"""The slow path: tokens X in R^{L x D} from the definition, with hidden directions k* and v*."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symslr.model.exact import check_is
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L
from symslr.model.task import Task
from symslr.simulate.log_domain import Array
from symslr.simulate.projections import Placement, at_position, effective_size, placement
from symslr.simulate.values import Values, checked_length, lengths


@dataclass(frozen=True)
class Sequences:
    """``size`` sequences of L tokens in R^D.

    Attributes:
        X: tokens, shape (size, L, D).
        epsilon: hidden position of each sequence, shape (size,), an index from 0 to L - 1.
        xi: label noise, standard normal, shape (size,).
        k_star, v_star: hidden directions, shape (D,), orthogonal and of norm sqrt(D).
        weights: importance weights of mean 1, shape (size,).
        method: how the weight g entered.
    """

    X: Array
    epsilon: np.ndarray
    xi: Array
    k_star: Array
    v_star: Array
    weights: Array
    method: str

    def project(self, vector: Array) -> Array:
        """X vector / sqrt(D), shape (size, L)."""
        return self.X @ vector / np.sqrt(len(vector))

    @property
    def chi(self) -> Array:
        """X k*/sqrt(D), shape (size, L)."""
        return self.project(self.k_star)

    @property
    def z(self) -> Array:
        """X v*/sqrt(D), shape (size, L)."""
        return self.project(self.v_star)

    @property
    def effective_size(self) -> float:
        """(sum w)^2 / sum w^2, the number of exact samples these are worth."""
        return effective_size(self.weights)

    def label(self, noise: float) -> Array:
        """y = z_epsilon + Delta xi, shape (size,)."""
        return at_position(self.z, self.epsilon) + noise * self.xi


def orthogonal_frame(dimension: int, count: int, rng: np.random.Generator) -> Array:
    """``count`` vectors of N(0, I_D), orthogonalised in turn and scaled to norm sqrt(D); shape (count, D).

    Raises:
        ValueError: when D < count.
    """
    if dimension < count:
        raise ValueError(
            f"dimension: found D = {dimension}; expected at least {count} for {count} orthogonal directions"
        )
    q, r = np.linalg.qr(rng.standard_normal((dimension, count)))
    return np.sqrt(dimension) * (q * np.sign(np.diag(r))).T


@dataclass(frozen=True)
class SequenceSampler:
    """Draws tokens of one law again and again, with k* and v* held fixed."""

    length: int
    rule: Placement
    k_star: Array
    v_star: Array

    @classmethod
    def of(
        cls,
        law: SequenceLaw,
        values: Values,
        dimension: int,
        rng: np.random.Generator,
        *,
        reweighted: bool = False,
    ) -> SequenceSampler:
        """The sampler of this law at dimension D, with k* and v* drawn here.

        Raises:
            TypeError: for what is no generator, such as a seed.
        """
        check_is(rng, np.random.Generator, "rng", "numpy.random.default_rng(0)")
        k_star, v_star = orthogonal_frame(dimension, 2, rng)
        return cls(checked_length(law.length), placement(law, values, reweighted=reweighted), k_star, v_star)

    def draw(self, size: int, rng: np.random.Generator) -> Sequences:
        """``size`` sequences."""
        if size < 1:
            raise ValueError(f"size: found {size}; expected a positive number of samples")
        dimension = len(self.k_star)
        X = rng.standard_normal((size, self.length, dimension))
        start = X @ self.k_star / np.sqrt(dimension)
        chi, epsilon, weights = self.rule.place(start, rng)
        moved = np.nonzero(chi != start)  # under a Gaussian base law only the relevant token moves
        X[moved] += (chi - start)[moved][:, None] * self.k_star / np.sqrt(dimension)
        return Sequences(X, epsilon, rng.standard_normal(size), self.k_star, self.v_star, weights, self.rule.method)


@dataclass(frozen=True)
class LengthSampler:
    """Draws sequences whose length is random, with one k* and v*: those of each length that occurs together.

    Attributes:
        samplers: one for each length.
        probabilities: of the lengths.
    """

    samplers: tuple[SequenceSampler, ...]
    probabilities: tuple[float, ...]

    @classmethod
    def of(cls, task: Task, values: Values, dimension: int, rng: np.random.Generator) -> LengthSampler:
        """The sampler of a task at dimension D, with k* and v* drawn here."""
        pairs = lengths(task, values)
        first = SequenceSampler.of(task.law.subs(L, pairs[0][0]), values, dimension, rng)
        others = (replace(first, length=n, rule=placement(task.law.subs(L, n), values)) for n, _ in pairs[1:])
        return cls((first, *others), tuple(float(p) for _, p in pairs))

    @property
    def k_star(self) -> Array:
        """Shape (D,)."""
        return self.samplers[0].k_star

    @property
    def v_star(self) -> Array:
        """Shape (D,)."""
        return self.samplers[0].v_star

    @property
    def described(self) -> str:
        """The law of the length in words."""
        if len(self.samplers) == 1:
            return str(self.samplers[0].length)
        return ", ".join(f"{s.length}: {p:.12g}" for s, p in zip(self.samplers, self.probabilities, strict=True))

    def draw(self, size: int, rng: np.random.Generator) -> list[Sequences]:
        """``size`` sequences in all."""
        if len(self.samplers) == 1:
            return [self.samplers[0].draw(size, rng)]
        counts = rng.multinomial(size, self.probabilities)
        return [sampler.draw(int(n), rng) for sampler, n in zip(self.samplers, counts, strict=True) if n]


def sample_sequences(
    law: SequenceLaw,
    values: Values,
    size: int,
    dimension: int,
    rng: np.random.Generator,
    *,
    reweighted: bool = False,
) -> Sequences:
    """``size`` sequences X in R^{L x D} of this law.

    X starts as iid N(0, 1) entries. A weight of the relevant token alone moves that token along k*: in
    spiked-SLR X_epsilon gains sqrt(nu) k*/sqrt(D). A selecting weight draws epsilon given X k*/sqrt(D) and
    moves nothing. Any other weight, or ``reweighted``, returns g(epsilon, X k*/sqrt(D)) as importance weight.
    Under a token law that is not Gaussian only the component along k* has that law; the rest stays N(0, I).

    k* and v* are drawn N(0, I_D), then orthogonalised and scaled to norm sqrt(D): the geometry of infinite D
    at every D >= 2, so that the projections have the same law at every D.

    Raises:
        ValueError: when D < 2, a value is missing or out of range, or the length is not an integer.
    """
    return SequenceSampler.of(law, values, dimension, rng, reweighted=reweighted).draw(size, rng)
