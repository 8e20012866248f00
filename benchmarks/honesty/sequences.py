"""Risks from the definition, sequence by sequence: on a product mesh over up to three tokens, or over drawn sequences.

Nothing is imported from the library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, fsum, log, sqrt
from typing import Any

import numpy as np
from mpmath import cholesky, inverse, matrix, mp, mpf

from .by_hand import NoJudgement, Question, is_algebraic

Array = np.ndarray[Any, np.dtype[Any]]

MOST_NODES = 1_500_000
"""Of a product mesh."""
DRAWN = 2_000_000
"""Tokens that are drawn, and that are held at once."""
LONGEST = 50_000
"""Tokens of a sequence of which the fewest are drawn."""
MOST_DRAWN = 50_000
"""Sequences that are drawn."""
FEWEST = 400
"""Sequences from which a standard error is believed."""
CONFIGURATIONS = 2_000
"""Hidden configurations that are enumerated."""
NATS = 43.0
"""Of a long double."""
LOOKS, ELSEWHERE = 40_001, 7.3
"""Places of one key at which an attention's weight is looked at, and where the others lie meanwhile."""
ROUNDED = 2e-18
"""Of a sum over a mesh in long doubles, which have 64 bits: their terms are added in pairs."""


@dataclass(frozen=True)
class Located:
    """A law of location at one length.

    Attributes:
        size: tokens that are relevant at once; 0 for independent coins.
        prior: weights of the positions, or the probabilities of the coins.
        signals: (theta, probability), theta a tuple with one number per direction.
        covariance: rows of that of the keys over the positions; None for the identity.
        strength: nu.
        weights: of an attention, from keys (sequences, L); None for the Bayes risk.
    """

    size: int
    prior: tuple[Fraction, ...]
    signals: tuple[tuple[tuple[Fraction, ...], Fraction], ...]
    covariance: tuple[tuple[Fraction, ...], ...] | None
    strength: Fraction
    weights: Callable[[Array], Array] | None = None

    @property
    def length(self) -> int:
        return len(self.prior)

    def configurations(self) -> list[tuple[Any, Array, Array]]:
        """(probability, read-out over the positions, mean of the keys without noise over sqrt(nu)).

        Raises:
            NoJudgement: where there are too many.
        """
        directions = len(self.signals[0][0])
        sizes = [self.size] if self.size else range(self.length + 1)
        if sum(comb(self.length, s) * len(self.signals) ** s for s in sizes) > CONFIGURATIONS:
            raise NoJudgement("too many configurations")
        found = []
        prior, signals = (
            [long(p) for p in self.prior],
            [(tuple(map(long, theta)), long(p)) for theta, p in self.signals],
        )
        for size in sizes:
            for places in combinations(range(self.length), size):
                for chosen in product(signals, repeat=size):
                    weight = np.longdouble(1)
                    read = np.zeros(self.length, dtype=np.longdouble)
                    means = np.zeros((self.length, directions), dtype=np.longdouble)
                    for place, (theta, p) in zip(places, chosen):
                        weight *= p * prior[place]
                        read[place], means[place] = 1 / np.longdouble(size if self.size else 1), theta
                    if not self.size:
                        weight *= np.prod([1 - prior[l] for l in range(self.length) if l not in places])
                    found.append((weight, read, means))
        total = sum(weight for weight, _, _ in found)
        return [(weight / total, read, means) for weight, read, means in found]

    def unlike(self) -> list[tuple[Any, Array, Array]]:
        """The same up to the order of the tokens, which says nothing to an attention where keys are independent."""
        found: dict[Any, tuple[Any, Array, Array]] = {}
        for p, read, means in self.configurations():
            order = tuple(sorted((one, *mean) for one, mean in zip(read, means)))
            found[order] = found.get(order, (0, 0, 0))[0] + p, read, means
        return list(found.values())

    def read_out(self) -> Any:
        """E |r|^2, from which an attention takes what it gains."""
        return sum(p * (read @ read) for p, read, _ in self.configurations())

    def correlated(self) -> tuple[Array, Array]:
        """A root of the covariance, and its inverse."""
        if self.covariance is None:
            return np.eye(self.length, dtype=np.longdouble), np.eye(self.length, dtype=np.longdouble)
        with mp.workdps(40):
            exact = matrix([[mpf(x.numerator) / x.denominator for x in row] for row in self.covariance])
            return _rows(cholesky(exact)), _rows(inverse(exact))

    def rounding(self, risk: Any) -> float:
        """Of a risk on a mesh; an attention's is what is left of E |r|^2."""
        return float(ROUNDED * (abs(risk) if self.weights is None else self.read_out()))


def long(number: Fraction) -> Any:
    """The nearest long double."""
    return np.longdouble(number.numerator) / np.longdouble(number.denominator)


def _rows(found: Any) -> Array:
    return np.array([[np.longdouble(mp.nstr(x, 25)) for x in found[i, :]] for i in range(found.rows)])


def weights(log_kernel: Callable[[Array], Array], is_normalised: bool, offset: int, keys: Array) -> Array:
    """kappa over its sum and an offset, from log kappa; or kappa as it stands."""
    found = np.asarray(log_kernel(keys))
    if is_normalised:
        top = np.maximum(found.max(axis=1, keepdims=True), 0 if offset else -np.inf)
        found = np.exp(found - top)
        found /= (offset * np.exp(-top) if offset else 0) + found.sum(axis=1, keepdims=True)
    return found


def losses(law: Located, keys: Array) -> Callable[[], tuple[Array, Array]]:
    """At given keys (sequences, L, p): the likelihood ratio to no signal, and the variance of the read-out that is left."""
    inverted, nu = law.correlated()[1], long(law.strength)

    def found() -> tuple[Array, Array]:
        evidence = np.zeros(len(keys), dtype=keys.dtype)
        first = np.zeros((len(keys), law.length), dtype=keys.dtype)
        second = np.zeros(len(keys), dtype=keys.dtype)
        for p, read, means in law.configurations():
            pulled = inverted @ means
            towards = np.einsum("nlp,lp->n", keys, (np.sqrt(nu) * pulled).astype(keys.dtype))
            weight = p.astype(keys.dtype) * np.exp(towards - (nu / 2 * np.sum(means * pulled)).astype(keys.dtype))
            evidence += weight
            first += weight[:, None] * read
            second += weight * np.sum(read * read)
        return evidence, second / evidence - np.sum((first / evidence[:, None]) ** 2, axis=1)

    return found


def on_a_mesh(law: Located, step: float) -> Any:
    """The risk without noise by the trapezoid rule over all tokens.

    Raises:
        NoJudgement: where it would have too many nodes.
    """
    directions = len(law.signals[0][0])
    axes = law.length * directions
    if axes > 3:
        raise NoJudgement("more than three variables")
    root = law.correlated()[0]
    reach = sqrt(2 * NATS)
    if law.weights is None:  # where the likelihood ratio is large, too
        largest = max(abs(x) for theta, _ in law.signals for x in theta)
        reach += sqrt(law.strength) * largest * float(np.abs(np.linalg.inv(root.astype(float))).max())
    count = ceil(reach / step)
    if (2 * count + 1) ** axes > MOST_NODES:
        raise NoJudgement(f"a mesh of {2 * count + 1}^{axes} nodes")
    places = np.arange(-count, count + 1, dtype=np.longdouble) * step
    mass = np.exp(-places * places / 2)
    mass = mass / mass.sum()
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*[places] * axes, indexing="ij")], axis=1)
    along, mass = mass, np.ones(1, dtype=np.longdouble)
    for _ in range(axes):
        mass = np.multiply.outer(mass, along).ravel()
    nodes = nodes.reshape(len(nodes), law.length, directions)
    noise = np.einsum("kl,nlp->nkp", root, nodes)
    if law.weights is None:
        evidence, left = losses(law, noise)()
        return np.sum(mass * evidence * left)
    hit = norm = np.longdouble(0)
    for p, read, means in law.unlike() if law.covariance is None else law.configurations():
        seen = law.weights((noise + np.sqrt(long(law.strength)) * means)[:, :, 0])
        hit, norm = hit + p * np.sum(mass * (seen @ read)), norm + p * np.sum(mass * np.sum(seen * seen, axis=1))
    return law.read_out() - hit * hit / norm


def drawn(law: Located, rng: np.random.Generator) -> tuple[float, float]:
    """(the risk without noise over drawn sequences, its standard error).

    Raises:
        NoJudgement: where the sets of relevant tokens are not drawn: two of unlike weights, or three.
    """
    count = min(MOST_DRAWN, DRAWN // law.length)
    if law.size == 1:
        places = rng.choice(law.length, size=(count, 1), p=[float(p / sum(law.prior)) for p in law.prior])
    elif law.size == 2 and len(set(law.prior)) == 1:
        places = rng.integers(law.length - np.arange(2), size=(count, 2))
        places[:, 1] += places[:, 1] >= places[:, 0]
    elif law.size:
        raise NoJudgement("sets of several tokens of unlike weights")
    relevant = np.zeros((count, law.length), dtype=bool)
    if law.size:
        np.put_along_axis(relevant, places, True, axis=1)
    else:
        relevant = rng.random(relevant.shape) < [float(p) for p in law.prior]
    thetas, chances = zip(*law.signals)
    chosen = rng.choice(len(thetas), size=relevant.shape, p=[float(p) for p in chances])
    means = np.array(thetas, dtype=float)[chosen] * relevant[:, :, None]
    noise = rng.standard_normal(means.shape)
    if law.covariance is not None:
        noise = np.einsum("kl,nlp->nkp", law.correlated()[0].astype(float), noise)
    keys = noise + sqrt(law.strength) * means
    if law.weights is None:
        left = losses(law, keys)()[1] if law.covariance is not None else _left(law, keys)
        return float(left.mean()), float(left.std() / sqrt(count))
    seen, reads = law.weights(keys[:, :, 0]), relevant / max(law.size, 1)
    first, second = np.sum(reads * seen, axis=1), np.sum(seen * seen, axis=1)
    lost, error = _of_a_ratio(np.array([first.mean(), second.mean()]), np.cov(first, second) / count)
    norm = 1 / law.size if law.size else float(sum(law.prior))  # E |r|^2
    return norm - 1 + lost, error


def _left(law: Located, keys: Array) -> Array:
    """The variance of the read-out that is left of independent keys, from the likelihood ratio of every token alone."""
    nu, prior = float(law.strength), np.array([float(p) for p in law.prior])
    ratio = np.zeros(keys.shape[:2])
    for theta, p in law.signals:
        mean = sqrt(nu) * np.array(theta, dtype=float)
        ratio += float(p) * np.exp(keys @ mean - mean @ mean / 2)
    ratio *= prior
    if not law.size:
        chance = ratio / (1 - prior + ratio)
        return np.sum(chance * (1 - chance), axis=1)
    if law.size == 2:  # times the sum of the others
        top = ratio.argmax(axis=1)[:, None]
        others = ratio.copy()
        np.put_along_axis(others, top, 0, axis=1)
        rest = ratio.sum(axis=1, keepdims=True) - ratio
        np.put_along_axis(rest, top, others.sum(axis=1, keepdims=True), axis=1)
        ratio *= rest
    chance = ratio / ratio.sum(axis=1, keepdims=True)
    return 1 / law.size - np.sum(chance * chance, axis=1)


def _of_a_ratio(means: Array, covariance: Array) -> tuple[float, float]:
    """(1 - m^2/n, its standard error) of estimates of m and n and their covariance."""
    mean, norm = means
    slope = np.array([-2 * mean / norm, mean**2 / norm**2])
    return float(1 - mean**2 / norm), float(sqrt(slope @ covariance @ slope))


def attention_drawn(questions: list[tuple[float, Question]], rng: np.random.Generator) -> tuple[float, float]:
    """(1 - (E w_eps)^2 / E sum w^2, or the Bayes risk, its standard error) over drawn sequences of every length.

    Raises:
        NoJudgement: where they are too long to draw many.
    """
    means, covariance = np.zeros(2), np.zeros((2, 2))
    for share, question in questions:
        first, second = _drawn_weights(question, rng)
        means += share * np.array([first.mean(), second.mean()])
        covariance += share**2 * np.cov(first, second) / len(first)
    if questions[0][1].is_bayes:
        return float(1 - means[1]), float(sqrt(covariance[1, 1]))
    return _of_a_ratio(means, covariance)


def _drawn_weights(question: Question, rng: np.random.Generator) -> tuple[Array, Array]:
    """The weight of the relevant token, and the sum of all squares, of drawn sequences."""
    if question.length > LONGEST:
        raise NoJudgement("too few sequences can be drawn")
    count = max(FEWEST, min(MOST_DRAWN, DRAWN // question.length))
    found = []
    while count > 0:
        found.append(_drawn_at_once(question, min(count, DRAWN // question.length), rng))
        count -= len(found[-1][0])
    first, second = zip(*found)
    return np.concatenate(first), np.concatenate(second)


def _drawn_at_once(question: Question, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    draw, mean = question.drawn or (np.random.Generator.standard_normal, sqrt(question.signal or 0))
    keys = draw(rng, (count, question.length))
    if question.signal is not None:
        keys[:, 0] += mean
        own = np.zeros_like(keys)
        own[:, 0] = 1
    else:
        own = float(question.rate) * keys
        own = np.exp(own - own.max(axis=1, keepdims=True))
        own /= own.sum(axis=1, keepdims=True)
    seen = weights(question.kernel, question.is_normalised, question.offset, keys)
    return np.sum(own * seen, axis=1), np.sum(seen * seen, axis=1)


def _narrowest(law: Located) -> float:
    """About the width of what is narrowest in an attention's weight as a function of one key: two meshes might both miss it."""
    if law.weights is None:
        return float("inf")
    reach = sqrt(2 * NATS) + sqrt(law.strength) * max(abs(x) for theta, _ in law.signals for x in theta)
    places = np.linspace(-float(reach), float(reach), LOOKS)
    keys = np.full((LOOKS, law.length), ELSEWHERE)
    keys[:, 0] = places
    seen = np.asarray(law.weights(keys), dtype=float)[:, 0]
    steepest = np.max(np.abs(np.diff(seen))) / (places[1] - places[0])
    return float(np.ptp(seen) / steepest) if steepest > 0 else float("inf")


def refined(law: Located, wanted: float) -> tuple[Any, float, float]:
    """(the risk on ever finer meshes, the last difference, the larger of the last two); one of a kink may be small by chance.

    It ends where the last is ``wanted``, the mesh too large, or the differences fall as those of a kink.
    Coins without correlations are taken one by one for the Bayes risk.
    """
    if law.size == 0 and law.covariance is None and law.length > 1 and law.weights is None:
        parts = {p: refined(replace(law, prior=(p,)), wanted / law.length) for p in set(law.prior)}
        counted = [(law.prior.count(p), *part) for p, part in parts.items()]
        value = sum(n * np.longdouble(value) for n, value, *_ in counted)
        return value, fsum(n * error for n, _, error, _ in counted), fsum(n * error for n, *_, error in counted)
    if law.weights is None and law.size == law.length:  # every token is relevant
        return np.longdouble(0), 0.0, 0.0
    steepest = sqrt(law.strength) * max(sqrt(sum(x * x for x in theta)) for theta, _ in law.signals)
    step = min(0.6, 2.2 / max(steepest, 0.5) / log(10), 0.5 * _narrowest(law))
    before, found = on_a_mesh(law, step / 0.75), on_a_mesh(law, step)
    differences = [float(abs(found - before))]
    while differences[-1] > wanted and not is_algebraic(differences):
        step *= 0.75
        try:
            before, found = found, on_a_mesh(law, step)
        except NoJudgement:
            break
        differences.append(float(abs(found - before)))
    rounding = law.rounding(found)
    return found, differences[-1] + rounding, max(differences[-2:]) + rounding
