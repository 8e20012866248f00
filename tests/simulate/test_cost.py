"""Operations counted on the definition against the polynomials, and the two orders of linear attention against one another."""

import numpy as np
import pytest

from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL
from symslr.simulate.cost import Counter, associative, counting, pairwise
from symslr.simulate.separation import attention
from symslr.theory import cost


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (5, 2), (7, 4)])
def test_counts_are_the_polynomials(rows: int, columns: int) -> None:
    matrix = np.random.default_rng(rows).random((rows, columns)) + 0.1
    counter = Counter()
    numbers = counting(matrix, counter)
    spent = []
    for run, kernel in (
        (lambda: pairwise(numbers, numbers, numbers, exponential=True), SOFTMAX_KERNEL),
        (lambda: pairwise(numbers, numbers, numbers, exponential=False), LINEAR_KERNEL),
        (lambda: associative(numbers, numbers, numbers), LINEAR_KERNEL),
    ):
        before = counter.operations
        found = np.array([[number.value for number in row] for row in run()])
        spent.append(counter.operations - before)
        assert found == pytest.approx(attention(matrix, matrix, matrix, kernel, 1.0), rel=1e-12)
    expected = (cost.pairwise_attention(1), cost.pairwise_attention(0), cost.associative_attention())
    assert spent == [formula.subs({cost.n: rows, cost.d: columns}) for formula in expected]


def test_orders() -> None:
    """4 d n^2 against 4 d^2 n."""
    assert cost.pairwise_attention().coeff(cost.n, 2) == 4 * cost.d + 2
    assert cost.associative_attention().coeff(cost.n, 2) == 0
    assert cost.associative_attention().coeff(cost.n, 1).coeff(cost.d, 2) == 4
