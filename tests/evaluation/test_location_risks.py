"""Risks of attentions under laws of location: the definition on a grid, samples, and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sympy import Abs, Expr, Max, Rational, cos, exp, gamma, log, sin, sqrt

from symslr import Attention, SpikedSLR, Task, evaluate, minimal_risk, softmax
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import bayes_value, least_value, risk_value
from symslr.evaluation.location.minima.search import _least_scale
from symslr.model.location import Independent
from symslr.model.location.covariance import Covariance
from symslr.model.symbols import L, i, j, l, x
from tests.evaluation.laws_of_location import (
    EQUAL,
    HALF,
    SIGMOID,
    Brute,
    agree,
    law_called,
    task,
)


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
ATTENTIONS: dict[str, tuple[Attention, Any]] = {
    "softmax": (softmax, lambda k: numpy_softmax(1.2 * k[..., 0])),
    "softmax with offset": (
        Attention(exp(x), offset=2),
        lambda k: np.exp(1.2 * k[..., 0]) / (2 + np.exp(1.2 * k[..., 0]).sum(axis=1, keepdims=True)),
    ),
    "one plus exp": (
        Attention(1 + exp(x)),
        lambda k: (1 + np.exp(1.2 * k[..., 0])) / (1 + np.exp(1.2 * k[..., 0])).sum(axis=1, keepdims=True),
    ),
    "positional bias": (
        softmax.having(bias=-l / 2),
        lambda k: numpy_softmax(1.2 * k[..., 0] - POSITIONS / 2),
    ),
    "filter": (
        softmax.having(filter=Rational(-1, 3) ** Abs(i - j)),
        lambda k: numpy_softmax(1.2 * k[..., 0] @ (-1 / 3.0) ** np.abs(POSITIONS[:, None] - POSITIONS)),
    ),
    "sigmoid": (SIGMOID, lambda k: 1 / (1 + np.exp(-1.2 * k[..., 0]))),
    "sigmoid with bias": (SIGMOID.having(bias=-l), lambda k: 1 / (1 + np.exp(-1.2 * k[..., 0] + POSITIONS))),
    "linear": (Attention(1 + x, normaliser=None), lambda k: 1 + 1.2 * k[..., 0]),
}
UNEVEN: dict[str, tuple[Attention, Any]] = {
    "sparsemax": (Attention("sparsemax"), lambda k: projected(1.2 * k[..., 0])),
    "entmax": (Attention("entmax"), lambda k: squared(1.2 * k[..., 0])),
    "top two": (
        Attention("top(2)"),
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
    value = risk_value(law_called(law), attention, Rational(6, 5), seconds=120.0)
    agree(value, Brute(law_called(law)).least(written), 1e-8)
    assert float(value.error) < 1e-7


@pytest.mark.parametrize("name", UNEVEN)
def test_selections_are_those_of_the_definition(name: str) -> None:
    """Beside plain samples: a grid meets kinks and ties, which cost digits."""
    attention, written = UNEVEN[name]
    value = risk_value(law_called("prior"), attention, Rational(6, 5), seconds=0.3)
    brute, random = Brute(law_called("prior")), np.random.default_rng(0)
    found = []
    for _ in range(8):
        brute.noise, brute.mass = random.normal(size=(20_000, 3, 1)), np.full(20_000, 1 / 20_000)
        found.append(brute.least(written))
    assert abs(float(value) - np.mean(found)) < 4.5 * (np.std(found, ddof=1) / 8**0.5 + float(value.error))
    assert np.std(found) < 0.01


def test_heads_that_come_together_are_named() -> None:
    law = task(prior=1 + l, nu=3)
    one = least_value(law, SIGMOID.having(bias=-l / 2))[0]
    two, places = least_value(law, SIGMOID.having(heads=2, separate=True, bias=-l / 2), seconds=1.0)
    assert float(two) < float(one) - 5 * float(two.error)
    assert float(places["a_1"]) == pytest.approx(float(places["a_2"]), abs=2e-3)
    assert "heads 1 and 2 come together" in two.method


def spanned(features: list[np.ndarray], tokens: np.ndarray, strength: float, length: int = 2) -> float:
    """The least risk of combinations of functions of single tokens, from their values on a grid."""
    steps = tokens[1] - tokens[0]
    relevant, other = (steps * np.exp(-((tokens - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (strength**0.5, 0.0))
    values = np.array(features)
    values /= np.linalg.norm(values, axis=1)[:, None]
    hit, gram = values @ relevant, values * (relevant + (length - 1) * other) @ values.T
    return float(1 - hit @ np.linalg.solve(gram, hit))


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("heads", [2, 3])
def test_heads_that_come_together_have_the_risk_of_the_kernel_and_its_slope(heads: int, mirrored: bool) -> None:
    """And the better of the two bottoms, which for 1/(1 + e^-x) lies at negative scales of the pair."""
    tokens = np.arange(-9.0, 12.0, 0.01)

    def sigma(a: float) -> np.ndarray:
        return 1 / (1 + np.exp(-a * tokens))

    def risk(scales: Any) -> float:
        pair = [sigma(scales[0]), tokens * sigma(scales[0]) * (1 - sigma(scales[0]))]
        return spanned([*pair, *map(sigma, scales[1:])], tokens, 4.0)

    starts = product((-2.0, -0.5, 0.5, 2.0), *[(-3.0, 3.0)] * (heads - 2))
    truth = min(minimize(risk, start, method="Nelder-Mead", options={"fatol": 1e-13}).fun for start in starts)
    kernel = SIGMOID.kernel.subs(x, -x) if mirrored else SIGMOID.kernel
    law = Task(length=2, nu=4, noise=0)
    value, places = least_value(law, Attention(kernel, normaliser=None).having(heads=heads, separate=True))
    assert abs(float(value) - truth) < float(value.error) < 2e-7
    assert "come together" in value.method
    assert min(float(place) * (-1 if mirrored else 1) for place in places.values()) < 0


@pytest.mark.parametrize(
    ("kernel", "written", "length", "strength", "near"),
    [
        (cos(x) + 3, lambda t: np.cos(t) + 3, 7, 3, (0.38, 0.39)),
        (cos(x) + 2, lambda t: np.cos(t) + 2, 12, 5, (0.255, 0.264)),
        (cos(3 * x) + 2, lambda t: np.cos(3 * t) + 2, 3, 2, (0.0, 0.283)),
        (1 / (1 + (x - 5) ** 2), lambda t: 1 / (1 + (t - 5) ** 2), 3, 40, (0.662, 0.973)),
        (exp(x), np.exp, 12, 5, (0.32, 0.33)),
        (1 + x, lambda t: 1 + t, 12, 5, (0.5, 1.0)),
    ],
    ids=lambda own: str(own) if isinstance(own, Expr) else None,
)
def test_separate_heads_that_nothing_normalises(
    kernel: Expr, written: Any, length: int, strength: int, near: tuple[float, float]
) -> None:
    """Regression: keys were drawn, or laid out on a grid, where moments of one token are enough; and searches began too far out."""
    tokens = np.arange(-15.0, 20.0, 0.005)
    truth = spanned([written(a * tokens) for a in near], tokens, float(strength), length)
    law = Task(length=length, nu=strength, noise=0)
    value, _ = least_value(law, Attention(kernel, normaliser=None).having(heads=2, separate=True))
    assert "one-token tables" in value.method
    assert -1e-4 < float(value) - truth < float(value.error) + 1e-12
    assert float(value.error) < 1e-8


@pytest.mark.parametrize("length", [3, 12])
def test_two_heads_are_no_worse_than_one(length: int) -> None:
    """Regression: 0.921 at L = 12, where one head has 11/12 at scale 0."""
    law = Task(length=length, nu=5, noise=0)
    value, _ = least_value(law, Attention(cos(x) + 2).having(heads=2))
    assert float(value) <= 1 - 1 / length + float(value.error)
    assert float(value.error) < 1e-11


def test_a_bias_that_makes_a_sigmoid_an_exponential_is_found() -> None:
    """Of a signal of either sign at nu = 4 and L = 3: with kappa = e^(a x) 1 - R is cosh^2(2 a) e^(-a^2)/(cosh(4 a) + 2)."""
    scales = np.linspace(0, 2, 2001)
    truth = np.min(1 - np.cosh(2 * scales) ** 2 * np.exp(-(scales**2)) / (np.cosh(4 * scales) + 2))
    law = Task(length=3, nu=4, noise=0, signal="1:1/2,-1:1/2")
    value, _ = least_value(law, Attention(SIGMOID.kernel, normaliser=None).having(bias="free"))
    assert abs(float(value) - truth) < 1e-6
    assert truth < 0.663


@pytest.mark.parametrize("kernel", [exp(-(x**2)), x * exp(-(x**2)), log(1 + exp(x))], ids=str)
def test_what_a_kernel_is_far_out_is_found_with_how_far_the_risk_may_still_fall(kernel: Expr) -> None:
    """Regression: 2/3 and 0.662847 with 13 digits, 0.66 +- 9e-3; as b grows exp(-(a x + b)^2) is exp(-2 a b x): the truth above."""
    scales = np.linspace(0.2, 0.4, 200_001)
    truth = np.min(1 - np.cosh(2 * scales) ** 2 * np.exp(-(scales**2)) / (np.cosh(4 * scales) + 2))
    law = Task(length=3, nu=4, noise=0, signal="1:1/2,-1:1/2")
    value, _ = least_value(law, Attention(kernel, normaliser=None).having(bias="free"))
    assert abs(float(value.value) - truth) <= float(value.error) + 1e-11
    assert float(value.error) < 1e-4


def test_no_bias_is_worse_than_a_constant_attention() -> None:
    """Regression: 0.7082; at a = 0 and b = 1 a relu is constant, whose risk is 1 - 1/L."""
    law = Task(length=3, nu=4, noise=0, signal="1:1/2,-1:1/2")
    value, _ = least_value(law, Attention(Max(x, 0), normaliser=None).having(bias="free"))
    assert float(value) <= 2 / 3 + float(value.error) < 0.667


def test_heads_with_values_of_their_own() -> None:
    """Separate heads at their best value vectors beside least squares on a grid."""
    law = law_called("sign")
    value, places = least_value(law, softmax.having(heads=2, separate=True), seconds=2.0)
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
        matched = softmax.having(bias="matched", filter="matched")
        assert float(least_value(law_called(law), matched)[0]) == pytest.approx(best, rel=1e-8)
    assert float(least_value(law_called("prior"), softmax)[0]) > float(bayes_value(law_called("prior"))) + 1e-3
    coins = law_called("coins")
    with_bias = float(least_value(coins, SIGMOID.having(bias="free"))[0])
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
    coins = Task(nu=2, noise=0, **law)
    value, places = least_value(coins, SIGMOID.having(bias="matched"))
    assert float(value) == pytest.approx(float(bayes_value(coins)), rel=1e-11)
    theta = float(coins.signal.support[0][0][0])
    assert float(places["a"]) == pytest.approx(2**0.5 * theta, rel=1e-6)


def test_the_matched_sigmoid_is_the_best_one_that_sees_single_tokens() -> None:
    """E[r_l | chi_l] = P_l w/(P_l w + 1 - P_l)/s is a multiple of it, whatever is relevant: 1 - E[that^2] by quadrature."""
    matched, axis = SIGMOID.having(bias="matched"), np.linspace(-12, 12, 4001)
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
    shifted, places = least_value(task(nu=1, key_covariance=EQUAL), softmax)
    assert float(shifted) == pytest.approx(float(bayes_value(task())), rel=1e-10)
    assert float(places["a"]) == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("bias", [1 / (l - 1), -1 / (l - 1), sqrt(l - 2), log(l - 2), exp(exp(300 * l)), -(10**13) * l])
def test_a_bias_that_is_no_number_somewhere_is_refused(bias: Expr) -> None:
    """One that is infinite at a position was taken for one that is the same at all."""
    for attention in (softmax, Attention(1 / (1 + exp(-x)), normaliser=None), Attention("sparsemax")):
        with pytest.raises(ValueError, match="at every position"):
            risk_value(task(), attention.having(bias=bias), 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("entry", [1 / Abs(i - j), sqrt(i + j - 3), exp(300 * (i + j))])
def test_a_filter_that_is_no_number_somewhere_is_refused(entry: Expr) -> None:
    with pytest.raises(ValueError, match="not a number at i=1, j="):
        risk_value(task(), softmax.having(filter=Covariance(entry, "filter")), 1)


def test_a_bias_of_special_functions() -> None:
    """(l - 1)! at three positions is 1 + (l - 1)(l - 2)/2."""
    polynomial = 1 + (l - 1) * (l - 2) / 2
    special, plain = (risk_value(task(), softmax.having(bias=bias), 1) for bias in (gamma(l), polynomial))
    assert float(special) == pytest.approx(float(plain), rel=1e-12)


def test_what_has_no_number_is_refused_in_one_line() -> None:
    with pytest.raises(CannotEvaluate, match="hidden configurations"):
        bayes_value(task(40, location="independent(1/2)", key_covariance=1 / (1 + (i - j) ** 2)))
    with pytest.raises(CannotEvaluate, match="hidden configurations"):
        least_value(task(40, location="independent(1/2)", key_covariance=1 / (1 + (i - j) ** 2)), softmax)
    with pytest.raises(ValueError, match="no value for nu"):
        bayes_value(Task(length=3, noise=0, prior=2 ** (-l)))
    with pytest.raises(ValueError, match="unknown symbol 'mu' in values; the expression has nu"):
        bayes_value(Task(length=3, noise=0), {"mu": 1})
    with pytest.raises(CannotEvaluate, match="more parameters than one scale"):
        risk_value(law_called("sign"), softmax.having(heads=2), 1)
    with pytest.raises(ValueError, match="does not change a normalised attention"):
        softmax.having(bias="free")
    with pytest.raises(ValueError, match="no normaliser that heads could share"):
        Attention("sparsemax").having(heads=2)


def test_the_deepest_valley_may_lie_between_points_of_a_grid() -> None:
    """Regression: one valley was searched, that of the grid's lowest point; here it is the shallower one of two."""

    def depth(scale: float) -> float:
        return float(1 - 0.5 * np.exp(-((scale - 1.2) ** 2)) - 0.51 * np.exp(-4 * (scale + 1.4) ** 2))

    assert _least_scale(depth, 1e-7) == pytest.approx(-1.4, abs=1e-2)


def test_a_least_risk_that_no_scale_attains_says_how_far_it_may_fall() -> None:
    """At large scales 1 + x^2 is the square, whose risk with a shift is a ratio of moments; the best constant grows as well."""
    law, shift = Task(length=2, noise=0), np.linspace(-6, 6, 120_001)
    keys = np.sqrt(2) + shift
    fourth = shift**4 + 6 * shift**2 + keys**4 + 6 * keys**2 + 6
    least = float(np.min(1 - (1 + keys**2) ** 2 / fourth))
    found, best = least_value(law, Attention(1 + x**2, normaliser=None).having(bias="free"), {"nu": 2})
    assert abs(float(found.value) - least) <= float(found.error) < 1e-3
    assert best == {}

    nodes = np.linspace(-9, 9, 361)
    first, second = np.meshgrid(nodes, nodes, indexing="ij")
    share = np.exp(-(first**2 + second**2) / 2)
    share /= share.sum()
    moments = np.zeros(2)
    for place in (0, 1):
        squares = [np.exp(l_ / 10) * (k + np.sqrt(20) * (l_ == place + 1)) ** 2 for l_, k in ((1, first), (2, second))]
        total = sum(squares)
        moments += np.sum(share * squares[place] / total), np.sum(share * sum(s**2 for s in squares) / total**2)
    least = 1 - (moments[0] / 2) ** 2 / (moments[1] / 2)
    found, best = least_value(law, Attention(1 + x**2).having(bias=l / 10), {"nu": 20})
    assert abs(float(found.value) - least) <= float(found.error) < 1e-3
    assert best["a"].value == np.inf


@pytest.mark.parametrize(
    ("task", "power"),
    [
        (
            Task(nu=2, location="subset(2)", length=4, noise=Rational(1, 2)),
            Rational(1, 2) + Rational(1, 4),
        ),
        (Task(nu=3, location="one", prior=2 ** (-l), length=5, noise=0), Rational(1)),
        (
            Task(
                nu=2,
                location="independent(1/3)",
                value_covariance=Rational(1, 2) ** Abs(i - j),
                length=3,
                noise=0,
            ),
            Rational(1) + 2 * Rational(1, 9) * (2 * Rational(1, 2) + Rational(1, 4)),
        ),
    ],
    ids=["subset", "prior", "values"],
)
@pytest.mark.parametrize("kernel", [x, x**3, sin(x)], ids=str)
def test_an_attention_that_is_nothing_leaves_the_labels(task: Task, power: Expr, kernel: Expr) -> None:
    """Regression: a kernel that vanishes at 0 was refused at the scale 0, where its risk is E r^T C_v r + Delta^2."""
    found = risk_value(task, Attention(kernel, normaliser=None, name="own"), 0)
    assert abs(float(found.value) - float(power)) <= float(found.error) < 1e-12


def test_an_attention_that_is_not_nothing_at_the_scale_zero() -> None:
    """With a bias, and for a kernel that is 1 at 0, tokens get weight: E r^T r - (E sum r)^2/L."""
    task = Task(nu=2, location="subset(2)", length=4, noise=0)
    found = risk_value(task, Attention(exp(x), normaliser=None, name="own"), 0)
    assert abs(float(found.value) - 0.25) <= float(found.error) < 1e-12


@pytest.mark.parametrize(("kernel", "place"), [(1 + x**2, 1.4587), (exp(-x), -(2**0.5))])
def test_of_an_even_kernel_the_positive_scale_is_told(kernel: Expr, place: float) -> None:
    _, places = least_value(Task(prior=l, length=5, noise=0, nu=2), Attention(kernel))
    assert float(places["a"]) == pytest.approx(place, abs=2e-3)
