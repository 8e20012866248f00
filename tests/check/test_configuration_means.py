"""First lines over hidden configurations are simulated: draws from the law, Bayes' rule written out."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Function, Rational, Symbol, sqrt

from symslr.algebra.derivation import Derivation
from symslr.check import Verdict
from symslr.check.configuration_means import simulate_configurations
from symslr.check.numbers import Numbers
from symslr.check.start import simulated_start
from symslr.expression.configuration import ConfigurationExpectation, ShiftedDensity, exactly, one_of
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, Signal, r, theta
from symslr.model.symbols import L, chi, i, j, l, nu
from symslr.model.task import Task
from symslr.referee import configurations
from symslr.referee.arithmetic import CannotReferee
from symslr.simulate.configurations import ConfigurationSampler
from symslr.simulate.location import LocationSampler, Posterior
from symslr.theory.configurations import location_bayes_risk

rho = Symbol("rho", positive=True)


def start_of(task: Task) -> Verdict:
    item = Derivation(location_bayes_risk(task), name="law", ranges={L: [2, 3]})
    found = simulated_start(item, Numbers())
    assert found is not None
    assert all(abs(c.z) < 5 for c in found.comparisons if c.z is not None and found.verdict is Verdict.TRUE)
    return found.verdict


TASKS = {
    "coins": Task(location="independent(1/3)", noise=Rational(1, 2)),
    "signs in a chain": Task(signal="1:1/2,-1:1/2", key_covariance=rho ** abs(i - j), noise=0),
    "two of three with signs": Task(location="subset(2)", signal="1:1/2,-1:1/2", noise=0),
}


@pytest.mark.parametrize("name", TASKS)
def test_first_lines_are_simulated(name: str) -> None:
    assert start_of(TASKS[name].at({"rho": Rational(1, 2)} if "chain" in name else {})) is Verdict.TRUE


def test_a_wrong_definition_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A referee that reads keys of another strength contradicts what is drawn."""
    right = configurations._product
    monkeypatch.setattr(configurations, "_product", lambda *arguments: right(*arguments) / 2)
    assert start_of(Task(noise=0)) is Verdict.FALSE


def test_draws_are_those_of_the_task() -> None:
    """Posterior means, configuration by configuration, against those of ``symslr.simulate.location``."""
    task = Task(signal="1:1/3,-2:2/3", prior=1 / l, key_covariance=rho ** abs(i - j), length=3, noise=0)
    values = {"nu": 2, "rho": Rational(1, 2)}
    sampler = LocationSampler.of(task, values)
    own = Signal((theta,), [((1,), Rational(1, 3)), ((-2,), Rational(2, 3))])
    chain = Rational(1, 2) ** abs(l - Symbol("m", integer=True, positive=True))
    law = ConfigurationLaw(
        ConfigurationPrior(one_of(1 / l, L), own, L).subs(L, 3),
        ShiftedDensity.of((sqrt(2) * theta * r[l],), chain, 3),
        chain,
    )
    drawn = ConfigurationSampler.of(law)
    keys = np.random.default_rng(3).standard_normal((50, 3, 1))
    mass = np.stack([share * drawn.weight(h, keys) for h, share in enumerate(drawn.shares)], axis=1)
    mean = mass @ drawn.relevant / mass.sum(axis=1, keepdims=True)
    assert mean == pytest.approx(Posterior.of(sampler).attention(keys), rel=1e-12)


def test_what_cannot_be_drawn_is_refused() -> None:
    prior = ConfigurationPrior(exactly(1, L), ONE, L)
    node = ConfigurationExpectation(chi[1], ConfigurationLaw(prior, ShiftedDensity.of((sqrt(nu) * r[l],), ALIKE, L)))
    with pytest.raises(CannotReferee, match="no value for L, nu"):
        simulate_configurations(node, {}, 10, 1)
    open_law = ConfigurationLaw(prior, Function("w")(l), ALIKE).subs(L, 30)
    with pytest.raises(CannotReferee, match="no samples: length"):
        simulate_configurations(ConfigurationExpectation(chi[1], open_law), {}, 10, 1)
