"""Several marked columns: the exact law against all sign matrices of small networks and random ones of larger; the two factors."""

import numpy as np

from symslr.evaluation.separation.law import marked_columns
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Marks, separation
from symslr.simulate.marked_columns import columns_exhaustive, columns_frequency
from symslr.simulate.separation import attention_on, data_matrix, tensor_attention
from symslr.validation.validation import NamedComparison, by_frequency, states

SEED = 231011685
LAYOUTS = ((2, 3, 3, 2), (3, 2, 2, 2), (2, 3, 3, 3))
"""(classes, blocks, neurons, marked columns)."""
LARGER = {2: 24, 3: 24, 4: 52}
"""Marked columns -> neurons."""


def validate() -> list[NamedComparison]:
    return [*map(_exhaustive, LAYOUTS), *(_drawn(*case) for case in LARGER.items()), _factors()]


def _exhaustive(layout: tuple[int, int, int, int]) -> NamedComparison:
    classes, blocks, neurons, columns = layout
    numbers = {"n": classes * blocks, "d": classes + 2, "t": blocks, "m": neurons}
    parameters = separation(**numbers, a0=0.1, a1=1.6, b=0.3, c=0.6, margin=0.35, beta=1.5)
    success, total = columns_exhaustive(parameters, columns)
    exactly = marked_columns(parameters, columns).fraction()
    note = f"{success} of {total} weight matrices; the law gives {exactly}"
    return NamedComparison(
        f"{columns} columns, $n/t={classes}$, $t={blocks}$", float(exactly), success / total, 0.0, note
    )


def _drawn(columns: int, neurons: int) -> NamedComparison:
    parameters = separation(n=128, d=66, t=2, a0=0.05, a1=1.1, b=0.1, c=0.9, m=neurons)
    success, total = columns_frequency(parameters, columns, 500, SEED)
    probability = float(marked_columns(parameters, columns))
    return by_frequency(f"{columns} columns, $m={neurons}$", probability, success, total, f"seed {SEED}")


def _factors() -> NamedComparison:
    """kernel((A1 (x) A2)_i vec X) with X = beta I is the attention of every other file."""
    cross = separation(n=12, d=6, t=3, a0=0.1, a1=1.1, b=0.3, c=0.8, m=3, beta=1.5, keys=Marks(0.9, 0.4, 0.5))
    queries, keys = (data_matrix(cross, marks, 2) for marks in (cross.queries(1), cross.values(1)))
    far = 0.0
    for kernel in (SOFTMAX_KERNEL, LINEAR_KERNEL):
        found = tensor_attention(queries, keys, keys, kernel, 1.5 * np.eye(6))
        far = max(far, float(np.abs(found - attention_on(cross, kernel, 1, 2)).max()))
    return states("attention by the product of the two factors", far < 1e-12, f"farthest entry {far:.1e}")
