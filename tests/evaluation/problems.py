"""Integrals and expectations with a value known from elsewhere: exact, or from two sources that share no code with symslr."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sympy import (
    Abs,
    Expr,
    Float,
    Integer,
    Integral,
    Max,
    Rational,
    S,
    Symbol,
    cos,
    erf,
    exp,
    gamma,
    log,
    oo,
    pi,
    sqrt,
)

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.model.scalar_law import ScalarLaw, laplace, normal, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, epsilon, nu, x
from symslr.theory import bayes_risk, population_risk

u = Symbol("u", positive=True)
y = Symbol("y", real=True)
N = normal()
EXPONENTIAL = ScalarLaw(exp(-x), 0, oo)


@dataclass(frozen=True)
class Problem:
    """``expr`` at ``values`` equals ``exact``; ``source`` says why."""

    name: str
    expr: Expr
    exact: Expr
    source: str
    values: Mapping[str, object] = field(default_factory=dict)
    digits: int = 30


def _reference(text: str) -> Expr:
    return Float(text, 40)


def _share(attention: Attention, base: ScalarLaw = N) -> Expr:
    """E_0[sigma_epsilon] without any signal: 1/L by exchangeability, whatever the kernel and the law."""
    sigma = Activation.of(epsilon, attention, Integer(1))
    return SequenceExpectation(sigma, SequenceLaw(S.One, L, base))


ELEMENTARY = [
    Problem(
        "mean inside an integral",
        Integral(exp(-y * ScalarExpectation(exp(x), x, N)), (y, 0, 1)),
        (1 - exp(-exp(Rational(1, 2)))) / exp(Rational(1, 2)),
        "E e^x = e^(1/2), whose error the integral inherits",
    ),
    Problem("fourth moment", ScalarExpectation(y**4, y, N), Integer(3), "Isserlis"),
    Problem("exponential moment", ScalarExpectation(exp(7 * y), y, N), exp(Rational(49, 2)), "Cameron-Martin"),
    Problem(
        "far tilt", ScalarExpectation(exp(40 * y - 800), y, N), S.One, "Cameron-Martin; each factor overflows float64"
    ),
    Problem("rectifier", ScalarExpectation(Max(y, 0), y, N), 1 / sqrt(2 * pi), "half-normal mean"),
    Problem(
        "kink off the centre",
        ScalarExpectation(Abs(y - 1), y, N),
        sqrt(2 / (pi * exp(1))) + erf(1 / sqrt(2)),
        "folded normal",
    ),
    Problem("Laplace scale", ScalarExpectation(Abs(y), y, laplace(0, 2)), Integer(2), "definition"),
    Problem("Student moment", ScalarExpectation(1 / (1 + y**2 / 3), y, student(3)), Rational(3, 4), "beta integral"),
    Problem("cosine", ScalarExpectation(cos(3 * y), y, N), exp(-Rational(9, 2)), "characteristic function"),
    Problem(
        "gamma integral",
        Integral(u ** Rational(5, 2) * exp(-3 * u), (u, 0, oo)),
        gamma(Rational(7, 2)) / 3 ** Rational(7, 2),
        "Gamma",
    ),
    Problem("half circle", Integral(sqrt(1 - y**2), (y, -1, 1)), pi / 2, "area; root singularities at the ends"),
    Problem("Cauchy tail", Integral(1 / (1 + u**2), (u, 0, oo)), pi / 2, "arctangent; algebraic tail"),
    Problem("logarithm at zero", Integral(log(y), (y, 0, 1)), Integer(-1), "by parts; logarithmic singularity"),
    Problem("reversed limits", Integral(y, (y, 1, 0)), -Rational(1, 2), "orientation"),
    Problem(
        "triangle",
        Integral(Integral(y * u, (y, 0, u)), (u, 0, 1)),
        Rational(1, 8),
        "an inner limit depends on the outer variable",
    ),
    Problem(
        "largest of three",
        3 * ScalarExpectation(y * (1 + erf(y / sqrt(2))) ** 2 / 4, y, N),
        3 / (2 * sqrt(pi)),
        "E max of three normals",
    ),
]

SHARES = [
    Problem(
        f"share {kernel.kernel} L={length}", _share(kernel, base), Rational(1, length), "exchangeability", {"L": length}
    )
    for kernel, base in (
        (softmax, N),
        (softplus, N),
        (Attention(1 + x**4), N),
        (Attention(1 / (1 + exp(-x))), N),
        (Attention(1 + Max(x, 0)), N),
        (Attention(Max(exp(x), 2)), N),
        (Attention(1 + Abs(x)), laplace()),
        (Attention(2 + erf(x)), student(3)),
        (Attention(1 + x**2), ScalarLaw(Rational(1, 2), -1, 1)),
        (Attention(1 + x**2), EXPONENTIAL),
    )
    for length in (1, 2, 7, 10**6)
]

SPIKED = [
    Problem(
        "spiked L=2 nu=1",
        bayes_risk(SpikedSLR(noise=0)),
        _reference("0.324943297662434592837598527778"),
        "Arb and the logistic-normal integral",
        {"L": 2, "nu": 1},
        29,
    ),
    Problem(
        "spiked L=2 nu=5",
        bayes_risk(SpikedSLR(noise=0)),
        _reference("0.0843965125386967278684072653549"),
        "as above",
        {"L": 2, "nu": 5},
        29,
    ),
    Problem(
        "spiked L=3 nu=2",
        bayes_risk(SpikedSLR(noise=0)),
        _reference("0.352423268884167107072769293457"),
        "Arb and a 2-D trapezoid rule",
        {"L": 3, "nu": 2},
        29,
    ),
    Problem(
        "spiked L=100 nu=5",
        bayes_risk(SpikedSLR(noise=0)),
        _reference("0.745326342555008759491495297704"),
        "Arb",
        {"L": 100, "nu": 5},
        29,
    ),
    Problem("no signal", bayes_risk(SpikedSLR(noise=0)), Rational(9, 10), "1 - 1/L", {"L": 10, "nu": 0}),
    Problem("one token", bayes_risk(SpikedSLR(noise=0)), S.Zero, "nothing to locate", {"L": 1, "nu": 3}),
    Problem(
        "linear",
        population_risk(SpikedSLR(noise=0), linear),
        Rational(6, 11),
        "L(L-1)/(L^2 + nu(L-1)) at a = sqrt(nu)(L-1)/L",
        {"L": 3, "nu": 1, "a": Rational(2, 3)},
    ),
]

ARGMAX = [
    Problem(
        "argmax, linear",
        population_risk(MaxSLR(oo, noise=0), linear),
        1 - (1 + 9 / (4 * pi)) / 3,
        "1 - (1 + mu^2)/L at a = mu",
        {"L": 3, "a": 3 / (2 * sqrt(pi))},
    ),
]

PROBLEMS = [*ELEMENTARY, *SHARES, *SPIKED, *ARGMAX]

__all__ = ["PROBLEMS", "Problem", "a", "nu"]
