"""Points: admissible, varied, the same on every machine."""

from fractions import Fraction
from typing import final

import pytest
from sympy import Abs, Expr, Mod, Piecewise, Rational, Symbol, cos

from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule, RuleRefused
from symslr.check.branches import branch_points
from symslr.check.points import cheap_points, long_points, points
from symslr.expression.expectation import LengthExpectation
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import P_L, Delta, L, a, nu

START = a * L + nu * Delta


def test_the_same_every_time_whatever_the_name() -> None:
    """Chains in the same parameters share their points, so a name chooses none."""
    one, again, other = (points(Derivation(START, name=name)) for name in ("one", "one", "other"))
    assert one == again == other
    assert one != points(Derivation(START, ranges={nu: (1, 2)}))


def test_lengths_signs_and_strength_vary() -> None:
    found = points(Derivation(START, name="varied"))
    assert {2, 3, 1} < {p.values["L"] for p in found}
    assert max(p.values["L"] for p in found) >= 5
    assert {p.values["a"] > 0 for p in found} == {True, False}
    assert max(p.values["nu"] for p in found) > 10
    assert min(p.values["nu"] for p in found) < 0.2
    assert sum(p.values["Delta"] == 0 for p in found) == 1
    assert all(p.values["nu"].denominator > 10**6 for p in found)
    assert max(p.values["nu"] for p in cheap_points(Derivation(START, name="varied"))) > 60
    assert found[0].digits == 22


def test_a_long_sequence_is_drawn_from_the_content() -> None:
    """Whoever writes a chain cannot know the length, and what is added to a line draws another one."""
    lengths = [long_points(Derivation(START + k))[0].values["L"] for k in range(40)]
    assert set(lengths) <= set(range(11, 41))
    assert len(set(lengths)) > 15
    assert long_points(Derivation(START, name="one")) == long_points(Derivation(START, name="other"))
    assert long_points(Derivation(START, ranges={L: [2, 3, 7]})) == []
    assert long_points(Derivation(a + nu)) == []


def test_ranges_are_respected() -> None:
    ranges = {nu: (Rational(1, 10), Rational(1, 5)), L: [4, 7], a: [Rational(1, 3)], "t": (1, 2)}
    del ranges["t"]
    for point in points(Derivation(START, name="narrow", ranges=ranges)):
        assert Fraction(1, 10) < point.values["nu"] < Fraction(1, 5)
        assert point.values["L"] in (4, 7)
        assert point.values["a"] == Fraction(1, 3)


@pytest.mark.parametrize("allowed", [(2, 1), [], "many", (-1, Rational(-1, 2))])
def test_ranges_that_make_no_sense(allowed: object) -> None:
    with pytest.raises(ValueError, match="range of nu"):
        points(Derivation(START, name="bad", ranges={nu: allowed}))


def test_an_open_length_law_is_drawn() -> None:
    found = points(Derivation(LengthExpectation(L + nu, P_L), name="open"))
    assert all(isinstance(p.values["P_L"], LengthLaw) and "L" not in p.values for p in found)
    assert found[0].length == max(int(length) for length, _ in found[0].values["P_L"])


def test_a_formula_without_symbols_has_one_point() -> None:
    assert len(points(Derivation(Rational(1, 2) + Symbol("m") * 0, name="number"))) == 1


@final
class Under(Rule):
    """Adds 0, under a condition."""

    name = "under"
    statement = "A = A"

    def __init__(self, condition: object) -> None:
        self.condition = condition

    def rewrite(self, expr: Expr) -> Expr:
        return expr.expand()

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return (Hypothesis("so", self.condition),)


@pytest.mark.parametrize("condition", [nu > 4, nu < Rational(1, 50), L >= 6, a > Delta, a**2 + Delta**2 < 1])
def test_hypotheses_are_respected(condition: Expr) -> None:
    found = points(Derivation((a + nu) * (L + Delta), name="under").apply(Under(condition)))
    assert len(found) >= 2
    for p in found:
        numbers = {s: Rational(str(p.values[s.name])) for s in condition.free_symbols}
        assert condition.subs(numbers) == True  # noqa: E712


def test_a_condition_that_never_holds_makes_no_step() -> None:
    with pytest.raises(RuleRefused, match="a condition of it never holds"):
        Derivation(nu * (nu + 1), name="none").apply(Under(nu < 0))


@pytest.mark.usefixtures("few_tries")
def test_hypotheses_that_nothing_satisfies() -> None:
    with pytest.raises(ValueError, match="no point that the hypotheses admit"):
        points(Derivation(nu * (nu + 1), name="none").apply(Under(cos(nu) > 2)))


def test_both_sides_of_a_branch() -> None:
    found = branch_points(Derivation(Piecewise((nu, nu < 1234), (a, True)), name="branch"))
    assert {p.values["nu"] > 1234 for p in found} == {True, False}


def test_a_remainder_modulo_what_may_be_zero_has_no_sign_there() -> None:
    n = Symbol("n", integer=True)
    assert branch_points(Derivation(Abs(Mod(7, n) - 2), name="modulo"))
