"""Numbers of laws of location against routes of their own: the definition on grids and samples, facts, and other evaluators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from sympy import Abs, Expr, Integer, Rational, S, exp, lambdify, sign

from symslr import Attention, LocationTask, SpikedSLR, bayes_risk, evaluate, minimal_risk, softmax
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import bayes_value, least_value, risk_value
from symslr.evaluation.location.chains.bayes import chain_means
from symslr.evaluation.location.counts import inclusion
from symslr.evaluation.location.means import Part
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.posterior.configurations import configurations, enumerated
from symslr.evaluation.location.samples.points import quadrature, refined, sampled
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.pairs import pairs_means
from symslr.evaluation.location.tables.tokens import Spectrum, nodes
from symslr.expression.configuration import ConfigurationMean
from symslr.expression.value import Kind, Value
from symslr.model.configuration import ConfigurationLaw
from symslr.model.location import Independent
from symslr.model.location.attention import LocatedAttention, Selection
from symslr.model.symbols import L, chi, i, j, l, nu, x
from symslr.simulate.configurations import ConfigurationSampler, explicit
from symslr.theory.located_attention import NoClosedForm, located_attention

HALF = Rational(1, 2)
CHAIN = HALF ** Abs(i - j)
EQUAL = HALF ** sign(Abs(i - j))
SIGNS = "1:1/2,-1:1/2"
VECTORS = "(1,0):1/2,(0,1):1/2"
SIGMOID = Attention(1 / (1 + exp(-x)), normaliser=None, name="sigmoid")


def task(length: int = 3, strength: object = 2, **law: Any) -> LocationTask:
    return LocationTask(strength=strength, length=length, noise=0, **law)


LAWS: dict[str, Callable[[], LocationTask]] = {
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
        key_covariance=2 * Rational(9, 10) ** sign(Abs(i - j)), prior=1 / l, signal="1:1/3,-2:2/3", strength=HALF
    ),
    "any covariance": lambda: task(key_covariance=exp(-((i - j) ** 2)), value_covariance=CHAIN),
    "coins": lambda: task(location="independent(1/8)"),
    "coins by position": lambda: task(location=Independent(1 / (1 + l)), signal=SIGNS),
    "coins among a chain": lambda: task(location="independent(1/3)", key_covariance=CHAIN, value_covariance=CHAIN),
    "subset": lambda: task(location="subset(2)"),
    "subset with prior and sign": lambda: task(location="subset(2)", prior=1 / l, signal=SIGNS),
    "subset among a chain": lambda: task(location="subset(2)", key_covariance=CHAIN, value_covariance=EQUAL),
    "subset of one correlation": lambda: task(location="subset(2)", key_covariance=EQUAL),
    "all": lambda: task(location="subset(3)", value_covariance=CHAIN),
    "random length": lambda: LocationTask(strength=2, length={2: HALF, 3: HALF}, noise=0, signal=SIGNS),
}


@cache
def law_called(name: str) -> LocationTask:
    """One of the laws; it is made when a test first asks for it, and not while tests are collected."""
    return LAWS[name]()


class Brute:
    """The definition on a grid over all keys: every hidden configuration written out, posteriors by Bayes' rule on densities.

    Nothing is shared with the evaluators: covariances are read entry by entry, densities are those of Gaussian vectors.
    """

    def __init__(self, law: LocationTask) -> None:
        length, p = int(law.length), law.signal.directions
        step = 0.45 if length * p < 4 else 0.55
        weights = [float(law.prior_weight(place)) for place in range(1, length + 1)]

        def matrix(entry: Any) -> np.ndarray:
            places = range(1, length + 1)
            given = [[1.0 * (a == b) if entry is None else float(entry.at(a, b)) for b in places] for a in places]
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
                means.append(np.sqrt(float(law.strength)) * mean)
                readouts.append(readout)
        self.shares = np.array(shares) / sum(shares)
        self.readouts = np.array(readouts)
        self.root = np.linalg.cholesky(keys)
        axis = step * np.arange(-int(8.5 / step), int(8.5 / step) + 1)
        mass = np.exp(-(axis**2) / 2) / np.exp(-(axis**2) / 2).sum()
        grid = np.stack([g.ravel() for g in np.meshgrid(*[axis] * (length * p), indexing="ij")], axis=-1)
        self.mass = np.prod(
            np.stack(np.meshgrid(*[mass] * (length * p), indexing="ij"), -1).reshape(grid.shape), axis=1
        )
        self.noise = grid.reshape(-1, length, p)
        self.means, self.inverse = np.array(means), np.linalg.inv(keys)

    def keys(self, place: int) -> np.ndarray:
        return np.einsum("lm,nmp->nlp", self.root, self.noise) + self.means[place]

    def posterior_mean(self, keys: np.ndarray) -> np.ndarray:
        away = keys[:, None] - self.means
        logs = -np.einsum("nhlp,lm,nhmp->nh", away, self.inverse, away, optimize=True) / 2 + np.log(self.shares)
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        return (p / p.sum(axis=1, keepdims=True)) @ self.readouts

    def risk(self, predictor: Any) -> float:
        """E (r - a)^T C_v (r - a) of a predictor a(keys)."""
        total = 0.0
        for place, share in enumerate(self.shares):
            gap = self.readouts[place] - predictor(self.keys(place))
            total += share * float(self.mass @ np.einsum("nl,lm,nm->n", gap, self.values, gap))
        return total

    def least(self, attend: Any) -> float:
        """The risk of the best multiple of sigma(keys)."""
        own = cross = norm = 0.0
        for place, share in enumerate(self.shares):
            sigma, r = attend(self.keys(place)), self.readouts[place]
            own += share * float(r @ self.values @ r)
            cross += share * float(self.mass @ (sigma @ self.values @ r))
            norm += share * float(self.mass @ np.einsum("nl,lm,nm->n", sigma, self.values, sigma))
        return own - cross**2 / norm


def brute_bayes(law: LocationTask) -> float:
    if not isinstance(law.length, Expr):
        return float(
            sum(
                float(share) * brute_bayes(law.at({}).__class__(2, signal=law.signal, length=n, noise=0))
                for n, share in law.length
            )
        )
    brute = Brute(law)
    return brute.risk(brute.posterior_mean)


@pytest.mark.parametrize("name", LAWS)
def test_bayes_risks_are_those_of_the_definition_on_a_grid(name: str) -> None:
    value = bayes_value(law_called(name), seconds=1.0)
    known = brute_bayes(law_called(name))
    assert abs(float(value) - known) < 5 * float(value.error) + 1e-8
    assert value.kind is Kind.ESTIMATED
    assert value.digits >= 9 or known < 1e-12


def agree(value: Value, known: float, tolerance: float = 0.0) -> None:
    scatter = 4.5 if value.kind is Kind.STATISTICAL else 2.0
    assert abs(float(value) - known) < scatter * float(value.error) + tolerance


def test_facts() -> None:
    plain = float(evaluate(bayes_risk(SpikedSLR()), {"L": 3, "nu": 2, "Delta": 0}))
    assert float(bayes_value(task())) == pytest.approx(plain, rel=1e-12)
    assert float(bayes_value(task(strength=1, key_covariance=EQUAL))) == pytest.approx(plain, rel=1e-12)
    assert float(bayes_value(law_called("chain"))) == pytest.approx(0.217, abs=5e-4)  # values independent
    both = task(key_covariance=CHAIN, value_covariance=CHAIN)
    assert float(bayes_value(both)) == pytest.approx(0.135, abs=5e-4)  # values correlated alike
    value, places = least_value(law_called("sign"), softmax)
    assert float(value) == pytest.approx(2 / 3, abs=1e-9)
    assert abs(float(places["a"])) < 1e-3
    matched, heads = least_value(law_called("sign"), LocatedAttention(softmax, heads=2))
    assert float(matched) == pytest.approx(float(bayes_value(law_called("sign"))), rel=1e-9)
    assert sorted(float(heads[name]) for name in ("a_1", "a_2")) == pytest.approx([-(2**0.5), 2**0.5], rel=1e-3)


def test_values_go_by_symbol_or_name() -> None:
    law = LocationTask(length=3, noise=0, prior=2 ** (-l))
    assert (
        float(bayes_value(law, {"nu": 2}))
        == float(bayes_value(law, {nu: 2}))
        == float(bayes_value(law_called("prior")))
    )


def test_noise_adds_its_variance() -> None:
    noisy = LocationTask(strength=2, length=3, noise=HALF, prior=2 ** (-l))
    assert float(bayes_value(noisy)) == pytest.approx(float(bayes_value(law_called("prior"))) + 0.25, rel=1e-12)
    assert float(risk_value(noisy, softmax, 1)) == pytest.approx(
        float(risk_value(law_called("prior"), softmax, 1)) + 0.25, rel=1e-12
    )


def test_digits_and_proofs_where_tokens_are_independent() -> None:
    float64 = bayes_value(law_called("prior"))
    proved = bayes_value(law_called("prior"), digits=25, backend="arb")
    assert proved.kind is Kind.CERTIFIED
    assert proved.digits >= 25
    agree(float64, float(proved), 1e-15)
    many = bayes_value(law_called("prior and sign"), digits=25)
    agree(bayes_value(law_called("prior and sign")), float(many), 1e-15)
    with pytest.raises(CannotEvaluate, match="no formula by one-token integrals"):
        bayes_value(law_called("chain"), digits=12, backend="arb")
    with pytest.raises(CannotEvaluate, match="of 20 digits"):
        bayes_value(law_called("chain"), digits=20)


def test_many_kinds_of_positions_are_one_table() -> None:
    """The table over log u beside one integral for each of few kinds, and beside the exchangeable formula where they are alike."""
    from symslr.evaluation.location.bayes import bayes_means
    from symslr.evaluation.location.formulas import bayes_integral

    for law in (task(12, prior=1 / l, signal=SIGNS), task(8, prior=3 ** (-l))):
        formula = bayes_integral(law)
        assert formula is not None
        part = bayes_means(Setting.of(law)).part()
        assert abs(float(part.value) - float(evaluate(formula, {}))) < 1e-12
        assert part.error < 1e-12
    # a prior that all but ignores positions
    length = 10**5
    known = float(evaluate(bayes_risk(SpikedSLR()), {"L": length, "nu": 16, "Delta": 0}))
    tilted = bayes_value(task(length, 16, prior=1 + l / Integer(10) ** 14))
    agree(tilted, known, 1e-9)
    assert tilted.digits >= 11


def by_samples(law: LocationTask) -> Value:
    setting = Setting.of(law)
    left = posterior(setting)
    sample = partial(sampled, setting, lambda keys, mass: np.array([mass @ left(keys)[1]]))
    means = refined(sample, lambda row: float(row[0]), 1e-4, 3.0)
    part = means.part()
    from mpmath import mpf

    return Value(mpf(part.value), mpf(part.error), Kind.STATISTICAL, 3, means.method)


LONG = {
    "prior and sign": lambda: task(20, prior=2 ** (-l), signal=SIGNS),
    "directions": lambda: task(9, signal=VECTORS, prior=1 / l),
    "chain": lambda: task(8, key_covariance=CHAIN, value_covariance=CHAIN, prior=1 / l, signal="1:1/2,2:1/2"),
    "coins": lambda: task(30, location="independent(1/8)", signal=SIGNS),
    "one correlation and sign": lambda: task(30, 6, key_covariance=EQUAL, signal=SIGNS),
    "one correlation, sizes and prior": lambda: task(
        20, 3, key_covariance=2 * EQUAL, signal="1:1/3,2:2/3", prior=1 / l
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_sequences_agree_with_samples(name: str) -> None:
    law = LONG[name]()
    exact, sampled = bayes_value(law), by_samples(law)
    assert exact.kind is Kind.ESTIMATED
    assert exact.digits >= 10
    agree(sampled, float(exact))


def test_a_chain_is_walked_and_doubled_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from symslr.evaluation.location.chains import bayes as chain

    law = Setting.of(task(13, key_covariance=CHAIN, value_covariance=Rational(1, 3) ** Abs(i - j)))
    walked = chain_means(law)
    monkeypatch.setattr(chain, "LONGEST_WALK", 0)
    doubled = chain_means(law)
    assert walked is not None
    assert doubled is not None
    assert walked.part().value == pytest.approx(doubled.part().value, rel=1e-12)
    independent = chain_means(Setting.of(task(13)))
    assert independent is not None
    assert independent.part().value == pytest.approx(float(bayes_value(task(13))), rel=1e-11)


def test_large_subsets_stay_finite_and_sum_to_their_size() -> None:
    logs = 6 * np.random.default_rng(1).normal(size=(2, 700))
    for size in (1, 3, 350, 699):
        inside, outside = inclusion(logs, size)
        np.testing.assert_allclose(inside.sum(axis=1), size, rtol=1e-11)
        np.testing.assert_allclose(inside + outside, 1, rtol=1e-12)
    softmaxed = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(inclusion(logs, 1)[0], softmaxed, rtol=1e-9)


def numpy_softmax(scores: np.ndarray) -> np.ndarray:
    parts = np.exp(scores - scores.max(axis=1, keepdims=True))
    return parts / parts.sum(axis=1, keepdims=True)


def projected(scores: np.ndarray) -> np.ndarray:
    """sparsemax by bisection of its threshold."""
    low, high = scores.min(axis=1) - 1, scores.max(axis=1)
    for _ in range(60):
        middle = (low + high) / 2
        above = np.maximum(scores - middle[:, None], 0).sum(axis=1) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(scores - low[:, None], 0)


def squared(scores: np.ndarray) -> np.ndarray:
    """entmax at alpha = 3/2 by bisection of its threshold."""
    low, high = scores.min(axis=1) / 2 - 1, scores.max(axis=1) / 2
    for _ in range(60):
        middle = (low + high) / 2
        above = (np.maximum(scores / 2 - middle[:, None], 0) ** 2).sum(axis=1) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(scores / 2 - low[:, None], 0) ** 2


POSITIONS = np.arange(1.0, 4.0)
ATTENTIONS: dict[str, tuple[LocatedAttention, Any]] = {
    "softmax": (LocatedAttention(softmax), lambda k: numpy_softmax(1.2 * k[..., 0])),
    "softmax with offset": (
        LocatedAttention(Attention(exp(x), offset=2)),
        lambda k: np.exp(1.2 * k[..., 0]) / (2 + np.exp(1.2 * k[..., 0]).sum(axis=1, keepdims=True)),
    ),
    "one plus exp": (
        LocatedAttention(Attention(1 + exp(x))),
        lambda k: (1 + np.exp(1.2 * k[..., 0])) / (1 + np.exp(1.2 * k[..., 0])).sum(axis=1, keepdims=True),
    ),
    "positional bias": (
        LocatedAttention(softmax, bias=-l / 2),
        lambda k: numpy_softmax(1.2 * k[..., 0] - POSITIONS / 2),
    ),
    "filter": (
        LocatedAttention(softmax, filter=Rational(-1, 3) ** Abs(i - j)),
        lambda k: numpy_softmax(1.2 * k[..., 0] @ (-1 / 3.0) ** np.abs(POSITIONS[:, None] - POSITIONS)),
    ),
    "sigmoid": (LocatedAttention(SIGMOID), lambda k: 1 / (1 + np.exp(-1.2 * k[..., 0]))),
    "sigmoid with bias": (LocatedAttention(SIGMOID, bias=-l), lambda k: 1 / (1 + np.exp(-1.2 * k[..., 0] + POSITIONS))),
    "linear": (LocatedAttention(Attention(1 + x, normaliser=None)), lambda k: 1 + 1.2 * k[..., 0]),
}
UNEVEN: dict[str, tuple[LocatedAttention, Any]] = {
    "sparsemax": (LocatedAttention(Selection("sparsemax")), lambda k: projected(1.2 * k[..., 0])),
    "entmax": (LocatedAttention(Selection("entmax")), lambda k: squared(1.2 * k[..., 0])),
    "top two": (
        LocatedAttention(Selection("top", 2)),
        lambda k: numpy_softmax(np.where(k[..., 0] > k[..., 0].min(axis=1, keepdims=True), 1.2 * k[..., 0], -np.inf)),
    ),
}
RISKED = (
    "prior",
    "sign",
    "chains of both",
    "one correlation",
    "coins",
    "subset",
    "subset among a chain",
    "coins by position",
)
PAIRS = [("softmax", law) for law in RISKED] + [
    (name, law) for name in ATTENTIONS if name != "softmax" for law in ("chains of both", "coins", "subset")
]


@pytest.mark.parametrize(("name", "law"), PAIRS)
def test_risks_are_those_of_the_definition_on_a_grid(name: str, law: str) -> None:
    attention, written = ATTENTIONS[name]
    value = risk_value(law_called(law), attention, Rational(6, 5), seconds=1.0)
    agree(value, Brute(law_called(law)).least(written), 1e-8)
    assert float(value.error) < 1e-7


@pytest.mark.parametrize("name", UNEVEN)
def test_selections_are_those_of_the_definition(name: str) -> None:
    """Beside plain samples: a grid meets kinks and ties, which cost digits."""
    attention, written = UNEVEN[name]
    value = risk_value(law_called("prior"), attention, Rational(6, 5), seconds=1.0)
    brute, random = Brute(law_called("prior")), np.random.default_rng(0)
    found = []
    for _ in range(8):
        brute.noise, brute.mass = random.normal(size=(20_000, 3, 1)), np.full(20_000, 1 / 20_000)
        found.append(brute.least(written))
    assert abs(float(value) - np.mean(found)) < 4.5 * (np.std(found, ddof=1) / 8**0.5 + float(value.error))
    assert np.std(found) < 0.01


def test_heads_with_values_of_their_own() -> None:
    """Separate heads at their best value vectors beside least squares on a grid."""
    law = law_called("sign")
    value, places = least_value(law, LocatedAttention(softmax, heads=2, separate=True), seconds=2.0)
    brute = Brute(law)
    scales = [float(places[name]) for name in ("a_1", "a_2")]
    own, cross, gram = 0.0, np.zeros(2), np.zeros((2, 2))
    for place, share in enumerate(brute.shares):
        keys, r = brute.keys(place)[..., 0], brute.readouts[place]
        heads = [numpy_softmax(a * keys) for a in scales]
        own += share
        cross += share * np.array([brute.mass @ (head @ r) for head in heads])
        gram += share * np.array([[brute.mass @ np.sum(one * two, axis=1) for one in heads] for two in heads])
    assert float(value) == pytest.approx(own - cross @ np.linalg.solve(gram, cross), abs=1e-5)
    assert float(bayes_value(law)) < float(value) < 2 / 3


def test_what_is_matched_is_optimal_and_the_rest_is_not() -> None:
    for law in ("prior", "chain"):
        best = float(bayes_value(law_called(law)))
        matched = LocatedAttention(softmax, bias="matched", filter="matched")
        assert float(least_value(law_called(law), matched)[0]) == pytest.approx(best, rel=1e-8)
        assert float(least_value(law_called(law), softmax)[0]) > best + 1e-3
    coins = law_called("coins")
    with_bias = float(least_value(coins, LocatedAttention(SIGMOID, bias="free"))[0])
    assert with_bias == pytest.approx(float(bayes_value(coins)), rel=1e-6)
    assert float(least_value(coins, SIGMOID)[0]) > with_bias + 1e-4


@pytest.mark.parametrize(
    "law",
    [
        {"length": 20, "location": "independent(1/8)", "signal": {Rational(3, 2): 1}},
        {"length": 7, "location": Independent(1 / (1 + l))},
        {"length": {3: HALF, 9: HALF}, "location": Independent(1 / (2 * L))},
    ],
)
def test_the_matched_sigmoid_is_the_posterior_of_coins(law: dict[str, Any]) -> None:
    coins = LocationTask(strength=2, noise=0, **law)
    value, places = least_value(coins, LocatedAttention(SIGMOID, bias="matched"))
    assert float(value) == pytest.approx(float(bayes_value(coins)), rel=1e-11)
    theta = float(coins.signal.support[0][0][0])
    assert float(places["a"]) == pytest.approx(2**0.5 * theta, rel=1e-6)


def test_the_matched_sigmoid_is_the_best_one_that_sees_single_tokens() -> None:
    """E[r_l | chi_l] = P_l w/(P_l w + 1 - P_l)/s is a multiple of it, whatever is relevant: 1 - E[that^2] by quadrature."""
    matched, axis = LocatedAttention(SIGMOID, bias="matched"), np.linspace(-12, 12, 4001)
    mass = np.exp(-(axis**2) / 2) / np.exp(-(axis**2) / 2).sum()
    for law, chances in (
        (task(4, location="subset(3)"), [0.75] * 4),
        (task(3, prior=[1, 5, 2]), [1 / 8, 5 / 8, 1 / 4]),
    ):
        size, left = getattr(law.location, "size", 1), 0.0
        for chance in chances:
            logits = 2**0.5 * (axis + 2**0.5) - 1 + np.log(chance / (1 - chance))
            left += chance * float(mass @ (1 / (1 + np.exp(logits)))) / float(size) ** 2
        assert float(least_value(law, matched)[0]) == pytest.approx(left, rel=1e-10)
    with pytest.raises(CannotEvaluate, match="every position is relevant"):
        least_value(task(3, location="subset(3)"), matched)


def test_a_plain_attention_on_a_plain_law_is_the_task_it_reduces_to() -> None:
    known = evaluate(minimal_risk(SpikedSLR(), Attention(1 + x, normaliser=None)), {"L": 3, "nu": 2, "Delta": 0})
    assert float(least_value(task(), Attention(1 + x, normaliser=None))[0]) == pytest.approx(float(known), rel=1e-10)
    shifted, places = least_value(task(strength=1, key_covariance=EQUAL), softmax)
    assert float(shifted) == pytest.approx(float(bayes_value(task())), rel=1e-10)
    assert float(places["a"]) == pytest.approx(2.0, rel=1e-3)


def _means_summed(weight: Expr) -> Expr:
    """Means over configurations written out, one term for each."""

    def summed(node: ConfigurationMean) -> Expr:
        drawn = ConfigurationSampler.of(ConfigurationLaw(node.prior, S.One))
        body = explicit(node.body)
        return sum((share * drawn.given(h, body) for h, share in enumerate(drawn.shares)), S.Zero)

    return weight.replace(lambda node: isinstance(node, ConfigurationMean), summed)


def test_signals_of_their_own_among_correlated_keys_have_no_formula() -> None:
    with pytest.raises(NoClosedForm, match="all configurations and signals"):
        located_attention(task(location="subset(2)", signal=SIGNS, key_covariance=CHAIN))


@pytest.mark.parametrize("name", LAWS)
def test_formulas_are_the_posterior(name: str) -> None:
    """The printed formula, read as numbers, beside Bayes' rule on densities."""
    law = law_called(name)
    if not isinstance(law.length, Expr):
        assert located_attention(law).weight == located_attention(replace(law, length=L)).weight
        return
    found, length, p = located_attention(law), int(law.length), law.signal.directions
    symbols = [chi[place] if p == 1 else chi[place, d + 1] for place in range(1, length + 1) for d in range(p)]
    numbers = np.random.default_rng(3).normal(size=(5, length, p))
    brute = Brute(law)
    known = brute.posterior_mean(numbers)
    inverse = brute.inverse
    for place in range(1, length + 1):
        at = _means_summed(found.weight.subs({l: place, L: length})).doit()
        named = {item: inverse[int(item.indices[0]) - 1, int(item.indices[1]) - 1] for item in _indexed(at, "K")}
        named |= {item: float(law.prior[int(item.indices[0]) - 1]) for item in _indexed(at, "pi")}  # type: ignore[index]
        away = {item: S.Zero for item in _indexed(at, "chi") if item not in symbols}
        function = lambdify(symbols, at.subs({**named, **away}), "numpy")
        mine = [float(function(*sequence.ravel())) for sequence in numbers]
        np.testing.assert_allclose(mine, known[:, place - 1], rtol=1e-9)


def _indexed(expr: Expr, base: str) -> list[Any]:
    from sympy import Indexed

    return [item for item in expr.atoms(Indexed) if str(item.base) == base]


def test_a_quadrature_and_samples_know_their_error() -> None:
    law = Setting.of(law_called("chains of both"))
    left = posterior(law)

    def integrand(keys: Any, mass: Any) -> Any:
        return np.array([mass @ left(keys)[1]])

    part = quadrature(law, integrand).part()
    assert abs(part.value - brute_bayes(law_called("chains of both"))) < 1e-8
    assert 0 < part.error < 1e-6
    means = refined(partial(sampled, law, integrand), lambda row: float(row[0]), 1e-3, 2.0)
    found = means.part()
    assert found.kind is Kind.STATISTICAL
    assert abs(found.value - part.value) < 4.5 * found.error
    assert found.error < 1e-3 * part.value


def test_one_position_is_always_found() -> None:
    for law in (
        task(1, prior=1 / l),
        task(1, key_covariance=CHAIN, value_covariance=CHAIN),
        task(1, location="subset(1)"),
    ):
        assert float(bayes_value(law)) == pytest.approx(0, abs=1e-14)
        assert float(risk_value(law, softmax, 1)) == pytest.approx(0, abs=1e-14)


def test_no_signal_leaves_the_prior() -> None:
    shares = np.array([1, 1 / 2, 1 / 3]) / (1 + 1 / 2 + 1 / 3)
    for law in (task(strength=0, prior=1 / l), task(strength=0, prior=1 / l, key_covariance=CHAIN)):
        assert float(bayes_value(law)) == pytest.approx(1 - np.sum(shares**2), rel=1e-12)


def test_rare_errors_are_no_samples_business() -> None:
    with pytest.raises(CannotEvaluate, match="so few sequences carry it"):
        bayes_value(task(5, 100, key_covariance=CHAIN), seconds=0.2)


def test_what_has_no_number_is_refused_in_one_line() -> None:
    with pytest.raises(CannotEvaluate, match="hidden configurations"):
        bayes_value(task(40, location="independent(1/2)", key_covariance=1 / (1 + (i - j) ** 2)))
    with pytest.raises(CannotEvaluate, match="hidden configurations"):
        least_value(task(40, location="independent(1/2)", key_covariance=1 / (1 + (i - j) ** 2)), softmax)
    with pytest.raises(ValueError, match="no value for nu"):
        bayes_value(LocationTask(length=3, noise=0, prior=2 ** (-l)))
    with pytest.raises(ValueError, match="found a value for mu; its symbols: nu"):
        bayes_value(LocationTask(length=3, noise=0), {"mu": 1})
    with pytest.raises(CannotEvaluate, match="more parameters than one scale"):
        risk_value(law_called("sign"), LocatedAttention(softmax, heads=2), 1)
    with pytest.raises(ValueError, match="does not change a normalised attention"):
        LocatedAttention(softmax, bias="free")
    with pytest.raises(ValueError, match="no normaliser that heads could share"):
        LocatedAttention(Selection("sparsemax"), heads=2)


def test_a_table_of_moments_is_the_sum_over_tokens() -> None:
    """Masses spread over a grid of log kappa against sums over the tokens themselves, far below and above u kappa = 1."""
    setting = Setting.of(task(3, 4, signal=VECTORS))
    found = nodes(setting, 0.3)
    log_kernel = np.where(found.keys[:, 0] > 2, -np.inf, 3 * found.keys[:, 0] - found.keys[:, 1])
    for step in (1 / 3, 1 / 16):
        made = Spectrum.of(found, log_kernel, step).table(int(-60 / step), int(80 / step))
        size = np.exp(np.minimum(made.logs[:, None] + log_kernel, 700.0))
        for masses, moments, log_left in (
            (found.others, made.others, made.log_others),
            (found.relevant, made.relevant, made.log_relevant),
        ):
            sums = [(size**power * np.exp(-size)) @ masses for power in range(3)]
            assert np.max(np.abs(moments - sums)) < 2e-14
            gone = -np.expm1(-size) @ masses
            few = gone < 0.4
            assert np.max(np.abs(log_left[few] / np.log1p(-gone[few]) - 1)) < 1e-12


@pytest.mark.parametrize(
    "law",
    [
        {"location": "subset(2)"},
        {"location": "subset(3)", "signal": SIGNS, "prior": 1 / l},
        {"location": "independent(1/(2+l))", "signal": "1:1/3,-2:2/3"},
        {"location": "subset(2)", "signal": "(1,0):1/2,(1/2,1):1/2"},
    ],
)
def test_a_chain_with_several_relevant_tokens_is_summed_along_it(law: dict[str, Any]) -> None:
    """Sums forwards and backwards against all configurations, one after the other."""
    setting = Setting.of(task(5, 3, key_covariance=2 * Rational(-1, 3) ** Abs(i - j), **law))
    keys = 2 * np.random.default_rng(1).standard_normal((40, 5, setting.directions))
    mean, left = posterior(setting)(keys)
    expected = enumerated(setting, configurations(setting), keys)
    assert mean == pytest.approx(expected[0], abs=1e-13)
    assert left == pytest.approx(expected[1], abs=1e-13)


def test_a_long_chain_with_two_relevant_tokens_agrees_with_samples() -> None:
    law = task(60, 10, location="subset(2)", key_covariance=CHAIN)
    setting, rng = Setting.of(law), np.random.default_rng(5)
    found = bayes_value(law, seconds=2.0)
    root, count = np.linalg.cholesky(setting.key_matrix), 4000
    relevant = np.argsort(rng.random((count, 60)), axis=1) < 2
    keys = rng.standard_normal((count, 60)) @ root.T + np.sqrt(10) * relevant
    loss = np.sum((relevant / 2 - posterior(setting)(keys[..., None])[0]) ** 2, axis=1)
    spread = np.hypot(loss.std() / np.sqrt(count), float(found.error))
    assert abs(loss.mean() - float(found.value)) < 4 * spread


def by_all_keys(setting: Setting) -> Part:
    """The Bayes risk by a rule over all keys, under every hidden configuration or, where all are alike, under one."""
    left = posterior(setting)
    return quadrature(setting, lambda keys, mass: np.array([mass @ left(keys)[1]])).part()


def test_two_of_many_by_integrals_below_the_largest_weight() -> None:
    """Against a rule over all four keys, one of three that is missing, samples of a long sequence, and its own error."""
    uneven = {"location": "subset(2)", "signal": "1:1/3,-2:2/3"}
    for law in (
        task(4, 4, location="subset(2)"),
        task(3, 2, location="subset(2)", signal=SIGNS),
        task(3, 1, **uneven),
    ):
        found, known = by_pairs(law), by_all_keys(Setting.of(law))
        assert abs(found.value - known.value) < known.error + found.error + 1e-11
        assert found.error < 1e-11 * found.value
    missing = float(bayes_value(task(3, 4)).value) / 4
    found = by_pairs(task(3, 4, location="subset(2)"))
    assert abs(found.value - missing) < found.error
    assert float(bayes_value(task(3, 4, location="subset(2)")).value) == pytest.approx(missing, rel=1e-13)
    for law in (task(40, 8, location="subset(2)"), task(25, 4, **uneven)):
        found, samples = by_pairs(law), by_samples(law)
        assert found.error < 1e-11 * found.value
        agree(samples, found.value)


def by_pairs(law: LocationTask) -> Part:
    found = pairs_means(Setting.of(law))
    assert found is not None
    return found.part()


def test_the_irrelevant_positions_are_sought_where_they_are_fewer() -> None:
    """Against the route that does not know it."""
    law = task(3, 3, location="subset(2)", prior=1 / l)
    found = bayes_value(law)
    setting = Setting.of(law)
    known = by_all_keys(setting)
    assert abs(float(found.value) - known.value) < known.error + 1e-11
    assert found.digits >= 12
    assert bayes_value(task(3, 3, location="subset(3)")).value == 0
