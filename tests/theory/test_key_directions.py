"""Keys along several directions: the law of location has as many keys a token, and its risk is the simulated one."""

from __future__ import annotations

import pytest
from sympy import Symbol

from symslr.algebra.rules import GivenNumberRelevant, IndependentRelevance, OneRelevantToken
from symslr.model.configuration import Directions
from symslr.model.location import Independent, OnePosition, Subset
from symslr.referee.referee import referee
from symslr.simulate.location import bayes_location_monte_carlo
from symslr.theory.configurations import law_of_location, location_bayes_risk
from tests.derivations.statements import odd_symbols
from tests.theory.test_configurations import EXACT, OWN_SIGNALS, TASKS, VALUES


@pytest.mark.parametrize("name", TASKS | OWN_SIGNALS)
def test_a_token_has_a_key_along_each_direction(name: str) -> None:
    task = (TASKS | OWN_SIGNALS)[name]
    count, law = task.signal.directions, law_of_location(task)
    found = [keys.args[1] for keys in law.atoms(Directions)]
    assert odd_symbols(law.atoms(Symbol)) == []
    assert found == ([count] if count > 1 else [])


@pytest.mark.parametrize("name", ["directions", "directions along a chain"])
def test_the_risk_with_two_keys_a_token_against_simulation(name: str) -> None:
    exact = referee(location_bayes_risk(TASKS[name]), {**EXACT, "L": 2}, 6)
    found = bayes_location_monte_carlo(TASKS[name], {**VALUES, "L": 2}, size=20_000, seed=11)
    assert exact.digits >= 3
    assert abs(found.z_score(float(exact.value))) < 4


@pytest.mark.parametrize("name", TASKS)
def test_one_rule_sums_over_the_places_but_of_several_correlated_ones(name: str) -> None:
    by_location = {OnePosition: OneRelevantToken, Subset: GivenNumberRelevant, Independent: IndependentRelevance}
    chain = location_bayes_risk(TASKS[name]).derivation()  # type: ignore[attr-defined]
    found = {type(step.rule) for step in chain.steps} & set(by_location.values())
    stays = not isinstance(TASKS[name].location, OnePosition) and TASKS[name].key_covariance is not None
    assert found == (set() if stays else {by_location[type(TASKS[name].location)]})
