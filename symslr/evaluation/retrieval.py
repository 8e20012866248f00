"""The errors of a retrieving layer predicted by single-location regression, from the moments of its scores alone.

Given the shift that they share, the scores of a query are independent Gaussians: the relevant one, those of the other keys, and
the rest, with measured means and standard deviations. No number here is fitted to an error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpmath import mpf
from scipy.special import expit, log_ndtr
from sympy import Expr, Rational, exp

from symslr.evaluation.engine import evaluate
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.retrieval import ScoreLaw
from symslr.model.scalar_law import ScalarLaw, normal
from symslr.model.symbols import a, x
from symslr.model.task import Task
from symslr.theory.population import population_risk

ELEMENT_WISE = ("linear", "sigmoid")
NODES = 201
"""Of a trapezoid rule with steps of 0.09 standard deviations, which has no error above 1e-16 for a Gaussian."""
REACH = 9.0
"""Standard deviations of the relevant score on either side that the trapezoid rule covers: the rest holds less than 1e-18."""
DRAWN = 20_000
"""Draws where no number is given: a standard error of 0.35 % at most."""
NUMBERS_AT_ONCE = 2_000_000
"""In one array: 16 MB."""
DECIMALS = 4
"""Of the moments, as they enter exact laws."""


def recall_attention(kind: str, law: ScoreLaw) -> Attention:
    """The attention of a layer as a kernel of its scores, the trained number in it.

    Raises:
        ValueError: for an unknown attention.
    """
    shift = _exactly(law.trained_shift)
    kernels: dict[str, tuple[Expr, str | None, int]] = {
        "softmax": (exp(x), "sum", 0),
        "softmax1": (exp(x), "sum", 1),
        "feature map": (exp(x), "sum", 0),
        "sigmoid": (1 / (1 + exp(-x - shift)), None, 0),
        "linear": (x + shift, None, 0),
    }
    if kind not in kernels:
        raise ValueError(f"attention: found {kind!r}; expected one of {', '.join(kernels)}")
    kernel, normaliser, offset = kernels[kind]
    return Attention(kernel, normaliser, offset, name=kind)


def recall_task(kind: str, law: ScoreLaw) -> Task:
    """The task whose key projections are the scores; other tokens are a mixture of the other keys' and the rest.

    A normalised attention does not see the shift that scores share, so spreads are those without it; for element-wise
    kernels, whose risk depends on the law of single tokens alone, they hold it.
    """
    (centre, spread), others, rest = _gaussians(kind, law)
    share = Rational(law.keys - 1, law.positions - 1)
    mixture = share * _normal(*others).density + (1 - share) * _normal(*rest).density
    relevant = _normal(centre, spread)
    return Task.from_token_laws(relevant, ScalarLaw(mixture), length=law.positions, noise=0, name="recall")


def read_error(kind: str, law: ScoreLaw) -> Value:
    """The population risk 1 - (E sigma_eps)^2 / E |sigma|^2 of the attention on the task, as it is derived for any of both."""
    return evaluate(population_risk(recall_task(kind, law), recall_attention(kind, law)), {a: 1}, digits=6)


def elsewhere(law: ScoreLaw) -> float:
    """P(another score is larger than the relevant one) = 1 - E[Phi_others(s)^(K-1) Phi_rest(s)^(rest)]."""
    (centre, spread), *groups = _gaussians("softmax", law)
    z = np.linspace(-REACH, REACH, NODES)
    counts = (law.keys - 1, law.positions - law.keys)
    below = sum(
        count * log_ndtr((centre + spread * z - mean) / width)
        for count, (mean, width) in zip(counts, groups, strict=True)
    )
    density = np.exp(-(z**2) / 2)
    return float(-(density @ np.expm1(below)) / density.sum())


def wrong(kind: str, law: ScoreLaw, values: int, *, size: int = DRAWN, seed: int = 0) -> Value:
    """P(the largest logit is not the right value's), with one standard error: scores, tokens and read-out drawn from the law.

    The logit of value w is sum_l a_l R(w, x_l), where R is its mean on a token's own value and Gaussian noise of the
    measured size elsewhere; values are uniform among ``values``.
    """
    rng = np.random.default_rng(seed)
    batch = max(1, min(size, NUMBERS_AT_ONCE // (law.positions + values)))
    failed = 0
    for start in range(0, size, batch):
        failed += _failures(kind, law, values, min(batch, size - start), rng)
    share = failed / size
    error = float(np.sqrt(max(share * (1 - share), 1 / size) / size))
    method = f"{size} draws of scores, tokens and read-out, seed {seed}"
    return Value(mpf(share), mpf(error), Kind.STATISTICAL, max(1, int(np.log10(max(share, error) / error))), method)


def _failures(kind: str, law: ScoreLaw, values: int, size: int, rng: np.random.Generator) -> int:
    (centre, spread), (mean, width), (rest_mean, rest_width) = _gaussians("softmax", law)
    shift = law.shift_spread * rng.standard_normal((size, 1)) if kind in ELEMENT_WISE else 0.0
    relevant = centre + spread * rng.standard_normal((size, 1))
    others = mean + width * rng.standard_normal((size, law.keys - 1))
    rest = rest_mean + rest_width * rng.standard_normal((size, law.positions - law.keys))
    weigh = _weigh(kind, law)
    # one factor for all weights of a sequence changes no answer: the normaliser is left out, the largest score taken off
    top = np.maximum(relevant, np.maximum(others.max(axis=1, keepdims=True), rest.max(axis=1, keepdims=True)))
    pairs = weigh(np.concatenate([relevant, others], axis=1) + shift, top)
    crowd = law.rest_read_spread**2 * (weigh(rest + shift, top) ** 2).sum(axis=1, keepdims=True)
    answers = rng.integers(values, size=pairs.shape)
    # R(w, x_l) is noise where x_l is another value than w, and the mean of its diagonal where it is w itself
    own, squares = np.zeros((size, values)), np.zeros((size, values))
    for column in range(pairs.shape[1]):
        place = np.arange(size), answers[:, column]
        own[place] += pairs[:, column]
        squares[place] += pairs[:, column] ** 2
    others_squared = np.maximum((pairs**2).sum(axis=1, keepdims=True) - squares, 0.0)
    noise = np.sqrt(crowd + law.read_spread**2 * others_squared)
    logits = law.read * own + noise * rng.standard_normal((size, values))
    return int((logits.argmax(axis=1) != answers[:, 0]).sum())


def _weigh(kind: str, law: ScoreLaw) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Unnormalised weights of scores, given the largest one."""
    if kind == "linear":
        return lambda scores, top: scores + law.trained_shift
    if kind == "sigmoid":
        return lambda scores, top: expit(scores + law.trained_shift)
    return lambda scores, top: np.exp(scores - top)


Gaussian = tuple[float, float]
"""Mean and standard deviation."""


def _gaussians(kind: str, law: ScoreLaw) -> tuple[Gaussian, Gaussian, Gaussian]:
    """Of the relevant score, of the other keys' and of the rest."""
    shift = law.shift_spread if kind in ELEMENT_WISE else 0.0
    relevant = law.relevant_spread if kind in ELEMENT_WISE else law.apart_spread
    others, rest = (float(np.hypot(spread, shift)) for spread in (law.others_spread, law.rest_spread))
    return (law.relevant, relevant), (law.others, others), (law.rest, rest)


def _normal(mean: float, spread: float) -> ScalarLaw:
    return normal(_exactly(mean), _exactly(spread) ** 2)


def _exactly(number: float) -> Rational:
    return Rational(str(round(number, DECIMALS)))
