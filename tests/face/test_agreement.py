"""Is this my formula: right ones, wrong ones, wrong ones by little or in a range that is seldom visited, and unknown ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Expr, floor

import symslr as s
from symslr.algebra.derivation import Derivation
from symslr.check.check import check_derivation
from symslr.check.report import DerivationCheck, Verdict
from symslr.face import agreement
from symslr.face.agreement import Answer, compare
from symslr.symbols import a, nu

SPIKED = s.SpikedSLR(length=3, noise=0)
LINEAR, BAYES = s.population_risk(SPIKED, "linear"), s.bayes_risk(SPIKED)
RIGHT = "1 - (1 + a*sqrt(nu))**2/(3 + 2*a*sqrt(nu) + a**2*(nu + 3))"
ANY_LENGTH = "Delta**2 + 1 - (1 + a*sqrt(nu))**2/(L + 2*a*sqrt(nu) + a**2*(nu + L))"
PRIOR = s.LocationTask("nu", length=2, prior="2**(-l)", noise=0)


@pytest.mark.parametrize(
    ("risk", "formula"),
    [
        (LINEAR, RIGHT),
        (s.population_risk(s.SpikedSLR(), "linear"), ANY_LENGTH),
        (BAYES, BAYES.conditioned()),
        (BAYES.diff("nu"), BAYES.conditioned().diff(nu)),
        (s.bayes_risk(s.SpikedSLR(length={1: "1/3", 3: "2/3"}, noise=0)), 2 * BAYES.conditioned() / 3),
        (
            s.bayes_risk(s.LocationTask("nu", length=3, noise=0)),
            BAYES.conditioned(),
        ),  # a law of location that is spiked
    ],
    ids=["linear", "any length", "Bayes", "derivative", "random length", "location"],
)
def test_right_formulas(risk: s.Question, formula: Expr | str) -> None:
    found = risk.compare_with(formula)
    assert found
    assert not found.proved
    assert repr(found).startswith("agrees: compared at ")
    assert repr(found).splitlines()[0].endswith("; no proof")
    assert len({c.point for c in found.comparisons if c.effective}) >= 2


@pytest.mark.parametrize(
    "wrong",
    [
        RIGHT.replace("nu + 3", "nu + 2"),
        RIGHT + " + 10**-9",
        RIGHT.replace("nu + 3", "nu + 3 + 10**-8"),
        RIGHT + " + max(nu - 400, 0)/1000",
        RIGHT + " + step(1/500 - nu)/10**6",
        RIGHT + " + step(nu - 7)*step(8 - nu)/1000",
        RIGHT.replace("a*sqrt(nu)", "abs(a)*sqrt(nu)"),
        RIGHT.replace("a**2*(nu + 3)", "a**2*(a + 3)"),
        "1/2",
    ],
)
def test_wrong_formulas(wrong: str) -> None:
    found = LINEAR.compare_with(wrong)
    assert not found
    first, told = repr(found).splitlines()[0], found.comparisons[-1]
    assert (first, found.proved) == ("differs", False)
    assert abs(told.left - told.right) > told.tolerance
    # the referee's numbers, by symslr's evaluator
    values = {name: number for name, number in told.values if name in ("a", "nu")}
    assert float(LINEAR(values)) == pytest.approx(float(told.left), rel=1e-12)


def test_proved_is_another_word_than_compared() -> None:
    """SymPy brings a closed form to the one that rules derive; a mean it can only find to be the same expression."""
    least = s.least_risk(SPIKED, "linear")
    proved = least.compare_with("1 - (3 + 2*nu)/(9 + 2*nu)")
    assert (proved.answer, proved.proved) == (Answer.AGREES, True)
    assert "proved" in repr(proved)
    assert "no proof" not in repr(proved)
    assert not least.compare_with("6/(2*nu + 8)")
    assert BAYES.compare_with(BAYES.doit()).proved


def test_unknown_is_neither() -> None:
    found = LINEAR.compare_with(LINEAR.doit() + floor(nu / 10**9))
    assert repr(found).startswith("unknown: brings in floor")
    with pytest.raises(ValueError, match="compare_with: unknown: brings in floor"):
        bool(found)


def test_a_false_step_leaves_every_formula_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rules derive is what a formula is compared with: where that is wrong nothing is said of the formula."""

    def wrong(item: Derivation) -> DerivationCheck:
        found = check_derivation(item)
        steps = (*found.steps[:2], replace(found.steps[2], verdict=Verdict.FALSE, reason="1 and 2"), *found.steps[3:])
        return replace(found, steps=steps)

    assert compare(LINEAR, RIGHT)
    monkeypatch.setattr(agreement, "check_derivation", wrong)
    assert compare(LINEAR, RIGHT).reason == "what rules derive is false by Gaussian moments: 1 and 2"


def test_a_law_of_location_by_its_definition() -> None:
    risk = s.bayes_risk(PRIOR)
    assert not risk.compare_with("1 - nu/10")
    assert risk.compare_with(risk.expr.definition())
    assert risk.compare_with(risk.expr).reason == "the chain has no step: the claim is its first line"
    given = s.bayes_risk(s.LocationTask("2", length=2, prior="2**(-l)", noise=0))
    assert not given.compare_with("1/3")


@pytest.mark.parametrize(
    ("risk", "formula", "line"),
    [
        (LINEAR, "1 + c", r"formula '1 \+ c': column 5: unknown name 'c'; known: a, nu, pi, E"),
        (LINEAR, "1/L", "unknown name 'L'"),
        (LINEAR, RIGHT.replace("nu", "mu"), "unknown name 'mu'"),
        (
            LINEAR,
            1 + s.symbols.Delta,
            "formula: found Delta; expected no symbol but a, nu, on which the quantity depends",
        ),
        (s.bayes_risk(s.SpikedSLR(2, 3, 0)), a, "formula: found a; expected a number"),
        (LINEAR, "1 +", "formula '1 \\+': column 4: expected a number"),
        (LINEAR, "__import__('os')", "formula"),
        (LINEAR, True, "formula: found True"),
        (s.fitted(SPIKED, "softmax"), "1/2", "compare_with: .* is no formula"),
        (s.population_risk(PRIOR, "softmax"), "1/2", "compare_with: risk of softmax, location is no formula"),
    ],
)
def test_what_cannot_be_asked_has_one_line(risk: s.Question, formula: object, line: str) -> None:
    with pytest.raises((ValueError, TypeError), match=line) as refusal:
        risk.compare_with(formula)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)
