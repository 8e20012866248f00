"""The derived shares against brute-force matrices; limits, corrections and the admissible region."""

import itertools
import math

import numpy as np
import pytest
from sympy import Integer, lambdify, log

from symslr.model.separation import (
    LINEAR_KERNEL,
    QUERIES,
    SELF,
    SOFTMAX_KERNEL,
    Marks,
    a,
    b,
    beta,
    c,
    margin,
    n,
    power_kernel,
    separation,
    t,
    taylor_kernel,
)
from symslr.model.symbols import x
from symslr.simulate.separation import attention_on
from symslr.theory.separation.boundary import boundary_mark, boundary_width, critical_power
from symslr.theory.separation.definition import Column, Output, Row, h, i, k, m, preactivation
from symslr.theory.separation.region import BLOCK_RATE, MARK_0, MARK_1, admissible_region, exponent, limit_verdict
from symslr.theory.separation.shares import DEGREE, shares
from symslr.theory.separation.windows import lower_degree, upper_degree

KERNELS = [SOFTMAX_KERNEL, LINEAR_KERNEL, power_kernel(3), taylor_kernel(4), 1 + x**2]
LAYOUTS = [(2, 1), (3, 1), (2, 3), (5, 4), (16, 2), (1, 4)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("cross", [False, True])
def test_derived_shares_equal_brute_force_matrices(kernel, cross: bool) -> None:
    """Worst relative difference 4e-15 over layouts, rows, columns, both data sets."""
    keys = Marks(0.8, 0.35, 0.55) if cross else None
    derived = shares(kernel, cross)
    for classes, blocks in LAYOUTS:
        made = separation(
            n=classes * blocks, d=classes + 2, t=blocks, a0=0.15, a1=1.1, b=0.4, c=0.7, m=1, beta=1.3, keys=keys
        )
        rows = {Row.MARKED: 1} if classes > 1 else {Row.MARKED: 0}
        if blocks > 1:
            rows[Row.SIBLING] = rows[Row.MARKED] + classes
        if classes > 2:
            rows[Row.STRANGER] = rows[Row.MARKED] + 1
        for which, (row, index) in itertools.product((0, 1), rows.items()):
            output = attention_on(made, kernel, which, rows[Row.MARKED])[index] / math.sqrt(math.log(made.n))
            own, marks = 1 + index % classes, made.values(which)
            columns = {Column.MARK: output[0] / marks.a, Column.OWN: output[own] / marks.b}
            if classes > 2:
                columns[Column.OTHER] = output[1 + (index + 1) % classes] / marks.b
            numbers = {n: made.n, t: blocks, beta: made.beta, a: marks.a, b: marks.b, c: marks.c}
            if cross:
                queries = made.queries(which)
                numbers |= {QUERIES.a: queries.a, QUERIES.b: queries.b, QUERIES.c: queries.c}
            for column, brute in columns.items():
                value = float(derived[row, column].subs(numbers).evalf(30))
                assert value == pytest.approx(float(brute), rel=2e-14), (classes, blocks, row, column)
            assert output[-1] == pytest.approx(float(marks.c), rel=1e-14)


def test_rows_columns_and_neurons_are_counted_from_one() -> None:
    (column,) = preactivation(i, LINEAR_KERNEL, neuron=h).variables
    assert column == k
    assert all(symbol.is_integer and symbol.is_positive for symbol in (i, k, h, m))


def test_shares_of_a_row_sum_to_one() -> None:
    """Own class plus n/t - 1 others."""
    for kernel, row in itertools.product((SOFTMAX_KERNEL, LINEAR_KERNEL), Row):
        table = shares(kernel)
        total = table[row, Column.OWN] + (n / t - 1) * table[row, Column.OTHER]
        assert abs((total - 1).subs({n: 60, t: 5, a: 0.9, b: 0.3, c: 0.7, beta: 1.2}).evalf(30)) < 1e-15


def test_the_constant_cancels_in_softmax_and_not_in_linear_attention() -> None:
    assert not any(f.has(SELF.c) for f in shares(SOFTMAX_KERNEL).formulas.values())
    assert all(f.has(SELF.c) for f in shares(LINEAR_KERNEL).formulas.values())


def test_beta_cancels_in_homogeneous_kernels() -> None:
    for kernel in (LINEAR_KERNEL, power_kernel(3)):
        assert not any(f.has(beta) or f.has(log) for f in shares(kernel).formulas.values())


def test_softmax_at_vanishing_temperature_attends_evenly() -> None:
    p = shares(SOFTMAX_KERNEL)[Row.MARKED, Column.MARK]
    assert p.subs(beta, 0) == 1 / n


@pytest.mark.parametrize("row", [Row.MARKED, Row.SIBLING, Row.STRANGER])
def test_exponents_agree_with_large_n(row: Row) -> None:
    """log odds / log n at n = 10^4000 is within 2 / log n of the derived exponent."""
    numbers = {a: 0.9, b: 0.4, c: 0.6, beta: 1.1}
    size = Integer(10) ** 4000
    for kernel in (SOFTMAX_KERNEL, LINEAR_KERNEL):
        share = shares(kernel)[row, Column.OWN].subs(t, n**BLOCK_RATE)
        values = {**{k: Integer(int(v * 10)) / 10 for k, v in numbers.items()}, BLOCK_RATE: Integer(3) / 10, n: size}
        ratio = share.subs(values).evalf(8100)
        odds = (1 - ratio) / ratio
        expected = exponent(row, Column.OWN, kernel).subs(values)
        assert abs(float(log(odds) / log(size)) - float(expected)) < 2 / (4000 * math.log(10))


def test_region_is_the_stated_one() -> None:
    """Same truth value as theta < 1 - beta b^2, beta a0^2 < 1 - beta b^2 < beta a1^2, on 2000 random points."""
    rng = np.random.default_rng(4)
    region = lambdify((MARK_0, MARK_1, b, BLOCK_RATE, beta), admissible_region(), "math")
    hits = 0
    for _ in range(2000):
        low, high, width = rng.uniform(0.01, 1.5, 3)
        rate, temperature = rng.uniform(0.01, 0.99), rng.uniform(0.3, 2)
        edge = 1 - temperature * width**2
        stated = rate < edge and temperature * low**2 < edge < temperature * high**2
        hits += stated
        assert bool(region(low, high, width, rate, temperature)) == stated
    assert 100 < hits < 1900


def test_seven_tenths_is_not_enough_at_unit_temperature() -> None:
    """a1 = 0.7 < sqrt(1 - b^2) fails at beta = 1; beta = 2.1 mends it."""
    point = {"a0": 0.05, "a1": 0.7, "b": 0.2, "theta": 0.2, "margin": 0.1}
    assert limit_verdict(**point).separates is False
    assert limit_verdict(**point, beta=2.1).separates is True
    assert limit_verdict(**{**point, "a1": 0.99}).separates is True


def test_region_without_a_class_mark_that_fires() -> None:
    """b < margin: other rows never fire, however they attend; the mark of D0 alone may."""
    point = {"a0": 0.05, "a1": 1.2, "b": 0.08, "theta": 0.99, "margin": 0.1}
    assert limit_verdict(**point).shares["mu"] == 0
    assert limit_verdict(**point).separates is True
    assert limit_verdict(**{**point, "theta": 0.999}).shares["mu"] == 1
    assert limit_verdict(**{**point, "theta": 0.999}).separates is True
    assert limit_verdict(**{**point, "a0": 1.1}).separates is False


def test_boundary_cases_are_left_open_and_theta_is_checked() -> None:
    assert limit_verdict(a0=0.05, a1=1.1, b=0.6, theta=0.64, margin=0.1).separates is None
    with pytest.raises(ValueError, match="theta: found 1"):
        limit_verdict(a0=0.05, a1=1.1, b=0.2, theta=1, margin=0.1)


def test_finite_n_boundary_meets_the_threshold() -> None:
    """a p + b m = margin at the root to 1e-12, and the correction approaches log(margin/(a+b-margin))/log n."""
    p, m = (shares(SOFTMAX_KERNEL)[Row.MARKED, column] for column in (Column.MARK, Column.OWN))
    for rows, blocks, width in [(256, 4, 0.2), (4096, 4, 0.3), (2**20, 16, 0.12)]:
        mark = boundary_mark(rows, blocks, width, 0.1)
        values = {a: mark, b: width, beta: 1, n: rows, t: blocks}
        assert float((a * p + b * m).subs(values)) == pytest.approx(0.1, abs=1e-12)
    mark = boundary_mark(2**100, 4, 0.2, 0.1)
    predicted = math.log(0.1 / (mark + 0.1)) / math.log(2**100)
    assert mark**2 - 0.96 == pytest.approx(predicted, rel=1e-6)
    assert critical_power().has(a)
    with pytest.raises(ValueError, match="found none"):
        boundary_mark(64, 60, 0.9, 0.1)


def test_the_critical_power_is_where_the_marked_row_reaches_the_threshold() -> None:
    """a p + b m = margin with n**(beta a^2) put in from the formula, the shares as they are derived."""
    numbers = {n: 60, t: 4, b: 0.37, beta: 1.2, margin: 0.61}
    mark = boundary_mark(60, 4, 0.37, 0.61, 1.2)
    share = {column: shares(SOFTMAX_KERNEL)[Row.MARKED, column].subs(numbers).subs(a, mark) for column in Column}
    assert mark * share[Column.MARK] + 0.37 * share[Column.OWN] == pytest.approx(0.61, rel=1e-9)
    assert critical_power().subs(numbers).subs(a, mark) == pytest.approx(60 ** (1.2 * mark**2), rel=1e-9)


@pytest.mark.parametrize(
    ("point", "at_it", "below", "above"),
    [
        ({"a0": 0.05, "a1": 1.1, "b": 0.5, "theta": 0.9}, 0.5, "rows without the mark", None),
        ({"a0": 1.1, "a1": 1.2, "b": 0.4, "theta": 0.3}, 1.5, "marked row of D0", None),
        ({"a0": 0.05, "a1": 1.2, "b": 0.4, "theta": 0.3}, 1.6, None, "marked row of D1"),
    ],
    ids=["rows without the mark", "D0", "D1"],
)
def test_a_row_that_tends_to_the_threshold_itself_is_left_open(
    point: dict[str, float], at_it: float, below: str | None, above: str | None
) -> None:
    """The limit does not say then on which side of it a row is at finite n; beside it a row fires or stays silent."""
    found = limit_verdict(**point, margin=at_it)
    assert (found.separates, "the threshold itself" in found.reason) == (None, True)
    for step, reason in ((-0.01, below), (0.01, above)):
        beside = limit_verdict(**point, margin=round(at_it + step, 2))
        assert beside.separates is (reason is None)
        assert reason is None or reason in beside.reason


def test_an_output_at_a_layout_of_its_own() -> None:
    """n, t and the marked row put in before the definition is written out."""
    output = Output.of(Integer(1), Integer(2), SOFTMAX_KERNEL)
    assert {n, t} <= output.definition().free_symbols
    assert not {n, t} & output.subs({n: 12, t: 3}).definition().free_symbols


def test_the_ends_of_the_window_of_degrees_are_where_the_thresholds_are_reached() -> None:
    """b mu = margin at the upper one; a p + b m = margin at the lower one, as n grows with the other terms of its size left out."""
    numbers = {n: 4000, t: 5, a: 0.9, b: 0.4, c: 0.7, margin: 0.3}
    power = shares(power_kernel(DEGREE))
    high = upper_degree().subs(numbers)
    assert (b * power[Row.SIBLING, Column.OWN]).subs({**numbers, DEGREE: high}) == pytest.approx(0.3, rel=1e-9)
    low = lower_degree().subs(numbers)
    reach = a * power[Row.MARKED, Column.MARK] + b * power[Row.MARKED, Column.OWN]
    assert reach.subs({**numbers, DEGREE: low}) == pytest.approx(0.3, rel=0.1)


def test_a_layout_may_name_its_numbers_as_another_does() -> None:
    """What a layout calls n may be the t of the letters: both are put in at once."""
    plain = Output.of(1, k, SOFTMAX_KERNEL)
    swapped = Output(*plain.args[:9], t, n, *plain.args[11:])
    assert swapped.definition() == plain.definition().subs({n: t, t: n}, simultaneous=True)
    assert swapped.definition() != plain.definition().subs(n, t).subs(t, n)


def test_a_margin_that_the_widest_row_just_misses_is_refused() -> None:
    """At b = 4 the class has a share below 1, so that b times it stays below 4; of more rows it is 1 in floats."""
    with pytest.raises(ValueError, match="finite-n boundary: found none"):
        boundary_width(8, 2, 4.0)
