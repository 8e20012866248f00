"""Posteriors and moments, by one call for every kind of task: against Bayes' rule, risks, and drawn samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import scipy.special
from scipy.stats import laplace, multivariate_normal, norm

import symslr as s
from symslr.model.length_law import LengthLaw
from symslr.model.location import Independent, Subset
from symslr.model.symbols import L, nu
from symslr.simulate.location.sampler import LocationSampler
from symslr.simulate.sequences import SequenceSampler
from tests.face.test_face import TASKS

NU = 2
EVERY = {
    **TASKS,
    "subset among a chain": s.Task(location="subset(2)", key_covariance="(1/2)**abs(i-j)", length=4, noise=0),
    "values along a chain": s.Task(prior="1/l", value_covariance="(1/2)**abs(i-j)", length=3, noise=0),
    "two directions": s.Task(signal="(1,1/2):1/4,(0,1):3/4", length=3, noise=0),
}
BY_WEIGHT: dict[str, Callable[[Any, int], Any]] = {
    "spiked": lambda chi, at: np.sum(norm.logpdf(chi - np.sqrt(NU) * (np.arange(3) == at)), axis=-1),
    "max": lambda chi, at: np.log(scipy.special.softmax(NU * chi, axis=-1)[..., at]),
    "own weight": lambda chi, at: np.log1p(chi[..., at] ** 2),
    "token laws": lambda chi, at: np.sum(laplace.logpdf(chi, np.arange(3) == at), axis=-1),
}
"""log P(l | keys) of a weight, up to a constant."""


def _given(task: s.Task) -> dict[str, int]:
    return {"nu": NU} if nu in task.free_symbols else {}


def _hidden(task: s.Task) -> Iterator[tuple[float, Any, Any]]:
    """(prior probability up to a constant, means of the keys (L, p), which positions are relevant) of all configurations."""
    length, where = int(task.length), task.location
    coins, size = isinstance(where, Independent), int(where.size) if isinstance(where, Subset) else 1
    for count in range(length + 1) if coins else (size,):
        for chosen in combinations(range(length), count):
            mass = float(np.prod([float(task.prior_weight(at + 1)) for at in chosen]))
            if isinstance(where, Independent):
                share = float(where.probability)
                mass = share**count * (1 - share) ** (length - count)
            for signals in product(task.signal, repeat=count):
                means = np.zeros((length, task.signal.directions))
                for at, (theta, _) in zip(chosen, signals):
                    means[at] = np.sqrt(NU) * np.array([float(part) for part in theta])
                yield (
                    mass * float(np.prod([float(share) for _, share in signals])),
                    means,
                    np.isin(range(length), chosen),
                )


def _by_bayes_rule(task: s.Task, chi: Any) -> Any:
    length = int(task.length)
    covariance = np.eye(length) if task.key_covariance is None else task.key_covariance.numbers(length)
    keys, total = chi.reshape(*chi.shape[:2], -1), 0
    for mass, means, relevant in _hidden(task):
        density = mass * np.prod(
            [multivariate_normal.pdf(keys[:, :, d], means[:, d], covariance) for d in range(task.signal.directions)],
            axis=0,
        )
        total = total + density[:, None] * np.append(relevant, True)
    return total[:, :-1] / total[:, -1:]


@pytest.mark.parametrize("name", EVERY)
def test_the_posterior_is_bayes_rule(name: str) -> None:
    task = EVERY[name]
    directions = task.signal.directions if task.is_located else 1
    chi = 1.5 * np.random.default_rng(0).normal(size=(40, int(task.length), directions))
    chi = chi if directions > 1 else chi[:, :, 0]
    found = s.posterior(task, chi, **_given(task))
    if name in BY_WEIGHT:
        logs = np.stack([BY_WEIGHT[name](chi, at) for at in range(int(task.length))], axis=-1)
        known = scipy.special.softmax(logs, axis=-1)
    else:
        known = _by_bayes_rule(task, chi)
    assert found.shape == chi.shape[:2]
    assert np.allclose(found, known, rtol=1e-10, atol=1e-13)
    several = s.posterior(task, chi.reshape(8, 5, *chi.shape[1:]), **_given(task))
    assert np.array_equal(several.reshape(found.shape), found)
    assert np.array_equal(s.posterior(task, chi[0], **_given(task)), s.posterior(task, chi[:1], **_given(task))[0])


def _softplus(chi: Any) -> Any:
    weights = np.log1p(np.exp(chi))
    return weights / weights.sum(axis=-1, keepdims=True)


def _drawn(task: s.Task, size: int) -> tuple[Any, Any, Any, Any]:
    """(keys (n, L), read-outs (n, L), importance weights (n,), C_v) from the sampler, which knows no theory."""
    rng, length = np.random.default_rng(1), int(task.length)
    if task.is_located:
        sampler = LocationSampler.of(task, _given(task))
        found = sampler.draw(size, rng)
        return found.chi[:, :, 0], found.read_out, np.ones(size), sampler.values
    drawn = SequenceSampler.of(task.law.subs(L, length), _given(task), 2, rng).draw(size, rng)
    return drawn.chi, np.eye(length)[drawn.epsilon], drawn.weights, np.eye(length)


@pytest.mark.parametrize(
    ("attention", "weights"),
    [("softmax", lambda chi: scipy.special.softmax(chi, axis=-1)), ("softplus", _softplus)],
)
@pytest.mark.parametrize("name", [name for name in EVERY if name != "two directions"])
def test_moments_are_those_of_samples_and_make_the_risk(
    name: str, attention: str, weights: Callable[[Any], Any]
) -> None:
    task = EVERY[name]
    found = s.moments(task, attention, a=1, **_given(task))
    chi, read_out, importance, values = _drawn(task, 40_000)
    sigma = weights(chi)
    for value, left in ((found.hit, read_out), (found.square, sigma)):
        sampled = importance * np.einsum("nl,lm,nm->n", left, values, sigma)
        z = (np.mean(sampled) - float(value)) / np.hypot(np.std(sampled) / np.sqrt(len(sampled)), float(value.error))
        assert abs(z) < 4.5
    risk = s.population_risk(task, attention)(a=1, **_given(task))
    made = _read_out(task) - found.hit * found.hit / found.square
    assert abs(float(made - risk)) <= 1e-12 + 4 * float(made.error + risk.error)


def _read_out(task: s.Task) -> float:
    """E[r^T C_v r], at variances 1."""
    if isinstance(task.location, Independent):
        return float(task.length * task.location.probability)
    return 1 / int(task.location.size) if isinstance(task.location, Subset) else 1.0


def test_moments_of_what_is_drawn_and_of_kernels_with_parameters() -> None:
    """Selections have samples at times; softmax at no signal and at no scale has the moments of equal weights."""
    spiked = TASKS["spiked"]
    for attention, more in (("sparsemax", {}), ("erf", {"c": "1/2"}), ("top(1)", {})):
        found = s.moments(spiked, attention, a=1, nu=NU, **more)
        risk = s.population_risk(spiked, attention)(a=1, nu=NU, **more)
        made = 1 - found.hit * found.hit / found.square
        assert abs(float(made - risk)) <= 4 * float(made.error + risk.error)
    even = s.moments(spiked, "softmax", a=0, nu=NU)
    assert (float(even.hit), float(even.square)) == pytest.approx((1 / 3, 1 / 3), abs=1e-12)
    law = LengthLaw({1: "1/4", 3: "3/4"})
    mixed = s.moments(s.SpikedSLR(length=law, noise=0), "softmax", a=1, nu=NU)
    fixed = s.moments(spiked, "softmax", a=1, nu=NU)
    assert float(mixed.hit) == pytest.approx((1 + 3 * float(fixed.hit)) / 4, abs=1e-12)
    assert s.moments(spiked, "softmax", a=1, nu=NU, digits=20).square.digits >= 20


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: s.posterior(TASKS["spiked"], [1, 2], nu=NU), r"chi: found the shape \(2,\); expected \(..., 3\)"),
        (lambda: s.posterior(EVERY["two directions"], np.ones((5, 3)), nu=NU), r"expected \(..., 3, 2\)"),
        (lambda: s.posterior(TASKS["spiked"], [1, 2, 3]), "no value for nu"),
        (lambda: s.posterior(TASKS["spiked"], [1, 2, 3], nu=NU, length=4), "L: found 4, but the task has 3"),
        (lambda: s.moments(TASKS["spiked"], "softmax", nu=NU), "scale: found a, with no value for a"),
        (lambda: s.moments(TASKS["spiked"], "softmax", nu=NU, a="oo"), "scale: found oo; expected a finite number"),
        (lambda: s.moments(TASKS["spiked"], "softmax", nu=NU, a=1, b=3), "found a value for b"),
        (lambda: s.moments(EVERY["two directions"], "softmax", nu=NU, a=1), "more parameters than one scale"),
    ],
)
def test_what_is_asked_wrongly_has_one_line(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        wrong()
    assert "\n" not in str(refused.value)
