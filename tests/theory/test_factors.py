"""The two factors of the construction against NumPy's Kronecker product."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Symbol

from symslr.check.graph import graph
from symslr.model.block_layout import entry, j
from symslr.model.separation import QUERIES, SELF, Marks, beta, j3, n, t
from symslr.theory.separation.definition import i
from symslr.theory.separation.factors import ProductScore, factors_derivation

ROWS, BLOCKS, MARKED, SCALE = 6, 2, 2, 0.7
VALUES = {n: ROWS, t: BLOCKS, j3: MARKED, beta: SCALE}
LETTERS = [mark for side in (QUERIES, SELF) for mark in (side.a, side.b, side.c)]
NUMBERS = dict(zip(LETTERS, (1.1, 0.3, 0.8, 0.9, 0.4, 0.5), strict=True))


def _matrix(marks: Marks) -> np.ndarray:
    columns = ROWS // BLOCKS + 2
    return np.array(
        [
            [float(entry(row, column, marks).subs(VALUES).subs(NUMBERS)) for column in map(int, range(1, columns + 1))]
            for row in range(1, ROWS + 1)
        ]
    )


@pytest.mark.parametrize(("query", "key"), [(1, 1), (2, 2), (2, 5), (4, 3), (6, 6)])
def test_the_product_is_that_of_the_matrices(query: int, key: int) -> None:
    first, second = _matrix(QUERIES), _matrix(SELF)
    identity = SCALE * np.eye(second.shape[1])
    expected = (np.kron(first, second) @ identity.reshape(-1))[(query - 1) * ROWS + key - 1]
    score = ProductScore.of(i, j)
    for formula in (score.definition(), factors_derivation().result):
        found = float(formula.subs({i: query, j: key}).subs(VALUES).subs(NUMBERS).doit())
        assert found == pytest.approx(expected, rel=1e-12)
    assert score.subs({i: query, j: key}).subs(VALUES).definition().doit().free_symbols <= {*LETTERS}


def test_it_starts_at_a_definition_and_prints_as_the_source_writes_it() -> None:
    chain = factors_derivation()
    assert graph([chain]).hanging == ()
    assert chain.symbol == r"\bigl((A_1\otimes A_2)\,\mathrm{vec}X\bigr)_{(i-1)n+j}"
    assert str(ProductScore.of(Symbol("u"), j)) == "ProductScore[u, j]"
