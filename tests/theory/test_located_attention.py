"""What the optimal attention of a law of location is called, and what its letters stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sympy import Abs, Indexed, Rational, Sum, Symbol, cosh, exp

from symslr.evaluation import evaluate
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import L, chi, i, j, l, nu, x
from symslr.model.task import Task
from symslr.simulate.location import LocationSampler, Posterior
from symslr.theory import bayes_risk, optimal_attention
from symslr.theory.located_attention import (
    INDICES,
    OptimalAttention,
    _with_indices,
    located_attention,
    weighed_attention,
)
from tests.algebra.configurations import number
from tests.theory.test_configurations import ALIKE, CHAIN, OWN_SIGNALS, TASKS, VALUES, rho

SETS = "posterior mean over all sets of relevant positions, coupled by the filter over positions"
SIGNED_SETS = (
    "posterior mean over all sets of relevant positions and their signals, coupled by the filter over positions"
)
SUBSETS = "subset attention, s = 2: elementary symmetric polynomials"
COINS = "sigmoid with a bias, without a normaliser"
FILTER = " after a linear filter over positions"
BIAS = " with a positional bias"
TWO = "Bayes-softmax over 2 heads and tokens"
READINGS = {
    "plain": "softmax",
    "prior": "softmax" + BIAS,
    "listed prior": "softmax" + BIAS,
    "sign and prior": "attention with kernel cosh, normalised" + BIAS,
    "sizes": TWO,
    "directions": TWO + BIAS,
    "chain and prior": "softmax" + BIAS + FILTER,
    "chain and signs": TWO + BIAS + FILTER,
    "directions along a chain": TWO + BIAS + FILTER,
    "alike": "softmax",
    "any covariance": "softmax" + BIAS + FILTER,
    "coins": COINS,
    "coins by position": COINS,
    "subset": SUBSETS,
    "subset and prior": SUBSETS,
    "coins with signs": "element-wise ratio of weights, without a normaliser",
    "subset along directions": SUBSETS,
    "subset in a chain": SETS,
    "coins in a chain": SETS,
    "coins with signs in a chain": SIGNED_SETS,
    "subset along directions in a chain": SIGNED_SETS,
}
"""One correlation for all keys adds no bias that depends on the position; any other covariance does, by its ends."""

MEAN = "E_h the mean over the relevant positions, r[l] = 1 where l is one and 0 elsewhere, under their prior"
LETTERS = {
    "listed prior": ("pi = (1, 4, 2, 3)",),
    "any covariance": ("K the inverse of C, C[i, j] = 1/((i - j)**2 + 1)",),
    "subset in a chain": (MEAN,),
    "coins in a chain": (MEAN,),
    "coins with signs in a chain": (MEAN + ", and over their signals, theta[l] from 1:1/2,-1:1/2, each by itself",),
    "subset along directions in a chain": (
        MEAN + ", and over their signals, theta[l] from (1,0):1/3,(0,2):2/3, each by itself",
    ),
}
"""What the letters stand for that the task does not name."""


@pytest.mark.parametrize("name", TASKS | OWN_SIGNALS)
def test_it_is_called_what_it_is(name: str) -> None:
    found = optimal_attention((TASKS | OWN_SIGNALS)[name])
    assert isinstance(found, OptimalAttention)
    assert found.reading == READINGS[name]
    assert found.where == LETTERS.get(name, ())
    assert str(found).startswith("a[l] = ")
    assert found.latex().startswith("a_l = ")


def test_keys_that_are_alike_have_no_bias_by_position() -> None:
    signs = Task(key_covariance=ALIKE, signal="1:2/3,-1:1/3")
    assert optimal_attention(signs).reading == TWO + FILTER
    five = Task(signal="1:1/5,2:1/5,3:1/5,4:1/5,5:1/5")
    assert optimal_attention(five).reading == "Bayes-softmax over 5 heads and tokens"


@pytest.mark.parametrize(
    ("signal", "reading"),
    [("1:1", "softmax"), ("1:2/3,-1:1/3", TWO), ("1:1/2,-1:1/2", "attention with kernel cosh, normalised")],
)
def test_a_cosh_in_the_prior_is_no_kernel(signal: str, reading: str) -> None:
    assert optimal_attention(Task(prior=cosh(l) ** -1, signal=signal)).reading == reading + BIAS


def test_a_random_length_has_the_formula_of_every_length() -> None:
    task = Task(length={2: Rational(1, 3), 5: Rational(2, 3)}, prior=1 / (1 + L))
    found = optimal_attention(task)
    assert found.task == task
    assert found.weight == optimal_attention(replace(task, length=L)).weight


def test_signals_of_their_own_among_correlated_keys_are_named() -> None:
    signs = {"signal": "1:1/2,-1:1/2"}
    for location in ("subset(2)", "independent(1/3)"):
        found = optimal_attention(Task(location=location, key_covariance=CHAIN, **signs))
        assert found.reading == SETS.replace("positions,", "positions and their signals,")
        assert found.where[0].startswith(f"{MEAN}, and over their signals, theta[l] from ")
        assert optimal_attention(Task(location=location, **signs)).where == ()
        assert optimal_attention(Task(location=location, key_covariance=CHAIN)).reading == SETS
    assert optimal_attention(Task(key_covariance=CHAIN, **signs)).where == ()


@pytest.mark.parametrize(
    "parts",
    [{}, {"signal": "1:2/3,-1:1/3"}, {"location": "subset(2)"}, {"location": "independent(1/3)"}],
    ids=str,
)
def test_keys_that_are_alike_in_their_own_units(parts: dict[str, str]) -> None:
    """What is printed beside every configuration's density, where one correlation can be taken out and where it cannot."""
    task = Task(key_covariance=2 * ALIKE, **parts)
    sampler = LocationSampler.of(task, {**VALUES, "L": 4})
    keys = sampler.draw(1, np.random.default_rng(9)).chi
    given = keys[0, :, 0].tolist()
    env = {L: 4, nu: 1.3, rho: 0.4, chi.label: given}
    weight = optimal_attention(task).weight
    found = [number(weight, {**env, l: place}) for place in range(1, 5)]
    assert found == pytest.approx(Posterior.of(sampler).attention(keys)[0], rel=1e-9)


def test_the_roots_of_the_variance_that_keys_do_not_share_cancel() -> None:
    """The deviation of a key and that of its noise are one number: nothing of their roots is left to read."""
    for covariance, own in ((ALIKE, 1 - rho), (3 * ALIKE, 3 * (1 - rho))):
        plain, shared = (optimal_attention(Task(nu=nu, key_covariance=c)).weight for c in (None, covariance))
        assert shared == plain.replace(lambda e: isinstance(e, Indexed), lambda e, own=own: e / own)
        assert chi[l] in shared.atoms(Indexed)


def test_the_weight_of_keys_with_an_open_correlation_is_evaluated_at_any_value_of_it() -> None:
    """Also where another value would make it no number: 1/(1 - rho) at rho = 1."""
    plain, shared = (Task(nu=nu, key_covariance=c, noise=0).without_common_shift() for c in (None, ALIKE))
    assert plain is not None
    assert shared is not None
    given = {rho: Rational(1, 3), nu: 2, L: 3}
    found, expected = (evaluate(bayes_risk(task), at) for task, at in ((shared, given), (plain, {nu: 3, L: 3})))
    assert float(found.value) == pytest.approx(float(expected.value), rel=1e-10)


def test_indices_are_renamed_without_a_clash() -> None:
    def nested(outer: Symbol, inner: Symbol) -> Sum:
        return Sum(chi[outer] * Sum(chi[inner] * chi[outer], (inner, 1, 3)), (outer, 1, 3))

    first, second, _ = INDICES
    for outer, inner in ((first, second), (i, j), (j, second)):
        assert _with_indices(nested(outer, inner), INDICES) == nested(first, second)


@pytest.mark.parametrize("name", ["m", "n", "q"])
def test_a_parameter_and_a_sum_have_two_names(name: str) -> None:
    """Regression: where a parameter is called m, exp(-|m - chi_m|) was summed over m in print."""
    shift = Symbol(name, real=True)
    laws = Task.from_token_laws(ScalarLaw(exp(-Abs(x - shift)) / 2), ScalarLaw(exp(-Abs(x)) / 2), length=4)
    located = Task(nu=shift**2, signal="1:1/2,-1:1/2", key_covariance=rho ** Abs(i - j), length=4)
    for weight in (weighed_attention(laws).weight, located_attention(located).weight):
        assert weight.has(shift)
        assert all(str(index) != name for total in weight.atoms(Sum) for index in total.variables)


def test_letters_of_a_formula_are_explained_and_differ() -> None:
    """Regression: K was not explained where the covariance is a multiple of one along a chain; n was also a sum's index."""
    scale = Symbol("n", positive=True)
    task = Task(prior=scale**l, key_covariance=2 * Rational(1, 2) ** Abs(i - j), length=3)
    found = located_attention(task)
    assert found.where == ("K the inverse of C, C[i, j] = 2/2**Abs(i - j)",)
    assert all(str(index) != "n" for total in found.weight.atoms(Sum) for index in total.variables)


def test_a_name_of_several_letters_is_no_product() -> None:
    task = Task(prior=Symbol("st", positive=True) ** l + Symbol("s_1") * Symbol("tau"), length=3)
    assert r"\mathit{st}^{l}" in located_attention(task).latex()
    assert r"s_{1} \tau" in located_attention(task).latex()
