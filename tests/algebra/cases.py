"""Tasks and attentions that the rules are tried on: published ones and a user's own, smooth, kinked and heavy-tailed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sympy import Abs, Basic, Expr, Max, Sum, exp, log, sqrt

from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.model.scalar_law import laplace, normal, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, R_v, a, c, chi, epsilon, l, m_v, nu, x
from symslr.model.task import Task
from tests.algebra.brute import brute

VALUES: dict[Basic, Any] = {nu: 0.8, a: 0.7, c: 0.3, Delta: 0.5, m_v: 0.6, R_v: 0.4}
"""Where the two sides of a rule are compared when nothing else is said."""


@dataclass(frozen=True)
class Case:
    """A task with what brute force needs to know of its token laws."""

    task: Task
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def law(self) -> SequenceLaw:
        return self.task.law


CASES = {
    "spiked": Case(SpikedSLR()),
    "max": Case(MaxSLR()),
    "square": Case(Task(chi[epsilon] ** 2)),
    "spread": Case(Task.from_token_laws(normal(0, 4)), {"reach": 3.6}),
    "laplace": Case(Task.from_token_laws(laplace(1), laplace()), {"kinks": (0.0, 1.0), "reach": 3.9}),
    "student": Case(Task.from_token_laws(student(3, 1), student(3)), {"reach": 6.0}),
    "square selection": Case(Task(L * (1 + chi[epsilon] ** 2) / Sum(1 + chi[l] ** 2, (l, 1, L)))),
}

ATTENTIONS = {
    "softmax": softmax,
    "softmax1": softmax1,
    "softplus": softplus,
    "linear": linear,
    "erf": erf,
    "quartic": Attention(1 + x**4),
    "sigmoid": Attention(1 / (1 + exp(-x)), normaliser=None),
    "sigmoid, offset": Attention(1 / (1 + exp(-x)), offset=1),
    "rectified": Attention(Max(x, 0) + 1),
    "rectified, offset": Attention(Max(x, 0), offset=1),
    "absolute": Attention(sqrt(1 + Abs(x)) + log(2), normaliser=None),
}

SHORT = {1: 3e-6, 2: 3e-6, 3: 1e-4, 4: 1e-3}
"""Tolerance at each length, relative to numbers of order one.

Worst case over the tables above: 3e-6 at L = 1 and 2 (two Laplace variables on a coarse mesh), 8e-6 at L = 3, 2e-5 at 4.
"""


def attention_of(name: str) -> Activation:
    """The attention paid to the relevant token at scale a."""
    return Activation.of(epsilon, ATTENTIONS[name], a)


def assert_equal(one: Expr, two: Expr, lengths: tuple[int, ...] = (1, 2, 3), **options: Any) -> None:
    """Both sides are the same number at every length, by brute force."""
    values = {**VALUES, **options.pop("values", {})}
    for length in lengths:
        left = brute(one, {**values, L: length}, **options)
        right = brute(two, {**values, L: length}, **options)
        assert abs(left - right) <= SHORT[length] * max(1.0, abs(left)), f"L = {length}: {left} is not {right}"
