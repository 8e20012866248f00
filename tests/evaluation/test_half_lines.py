"""Token laws on a part of the line: what a kernel does elsewhere counts for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from sympy import Abs, Expr, Integral, Max, Rational, S, Symbol, cos, exp, lambdify, oo

from symslr.cli import main
from symslr.evaluation import CannotEvaluate, Kind, Value, engine, evaluate
from symslr.evaluation.errors import FloatOnly
from symslr.evaluation.minima import at_scale
from symslr.expression.expectation import ScalarExpectation
from symslr.model.attention import Attention
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import x
from symslr.model.task import Task
from symslr.theory import bayes_risk, population_risk

u = Symbol("u", positive=True)
TAILED = '[task]\nrelevant = "1/(1+x)**2"\nothers = "2/(1+x)**3"\nsupport = [0, "oo"]\nlength = 3\nnoise = 0\n'


def of_two_tokens(kernel: Expr, mean_of: Callable[[Any, Any], Any]) -> float:
    """The mean of a function of the kernel at two tokens with density e^{-x}, by Gauss rules between 0, 1, 3, ..."""
    at, weights = np.polynomial.legendre.leggauss(60)
    edges = np.array([0.0, 0.01, 0.1, 1.0, 3.0, 9.0, 20.0, 40.0])
    half = np.diff(edges)[:, None] / 2
    tokens = (edges[:-1, None] + half * (1 + at)).ravel()
    mass = (half * weights).ravel() * np.exp(-tokens)
    values = lambdify(x, kernel, "numpy")(tokens)
    return float(mass @ mean_of(values[:, None], values[None, :]) @ mass)


def on_half_line(density: Expr) -> ScalarLaw:
    return ScalarLaw(density, 0, oo)


@pytest.mark.parametrize(
    "kernel", [(1 + x) / 2, Abs(x + 1), Max(x + Rational(1, 20), 0), Abs(x + 1) + Abs(x - 1)], ids=str
)
@pytest.mark.parametrize("backend", ["numpy", "mpmath"])
def test_zeros_and_kinks_of_a_kernel_beyond_the_tokens(kernel: Expr, backend: str) -> None:
    """Regression: the mesh was stretched to x = -1, and the integral of E[e^{-u (1 + x)/2}]^2 was 2 e^2, not 0.5547."""
    law = on_half_line(exp(-x))
    found = evaluate(Integral(ScalarExpectation(exp(-u * kernel), x, law) ** 2, (u, 0, oo)), digits=9, backend=backend)
    exact = of_two_tokens(kernel, lambda one, other: 1 / (one + other))
    assert abs(float(found.value) - exact) <= float(found.error) + 1e-12
    assert found.error < 1e-8 * exact


@pytest.mark.parametrize("kernel", [Abs(x + 1), Max(x + 1, 0)], ids=str)
def test_a_kernel_that_is_linear_where_tokens_are(kernel: Expr) -> None:
    """Regression: the plan gave -0.09 for |x + 1| and was refused as a fault, beside 0.82 for x + 1."""
    task = Task.from_token_laws(on_half_line(2 * exp(-2 * x)), on_half_line(exp(-x)), noise=0, length=3)
    one, other = (
        evaluate(population_risk(task, Attention(own, normaliser=None, name="own"), S.One), digits=10)
        for own in (kernel, x + 1)
    )
    assert abs(one.value - other.value) <= one.error + other.error


@pytest.mark.parametrize("relevant", [(1 + x) * exp(-x) / 2, x * exp(-x), (1 + x**2) * exp(-x) / 3], ids=str)
def test_the_posterior_is_positive_where_tokens_are(relevant: Expr) -> None:
    """Regression: (1 + x)/2 was refused as negative at x = -20, where no token is. Beside R = E_0[k_1 k_2/(k_1 + k_2)] at L = 2."""
    task = Task.from_token_laws(on_half_line(relevant), on_half_line(exp(-x)), noise=0, length=2)
    found = evaluate(bayes_risk(task), digits=18)
    exact = of_two_tokens(relevant * exp(x), lambda one, other: one * other / (one + other))
    assert abs(float(found.value) - exact) < 1e-9
    assert found.error < 1e-17


def test_a_posterior_that_vanishes_between_tokens_is_told() -> None:
    """1 + cos(x) on (0, 2 pi) is 0 at pi: with no tokens near it is taken, at tokens on both sides it stays refused."""
    from symslr.model.admissible import check_kernel

    kernel = 1 + cos(x)
    check_kernel(kernel, set(), normalised=True, may_vanish=False, support=(S.Zero, S(3)))
    with pytest.raises(ValueError, match=r"vanishes at x = 3\.14"):
        check_kernel(kernel, set(), normalised=True, may_vanish=False, support=(S.Zero, S(6)))
    with pytest.raises(ValueError, match="negative"):
        check_kernel(x, set(), normalised=True, may_vanish=True, support=(Symbol("b"), oo))
    check_kernel(x + 30, set(), normalised=True, may_vanish=False, support=(S(-30), S(-29)))


@pytest.mark.parametrize("end", [0, 30, 15000])
@pytest.mark.parametrize("side", [1, -1])
def test_kernels_are_looked_at_beside_the_end_of_the_tokens(end: int, side: int) -> None:
    """Regression: beyond x = 20 and within 0.025 of an end no place was looked at, and x - 1/100 on (0, oo) passed."""
    from symslr.model.admissible import check_kernel

    away = side * (x - end)
    support = (S(end), oo) if side > 0 else (-oo, S(end))
    for kernel in (away, exp(-1 / away), away - away**2 / 2 + away**3, exp(away) - 1 - away):
        check_kernel(kernel, set(), normalised=True, may_vanish=False, support=support)
    with pytest.raises(ValueError, match="negative at"):
        check_kernel(away - Rational(1, 100), set(), normalised=True, may_vanish=True, support=support)
    with pytest.raises(ValueError, match="vanishes at"):
        check_kernel((away - Rational(1, 100)) ** 2, set(), normalised=True, may_vanish=False, support=support)


def test_bayes_without_digits_answers_with_what_it_has(tmp_path, capsys) -> None:
    """Regression: advice to ask for 12 digits and to change a normaliser, of which the command knows none."""
    path = tmp_path / "tailed.toml"
    path.write_text(TAILED)
    with pytest.raises(SystemExit) as ended:
        main(["bayes", "--task", str(path)])
    assert ended.value.code == 0
    assert "0.56556775652965" in capsys.readouterr().out


@pytest.mark.parametrize("offset", ["0", "1"])
def test_a_refusal_without_digits_asks_for_no_fewer(
    tmp_path, capsys, monkeypatch: pytest.MonkeyPatch, offset: str
) -> None:
    """Regression: "ask for at most 12 digits", to whoever had asked for none; and it was met three times."""
    tried: list[object] = []
    original = at_scale.risk_as_asked

    def asked(*given, **named):
        tried.append(given[4])
        return original(*given, **named)

    monkeypatch.setattr("symslr.evaluation.location.risk.risk_as_asked", asked)
    path = tmp_path / "tailed.toml"
    path.write_text(TAILED)
    turning = ("--kernel", "exp(x)*(11/10 + sin(2*x))", "--offset", offset)
    for digits in ((), ("--digits", "9")):
        with pytest.raises(SystemExit) as ended:
            main(["risk", "--task", str(path), "--scale", "1", *turning, *digits])
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert "turns at most 4 times" in said
        assert "digits" not in said
    assert tried == [None, 9]


def test_float64_says_how_many_digits_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: twelve digits, of which float64 has eight, were refused with the advice to ask for at most 12."""
    known = Value(mpmath.mpf("0.5"), mpmath.mpf("1e-9"), Kind.ESTIMATED, 8, "by hand")

    def only_floats(*_: object) -> Value:
        raise FloatOnly("ask for at most 12 digits")

    monkeypatch.setattr(engine, "_scalars", lambda *_: known)
    for name in ("arb", "mpmath"):
        monkeypatch.setitem(engine.BACKENDS, name, replace(engine.BACKENDS[name], numbers=only_floats))
    with pytest.raises(CannotEvaluate, match=r"float64 reaches 8 of 12 digits here; ask for at most 8$"):
        evaluate(exp(x), {x: 1}, digits=12)
    assert evaluate(exp(x), {x: 1}, digits=8) is not None
    assert evaluate(exp(x), {x: 1}).digits == 8


@pytest.mark.parametrize("end", [1, -7, 100, Rational(1, 3)])
@pytest.mark.parametrize("side", [1, -1])
def test_a_posterior_that_vanishes_where_the_tokens_end(end: Expr, side: int) -> None:
    """Regression: bends were looked for beyond the end, where the kernel is negative. Gamma(2) beside Gamma(1): R = 1 - 2/3."""
    away = side * (x - end)
    ends = (end, oo) if side > 0 else (-oo, end)
    laws = (ScalarLaw(away * exp(-away), *ends), ScalarLaw(exp(-away), *ends))
    found = evaluate(bayes_risk(Task.from_token_laws(*laws, noise=0, length=2)))
    assert abs(float(found.value) - 1 / 3) <= float(found.error) < 1e-8


def test_a_posterior_that_vanishes_at_both_ends_of_the_tokens() -> None:
    """6 (x - 2) (3 - x) beside 1 on (2, 3): R = E_0[k_1 k_2/(k_1 + k_2)], here by Gauss's rule."""
    bump = 6 * (x - 2) * (3 - x)
    task = Task.from_token_laws(ScalarLaw(bump, 2, 3), ScalarLaw(S.One, 2, 3), noise=0, length=2)
    found = evaluate(bayes_risk(task))
    at, weights = np.polynomial.legendre.leggauss(400)
    k, mass = lambdify(x, bump)(2.5 + at / 2), weights / 2
    exact = float(mass @ (k[:, None] * k / (k[:, None] + k)) @ mass)
    assert abs(float(found.value) - exact) <= float(found.error) + 1e-8
    assert found.error < 1e-8
