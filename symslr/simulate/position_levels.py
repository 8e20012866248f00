"""A weight g(l, chi) as a mixture over levels of products over tokens: what a field of the keys says of the position.

g(l, chi) = sum_j w_j beta_j(chi_l) prod_{m != l} alpha_j(chi_m). Where chi is only known as N(omega, V), independent over
tokens, every factor is averaged by itself, so that E g costs one sum over levels at any length:

- relevant token alone (spiked-SLR): alpha = 1, beta = g, one level;
- selection by a kernel (max-SLR), kappa(chi_l)/sum kappa = int exp(u) kappa_l exp(-exp(u) sum kappa) du:
  alpha = exp(-exp(u) kappa), beta = exp(u) kappa alpha;
- the largest (max-SLR at nu = infinity): alpha = 1[chi < t], beta = delta(chi - t).

A law p0 of the other tokens besides N(0, 1) multiplies alpha and beta by p0(x)/phi(x).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import log_ndtr
from sympy import S

from symslr.model.form import in_brief
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x
from symslr.simulate.log_domain import Array, log_of_product, plain
from symslr.simulate.values import Values, finite, fixed

FARTHEST = 6.5
"""Half-width, in standard deviations, of the mesh over one token's key."""
NODE, LEVEL, PLACE = 0.1, 0.7, 0.05
"""Spacings: of nodes in standard deviations, of levels in u, of the fields of a table in sqrt(V)."""
MOST_NODES = 2001


@dataclass(frozen=True)
class Slopes:
    """log E f, E f'/E f and E f''/E f of a factor f of one token, at every level and field, shape (J, T)."""

    log: Array
    first: Array
    second: Array

    def at(self, fields: Array, omega: Array) -> Slopes:
        """Interpolation from the increasing, equidistant ``fields``: cubic where the slope is known too."""
        spacing = fields[1] - fields[0]
        place = (omega - fields[0]) / spacing
        index = np.clip(place.astype(np.intp), 0, len(fields) - 2)
        part = place - index
        log, first, second = ((table[:, index], table[:, index + 1]) for table in (self.log, self.first, self.second))
        bend = tuple(b - a * a for a, b in zip(first, second, strict=True))
        return Slopes(
            _cubic(log, first, part, spacing),
            _cubic(first, bend, part, spacing),
            second[0] + part * (second[1] - second[0]),
        )


def _cubic(ends: tuple[Array, ...], slopes: tuple[Array, ...], part: Array, spacing: float) -> Array:
    """Hermite's cubic at a share ``part`` of the interval."""
    rise = ends[1] - ends[0]
    left, right = slopes[0] * spacing - rise, slopes[1] * spacing - rise
    return ends[0] + part * (rise + (1 - part) * ((1 - part) * left - part * right))


class PositionLevels(ABC):
    """Abstract: averages of alpha_j and beta_j over N(omega, V)."""

    def tokens(self, omega: Array, variance: float, lowest: float) -> tuple[Slopes, Slopes]:
        """(alpha, beta) at the fields of many tokens, the weights w_j inside beta.

        Args:
            omega: shape (T,).
            variance: V > 0.
            lowest: the smallest, over sequences, of the largest field.
        """
        width = float(np.sqrt(variance))
        # On a lattice of multiples, so that one step of the iteration sees nearly the table of the step before.
        spacing = PLACE * width
        first, last = math.floor(float(omega.min()) / spacing), math.ceil(float(omega.max()) / spacing) + 1
        fields = np.arange(first, last + 1, dtype=np.float64) * spacing
        tables = self.tables(fields, width, (lowest - FARTHEST * width, float(fields[-1]) + FARTHEST * width))
        return tables[0].at(fields, omega), tables[1].at(fields, omega)

    @abstractmethod
    def tables(self, fields: Array, width: float, largest: tuple[float, float]) -> tuple[Slopes, Slopes]:
        """(alpha, beta) at these fields; ``largest`` is the range of the largest key of a sequence."""


def position_levels(law: SequenceLaw, values: Values) -> PositionLevels:
    """The levels of a task's weight.

    Raises:
        ValueError: for a missing or infinite value, or a weight that depends on several tokens and selects none.
    """
    if law.selects_largest:
        if law.base != STANDARD_NORMAL:
            raise ValueError(
                f"token law: found {law.base.density}; expected N(0, 1) where the largest token is selected"
            )
        return LargestLevels()
    finite({s for s in law.free_symbols if s != law.length}, values)
    reference = S.Zero
    if law.base != STANDARD_NORMAL:
        reference = log_of_product(law.base.density) - log_of_product(STANDARD_NORMAL.density)
    kernel = law.posterior_kernel if law.is_selection else law.relevant_factor
    if kernel is None:
        raise ValueError(
            f"weight: found {in_brief(law.weight)}; expected one of the relevant token alone, or a selection"
        )
    numeric = [fixed(each, values, frozenset({x})) for each in (log_of_product(kernel), reference)]
    log_kernel, log_base = (plain(each, (x,)) for each in numeric)
    return (SelectionLevels if law.is_selection else SingleLevel)(log_kernel, log_base)


@final
@dataclass(frozen=True)
class SingleLevel(PositionLevels):
    """g = w(chi_l): alpha = p0/phi, beta = w p0/phi."""

    log_weight: Callable[[Array], Array]
    log_base: Callable[[Array], Array]

    def tables(self, fields: Array, width: float, largest: tuple[float, float]) -> tuple[Slopes, Slopes]:
        keys, normals = _nodes(fields, width, NODE)
        base = np.broadcast_to(self.log_base(keys), keys.shape)[None]
        return _averages(base, normals, width), _averages(base + self.log_weight(keys), normals, width)


@final
@dataclass(frozen=True)
class SelectionLevels(PositionLevels):
    """P(eps = l | chi) = kappa(chi_l)/sum kappa."""

    log_kernel: Callable[[Array], Array]
    log_base: Callable[[Array], Array]

    def tables(self, fields: Array, width: float, largest: tuple[float, float]) -> tuple[Slopes, Slopes]:
        reached = np.linspace(*largest, 400)
        scores = np.broadcast_to(self.log_kernel(reached), reached.shape)
        levels = LEVEL * np.arange(math.floor((-scores.max() - 14) / LEVEL), math.ceil((4 - scores.min()) / LEVEL) + 1)
        # exp(-exp(u) kappa) falls from 1 to 0 over 1/slope of the kernel.
        slope = float(np.max(np.abs(np.diff(scores)))) / (reached[1] - reached[0])
        keys, normals = _nodes(fields, width, min(NODE, 0.4 / max(slope * width, 1e-9)))
        base, kernel = (np.broadcast_to(each(keys), keys.shape) for each in (self.log_base, self.log_kernel))
        alphas, betas = [], []
        for level in levels:
            score = level + kernel
            alpha = base - np.exp(np.minimum(score, 60.0))
            alphas.append(_averages(alpha[None], normals, width))
            betas.append(_averages((alpha + score + np.log(LEVEL))[None], normals, width))
        return _stacked(alphas), _stacked(betas)


@final
class LargestLevels(PositionLevels):
    """P(eps = l | chi) = 1 where chi_l is the largest; with u = (t - omega)/sqrt(V) the averages are Phi(u) and phi(u)."""

    def tables(self, fields: Array, width: float, largest: tuple[float, float]) -> tuple[Slopes, Slopes]:
        spacing = width / 2
        levels = spacing * np.arange(math.floor(largest[0] / spacing), math.ceil(largest[1] / spacing) + 1)
        u = (levels[:, None] - fields) / width
        level, density = log_ndtr(u), -(u**2) / 2 - np.log(2 * np.pi) / 2
        hazard = np.exp(density - level) / width
        alpha = Slopes(level, -hazard, -hazard * u / width)
        return alpha, Slopes(density - np.log(2), u / width, (u**2 - 1) / width**2)


def _nodes(fields: Array, width: float, spacing: float) -> tuple[Array, Array]:
    """(keys omega + sqrt(V) xi, shape (T, n), and the xi of the trapezoid rule)."""
    count = int(2 * FARTHEST / spacing) + 1
    if count > MOST_NODES:
        raise ValueError(
            f"position: found a weight that needs {count} nodes a token at V = {width**2:.2g}; expected at most "
            f"{MOST_NODES}, so take a weaker signal nu, or infinity"
        )
    normals = np.linspace(-FARTHEST, FARTHEST, count)
    return fields[:, None] + width * normals, normals


def _averages(log_factor: Array, normals: Array, width: float) -> Slopes:
    """E f and, by Gaussian integration by parts, E f' = E f xi/sqrt(V) and E f'' = E f (xi^2 - 1)/V."""
    logs = log_factor - normals**2 / 2 - np.log(np.exp(-(normals**2) / 2).sum())
    top = logs.max(axis=-1, keepdims=True)
    mass = np.exp(logs - top)
    total = mass.sum(axis=-1)
    first, second = mass @ normals / total, mass @ (normals**2 - 1) / total
    return Slopes(top[..., 0] + np.log(total), first / width, second / width**2)


def _stacked(levels: list[Slopes]) -> Slopes:
    return Slopes(*(np.concatenate([getattr(each, name) for each in levels]) for name in ("log", "first", "second")))
