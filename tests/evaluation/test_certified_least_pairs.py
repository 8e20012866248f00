"""Certified least risks over two Laplace variables: of max-SLR under any attention."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from sympy import Expr, Integer, Rational, Symbol, erf, exp, log, pi, sqrt

from symslr import evaluate, minimise
from symslr.evaluation import least_risk
from symslr.evaluation.certified.analytic import plane
from symslr.evaluation.certified.analytic.line import Line
from symslr.evaluation.certified.analytic.plane import PlaneTransform
from symslr.evaluation.certified.least.arrays import FloatBalls, PowerSeries
from symslr.evaluation.certified.least.model import ExpressionInScale
from symslr.evaluation.certified.least.plane import PlaneSums, PlaneTransformInScale
from symslr.evaluation.certified.outer import Integrand
from symslr.evaluation.numbers.balls import from_mpf
from symslr.evaluation.numbers.elementary import Between
from symslr.evaluation.plan import canonical
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, softmax1, softplus
from symslr.model.symbols import a, nu, x
from symslr.theory import population_risk

TASK = MaxSLR(length=2, noise=0)
z = Symbol("z")
GAUSSIAN = exp(-(z**2) / 2) / sqrt(2 * pi)
LOW, HIGH = 1.0, 1.0625


@cache
def certified(kernel: Expr, scale: Rational) -> Value:
    """The risk at a single scale."""
    return evaluate(population_risk(TASK, Attention(kernel)), {"nu": 2, "a": scale}, 16, "arb")


@pytest.mark.parametrize("kernel", [log(1 + exp(x)), 1 + x**4, erf(x) + Rational(3, 2)], ids=str)
@pytest.mark.parametrize("nats", [12.0, 30.0])
def test_a_model_holds_the_risk_on_its_interval_and_is_sharp(kernel: Expr, nats: float) -> None:
    """Against certified values at single scales, in floats and beyond; without its last coefficient the model misses."""
    risk = population_risk(TASK, Attention(kernel))
    with ctx.workprec(200):
        model = ExpressionInScale(canonical(risk), {nu: Integer(2)}, a, LOW, HIGH).model(
            (LOW + HIGH) / 2, (HIGH - LOW) / 2, nats, 3, 2
        )
        for t in (Rational(-1, 32), Rational(1, 64), Rational(1, 32)):
            found = certified(kernel, Rational(33, 32) + t)
            truth, at = from_mpf(found.value, found.error), arb(t.p) / t.q
            assert (model.polynomial(at) + model.rest).overlaps(truth)
            assert (model.polynomial(at) + model.rest).rad() < 1e-2
        cut = sum(own * at**k for k, own in enumerate(model.polynomial.coeffs()[:-1])) + model.rest
        assert not cut.overlaps(truth) or nats < 30


SCALE = Between("s", arb(LOW).union(arb(HIGH)))
PAIRS = [((log(1 + exp(SCALE * z)), exp(2 * z)), (1, 1)), ((1 + (SCALE * z) ** 2, exp(z)), (2, 3))]
"""Kernels, and copies of the two factors."""


def made(
    kernels: tuple[Expr, ...], copies: tuple[int, ...], nats: float, goal: float
) -> tuple[PlaneTransformInScale, Any]:
    pair = Integrand(arb(1), arb(0), copies), Integrand(arb(1), arb(0), copies)
    line = Line(z, kernels, [GAUSSIAN * kernels[0], GAUSSIAN])
    return PlaneTransformInScale(line, nats, goal, SCALE, [pair]), pair


def truth(kernels: tuple[Expr, ...], copies: tuple[int, ...]) -> Any:
    """At the scale 17/16 by the transform without a scale."""
    fixed = tuple(own.xreplace({SCALE: Rational(17, 16)}) for own in kernels)
    pair = Integrand(arb(1), arb(0), copies), Integrand(arb(1), arb(0), copies)
    return PlaneTransform(Line(z, fixed, [GAUSSIAN * fixed[0], GAUSSIAN]), 60.0, 4.0, 60.0).integral(pair, 50.0)


def there(transform: PlaneTransformInScale, pair: Any) -> Any:
    """The model of an integral around 33/32, at 17/16."""
    thin = PlaneSums(transform, arb(33) / 32, 6, True).integral(pair)
    wide = PlaneSums(transform, arb(33) / 32 + arb(0, 1) / 32, 7, False).integral(pair)
    return sum((own * (arb(1) / 32) ** k for k, own in enumerate([*thin, wide[6]])), arb(0))


@pytest.fixture
def precision() -> Iterator[None]:
    with ctx.workprec(200):
        yield


@pytest.mark.usefixtures("precision")
@pytest.mark.parametrize(("kernels", "copies"), PAIRS, ids=str)
def test_every_error_is_in_the_model(
    kernels: tuple[Expr, ...], copies: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a scale of the interval: with each of them set to zero where it is large, the truth is missed."""
    exact = truth(kernels, copies)
    whole, pair = made(kernels, copies, 40.0, 30.0)
    assert there(whole, pair).overlaps(exact)
    assert there(whole, pair).rel_accuracy_bits() > 20

    ended, pair = made(kernels, copies, 40.0, 3.0)
    assert there(ended, pair).overlaps(exact)
    layout, beyond = ended.prepared(pair)
    ended.known["prepared", pair] = layout, arb(0)
    assert not there(ended, pair).overlaps(exact)
    rests = beyond - layout.beyond
    assert rests.rad() > 0

    errors = [arb(1) / 1000, arb(1) / 500]
    loose, pair = made(kernels, copies, 40.0, 30.0)
    loose.rule.errors = errors
    wide = there(loose, pair)
    with monkeypatch.context() as moved:  # all M_j as large as their errors allow
        moved.setattr(PowerSeries, "widened", raised)
        assert wide.overlaps(there(loose, pair))
    assert wide.overlaps(exact)

    coarse, pair = made(kernels, copies, 40.0, 30.0)
    coarse.per_octave, coarse.step = 1, float(log(2))
    assert PlaneSums(coarse, arb(17) / 16, 1, True).integral(pair)[0].overlaps(exact)
    monkeypatch.setattr(PlaneTransformInScale, "discretisation", lambda self, own: arb(0))
    assert not PlaneSums(coarse, arb(17) / 16, 1, True).integral(pair)[0].overlaps(exact)


GRID = np.arange(-12.0, 12.0, 1 / 16)
"""Of both tokens: there sums of these analytic functions are integrals to 15 digits."""


@pytest.mark.usefixtures("precision")
def test_errors_of_a_coarse_rule_over_a_token_are_in_the_integral(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against E F(x)/((K(x) + K(y)) (W(x) + W(y))), by hand on a grid: far more than without them, which misses."""

    def weights(y: Any) -> Any:
        return np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi) / 16

    slopes, loads = np.log1p(np.exp(17 / 16 * GRID)), np.exp(2 * GRID)
    table = np.outer(slopes * weights(GRID), weights(GRID))
    exact = float(np.sum(table / np.add.outer(slopes, slopes) / np.add.outer(loads, loads)))
    monkeypatch.setattr(plane, "SPARE_NATS", 40.0)  # all tokens are kept
    for nats in (4.0, 6.0):
        coarse, pair = made(*PAIRS[0], nats, 20.0)
        enclosure = there(coarse, pair)
        assert enclosure.lower() < exact < enclosure.upper()
        bare, pair = made(*PAIRS[0], nats, 20.0)
        bare.rule.errors = [arb(0), arb(0)]
        assert abs(there(bare, pair) - exact).lower() > 3 * there(bare, pair).rad()
        assert abs(there(bare, pair) - exact) < enclosure.rad()


def raised(series: PowerSeries, error: Any) -> PowerSeries:
    first, *others = series.coefficients
    return PowerSeries([first + type(first).of([[error]]), *others], series.length)


def test_float_balls_hold_the_results_at_the_ends_of_their_radii() -> None:
    rng = np.random.default_rng(1)
    one, other = (FloatBalls(rng.normal(size=(4, 4)), rng.random((4, 4)) / 8) for _ in range(2))
    for signs in (1.0, -1.0, rng.choice([-1.0, 1.0], size=(4, 4))):
        left, right = one.middle + signs * one.radius, other.middle + np.sign(other.middle) * other.radius
        held(one * other, left * right)
        held(one + other, left + right)
        held(one @ other, left @ right)
        held(one.scaled(-2, 3), left * (-2 / 3))
    ends = [arb(3).sqrt() / 7, arb(2) + arb(0, 1) / 8]
    loads = FloatBalls.loads(ends, 5, 2, 3)
    for i in range(3):
        for k, slope in enumerate(ends):
            for own in (slope.lower(), slope.upper()):
                exact = (-own * (arb.const_log2() * (5 + i) / 2).exp()).exp()
                off = abs(exact - loads.middle[i, k])
                assert off <= loads.radius[i, k]


def held(balls: FloatBalls, exact: Any) -> None:
    """Within a radius, and for one entry nearly on it or beyond what the rounding of this comparison is."""
    assert np.all(abs(balls.middle - exact) <= balls.radius * (1 + 1e-9))


def risk_on_a_grid(kernel: Any, offset: int, scale: Any, per_unit: int) -> Any:
    """1 - M^2/Q of two tokens at nu = 2, as it is defined, by sums over both tokens: they converge geometrically."""
    hit = norm = mass = arb(0)
    passed: list[tuple[Any, Any, Any]] = []
    for i in range(-12 * per_unit, 12 * per_unit + 1):
        y = arb(i) / per_unit
        density, k, w = (-y * y / 2).exp(), kernel(scale * y), (2 * y).exp()
        for other, l, v in passed:
            both, total = 2 * density * other, k + l + offset
            hit, norm, mass = (
                hit + both * (w * k + v * l) / ((w + v) * total),
                norm + both * (k * k + l * l) / total**2,
                mass + both,
            )
        both, total = density * density, 2 * k + offset
        hit, norm, mass = hit + both * k / total, norm + 2 * both * (k / total) ** 2, mass + both
        passed.append((density, k, w))
    return 1 - hit**2 / norm / mass


@pytest.mark.parametrize(
    ("attention", "kernel", "bounds"),
    [
        (softmax1, lambda y: y.exp(), (1.05, 1.15)),
        (Attention(1 / (1 + exp(-x))), lambda y: 1 / (1 + (-y).exp()), (2.95, 3.05)),
    ],
    ids=["softmax-1", "sigmoid"],
)
def test_a_least_risk_is_the_risk_at_its_place_by_sums_over_two_tokens(
    attention: Attention, kernel: Any, bounds: tuple[float, float]
) -> None:
    """To 22 digits: no smaller beside the place, and there the infimum, as the slope is 0."""
    value, places = least_risk(TASK, attention, {"nu": 2}, 22, "arb", {a: bounds})
    assert value.kind is Kind.CERTIFIED
    assert value.digits >= 22
    with ctx.workprec(130):
        infimum, place = from_mpf(value.value, value.error), from_mpf(places["a"].value)
        offset = int(attention.offset)
        there, finer = (risk_on_a_grid(kernel, offset, place, per_unit) for per_unit in (9, 10))
        off = abs(finer - there).upper()
        assert off < 1e-24
        assert infimum.overlaps(finer + arb(0, off))
        for beside in (place - arb(2) ** -20, place + arb(2) ** -20):
            assert risk_on_a_grid(kernel, offset, beside, 9) > infimum


@pytest.mark.parametrize(("attention", "bounds"), [(softplus, (2.5, 3.0)), (Attention(1 + x**4), (0.5, 1.0))], ids=str)
def test_a_least_risk_is_certified(attention: Attention, bounds: tuple[float, float]) -> None:
    """Against the search by another backend."""
    value, places = least_risk(TASK, attention, {"nu": 2}, 10, "arb", {a: bounds})
    other, at = minimise(population_risk(TASK, attention), [a], {"nu": 2}, 10, {a: bounds})
    assert value.kind is Kind.CERTIFIED
    assert value.digits >= 10
    assert abs(value.value - other.value) <= value.error + other.error
    assert abs(places["a"].value - at[a].value) <= places["a"].error + at[a].error


BLURRED = [(softplus, 2, (4.90625, 5.0)), (softmax1, 3, (3.46875, 3.5))]
"""At nu = 3, far out: where nodes lie far beyond the peak of an integrand, and where a weight is e^{2a^2} in all."""


@pytest.mark.parametrize(("attention", "length", "ends"), BLURRED, ids=["long windows", "heavy weights"])
def test_a_model_is_as_sharp_as_was_asked_where_its_functions_are_small(
    attention: Attention, length: int, ends: tuple[float, float]
) -> None:
    """To 9 nats; with the errors of the M_j made for the peak alone it is off by 0.003, with tokens left out by K alone by 1."""
    formula = canonical(population_risk(MaxSLR(length=length, noise=0), attention))
    low, high = ends
    model = ExpressionInScale(formula, {nu: Integer(3)}, a, low, high).model(
        (low + high) / 2, (high - low) / 2, 9.0, 4, 1
    )
    assert model.error < arb(-9).exp()
    with ctx.workprec(200):
        value = evaluate(formula.subs({nu: 3, a: Rational(low + high) / 2}), {}, 9, "arb")
        assert (model.polynomial[0] + model.rest).overlaps(from_mpf(value.value, value.error))


def test_a_wide_interval_takes_few_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far beyond the least risk the risk is bounded as it is near: no part is halved again and again, nor taken to more digits."""
    made: list[float] = []
    model = ExpressionInScale.model
    monkeypatch.setattr(ExpressionInScale, "model", lambda own, *given: made.append(given[2]) or model(own, *given))
    value, places = least_risk(TASK, softplus, {"nu": 3}, 4, "arb", {a: (3.5, 5.0)})
    assert value.digits >= 4
    assert abs(float(places["a"].value) - 4.0815) < 0.1
    assert len(made) <= 16
