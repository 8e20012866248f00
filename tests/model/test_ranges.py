"""What commands know of the mathematics before it is loaded is what the mathematics says."""

import pytest

from symslr.evaluation.finite_sample import bayes_optimal, finite_sample
from symslr.evaluation.landscape import NAMES, Landscape
from symslr.model.catalogue import ATTENTIONS, MaxSLR, SpikedSLR, erf, softmax
from symslr.model.ranges import check_alphas, check_length
from symslr.model.request import ORDER_PARAMETER_NAMES, SEARCHED
from symslr.model.symbols import L


def test_order_parameters_have_their_names() -> None:
    assert NAMES == ORDER_PARAMETER_NAMES


def test_parameters_that_are_searched_are_those_of_the_catalogue() -> None:
    own = {name: tuple(map(str, attention.bounds)) for name, attention in ATTENTIONS.items()}
    assert {name: found for name, found in own.items() if found} == SEARCHED


@pytest.mark.parametrize("length", [0, 11, 2.0, L, L / 2])
def test_a_length_is_an_integer_in_its_range(length: object) -> None:
    with pytest.raises(ValueError, match="expected an integer from 1 to 10 here"):
        check_length(length, 10, "here")
    check_length(10, 10, "here")


@pytest.mark.parametrize("alphas", [[], [1.0, 1.0], [1.0, -1.0], [float("inf")], [float("nan")], [2e4]])
def test_alphas_are_distinct_positive_numbers(alphas: list[float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        check_alphas(alphas)
    check_alphas([1.0, 1e4])


@pytest.mark.parametrize(
    ("task", "attention", "values", "name"),
    [
        (SpikedSLR(length=3), softmax, {"nu": 2, "Delta": 0, "delta": 1}, "delta"),
        (SpikedSLR(length=3), softmax, {"nu": 2, "Delta": 0, "L": 5}, "L"),
        (MaxSLR(2, length=3, noise=0), softmax, {"Delta": 1}, "Delta"),
        (SpikedSLR(2, length=3, noise=0), softmax, {"c": 1}, "c"),
    ],
)
def test_a_value_for_what_is_not_there_is_refused(task, attention, values, name) -> None:
    """Else the number would be that of other values than were given."""
    unknown = f"unknown symbol '{name}'"
    with pytest.raises(ValueError, match=unknown):
        Landscape.of(task, attention, values)
    with pytest.raises(ValueError, match=unknown):
        finite_sample(task, attention, values, alpha=1.0, ridge=(0.1, 0.1))
    with pytest.raises(ValueError, match=unknown):
        bayes_optimal(task, values, alpha=1.0)


def test_a_shift_that_is_an_order_parameter_takes_no_value() -> None:
    with pytest.raises(ValueError, match="unknown symbol 'c'"):
        Landscape.of(SpikedSLR(2, length=3, noise=0), erf, {"c": 1})
