"""The outer rule for Laplace transforms M_j(u) = int F_j e^{-uK} dx on a line: docs/proofs.md, section 7."""

from __future__ import annotations

from bisect import bisect_left
from math import ceil, log
from typing import Any

import numpy as np
from flint import arb, arb_mat

from symslr.evaluation.certified.analytic.line import Line, LineRule
from symslr.evaluation.certified.outer import LogNodes, OuterRule, outer_step
from symslr.evaluation.numbers.balls import exponentials

BLOCK = 8
"""Octaves of u whose sums are over the same tokens."""

PLANNED = np.arange(-100.0, 300.0, 0.25)
"""Where the integrand is estimated in floats, in log u."""

POWERS = tuple(2.0 ** (i / 4) for i in range(-20, 53))
"""The moments that are tried in the right tail."""


class Octaves(LogNodes):
    """Nodes with a step of log(2)/``per_octave``; after an octave e^{-uK} is squared.

    Args:
        power: sums of u^{k-1} times what falls, k up to this one, are off by about e^-goal of themselves.
    """

    def __init__(self, power: float, goal: float) -> None:
        self.goal = goal
        self.per_octave = ceil(log(2) / outer_step(power, goal))
        self.step = log(2) / self.per_octave

    @property
    def exact_step(self) -> Any:
        return arb.const_log2() / self.per_octave


class Transform(Octaves, OuterRule):
    """The functions M_j of one line at one precision; every integral of a formula takes them from here.

    Args:
        nats: errors of about e^-nats in the M_j.
        power, goal: as for ``Octaves``.
    """

    grid = PLANNED

    def __init__(self, line: Line, nats: float, power: float, goal: float) -> None:
        super().__init__(power, goal)
        self.line, self.nats = line, nats
        self.rule: LineRule = line.rule(nats)
        self.known = {}
        self.logs = self.known_logs = list(self.rule.float_logs(PLANNED))
        self.log_moments, self.errors = self.rule.float_log_moments(0), self.rule.errors

    @property
    def taylor(self) -> list[list[Any]]:
        return self.rule.taylor

    def fill(self, nodes: range) -> None:
        while missing := [i for i in nodes if i not in self.known]:
            run = [i for count, i in enumerate(missing[: BLOCK * self.per_octave]) if i == missing[0] + count]
            seen = self.rule.seen((run[0] * self.exact_step).exp())
            loads = arb_mat(exponentials(seen.kernel, run[0], self.per_octave, len(run)))
            self.known |= zip(run, self.rule.sums(loads, seen))

    def log_moment(self, j: int, p: float) -> Any:
        return arb(self.line.log_moment(j, p))

    def best_power(self, j: int, v: float) -> tuple[float, float]:
        return best_power(self.line, j, v)


def best_power(line: Line, j: int, v: float, axis: int = 0) -> tuple[float, float]:
    """(p, log of (p/(e u))^p int F_j K^-p dx) at u = e^v for the best p of ``POWERS``: the logarithm is convex in p."""

    def size(i: int) -> float:
        return POWERS[i] * (log(POWERS[i]) - 1 - v) + line.log_moment(j, POWERS[i], axis)

    i = bisect_left(range(len(POWERS) - 1), True, key=lambda i: not size(i + 1) < size(i))
    return POWERS[i], size(i)
