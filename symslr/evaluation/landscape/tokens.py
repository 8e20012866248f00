"""A token's Gaussians on meshes: chi*, on which the weight depends, and rho, what else its score has.

And how fine a mesh one's own kernel needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from symslr.evaluation.landscape.kernel import Array, Kernel
from symslr.evaluation.landscape.mesh import USUAL, kernel_range, laplace_nodes, normal_nodes, windows
from symslr.evaluation.landscape.moments import Moments, Roles, Smoothed

WIDEST = 0.8
"""exp(-(2 pi/(0.8 * 0.36))^2/(2 L)) is 5e-11 at L = 10, and smaller with what the strip adds."""

CLOSE = 1.15
"""What a sum over chi* leaves out oscillates in log u, over which it is averaged: 1e-10 at this factor, 2e-8 at 1.4."""

Lengths = tuple[tuple[int, float], ...]
"""(L, P(L))."""


@dataclass(frozen=True)
class Weight:
    """A weight w(chi_eps), or L w(chi_eps)/sum_l w(chi_l) where it ``selects``.

    Attributes:
        log: log w at key projections.
        steepness: its largest slope, which sets the mesh.
    """

    log: Callable[[Array], Array]
    steepness: float
    selects: bool


def shifted_moments(
    kernel: Kernel, own: Array, shift: float, squared_scale: float, lengths: Lengths, refined: float
) -> Moments:
    """Scores shift + s rho for the relevant token and s rho for another; slopes in (shift, s^2, parameters)."""
    chi = np.array([0.0, 1.0])
    roles = Roles(chi, np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), np.ones(1))
    scale = np.sqrt(max(squared_scale, 0.0))

    def sizes(rho: Array) -> list[Array]:
        return [size for centre in (0.0, shift) for size in _log_sizes(kernel, own, centre + scale * rho)]

    window = USUAL if kernel.is_normalised else windows(sizes, 1)[0]
    smoothed = Smoothed(kernel, own, shift * chi, np.ones(2), squared_scale, refined, window)
    if not kernel.is_normalised:
        return Moments(smoothed.on(np.zeros(1)), roles, np.ones(1), 0.0, lengths)
    offset = kernel.offset / smoothed.size
    noise, moved = zip(smoothed.kappa, smoothed.mass)
    low, high = kernel_range(*moved, 1, offset)
    others = [length - 1 for length, _ in lengths if length > 1]
    if others:
        least, most = kernel_range(*noise, min(others), offset)
        # the relevant token's own size ends the range below only where it may be the only one
        low, high = least if len(others) == len(lengths) else min(low, least), max(high, most)
    t, dt = laplace_nodes(low, high, refined)
    return Moments(smoothed.on(t), roles, dt, offset, lengths)


def weighted_moments(
    kernel: Kernel, own: Array, m: float, squared_scale: float, weight: Weight, lengths: Lengths, refined: float
) -> Moments:
    """Scores m chi* + s rho with chi*, rho ~ N(0, 1) under E_0; slopes in (m, s^2, parameters).

    The weight has a normaliser, and a Laplace variable of its own, where it selects.
    """
    scale = np.sqrt(max(squared_scale, 0.0))

    def sizes(chi: Array, rho: Array | float = 0.0) -> list[Array]:
        bare = [np.zeros(1)] if kernel.is_normalised else _log_sizes(kernel, own, m * chi + scale * rho)
        return bare if weight.selects else [*bare, *(size + weight.log(chi) for size in bare)]

    of_chi, of_rho = [*windows(sizes, 1 if kernel.is_normalised else 2), USUAL][:2]
    varies = 0.0 if kernel.is_polynomial else abs(m) * kernel.sharpness
    closer = CLOSE if weight.selects and kernel.is_normalised else 1.0
    chi, roots = normal_nodes(max(varies, weight.steepness), refined, closer, of_chi)
    smoothed = Smoothed(kernel, own, m * chi, roots, squared_scale, refined, of_rho)
    fewest = min(length for length, _ in lengths)
    t, dt, offset = np.zeros(1), np.ones(1), 0.0
    if kernel.is_normalised:
        offset = kernel.offset / smoothed.size
        t, dt = laplace_nodes(*kernel_range(smoothed.kappa, smoothed.mass, fewest, offset), refined)
    score = weight.log(chi)
    if not weight.selects:
        roles = Roles(chi, np.exp(score)[None, :], np.ones((1, len(chi))), np.ones(1))
        return Moments(smoothed.on(t), roles, dt, offset, lengths)
    # A shift of chi* into the complex plane widens the strip of log u; N(0, 1) itself smooths over the steepness.
    steepness = weight.steepness
    wider = max(1.0, min(1 + steepness / max(abs(m), 1e-300), WIDEST * steepness))
    masses = [smoothed.mass.sum(axis=1)]
    if not kernel.is_normalised:  # tokens count by the square of a kernel that grows
        squares = smoothed.power(2)[0].sum(axis=1)
        masses.append(squares / squares.sum())
    lows, highs = zip(*(kernel_range(np.exp(score), mass, fewest, 0.0) for mass in masses), strict=True)
    u, du = laplace_nodes(min(lows), max(highs), refined, wider)
    y = np.log(u)[:, None] + score
    tail = np.exp(-np.exp(np.minimum(y, 700.0)))
    times_length = [(length, length * share) for length, share in lengths]
    return Moments(smoothed.on(t), Roles(chi, np.exp(y) * tail, tail, du / u), dt, offset, times_length)


def _log_sizes(kernel: Kernel, own: Array, scores: Array) -> list[Array]:
    """Logarithms of |kappa|, of its square and of what its parameters move of that: the functions that are averaged."""
    with np.errstate(all="ignore"):
        kappa, *moved = np.log(np.abs(kernel.at(scores, own)))
        return [kappa, 2 * kappa, *(kappa + one for one in moved)]


FACTOR = 1.4
"""Between a mesh and the next finer one."""
TRIALS = 10
"""A mesh 20 times finer is the finest: a kernel with a kink would want it finer and finer."""

ENOUGH = 2e-9
"""What the moments and their slopes may still move by, relative to the largest; 2e-10 is the catalogue's worst."""

ROUGH = 1e-4
"""What they move by, at the least, of a kernel that no mesh shows: of one with a kink, exp(-|x|), half of it."""

LENGTHS = ((4, 1.0),)
"""Length and probability of the sequences on which meshes are compared."""
PROBES = ((0.4, 0.18**2), (1.0, 0.6**2), (1.5, 2.0**2))
"""Shift and squared scale of the scores: one below and two above the scale at which kernels are differentiated."""


def sharpened(kernel: Kernel) -> Kernel:
    """The kernel with the ``sharpness`` at which a finer mesh changes its moments no more.

    It is found by trying, since a formula's nearest singularity is hard to know. exp(-t exp(y)) is bounded in the strip
    |Im y| < pi/2, and the meshes are made for that. A kernel with a zero or a pole closer to the real axis, such as 1 + x^4, or one
    that turns faster, such as exp(5 x), asks for a smaller step.

    Raises:
        ValueError: for a kernel so steep that the finest mesh does not show it at any of ``PROBES``.
    """
    if kernel.is_polynomial:
        return kernel
    own = kernel.bounds.mean(axis=1)
    before = _probed(kernel, own)
    for _ in range(1, TRIALS):
        finer = replace(kernel, sharpness=kernel.sharpness * FACTOR)
        after = _probed(finer, own)
        if max(_moved(before, after), default=0.0) <= ENOUGH:
            break
        kernel, before = finer, after
    if not min(_moved(before, _probed(kernel, own, FACTOR)), default=np.inf) <= ROUGH:
        raise ValueError(
            f"landscape: found the kernel {kernel.attention.kernel}, too steep at scores of the size 1 for a mesh in float64; "
            "expected the same in longer units, with a longer key"
        )
    return kernel


def _moved(before: list[Array], after: list[Array]) -> list[float]:
    """What moments and slopes have moved by, relative to the largest, at each of ``PROBES`` at which there are any."""
    with np.errstate(invalid="ignore"):
        sizes = [(float(np.max(np.abs(a - b))), float(np.max(np.abs(b)))) for a, b in zip(before, after, strict=True)]
    moved = [change / size if size else change for change, size in sizes]
    return [one for one in moved if one < np.inf]


def _probed(kernel: Kernel, own: Array, refined: float = 1.0) -> list[Array]:
    """Moments and slopes at each of ``PROBES``, no numbers where the kernel has none."""
    found = []
    with np.errstate(all="ignore"):
        for shift, squared_scale in PROBES:
            try:
                moments = shifted_moments(kernel, own, shift, squared_scale, LENGTHS, refined)
                found.append(np.append(moments.values, moments.slopes(np.ones(7))))
            except ValueError:
                found.append(np.array([np.nan]))
    return found
