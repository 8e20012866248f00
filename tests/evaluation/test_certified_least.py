"""The certified least risk: models hold the risk on whole intervals of the scale, and the infimum agrees with other routes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pytest
from flint import acb, arb, arb_poly, arb_series, ctx, fmpq
from mpmath import mp
from sympy import Abs, Expr, Integer, Rational, Symbol, cos, erf, exp, log, sin, sqrt

from symslr import MaxSLR, SpikedSLR, evaluate, minimise, population_risk
from symslr.budget import processor_time
from symslr.evaluation import least_risk
from symslr.evaluation.certified.analytic.arithmetic import RECTANGLES, Series, all_enclosed, rectangle, series_length
from symslr.evaluation.certified.least.bounded import Bounded, BoundedInPower
from symslr.evaluation.certified.least.model import FIRST_PARTS, ExpressionInScale
from symslr.evaluation.certified.least.search import Search, least_certified, parts, segments
from symslr.evaluation.certified.taylor import Jet, TaylorModel
from symslr.evaluation.errors import CannotEvaluate, NotProved
from symslr.evaluation.minima.least import TOWARDS_ZERO
from symslr.evaluation.numbers.balls import from_mpf
from symslr.evaluation.numbers.elementary import Between
from symslr.evaluation.plan import canonical
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.catalogue import erf as erf_attention
from symslr.model.symbols import Delta, L, a, nu, x

TASK = SpikedSLR(noise=0)
z = Symbol("z")
PLACE = {L: Integer(2), nu: Integer(2), Delta: Integer(0)}


def moving(kernel: Expr, low: float, high: float) -> ExpressionInScale:
    formula = canonical(population_risk(TASK, Attention(kernel)))
    values = {symbol: PLACE[symbol] for symbol in formula.free_symbols if symbol in PLACE}
    return ExpressionInScale(formula, values, a, low, high)


def certified(kernel: Expr, scale: Expr) -> arb:
    value = evaluate(population_risk(TASK, Attention(kernel), scale), {"L": 2, "nu": 2}, digits=9, backend="arb")
    return from_mpf(value.value, value.error)


CASES = [
    (log(1 + exp(x)), 1.0, 1.25, -1),
    (log(1 + exp(x)), -1.25, -1.0, Rational(3, 4)),
    (1 + x**4, -0.0625, 0.0625, Rational(3, 4)),
    (1 / (1 + exp(-x)), 1.0, 1.125, Rational(3, 4)),
    (erf(x) + Rational(3, 2), 0.5, 0.625, -1),
]


@pytest.mark.parametrize(("kernel", "low", "high", "part"), CASES, ids=str)
def test_a_model_holds_the_risk_on_its_interval_and_is_sharp(kernel: Expr, low: float, high: float, part: Expr) -> None:
    """Against a certified value at a scale, which knows nothing of series; without its last coefficient the model misses."""
    segment = moving(kernel, low, high)
    centre, radius = (low + high) / 2, (high - low) / 4
    with ctx.workprec(200):
        coarse, fine = (segment.model(centre, radius, 12.0, series_length, series_length) for series_length in (3, 8))
        assert fine.rest.rad() < 1e-3
        shift = part * Rational(radius)
        truth, t = certified(kernel, Rational(centre) + shift), arb(fmpq(int(shift.p), int(shift.q)))
        for model in (coarse, fine):
            assert (model.polynomial(t) + model.rest).overlaps(truth)
        without = arb_poly(coarse.polynomial.coeffs()[:-1])(t) + coarse.rest
        assert not without.overlaps(truth)


def test_the_rest_of_a_model_comes_from_the_whole_interval() -> None:
    """Products, inverses and mirror images of x^k around 1 hold the exact values at every end."""
    with ctx.workprec(100):
        radius = arb("0.25").mid()
        jet = Jet(arb_poly([1, 1]), arb(0), radius, 3)
        for t in (arb(-0.25), arb(0.1), arb(0.25)):
            for power, truth in ((3, (1 + t) ** 3), (-2, 1 / (1 + t) ** 2)):
                found = jet.power(power)
                assert (found.polynomial(t) + found.rest).overlaps(truth)
                assert found.rest.rad() < 1e-20
                exact = arb_poly([own.mid() for own in found.polynomial.coeffs()])
                assert not exact(t).overlaps(truth)
        line = TaylorModel(arb_poly([1, 1]), arb(0), radius, 3)
        cube, inverse = line.power(3), line.power(-2)
        for t in (arb(-0.25), arb(0.1), arb(0.25)):
            assert (cube.polynomial(t) + cube.rest).overlaps((1 + t) ** 3)
            assert not cube.polynomial(t).overlaps((1 + t) ** 3)
            assert (inverse.polynomial(t) + inverse.rest).overlaps(1 / (1 + t) ** 2)
            assert not inverse.polynomial(t).overlaps(1 / (1 + t) ** 2)
            mirrored = cube.mirrored()
            assert (mirrored.polynomial(t) + mirrored.rest).overlaps((1 - t) ** 3)


@pytest.mark.parametrize(
    ("coefficients", "lowest"),
    [([3, -2, 4], 2.75), ([3, 2, 1], 1.75 + 0.5), ([1, 0, -1], 0.75), ([0, -1, 0, 4], -0.19245008972987526)],
)
def test_the_least_value_of_a_polynomial_is_enclosed(coefficients: list[int], lowest: float) -> None:
    """Inside, at an end, where it is concave, and where it has several extrema, on [-1/2, 1/2]."""
    with ctx.workprec(80):
        bounded = Bounded(TaylorModel(arb_poly(coefficients), arb(0, 1e-6), arb(0.5), 6), arb(-0.5), arb(0.5))
        assert bounded.below <= lowest <= bounded.above
        assert bounded.above - bounded.below < 2e-2
        left, right = bounded.sublevel_interval(arb(lowest) + 1e-3)
        places = [i / 500 for i in range(-250, 251)]
        low = [t for t in places if sum(c * t**k for k, c in enumerate(coefficients)) <= lowest + 1e-3]
        assert low
        assert all(left <= t <= right for t in low)


@pytest.mark.parametrize(
    ("fourth", "place", "lowest"),
    [(0, 0.0, 3.0), (1e-3, 0.0, 3.0), (-1e-3, (1e-3 / 48) ** 0.25, 3 - 1e-6 / 96)],
    ids=["level to order 8", "rising", "two bottoms"],
)
def test_a_function_of_the_fourth_power_is_bounded_where_it_is_flat(fourth: float, place: float, lowest: float) -> None:
    """3 + c t^4 + 24 t^8 on [-1/8, 1/4]: as a function of t no bottom is seen, of s = t^4 the bound has all digits."""
    with ctx.workprec(80):
        model = TaylorModel(arb_poly([3, 0, 0, 0, fourth, 0, 0, 0, 24]), arb(0, 1e-12), arb(0.25), 9)
        folded = BoundedInPower(model, arb(-0.125), arb(0.25), 4)
        assert folded.is_convex
        assert not Bounded(model, arb(-0.125), arb(0.25)).is_convex
        assert lowest - 2e-12 < folded.below <= lowest <= folded.above < lowest + 3e-12
        assert abs(folded.lowest - place) <= folded.reach + 1e-9
        left, right = folded.sublevel_interval(arb(lowest) + 1e-5)
        low = [t for t in (i / 800 for i in range(-100, 201)) if 3 + fourth * t**4 + 24 * t**8 <= lowest + 1e-5]
        assert len(low) > 100
        assert all(left <= t <= right for t in low)
        assert right < 0.25
        with pytest.raises(ArithmeticError, match="between two powers"):
            replace(model, length=10).in_power(4)


@pytest.mark.parametrize(
    ("kernel", "period"),
    [
        (1 + x**4, 4),
        (1 + x**4 + x**6, 2),
        (1 + exp(-(x**2)), 2),
        (2 + cos(x), 2),
        (1 + x**4 + x**3, 1),
        (log(1 + exp(x)), 1),
    ],
    ids=str,
)
def test_the_power_of_the_scale_that_a_risk_depends_on(kernel: Expr, period: int) -> None:
    assert moving(kernel, -0.0625, 0.0625).period == period


def test_a_least_risk_that_is_flat_to_eighth_order_is_proved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 + x^4 on max-SLR at two tokens: by symmetry M = 1/2, so that the risk 1 - 1/(4 Q) is above 1/2 = its value at a = 0.

    Where the bottom is halved down to, as for any other function, it takes 19 models.
    """
    made: list[object] = []
    model = ExpressionInScale.model
    monkeypatch.setattr(ExpressionInScale, "model", lambda *given: made.append(given) or model(*given))
    task, quartic = MaxSLR(nu=2, length=2, noise=0), Attention(1 + x**4)
    value, places = least_risk(task, quartic, {}, 12, "arb", {a: (-0.125, 0.25)})
    assert value.kind is Kind.CERTIFIED
    assert abs(value.value - Rational(1, 2)) <= value.error < 1e-12
    assert places["a"].error < 0.02
    assert abs(places["a"].value) <= places["a"].error
    assert len(made) <= 10


@pytest.mark.parametrize(
    ("lost", "count"), [((30.0, 0.0), 2), ((2e4,), 1), ((float("inf"),), 1), ((9e3, 9e3, 0.0), 3), ((1.0,) * 9, 6)]
)
def test_sums_are_sharpened_while_that_may_help(
    monkeypatch: pytest.MonkeyPatch, lost: tuple[float, ...], count: int
) -> None:
    """By what the last ones missed; not at all where they miss 20,000 nats, and six times at most."""
    asked: list[float] = []
    ways = iter(lost)

    class Missing:
        def __init__(self, line: object, needed: float, *_: object) -> None:
            asked.append(needed)

        def missing_nats(self) -> float:
            return next(ways)

    own = moving(log(1 + exp(x)), 1.0, 1.25)
    monkeypatch.setattr("symslr.evaluation.certified.least.model.TransformInScale", Missing)
    (kernels,) = own.lines.factors
    if lost[count - 1]:
        with pytest.raises(NotProved, match="do not reach the digits"):
            own.transform(kernels, 20.0)
    else:
        own.transform(kernels, 20.0)
    assert len(asked) == count
    np.testing.assert_allclose(np.diff(asked), np.array(lost[: count - 1]) + 1)


def test_both_bottoms_of_an_even_risk_are_among_the_places() -> None:
    """At +-0.8259."""
    _, places = least_risk(TASK, Attention(1 + x**4), {"L": 2, "nu": 2}, 3, "arb", {a: (-0.875, 0.875)})
    assert abs(places["a"].value) < 1e-9
    assert 0.8 < places["a"].error <= 0.876


def test_a_bottom_that_is_not_found_is_bounded_below_by_the_curvature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a Newton step, at t = 0, where 3 - 2t + 4t^2 has slope -2: the least value 11/4 lies 1/4 lower."""
    monkeypatch.setattr("symslr.evaluation.certified.least.bounded.NEWTON_STEPS", 0)
    with ctx.workprec(80):
        bounded = Bounded(TaylorModel(arb_poly([3, -2, 4]), arb(0), arb(0.5), 6), arb(-0.5), arb(0.5))
        assert 2.7 < bounded.below <= 2.75
        assert bounded.sublevel_interval(arb(2.751))[1] >= 0.25 + 0.0158  # where 3 - 2t + 4t^2 is 2.751


@pytest.mark.parametrize("guess", [0.1, -0.7, 2.5, 30.0])
def test_stretches_and_parts_cover_the_interval(guess: float) -> None:
    found = segments(-3.0, 7.0, guess)
    pieces = [[part for segment in found for part in parts(*segment, count)] for count in FIRST_PARTS.values()]
    for cuts in (found, *pieces):
        assert cuts[0][0] == -3
        assert cuts[-1][1] == 7
        assert all(left[1] == right[0] for left, right in itertools.pairwise(cuts))
        assert not any(guess in part for part in cuts)


@pytest.mark.parametrize(
    ("kernel", "bounds", "digits"),
    [(log(1 + exp(x)), (2.75, 3.0), 14), (1 + x**4, (0.75, 1.0), 14), (1 / (1 + exp(-x)), (1.0, 1.125), 14)],
    ids=str,
)
def test_a_least_risk_is_certified_to_digits_that_no_search_gives(
    kernel: Expr, bounds: tuple[float, float], digits: int
) -> None:
    """Against the search to as many digits; where the least value lies at an end, against the value there."""
    attention = Attention(kernel)
    value, places = least_risk(TASK, attention, {"L": 2, "nu": 2}, digits, "arb", {a: bounds})
    assert value.kind is Kind.CERTIFIED
    assert value.digits >= digits
    assert f"over {bounds[0]} <= a <= {bounds[1]}" in value.method
    other, at = minimise(population_risk(TASK, attention), [a], {"L": 2, "nu": 2}, digits, {a: bounds})
    with mp.workdps(30):
        assert abs(value.value - other.value) <= value.error + other.error
        assert abs(places["a"].value - at[a].value) <= places["a"].error + at[a].error


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (sqrt, "found one to the power 1/2"),
        (exp, "found the function exp of one"),
        (Abs, "found the absolute value of one"),
    ],
    ids=["root", "exponential", "modulus"],
)
def test_what_is_not_proved_over_an_interval_is_refused_in_words(make: Callable[[Expr], Expr], found: str) -> None:
    risk = make(population_risk(TASK, Attention(1 + x**4)).doit())
    with pytest.raises(CannotEvaluate, match=f"whole powers of expectations are proved; {found}") as fault:
        least_certified(risk, a, PLACE, 5, (0.5, 0.625), 0.6)
    said = str(fault.value)
    assert "\n" not in said
    assert "Pow" not in said
    assert "_a" not in said
    assert len(said) < 250


def test_a_minimum_over_two_parameters_is_refused() -> None:
    with pytest.raises(CannotEvaluate, match="a minimum over a, c at once"):
        least_risk(TASK, erf_attention, {"L": 2, "nu": 2}, 10, "arb")


def test_many_digits_of_a_least_risk_come_from_a_model_around_its_place() -> None:
    """Against the risk by mpmath at that place and beside it; that no other scale is lower is not proved."""
    attention = Attention(1 + x**4)
    value, places = least_risk(TASK, attention, {"L": 2, "nu": 2}, 20)
    assert value.kind is places["a"].kind is Kind.ESTIMATED
    assert value.digits >= 20
    assert "Taylor" in value.method
    risk = population_risk(TASK, attention)
    with mp.workdps(30):
        at = [Rational(str(places["a"].value)) * (1 + Rational(k, 10**6)) for k in (0, -1, 1)]
        here, *beside = (evaluate(risk, {"L": 2, "nu": 2, "a": scale}, 20, "mpmath") for scale in at)
        assert abs(here.value - value.value) <= here.error + value.error
        assert all(other.value > value.value for other in beside)


@pytest.mark.parametrize("x0", [-9, -1, 2, 9])
@pytest.mark.parametrize("half_width", [0.0, 0.05])
def test_series_of_sigmoid_and_softplus_hold_their_derivatives_and_little_else(x0: int, half_width: float) -> None:
    """On an interval of the scale, against those at its ends and middle by arithmetic alone; there they grow like |x|^k/k!."""
    scale = Between("s", arb(2) + arb(0, half_width))
    functions = (log(1 + exp(scale * z)), 1 / (1 + exp(-scale * z)), 1 / (1 + exp(scale * z)))
    with ctx.workprec(120), series_length(7):
        found = all_enclosed(functions, z, arb_series([x0]), Series(scale, arb(2) + arb(0, half_width)))
        for place in (2 - half_width, 2.0, 2 + half_width):
            y = arb_series([arb(place), 1]) * x0
            by_hand = ((1 + y.exp()).log(), 1 / (1 + (-y).exp()), 1 / (1 + y.exp()))
            assert all(own[k].overlaps(other[k]) for own, other in zip(found, by_hand) for k in range(7))
        for own in found:
            assert own[6].abs_upper() < (1.5 * abs(x0)) ** 6 / 720
            assert half_width > 0 or own[6].rel_accuracy_bits() > 60


def test_a_fermi_function_keeps_the_sign_of_its_real_part_on_a_wide_rectangle() -> None:
    for low, high in ((-9.0, -6.0), (-1.0, 1.0), (6.0, 9.0)):
        found = RECTANGLES.fermi(rectangle(low, high, -0.25, 1.5))
        assert found.real > 0
        for place in itertools.product((low, (low + high) / 2, high), (-0.25, 0.0, 1.5)):
            assert found.overlaps(1 / (1 + acb(*place).exp()))
    with pytest.raises(NotProved, match="pole"):
        RECTANGLES.fermi(rectangle(-1.0, 1.0, 3.0, 3.3))


def test_softplus_keeps_its_sign_where_its_exponential_is_tiny() -> None:
    with ctx.workprec(64):
        assert RECTANGLES.softplus(rectangle(-400.0, -399.0, 0.0, 1.5)).real >= 0
        with pytest.raises(NotProved):
            RECTANGLES.softplus(rectangle(-1.0, 1.0, 3.0, 3.3))


def test_a_least_risk_at_an_end_is_placed_there() -> None:
    """The risk still falls at 3/2: by the size of its slope alone the place would be known to 0.1."""
    value, places = least_risk(TASK, Attention(log(1 + exp(x))), {"L": 2, "nu": 2}, 10, "arb", {a: (1.0, 1.5)})
    assert abs(places["a"].value - 1.5) <= places["a"].error < 1e-8
    risk = evaluate(population_risk(TASK, Attention(log(1 + exp(x))), Rational(3, 2)), {"L": 2, "nu": 2}, 12, "arb")
    assert abs(value.value - risk.value) <= value.error + risk.error


@dataclass(frozen=True)
class Blurred:
    """The concave 2 - (a - s)^2 on a stretch, not proved unless that is below 1/4, with an error of 1/1000 unless below 1/8."""

    low: float
    high: float
    top: float
    made: list[tuple[float, float]]
    period, parts, reach, is_by_scores = 1, 3, 1.0, False

    def sharpen(self, nats: float) -> None:
        """The error is none of the sums."""

    def prepare(self, nats: float) -> None:
        if self.high - self.low > 0.25:
            raise NotProved("too long")

    def model(self, centre: float, radius: float, nats: float, length: int, sharp: int) -> TaylorModel:
        self.made.append((centre, radius))
        off = arb(centre) - self.top
        error = arb(0, 1e-3 if self.high - self.low > 0.125 else 1e-12)
        return TaylorModel(arb_poly([2 - off**2, -2 * off, -1]), error, arb(radius), 3)


@pytest.mark.parametrize(("top", "place"), [(1.5, 1.0), (1.0, 1.375)], ids=["rising", "falling"])
def test_all_of_an_interval_is_covered_by_stretches_that_are_cut(top: float, place: float) -> None:
    """A model that is blurred on a long stretch is made on shorter ones, which leave nothing out."""
    made: list[tuple[float, float]] = []
    found = Search(lambda low, high: cast("ExpressionInScale", Blurred(low, high, top, made)), 6).over(1.0, 1.375, 1.2)
    assert found.value.contains(2 - (place - top) ** 2)
    assert found.value.rad() < 1e-5
    assert len(made) <= 24
    for scale in np.linspace(1.0, 1.375, 97):
        assert any(abs(scale - centre) <= radius for centre, radius in made)


def test_a_kernel_that_vanishes_at_zero_is_proved_beside_it() -> None:
    """Regression: the interval held a = 0, where no risk is: half a minute, and the advice to take more time."""
    with processor_time(20.0):
        value, places = least_risk(TASK, Attention(x * cos(x), normaliser=None), {"L": 5, "nu": 100}, 15, "arb")
    tokens = np.linspace(-9.0, 9.0, 20_001)
    density = np.exp(-(tokens**2) / 2) / np.sqrt(2 * np.pi) * (tokens[1] - tokens[0])
    near, other = (y * np.cos(y) for y in (float(places["a"]) * (tokens + 10.0), float(places["a"]) * tokens))
    risk = 1 - (density @ near) ** 2 / (density @ near**2 + 4 * (density @ other**2))
    assert abs(float(value) - risk) < 1e-12
    assert value.kind is Kind.CERTIFIED


def test_a_risk_that_falls_towards_scale_zero_is_said_to() -> None:
    """Regression: "a division by an enclosure of zero"."""
    attention = Attention(sin(x), normaliser=None)
    with pytest.raises(CannotEvaluate, match=r"as the scale vanishes.*--scale 1\) or a short interval"):
        least_risk(TASK, attention, {"L": 3, "nu": 2}, 15, "arb")
    _, places = least_risk(TASK, attention, {"L": 3, "nu": 2})
    assert places["a"].method == TOWARDS_ZERO
