"""Open functions, remainders, rare events and assumptions: what is false for some of what is allowed is not told true."""

from __future__ import annotations

from typing import final

import pytest
from sympy import Abs, Derivative, Expr, Function, Integral, Max, Rational, S, Symbol, exp, oo, sin

from symslr.algebra.derivation import Derivation
from symslr.check import Verdict
from symslr.check.check import check_derivation
from symslr.check.instances import formulas
from symslr.check.points import points
from symslr.check.report import DerivationCheck
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.catalogue import SpikedSLR
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, nu, x
from tests.check.toys import Say

pytestmark = pytest.mark.usefixtures("typed_lines", "few_sequences")


@pytest.fixture
def typed_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of an author's, but for their typed lines."""
    monkeypatch.setattr("symslr.check.replay._typed", lambda rule, step: "")


kappa = Function("kappa")(x)
anyone = SequenceLaw(OpenFunction.of("g", epsilon), L)
bare = SpikedSLR().law.unweighted()
t, u = Symbol("t", positive=True), Symbol("u", positive=True)


def scalar(body: Expr) -> Expr:
    return ScalarExpectation(body, x, STANDARD_NORMAL)


def mean(body: Expr) -> Expr:
    return SequenceExpectation(body, anyone)


def chain(start: Expr, after: Expr, **options: object) -> DerivationCheck:
    said = Say(lambda expr: after, options.pop("remainder", None), options.pop("hypotheses", ()))
    return check_derivation(Derivation(start, name="stranger", **options).apply(said))


NOT_FOR_ALL = {
    "weights with a positive mean": (Abs(mean(chi[epsilon])), mean(chi[epsilon])),
    "weights with a second moment of 1 or more": (mean(chi[epsilon] ** 2), Max(mean(chi[epsilon] ** 2), S.One)),
    "weights that are even": (mean(chi[epsilon] ** 3), S.Zero * nu),
    "weights that vanish nowhere": (SequenceExpectation(exp(chi[epsilon]), bare), mean(exp(chi[epsilon]) / anyone.weight)),
    "kernels that are smooth": (nu * scalar(x * kappa), nu * scalar(Derivative(kappa, x))),
    "kernels that are differentiable twice": (
        nu * scalar((x**2 - 1) * kappa), nu * scalar(Derivative(Derivative(kappa, x), x))),
    "kernels that are bounded": (nu * scalar(kappa), nu * scalar(Max(-3, kappa) + (kappa - Abs(kappa)) * 0) + 0),
    "without a symbol": (scalar(x * kappa), scalar(Derivative(kappa, x))),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_FOR_ALL)
def test_a_theorem_about_open_functions_is_tried_on_all_of_them(name: str) -> None:
    assert chain(*NOT_FOR_ALL[name]).verdict is not Verdict.TRUE


@final
class AtMost(Say):
    """The same for an upper bound."""

    relation = "<="


BROKEN = {
    "a second moment": (mean(chi[epsilon] ** 2), S(3)),
    "a larger second moment": (mean(chi[epsilon] ** 2), S(60)),
    "a mean": (mean(chi[epsilon]), S(4)),
    "a mean from below": (mean(-chi[epsilon]), S(4)),
    "a variance from below": (Rational(1, 10) + 0 * nu, mean(chi[epsilon] ** 2)),
    "a kernel": (nu * scalar(kappa**2), 100 * nu),
    "a kernel from below": (nu / 100, nu * scalar(kappa**2)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_bound_on_an_open_function_without_a_hypothesis_is_broken(name: str) -> None:
    start, after = BROKEN[name]
    item = Derivation(start, name="stranger").apply(AtMost(lambda expr: after))
    assert check_derivation(item).verdict is not Verdict.TRUE


def test_what_holds_for_all_is_true_and_says_for_which_it_was_tried() -> None:
    found = chain(nu * scalar(kappa + x), nu * scalar(kappa), ranges={nu: (Rational(1, 5), 3)})
    assert found.verdict is Verdict.TRUE, found.steps[0].reason
    (told,) = found.tried
    assert told.startswith("kappa as ")
    assert all(kind in told for kind in ("Abs", "sign", "sin"))


def test_every_formula_is_met() -> None:
    item = Derivation(mean(chi[epsilon]), name="all").apply(Say(lambda expr: expr + 1))
    assert {str(p.functions["g"]) for p in points(item)} == set(map(str, formulas(item)["g"]))


ORDERS = {
    "the power of the second": (1 / (1 + t * u), S.One, 1000 * t * u**2),
    "the power of the first": (1 / (1 + t * u), S.One, 1000 * t**2 * u),
    "a root": (sin(t) * u + 1, S.One, 50 * t * u ** Rational(3, 2)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_remainder_is_tested_in_every_parameter(name: str) -> None:
    start, after, bound = ORDERS[name]
    ranges = {t: (Rational(1, 10**6), Rational(1, 10**5)), u: (Rational(1, 100), 1)}
    assert chain(start, after, remainder=bound, ranges=ranges).verdict is not Verdict.TRUE


def test_a_remainder_of_two_parameters_holds() -> None:
    small = (Rational(1, 10**4), Rational(1, 10))
    found = chain(1 / (1 + t * u), S.One, remainder=2 * t * u, ranges={t: small, u: small})
    assert found.verdict is Verdict.TRUE, found.steps[0].reason


@pytest.mark.parametrize("scale", [6, 9, 20])
def test_a_rare_and_huge_event_is_no_contradiction(scale: int) -> None:
    rare = SequenceExpectation(chi[epsilon] ** 2 + exp(scale * chi[epsilon] - Rational(scale**2, 2)), bare)
    assert chain(nu + rare, nu + 2).verdict is not Verdict.FALSE


def test_a_negative_symbol_is_drawn_negative() -> None:
    s = Symbol("s", negative=True)
    found = chain(Integral(exp(s * u), (u, 0, oo)), -1 / s)
    assert found.verdict is Verdict.TRUE, found.steps[0].reason
    assert found.covered["s"][1] < 0


@pytest.mark.parametrize(
    "assumed",
    [{"even": True}, {"odd": True, "negative": True}, {"nonpositive": True}, {"prime": True}, {"nonzero": True}],
)
def test_a_symbol_is_drawn_as_it_is_assumed(assumed: dict[str, bool]) -> None:
    values = [Rational(p.values["s"]) for p in points(Derivation(Symbol("s", **assumed) * nu, name="assumed"))]
    assert len(set(values)) > 1
    assert all(getattr(value, f"is_{name}") for value in values for name in assumed)


def test_an_assumption_that_no_number_has_is_refused() -> None:
    with pytest.raises(ValueError, match="s: irrational"):
        points(Derivation(Symbol("s", irrational=True) ** 2, name="odd"))


def test_a_real_number_stands_for_a_complex_one_and_that_is_said() -> None:
    s = Symbol("s", complex=True)
    assert chain((s + 1) ** 2, s**2 + 2 * s + 1).restrictions == ("real s",)
