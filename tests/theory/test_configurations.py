"""Laws of location: the derived attention against enumeration of the posterior, the Bayes risk against simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from sympy import Abs, KroneckerDelta, Rational, Symbol, exp

from symslr.expression.configuration import ConfigurationMean
from symslr.model.configuration import ONE, OwnSignals
from symslr.model.symbols import L, chi, i, j, l, nu
from symslr.model.task import Task
from symslr.referee.referee import referee
from symslr.simulate.configurations import ConfigurationSampler
from symslr.simulate.location import LocationSampler, Posterior, bayes_location_monte_carlo
from symslr.theory.configurations import (
    law_of_location,
    location_bayes_risk,
    optimal_location_attention,
)
from symslr.theory.located_attention import PRECISION, PRIOR, located_attention
from tests.algebra.configurations import number

rho = Symbol("rho", positive=True)
CHAIN = rho ** Abs(i - j)
ALIKE = (1 - rho) * KroneckerDelta(i, j) + rho
TASKS = {
    "plain": Task(),
    "prior": Task(prior=2**-l),
    "listed prior": Task(prior=[1, 4, 2, 3], length=4),
    "sign and prior": Task(signal="1:1/2,-1:1/2", prior=1 / (1 + l)),
    "sizes": Task(signal="1/3:1/5,2:4/5"),
    "directions": Task(signal="(1,0):1/2,(-1/2,2):1/2", prior=1 / l),
    "chain and prior": Task(key_covariance=CHAIN, prior=2**-l),
    "chain and signs": Task(key_covariance=CHAIN, signal="1:2/3,-1:1/3"),
    "directions along a chain": Task(key_covariance=CHAIN, signal="(1,0):1/2,(0,1):1/2"),
    "alike": Task(key_covariance=ALIKE),
    "any covariance": Task(key_covariance=1 / (1 + (i - j) ** 2), prior=exp(-l)),
    "coins": Task(location="independent(1/8)"),
    "coins by position": Task(location="independent(1/(1+l))"),
    "subset": Task(location="subset(2)"),
    "subset and prior": Task(location="subset(2)", prior=2**-l),
    "coins with signs": Task(location="independent(1/3)", signal="1:1/2,-1:1/2"),
    "subset along directions": Task(location="subset(2)", signal="(1,0):1/3,(0,2):2/3"),
    "subset in a chain": Task(location="subset(2)", key_covariance=CHAIN),
    "coins in a chain": Task(location="independent(1/3)", key_covariance=CHAIN),
}
OWN_SIGNALS = {
    "coins with signs in a chain": Task(location="independent(1/3)", signal="1:1/2,-1:1/2", key_covariance=CHAIN),
    "subset along directions in a chain": Task(
        location="subset(2)", signal="(1,0):1/3,(0,2):2/3", key_covariance=CHAIN
    ),
}
"""Several relevant tokens among correlated keys, each with a signal of its own, over which no rule sums."""
EXACT = {"L": 3, "nu": Rational(13, 10), "rho": Rational(2, 5), "Delta": Rational(3, 10)}
VALUES: Mapping[object, object] = {"nu": 1.3, "rho": 0.4, "Delta": 0.3}


@pytest.mark.parametrize("name", TASKS)
def test_the_derived_attention_is_the_posterior_mean(name: str) -> None:
    """The formula that rules made, at random keys, against every configuration's density written out."""
    length = 4
    sampler = LocationSampler.of(TASKS[name], {**VALUES, "L": length})
    keys = sampler.draw(2, np.random.default_rng(5)).chi
    expected = Posterior.of(sampler).attention(keys)
    formula = optimal_location_attention(TASKS[name])
    for row, weights in zip(keys, expected, strict=True):
        given = row[:, 0].tolist() if row.shape[1] == 1 else row.tolist()
        env = {L: length, nu: 1.3, rho: 0.4, chi.label: given}
        found = [number(formula, {**env, l: place}) for place in range(1, length + 1)]
        assert found == pytest.approx(weights, rel=1e-9)


def test_a_law_of_configurations_has_one_length() -> None:
    task = Task(length={2: Rational(1, 3), 3: Rational(2, 3)}, name="short")
    for of in (law_of_location, location_bayes_risk, optimal_location_attention):
        with pytest.raises(ValueError, match="length: found a law of the length in task short; expected a symbol"):
            of(task)


@pytest.mark.parametrize(
    "name", ["sign and prior", "chain and prior", "coins", "subset and prior", "subset in a chain"]
)
@pytest.mark.parametrize("values", [None, CHAIN])
def test_the_definition_of_the_risk_against_simulation(name: str, values: object) -> None:
    task = TASKS[name]
    parts = {"key_covariance": task.key_covariance, "prior": task.prior, "location": task.location}
    task = Task(signal=task.signal, value_covariance=values, **parts)  # type: ignore[arg-type]
    exact = referee(location_bayes_risk(task), EXACT, 12)
    found = bayes_location_monte_carlo(task, {**VALUES, "L": 3}, size=60_000, seed=11)
    assert exact.digits >= 10
    assert abs(found.z_score(float(exact.value))) < 4


@pytest.mark.parametrize("name", [name for name in TASKS if "in a chain" not in name])
def test_the_closed_form_is_what_rules_derive(name: str) -> None:
    """What ``symslr optimal`` prints, at the same keys, beside the formula that rules made."""
    length, task = 4, TASKS[name]
    keys = LocationSampler.of(task, {**VALUES, "L": length}).draw(1, np.random.default_rng(6)).chi[0]
    given = keys[:, 0].tolist() if keys.shape[1] == 1 else keys.tolist()
    env: dict[object, object] = {L: length, nu: 1.3, rho: 0.4, chi.label: given}
    if isinstance(task.prior, tuple):
        env[PRIOR.label] = [float(weight) for weight in task.prior]
    if name == "any covariance" and task.key_covariance is not None:
        env[PRECISION.label] = np.linalg.inv(task.key_covariance.numbers(length)).tolist()
    printed, derived = located_attention(task).weight, optimal_location_attention(task)
    for place in range(1, length + 1):
        here = {**env, l: place}
        assert number(printed, here) == pytest.approx(number(derived, here), rel=1e-9)


def test_every_law_has_a_chain_to_the_risk_of_its_attention() -> None:
    for name, task in TASKS.items():
        chain = location_bayes_risk(task).derivation()  # type: ignore[attr-defined]
        if name in ("plain", "sizes", "alike", "coins", "subset and prior"):
            at = {**EXACT, "L": 3 if name in ("coins", "subset and prior") else 2}
            first, last = (referee(side, at, 10) for side in (chain.start.definition(), chain.result))  # type: ignore[attr-defined]
            assert float(last.value) == pytest.approx(float(first.value), rel=1e-9)
        assert chain.steps


def test_what_has_no_law_of_configurations_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a symbol or a number"):
        law_of_location(Task(length={1: Rational(1, 2), 2: Rational(1, 2)}))


def test_signals_of_their_own_among_correlated_keys_stay_averaged_over() -> None:
    """The law draws every token's signal; the formula is held against densities with those of the other laws of location."""
    task = Task(location="subset(2)", signal="1:1/4,-1:3/4", key_covariance=CHAIN, length=3)
    means = optimal_location_attention(task).atoms(ConfigurationMean)
    assert means
    assert all(isinstance(mean.prior.signal, OwnSignals) for mean in means)
    drawn = ConfigurationSampler.of(law_of_location(task.at({nu: 4, rho: Rational(1, 2)})))
    assert drawn.means is not None
    assert len(drawn.shares) == 3 * 2**3
    np.testing.assert_allclose(drawn.shares @ drawn.means[..., 0], [2 * 2 / 3 * (1 / 4 - 3 / 4)] * 3, rtol=1e-12)


def test_signals_of_their_own_are_configurations_where_no_factor_averages_them() -> None:
    task = Task(location="subset(2)", signal="1:1/2,-1:1/2")
    among = law_of_location(replace(task, key_covariance=CHAIN))
    assert (law_of_location(task).prior.signal, isinstance(among.prior.signal, OwnSignals)) == (ONE, True)
