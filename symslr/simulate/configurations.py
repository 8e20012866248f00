"""Draws of a law whose relevant tokens are a hidden configuration: the configuration first, then keys, values and noise."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sympy import Add, Expr, Integer, Mul, Product, Sum, lambdify

from symslr.expression.configuration import PosteriorMean, ShiftedDensity
from symslr.expression.folded import ConditionalMean
from symslr.model.configuration import ALIKE, ConfigurationLaw, OwnSignals, Signal, Signals, r
from symslr.model.float64 import in_float64
from symslr.model.put_in import put_in
from symslr.model.symbols import chi, l, m
from symslr.simulate.log_domain import Array

MOST_CONFIGURATIONS = 5000


@dataclass(frozen=True)
class ConfigurationSample:
    """``n`` sequences of length L.

    Attributes:
        number: which configuration was drawn, shape (n,).
        chi: keys, shape (n, L, p).
        z: values, shape (n, L).
        xi: label noise, shape (n,).
        weights: of the draws, shape (n,): 1 where keys were drawn from their law given the configuration.
    """

    number: np.ndarray
    chi: Array
    z: Array
    xi: Array
    weights: Array


@dataclass(frozen=True)
class ConfigurationSampler:
    """A law of configurations in which every parameter has its value.

    Attributes:
        law: the law.
        length: L.
        relevant: r_l of every configuration, shape (H, L).
        signals: the values of the components of its signal, one mapping for each configuration.
        shares: P(h), shape (H,).
        keys, values: covariances over tokens, shape (L, L).
    """

    law: ConfigurationLaw
    length: int
    relevant: Array
    signals: tuple[dict[Expr, Expr], ...]
    shares: Array
    keys: Array
    values: Array

    @classmethod
    def of(cls, law: ConfigurationLaw) -> ConfigurationSampler:
        """Every configuration with its probability, from the definition of the prior.

        Raises:
            ValueError: where the length is no number, the signal has no law, or there are more than 5000 configurations.
        """
        if not isinstance(law.length, Integer) or not isinstance(law.prior.signal, Signals):
            raise ValueError(
                f"length: found {law.length} and the signal {law.prior.signal}; expected a number and a law"
            )
        length, law_of_signals = int(law.length), law.prior.signal
        kinds = len(law_of_signals.support) ** (length if isinstance(law_of_signals, OwnSignals) else 1)
        if 2**length * kinds > MOST_CONFIGURATIONS:
            raise ValueError(f"length: found {length}; expected one at which all configurations can be written out")
        mass, values = explicit(law.prior.mass), _values(law_of_signals, length)
        drawn, signals, shares = [], [], []
        for places in itertools.product((0, 1), repeat=length):
            share = float(mass.subs({r[place]: flag for place, flag in enumerate(places, 1)}))
            for value, weight in values if share else ():
                drawn.append(places)
                signals.append(value)
                shares.append(share * weight)
        total = np.array(shares) / np.sum(shares)
        matrices = (_matrix(covariance, length) for covariance in (law.covariance, law.values))
        return cls(law, length, np.array(drawn, dtype=float), tuple(signals), total, *matrices)

    def draw(self, size: int, rng: np.random.Generator) -> ConfigurationSample:
        """``size`` independent sequences."""
        number = rng.choice(len(self.shares), size=size, p=self.shares)
        normal = rng.standard_normal((size, self.law.directions, self.length))
        keys = (normal @ np.linalg.cholesky(self.keys).T).transpose(0, 2, 1)
        values = rng.standard_normal((size, self.length)) @ np.linalg.cholesky(self.values).T
        noise = rng.standard_normal(size)
        if self.means is not None:
            return ConfigurationSample(number, keys + self.means[number], values, noise, np.ones(size))
        weights = np.empty(size)
        for place in np.unique(number):
            mine = number == place
            weights[mine] = self.weight(int(place), keys[mine])
        return ConfigurationSample(number, keys, values, noise, weights)

    @cached_property
    def means(self) -> Array | None:
        """The means of the keys given every configuration, shape (H, L, p), where the weight is that of shifted keys."""
        weight = self.law.weight
        if not isinstance(weight, ShiftedDensity) or weight.covariance != self.law.covariance:
            return None
        of = [[explicit(mean.subs(l, place)) for mean in weight.means] for place in range(1, self.length + 1)]
        return np.array([[[float(self.given(h, mean)) for mean in row] for row in of] for h in range(len(self.shares))])

    def given(self, number: int, expr: Expr) -> Expr:
        """An expression, its sums written out, in which the configuration has its value."""
        tokens = {r[place]: Integer(int(flag)) for place, flag in enumerate(self.relevant[number], 1)}
        return expr.subs(tokens).subs(self.signals[number])

    def weight(self, number: int, keys: Array) -> Array:
        """w(h, chi) of one configuration for keys (n, L, p), from the densities themselves where keys are shifted."""
        if self.means is not None:
            away = keys - self.means[number]
            return np.exp((self._square(keys) - self._square(away)) / 2)
        return self.evaluated(self.given(number, self._explicit_weight), keys)

    @cached_property
    def _explicit_weight(self) -> Expr:
        return explicit(self.law.weight)

    def _square(self, keys: Array) -> Array:
        return np.einsum("nld,lm,nmd->n", keys, np.linalg.inv(self.keys), keys, optimize=True)

    def evaluated(self, expr: Expr, keys: Array) -> Array:
        """An expression in the keys alone, for keys (n, L, p)."""
        places = range(1, self.length + 1)
        letters = [chi[p] if self.law.directions == 1 else chi[p, d] for p in places for d in self._directions]
        function = lambdify([letters], in_float64(expr), modules=["scipy", "numpy"])
        with np.errstate(all="ignore"):
            return np.broadcast_to(function(keys.reshape(len(keys), -1).T), len(keys)).astype(float)

    @property
    def _directions(self) -> range:
        return range(1, self.law.directions + 1)


def _values(law: Signals, length: int) -> list[tuple[dict[Expr, Expr], float]]:
    """What a signal, or those of all tokens, may be, each with its probability up to a factor."""
    if isinstance(law, Signal):
        return [(dict(zip(law.symbols, value)), float(weight)) for value, weight in law.support]
    found = []
    for chosen in itertools.product(law.support, repeat=length):
        own = {
            component[place]: number
            for place, (value, _) in enumerate(chosen, 1)
            for component, number in zip(law.components, value)
        }
        found.append((own, float(np.prod([float(weight) for _, weight in chosen]))))
    return found


def explicit(expr: Expr) -> Expr:
    """An expression with its sums and products over tokens written out; means given the keys stay as they are."""
    if isinstance(expr, (ConditionalMean, PosteriorMean)):
        return expr
    if isinstance(expr, (Sum, Product)) and len(expr.limits) == 1:
        index, low, high = expr.limits[0]
        terms = (explicit(expr.function.subs(index, place)) for place in range(int(low), int(high) + 1))
        return Add(*terms) if isinstance(expr, Sum) else Mul(*terms)
    if not expr.args or not expr.has(Sum, Product):
        return expr
    return expr.func(*(explicit(arg) for arg in expr.args))


def _matrix(covariance: Expr, length: int) -> Array:
    if covariance == ALIKE:
        return np.eye(length)
    places = range(1, length + 1)
    return np.array([[float(put_in(covariance, {l: i, m: k})) for k in places] for i in places])
