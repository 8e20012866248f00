"""Meshes for the two Gaussians of a token: chi*, on which the weight depends, and rho, the rest of its score.

Also how fine a mesh a given kernel needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from symslr.evaluation.landscape.kernel import Array, Kernel
from symslr.evaluation.landscape.mesh import BOUNDED_WINDOW, kernel_range, laplace_nodes, normal_nodes, windows
from symslr.evaluation.landscape.moments import Moments, Roles, Smoothed

WIDEST_FACTOR = 0.8
"""Factor on the step in log u, per unit of steepness: the error exp(-(2 pi/(0.8 * 0.36))^2/(2 L)) is 5e-11 at L = 10; analyticity
in the strip makes it smaller."""

AVERAGED_FACTOR = 1.15
"""Factor on the step of the sum over chi*: its error oscillates in log u and averages out, to 1e-10 at this factor and 2e-8 at
1.4."""

Lengths = tuple[tuple[int, float], ...]
"""(L, P(L))."""


@dataclass(frozen=True)
class Weight:
    """A weight w(chi_eps), or L w(chi_eps)/sum_l w(chi_l) where it ``selects``.

    Attributes:
        log: log w as a function of key projections.
        steepness: largest slope of log w, which determines the mesh.
        selects: whether the weight is normalised over the tokens.
    """

    log: Callable[[Array], Array]
    steepness: float
    selects: bool


def shifted_moments(
    kernel: Kernel, own: Array, shift: float, squared_scale: float, lengths: Lengths, refined: float
) -> Moments:
    """Moments for scores shift + s rho of the relevant token and s rho of another; ``slopes`` are in (shift, s^2, parameters)."""
    chi = np.array([0.0, 1.0])
    roles = Roles(chi, np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), np.ones(1))
    scale = np.sqrt(max(squared_scale, 0.0))

    def sizes(rho: Array) -> list[Array]:
        return [size for centre in (0.0, shift) for size in _log_sizes(kernel, own, centre + scale * rho)]

    window = BOUNDED_WINDOW if kernel.is_normalised else windows(sizes, 1)[0]
    smoothed = Smoothed(kernel, own, shift * chi, np.ones(2), squared_scale, refined, window)
    if not kernel.is_normalised:
        return Moments(smoothed.with_nodes(np.zeros(1)), roles, np.ones(1), 0.0, lengths)
    offset = kernel.offset / smoothed.size
    noise, moved = zip(smoothed.kappa, smoothed.mass)
    low, high = kernel_range(*moved, 1, offset)
    others = [length - 1 for length, _ in lengths if length > 1]
    if others:
        least, most = kernel_range(*noise, min(others), offset)
        # the relevant token's kernel determines the lower end only where it may be the only token
        low, high = least if len(others) == len(lengths) else min(low, least), max(high, most)
    t, dt = laplace_nodes(low, high, refined)
    return Moments(smoothed.with_nodes(t), roles, dt, offset, lengths)


def weighted_moments(
    kernel: Kernel, own: Array, m: float, squared_scale: float, weight: Weight, lengths: Lengths, refined: float
) -> Moments:
    """Moments for scores m chi* + s rho with chi*, rho ~ N(0, 1) under E_0; ``slopes`` are in (m, s^2, parameters).

    The normaliser of a weight that selects has a Laplace variable of its own.
    """
    scale = np.sqrt(max(squared_scale, 0.0))

    def sizes(chi: Array, rho: Array | float = 0.0) -> list[Array]:
        bare = [np.zeros(1)] if kernel.is_normalised else _log_sizes(kernel, own, m * chi + scale * rho)
        return bare if weight.selects else [*bare, *(size + weight.log(chi) for size in bare)]

    of_chi, of_rho = [*windows(sizes, 1 if kernel.is_normalised else 2), BOUNDED_WINDOW][:2]
    varies = 0.0 if kernel.is_polynomial else abs(m) * kernel.sharpness
    closer = AVERAGED_FACTOR if weight.selects and kernel.is_normalised else 1.0
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
        return Moments(smoothed.with_nodes(t), roles, dt, offset, lengths)
    # A shift of chi* into the complex plane widens the strip of log u; N(0, 1) itself smooths over the steepness.
    steepness = weight.steepness
    wider = max(1.0, min(1 + steepness / max(abs(m), 1e-300), WIDEST_FACTOR * steepness))
    masses = [smoothed.mass.sum(axis=1)]
    if not kernel.is_normalised:  # the mean square of a kernel that grows comes from other tokens
        squares = smoothed.power(2)[0].sum(axis=1)
        masses.append(squares / squares.sum())
    lows, highs = zip(*(kernel_range(np.exp(score), mass, fewest, 0.0) for mass in masses), strict=True)
    u, du = laplace_nodes(min(lows), max(highs), refined, wider)
    y = np.log(u)[:, None] + score
    tail = np.exp(-np.exp(np.minimum(y, 700.0)))
    times_length = [(length, length * share) for length, share in lengths]
    return Moments(smoothed.with_nodes(t), Roles(chi, np.exp(y) * tail, tail, du / u), dt, offset, times_length)


def _log_sizes(kernel: Kernel, own: Array, scores: Array) -> list[Array]:
    """Logarithms of the functions that are averaged: |kappa|, kappa^2, and |kappa dkappa/dc| for each parameter c."""
    with np.errstate(all="ignore"):
        kappa, *moved = np.log(np.abs(kernel.at(scores, own)))
        return [kappa, 2 * kappa, *(kappa + one for one in moved)]


REFINEMENT = 1.4
"""Factor between the densities of successive meshes."""
TRIALS = 10
"""Number of meshes; the finest is 20 times finer than the first. A kernel with a kink would never converge."""

CONVERGED = 2e-9
"""A mesh suffices where a finer one changes moments and slopes by less, relative to the largest; 2e-10 is the worst of the
catalogue."""

LARGEST_CHANGE = 1e-4
"""A kernel is refused where the finest mesh still changes them by more; for the kink of exp(-|x|) the change is half of this."""

LENGTHS = ((4, 1.0),)
"""Length and probability of the sequences on which meshes are compared."""
PROBES = ((0.4, 0.18**2), (1.0, 0.6**2), (1.5, 2.0**2))
"""Shift and squared scale of the scores: one below and two above the scale at which kernels are differentiated."""


def sharpened(kernel: Kernel) -> Kernel:
    """The kernel with the ``sharpness`` (mesh density) beyond which its moments no longer change.

    Found by refinement, since the nearest singularity of a formula is hard to determine. The usual mesh is made for exp(-t exp(y)),
    which is bounded in the strip |Im y| < pi/2. A kernel with a zero or pole closer to the real axis, such as 1 + x^4, or one that
    varies faster, such as exp(5 x), needs a smaller step.

    Raises:
        ValueError: for a kernel so steep that the finest mesh does not resolve it at any of ``PROBES``.
    """
    if kernel.is_polynomial:
        return kernel
    own = kernel.bounds.mean(axis=1)
    before = _moments_at_probes(kernel, own)
    for _ in range(1, TRIALS):
        finer = replace(kernel, sharpness=kernel.sharpness * REFINEMENT)
        after = _moments_at_probes(finer, own)
        if max(_relative_changes(before, after), default=0.0) <= CONVERGED:
            break
        kernel, before = finer, after
    if (
        not min(_relative_changes(before, _moments_at_probes(kernel, own, REFINEMENT)), default=np.inf)
        <= LARGEST_CHANGE
    ):
        raise ValueError(
            f"landscape: found the kernel {kernel.attention.kernel}, too steep at scores of the size 1 for a mesh in float64; "
            "expected the same in longer units, with a longer key"
        )
    return kernel


def _relative_changes(before: list[Array], after: list[Array]) -> list[float]:
    """Largest change of moments and slopes, relative to the largest of them, at each of ``PROBES`` where they are finite."""
    with np.errstate(invalid="ignore"):
        sizes = [(float(np.max(np.abs(a - b))), float(np.max(np.abs(b)))) for a, b in zip(before, after, strict=True)]
    moved = [change / size if size else change for change, size in sizes]
    return [one for one in moved if one < np.inf]


def _moments_at_probes(kernel: Kernel, own: Array, refined: float = 1.0) -> list[Array]:
    """Moments and slopes at each of ``PROBES``; nan where the kernel has none."""
    found = []
    with np.errstate(all="ignore"):
        for shift, squared_scale in PROBES:
            try:
                moments = shifted_moments(kernel, own, shift, squared_scale, LENGTHS, refined)
                found.append(np.append(moments.values, moments.slopes(np.ones(7))))
            except ValueError:
                found.append(np.array([np.nan]))
    return found
