"""Vectors that the gradient flow is written with."""

from sympy import simplify

from symslr.model.symbols import ORDER_PARAMETERS
from symslr.theory.gradient_flow import OVERLAPS, PLACE


def test_the_place_has_the_order_parameters_it_is_named_by() -> None:
    assert set(OVERLAPS) == set(ORDER_PARAMETERS)
    for parameter, overlap in OVERLAPS.items():
        assert simplify(overlap.subs(PLACE, simultaneous=True) - parameter) == 0
