"""Laws of location, and their definition on a grid over all keys: what numbers are held against."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
from sympy import Abs, Expr, Rational, exp, sign

from symslr import Attention, Task
from symslr.expression.value import Kind, Value
from symslr.model.location import Independent
from symslr.model.location.covariance import Covariance
from symslr.model.symbols import i, j, l, x

HALF = Rational(1, 2)
CHAIN = HALF ** Abs(i - j)
EQUAL = HALF ** sign(Abs(i - j))
SIGNS = "1:1/2,-1:1/2"
VECTORS = "(1,0):1/2,(0,1):1/2"
SIGMOID = Attention(1 / (1 + exp(-x)), normaliser=None, name="sigmoid")


def task(length: int = 3, nu: object = 2, **law: Any) -> Task:
    return Task(nu=nu, length=length, noise=0, **law)


LAWS: dict[str, Callable[[], Task]] = {
    "prior": lambda: task(prior=2 ** (-l)),
    "prior in a list": lambda: task(prior=[1, 5, 2]),
    "sign": lambda: task(signal=SIGNS),
    "prior and sign": lambda: task(prior=2 ** (-l), signal=SIGNS),
    "random size": lambda: task(signal="1/2:1/3,3/2:2/3"),
    "directions and prior": lambda: task(2, signal="(1,1/2):1/4,(0,1):3/4", prior=1 / l),
    "chain": lambda: task(key_covariance=CHAIN),
    "chain, prior and sign": lambda: task(
        key_covariance=3 * Rational(-1, 3) ** Abs(i - j), prior=2 ** (-l), signal=SIGNS
    ),
    "chain of values": lambda: task(value_covariance=CHAIN),
    "chains of both": lambda: task(key_covariance=CHAIN, value_covariance=2 * HALF ** (2 * Abs(i - j)), prior=1 / l),
    "one correlation": lambda: task(key_covariance=EQUAL, value_covariance=EQUAL, prior=1 / l),
    "one correlation and sign": lambda: task(key_covariance=EQUAL, signal=SIGNS),
    "strong correlation, prior and sizes": lambda: task(
        key_covariance=2 * Rational(9, 10) ** sign(Abs(i - j)), prior=1 / l, signal="1:1/3,-2:2/3", nu=HALF
    ),
    "any covariance": lambda: task(key_covariance=exp(-((i - j) ** 2)), value_covariance=CHAIN),
    "coins": lambda: task(location="independent(1/8)"),
    "coins by position": lambda: task(location=Independent(1 / (1 + l)), signal=SIGNS),
    "coins among a chain": lambda: task(location="independent(1/3)", key_covariance=CHAIN, value_covariance=CHAIN),
    "subset": lambda: task(location="subset(2)"),
    "subset with prior and sign": lambda: task(location="subset(2)", prior=1 / l, signal=SIGNS),
    "subset among a chain": lambda: task(location="subset(2)", key_covariance=CHAIN, value_covariance=EQUAL),
    "subset of one correlation": lambda: task(location="subset(2)", key_covariance=EQUAL),
    "signs among a chain": lambda: task(location="subset(2)", signal=SIGNS, key_covariance=CHAIN, prior=1 / l),
    "vector coins of any covariance": lambda: task(
        2, location="independent(1/3)", signal="(1,1/2):1/4,(0,1):3/4", key_covariance=exp(-((i - j) ** 2))
    ),
    "all": lambda: task(location="subset(3)", value_covariance=CHAIN),
    "random length": lambda: Task(nu=2, length={2: HALF, 3: HALF}, noise=0, signal=SIGNS),
}


@cache
def law_called(name: str) -> Task:
    """One of the laws; it is made when a test first asks for it, and not while tests are collected."""
    return LAWS[name]()


@cache
def _entry_at(entry: Covariance, first: int, second: int) -> float:
    return float(entry.at(first, second))


class Brute:
    """The definition on a grid over all keys: every hidden configuration written out, posteriors by Bayes' rule on densities.

    Nothing is shared with the evaluators: covariances are read entry by entry, densities are those of Gaussian vectors.
    """

    def __init__(self, law: Task) -> None:
        length, p = int(law.length), law.signal.directions
        step, reach = (0.45, 8.5) if length * p < 4 else (0.65, 7.2)  # worst 2e-9
        weights = [float(law.prior_weight(place)) for place in range(1, length + 1)]

        def matrix(entry: Any) -> np.ndarray:
            places = range(1, length + 1)
            given = [[1.0 * (a == b) if entry is None else _entry_at(entry, a, b) for b in places] for a in places]
            return np.array(given)

        keys, self.values = matrix(law.key_covariance), matrix(law.value_covariance)
        where, size = law.location, getattr(law.location, "size", None)
        sizes = range(length + 1) if isinstance(where, Independent) else [int(size) if size is not None else 1]
        shares, means, readouts = [], [], []
        for chosen in (c for n in sizes for c in combinations(range(length), n)):
            if isinstance(where, Independent):
                coins = [float(where.probability.subs(l, place + 1)) for place in range(length)]
                chance = float(np.prod([q if place in chosen else 1 - q for place, q in enumerate(coins)]))
            else:
                chance = float(np.prod([weights[place] for place in chosen]))
            for thetas in product(law.signal.support, repeat=len(chosen)):
                mean, readout = np.zeros((length, p)), np.zeros(length)
                for place, (theta, _) in zip(chosen, thetas):
                    mean[place] = [float(t) for t in theta]
                    readout[place] = 1.0 if isinstance(where, Independent) else 1 / len(chosen)
                shares.append(chance * float(np.prod([float(s) for _, s in thetas])))
                means.append(np.sqrt(float(law.nu)) * mean)
                readouts.append(readout)
        self.shares = np.array(shares) / sum(shares)
        self.readouts = np.array(readouts)
        axis = step * np.arange(-int(reach / step), int(reach / step) + 1)
        mass = np.exp(-(axis**2) / 2) / np.exp(-(axis**2) / 2).sum()
        grid = np.stack([g.ravel() for g in np.meshgrid(*[axis] * (length * p), indexing="ij")], axis=-1)
        every = np.prod(np.stack(np.meshgrid(*[mass] * (length * p), indexing="ij"), -1).reshape(grid.shape), axis=1)
        inside = np.sum(grid**2, axis=1) < reach**2  # the corners hold less than 2e-10
        self.mass, self.noise = every[inside], grid[inside].reshape(-1, length, p)
        self.means, self.inverse = np.array(means), np.linalg.inv(keys)
        self.root = np.kron(np.linalg.cholesky(keys), np.eye(p))
        self.unroot = np.linalg.inv(self.root)
        self.whitened = self._whitened(self.means)

    def keys(self, place: int) -> np.ndarray:
        return (self.noise.reshape(len(self.noise), -1) @ self.root.T).reshape(self.noise.shape) + self.means[place]

    def _whitened(self, keys: np.ndarray) -> np.ndarray:
        """Their coordinates of covariance 1, (number, L p)."""
        return keys.reshape(len(keys), -1) @ self.unroot.T

    def posterior_mean(self, keys: np.ndarray) -> np.ndarray:
        """|w - m|^2 of whitened keys and means, less |w|^2, which all configurations share."""
        means = self.whitened
        logs = self._whitened(keys) @ means.T - np.sum(means**2, axis=1) / 2 + np.log(self.shares)
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        return (p / p.sum(axis=1, keepdims=True)) @ self.readouts

    def risk(self, predictor: Any) -> float:
        """E (r - a)^T C_v (r - a) of a predictor a(keys)."""
        total = 0.0
        for place, share in enumerate(self.shares):
            gap = self.readouts[place] - predictor(self.keys(place))
            total += share * float(self.mass @ np.sum(gap @ self.values * gap, axis=1))
        return total

    def least(self, attend: Any) -> float:
        """The risk of the best multiple of sigma(keys)."""
        own = cross = norm = 0.0
        for place, share in enumerate(self.shares):
            sigma, r = attend(self.keys(place)), self.readouts[place]
            own += share * float(r @ self.values @ r)
            cross += share * float(self.mass @ (sigma @ self.values @ r))
            norm += share * float(self.mass @ np.sum(sigma @ self.values * sigma, axis=1))
        return own - cross**2 / norm


def brute_bayes(law: Task) -> float:
    if not isinstance(law.length, Expr):
        return float(
            sum(float(share) * brute_bayes(Task(nu=2, signal=law.signal, length=n, noise=0)) for n, share in law.length)
        )
    brute = Brute(law)
    return brute.risk(brute.posterior_mean)


def agree(value: Value, known: float, tolerance: float = 0.0) -> None:
    scatter = 4.5 if value.kind is Kind.STATISTICAL else 2.0
    assert abs(float(value) - known) < scatter * float(value.error) + tolerance
