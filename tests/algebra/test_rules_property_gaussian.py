"""Random expressions: rules about Gaussian variables keep the value of what they admit and refuse the rest.

The tests of a rule carry its name: ``pytest tests/algebra -k Stein``.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Abs,
    Expr,
    Ge,
    Integral,
    Lt,
    Ne,
    Rational,
    S,
    Sum,
    Symbol,
    erf,
    exp,
    sign,
    sqrt,
    tanh,
)

from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    CameronMartin,
    GaussianErf,
    GaussianMoments,
    GaussianProjection,
    LaplaceRepresentation,
    Parity,
    RotateNoise,
    Stein,
    TurnTowardsKey,
    WriteTokensOut,
)
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.special import NormalCdf, OwensT, SkewNormal
from symslr.model.attention import Attention
from symslr.model.scalar_law import STANDARD_NORMAL, laplace, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, eta, j, k, l, m, x, xi, z, zeta
from tests.algebra import strategies as random
from tests.algebra.both_sides import (
    FEW,
    SOME,
    assert_exact,
    assert_left,
    assert_refused,
    assert_same,
    conditions,
    mean,
    offset,
    scale,
)
from tests.algebra.brute import brute
from tests.algebra.strategies import KEY, UNWEIGHTED, token, total


@SOME
@given(random.spikes(), random.smooth(), random.smooth())
def test_CameronMartin_keeps_the_mean(law: SequenceLaw, f: Expr, h: Expr) -> None:
    before = mean(tanh(token(f)) * total(h) * z[epsilon] ** 2, law)
    assert_same(before, CameronMartin().rewrite(before))


@SOME
@given(random.spikes(), random.token_polynomials())
def test_CameronMartin_is_exact_at_any_length(law: SequenceLaw, body: Expr) -> None:
    assert_exact(mean(body, law), CameronMartin().rewrite(mean(body, law)), (1, 5))


@FEW
@given(random.nonzero, random.smooth())
def test_CameronMartin_on_scalars(s: Expr, h: Expr) -> None:
    before = ScalarExpectation(exp(s * x - s) * exp(x / 3) * tanh(h), x, STANDARD_NORMAL)
    assert_same(before, CameronMartin().rewrite(before), (1,))
    assert_left(CameronMartin(), ScalarExpectation(exp(s * x / 2) * h, x, laplace()))


@FEW
@given(random.weights(), random.spikes())
def test_CameronMartin_refuses_other_weights(law: SequenceLaw, spike: SequenceLaw) -> None:
    try:
        CameronMartin().rewrite(mean(KEY, law))
        assert_same(mean(KEY, law), CameronMartin().rewrite(mean(KEY, law)))
    except RuleRefused:
        assert law.weight.func != exp
    assert_refused(CameronMartin(), mean(ConditionalMean(z[epsilon], spike) ** 2, spike), "conditional mean")
    other = SequenceLaw(spike.weight, L, laplace())
    assert_refused(CameronMartin(), mean(KEY, other), "not a function of one standard normal token")
    for base in (STANDARD_NORMAL, laplace()):
        assert_left(CameronMartin(), mean(KEY * total(tanh(x)) * (KEY + 1), SequenceLaw(S.One, L, base)))


@SOME
@given(random.smooth(), random.kinked(), random.kernels())
def test_Stein_keeps_the_mean(f: Expr, h: Expr, kernel: Expr) -> None:
    for body in (KEY * token(f) * tanh(token(h)), KEY**2 * token(h) / total(kernel), KEY * token(f) * total(h)):
        assert_same(mean(body), Stein().rewrite(mean(body)))


@SOME
@given(random.token_polynomials())
def test_Stein_is_exact_at_any_length(body: Expr) -> None:
    product = body.expand() * KEY if body.is_Mul else KEY * body
    assert_exact(mean(product), Stein().rewrite(mean(product)), (1, 5))


@SOME
@given(random.jumping(), random.smooth(), random.weights())
def test_Stein_refuses_jumps_and_weights(jump: Expr, h: Expr, law: SequenceLaw) -> None:
    reason = "absolutely continuous|does not exist"
    assert_refused(Stein(), mean(KEY * token(jump) ** 3), reason)
    assert_refused(Stein(), mean(KEY * total(jump) * token(h)), reason)
    assert_refused(Stein(), mean(KEY * token(h), law), "reweighted")
    assert_refused(Stein(), mean(KEY * token(tanh(h)), SequenceLaw(S.One, L, laplace())), "not standard normal")
    for pole in (1 / Abs(KEY - scale), Abs(KEY) ** Rational(-1, 2), Abs(KEY + 1) ** KEY, 1 / sqrt(Abs(KEY**2 - 1))):
        assert_refused(Stein(), mean(KEY * pole * token(h)), "absolutely continuous")
    assert Stein().match(mean(KEY * token(tanh(h)) * sign(scale)))
    assert_refused(Stein(), mean(KEY * exp(KEY**2 / 2)), "does not exist")
    assert conditions(Stein(), mean(KEY * exp(scale * KEY**2))) == {Lt(scale - Rational(1, 2), 0)}


@SOME
@given(random.polynomials(), random.polynomials(), st.integers(0, 2), st.one_of(st.just(UNWEIGHTED), random.spikes()))
def test_GaussianMoments_is_exact_at_any_length(f: Expr, h: Expr, power: int, law: SequenceLaw) -> None:
    one = Sum(token(f, l) * z[l], (l, 1, L))
    two = Sum(token(h, m) * z[m], (m, 1, L))
    for body in (one * two * xi**2, one * z[epsilon] ** (2 * power + 1) * KEY, (one + zeta[epsilon]) ** 2 + z[j] * one):
        after = GaussianMoments().rewrite(mean(body, law))
        assert not after.atoms(Symbol) & {z.label, zeta.label, xi}
        assert_exact(mean(body, law), after, (3,))


@FEW
@given(random.polynomials(), random.spikes())
def test_GaussianMoments_of_the_relevant_token(f: Expr, law: SequenceLaw) -> None:
    before = mean(token(f) ** 2, law)
    after = GaussianMoments().rewrite(before)
    assert not after.has(SequenceExpectation)
    assert_exact(before, after, (1, 5))


@FEW
@given(random.parts(random.smooth()))
def test_GaussianMoments_refuses_partial_sums(part: Sum) -> None:
    some = Sum(part.function * z[l], *part.limits)
    assert_refused(GaussianMoments(), mean(some * Sum(z[l], (l, 1, L))), "does not run over the tokens")
    assert_refused(GaussianMoments(), mean(some * z[epsilon]), "does not run over the tokens")
    inner = Sum(z[m] * exp(Sum(chi[l] * chi[m], (l, 1, L))), (m, 1, L))
    assert_refused(
        GaussianMoments(), mean(Sum(z[l] * exp(Sum(chi[l] * chi[m], (m, 1, L))), (l, 1, L)) * inner), "would catch"
    )


@SOME
@given(random.nonzero, random.nonzero)
def test_GaussianErf_keeps_the_mean(slope: Expr, shift: Expr) -> None:
    for f in (erf(slope * x + shift), NormalCdf(slope * x + shift).definition()):
        before = ScalarExpectation((2 + f) ** 2 - shift * f, x, STANDARD_NORMAL)
        after = GaussianErf().rewrite(before)
        assert not after.has(ScalarExpectation)
        assert_same(before, after, (1,))


@FEW
@given(random.nonzero, random.nonzero)
def test_GaussianErf_of_the_distribution_function(slope: Expr, shift: Expr) -> None:
    phi = NormalCdf(slope * x + shift)
    after = GaussianErf().rewrite(ScalarExpectation(phi**2 + 3 * phi, x, STANDARD_NORMAL))
    plain = after.replace(SkewNormal, lambda h, s: NormalCdf(h) - 2 * OwensT(h, s))
    grid = ScalarExpectation(phi**2 + 3 * phi, x, STANDARD_NORMAL)
    one, two = (brute(side.replace(NormalCdf, lambda y: NormalCdf(y).definition()), {}) for side in (plain, grid))
    assert one == pytest.approx(two, abs=1e-7)


@FEW
@given(random.positive)
def test_GaussianErf_leaves_the_rest(s: Expr) -> None:
    for body, law in ((erf(s * x) * x, STANDARD_NORMAL), (erf(x**2), STANDARD_NORMAL), (erf(s * x), laplace())):
        assert_left(GaussianErf(), ScalarExpectation(body, x, law))


@SOME
@given(random.smooth(), random.kinked(), st.sampled_from([STANDARD_NORMAL, laplace(), student(5)]))
def test_Parity_only_where_the_mean_exists(f: Expr, h: Expr, law: Any) -> None:
    even = tanh(f) ** 2 + tanh(f.subs(x, -x)) ** 2
    assert Parity().rewrite(ScalarExpectation(x * even, x, law)) == 0
    assert_left(Parity(), ScalarExpectation(x * even, x, student(1)))
    assert_left(Parity(), ScalarExpectation(x**5 + x, x, student(4)))
    assert_left(Parity(), ScalarExpectation(even / x, x, law))
    assert_left(Parity(), ScalarExpectation(x * exp(x**2), x, law))
    assert_left(Parity(), ScalarExpectation(x * even, x, laplace(1)))
    assert_left(Parity(), ScalarExpectation(x * even + 1, x, law))


@FEW
@given(random.spikes(), st.integers(1, 3))
def test_WriteTokensOut_keeps_the_mean(law: SequenceLaw, length: int) -> None:
    at = SequenceLaw(law.weight, length)
    before = SequenceExpectation(Sum(chi[l] ** 2, (l, 1, length)) * KEY / (1 + Sum(exp(chi[l]), (l, 1, length))), at)
    assert_same(before, WriteTokensOut().rewrite(before), (length,))


@FEW
@given(random.smooth())
def test_WriteTokensOut_refuses_tokens_that_are_not_there(h: Expr) -> None:
    for length, other in ((1, j), (2, k), (1, k)):
        body = token(h) * Sum(chi[l] ** 2, (l, 1, length)) * chi[other]
        assert_refused(WriteTokensOut(), SequenceExpectation(body, SequenceLaw(S.One, length)), "do not have")
    part = SequenceExpectation(Sum(token(h, l), (l, 1, 2)), SequenceLaw(S.One, 3))
    assert_refused(WriteTokensOut(), part, "does not run over the tokens")


@FEW
@given(random.spikes(), random.nonzero, random.nonzero, random.smooth())
def test_GaussianProjection_keeps_the_mean(law: SequenceLaw, c: Expr, d: Expr, h: Expr) -> None:
    combination = c * KEY + d * chi[j]
    before = mean(tanh(h.subs(x, combination)), law)
    after = GaussianProjection(combination).rewrite(before)
    assert brute(after, {}, reach=3.6) == pytest.approx(brute(before, {L: 2}), abs=2e-5)


@FEW
@given(random.nonzero, random.nonzero)
def test_GaussianProjection_enforces_its_conditions(c: Expr, d: Expr) -> None:
    rule = GaussianProjection(c * KEY + d * chi[j])
    assert_refused(rule, mean(KEY * chi[j] * 3), "is not a function of")
    assert_refused(GaussianProjection(xi * KEY + chi[j]), mean(xi * KEY + chi[j]), "random coefficient")
    assert conditions(rule, mean((c * KEY + d * chi[j]) ** 2)) == {Ge(L, 2)}
    assert conditions(GaussianProjection(scale * KEY), mean(scale * KEY)) == {Ne(scale, 0)}


SQUARE, AFFINE = Attention(x**2, normaliser=None), Attention(2 + x, normaliser=None)


def loss(kernel: Attention, score: Expr) -> Expr:
    sigma = ScoredActivation.of(epsilon, kernel, score)
    return (z[epsilon] - Sum(sigma.at(l) * (z[l] + eta[l] / 3), (l, 1, L))) ** 2 + KEY * sigma


@FEW
@given(random.nonzero, random.nonzero, random.nonzero, random.spikes())
def test_RotateNoise_is_exact(a: Expr, b: Expr, c: Expr, law: SequenceLaw) -> None:
    for kernel in (AFFINE, SQUARE):
        before = mean(loss(kernel, a * chi[m] + b * z[m] + c * eta[m]), law)
        after = RotateNoise().rewrite(before)
        assert all(eta.label not in node.score.free_symbols for node in after.atoms(ScoredActivation))
        assert_exact(before, after, (2,) if kernel is AFFINE else (1,))


@FEW
@given(random.nonzero, random.nonzero, st.one_of(st.just(UNWEIGHTED), random.spikes()))
def test_TurnTowardsKey_is_exact(a: Expr, b: Expr, law: SequenceLaw) -> None:
    before = mean(loss(AFFINE, a * chi[m] + b * z[m]) + chi[j] * z[j], law)
    assert_exact(before, TurnTowardsKey().rewrite(before), (2,))


@FEW
@given(random.nonzero, random.nonzero)
def test_TurnTowardsKey_enforces_its_conditions(a: Expr, b: Expr) -> None:
    rule, score = TurnTowardsKey(), a * chi[m] + b * z[m]
    sigma = ScoredActivation.of(epsilon, AFFINE, score)
    assert_refused(rule, mean(sigma, SequenceLaw(S.One, L, laplace())), "not standard normal")
    assert_refused(rule, mean(sigma * Posterior(epsilon, UNWEIGHTED)), "functions of all tokens by name")
    assert_refused(rule, mean(Sum(sigma.at(l), (l, 1, L - 1))), "does not run over the tokens")
    assert_refused(rule, mean(sigma * chi[1]), "may belong to the relevant token")
    turned = ScoredActivation.of(epsilon, AFFINE, scale * chi[m])
    assert conditions(rule, mean(turned)) == {Ne(scale**2, 0)}
    rotated = ScoredActivation.of(epsilon, AFFINE, chi[m] + scale * eta[m])
    assert conditions(RotateNoise(), mean(rotated)) == {Ne(scale**2, 0)}


# laplace


@SOME
@given(random.kernels(), st.sampled_from([Rational(1, 2), S.One, Rational(5, 3), S(2), S(3)]), random.smooth())
def test_LaplaceRepresentation_keeps_the_mean(kernel: Expr, power: Expr, h: Expr) -> None:
    before = mean(tanh(token(h)) / (total(kernel) + 1) ** power)
    after = LaplaceRepresentation().rewrite(before)
    assert isinstance(after, Integral)
    assert_same(before, after)
    assert LaplaceRepresentation().hypotheses(before) == ()
    null = mean(tanh(token(h)) ** 2 / total((2 * x - 1) ** 2) ** (power / 3))
    assert isinstance(LaplaceRepresentation().rewrite(null), Integral)


@FEW
@given(random.smooth(), random.positive)
def test_LaplaceRepresentation_refuses_normalisers_that_vanish(h: Expr, s: Expr) -> None:
    from sympy import Heaviside, Max

    for kernel in (x, tanh(s * x), Max(x, 0), Heaviside(x), x**3 - s, Max(x - s, 0)):
        assert_refused(LaplaceRepresentation(), mean(tanh(token(h)) / total(kernel)), "not known to be positive")
    assert_refused(LaplaceRepresentation(), mean(token(h) / (total(exp(x)) - s)), "not known to be positive")


@FEW
@given(random.positive, random.smooth())
def test_LaplaceRepresentation_assumes_offsets(s: Expr, h: Expr) -> None:
    before = mean(tanh(token(h)) / (total(exp(s * x)) + offset))
    assert conditions(LaplaceRepresentation(), before) == {Ge(offset, 0)}
    positive = mean(tanh(token(h)) / (total(exp(s * x)) + Symbol("o", nonnegative=True)))
    assert conditions(LaplaceRepresentation(), positive) == set()
