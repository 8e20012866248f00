"""How fine a mesh one's own kernel needs: found by trying, since a formula's nearest singularity is hard to know.

exp(-t exp(y)) is bounded in the strip |Im y| < pi/2, and the meshes are made for that. A kernel with a zero or a pole
closer to the real axis, such as 1 + x^4, or one that turns faster, such as exp(5 x), asks for a smaller step.
"""

from __future__ import annotations

from contextlib import suppress
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

LENGTHS = ((4, 1.0),)
"""Length and probability of the sequences on which meshes are compared."""
PROBES = ((0.4, 0.18**2), (1.0, 0.6**2), (1.5, 2.0**2))
"""Shift and squared scale of the scores: one below and two above the scale at which kernels are differentiated."""


def sharpened(kernel: Kernel) -> Kernel:
    """The kernel with the ``sharpness`` at which a finer mesh changes its moments no more."""
    if kernel.is_polynomial:
        return kernel
    own = kernel.bounds.mean(axis=1)
    before = _probed(kernel, own)
    for _ in range(1, TRIALS):
        finer = replace(kernel, sharpness=kernel.sharpness * FACTOR)
        after = _probed(finer, own)
        if all(np.max(np.abs(a - b)) <= ENOUGH * np.max(np.abs(b)) for a, b in zip(before, after, strict=True)):
            return kernel
        kernel, before = finer, after
    return kernel


def _probed(kernel: Kernel, own: Array) -> list[Array]:
    """Moments and slopes at each of ``PROBES`` at which the kernel has them."""
    found = []
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for shift, squared_scale in PROBES:
            with suppress(ValueError):
                moments = shifted_moments(kernel, own, shift, squared_scale, LENGTHS, 1.0)
                found.append(np.append(moments.values, moments.slopes(np.ones(7))))
    return found
