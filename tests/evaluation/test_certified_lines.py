"""Certified numbers for any positive analytic kernel: the bounds dominate, the values agree with routes that share no code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from mpmath import mp
from sympy import Expr, Integer, Rational, Symbol, atan, cos, cosh, erf, exp, lambdify, log, pi, sin, sqrt, tanh

from symslr import evaluate
from symslr.evaluation.certified.analytic.arithmetic import RECTANGLES, prepared, rectangle
from symslr.evaluation.certified.analytic.growth import GrowthBounds
from symslr.evaluation.certified.analytic.line import Line, LineRule
from symslr.evaluation.certified.analytic.strip import Strips
from symslr.evaluation.certified.analytic.transform import Transform
from symslr.evaluation.certified.outer import Integrand
from symslr.evaluation.errors import CannotEvaluate, NotProved, TooManyDigits
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import chi, epsilon, nu, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, population_risk

z = Symbol("z")
BY_MPMATH = [{"NormalCdf": mpmath.ncdf}, "mpmath"]
GAUSSIAN = exp(-(z**2) / 2) / sqrt(2 * pi)

POSITIVE = [
    log(1 + exp(z)),
    log(1 + exp(3 * z)),
    1 + z**4,
    1 + z + z**2,
    1 / (1 + exp(-2 * z)),
    erf(z) + Rational(3, 2),
    2 + sin(2 * z),
    2 + tanh(z),
    cosh(z),
    sqrt(1 + z**2),
    exp(z) + exp(2 * z),
    1 + exp(-(z**2)),
    exp(sin(z)),
    1 + erf(z),
    3 - 3 * erf(z / 2),
    exp(-((z - 2) ** 2) / 2) + exp(-(z**2) / 2),
    exp(-sqrt(1 + z**2)),
    exp(-((1 + z**2) ** Rational(1, 3))),
    exp(-((1 + z**2) ** Rational(4, 5)) / 10),
    exp(atan(z)),
    atan(exp(z)),
]


@pytest.mark.parametrize("kernel", POSITIVE, ids=str)
def test_growth_bounds_hold_along_a_half_line(kernel: Expr) -> None:
    kernel = prepared(kernel)
    value = lambdify(z, kernel, BY_MPMATH)
    for start in (4.0, 8.0):
        for side in (-1, 1):
            growth = GrowthBounds(z, start, side)
            above, below, far = growth.modulus(kernel), growth.inverse(kernel), growth.values(kernel)
            for away in (0.0, 0.4, 3.0, 20.0):
                at = start + away
                with mp.workdps(120):  # log(1 + e^{-72}) is to have digits
                    found = value(mpmath.mpf(side * at))
                    size = mp.log(abs(found))
                assert size <= above.constant + above.linear * at + above.square * at**2 + 1e-9
                assert -size <= below.constant + below.linear * at + below.square * at**2 + 1e-9
                assert far.interval.a - 1e-9 <= found <= far.interval.b + 1e-9 * abs(found)


HALF_LINES = [
    (-(z**3), 1),
    (z ** (-3), -1),
    (z ** (-2), -1),
    ((1 + z**2) ** Rational(-1, 2), -1),
    (erf(z), -1),
    (atan(z), -1),
    (1 / atan(z ** (-3)), -1),
    (exp(-z) ** Rational(1, 3), 1),
    (1 / (2 + sin(z) - cos(z) / 3), 1),
    (z**5 - 40 * z**4 + z, -1),
    (prepared(1 + erf(z)), 1),
    (prepared(1 + erf(z)), -1),
]


@pytest.mark.parametrize(("function", "side"), HALF_LINES, ids=str)
def test_an_interval_on_a_half_line_holds_the_values(function: Expr, side: int) -> None:
    value = lambdify(z, function, BY_MPMATH)
    interval = GrowthBounds(z, 4.0, side).values(function).interval
    assert all(interval.a <= value(mpmath.mpf(side * at)) <= interval.b for at in (4.0, 4.5, 6.0, 11.0, 90.0))


@pytest.mark.parametrize("kernel", POSITIVE[:6], ids=str)
def test_the_rule_on_the_line_is_off_by_less_than_its_bound(kernel: Expr) -> None:
    """With few nats, so that there is an error to see; the truth is Arb's adaptive integration."""
    kernel = prepared(kernel)
    line = Line(z, (kernel,), [GAUSSIAN, GAUSSIAN * kernel**2])
    with ctx.workprec(200):
        truths = {u: [by_integral(kernel, factor, u) for factor in line.factors] for u in (0.0, 0.3, 7.0)}
        for nats in (3.0, 8.0, 20.0):
            rule = line.rule(nats)
            for u, truth in truths.items():
                assert all(enclosure.overlaps(known) for enclosure, known in zip(rule.at(arb(u)), truth, strict=True))


@pytest.mark.parametrize("rate", [3, 30, 300])
def test_a_factor_that_oscillates_fast_has_a_sharp_rule(rate: int) -> None:
    """Regression: |cos(30 z)| is e^90 at the corners of a strip of half-width 3, and so was the error."""
    line = Line(z, (Integer(0),), [GAUSSIAN * (2 + cos(rate * z))])
    with ctx.workprec(200):
        rule = line.rule(40.0)
        assert rule.errors[0] < arb(-38).exp()
        assert rule.at(arb(0))[0].contains(2 + (-(arb(rate) ** 2) / 2).exp())


def test_a_rectangle_holds_the_distribution_function() -> None:
    """Phi, also where it is far smaller than a rectangle is wide."""
    rng = np.random.default_rng(20261125)
    for _ in range(300):
        left, low = rng.uniform(-12, 6), rng.choice([0.0, 1.0]) * rng.uniform(-2, 2)
        right, high = left + 10 ** rng.uniform(-4, 0), low + (10 ** rng.uniform(-4, 0) if low else 0.0)
        found = RECTANGLES.function(rectangle(left, right, low, high), "NormalCdf")
        at = acb(rng.uniform(left, right), rng.uniform(low, high))
        truth = (-at / arb(2).sqrt()).erfc() / 2
        assert found.real.overlaps(truth.real)
        assert found.imag.overlaps(truth.imag)
    assert RECTANGLES.function(rectangle(-9.0, -8.875, 0.0, 0.0), "NormalCdf").real > 0
    assert RECTANGLES.function(rectangle(-9.0, -8.97, 0.05, 0.0501), "NormalCdf").real > 0


def by_integral(kernel: Expr, factor: Expr, u: float, cuts: Sequence[float] = range(-30, 31, 2)) -> arb:
    def at(expr: Expr, where: acb) -> acb:
        if expr == z:
            return where
        if expr.is_Add or expr.is_Mul:
            parts = [at(arg, where) for arg in expr.args]
            total = parts[0]
            for part in parts[1:]:
                total = total + part if expr.is_Add else total * part
            return total
        if expr.is_Pow:
            base = at(expr.base, where)
            return base ** int(expr.exp) if expr.exp.is_Integer else base.sqrt() if expr.exp > 0 else 1 / base.sqrt()
        if expr == pi:
            return acb.pi()
        if expr.is_Rational:
            return acb(int(expr.p)) / int(expr.q)
        return getattr(at(expr.args[0], where), type(expr).__name__)()

    def integrand(where: acb, _: bool) -> acb:
        return at(factor, where) * (-u * at(kernel, where)).exp()

    pieces = [
        acb.integral(integrand, *ends, abs_tol=arb("1e-40"), rel_tol=arb("1e-40")).real for ends in pairwise(cuts)
    ]
    return sum(pieces, arb(0)) + arb(0, 1e-40)


def test_a_bound_without_the_strip_would_be_seen_to_fail() -> None:
    """The same coarse rule without its radius misses: the test above can fail."""
    kernel = prepared(log(1 + exp(z)))
    line = Line(z, (kernel,), [GAUSSIAN])
    with ctx.workprec(200):
        rule: LineRule = line.rule(3.0)
        rule.errors = [arb(0)]
        assert not rule.at(arb(7.0))[0].overlaps(by_integral(kernel, GAUSSIAN, 7.0))


@pytest.mark.parametrize("spare", [-20.0, -8.0, 5.0])
def test_tokens_that_are_left_out_of_a_sum_are_in_its_error(monkeypatch: pytest.MonkeyPatch, spare: float) -> None:
    """Also where so many are left out that they matter."""
    monkeypatch.setattr("symslr.evaluation.certified.analytic.line.SPARE_NATS", spare)
    kernel = prepared(1 / (1 + exp(-4 * z)))
    line = Line(z, (kernel,), [GAUSSIAN, GAUSSIAN * kernel**2])
    with ctx.workprec(200):
        transform = Transform(line, 25.0, 4.0, 25.0)
        nodes = range(4 * transform.per_octave, 12 * transform.per_octave)
        transform.fill(nodes)
        assert len(transform.rule.seen(arb(2) ** 5).kernel) < len(transform.rule.kernel)
        for i in (nodes[0], nodes[-1]):
            u = (i * transform.exact_step).exp()
            for j, enclosure in enumerate(transform.known[i]):
                assert enclosure.overlaps(by_integral(kernel, line.factors[j], u))


def test_a_table_of_balls_is_made_a_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fits in memory: the same enclosures, the same estimates."""
    kernel = prepared(1 + z**4)
    with ctx.workprec(200):
        whole, parts = (Transform(Line(z, (kernel,), [GAUSSIAN]), 40.0, 4.0, 40.0) for _ in range(2))
        nodes = range(-whole.per_octave, 2 * whole.per_octave)
        whole.fill(nodes)
        monkeypatch.setattr("symslr.evaluation.certified.analytic.line.TABLE_BYTES", 10**5)
        balls: list[int] = []
        sums = LineRule.sums
        monkeypatch.setattr(
            LineRule,
            "sums",
            lambda own, loads, seen: balls.append(loads.nrows() * loads.ncols()) or sums(own, loads, seen),
        )
        parts.fill(nodes)
        assert len(balls) > 1
        assert max(balls) * 160 <= 10**5
        assert all(ours.overlaps(theirs) for i in nodes for ours, theirs in zip(parts.known[i], whole.known[i]))
        before = whole.rule.float_logs(np.arange(-9.0, 9.0))
        monkeypatch.setattr("symslr.evaluation.certified.analytic.line.AT_ONCE", 2 * len(whole.rule.nodes))
        assert np.array_equal(before, whole.rule.float_logs(np.arange(-9.0, 9.0)))


def test_a_rule_that_does_not_fit_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symslr.evaluation.certified.analytic.line.TABLE_BYTES", 10**5)
    with ctx.workprec(200), pytest.raises(TooManyDigits, match="too many nodes"):
        Line(z, (prepared(1 + z**4),), [GAUSSIAN]).rule(40.0)


def test_a_far_shift_takes_few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """At nu = 10^4 the density of the relevant key is e^{-x^2/2 + 100x - 5000}; the number is a sum over both tokens."""
    counts: list[int] = []
    rule = Line.rule
    monkeypatch.setattr(Line, "rule", lambda own, *sizes: counts.append(len((made := rule(own, *sizes)).nodes)) or made)
    risk = population_risk(SpikedSLR(length=2, noise=0), Attention(1 + x**2 + x**4), 1)
    found = evaluate(risk, {nu: 10**4}, digits=15, backend="arb")
    assert found.kind is Kind.CERTIFIED
    with mp.workdps(40):
        assert abs(found.value - mpmath.mpf("2.6995661224099915908352866519838924e-14")) <= found.error
    assert max(counts) < 10_000


def test_a_steep_kernel_is_proved() -> None:
    """sigma(7x), whose poles lie so near that no cell of one size encloses its powers; the other number is estimated."""
    risk = population_risk(SpikedSLR(noise=0), Attention(1 / (1 + exp(-7 * x))))
    found = evaluate(risk, {"L": 3, "nu": 2, "a": Rational(13, 10)}, 12, "arb")
    assert found.kind is Kind.CERTIFIED
    assert found.digits >= 12
    assert abs(found.value - mpmath.mpf("0.48392914431249453")) < mpmath.mpf("1e-16") + found.error


def test_a_strip_ends_before_a_singularity_and_where_the_kernel_turns_negative() -> None:
    """log(1 + e^{2z}) has its singularity at i pi/2, and Re >= 0 up to i pi/4; 1 + z^2 up to i."""
    assert Strips(z, (log(1 + exp(2 * z)),), [GAUSSIAN]).widest(40, 40).half_width < float(pi) / 4
    assert Strips(z, (1 + z**2,), [GAUSSIAN]).widest(40, 40).half_width < 1
    for kernel, too_wide in ((log(1 + exp(2 * z)), 0.9), (1 + z**2, 1.01), (1 / (1 + exp(-z)), 1.7), (2 + sin(z), 1.4)):
        with pytest.raises(NotProved):
            Strips(z, (prepared(kernel),), [GAUSSIAN]).of(too_wide, 40, 40)


def test_a_pole_between_the_real_line_and_a_harmless_edge_is_seen() -> None:
    """2 + 1/(1 + 4 z^2) has its poles at i/2; on Im z = .9 its real part is positive again."""
    kernel = 2 + 1 / (1 + 4 * z**2)
    assert mp.re(lambdify(z, kernel, BY_MPMATH)(mpmath.mpc(0, 0.9))) > 1
    with pytest.raises(NotProved):
        Strips(z, (kernel,), [GAUSSIAN]).of(0.9, 40, 40)
    assert Strips(z, (kernel,), [GAUSSIAN]).widest(40, 40).half_width < 0.5


def test_the_kernel_is_positive_on_the_short_sides_of_a_strip_too() -> None:
    """1 + e^{3z} is positive on Im z = 2 pi/3, and 1 - e^{3x} half way up the short side at x."""
    top = 2 * float(pi) / 3
    assert mp.re(lambdify(z, 1 + exp(3 * z), "mpmath")(mpmath.mpc(1, top))) > 1
    with pytest.raises(NotProved, match="real part >= 0"):
        Strips(z, (1 + exp(3 * z),), [GAUSSIAN]).of(top, 24, 8)


def test_no_strip_reaches_the_branch_points_of_atan() -> None:
    """At i and -i; beyond them, on the imaginary axis, it jumps by pi and no value there shows that."""
    assert Strips(z, (2 + atan(z),), [GAUSSIAN]).of(0.5, 24, 24).half_width == 0.5
    with pytest.raises(NotProved, match="branch point of atan"):
        Strips(z, (2 + atan(z),), [GAUSSIAN]).of(1.5, 24, 24)


@pytest.mark.parametrize("kernel", POSITIVE[:4], ids=str)
def test_the_midpoint_rule_between_near_ends_is_off_by_less_than_its_bound(kernel: Expr) -> None:
    """From -1 to 3/2, where the integrand is far from small; the truth is Arb's adaptive integration between the ends."""
    kernel = prepared(kernel)
    used = []
    with ctx.workprec(200):
        strip = Strips(z, (kernel,), [GAUSSIAN * exp(4 * z)]).of(0.5, 8, 12)
        assert (strip.low, strip.high) == (-1.0, 1.5)
        line = Line(z, (kernel,), [GAUSSIAN * exp(4 * z)])
        for u in (0.0, 0.3, 3.0):
            truth = by_integral(kernel, line.factors[0], u, [strip.low, strip.high])
            for count in (1, 2, 3, 5, 9, 40, 200):
                step = (arb(strip.high) - strip.low) / count
                values = [line.at(acb(strip.low + (i + arb(0.5)) * step)) for i in range(count)]
                found = step * sum(((-u * k.real).exp() * f.real for k, f in values), arb(0))
                off, bound = abs(found - truth), strip.errors(step)[0]
                assert off < bound
                used.append(float(off / bound))
    # Measured: the largest ratio is .17, that of one node at u = 0.
    assert max(used) > 0.1


def test_what_lies_beyond_the_window_is_as_its_bounds_say() -> None:
    """The nodes before it are within the first Taylor terms and their rest, those beyond below their bound."""
    kernel = prepared(log(1 + exp(z)))
    line = Line(z, (kernel,), [GAUSSIAN, GAUSSIAN * kernel])
    with ctx.workprec(200):
        transform = Transform(line, 60.0, 4.0, 60.0)
        integrand = Integrand(arb(2), arb(0), (2, 1))

        def node(i: int) -> arb:
            u = (i * transform.exact_step).exp()
            first, second = transform.known[i]
            return u**2 * first**2 * second

        low = round(-2 / transform.step)
        transform.fill(range(low - 800, low))
        left = sum((node(i) for i in range(low - 800, low)), arb(0))
        for terms in (1, 4, 9):
            start = transform._start(integrand, low, terms)
            found = [transform.before(integrand.k + r, low) * p for r, p in enumerate(start.polynomial.coeffs())]
            missed, rest = abs(left - sum(found, arb(0))), start.rest.upper() * transform.before(integrand.k, low)
            assert missed < rest < 300 * missed
        high, frozen, powers = transform._right_end(integrand, transform.log_terms([integrand]), -14.0)
        transform.fill(range(high, high + 120))
        right = sum((node(i) for i in range(high + 1, high + 120)), arb(0))
        assert right < transform._right_tail(integrand, high, frozen, powers) < 1e4 * right


@pytest.mark.parametrize(
    ("kernel", "scale", "length", "strength"),
    [
        (log(1 + exp(x)), 1, 3, 2),
        (1 + x**4, Rational(1, 2), 2, 5),
        (erf(x) + Rational(3, 2), 2, 6, 1),
        (2 + sin(x), 3, 3, 2),
        (1 / (1 + exp(-x)), -1, 3, 1),
        (exp(x) + exp(2 * x), Rational(1, 2), 3, 2),
        (log(1 + exp(x)), Rational(1, 100), 3, 2),
        (exp(x**2 / 8), 1, 3, 1),
        (exp(x - x**2 / 10), 1, 3, 1),
        (exp(-(x**2)) + exp(-((x - 2) ** 2) / 2), Rational(1, 2), 3, 2),
        (1 + erf(x), Rational(-1, 2), 3, 2),
        (2 + atan(2 * x), 1, 3, 2),
        (atan(exp(x)), 2, 2, 3),
    ],
    ids=str,
)
def test_a_certified_risk_agrees_with_the_estimated_one(kernel: Expr, scale: Expr, length: int, strength: Expr) -> None:
    risk = population_risk(SpikedSLR(length=length, noise=0), Attention(kernel=kernel), scale)
    proved = evaluate(risk, {nu: strength}, digits=18, backend="arb")
    other = evaluate(risk, {nu: strength}, digits=18, backend="mpmath")
    assert proved.kind is Kind.CERTIFIED
    assert proved.digits >= 18
    assert abs(proved.value - other.value) <= proved.error + other.error


def test_a_certified_risk_agrees_with_a_grid_over_two_tokens() -> None:
    """L = 2, nothing of symslr: the trapezoid rule over both tokens of the risk at its best value vector."""
    strength, half = mp.mpf(1) / 2, 60
    risk = population_risk(SpikedSLR(length=2, noise=0), Attention(kernel=2 + tanh(x)), 1)
    proved = evaluate(risk, {nu: Rational(1, 2)}, digits=12, backend="arb")
    grid = [mp.mpf(i) * 10 / half for i in range(-half, half + 1)]
    weights = [mp.npdf(t) * 10 / half for t in grid]
    kernels = [2 + mp.tanh(t) for t in grid]
    r = q = mp.mpf(0)
    for first, w, k in zip(grid, weights, kernels):
        tilt = mp.exp(mp.sqrt(strength) * first - strength / 2)
        for other_w, other_k in zip(weights, kernels):
            share = k / (k + other_k)
            r += w * other_w * tilt * share
            q += w * other_w * tilt * (share**2 + (1 - share) ** 2)
    assert abs(proved.value - (1 - r**2 / q)) < mp.mpf(10) ** -11


def test_the_bayes_risk_of_an_own_weight_and_law_is_certified() -> None:
    """A weight that is no exponential, and logistic tokens."""
    tilted = Task((1 + chi[epsilon] ** 2) / 2, length=3, noise=0)
    logistic = ScalarLaw(exp(-x) / (1 + exp(-x)) ** 2)
    other = Task.from_token_laws(ScalarLaw(exp(-(x - 1)) / (1 + exp(-(x - 1))) ** 2), logistic, length=2, noise=0)
    for task in (tilted, other):
        proved = evaluate(bayes_risk(task), {}, digits=15, backend="arb")
        estimated = evaluate(bayes_risk(task), {}, digits=15, backend="mpmath")
        assert proved.kind is Kind.CERTIFIED
        assert abs(proved.value - estimated.value) <= proved.error + estimated.error


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (x**2, "real part >= 0|positive"),
        (1 + x, ">= 0"),
        (1 + log(1 + x**2) ** Rational(1, 2), "branch point"),
    ],
    ids=str,
)
def test_where_no_proof_is_found_the_reason_is_said(kernel: Expr, reason: str) -> None:
    risk = population_risk(SpikedSLR(length=3, noise=0), Attention(kernel=kernel), Integer(1))
    with pytest.raises(CannotEvaluate, match=reason):
        evaluate(risk, {nu: 1}, digits=12, backend="arb")


def test_a_least_risk_that_is_searched_is_not_certified() -> None:
    with pytest.raises(CannotEvaluate, match="a minimum that is searched"):
        evaluate(
            minimal_risk(SpikedSLR(length=2, noise=0), Attention(kernel=1 + x**4)), {nu: 1}, digits=12, backend="arb"
        )
