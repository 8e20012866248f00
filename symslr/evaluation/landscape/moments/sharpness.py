"""How fine a mesh one's own kernel needs: found by trying, since a formula's nearest singularity is hard to know.

exp(-t exp(y)) is bounded in the strip |Im y| < pi/2, and the meshes are made for that. A kernel with a zero or a pole
closer to the real axis, such as 1 + x^4, or one that turns faster, such as exp(5 x), asks for a smaller step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from symslr.evaluation.landscape.moments.kernel import Array, Kernel
from symslr.evaluation.landscape.moments.tokens import shifted_moments

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
