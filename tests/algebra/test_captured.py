"""What is put in keeps its meaning: a sum, an integral or a mean that runs over the same letter does not catch it.

All lines here but one were rewritten into false ones once: at the letters that stand in them both sides have other values.
"""

from __future__ import annotations

import pytest
from sympy import Expr, Integral, KroneckerDelta, Mod, Product, Rational, S, Sum, Symbol, cosh, exp, oo, tanh

from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    Centre,
    ChainPrecision,
    ChainRule,
    Convolution,
    GivenNumberRelevant,
    IndependentRelevance,
    IndependentTokens,
    InterchangeSums,
    MarkedTerm,
    OneRelevantToken,
    PutInPlace,
    RankOnePrecision,
    ReadDensity,
    ShiftKeys,
    StackedBlocks,
    Substitute,
    SumOfDeltas,
    TransformMoments,
    WriteDensity,
)
from symslr.expression.at import At
from symslr.expression.configuration import (
    ConfigurationExpectation,
    ConfigurationMean,
    Precision,
    ShiftedDensity,
    exactly,
)
from symslr.expression.expectation import ScalarExpectation
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, r, theta
from symslr.model.scalar_law import STANDARD_NORMAL, laplace, normal
from symslr.model.symbols import L, chi, i, j, l, m, x
from symslr.referee.referee import referee
from symslr.theory.asymptotics import FREQUENCY, GUMBEL, RATE, sech_transform

a, b = Symbol("a", positive=True), Symbol("b", positive=True)
t, u, v, y = (Symbol(name, real=True) for name in "tuvy")
k, row, g = (Symbol(name, integer=True) for name in ("k", "row", "g"))
COINS = ConfigurationPrior(Product(exp(r[l] / 3), (l, 1, L)), ONE, L)
PLAIN = ConfigurationPrior(exactly(1, L), ONE, L)
MOVED = ConfigurationLaw(PLAIN, ShiftedDensity.of((Sum(r[m] * KroneckerDelta(l, m + 1), (m, 1, L)),), ALIKE, L))
TILTED = ConfigurationLaw(COINS, ShiftedDensity.of((r[l],), ALIKE, L))


FOUR = Sum(row * Mod(k, 2), (row, 1, 4))


def tokens(summand: Expr, index: Expr) -> Sum:
    return Sum(summand, (index, 1, L))


def smeared(index: Expr) -> Expr:
    """exp(sum_i r_i i sum_index chi_index)."""
    return exp(tokens(r[i] * tokens(i * chi[index], index), i) / 9)


def one(body: Expr, variable: Expr = u) -> ScalarExpectation:
    return ScalarExpectation(body, variable, STANDARD_NORMAL)


@pytest.mark.parametrize(
    ("rule", "expr"),
    [
        (OneRelevantToken(), ConfigurationMean(r[l] * smeared(l), PLAIN)),
        (IndependentRelevance(), ConfigurationMean(r[j] * smeared(j), COINS)),
        (GivenNumberRelevant(), ConfigurationMean(r[j] * smeared(j), PLAIN)),
        (RankOnePrecision(), tokens(Precision(ALIKE + 1, l, j, L) * tokens(j * chi[l], l), j)),
        (ChainPrecision(), tokens(Precision(Rational(1, 3) ** abs(l - m), l, j, L) * tokens(j * chi[l], l), j)),
        (ShiftKeys(), ConfigurationExpectation(tokens(m * chi[m], m), MOVED)),
        (IndependentTokens(), ConfigurationExpectation(tokens(l * chi[m] * r[m], m), TILTED)),
        (SumOfDeltas(k), Sum(row * Sum(KroneckerDelta(k, row) * Sum(row * k, (row, 1, 3)), (k, 1, 3)), (row, 1, 3))),
        (
            MarkedTerm(k),
            Sum(row * Sum(KroneckerDelta(k, row) * Product(row + k, (row, 1, 3)) + k, (k, 1, 3)), (row, 1, 3)),
        ),
        (StackedBlocks(k, g), Sum(row * Sum(KroneckerDelta(k, row) * FOUR + Mod(k, 2), (k, 1, 4)), (row, 1, 4))),
        (StackedBlocks(k, g), Sum(Mod(k, 3), (k, 1, 3 * g))),
        (InterchangeSums(k), Sum(k * Sum(k + row, (row, 1, 2)), (k, 1, row))),
        (WriteDensity(), one(x * one(tanh(u * x)), x)),
        (ReadDensity(STANDARD_NORMAL), Integral(x * t**2 * exp(-(t**2)), (t, -oo, oo))),
        (Centre(), ScalarExpectation(x + tanh(u), u, normal(1))),
        (Substitute(exp(-y), y), Integral(v * exp(-v) * Integral(exp(-v * y**2), (y, 0, 1)), (v, 0, oo))),
        (Substitute(exp(-y), y), Integral(v * exp(-v) * one(exp(-v * y**2), y), (v, 0, oo))),
        (PutInPlace(), At.of(Sum(t * row**2, (row, 1, 3)), {t: row})),
        (PutInPlace(), At.of(Integral(t * y**2, (y, 1, 3)), {t: y})),
        (PutInPlace(), At.of(one(t * y**2, y), {t: y})),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, Rule) else "",
)
def test_refused(rule: Rule, expr: Expr) -> None:
    with pytest.raises(RuleRefused, match=r"would catch|stands free|has a meaning|the limits of"):
        rule.rewrite(expr)


def test_other_letters_are_put_in() -> None:
    """The same lines with a letter of their own inside keep their value."""
    inside = Sum(KroneckerDelta(k, row) * Sum(g * k, (g, 1, 3)), (k, 1, 3))
    for rule, line in (
        (SumOfDeltas(k), Sum(row * inside, (row, 1, 3))),
        (PutInPlace(), At.of(Sum(t * row**2, (row, 1, 3)), {t: S(2)}) + 1),
        (StackedBlocks(k, g), Sum(Mod(k, 3) + Product(row, (row, 1, 3)), (k, 1, 6))),
    ):
        after = rule.rewrite(line)
        assert after != line
        assert float(referee(after, {}, 9).value) == pytest.approx(float(referee(line, {}, 9).value))


def test_an_exponential_of_a_letter_stays_outside_of_a_mean_over_it() -> None:
    line = Integral(b**t * one(exp(-b * (2 + t**2)), t), (b, 0, oo))
    after = Substitute(exp(-y), y).rewrite(line)
    at = {"t": Rational(4, 3)}
    assert after != line
    assert float(referee(after, at, 9).value) == pytest.approx(float(referee(line, at, 9).value))


def test_the_formula_of_a_coordinate_is_caught_by_no_sum() -> None:
    with pytest.raises(RuleRefused, match="would catch"):
        ChainRule(Sum(u * row, (row, 1, 3)), {u: row * t})


def test_the_variable_of_an_integral_is_no_parameter_of_a_transform() -> None:
    moments = TransformMoments(sech_transform(1), FREQUENCY)
    line = Integral(RATE**2 / cosh(RATE**2), (RATE, -oo, oo))
    assert moments.rewrite(line) == line


def test_a_convolution_takes_real_letters_of_its_own() -> None:
    rule, density = Convolution(GUMBEL, a, y), GUMBEL.diff(x).subs(x, a * (y - u))
    for s in (Symbol("s", real=True), Symbol("s_2", real=True)):
        mean = rule.rewrite(one(density * Integral(tanh(s * u), (s, 0, 1))))
        (inner,), (outer,) = mean.atoms(Integral), mean.atoms(ScalarExpectation)
        assert inner.variables == [s]
        assert outer.variable in inner.free_symbols
    below = rule.rewrite(ScalarExpectation(GUMBEL.subs(x, a * (y - u)), u, laplace()))
    assert all(letter.is_real for node in below.atoms(Integral) for letter in node.variables)
    assert below.variable.is_real


def test_a_signal_that_is_always_one_is_put_in_and_parameters_stay() -> None:
    plain = ConfigurationExpectation(tokens(chi[l] ** 2 * r[l], l), TILTED)
    tilted = ConfigurationLaw(COINS, ShiftedDensity.of((theta * r[l],), ALIKE, L))
    known = IndependentTokens().rewrite(plain)
    for body in (tokens(theta * chi[l] ** 2 * r[l], l), tokens(chi[m] ** 2 * r[m], m)):
        assert IndependentTokens().rewrite(ConfigurationExpectation(body, tilted)) == known
    times = IndependentTokens().rewrite(ConfigurationExpectation(tokens(x * chi[l] ** 2 * r[l], l), TILTED))
    (mean,) = times.atoms(ScalarExpectation)
    assert mean.variable != x
    values = [float(referee(line, {"L": 2, "b": 3}, 9).value) for line in (times.subs(x, b), known)]
    assert values[0] == pytest.approx(3 * values[1])
