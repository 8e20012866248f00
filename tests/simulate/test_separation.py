"""The real networks: shapes, the definition entry by entry, and what cannot be asked of them."""

import numpy as np
import pytest

from symslr.evaluation.separation import NeuronLaw
from symslr.evaluation.separation.law import marked_columns
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Marks, separation
from symslr.simulate.marked_columns import columns_exhaustive, columns_frequency, columns_matrix
from symslr.simulate.separation import (
    attention_on,
    data_matrix,
    exhaustive_success,
    network,
    separation_frequency,
    tensor_attention,
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


def test_tensor_form_is_attention() -> None:
    """kernel((A1 (x) A2)_i vec X) for two different factors."""
    cross = separation(n=6, d=5, t=2, a0=0.1, a1=1.1, b=0.3, c=0.8, m=3, beta=1.5, keys=Marks(0.9, 0.4, 0.5))
    queries, keys = (data_matrix(cross, marks, 2) for marks in (cross.queries(1), cross.values(1)))
    for kernel in (SOFTMAX_KERNEL, LINEAR_KERNEL):
        found = tensor_attention(queries, keys, keys, kernel, 1.5 * np.eye(5))
        assert found == pytest.approx(attention_on(cross, kernel, 1, 2), rel=1e-12)


@pytest.mark.parametrize(
    ("classes", "blocks", "neurons", "columns"), [(2, 3, 3, 1), (2, 3, 3, 2), (3, 2, 2, 2), (2, 3, 3, 3)]
)
def test_several_marked_columns_are_the_exact_law(classes: int, blocks: int, neurons: int, columns: int) -> None:
    numbers = {"n": classes * blocks, "d": classes + 2, "t": blocks, "m": neurons}
    parameters = separation(**numbers, a0=0.1, a1=1.6, b=0.3, c=0.6, margin=0.35, beta=1.5)
    successes, matrices = columns_exhaustive(parameters, columns)
    assert marked_columns(parameters, columns).fraction() * matrices == successes
    assert successes > 0


def test_one_marked_column_is_the_construction_without_the_neurons_that_cannot_help() -> None:
    """Those of sign -1 on the mark can only be bad: leaving them out makes separation more likely."""
    assert marked_columns(SMALL, 1).fraction() > NeuronLaw(SMALL).fixed_row.fraction()
    assert np.array_equal(columns_matrix(SMALL, 1, 0, 1), data_matrix(SMALL, SMALL.queries(1), 0))
    assert columns_frequency(SMALL, 2, 50, 1)[1] == 50
    with pytest.raises(ValueError, match="columns: found 0"):
        marked_columns(SMALL, 0)
    with pytest.raises(ValueError, match="found 21 signs"):
        columns_exhaustive(SMALL, 2)
