"""A rule's two sides compared by brute force and by exact moments, and what a rule refuses, leaves and assumes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, settings
from sympy import (
    Expr,
    Symbol,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.expression.expectation import SequenceExpectation
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L
from tests.algebra.brute import brute
from tests.algebra.exact import exact
from tests.algebra.strategies import UNWEIGHTED

FEW = settings(max_examples=3, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
SOME = settings(max_examples=5, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
TOLERANCE = {1: 3e-6, 2: 3e-6, 3: 1e-4}
"""As in cases.py; the token grids are the same."""

offset = Symbol("o", real=True)
scale = Symbol("s", real=True)


def mean(body: Expr, law: SequenceLaw = UNWEIGHTED) -> Expr:
    return SequenceExpectation(body, law)


def assert_same(before: Expr, after: Expr, lengths: tuple[int, ...] = (1, 2), **options: Any) -> None:
    assert after != before
    for length in lengths:
        one, two = (brute(side, {L: length}, **options) for side in (before, after))
        assert abs(one - two) <= TOLERANCE[length] * max(1.0, abs(one)), f"L = {length}: {one} is not {two}"


def assert_exact(before: Expr, after: Expr, lengths: tuple[int, ...] = (2, 5)) -> None:
    assert after != before
    for length in lengths:
        assert exact(before - after, length) == 0, f"L = {length}"


def assert_refused(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        Derivation(expr).apply(rule)


def assert_left(rule: Rule, expr: Expr) -> None:
    assert rule.rewrite(expr) == expr


def conditions(rule: Rule, expr: Expr) -> set[Any]:
    return {hypothesis.condition for hypothesis in Derivation(expr).apply(rule).hypotheses}
