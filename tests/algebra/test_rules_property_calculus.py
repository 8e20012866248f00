"""Random derivatives, integrals and expansions: what a rule admits keeps its value, what it must refuse is refused.

Both sides are the referee's numbers: finite differences of the definition, explicit grids. The tests of a rule carry its name.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sympy import (
    Abs,
    Derivative,
    Expr,
    Function,
    Integral,
    Limit,
    Ne,
    Rational,
    S,
    Sum,
    Symbol,
    cos,
    cosh,
    diff,
    erf,
    exp,
    log,
    oo,
    pi,
    sin,
    sinh,
    sqrt,
    tanh,
)

from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    Centre,
    ChainRule,
    Convolution,
    Differentiate,
    DifferentiateMean,
    DropFromDenominator,
    GammaIntegral,
    GaussianTaylor,
    GeometricSeries,
    PutInPlace,
    ReadDensity,
    SechTransform,
    SlopeOfOddPart,
    SmoothingTaylor,
    SolveLinear,
    Substitute,
    TakeLimit,
    TransformMoments,
    WriteDensity,
)
from symslr.expression.at import At
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.joint import Solution
from symslr.expression.special import NormalCdf
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, laplace, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, l, x
from symslr.referee.referee import referee
from symslr.theory.asymptotics import ANGLE, FREQUENCY, GUMBEL, gumbel_transform, sech_transform
from tests.algebra.strategies import nonzero, positive, smooth

FEW = settings(max_examples=2, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
SOME = settings(max_examples=4, derandomize=True, database=None, deadline=None, phases=[Phase.generate])

s, t, u, w, y = (Symbol(name, real=True) for name in "stuwy")
a, b, c = (Symbol(name, positive=True) for name in "abc")


def assert_same(rule: Rule, before: Expr, values: dict[str, Any] | None = None, within: float = 0.0) -> Expr:
    after = rule.rewrite(before)
    assert after != before
    one, two = (referee(side, values or {}, digits=13) for side in (before, after))
    allowed = 10 * float(one.error + two.error) + within + 1e-12 * abs(float(one.value))
    assert abs(float(one.value - two.value)) <= allowed, f"{one.value} is not {two.value}: {after}"
    return after


def assert_refused(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        rule.rewrite(expr)


def conditions(rule: Rule, expr: Expr) -> set[Any]:
    return {hypothesis.condition for hypothesis in rule.hypotheses(expr)}


@st.composite
def curves(draw: st.DrawFn) -> Expr:
    """A smooth function of t, s and a mean that depends on both."""
    p, q = draw(nonzero), draw(positive)
    mean = ScalarExpectation(log(1 + q * (t - s) ** 2 * u**2), u, normal())
    still = ScalarExpectation(log(1 + q * u**2), u, normal())
    forms = [
        t**2 * exp(p * s) + p * t,
        exp(still * t * s) + still**2,
        sin(p * t) / (q + t**2),
        mean**2 * t + p,
        exp(p * mean) - t * s,
        tanh(p * t) * mean,
    ]
    return draw(st.sampled_from(forms))


PLACE = {"s": Rational(2, 7), "t": Rational(-3, 5), "a": Rational(5, 7), "b": Rational(4, 3), "c": Rational(1, 3)}


# calculus


@SOME
@given(curves(), curves(), nonzero)
def test_Differentiate_gives_the_slope(one: Expr, two: Expr, p: Expr) -> None:
    after = assert_same(Differentiate(), p * Derivative(one, t) * Derivative(two + p, s) + Derivative(two, t), PLACE)
    assert all(isinstance(slope.expr, ScalarExpectation) for slope in after.atoms(Derivative))
    assert after.free_symbols <= {s, t}
    assert_refused(Differentiate(), Derivative(one, t, t), "no first derivative")
    assert_refused(Differentiate(), Derivative(one, s, t), "no first derivative")


@FEW
@given(smooth(), positive)
def test_DifferentiateMean_gives_the_slope(h: Expr, p: Expr) -> None:
    mean = ScalarExpectation(tanh(h.subs(x, u) * s) + s * u**2, u, normal(p))
    before = Derivative(mean, s)
    assert_same(DifferentiateMean(), p + before, PLACE)
    assert len(DifferentiateMean().hypotheses(p + before)) == 1
    assert DifferentiateMean().hypotheses(Derivative(s * mean, s)) == ()
    assert_refused(DifferentiateMean(), Derivative(ScalarExpectation(h.subs(x, u), u, normal(a, p)), a), "depends on a")
    assert_refused(DifferentiateMean(), Derivative(ScalarExpectation(h.subs(x, u), u, normal(p, a)), a), "depends on a")
    assert_refused(DifferentiateMean(), Derivative(mean, s, s), "no first derivative")


@SOME
@given(nonzero, nonzero, positive)
def test_ChainRule_and_PutInPlace_give_the_slope(p: Expr, q: Expr, r: Expr) -> None:
    outer = exp(p * u) * w**2 + sin(q * w) * y
    inner = {u: t**2 - r, w: cos(p * t) + t, y: S(1) / 3 + 0 * t}
    along = outer.subs(inner, simultaneous=True)
    rule = ChainRule(outer, inner)
    for before in (Derivative(along, t), q * At.of(Derivative(along, t), {t: r}) + Derivative(along, t)):
        after = assert_same(rule, before, PLACE, 1e-9)
        in_place = PutInPlace().rewrite(Differentiate().rewrite(after))
        assert not in_place.has(At, Derivative)
        assert float(in_place.subs(t, PLACE["t"])) == pytest.approx(float(referee(before, PLACE, 13).value), rel=1e-6)
    for other in (Derivative(along + t, t), Derivative(along, t, t), t * outer):
        assert rule.rewrite(other) == other
    assert_refused(ChainRule(outer, {u: w**2}), Derivative(outer.subs(u, w**2), w), "besides the parameter")


@FEW
@given(nonzero, positive)
def test_PutInPlace_swaps_symbols_and_waits_for_slopes(p: Expr, r: Expr) -> None:
    body = p * u**2 - exp(w) * u
    after = PutInPlace().rewrite(r + At.of(body, {u: w + p, w: u * r}))
    numbers = {u: 0.7, w: -0.3}
    meant = p * (w + p) ** 2 - exp(u * r) * (w + p)
    assert float((after - r - meant).subs(numbers)) == pytest.approx(0, abs=1e-13)
    waiting = At.of(Derivative(Function("f")(u), u) * u, {u: r})
    assert PutInPlace().rewrite(waiting) == waiting
    assert PutInPlace().rewrite(At.of(Derivative(Function("f")(w), w) * u, {u: r})).has(r)


@SOME
@given(nonzero, nonzero, positive)
def test_SlopeOfOddPart_gives_the_slope(p: Expr, q: Expr, r: Expr) -> None:
    function = exp(p * u + q * w) * (r + u + w**2) / (2 + cos(w) + y**2)
    zero = {u: S.Zero, w: S.Zero}
    for variable in (u, w):
        before = At.of(Derivative(function, variable), {**zero, y: r})
        after = assert_same(SlopeOfOddPart(u, w), p + before, PLACE, 1e-9)
        assert after.has(cos)
    even = At.of(Derivative(function + function.subs({u: -u, w: -w}, simultaneous=True), u), zero)
    assert SlopeOfOddPart(u, w).rewrite(even) == 0
    elsewhere = At.of(Derivative(function, u), {u: S.Zero, w: r})
    assert_refused(SlopeOfOddPart(u, w), elsewhere, "is not taken where")
    assert_refused(SlopeOfOddPart(u, w), At.of(Derivative(function, u), {u: S.Zero}), "is not taken where")
    other = At.of(Derivative(function, y), {**zero, y: r})
    assert SlopeOfOddPart(u, w).rewrite(other) == other


@SOME
@given(nonzero, nonzero, positive)
def test_SolveLinear_gives_the_root_or_refuses(p: Expr, q: Expr, r: Expr) -> None:
    assert_same(SolveLinear(), r + Solution((t + p) * (a + r) - q * b + 2 * a * t, t), PLACE)
    (condition,) = conditions(SolveLinear(), Solution(p * s * t + q, t))
    assert condition in (Ne(p * s, 0), Ne(s, 0))
    assert conditions(SolveLinear(), Solution(r * a * t + q, t)) == set()
    assert_refused(SolveLinear(), Solution(p * t**2 + q * t, t), "is not linear")
    assert_refused(SolveLinear(), Solution(p * t + exp(q * t), t), "is not linear")
    assert_refused(SolveLinear(), Solution(p * s + q, t), "does not depend on")


# asymptotics: exact rules


LAWS = st.sampled_from([STANDARD_NORMAL, normal(Rational(1, 3), Rational(9, 4))])
LOGISTIC = 1 / (1 + exp(-x))


@FEW
@given(LAWS, positive, nonzero)
def test_Convolution_keeps_the_mean(law: ScalarLaw, rate: Expr, place: Expr) -> None:
    rule = Convolution(GUMBEL, rate, y)
    below = GUMBEL.subs(x, rate * (y - u))
    density = diff(GUMBEL, x).subs(x, rate * (y - u))
    for body in (below, (u**2 + 3) * density * 5):
        after = assert_same(rule, ScalarExpectation(body, u, law), {"y": place}, 1e-10)
        assert u not in after.atoms(Symbol)
    apart = ScalarExpectation(u**2, u, law)
    assert rule.rewrite(apart) == apart
    assert_refused(rule, ScalarExpectation(below**2, u, law), "no function of")
    assert_refused(rule, ScalarExpectation(exp(y * u), u, law), "no function of")
    for wrong, speed in ((1 - LOGISTIC, rate), (2 * LOGISTIC, rate), (LOGISTIC, -rate), (GUMBEL - 1, rate)):
        with pytest.raises(ValueError, match="expected a distribution function"):
            Convolution(wrong, speed, y)


@FEW
@given(nonzero, positive, smooth())
def test_densities_are_moved_written_and_read(m: Expr, v: Expr, h: Expr) -> None:
    body = 1 / (1 + h.subs(x, u) ** 2) + u**2
    before = 2 - ScalarExpectation(body, u, normal(m, v))
    written = WriteDensity().rewrite(before)
    assert not written.has(ScalarExpectation)
    read = ReadDensity(normal(0, v + 1)).rewrite(written)
    assert not read.has(Integral)
    values = [float(referee(line, {}, 9).value) for line in (before, Centre().rewrite(before), written, read)]
    assert values == pytest.approx([values[0]] * 4, rel=1e-8)
    for odds in (exp(u / 2) / (1 + exp(u)), exp(u) / (1 + exp(u)) ** 2):
        symmetric = ScalarExpectation(v * odds, u, normal(0, v))
        assert WriteDensity().rewrite(symmetric).has(cosh)
        assert_same(WriteDensity(), symmetric, within=1e-11)
    centred = ScalarExpectation(body, u, normal(0, v))
    assert Centre().rewrite(centred) == centred
    assert_refused(Centre(), ScalarExpectation(body, u, laplace()), "is not Gaussian")
    assert_refused(ReadDensity(ScalarLaw(exp(-(x**2)) * Abs(x))), Integral(h, (x, -oo, oo)), "known to be positive")
    half = Integral(exp(-(u**2)), (u, 0, oo))
    assert ReadDensity(STANDARD_NORMAL).rewrite(half) == half


@FEW
@given(nonzero, positive, positive)
def test_Substitute_takes_exponentials_into_a_power(p: Expr, q: Expr, r: Expr) -> None:
    """u^n exp(-r u) E[h]^m, as a Laplace representation leaves it: two exponentials meet each mean."""
    inner = ScalarExpectation(exp(-a * q / (1 + x**2)), x, normal(p))
    for n, m in ((1, 2), (0, 1), (2, -1)):
        before = Integral(a**n * exp(-(r + 2) * a) * inner**m, (a, 0, oo))
        after = assert_same(Substitute(exp(-y), y), before, within=1e-10)
        (mean,) = after.atoms(ScalarExpectation)
        assert y in mean.free_symbols


@FEW
@given(nonzero, positive, positive)
def test_Substitute_keeps_the_integral(p: Expr, q: Expr, r: Expr) -> None:
    line = Integral(exp(-q * u**2 + p * u), (u, -oo, oo))
    ray = r * Integral(exp(-q * u) / (1 + u), (u, 0, oo))
    assert_same(Substitute(sinh(y), y), line, within=1e-11)
    assert_same(Substitute(p * y + r, y), line, within=1e-11)
    assert_same(Substitute(r - log(c), c, 0, oo), line, within=1e-11)
    for function in (exp(-y), exp(y / q)):
        assert_same(Substitute(function, y), ray, within=1e-11)
        assert Substitute(function, y).rewrite(line) == line
    for function in (y**2, cos(y), p + 0 * y, s * y):
        assert_refused(Substitute(function, y), line, "strictly monotone")
    assert_refused(Substitute(sinh(y), y), line + y, "has a meaning already")


@SOME
@given(positive, positive, nonzero, st.integers(0, 3))
def test_GammaIntegral_keeps_the_integral(p: Expr, r: Expr, q: Expr, n: int) -> None:
    for body in (r * u ** (p + n - Rational(1, 9)), q * exp(n * log(a)) * r):
        before = Integral((body * exp(-u)).subs(u, a), (a, 0, oo))
        assert_same(GammaIntegral(), q + before, within=1e-9)
        assert not GammaIntegral().hypotheses(before)
    (condition,) = conditions(GammaIntegral(), Integral(a ** (s + q) * exp(-a), (a, 0, oo)))
    assert condition.subs(s, 1 - q) == S.true
    assert condition.subs(s, -1 - q) == S.false
    assert_refused(GammaIntegral(), Integral(a ** (-1 - p) * exp(-a), (a, 0, oo)), "diverges")
    others = ((a**p * exp(-2 * a), oo), (a**p * exp(-a), 1), (exp(-(a**2)), oo))
    for other in (Integral(body, (a, 0, end)) for body, end in others):
        assert GammaIntegral().rewrite(other) == other


@SOME
@given(positive, nonzero, nonzero, st.sampled_from([1, 2]))
def test_SechTransform_keeps_the_integral(rate: Expr, frequency: Expr, p: Expr, power: int) -> None:
    before = Integral(p * cos(frequency * x) / cosh(rate * x) ** power, (x, -oo, oo))
    after = assert_same(SechTransform(), 1 + before, within=1e-11)
    assert not after.has(Integral)
    assert_refused(SechTransform(), Integral(cos(x) / cosh(rate * s * x) ** power, (x, -oo, oo)), "not known")
    for other in (Integral(cos(x) / cosh(x) ** 3, (x, -oo, oo)), Integral(sin(x) / cosh(x), (x, 0, oo))):
        assert SechTransform().rewrite(other) == other


@FEW
@given(positive, positive)
def test_TransformMoments_of_even_powers_alone(rate: Expr, p: Expr) -> None:
    rule = TransformMoments(sech_transform(1), FREQUENCY)
    for degree in (0, 2, 6):
        before = Integral(p * x**degree / cosh(rate * x), (x, -oo, oo))
        assert not assert_same(rule, before, within=1e-9).has(Integral)
    assert_refused(rule, Integral(x**3 / cosh(rate * x), (x, -oo, oo)), "no even moment")
    assert_refused(rule, Integral(x**2 / cosh(s * x), (x, -oo, oo)), "is not known to be positive")
    moments = TransformMoments(gumbel_transform(), ANGLE)
    with pytest.raises(RuleRefused, match="about another law"):
        moments.moment(2, STANDARD_NORMAL)
    other = ScalarExpectation(u**2, u, STANDARD_NORMAL)
    assert moments.rewrite(other) == other
    with pytest.raises(ValueError, match="expected the exact mean"):
        TransformMoments(sech_transform(1), ANGLE)


@FEW
@given(nonzero, positive, positive)
def test_TakeLimit_is_where_values_go(p: Expr, q: Expr, r: Expr) -> None:
    for body in ((p * a + 1) / (q * a + r), r + exp(-q * a) * a**2, sqrt(a**2 + q * a) - a):
        assert_same(TakeLimit(), p * Limit(body, a, oo), within=1e-7)
    assert_refused(TakeLimit(), Limit(ScalarExpectation(tanh(a * x + p), x, STANDARD_NORMAL), a, oo), "stands inside")
    still = ScalarExpectation(tanh(x + p), x, STANDARD_NORMAL)
    assert TakeLimit().rewrite(Limit(still + q * still**2 / a, a, oo)) == still
    assert_refused(TakeLimit(), Limit(Function("f")(a) * q, a, oo), "finds no limit")


# asymptotics: truncated rules


def assert_within(rule: Any, before: Expr, values: dict[str, Any]) -> None:
    """The error is no more than the remainder, and not zero."""
    exact, kept, bound = (
        float(referee(e, values, 13).value) for e in (before, rule.rewrite(before), rule.remainder(before))
    )
    assert 0 < abs(exact - kept) <= bound * (1 + 1e-9), (exact, kept, bound)


@SOME
@given(nonzero, positive, positive, st.integers(1, 4))
def test_GeometricSeries_stays_within_its_remainder(p: Expr, q: Expr, r: Expr, order: int) -> None:
    before = r + p / (q + b * c)
    for far in (Rational(1, 2), 7, 90):
        assert_within(GeometricSeries(c, order), before, {"b": r, "c": far})
        assert_within(GeometricSeries(c, order), (1 + p / (-q - c)) ** 2, {"c": far + 9})
    assert conditions(GeometricSeries(c, order), before) == set()
    (condition,) = conditions(GeometricSeries(c, order), p / (s + c))
    assert [condition.subs(s, place) for place in (-1, 1)] == [S.false, S.true]
    rule = GeometricSeries(c, order)
    assert_refused(rule, p / (q - r * c), "opposite signs")
    assert_refused(rule, p / (q + c**2), "no ratio")
    assert_refused(rule, exp(p * c), "no rational function|polynomial")
    for wrong in (lambda: GeometricSeries(c, 0), lambda: GeometricSeries(s, order)):
        with pytest.raises(ValueError, match="expected"):
            wrong()


@SOME
@given(positive, nonzero, st.integers(1, 3))
def test_GaussianTaylor_stays_within_its_remainder(v: Expr, p: Expr, order: int) -> None:
    for h in (p / cosh(x / 2), (x**2 - p) / cosh(x), exp(-Abs(x)) * p):
        before = Integral(exp(-(x**2) * v / 4) * h, (x, -oo, oo))
        assert_within(GaussianTaylor(order), before, {})
    assert_refused(GaussianTaylor(order), Integral(exp(v * x**2) / cosh(x), (x, -oo, oo)), "known to be positive")
    assert_refused(GaussianTaylor(order), Integral(exp(s * x**2) / cosh(x), (x, -oo, oo)), "known to be positive")
    assert_refused(GaussianTaylor(order), Integral(exp(-v * x**2) / cosh(x), (x, 0, oo)), "no integral over the line")
    assert_refused(GaussianTaylor(order), Integral(exp(-v * x**4), (x, -oo, oo)), "no integral over the line")
    with pytest.raises(ValueError, match="at least 1"):
        GaussianTaylor(0)


@FEW
@given(positive, nonzero, st.sampled_from([Rational(1, 3), Rational(1, 2), S.One]))
def test_DropFromDenominator_stays_within_its_remainder(q: Expr, shift: Expr, theta: Expr) -> None:
    """E_g[kappa(chi_j)/sum_l kappa(chi_l)] at L = 3, by the referee; the bound is on what is left out."""
    kernel, law = exp(q * x), SequenceLaw(exp(shift * chi[epsilon] - shift**2 / 2), L)
    before = SequenceExpectation(kernel.subs(x, chi[j]) / Sum(kernel.subs(x, chi[l]), (l, 1, L)), law)
    rule = DropFromDenominator(theta)
    exact, kept, bound = (
        float(referee(e, {"L": 3}, 7).value) for e in (before, rule.rewrite(before), rule.remainder(before))
    )
    assert 0 < kept - exact <= bound
    selected = SequenceLaw(L * exp(chi[epsilon]) / Sum(exp(chi[l]), (l, 1, L)), L)
    assert_refused(rule, SequenceExpectation(before.body, selected), "the weight")
    part = SequenceExpectation(chi[j] / Sum(kernel.subs(x, chi[l]), (l, 1, L - 1)), law)
    assert_refused(rule, part, "no sum over all tokens")
    signed = SequenceExpectation(chi[j] / Sum(chi[l], (l, 1, L)), law)
    assert_refused(rule, signed, "known to be positive")
    for wrong in (0, Rational(3, 2), -theta):
        with pytest.raises(ValueError, match="theta"):
            DropFromDenominator(wrong)


DENSITY = exp(-(x**2) / 2) / sqrt(2 * pi)
GUMBEL_LAW = ScalarLaw(GUMBEL.diff(x))
MOMENTS = TransformMoments(gumbel_transform(), ANGLE)


def smoothed(h: Expr, width: Expr) -> Expr:
    """E_S h(y - t S)."""
    return ScalarExpectation(h.subs(x, y - width * s), s, GUMBEL_LAW)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_SmoothingTaylor_of_two_densities(order: int) -> None:
    """int (E_S phi(y - tS))^2 dy = E[exp(-t^2 (S - S')^2/4)]/sqrt(4 pi): 1 - t^2 Var S/2 + ..., Var S = pi^2/6."""
    rule = SmoothingTaylor(a, order, MOMENTS)
    before = Integral(smoothed(DENSITY, a) ** 2, (y, -oo, oo))
    kept = rule.rewrite(before)
    meant = (1 - (a * pi) ** 2 / 12 if order > 2 else S.One) / sqrt(4 * pi)
    at = {"a": Rational(2, 7)}
    assert float(referee(kept, at, 12).value) == pytest.approx(float(meant.subs(a, at["a"])), rel=1e-10)
    for width in (Rational(1, 9), Rational(1, 3)):
        exact = float(referee(before.subs(a, width), {}, 9).value)
        bound = float(referee(rule.remainder(before), {"a": width}, 9).value)
        assert abs(exact - float(referee(kept, {"a": width}, 12).value)) <= bound < 1


@settings(FEW, max_examples=1)
@given(positive, nonzero)
def test_SmoothingTaylor_keeps_what_a_translation_keeps(width: Expr, p: Expr) -> None:
    """int E_S[Q phi](y - tS) dy = E[Q] at every t, and int E Phi E phi dy = 1/2 by symmetry: no power of t is left."""
    rule = SmoothingTaylor(width, 3, MOMENTS)
    for polynomial, value in ((p + x, p), (x**2 + p * x**3, 1)):
        before = Integral(3 * smoothed(polynomial * DENSITY, width), (y, -oo, oo))
        assert float(referee(rule.rewrite(before), {}, 9).value) == pytest.approx(float(3 * value), abs=1e-7)
    tie = Integral(smoothed(NormalCdf(x), width) * smoothed(DENSITY, width), (y, -oo, oo))
    kept = rule.rewrite(tie)
    assert float(referee(kept, {}, 9).value) == pytest.approx(0.5, abs=1e-7)
    refused = {
        "no factor known to be integrable": smoothed(NormalCdf(x), width),
        "neither Phi": smoothed(erf(x), width),
        "no mean of a function of": smoothed(DENSITY, 2 * width),
        "is no power of an expectation": smoothed(DENSITY, width) * exp(-(y**2)),
        "nonnegative integer": smoothed(DENSITY, width) / smoothed(NormalCdf(x), width),
    }
    for reason, body in refused.items():
        assert_refused(rule, Integral(body, (y, -oo, oo)), reason)
    assert_refused(rule, Integral(smoothed(DENSITY, width), (y, 0, oo)), "no integral over the line")
    for wrong in (lambda: SmoothingTaylor(-width, 1, MOMENTS), lambda: SmoothingTaylor(width, 0, MOMENTS)):
        with pytest.raises(ValueError, match="expected"):
            wrong()
