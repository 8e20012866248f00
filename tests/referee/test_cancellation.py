"""Sums that cancel in a tail are read by what is left of them."""

import sys
from typing import Any

import pytest
from mpmath import mp, mpf
from sympy import Expr, Mul, Rational, S, erf, erfc, exp, sqrt, tanh

from symslr.evaluation.admission import guard
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import L, a, nu, x
from symslr.referee.arithmetic import CannotReferee
from symslr.referee.cancellation import with_tails
from symslr.referee.referee import referee
from symslr.theory.population import population_risk

TAILS: dict[str, tuple[Expr, Any]] = {
    "1 + erf": (1 + erf(-nu), mp.erfc),
    "3 - 3 erf": (3 - 3 * erf(nu), lambda t: 3 * mp.erfc(t)),
    "erf - 1": (erf(nu) - 1, lambda t: -mp.erfc(t)),
    "2 - erfc": (2 - erfc(-nu, evaluate=False), mp.erfc),
    "1 + tanh": (2 + 2 * tanh(-nu), lambda t: 4 / (1 + mp.exp(2 * t))),
    "1 - tanh": ((1 - tanh(nu)) / 3, lambda t: 2 / (1 + mp.exp(2 * t)) / 3),
}


@pytest.mark.parametrize("name", TAILS)
def test_what_is_left_is_one_term(name: str) -> None:
    total, apart = TAILS[name]
    factor = S.One
    if isinstance(total, Mul):
        factor, total = total.as_coeff_Mul()
    (term,) = with_tails(total)
    for number in (1, 7, 19):
        assert float((factor * term).subs(nu, number)) == pytest.approx(float(apart(mpf(number))), rel=1e-14)


@pytest.mark.parametrize(
    "total", [2 + erf(nu), 1 + 2 * tanh(nu), 1 - erfc(nu), 1 + nu, nu + erf(nu), 1 - 2 * erfc(nu)], ids=str
)
def test_what_does_not_cancel_is_left(total: Expr) -> None:
    assert with_tails(total) == total.args


def test_other_terms_stay() -> None:
    assert set(with_tails(1 + erf(nu) + exp(nu))) == {erfc(-nu, evaluate=False), exp(nu)}


@pytest.mark.parametrize("kernel", [1 + erf(x), 1 + tanh(4 * x), 2 - erfc(x) + exp(-(x**2))], ids=str)
def test_such_kernels_are_held_against_their_definitions(monkeypatch: pytest.MonkeyPatch, kernel: Expr) -> None:
    def refuse(*arguments: Any) -> Any:
        raise CannotReferee("samples are not wanted here")

    monkeypatch.setattr(sys.modules["symslr.referee.referee"], "sampled_value", refuse)
    monkeypatch.setattr(guard, "SHARE", 5.0)
    risk = population_risk(SpikedSLR(noise=0), Attention(kernel)).formula()
    assert guard.why_not_held(risk, {nu: 2, L: 2, a: Rational(13, 10)}) == guard.HELD


@pytest.mark.parametrize(
    ("expr", "at"),
    [
        (sqrt(1 - erf(nu)) * exp(nu**2 / 2), 30),
        (sqrt(erfc(nu)) * exp(nu**2 / 2), 30),
        ((1 - erf(nu)) * exp(nu**2 - 60), Rational(273, 10)),
        ((exp(-3 * nu) + 1 / (exp(2 * nu) + 1)) * exp(nu), 400),
        (1 - erf(nu), 30),
    ],
    ids=str,
)
def test_what_floats_take_for_0_is_not_said_to_be_0_exactly(expr: Expr, at: Any) -> None:
    """Regression: erfc(30) is 0 in float64, and each of these was 0 with no error; the first is 0.137."""
    try:
        found = referee(expr, {nu: at}, 12, 4.0)
    except CannotReferee:
        return
    with mp.workdps(40):
        assert abs(found.value - mpf(expr.subs(nu, at).evalf(30, maxn=4000))) <= found.error


def test_a_factor_that_is_0_ends_a_product() -> None:
    assert referee((nu - 30) * exp(nu) * erfc(2), {nu: 30}, 25).value == 0
