"""The derived probability of separation against every weight matrix there is, and against the exact law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sympy import Expr

from symslr.evaluation.separation.law import NeuronLaw
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation, separation
from symslr.referee.referee import referee
from symslr.simulate.separation import attention_on, data_matrix, exhaustive_success
from symslr.theory.separation.definition import m
from symslr.theory.separation.firing import firing_derivation
from symslr.theory.separation.hoeffding import hoeffding_derivation
from symslr.theory.separation.network import idle_derivation, idle_probabilities, network_derivation

MARKS = {"a0": 0.1, "a1": 1.6, "b": 0.3, "c": 0.6, "margin": 0.35, "beta": 1.5}
LAYOUTS = [(2, 2, 2), (3, 2, 1), (3, 1, 2), (4, 3, 1), (2, 1, 3)]
"""(classes, blocks, neurons): one block has no siblings; at most 16 signs."""


def made(classes: int, blocks: int, neurons: int) -> Separation:
    return separation(n=classes * blocks, d=classes + 2, t=blocks, m=neurons, **MARKS)


def at(expr: Expr, parameters: Separation, row: int = 1) -> float:
    p = parameters
    values = {"n": p.n, "t": p.t, "m": p.m, "j_3": row, "a_0": p.a0, "a_1": p.a1, "b": p.b, "c": p.c, "beta": p.beta}
    return float(referee(expr, {**values, "gamma": p.margin, "a": p.a1}, digits=13).value)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_derived_probability_is_that_of_all_weight_matrices(layout: tuple[int, int, int]) -> None:
    """(1 - P_bad)^m - (1 - P(bad or useful))^m by the derived binomial sums, by enumeration and by the law: no error."""
    p = made(*layout)
    not_bad, idle = (at(idle_derivation(useful).result, p) for useful in (False, True))
    success, total = exhaustive_success(p)
    assert not_bad**p.m - idle**p.m == pytest.approx(success / total, abs=1e-14)
    assert float(NeuronLaw(p).fixed_row) == pytest.approx(success / total, abs=1e-14)
    assert idle <= not_bad


def test_the_network_is_split_into_these_two_probabilities() -> None:
    not_bad, idle = idle_probabilities()
    assert network_derivation().result == not_bad**m - idle**m


def test_the_definition_of_the_event_is_that_of_the_matrices() -> None:
    """The first line of the network, read by the referee, against float64 networks on float64 matrices."""
    for layout, row in (((2, 1, 2), 1), ((2, 2, 1), 3), ((3, 1, 1), 2)):
        p = made(*layout)
        success, total = exhaustive_success(p, rows=(row - 1,))
        assert at(network_derivation().start, p, row) == pytest.approx(success / total, abs=1e-14)


@pytest.mark.parametrize("kernel", [SOFTMAX_KERNEL, LINEAR_KERNEL], ids=str)
def test_a_network_of_many_neurons_against_simulation(kernel: Expr) -> None:
    """P(F > 0 on D1) with 12 rows and 3 neurons: 20,000 sign matrices, |z| < 4."""
    p = made(4, 3, 3)
    rng = np.random.default_rng(11)
    tau = float(p.c + p.margin) * math.sqrt(math.log(p.n))
    outputs = attention_on(p, kernel, 1, 4)
    signs = rng.choice((-1.0, 1.0), size=(20_000, p.d, p.m))
    fired = (outputs @ signs > tau).any(axis=(1, 2))
    exact = at(firing_derivation(kernel).result, p, row=5)
    error = math.sqrt(max(exact * (1 - exact), 1e-9) / len(fired))
    assert abs(fired.mean() - exact) < 4 * error + 1e-12
    assert data_matrix(p, p.values(1), 4)[4, 0] > 0


def test_hoeffdings_bound_lies_above_the_exact_tail() -> None:
    """For 2 to 9 signs, to the exact probability; each step goes up and the whole does."""
    chain = hoeffding_derivation()
    assert chain.relation == "<="
    assert [step.relation for step in chain.steps] == ["<=", "=", "=", "=", "<=", "=", "="]
    for size in (2, 5, 9):
        for far in (0.3, 1.1, 2.0):
            numbers = {"N": size, "b": 0.7, "varphi": 0.9, "y": far}
            exact, bound = (float(referee(e, numbers, digits=13).value) for e in (chain.start, chain.result))
            assert exact <= bound
