"""Where a rule's conditions fail it refuses, in its own name and with the reason; every refusal is met, here or in its own test."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from sympy import (
    Derivative,
    Expr,
    Function,
    Heaviside,
    Integral,
    Limit,
    Max,
    Piecewise,
    Rational,
    S,
    Sum,
    Symbol,
    cos,
    cosh,
    exp,
    log,
    oo,
    sin,
)

import symslr.algebra
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    Algebra,
    AverageHiddenIndex,
    CameronMartin,
    Centre,
    ChangeOfMeasure,
    Conditioning,
    ConditionOnMaximum,
    Convolution,
    DropFromDenominator,
    Envelope,
    Exchangeability,
    GammaIntegral,
    GaussianMoments,
    GaussianProjection,
    GaussianTaylor,
    GeometricSeries,
    Independence,
    KeyScale,
    LaplaceRepresentation,
    LikelihoodRatio,
    Linearity,
    Minimise,
    Nishimori,
    ReadDensity,
    Reweight,
    RotateNoise,
    SechTransform,
    Selection,
    SmoothingTaylor,
    Stein,
    Substitute,
    SymmetricFactors,
    TakeLimit,
    TransformMoments,
    TurnTowardsKey,
    WriteTokensOut,
)
from symslr.expression.configuration import exactly
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.special import NormalCdf
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.configuration import ONE, ConfigurationLaw, ConfigurationPrior, r
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw, normal, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, eta, j, k, l, m, nu, x, xi, z
from symslr.theory.asymptotics import ANGLE, FREQUENCY, GUMBEL, LEVEL, gumbel_transform, sech_transform
from tests.algebra.cases import CASES

SPIKED, MAX, LARGEST = SpikedSLR().law, MaxSLR().law, MaxSLR(nu=oo).law
FREE = SPIKED.unweighted()
LAPLACE = CASES["laplace"].law
SELECTION = CASES["square selection"].law
KEY = chi[epsilon]
GAIN = Symbol("gain", positive=True)
SOFT = Activation.of(epsilon, softmax, a)
SCORED = ScoredActivation.of(epsilon, softmax, chi[m] + z[m])
LOCKED = SequenceLaw(exp(KEY * Sum(chi[l], (l, 1, L))), L)


def tokens(summand: Expr, index: Expr = l) -> Sum:
    return Sum(summand, (index, 1, L))


def mean(body: Expr, law: SequenceLaw = FREE) -> Expr:
    return SequenceExpectation(body, law)


SECH = TransformMoments(sech_transform(1), FREQUENCY)
GUMBEL_MOMENTS = TransformMoments(gumbel_transform(), ANGLE)
TAYLOR = SmoothingTaylor(1 / nu, 2, GUMBEL_MOMENTS)
TURN = Convolution(GUMBEL, nu, LEVEL)
DROP = DropFromDenominator(Rational(1, 3))


def smoothed(h: Expr, law: ScalarLaw = GUMBEL_MOMENTS.law) -> Integral:
    """int E_S h(y - S/nu) dy."""
    s = Symbol("s", real=True)
    return Integral(ScalarExpectation(h.subs(x, LEVEL - s / nu), s, law), (LEVEL, -oo, oo))


HIDDEN = ConfigurationLaw(ConfigurationPrior(exactly(1, L), ONE, L), S.One)

REFUSALS: list[tuple[Rule, Expr, str]] = [
    (AverageHiddenIndex(), mean(KEY, SPIKED), "unweighted law alone"),
    (AverageHiddenIndex(), mean(KEY * chi[j]), "others than epsilon"),
    (AverageHiddenIndex(), mean((KEY - ConditionalMean(KEY, SPIKED)) ** 2), "a conditional mean beside"),
    (AverageHiddenIndex(), mean(tokens(chi[l] * KEY) * tokens(chi[m] * KEY, m)), "uses both summation indices"),
    (AverageHiddenIndex(), mean(KEY * chi[l]), "stands free"),
    (AverageHiddenIndex(), mean(KEY * ScalarExpectation(exp(nu * KEY), nu, FREE.base)), "stands inside another"),
    (CameronMartin(), mean(KEY, MAX), "not a function of one standard normal token"),
    (CameronMartin(), mean(KEY, LAPLACE), "not a function of one standard normal token"),
    (CameronMartin(), mean(KEY, CASES["square"].law), "is not linear in chi_epsilon"),
    (CameronMartin(), mean(KEY, SequenceLaw(exp(KEY), L)), "is not normalised"),
    (CameronMartin(), mean(KEY * IsLargest.of(epsilon, L), SPIKED), "largest token does not shift"),
    (CameronMartin(), mean(tokens(chi[l] * KEY), SPIKED), "is not a function of chi"),
    (CameronMartin(), mean(ConditionalMean(KEY, SPIKED), SPIKED), "condition on X first"),
    (Centre(), ScalarExpectation(x**2, x, LAPLACE.base), "is not Gaussian"),
    (Conditioning(), ConditionalMean(r[1] * z[1], HIDDEN), "is no sum over tokens of values with coefficients"),
    (Conditioning(), mean(ConditionalMean(xi**2, SPIKED)), "not affine in the noise"),
    (Conditioning(), mean(ConditionalMean(Max(xi, 0), SPIKED)), "not affine in the noise"),
    (Conditioning(), mean(ConditionalMean(z[j], SPIKED)), "not a function of the relevant token"),
    (ConditionOnMaximum(), mean(IsLargest.of(j, L)), "another token than the relevant one"),
    (ConditionOnMaximum(), mean(IsLargest.of(epsilon, L), SPIKED), "the law is reweighted"),
    (ConditionOnMaximum(), mean(1 - IsLargest.of(epsilon, L)), "is not a factor of"),
    (ConditionOnMaximum(), mean(IsLargest.of(epsilon, L) * SOFT), "names of functions of the tokens"),
    (Exchangeability(), mean(tokens(chi[l] * z[l])), "not a function of chi"),
    (Exchangeability(), mean(tokens(chi[l] * KEY)), "not a function of chi"),
    (Exchangeability(), mean(tokens(l * chi[l])), "not a function of chi"),
    (Exchangeability(), mean(Sum(chi[l], (l, 1, L - 1))), "does not run over the tokens"),
    (Exchangeability(), mean(Sum(chi[l] * chi[m], (l, 1, L), (m, 1, L))), "does not run over the tokens"),
    (Exchangeability(), mean(tokens(1 / (chi[l] ** 2 + tokens(chi[m] ** 2, m)))), "mixes one token with the sum"),
    (Exchangeability(), mean(log(tokens(exp(chi[l])))), "not a polynomial in sums"),
    (Exchangeability(), mean(tokens(exp(chi[l])) ** Rational(1, 2)), "not a polynomial in sums"),
    (Exchangeability(), mean(tokens(chi[l] ** 2) * chi[j]), "names other tokens"),
    (Exchangeability(), mean(tokens(chi[l]) ** 3), "needs 3 distinct other tokens"),
    (Exchangeability(), mean(tokens(chi[l]) / (1 + chi[j] ** 2)), "names other tokens"),
    (Exchangeability(), mean(tokens(chi[l]), SequenceLaw(chi[j] ** 2, L)), "is not symmetric"),
    (GaussianMoments(), mean(z[epsilon] ** Rational(1, 2)), "not a polynomial in z"),
    (GaussianMoments(), mean(1 / z[epsilon]), "not a polynomial in z"),
    (GaussianMoments(), mean(exp(z[epsilon])), "not a linear form"),
    (GaussianMoments(), mean(tokens(z[l] ** 2)), "not a linear form"),
    (GaussianMoments(), mean(z[1] * z[epsilon]), "may be the value of the relevant token or not"),
    (GaussianProjection(KEY - chi[j]), mean(KEY - chi[j], LAPLACE), "not a function of one standard normal token"),
    (GaussianProjection(KEY - chi[j]), mean(KEY - chi[j], LAPLACE.unweighted()), "are not Gaussian"),
    (GaussianProjection(KEY - chi[j]), mean(KEY - chi[j], SequenceLaw(exp(KEY), L)), "is not normalised"),
    (GaussianProjection(KEY - chi[j]), mean(KEY + chi[j], SPIKED), "is not a function of"),
    (GaussianProjection(KEY - chi[j]), mean((KEY - chi[j]) * xi, SPIKED), "is not a function of"),
    (GaussianProjection(KEY - chi[j]), mean(SOFT, SPIKED), "is not a function of"),
    (GaussianProjection(KEY + 1), mean(KEY + 1, SPIKED), "not a linear combination"),
    (GaussianProjection(KEY - chi[1]), mean(KEY - chi[1], SPIKED), "not a linear combination"),
    (GaussianProjection(xi * KEY + chi[j]), mean(xi * KEY + chi[j], SPIKED), "has a random coefficient"),
    (GaussianProjection(chi[j]), mean(chi[j], SPIKED), "does not contain the relevant token"),
    (GaussianTaylor(2), Integral(exp(-x) / (1 + exp(-x)) ** 2, (x, -oo, oo)), "no integral over the line"),
    (GaussianTaylor(2), Integral(exp(-(x**2) / 2), (x, 0, oo)), "no integral over the line"),
    (Independence(), mean(IsLargest.of(epsilon, L) * KEY), "condition on the maximum instead"),
    (Independence(), mean(SOFT * KEY), "names of functions of the tokens"),
    (Independence(), mean(Posterior(epsilon, SPIKED) * KEY), "names of functions of the tokens"),
    (Independence(), mean(exp(KEY * chi[j])), "not a function of one token"),
    (Independence(), mean(KEY * tokens(chi[l])), "not a function of one token"),
    (Independence(), mean(chi[1] * KEY), "may be the relevant token or another"),
    (Independence(), mean(z[epsilon] * KEY), "values z are still inside"),
    (Independence(), mean(xi * KEY), "more that is random"),
    (Independence(), mean(epsilon * KEY), "more that is random"),
    (Independence(), mean(sin(xi * KEY)), "more that is random"),
    (Independence(), mean(exp(-(tokens(chi[l]) ** 2))), "not a product over tokens"),
    (Independence(), mean(exp(-tokens(chi[l] ** 2) * KEY**2)), "not a product over tokens"),
    (Independence(), mean(exp(-tokens(chi[l]) * tokens(chi[l] ** 2))), "not a product over tokens"),
    (Independence(), mean(exp(-tokens(chi[l] * z[l]))), "not a function of chi"),
    (Independence(), mean(exp(-Sum(chi[l] ** 2, (l, 2, L)))), "does not run over the tokens"),
    (LaplaceRepresentation(), mean(tokens(exp(chi[l])) ** 2), "no power of a normaliser"),
    (LaplaceRepresentation(), mean(tokens(exp(chi[l])) ** nu), "no power of a normaliser"),
    (LaplaceRepresentation(), mean(1 / tokens(chi[l])), "not known to be positive"),
    (LaplaceRepresentation(), mean(1 / tokens(sin(chi[l]) + Rational(1, 2))), "not known to be positive"),
    (LaplaceRepresentation(), mean(1 / (tokens(exp(chi[l])) - 1)), "not known to be positive"),
    (LaplaceRepresentation(), mean(1 / (tokens(exp(chi[l])) + KEY)), "not known to be positive"),
    (LikelihoodRatio(), mean(Posterior(epsilon, LOCKED)), "no function of one token times a symmetric one"),
    (Envelope(), Derivative(Minimum(GAIN * a**2, a), GAIN, GAIN), "no first derivative"),
    (Envelope(), Derivative(Minimum(GAIN / (1 + a**2), a), GAIN), "only approached"),
    (Minimise(), Minimum(exp(a), a), "is not rational"),
    (Minimise(), Minimum(L**2, L), "is not known to run over"),
    (Minimise(), Minimum(1 / (1 + Symbol("r", real=True) ** 2 * a**2), a), "leading coefficient vanishes"),
    (Minimise(), Minimum(mean(SOFT) ** 2, a), "is not rational"),
    (Minimise(), Minimum(a**4 - nu * a**3 + a, a), "not found in closed form"),
    (Minimise(), Minimum(1 / a, a), "may fall without bound near a = 0"),
    (Minimise(), Minimum(-(a**2), a), "falls without bound"),
    (Minimise(), Minimum(Symbol("q") * a**2, a), "cannot decide"),
    (Nishimori(), mean(tokens(Posterior(l, SPIKED)) * KEY, SPIKED), "depends on the hidden position"),
    (Nishimori(), mean(tokens(Posterior(l, SPIKED)) * chi[j], SPIKED), "depends on the hidden position"),
    (Nishimori(), mean(tokens(Posterior(l, SPIKED) * chi[l] * KEY), SPIKED), "function of the hidden position"),
    (Nishimori(), mean(tokens(Posterior(l, MAX) * chi[l]), SPIKED), "belongs to another law"),
    (Nishimori(), mean(tokens(log(Posterior(l, SPIKED))), SPIKED), "carries no posterior"),
    (Nishimori(), mean(Sum(Posterior(l, SPIKED), (l, 1, 2)), SPIKED), "does not run over the tokens"),
    (KeyScale(exp(x)), mean(Activation.of(epsilon, Attention(exp(x) + 1), a)), "at a constant multiple of x"),
    (KeyScale(exp(x)), mean(Activation.of(epsilon, Attention(exp(x**2)), a)), "at a constant multiple of x"),
    (KeyScale(exp(x)), mean(Activation.of(epsilon, Attention(2 * exp(x)), a)), "at a constant multiple of x"),
    (Reweight(LARGEST), mean(KEY), "can vanish"),
    (Reweight(SequenceLaw(2 * Heaviside(KEY), L)), mean(KEY), "can vanish"),
    (Reweight(SequenceLaw(Piecewise((2, KEY > 0), (0, True)), L)), mean(KEY), "can vanish"),
    (RotateNoise(), mean(SCORED + SCORED.with_score(z[m])), "2 different scores"),
    (RotateNoise(), mean(SCORED.with_score(chi[m] * z[m])), "not linear in chi, z and eta"),
    (RotateNoise(), mean(SCORED.with_score(z[epsilon] * z[m] + eta[m])), "coefficients of the score .* depend on the"),
    (RotateNoise(), mean(SCORED.with_score(z[m] + m * eta[m])), "coefficients of the score .* depend on the tokens"),
    (Selection(), mean(tokens(chi[l] ** 2), SPIKED), "does not sum to L"),
    (Selection(), mean(tokens(chi[l] ** 2), LAPLACE), "does not sum to L"),
    (GeometricSeries(nu, 2), 1 / (1 + nu**2), "is no ratio"),
    (GeometricSeries(nu, 2), 1 + 1 / (nu - 1), "have opposite signs"),
    (GeometricSeries(nu, 2), mean(KEY, SPIKED), "no rational function"),
    (GaussianTaylor(2), Integral(exp(-a * x**2), (x, -oo, oo)), "is not known to be positive"),
    (ReadDensity(ScalarLaw(x**2 * normal().density)), Integral(x**4 * exp(-(x**2)), (x, -oo, oo)), "to be positive"),
    (Substitute(sin(LEVEL), LEVEL), Integral(x**2, (x, -1, 1)), "strictly monotone"),
    (Substitute(exp(LEVEL), LEVEL), Integral(LEVEL * exp(-x), (x, 0, oo)), "has a meaning already"),
    (GammaIntegral(), Integral(exp(-x) / x, (x, 0, oo)), "diverges"),
    (SechTransform(), Integral(cos(nu * x) / cosh(a * x), (x, -oo, oo)), "not known to be positive"),
    (SECH, Integral(x**2 / cosh(a * x), (x, -oo, oo)), "is not known to be positive"),
    (SECH, Integral(x**3 / cosh(2 * x), (x, -oo, oo)), "is no even moment"),
    (TURN, ScalarExpectation(exp(-LEVEL * x), x, ScalarLaw(exp(-x), 0, oo)), "no density on the whole line"),
    (TURN, ScalarExpectation(exp(-((LEVEL - x) ** 2)), x, normal()), "is no function of"),
    (TAYLOR, smoothed(normal().density, law=normal()), "is about another law"),
    (TAYLOR, Integral(smoothed(normal().density).function, (LEVEL, 0, oo)), "is no integral over the line"),
    (TAYLOR, Integral(LEVEL * smoothed(normal().density).function, (LEVEL, -oo, oo)), "no power of an expectation"),
    (TAYLOR, Integral(smoothed(normal().density).function ** nu, (LEVEL, -oo, oo)), "to be a nonnegative integer"),
    (SmoothingTaylor(2 / nu, 2, GUMBEL_MOMENTS), smoothed(normal().density), "is no mean of a function of"),
    (TAYLOR, smoothed(exp(-(x**4))), "is neither"),
    (TAYLOR, smoothed(NormalCdf(x)), "no factor known to be integrable"),
    (TAYLOR, exp(smoothed(normal().density)), "is no polynomial in the term that is expanded"),
    (DROP, mean(chi[j] * chi[k] / tokens(exp(chi[l])), SPIKED), "expected functions of epsilon and j"),
    (DROP, mean(chi[j] / tokens(chi[l] ** 2), SPIKED), "terms known to be positive"),
    (DROP, mean(chi[j] / tokens(exp(chi[l])), MAX), "no function of the relevant token alone"),
    (Stein(), mean(KEY**2, LAPLACE.unweighted()), "not standard normal"),
    (Stein(), mean(KEY**2, SPIKED), "apply the change of measure first"),
    (Stein(), mean(KEY * IsLargest.of(epsilon, L)), "has no derivative"),
    (Stein(), mean(KEY * Heaviside(KEY)), "not known to be absolutely continuous"),
    (Stein(), mean(KEY * tokens(chi[l] * z[l])), "not a function of chi"),
    (Stein(), mean(KEY * exp(KEY**2)), "does not exist"),
    (Stein(), mean(KEY * chi[2] ** 2), "the token 2 in .* may be the relevant token or another"),
    (CameronMartin(), mean(chi[1] * tokens(chi[l]), SPIKED), "the token 1 in .* may be the relevant token or another"),
    (SymmetricFactors(), mean(tokens(chi[l] * z[l])), "not a function of chi"),
    (TakeLimit(), Limit(nu * mean(KEY, SPIKED), nu, oo), "an expectation stands inside the limit"),
    (TakeLimit(), Limit(Function("h")(nu), nu, oo), "SymPy finds no limit"),
    (TurnTowardsKey(), mean(SCORED.with_score(chi[m] + eta[m])), "rotate the noise first"),
    (TurnTowardsKey(), mean(SCORED.with_score(z[m] + chi[m] * tokens(chi[l]))), "coefficients of the score .* depend"),
    (TurnTowardsKey(), mean(SCORED, MAX), "not a function of one standard normal token"),
    (TurnTowardsKey(), mean(SCORED * SOFT), "holds functions of all tokens by name"),
    (TurnTowardsKey(), mean(SCORED, LAPLACE.unweighted()), "tokens are not standard normal"),
    (TurnTowardsKey(), mean(Sum(SCORED.at(l), (l, 1, 2))), "does not run over the tokens"),
    (TurnTowardsKey(), mean(SCORED * chi[1]), "may belong to the relevant token or not"),
    (GaussianMoments(), mean(Sum(z[l], (l, 1, 2)) * z[epsilon]), "does not run over the tokens"),
    (
        GaussianMoments(),
        mean(tokens(z[l] * exp(tokens(chi[l] * chi[m], m))) * tokens(z[m] * exp(tokens(chi[l] * chi[m]) + chi[m]), m)),
        "would catch",
    ),
    (TurnTowardsKey(), mean(tokens(tokens(SCORED.at(j), j) * SCORED.at(l))), "a sum over tokens stands inside another"),
    (WriteTokensOut(), mean(tokens(chi[l])), "the length is L"),
    (WriteTokensOut(), mean(KEY * chi[k], SPIKED.subs(L, 2)), "that 2 tokens do not have"),
    (Linearity(), ScalarExpectation(x + 1 / (1 + x**2), x, student(1)), "does not exist"),
    (WriteTokensOut(), mean(KEY, SPIKED.subs(L, 4)), "the length is 4"),
]


REFUSED_HYPOTHESES: list[tuple[Rule, Expr, str]] = [
    (Independence(), mean(KEY**2 * chi[j] ** 2, FREE.subs(L, 1)), "which 1 tokens do not have"),
    (ChangeOfMeasure(), mean(KEY, SequenceLaw(exp(KEY), L)), "expected 1"),
]
"""Conditions that are looked at where a step is made; evaluators pass them over."""


@pytest.mark.parametrize(("rule", "expr", "reason"), REFUSED_HYPOTHESES)
def test_a_step_refuses_with_the_reason(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        Derivation(expr).apply(rule)


@pytest.mark.parametrize(("rule", "expr", "reason"), REFUSALS, ids=lambda value: getattr(value, "name", None))
def test_refuses_with_the_reason(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason) as refused:
        rule.rewrite(expr)
    assert "\n" not in str(refused.value)
    assert not rule.match(expr)
    with pytest.raises(RuleRefused, match=reason):
        Derivation(expr).apply(rule)


@pytest.mark.parametrize(("rule", "expr", "reason"), REFUSALS, ids=lambda value: getattr(value, "name", None))
def test_refuses_inside_a_larger_expression(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        rule.rewrite(1 + nu * expr**2)


def test_every_refusal_of_every_rule_is_met() -> None:
    """Where the table raises it, its message is made of the parts written in the rule; else some test expects its words."""
    met = []
    for rule, expr, _ in REFUSALS + REFUSED_HYPOTHESES:
        with pytest.raises(RuleRefused) as refused:
            Derivation(expr).apply(rule)
        met.append(str(refused.value))
    expected = _expected()
    missing = [
        f"{path.name}: {message}"
        for path, message in _messages()
        if not any(all(part in text for part in message) for text in met)
        and ((path.parent.name in GROUPS and str(path) in TRIED) or not _is_expected(message, expected))
    ]
    assert not missing


GROUPS = ("measure", "gaussian", "symmetry", "laplace", "minima", "rewriting")
"""Folders of rules that the table is about; the refusals of the others are expected in tests of their own."""

TRIED = {inspect.getfile(type(rule)) for rule, _, _ in REFUSALS}
FEWEST = 6
"""Characters of a message that a test has to expect."""


def _messages() -> list[tuple[Path, tuple[str, ...]]]:
    """The fixed parts of every message given to ``refuse``, ``RuleRefused`` or ``NotSymmetric``, and its file."""
    found = []
    for path in sorted(Path(symslr.algebra.__path__[0]).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                name = getattr(node.exc.func, "attr", getattr(node.exc.func, "id", ""))
                message = node.exc.args[0]
                if name not in ("refuse", "RuleRefused", "NotSymmetric") or not isinstance(
                    message, (ast.JoinedStr, ast.Constant)
                ):
                    continue
                parts = message.values if isinstance(message, ast.JoinedStr) else [message]
                words = tuple(part.value for part in parts if isinstance(part, ast.Constant))
                if any(len(part) >= FEWEST for part in words):
                    found.append((path, words))
    return found


def _expected() -> list[str]:
    """The strings in the other tests of the algebra and the theory, those given to ``match`` among them."""
    here = Path(__file__)
    files = [
        file for room in ("algebra", "theory") for file in (here.parents[1] / room).glob("test_*.py") if file != here
    ]
    return [
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and FEWEST <= len(node.value) < 120
    ]


def _is_expected(message: tuple[str, ...], expected: list[str]) -> bool:
    """Whether a test looks for the message, whatever is filled in."""
    whole = "@".join(message)
    return any(
        any(text in part for part in message) or ((found := _search(text, whole)) and len(found) >= FEWEST)
        for text in expected
    )


def _search(pattern: str, text: str) -> str:
    try:
        found = re.search(pattern, text)
    except (re.error, FutureWarning):
        return ""
    return found.group() if found else ""


def test_a_rule_that_finds_nothing_leaves_the_expression() -> None:
    for rule in (Linearity(), Nishimori(), Selection(), GaussianMoments(), Stein(), Independence(), Minimise()):
        assert rule.rewrite(nu + 1) == nu + 1
        assert not rule.match(nu + 1)
        with pytest.raises(RuleRefused, match="found nothing to rewrite"):
            Derivation(nu + 1).apply(rule)


def test_parameters_of_rules() -> None:
    with pytest.raises(ValueError, match="expected one of expand, factor"):
        Algebra("magic")
    with pytest.raises(ValueError, match="expected at least 1 term"):
        GaussianTaylor(0)
    with pytest.raises(ValueError, match="expected at least 1 term"):
        GeometricSeries(nu, 0)
    with pytest.raises(ValueError, match="expected at least 1 term"):
        SmoothingTaylor(1 / nu, 0, GUMBEL_MOMENTS)
    with pytest.raises(ValueError, match="expected one known to be positive"):
        SmoothingTaylor(a, 2, GUMBEL_MOMENTS)
    with pytest.raises(ValueError, match="expected a symbol that is"):
        GeometricSeries(a, 2)
    with pytest.raises(ValueError, match="expected 0 < theta <= 1"):
        DropFromDenominator(2)
    with pytest.raises(ValueError, match="expected a distribution function"):
        Convolution(2 * GUMBEL, nu, LEVEL)
    with pytest.raises(ValueError, match="expected a distribution function"):
        Convolution(GUMBEL, a, LEVEL)
    with pytest.raises(ValueError, match="a positive rate"):
        Convolution(GUMBEL, Symbol("rate", nonnegative=True), LEVEL)
    with pytest.raises(ValueError, match="expected the exact mean"):
        TransformMoments(Derivation(ScalarExpectation(x**2, x, normal())), ANGLE)
    with pytest.raises(ValueError, match="expected the exact mean"):
        TransformMoments(Derivation(Integral(x * cos(ANGLE * x) / cosh(x), (x, -oo, oo))), ANGLE)
