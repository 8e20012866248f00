"""An expectation over hidden configurations by simulation: draws from the law, posterior means by writing out Bayes' rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Expr, Indexed, Symbol, lambdify

from symslr.check.zscore import SampleMean
from symslr.expression.configuration import ConfigurationExpectation, PosteriorMean
from symslr.expression.folded import ConditionalMean
from symslr.model.configuration import ConfigurationLaw
from symslr.model.exact import exact
from symslr.model.symbols import chi, xi, z
from symslr.referee.arithmetic import CannotReferee
from symslr.simulate.configurations import ConfigurationSample, ConfigurationSampler, explicit

BATCH = 200_000
"""Sequences drawn at once."""


def simulate_configurations(
    node: ConfigurationExpectation, values: Mapping[str, Any], size: int, seed: int
) -> SampleMean:
    """E_w[body] as a mean over ``size`` sequences, each with a configuration, keys, values and noise of its own.

    Args:
        node: the expectation; every other symbol in it has a value.
        values: name -> number.
        size: number of sequences.
        seed: of NumPy's default generator.

    Raises:
        CannotReferee: when a value is missing or the law cannot be sampled.
    """
    numbers = {s: exact(values[s.name]) for s in node.free_symbols if s.name in values}
    missing = node.free_symbols - numbers.keys()
    if missing:
        raise CannotReferee(f"no value for {', '.join(sorted(map(str, missing)))}")
    fixed = node.subs(numbers)
    try:
        sampler = ConfigurationSampler.of(fixed.law)
    except (TypeError, ValueError) as refusal:
        raise CannotReferee(f"no samples: {refusal}") from refusal
    rng, body, found = np.random.default_rng(seed), explicit(fixed.body), []
    for start in range(0, size, BATCH):
        sample = sampler.draw(min(BATCH, size - start), rng)
        found.append((_body(body, sample, sampler), sample.weights))
    bodies, weights = map(np.concatenate, zip(*found))
    return SampleMean.of(bodies, seed, weights)


def _body(body: Expr, sample: ConfigurationSample, sampler: ConfigurationSampler) -> np.ndarray:
    """The body at every sequence of a sample."""
    means = sorted(body.atoms(ConditionalMean, PosteriorMean), key=str)
    letters = {mean: Symbol(f"given_{i}") for i, mean in enumerate(means)}
    inner = {letter: _given_keys(mean, sample, sampler) for mean, letter in letters.items()}
    written, result = body.xreplace(letters), np.empty(len(sample.xi))
    for place in np.unique(sample.number):
        mine = sample.number == place
        arrays = {letter: column[mine] for letter, column in inner.items()}
        result[mine] = _evaluated(sampler.given(int(place), written), sample, mine, arrays)
    return result


def _given_keys(mean: Expr, sample: ConfigurationSample, sampler: ConfigurationSampler) -> np.ndarray:
    """sum_h P(h) w(h, chi) body(h) / sum_h P(h) w(h, chi); the noise of a label has mean 0."""
    law: ConfigurationLaw = mean.law
    here = sampler if law == sampler.law else ConfigurationSampler.of(law)
    body = explicit(mean.label if isinstance(mean, ConditionalMean) else mean.body)
    if body.diff(xi, 2) != 0:
        raise CannotReferee(f"the label {body} is not affine in the noise")
    every = np.ones(len(sample.xi), dtype=bool)
    above, below = np.zeros((2, len(sample.xi)))
    for place, share in enumerate(here.shares):
        mass = share * here.weight(place, sample.chi)
        above += mass * _evaluated(here.given(place, body).subs(xi, 0), sample, every, {})
        below += mass
    return above / below


def _evaluated(
    expr: Expr, sample: ConfigurationSample, chosen: np.ndarray, arrays: Mapping[Symbol, np.ndarray]
) -> np.ndarray:
    """An expression in keys, values, noise and named arrays at the chosen sequences."""
    tokens = sorted(expr.atoms(Indexed), key=str)
    letters = {token: Symbol(f"t{i}", real=True) for i, token in enumerate(tokens)}
    columns = [_column(token, sample)[chosen] for token in tokens]
    function = lambdify([*letters.values(), *arrays, xi], expr.xreplace(letters), modules=["scipy", "numpy"])
    with np.errstate(all="ignore"):
        found = function(*columns, *arrays.values(), sample.xi[chosen])
    return np.broadcast_to(np.asarray(found, dtype=float), int(np.count_nonzero(chosen)))


def _column(token: Indexed, sample: ConfigurationSample) -> np.ndarray:
    """One key or value of every sequence."""
    places = [int(index) - 1 for index in token.indices]
    if token.base == z:
        return sample.z[:, places[0]]
    if token.base != chi:
        raise CannotReferee(f"{token} is neither a key nor a value")
    return sample.chi[:, places[0], places[1] if len(places) > 1 else 0]
