"""Functions left open: their instances, what a citation decides of them, and the rules of the general theorems."""

from __future__ import annotations

from random import Random

import pytest
from sympy import Expr, Function, Heaviside, Rational, Sum, Symbol, exp, expand, latex, log, oo, sqrt, sympify

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    AbsorbWeight,
    AverageHiddenIndex,
    BayesRule,
    ChangeOfMeasure,
    GaussianMoments,
    Linearity,
    MeanOne,
    OneIsLargest,
    Reweight,
    SelectedMean,
)
from symslr.check.collect import builtin_folder, load_module
from symslr.check.instances import formulas, weights
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.expression.instance import instance
from symslr.model.admissible import check_mean_one
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.largest import IsLargest
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, R_v, a, chi, epsilon, l, m, m_v, nu, x
from symslr.theory.bayes import BayesRisk
from symslr.theory.definitions import predictor, squared_loss
from tests.algebra.brute import brute
from tests.algebra.cases import assert_equal
from tests.check.toys import Say

g, h = OpenFunction.of("g", epsilon), OpenFunction.of("h", epsilon)
LAW = SequenceLaw(g, L)
SPIKED, MAX, CLEAR = SpikedSLR().law, MaxSLR().law, MaxSLR(oo).law
KEY = chi[epsilon]


def tokens(summand: Expr, index: Expr = l) -> Sum:
    return Sum(summand, (index, 1, L))


def mean(body: Expr, law: SequenceLaw = LAW) -> Expr:
    return SequenceExpectation(body, law)


def theorem(file: str) -> object:
    return load_module(builtin_folder() / file)


PAIRS = tokens(exp(-((chi[l] - KEY) ** 2))) / (1 + (L - 1) / sqrt(5))


def test_an_instance_puts_the_formula_at_the_token() -> None:
    assert instance(tokens(h.at(l) ** 2), {"h": KEY}) == tokens(chi[l] ** 2)
    assert instance(LAW, {"g": SPIKED.weight}) == SPIKED
    assert instance(Posterior(l, LAW), {"g": MAX.weight}) == Posterior(l, MAX)
    assert instance(h, {"g": KEY}) == h
    kappa = Function("kappa", real=True)
    assert instance(kappa(a * KEY) + h, {"kappa": x**2, "h": KEY}) == a**2 * KEY**2 + KEY


def test_sums_of_an_instance_do_not_catch_the_token() -> None:
    """sum_m exp(-(chi_m - chi_l)^2), not the L that comes of calling both l."""
    at_l = instance(g.at(l), {"g": PAIRS})
    assert at_l.subs(L, 2).subs(l, 1).doit() == PAIRS.subs(L, 2).subs(epsilon, 1).doit()
    total = instance(tokens(g.at(l)), {"g": PAIRS}).subs(L, 2).doit()
    assert expand(total - sum(PAIRS.subs(L, 2).subs(epsilon, i).doit() for i in (1, 2))) == 0


def test_a_product_with_an_open_factor_becomes_the_weight_of_the_task() -> None:
    s, c = OpenFunction.of("s"), Symbol("c", real=True)
    law = SequenceLaw(exp(c * KEY) * s, L)
    assert instance(law.subs(c, sqrt(nu)), {"s": exp(-nu / 2)}) == SPIKED
    assert instance(law.subs(c, nu), {"s": L / tokens(exp(nu * chi[l]))}) == MAX


def test_the_weights_of_a_check_are_weights() -> None:
    chain = Derivation(mean(tokens(Posterior(l, LAW) * h.at(l))), ranges={h: [KEY, KEY**2, 1 + KEY]})
    drawn = formulas(chain)
    assert drawn["h"] == (KEY, KEY**2, 1 + KEY)
    for weight in drawn["g"]:
        check_mean_one(SequenceLaw(weight, L))
    assert any(SequenceLaw(weight, L).posterior_kernel is None for weight in drawn["g"])
    assert any(SequenceExpectation(KEY, SequenceLaw(weight, L)).has(Heaviside) for weight in drawn["g"])


def test_hypotheses_on_an_open_weight_are_printed_and_decided_by_a_citation() -> None:
    chain = Derivation(mean(h**2 + h)).apply(Linearity())
    said = str(chain)
    assert r"g(\epsilon,\chi)\ge0$ with $\mathbb{E}_0[g]=1" in said
    assert "$h$ with finite means where they are written" in said
    here = Derivation(mean(KEY**2 + KEY, SPIKED)).apply(Cite(chain, {g: SPIKED.weight, h: KEY}))
    assert here.hypotheses == ()
    again = Derivation(mean(KEY**2 + KEY)).apply(Cite(chain, {h: KEY}))
    assert len(again.hypotheses) == 2


@pytest.mark.parametrize(
    ("weight", "reason"),
    [(2 * SPIKED.weight, "found mean 2"), (KEY, "expected"), (KEY**2 - 1, "expected")],
)
def test_a_citation_refuses_what_is_no_weight(weight: Expr, reason: str) -> None:
    chain = Derivation(mean(2 * h)).apply(Linearity())
    start = mean(2 * KEY, SequenceLaw(weight, L))
    with pytest.raises(RuleRefused, match=reason):
        Derivation(start).apply(Cite(chain, {g: weight, h: KEY}))


def test_a_citation_refuses_means_that_do_not_exist() -> None:
    chain = Derivation(mean(h**2 + 1, SPIKED)).apply(Linearity())
    body = exp(KEY**2)
    with pytest.raises(RuleRefused, match="does not exist"):
        Derivation(mean(body**2 + 1, SPIKED)).apply(Cite(chain, {h: body}))


def test_a_citation_refuses_where_a_hypothesis_fails() -> None:
    hypothesis = Hypothesis("a weak signal", nu < 1)
    chain = Derivation(mean(KEY, SPIKED)).apply(Say(lambda _: sqrt(nu), hypotheses=(hypothesis,)))
    weak, strong = (Derivation(chain.start.subs(nu, at)) for at in (Rational(1, 4), 2))
    assert weak.apply(Cite(chain, {nu: Rational(1, 4)})).result == Rational(1, 2)
    with pytest.raises(RuleRefused, match=r"its hypothesis .* fails here"):
        strong.apply(Cite(chain, {nu: 2}))


def test_a_citation_refuses_functions_of_the_wrong_kind() -> None:
    chain = Derivation(mean(2 * OpenFunction.of("s"), SPIKED)).apply(Linearity())
    with pytest.raises(RuleRefused, match="singles out epsilon"):
        Cite(chain, {OpenFunction.of("s"): KEY})
    with pytest.raises(RuleRefused, match="expected the open function at the token epsilon"):
        Cite(chain, {OpenFunction.of("s", l): chi[l]})


@pytest.mark.parametrize("weight", weights(Random(3))[:4])
def test_bayes_risk_of_any_weight_is_its_loss(weight: Expr) -> None:
    ten = theorem("10_bayes_risk.py")
    law = SequenceLaw(weight, L)
    chain = Derivation(BayesRisk(law, Delta)).apply(Cite(ten.any_weight, {ten.g: weight}))
    for length in (1, 2):
        loss, risk = (brute(side, {L: length, Delta: 0.5}) for side in (chain.start.definition(), chain.result))
        assert abs(loss - risk) < 1e-5


def test_population_risk_of_any_attention_is_its_loss() -> None:
    twenty = theorem("20_population_risk.py")
    sigma = Activation.of(epsilon, softmax, a)
    loss = squared_loss(predictor(sigma), MAX, Delta)
    chain = Derivation(loss).apply(Cite(twenty.on_the_manifold(L), {twenty.g: MAX.weight, twenty.sigma: sigma}))
    assert chain.result == Derivation(loss).apply(Linearity()).apply(GaussianMoments()).result
    assert {m_v, R_v} <= chain.result.free_symbols


def test_bayes_rule_clears_one_power_of_the_posterior() -> None:
    total = tokens(g.at(m), m)
    free = LAW.unweighted()
    assert BayesRule().rewrite(mean(total * tokens(Posterior(l, LAW) ** 2), free)) == mean(
        tokens(Posterior(l, LAW) * g.at(l)), free
    )
    assert BayesRule().rewrite(mean(total * Posterior(epsilon, LAW), free)) == mean(g, free)
    spiked = tokens(SPIKED.weight.subs(epsilon, m), m) * tokens(Posterior(l, SPIKED) * chi[l])
    before = mean(spiked, SPIKED.unweighted())
    assert_equal(before, BayesRule().rewrite(before), (1, 2))
    root = spiked.xreplace({Posterior(l, SPIKED): Posterior(l, SPIKED) ** Rational(3, 2)})
    assert_equal(mean(root, SPIKED.unweighted()), BayesRule().rewrite(mean(root, SPIKED.unweighted())), (1, 2))
    two = mean(spiked + chi[epsilon] ** 2 / 3, SPIKED.unweighted())
    after = BayesRule().rewrite(two)
    assert_equal(two, after, (1, 2))
    assert not after.has(Posterior)


@pytest.mark.parametrize(
    "body",
    [
        tokens(g.at(m), m) * KEY,
        Sum(g.at(m), (m, 2, L)) * Posterior(epsilon, LAW),
        tokens(h.at(m), m) * Posterior(epsilon, LAW),
        tokens(g.at(m), m) / Posterior(epsilon, LAW),
        tokens(g.at(m), m) * Posterior(epsilon, LAW) ** -2,
        tokens(g.at(m), m) * Posterior(epsilon, LAW) ** Symbol("q", nonnegative=True),
        tokens(g.at(m), m) * Posterior(epsilon, LAW) ** a,
        tokens(g.at(m), m) * Posterior(epsilon, SPIKED),
    ],
)
def test_bayes_rule_needs_the_sum_of_the_same_weights(body: Expr) -> None:
    assert not BayesRule().match(mean(body, LAW.unweighted()))


def test_a_weight_is_absorbed_where_it_is_a_factor() -> None:
    for law in (LAW, MAX, SequenceLaw(PAIRS, L)):
        changed = ChangeOfMeasure().rewrite(mean(KEY**2, law))
        assert AbsorbWeight(law).rewrite(changed) == mean(KEY**2, law)
    clear = ChangeOfMeasure().rewrite(mean(KEY, CLEAR))
    assert AbsorbWeight(CLEAR).rewrite(clear) == mean(KEY, CLEAR)


@pytest.mark.parametrize("other", [MAX, SPIKED, SPIKED.unweighted().subs(L, 3)], ids=["max", "own", "three"])
def test_a_weight_is_absorbed_under_its_own_law_without_weight_alone(other: SequenceLaw) -> None:
    before = mean(SPIKED.weight * KEY, other)
    assert AbsorbWeight(SPIKED).rewrite(before) == before


def test_an_absorbed_weight_that_is_left_open_is_a_density_by_hypothesis() -> None:
    assert AbsorbWeight(LAW).hypotheses(mean(g * KEY, LAW.unweighted())) == (Hypothesis.of_weight(LAW),)
    assert AbsorbWeight(SPIKED).hypotheses(mean(SPIKED.weight * KEY, SPIKED.unweighted())) == ()


def test_one_token_is_the_largest() -> None:
    before = AverageHiddenIndex().rewrite(mean(L * IsLargest.of(epsilon, L), CLEAR.unweighted()))
    assert OneIsLargest().rewrite(before) == 1
    for other in (
        Sum(IsLargest.of(l, L), (l, 2, L)),
        Sum(IsLargest.of(l, L), (l, 1, L), (m, 1, L)),
        tokens(IsLargest.of(l, L) * chi[l]),
        tokens(IsLargest.of(m, L)),
        tokens(Function("f", real=True)(KEY, l, L)),
        tokens(l),
    ):
        assert not OneIsLargest().match(mean(other, CLEAR.unweighted()))


def test_the_mean_of_a_weight_is_one() -> None:
    share = ScalarExpectation(SPIKED.relevant_factor, x, STANDARD_NORMAL)
    assert MeanOne(SPIKED).rewrite(nu * share) == nu
    assert not MeanOne(SPIKED).match(ScalarExpectation(SPIKED.relevant_factor, x, normal(1, 1)))
    assert not MeanOne(SPIKED).match(ScalarExpectation(SPIKED.relevant_factor**2, x, STANDARD_NORMAL))


@pytest.mark.parametrize("strength", [sympify(1), sympify(40), oo])
def test_the_mean_of_a_selected_token_lies_within_its_bound(strength: Expr) -> None:
    law = MaxSLR(strength).law
    term = mean(KEY, law)
    kept, bound = SelectedMean().rewrite(term), SelectedMean().remainder(term)
    assert (kept, bound) == (0, sqrt(2 * log(L)))
    for length in (2, 3):
        assert abs(brute(term, {L: length})) < float(bound.subs(L, length))
    assert SelectedMean().remainder(term**2 / L) == 2 * log(L) / L


REFUSALS: list[tuple[Rule, Expr, str]] = [
    (AbsorbWeight(SPIKED), mean(KEY, SPIKED.unweighted()), "does not hold the weight"),
    (MeanOne(MAX), mean(KEY, MAX), "not a function of the relevant token alone"),
    (SelectedMean(), mean(KEY, SPIKED), "selects no token"),
    (SelectedMean(), mean(KEY, SequenceLaw(MAX.weight, L, normal(Rational(1, 2), 1))), "selects no token"),
    (SelectedMean(), exp(mean(KEY, MAX)), "is no polynomial in the term"),
]


@pytest.mark.parametrize(("rule", "expr", "reason"), REFUSALS)
def test_refuses_with_the_reason(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        rule.rewrite(expr)


@pytest.mark.parametrize(
    ("weight", "reason"), [(2 * SPIKED.weight, "found mean 2"), (1 + KEY, "found the negative value")]
)
def test_a_weight_that_is_no_density_is_not_absorbed(weight: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        Derivation(mean(weight * KEY, SPIKED.unweighted())).apply(AbsorbWeight(SequenceLaw(weight, L)))


def test_only_what_is_unweighted_is_reweighted() -> None:
    rule, free = Reweight(SPIKED), SPIKED.unweighted()
    for law in (SPIKED, MAX, CLEAR):
        assert rule.rewrite(mean(KEY, law)) == mean(KEY, law)
    inside = rule.rewrite(mean(KEY, free))
    assert rule.rewrite(1 + mean(KEY, free)) == 1 + inside
    assert rule.rewrite(mean(KEY, free) ** 2) == inside**2
    assert rule.rewrite(mean(KEY, free) * mean(KEY, MAX)) == inside * mean(KEY, MAX)
    assert_equal(mean(KEY**2, free), rule.rewrite(mean(KEY**2, free)), (1, 2))


def test_of_an_open_weight_it_is_assumed_that_it_is_positive_and_of_no_other() -> None:
    weight = Function("w", real=True)(KEY)
    law = SequenceLaw(weight, L)
    texts = [said.text for said in Reweight(law).hypotheses(mean(KEY, law.unweighted()))]
    assert rf"${latex(weight)}>0$ almost surely" in texts
    assert Reweight(law).rewrite(mean(KEY, law.unweighted())) == mean(KEY / weight, law)
    assert Reweight(SPIKED).hypotheses(mean(KEY, SPIKED.unweighted())) == ()
