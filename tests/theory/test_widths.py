"""Widths and numbers of classes that suffice: each end of an interval is where its term of the bound is what is allowed."""

from __future__ import annotations

from sympy import exp, simplify

from symslr.model.separation import b, margin
from symslr.theory.separation.definition import m
from symslr.theory.separation.sufficient import (
    bad,
    classes_needed,
    delta,
    either,
    failure_bound,
    width_allowed,
    width_needed,
)


def test_each_term_of_the_bound_is_half_of_what_is_allowed_at_its_end() -> None:
    some_bad, none_useful = m * bad, exp(-m * either)
    assert failure_bound() == some_bad + none_useful
    assert simplify(some_bad.subs(m, width_allowed()) - delta / 2) == 0
    assert simplify(none_useful.subs(m, width_needed()) - delta / 2) == 0


def test_that_many_classes_keep_the_neurons_silent() -> None:
    silent = m * exp(-classes_needed() * margin**2 / (2 * b**2))
    assert simplify(silent - delta) == 0
