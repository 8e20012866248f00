"""The real networks: shapes, the definition entry by entry, and what cannot be asked of them."""

import numpy as np
import pytest

from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, separation
from symslr.simulate.separation import (
    attention_on,
    data_matrix,
    exhaustive_success,
    network,
    separation_frequency,
    threshold,
)

SMALL = separation(n=12, d=6, t=3, a0=0.05, a1=1.1, b=0.3, c=0.8, m=3)


def test_data_matrix_is_the_block_layout() -> None:
    matrix = data_matrix(SMALL, SMALL.queries(1), 5) / np.sqrt(np.log(12))
    assert matrix.shape == (12, 6)
    assert np.flatnonzero(matrix[:, 0]).tolist() == [5]
    assert matrix[:, 1:5] == pytest.approx(0.3 * np.vstack([np.eye(4)] * 3))
    assert matrix[:, -1] == pytest.approx(0.8)


def test_attention_and_network_by_loops() -> None:
    rng = np.random.default_rng(0)
    weights = rng.choice((-1.0, 1.0), size=(6, 3))
    tau = threshold(SMALL)
    for kernel, function in ((SOFTMAX_KERNEL, np.exp), (LINEAR_KERNEL, lambda s: s)):
        matrix = data_matrix(SMALL, SMALL.queries(1), 2)
        total = 0.0
        for query in matrix:
            scores = np.array([function(query @ key) for key in matrix])
            output = sum(f * value for f, value in zip(scores / scores.sum(), matrix))
            total += sum(max(output @ weights[:, neuron] - tau, 0.0) for neuron in range(3))
        assert network(attention_on(SMALL, kernel, 1, 2), weights, tau) == pytest.approx(max(total, 0.0), rel=1e-12)


def test_frequency_is_reproducible_and_enumeration_is_bounded() -> None:
    first, second = (separation_frequency(SMALL, 500, 7) for _ in range(2))
    assert first == second
    assert separation_frequency(SMALL, 500, 8).mean != first.mean
    with pytest.raises(ValueError, match="found 27 signs"):
        exhaustive_success(separation(n=7, d=9, t=1, a0=0, a1=1, b=0.3, c=0.8, m=3))
