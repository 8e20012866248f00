"""The fast path: the projections (chi, z), the hidden position and the label noise, without the tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sympy import S

from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x
from symslr.simulate.log_domain import Array
from symslr.simulate.token_law import TokenLaw, token_law
from symslr.simulate.values import Values, checked_length, finite, fixed, substitution
from symslr.simulate.weight import LogWeight, log_weight

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Projections:
    """``size`` sequences, seen through k* and v*.

    Attributes:
        chi, z: key and value projections, shape (size, L).
        epsilon: hidden position of each sequence, shape (size,), an index from 0 to L - 1.
        xi: label noise, standard normal, shape (size,); y = z[epsilon] + Delta xi.
        weights: importance weights of mean 1, shape (size,); all 1 where the law is sampled exactly.
        method: how the weight g entered.
    """

    chi: Array
    z: Array
    epsilon: Positions
    xi: Array
    weights: Array
    method: str

    @property
    def effective_size(self) -> float:
        """(sum w)^2 / sum w^2, the number of exact samples these are worth."""
        return effective_size(self.weights)

    def label(self, noise: float) -> Array:
        """y = z_epsilon + Delta xi, shape (size,)."""
        return at_position(self.z, self.epsilon) + noise * self.xi


def effective_size(weights: Array) -> float:
    """(sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / np.sum(weights**2))


def at_position(tokens: Array, epsilon: Positions) -> Array:
    """The entry of each row at its hidden position."""
    return np.take_along_axis(tokens, epsilon[:, None], axis=1)[:, 0]


class Placement(Protocol):
    """Turns iid standard normals into key projections and positions with the law E_g."""

    @property
    def method(self) -> str:
        """How the weight g enters."""

    def place(self, normals: Array, rng: np.random.Generator) -> tuple[Array, Positions, Array]:
        """(size, L) standard normals -> chi, epsilon, importance weights."""


@dataclass(frozen=True)
class RelevantToken:
    """g = w(chi_epsilon): epsilon is uniform, chi_epsilon has density p w, every other token p."""

    base: TokenLaw
    relevant: TokenLaw
    method: str = "relevant token from its own law"

    def place(self, normals: Array, rng: np.random.Generator) -> tuple[Array, Positions, Array]:
        size, length = normals.shape
        epsilon = rng.integers(length, size=(size,))
        chi = self.base.transport(normals)
        chi[np.arange(size), epsilon] = self.relevant.transport(at_position(normals, epsilon))
        return chi, epsilon, np.ones(size)


@dataclass(frozen=True)
class Selection:
    """sum_l g(l, chi) = L: tokens stay iid, P(epsilon = l | chi) = g(l, chi)/L by the Gumbel maximum."""

    base: TokenLaw
    log_g: LogWeight
    method: str = "position selected given the tokens"

    def place(self, normals: Array, rng: np.random.Generator) -> tuple[Array, Positions, Array]:
        chi = self.base.transport(normals)
        epsilon = np.argmax(self.log_g(chi) + rng.gumbel(size=chi.shape), axis=1)
        return chi, epsilon, np.ones(len(chi))


@dataclass(frozen=True)
class Reweighting:
    """The definition itself: epsilon uniform, tokens iid, importance weight g(epsilon, chi)."""

    base: TokenLaw
    log_g: LogWeight
    method: str = "importance weights"

    def place(self, normals: Array, rng: np.random.Generator) -> tuple[Array, Positions, Array]:
        size, length = normals.shape
        epsilon = rng.integers(length, size=(size,))
        chi = self.base.transport(normals)
        with np.errstate(over="ignore"):
            return chi, epsilon, np.exp(at_position(self.log_g(chi), epsilon))


def placement(law: SequenceLaw, values: Values, *, reweighted: bool = False) -> Placement:
    """How to sample this law: exactly where the weight allows, by importance weights elsewhere.

    Args:
        law: a sequence law with an explicit length, ``law.subs(L, 3)``.
        values: symbol or name -> number.
        reweighted: sample by importance weights whatever the structure.

    Raises:
        ValueError: when a value is missing or out of range.
    """
    checked_length(law.length)
    numbers = substitution(law.base.free_symbols, values)
    scalar = law.base.subs(numbers)
    base = token_law(scalar)
    if law.relevant_factor is not None and not reweighted:
        finite(law.relevant_factor.free_symbols - {x}, values)
        factor = fixed(law.relevant_factor, values, frozenset({x}))
        return RelevantToken(base, base if factor == S.One else token_law(scalar, factor))
    selects = law.is_selection and not reweighted
    return Selection(base, log_weight(law, values)) if selects else Reweighting(base, log_weight(law, values))


@dataclass(frozen=True)
class ProjectionSampler:
    """Draws projections of one law again and again; what depends on the law alone is prepared once."""

    length: int
    rule: Placement

    @classmethod
    def of(cls, law: SequenceLaw, values: Values, *, reweighted: bool = False) -> ProjectionSampler:
        """The sampler of this law; see ``placement``."""
        return cls(checked_length(law.length), placement(law, values, reweighted=reweighted))

    def draw(self, size: int, rng: np.random.Generator) -> Projections:
        """``size`` sequences."""
        if size < 1:
            raise ValueError(f"size: found {size}; expected a positive number of samples")
        chi, epsilon, weights = self.rule.place(rng.standard_normal((size, self.length)), rng)
        z = rng.standard_normal((size, self.length))
        return Projections(chi, z, epsilon, rng.standard_normal(size), weights, self.rule.method)


def sample_projections(
    law: SequenceLaw, values: Values, size: int, rng: np.random.Generator, *, reweighted: bool = False
) -> Projections:
    """``size`` sequences of this law, seen through k* and v*.

    A weight of the relevant token alone and a selecting weight are exact; others use importance weights.

    Args:
        law: a sequence law with an explicit length, ``law.subs(L, 3)``.
        values: symbol or name -> number for the parameters of the weight and of the token law.
        size: number of sequences.
        rng: NumPy generator; record its seed.
        reweighted: sample by importance weights whatever the structure.

    Raises:
        ValueError: when a value is missing or out of range, or the length is not an integer.
    """
    return ProjectionSampler.of(law, values, reweighted=reweighted).draw(size, rng)
