"""Exact probabilities against every weight matrix, against the networks by z-score, and against each other."""

import json
import random
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from sympy import Rational, exp, sqrt

from symslr.evaluation.separation import NeuronLaw, separation_report
from symslr.evaluation.separation.probability import binomial_mass, falling_partial_sums, interval, partial_sums, runs
from symslr.evaluation.separation.widths import hoeffding_bound
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Marks, power_kernel, separation, taylor_kernel
from symslr.model.symbols import x
from symslr.simulate.separation import exhaustive_success, separation_frequency

NAMES = ("n", "d", "t", "a0", "a1", "b", "c", "m")
WORKS = (1024, 258, 4, 0.05, 1.1, 0.2, 0.8, 52)


def made(*numbers, **optional):
    return separation(**dict(zip(NAMES, numbers)), **optional)


def small_problems(count: int):
    """Layouts with at most 14 signs, self- and cross-attention, five kernels."""
    rng = random.Random(11)
    kernels = [SOFTMAX_KERNEL, power_kernel(3), taylor_kernel(2), LINEAR_KERNEL, exp(-x)]
    while count:
        classes, blocks = rng.randint(1, 6), rng.randint(1, 4)
        marks = {name: round(rng.uniform(low, high), 2) for name, low, high in RANGES}
        keys = Marks(*(round(rng.uniform(0.3, 1.0), 2) for _ in "abc")) if rng.random() < 0.3 else None
        layout = {
            "n": classes * blocks,
            "d": classes + 2,
            "t": blocks,
            "m": rng.randint(1, max(1, 14 // (classes + 2))),
        }
        if classes * blocks < 2:
            continue
        count -= 1
        yield separation(**layout, **marks, keys=keys), rng.choice(kernels), rng.choice([LINEAR_KERNEL, SOFTMAX_KERNEL])


RANGES = (
    ("a0", 0.0, 1.5),
    ("a1", 0.4, 2.0),
    ("b", 0.05, 1.2),
    ("c", 0.05, 1.0),
    ("beta", 0.3, 2.0),
    ("margin", 0.01, 0.4),
)


def test_exact_law_equals_all_weight_matrices() -> None:
    """Fractions equal, for a fixed row and for all rows; Hoeffding's bound is below; 24 problems."""
    nontrivial = 0
    for parameters, kernel, rival in small_problems(24):
        law = NeuronLaw(parameters, kernel, rival)
        for rows, probability in (((0,), law.fixed_row), (range(parameters.n), law.all_rows)):
            success, total = exhaustive_success(parameters, rows, kernel, rival)
            assert probability.fraction() == Fraction(success, total), (parameters, kernel, rival, rows)
            nontrivial += 0 < success < total
        assert hoeffding_bound(parameters, kernel, rival).success <= float(law.fixed_row) + 1e-12
    assert nontrivial >= 4


@pytest.mark.parametrize(
    ("numbers", "size", "all_rows"),
    [
        ((24, 14, 2, 0.05, 1.2, 0.15, 0.9, 6), 20_000, False),
        ((24, 14, 2, 0.05, 1.2, 0.15, 0.9, 6), 4_000, True),
        ((32, 34, 1, 0.05, 1.2, 0.15, 0.9, 8), 2_000, True),
        ((64, 34, 2, 0.05, 0.9, 0.1, 0.9, 6), 4_000, False),
        ((1024, 18, 64, 0.05, 1.1, 0.2, 0.8, 52), 400, False),
        ((128, 66, 2, 0.05, 0.8, 0.1, 0.9, 3), 2_000, False),
    ],
)
def test_networks_agree_by_z_score(numbers, size: int, all_rows: bool) -> None:
    """|z| < 4 at fixed seed 2310; probabilities between .02 and .98."""
    law = NeuronLaw(made(*numbers))
    probability = law.all_rows if all_rows else law.fixed_row
    estimate = separation_frequency(made(*numbers), size, 2310, all_rows=all_rows)
    assert 0.02 < float(probability) < 0.98
    assert abs(estimate.z_score(float(probability))) < 4


REFERENCE = [
    ((256, 66, 4, 0.05, 1.1, 0.1, 0.9, 52), 3.2e-7),
    ((128, 66, 2, 0.05, 1.1, 0.1, 0.9, 24), 1.003e-3),
    (WORKS, 3.2e-7),
    ((1024, 258, 4, 0.05, 0.7, 0.1, 0.9, 52), 1.0),
    ((1024, 18, 64, 0.05, 1.1, 0.2, 0.8, 52), 0.635),
]


@pytest.mark.parametrize(("numbers", "failure"), REFERENCE)
def test_reference_points(numbers, failure: float) -> None:
    """Failure probabilities of the theory sheet, to the digits it gives."""
    assert float(NeuronLaw(made(*numbers)).fixed_row.complement()) == pytest.approx(failure, rel=6e-3)


def test_digits_and_fraction_agree() -> None:
    law = NeuronLaw(made(128, 66, 2, 0.05, 1.1, 0.1, 0.9, 24))
    for probability in (law.fixed_row, law.all_rows, law.fixed_row.complement()):
        exactly = probability.fraction()
        for digits in (5, 30, 80):
            value = probability.value(digits)
            wrong = abs(Fraction(value.as_json()["value"]) - exactly) / exactly
            assert wrong < Fraction(1, 10 ** (digits - 1))
    assert law.fixed_row.fraction() + law.fixed_row.complement().fraction() == 1


def test_all_rows_is_harder_than_one() -> None:
    for numbers in (WORKS, (64, 34, 2, 0.05, 0.9, 0.1, 0.9, 6), (16, 10, 2, 0.05, 1.1, 0.3, 0.5, 4)):
        law = NeuronLaw(made(*numbers))
        assert law.all_rows.fraction() <= law.fixed_row.fraction()


def test_exact_ties_of_rational_and_irrational_outputs() -> None:
    """a p + b m - 3 b nu + ... equal to the margin by construction: firing is strict, so no neuron fires there."""
    from symslr.evaluation.separation.outputs import DataSetOutputs
    from symslr.theory.separation.definition import Row

    for kernel, mark, width in ((LINEAR_KERNEL, Rational(3, 2), Rational(1, 2)), (SOFTMAX_KERNEL, 1, sqrt(2) / 2)):
        base = made(16, 6, 4, 0, mark, width, Rational(1, 2), 1)
        outputs = DataSetOutputs(base, kernel, 1)
        own = [f.subs(outputs.values) for f in outputs.formulas[Row.MARKED]]
        reach = own[0] + own[1] - own[2]  # three others, one of them +1
        tied = made(16, 6, 4, 0, mark, width, Rational(1, 2), 1, margin=reach)
        sets = DataSetOutputs(tied, kernel, 1)
        assert not sets.fires(Row.MARKED, (1, 1, 1), 1)
        assert sets.fires(Row.MARKED, (1, 1, 1), 2)


@pytest.mark.parametrize("beta", [1000, 10**6, 10**12, Rational(10**7, 3)])
def test_firing_far_below_any_precision(beta: Rational) -> None:
    """margin = b = 1/10; a stranger has shares 1/N of the mark, 1 - 40/N of its own class, 8/N of others; N = 40 + 8 n^(b^2 beta).

    Above the threshold lies (0.1 - 4 + 0.8 (2 s - 5))/N, positive at s = 5 alone; without a mark that is a tie.
    """
    from symslr.evaluation.separation.outputs import DataSetOutputs
    from symslr.theory.separation.definition import Row

    made_of = {"margin": Rational(1, 10), "beta": beta}
    outputs, unmarked = (
        DataSetOutputs(made(48, 8, 8, mark, 0.5, Rational(1, 10), 0.8, 5, **made_of), SOFTMAX_KERNEL, 0)
        for mark in (Rational(1, 10), 0)
    )
    assert [outputs.fires(Row.STRANGER, (1, 1, 1), s) for s in range(6)] == [False] * 5 + [True]
    assert not any(unmarked.fires(Row.STRANGER, (1, 1, 1), s) for s in range(6))


def test_thousands_of_rows() -> None:
    law = NeuronLaw(made(8192, 2050, 4, 0.05, 1.1, 0.2, 0.8, 100))
    assert float(law.fixed_row) > 0.99
    assert float(law.all_rows) > 0.99


def test_linear_attention_wins_somewhere() -> None:
    """t = 1, a0 = .05, a1 = .5, b = .05, c = sqrt(.05/n): the roles are exchanged with high probability."""
    parameters = made(256, 258, 1, 0.05, 0.5, 0.05, sqrt(Rational(5, 100) / 256), 30)
    report = separation_report(parameters)
    assert float(report.rival_wins.value) > 0.99
    assert float(report.fixed_row.value) < 1e-6


def test_report_is_json_with_decimal_strings_and_a_reason() -> None:
    report = separation_report(made(*WORKS))
    text = json.loads(json.dumps(report.as_json()))
    assert text["fixed_row"]["value"].startswith("0.99999968144404201347504")
    assert text["limit"]["separates"] is True
    assert "0.850" in report.reason
    failed = separation_report(made(1024, 258, 4, 0.05, 0.7, 0.1, 0.9, 52))
    assert failed.reason.startswith("softmax does not concentrate: the marked row of D1 gives itself p = 0.030")
    assert failed.limit is not None
    assert failed.limit.separates is False


def test_a_threshold_that_nothing_reaches_at_this_n_is_named() -> None:
    report = separation_report(made(*WORKS, margin=1.29))
    assert float(report.fixed_row.value) == 0
    assert report.reason.startswith("nothing reaches the threshold: with every sign +1")


def test_classes_may_ignore_each_other() -> None:
    """c = 0: linear attention gives other classes no weight at all; equal to all weight matrices."""
    parameters = made(6, 5, 2, 0.1, 1.2, 0.3, 0, 2)
    law = NeuronLaw(parameters)
    success, total = exhaustive_success(parameters, range(6))
    assert law.all_rows.fraction() == Fraction(success, total)


@pytest.mark.parametrize("kernel", [x - 10, -x, 1 / (x - 100) + x * 0])
def test_kernels_that_are_not_positive_are_refused(kernel) -> None:
    with pytest.raises(ValueError, match="expected a kernel that is positive at every score"):
        separation_report(made(*WORKS), kernel)


def test_thousands_of_digits_are_printed() -> None:
    """Failure 3e-7 has its zeros beside 5000 digits; more than the greatest number is refused before anything is computed."""
    numbers = (256, 258, 1, 0.05, 1.1, 0.2, 0.8, 52)
    found = separation_report(made(*numbers), digits=5000).as_json()
    exactly = NeuronLaw(made(*numbers)).fixed_row.complement().fraction()
    text = found["fixed_row_failure"]["value"]
    assert len(text.lstrip("0.")) == 5000
    assert abs(Fraction(Decimal(text)) / exactly - 1) < Fraction(1, 10 ** (5000 - 1))
    with pytest.raises(ValueError, match="digits: found 10001; expected an integer from 1 to 10000"):
        separation_report(made(*numbers), digits=10_001)


def test_bad_digits_and_too_many_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="digits: found 0"):
        separation_report(made(*WORKS), digits=0)
    with pytest.raises(ValueError, match="expected at most 20003"):
        float(NeuronLaw(made(40_000, 40_002, 1, 0.05, 1.1, 0.2, 0.8, 5)).fixed_row)


def test_sets_and_binomial_sums() -> None:
    members = interval(2, 4) | interval(7, 7)
    assert list(runs(members)) == [(2, 4), (7, 7)]
    assert list(runs(0)) == []
    assert interval(3, 2) == 0
    assert partial_sums(3) == (0, 1, 4, 7, 8)
    assert binomial_mass(9, interval(0, 9)) == 512
    for size, high in product(range(7), range(-1, 8)):
        expected = [
            sum(partial_sums(size - r)[h + 1] - partial_sums(size - r)[h] for h in range(min(high, size - r) + 1))
            for r in range(size + 1)
        ]
        assert list(falling_partial_sums(size, high)) == expected
