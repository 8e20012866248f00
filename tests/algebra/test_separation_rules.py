"""The separation rules: what they refuse, and that what they return has the value of what they were given."""

import pytest
from sympy import KroneckerDelta, Rational, S, Sum, binomial, log, simplify, symbols

from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules.blocks.blocks import BlockSum
from symslr.algebra.rules.blocks.columns import LAST_COLUMN, ColumnSum, class_column, row_class
from symslr.algebra.rules.blocks.powers import LargestPower
from symslr.algebra.rules.blocks.signs import BinomialTheorem, Sign, SignBlocks, average_over_signs, omega
from symslr.model.separation import j3, n, t

j, k, s = symbols("j k s", integer=True, positive=True)
r, x, y = symbols("r x y", positive=True)


def test_column_sum_binds_the_column_of_a_sign() -> None:
    """Regression: a sign did not know the column as its parameter, and the sum left it behind."""
    summed = ColumnSum().rewrite(Sum(x * KroneckerDelta(1, k) * Sign(omega, k), (k, 1, LAST_COLUMN)))
    assert summed == x * Sign(omega, S.One)
    assert Sign(omega, k).free_symbols == {omega, k}


def test_column_sum_refuses_a_column_it_does_not_know() -> None:
    with pytest.raises(RuleRefused, match="does not name a column"):
        ColumnSum().rewrite(Sum(KroneckerDelta(k, 7 * j), (k, 1, LAST_COLUMN)))


def test_block_sum_refuses_a_body_that_depends_on_the_row_otherwise() -> None:
    with pytest.raises(RuleRefused, match="by more than its mark and its class"):
        BlockSum().rewrite(Sum(j * KroneckerDelta(j, j3), (j, 1, n)))


def test_block_sum_refuses_rows_whose_classes_it_cannot_compare() -> None:
    body = KroneckerDelta(row_class(j), row_class(2 * j3)) + KroneckerDelta(row_class(j), row_class(j3))
    with pytest.raises(RuleRefused, match="cannot decide"):
        BlockSum().rewrite(Sum(body, (j, 1, n)))


def test_block_sum_counts_rows() -> None:
    assert BlockSum().rewrite(Sum(KroneckerDelta(j, j3), (j, 1, n))) == 1
    assert BlockSum().rewrite(Sum(KroneckerDelta(row_class(j), row_class(j3)), (j, 1, n))) == t
    assert simplify(BlockSum().rewrite(Sum(1 + 0 * KroneckerDelta(j, j3), (j, 1, n))) - n) == 0


def test_sign_blocks_refuses_a_second_class() -> None:
    body = Sign(omega, class_column(j3)) * Sign(omega, class_column(j3 + 1))
    with pytest.raises(RuleRefused, match="looks at 2 classes"):
        SignBlocks().rewrite(average_over_signs(body))


def test_binomial_theorem_refuses_a_summand_that_is_not_geometric() -> None:
    with pytest.raises(RuleRefused, match="not geometric"):
        BinomialTheorem().rewrite(Sum(binomial(n, s) / (s + 1), (s, 0, n)))


def test_binomial_theorem() -> None:
    start = Sum(binomial(n, s) * x**s * y ** (n - s), (s, 0, n))
    result = BinomialTheorem().rewrite(start)
    values = {x: Rational(1, 3), y: Rational(2, 7), n: 6}
    assert result.subs(values) == start.subs(values).doit() == Rational(13, 21) ** 6


def test_largest_power_is_an_identity_and_refuses_a_negative_sum() -> None:
    start = log(n**r - 3 + n)
    result = LargestPower().rewrite(start)
    assert abs((start - result).subs({n: 50, r: Rational(1, 2)}).evalf(30)) < 1e-25
    with pytest.raises(RuleRefused, match="no term"):
        LargestPower().rewrite(log(-(n**r) - n))
