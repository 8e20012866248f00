"""Certified values over two Laplace variables: of max-SLR under any attention, as both weight and attention are normalised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flint import arb, ctx
from mpmath import mp
from sympy import Expr, Integer, Rational, Symbol, erf, exp, oo, pi, sqrt

from symslr import evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, softmax, softmax1, softplus
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import x
from symslr.theory import population_risk

z = Symbol("z")
GAUSSIAN = exp(-(z**2) / 2) / sqrt(2 * pi)
QUARTIC = Attention(1 + x**4, name="quartic")
STEP = Attention(erf(x) + Rational(3, 2), name="step")


def risk_of_a_pair(kernel: Callable[[arb], arb], nu: arb, a: arb, offset: int, per_unit: int) -> arb:
    """1 - M^2/Q of two tokens by trapezoids over both: it converges geometrically."""
    hit = norm = mass = arb(0)
    passed: list[tuple[arb, arb, arb]] = []
    for i in range(-11 * per_unit, 11 * per_unit + 1):
        y = arb(i) / per_unit
        density, k, w = (-y * y / 2).exp(), kernel(a * y), (nu * y).exp()
        passed.append((density / 2, k, w))  # beside itself every token counts once, beside another one twice
        for other, l, v in passed:
            both, total = density * other, k + l + offset
            hit += both * (w * k + v * l) / ((w + v) * total)
            norm += both * (k * k + l * l) / total**2
            mass += both
        passed[-1] = (density, k, w)
    return 1 - hit**2 / norm / mass


def test_softmax_on_another_weight_against_one_integral() -> None:
    """Of two tokens both weights depend on the difference alone, 1/(1 + e^-d), which is N(0, 2)."""
    found = evaluate(population_risk(MaxSLR(noise=0), softmax), {"L": 2, "nu": 2, "a": 1}, 22, "arb")
    with mp.workdps(45):

        def mean(function: Callable[[Any], Any]) -> Any:
            """By trapezoids: share(2 d) is analytic as far as pi/2 from the line, and e^(-pi^2/step) is what they miss."""
            step = mp.mpf(1) / 12
            return step * mp.fsum(mp.npdf(n * step, 0, mp.sqrt(2)) * function(n * step) for n in range(-250, 251))

        def share(d: Any) -> Any:
            return 1 / (1 + mp.exp(-d))

        hit = mean(lambda d: 2 * share(2 * d) * share(d))
        expected = 1 - hit**2 / mean(lambda d: share(d) ** 2 + share(-d) ** 2)
        assert found.kind == Kind.CERTIFIED
        assert found.digits >= 22
        assert abs(found.value - expected) <= found.error + mp.mpf(10) ** -40


@pytest.mark.parametrize(
    ("attention", "kernel", "nu", "a"),
    [
        (softplus, lambda y: y.exp().log1p(), Rational(3, 2), Rational(13, 10)),
        (softmax1, arb.exp, Integer(1), Rational(4, 5)),
        (QUARTIC, lambda y: 1 + y**4, Rational(7, 5), Rational(2, 3)),
        (STEP, lambda y: y.erf() + arb(3) / 2, Integer(2), Integer(-1)),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
def test_any_attention_against_two_tokens(
    attention: Attention, kernel: Callable[[arb], arb], nu: Expr, a: Expr
) -> None:
    found = evaluate(population_risk(MaxSLR(noise=0), attention), {"L": 2, "nu": nu, "a": a}, 16, "arb")
    with ctx.workprec(120):
        given = arb(nu.p) / nu.q, arb(a.p) / a.q, int(attention.offset)
        expected, finer = (risk_of_a_pair(kernel, *given, per_unit) for per_unit in (7, 8))
        changed = abs(finer - expected).upper()
        assert changed < arb(10) ** -17
    assert found.kind == Kind.CERTIFIED
    assert found.digits >= 16
    with mp.workdps(30):
        assert abs(found.value - mp.mpf(finer.str(30, radius=False))) <= found.error + mp.mpf(
            changed.str(5, radius=False)
        )


@pytest.mark.parametrize("length", [40, LengthLaw({1: Rational(1, 3), 2: Rational(2, 3)})], ids=str)
def test_any_length_against_float64(length: Any) -> None:
    task = MaxSLR(Rational(5, 4), length=length, noise=Rational(1, 10))
    risk, values = population_risk(task, softplus), {"a": Rational(11, 13)}
    proved, estimated = (evaluate(risk, values, digits, backend) for digits, backend in ((14, "arb"), (11, "numpy")))
    assert proved.digits >= 14
    assert abs(proved.value - estimated.value) <= proved.error + estimated.error


def test_more_digits_than_float64_gives_are_proved_where_none_were_to_be_had() -> None:
    """Regression: "the table of exponentials is too large" to 20 digits, by every backend."""
    found = evaluate(population_risk(MaxSLR(noise=0), softplus), {"L": 3, "nu": 2, "a": 1}, 20)
    assert found.kind == Kind.CERTIFIED


def test_what_has_no_proof_is_refused_with_the_reason() -> None:
    with pytest.raises(CannotEvaluate, match=r"tables of .* balls are too large"):
        evaluate(population_risk(MaxSLR(noise=0), softplus), {"L": 2, "nu": 30, "a": 1}, 15, "arb")
    with pytest.raises(CannotEvaluate, match="largest"):
        evaluate(population_risk(MaxSLR(oo, noise=0), softplus), {"L": 2, "a": 1}, 20, "arb")
