"""Chains that a stranger might write to be told "true": false ones, and ones that say nothing. None of them passes."""

from pathlib import Path

import pytest
from sympy import (
    Abs,
    Eq,
    Expr,
    Function,
    Heaviside,
    Integral,
    KroneckerDelta,
    Limit,
    Max,
    Mul,
    Piecewise,
    Rational,
    S,
    Sum,
    Symbol,
    cos,
    exp,
    gamma,
    log,
    oo,
    pi,
    sign,
    sin,
    sqrt,
)
from typer.testing import CliRunner

from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import Hypothesis
from symslr.check import CheckReport, Verdict
from symslr.check.check import check_derivation
from symslr.check.report import DerivationCheck
from symslr.cli.application import app
from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Minimum, Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.scalar_law import STANDARD_NORMAL, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import P_L, Delta, L, a, chi, epsilon, l, nu, x
from tests.check.toys import Say

u = Symbol("u", positive=True)
spiked, maximum = SpikedSLR().law, MaxSLR().law
bare = spiked.unweighted()
hit = SequenceExpectation(Posterior(epsilon, spiked), spiked)
hit_max = SequenceExpectation(Posterior(epsilon, maximum), maximum)
mixed = SequenceExpectation(Abs(chi[epsilon]) * Posterior(epsilon, spiked), spiked)
linear_risk = Delta**2 + L * (L - 1) / (L**2 + nu * (L - 1))
half_blind = SequenceLaw(1 + sign(chi[epsilon]), L)


pytestmark = pytest.mark.usefixtures("lines_alone", "few_sequences", "few_tries")


def scalar(body: Expr) -> Expr:
    return ScalarExpectation(body, x, STANDARD_NORMAL)


def chain(start: Expr, after: Expr, **options: object) -> DerivationCheck:
    said = Say(lambda expr: after, options.pop("remainder", None), options.pop("hypotheses", ()))
    return check_derivation(Derivation(start, name="stranger", **options).apply(said))


SLIP = 1 + Rational(1, 10**9)
FALSE = {
    "false at one value alone": (linear_risk, linear_risk + 1 - Abs(sign(nu - 3))),
    "0 to the power 0": (linear_risk, linear_risk + 0 ** Abs(nu - 3)),
    "false where two sides are equal": (linear_risk, linear_risk + Piecewise((1, Eq(nu, 3)), (0, True))),
    "false at one length alone": (linear_risk, linear_risk + nu * (1 - Abs(sign(L - 77)))),
    "false at one length by a Kronecker delta": (linear_risk, linear_risk + nu * KroneckerDelta(L, 7)),
    "false on an interval of a ten-thousandth": (
        linear_risk,
        linear_risk + Heaviside(nu - 3) * Heaviside(Rational(30001, 10000) - nu),
    ),
    "a relative 1e-9, two expectations": (hit, SLIP * hit),
    "a relative 1e-9, a closed formula": (linear_risk, SLIP * linear_risk),
    "e^-50 beside a closed formula": (linear_risk, linear_risk + exp(-50)),
    "e^-100 beside a closed formula": (linear_risk, linear_risk + exp(-100)),
    "e^-50 beside an expectation": (hit, hit + exp(-50)),
    "right for two and three tokens": (hit, hit * (1 + (L - 2) * (L - 3) / S(10) ** 8)),
    "right for two, three and one token, the other task": (
        hit_max, hit_max * (1 + (L - 1) * (L - 2) * (L - 3) / S(10) ** 7),
    ),
    "right for one to nine tokens": (hit, hit * (1 + Mul(*(L - n for n in range(1, 10))) / S(10) ** 12)),
    "right for one to nine tokens, the other task": (
        hit_max, hit_max * (1 + Mul(*(L - n for n in range(1, 10))) / S(10) ** 12),
    ),
    "right for one to nine tokens, sampled": (mixed, mixed * (1 + Mul(*(L - n for n in range(1, 10))) / S(10) ** 6)),
    "right up to a hundred tokens": (linear_risk, linear_risk + Heaviside(L - 30, 0) / 10**6),
    "right at integers": (linear_risk, linear_risk + sin(pi * nu) / 10**6),
    "right at integers, an expectation": (scalar(exp(a * x)), exp(a**2 / 2) * (1 + sin(pi * a) ** 2)),
    "right at multiples of 1/97": (linear_risk, linear_risk + sin(97 * pi * nu) / 10**6),
    "right at multiples of 1/9700": (hit, hit * (1 + sin(9700 * pi * nu) / 10**6)),
    "right below 6": (hit, hit * Piecewise((1, nu < 6), (1 + exp(-nu), True))),
    "right above 1/5": (hit, hit * Piecewise((1, nu > Rational(1, 5)), (1 + nu, True))),
    "right below 50": (hit, hit * Piecewise((1, nu < 50), (2, True))),
    "right below a thousand, one token in ten thousand off": (
        linear_risk, linear_risk + Heaviside(nu - 1000, 0) / nu,
    ),
    "right with noise": (hit + Delta, hit + Max(Delta, Rational(1, 1000))),
    "right without noise": (Delta * hit, Delta**2 * hit),
    "right at noise 1": (Delta**2 + 1 - hit, Delta + 1 - hit),
    "right for a > 0": (scalar(sqrt(a**2 * x**2)), a * scalar(Abs(x))),
    "a weight that vanishes": (SequenceExpectation(exp(chi[epsilon]), bare), SequenceExpectation(
        Piecewise((exp(chi[epsilon]) / (1 + sign(chi[epsilon])), chi[epsilon] > 0), (0, True)), half_blind)),
    "a sum that leaves out the first token": (
        SequenceExpectation(Sum(chi[l] ** 2, (l, 2, L)), spiked), SequenceExpectation(L * chi[epsilon] ** 2, spiked) - 1,
    ),
    "the position used as a number": (
        SequenceExpectation(epsilon * chi[epsilon] ** 2, spiked), SequenceExpectation(chi[epsilon] ** 2, spiked),
    ),
    "Stein through a jump": (scalar(x * Heaviside(x - a)), S.Zero),
    "a limit that is another": (Limit((1 + nu / (nu + 1)) * L, nu, oo), 2 * L + Rational(1, 10**5)),
    "a stationary point for the minimum": (
        Minimum((a**2 - 1) ** 2 + a * nu / 10, a), S.One,
    ),
    "the mean length for the length": (LengthExpectation(hit, P_L), hit.subs(L, 2)),
    "another activation scale": (
        SequenceExpectation(Activation.of(epsilon, softmax, a), spiked),
        SequenceExpectation(Activation.of(epsilon, softmax, a * (1 + Rational(1, 10**7))), spiked),
    ),
    "a range where the integral diverges at infinity": (
        Integral(exp(-u * (nu - 1)), (u, 0, oo)), 1 / (nu - 1), {"ranges": {nu: (0.1, 3)}}),
    "a range where the integral diverges at 0": (
        Integral(u ** (nu - 2), (u, 0, 1)), 1 / (nu - 1), {"ranges": {nu: (0.1, 3)}}),
    "a range where the mean is infinite": (
        scalar(exp(nu * x**2)), sqrt(1 / Abs(1 - 2 * nu)), {"ranges": {nu: (0.1, 1)}}),
    "a remainder that is too small": (exp(-nu), 1 - nu, {"remainder": nu**2 / 4, "ranges": {nu: (0.01, 0.2)}}),
}  # fmt: skip


TRUE = {
    "a large mean beside a small factor": (exp(-(nu**2) / 2) * scalar(exp(nu * x)), S.One, {"ranges": {nu: (25, 35)}}),
    "a factor that underflows": (exp(-(nu**2)) * scalar(exp(nu * x)), exp(-(nu**2) / 2), {"ranges": {nu: (27, 30)}}),
    "the reciprocal of what overflows": (
        Integral(u ** (nu - 1) * exp(-u), (u, 0, oo)) / gamma(nu), S.One, {"ranges": {nu: (172, 200)}}),
    "a constant that is 0 and rounds to another number": (
        Integral(nu * exp(-nu * u) + log(2) + log(5) - log(10), (u, 0, oo)), S.One, {"ranges": {nu: (1, 2)}}),
    "an integral that does not converge absolutely": (
        Integral(cos(nu * u**2), (u, 0, oo)), sqrt(pi / (8 * nu)), {"ranges": {nu: (1, 2)}}),
    "a tail that falls far out": (
        Integral(1 / ((1 + u) * (1 + u * exp(-nu))), (u, 0, oo)), nu / (1 - exp(-nu)), {"ranges": {nu: (90, 120)}}),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_what_looks_divergent_is_not_called_false(name: str) -> None:
    start, after, options = unpacked(TRUE[name])
    assert chain(start, after, **options).verdict is not Verdict.FALSE


def unpacked(case: tuple) -> tuple[Expr, Expr, dict]:
    return (*case, {}) if len(case) == 2 else case


@pytest.mark.parametrize("name", FALSE)
def test_false(name: str) -> None:
    start, after, options = unpacked(FALSE[name])
    found = chain(start, after, **options)
    assert found.verdict is Verdict.FALSE, found.steps[0].reason


CAUCHY = student(1)
SILENT = {
    "a remainder that no parameter makes small": (
        exp(-nu), exp(-nu) + Rational(1, 1000), {"remainder": Rational(1, 100), "ranges": {nu: (0.1, 0.5)}}),
    "a remainder larger than the value": (exp(-nu), 1 - nu, {"remainder": S(10) ** 6}),
    "a generous remainder with a parameter": (exp(-nu), 1 - nu, {"remainder": 100 * nu, "ranges": {nu: (0.1, 0.5)}}),
    "a remainder of an order that the error does not have": (
        exp(nu), 1 + Rational(9, 10) * nu, {"remainder": 10 * nu**2, "ranges": {nu: (0.01, 0.02)}}),
    "the same over decades": (
        Symbol("t", positive=True) / 10 + 1, S.One,
        {"remainder": 40 * Symbol("t", positive=True) ** 2}),
    "a hypothesis that excludes everything": (hit, 2 * hit, {"hypotheses": (Hypothesis("cos nu > 2", cos(nu) > 2),)}),
    "hypotheses that contradict each other": (
        linear_risk, linear_risk + 1, {"hypotheses": (Hypothesis("", nu < 1), Hypothesis("", nu > 2))}),
    "one token alone": (hit, hit ** 2, {"ranges": {L: [1]}}),
    "one value of the signal": (linear_risk, linear_risk + (nu - 1), {"ranges": {nu: [1]}}),
    "one value of the signal as an interval": (linear_risk, linear_risk + (nu - 1), {"ranges": {nu: (1, 1)}}),
    "nothing on both sides": (scalar(x * exp(-nu * x**2)), 7 * scalar(x * exp(-nu * x**2))),
    "a function that means nothing": (Function("f")(nu), Function("f")(nu) + 1),
    "a mean that does not exist": (ScalarExpectation(x, x, CAUCHY), S.Zero),
    "an integral that does not exist": (Integral(1 / u, (u, 0, oo)) * nu, Integral(2 / u, (u, 0, oo)) * nu),
    "a limit that does not exist": (Limit(sin(nu), nu, oo), S.Zero),
    "a limit at a finite point": (Limit(sin(nu) / nu, nu, 0), S.One * 2),
    "a minimum that does not exist": (Minimum(a * nu, a), -nu),
    "infinity": (exp(exp(exp(nu + 9))) * hit, exp(exp(exp(nu + 9))) * hit * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_says_nothing(name: str) -> None:
    start, after, options = unpacked(SILENT[name])
    found = chain(start, after, **options)
    assert found.verdict in (Verdict.UNKNOWN, Verdict.FALSE), found
    assert found.steps[0].reason


def test_a_chain_without_steps_says_nothing() -> None:
    assert check_derivation(Derivation(hit, name="bare")).verdict is Verdict.UNKNOWN
    assert CheckReport(()).verdict is Verdict.UNKNOWN


def test_a_range_is_said() -> None:
    found = chain(linear_risk, linear_risk.expand(), ranges={nu: (Rational(1, 5), 1), L: [2, 3, 6]})
    assert found.verdict is Verdict.TRUE
    assert found.restrictions == ("L in {2, 3, 6}", "1/5 < nu < 1")
    assert "only for L in {2, 3, 6}; 1/5 < nu < 1" in CheckReport((found,)).as_text()


FILE = """
from typing import final
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.model.symbols import nu

@final
class Claimed(Rule):
    name = "claimed"
    statement = "A = B"

    def rewrite(self, expr):
        return {after}

short = Derivation({start}).apply(Claimed())
"""


@pytest.mark.parametrize(
    ("start", "after", "options", "status"),
    [
        ("(nu + 1) ** 2", "expr.expand()", [], 0),
        ("(nu + 1) ** 2", "expr.expand() + 1", [], 1),
        ("(nu + 1) ** 2", "expr.expand() + 1", ["--allow-unknown"], 1),
        ("(nu + 1) ** 2, ranges={nu: [3]}", "expr.expand()", [], 3),
        ("(nu + 1) ** 2, ranges={nu: [3]}", "expr.expand()", ["--allow-unknown"], 0),
    ],
)
def test_exit_status(tmp_path: Path, start: str, after: str, options: list[str], status: int) -> None:
    (tmp_path / "short.py").write_text(FILE.format(start=start, after=after))
    assert CliRunner().invoke(app, ["check", str(tmp_path), *options]).exit_code == status
