"""The check passes what is right, catches what is wrong, and never lets the unknown pass."""

from pathlib import Path

import pytest
from sympy import (
    Expr,
    Function,
    Heaviside,
    Integral,
    Limit,
    Piecewise,
    Rational,
    Sum,
    Symbol,
    cos,
    exp,
    gamma,
    oo,
    sin,
    sqrt,
)

from symslr.algebra.derivation import Derivation
from symslr.check import CheckReport, Verdict, check, collect
from symslr.check.check import check_derivation
from symslr.check.report import DerivationCheck
from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum, Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import P_L, Delta, L, a, chi, epsilon, j, k, l, nu, x, xi, z
from tests.check.toys import Say

u = Symbol("u", positive=True)
spiked, maximum = SpikedSLR().law, MaxSLR().law
bare = spiked.unweighted()
p = Posterior(epsilon, spiked)
hit = SequenceExpectation(p, spiked)
risk = Delta**2 + 1 - hit
"""Bayes risk of spiked-SLR."""
linear_risk = Delta**2 + L * (L - 1) / (L**2 + nu * (L - 1))
label = z[epsilon] + Delta * xi
squares = SequenceExpectation(Sum(chi[l] ** 2, (l, 1, L)) ** 2, bare)
cubes = SequenceExpectation(chi[epsilon] ** 2 * chi[j] ** 2 * chi[k] ** 2, spiked)


pytestmark = pytest.mark.usefixtures("lines_alone", "few_sequences")


def scalar(body: Expr) -> Expr:
    return ScalarExpectation(body, x, STANDARD_NORMAL)


def checked(start: Expr, after: Expr, **options: object) -> DerivationCheck:
    remainder = options.pop("remainder", None)
    item = Derivation(start, name="toy", **options).apply(Say(lambda expr: after, remainder))
    return check_derivation(item)


GOOD: dict[str, tuple[Expr, Expr]] = {
    "expand": (linear_risk, (Delta**2 * (L**2 + nu * L - nu) + L**2 - L) / (L**2 + nu * L - nu)),
    "nishimori": (SequenceExpectation(Sum(Posterior(l, spiked) ** 2, (l, 1, L)), spiked), hit),
    "shift": (scalar(exp(a * x) * sqrt(2 + x**2)), exp(a**2 / 2) * scalar(sqrt(2 + (x + a) ** 2))),
    "coinciding and distinct pairs": (squares, 3 * L + L * (L - 1)),
    "change of measure": (
        hit,
        SequenceExpectation(exp(2 * sqrt(nu) * chi[epsilon] - nu / 2)
                            / Sum(exp(sqrt(nu) * chi[l]), (l, 1, L)), bare),
    ),
    "stationarity": (Minimum(1 + Delta**2 - 2 * a * sqrt(nu) + a**2 * (1 + nu), a), 1 + Delta**2 - nu / (1 + nu)),
    "random length": (
        LengthExpectation(L * (L + nu), P_L),
        LengthExpectation(L**2, P_L) + nu * LengthExpectation(L, P_L),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_right_rules_pass(name: str) -> None:
    found = checked(*GOOD[name])
    assert found.verdict is Verdict.TRUE, found.steps[0].reason
    assert found.steps[0].tally.digits is not None
    assert (
        found.steps[0].tally.digits >= 9
    )  # the fewest are those of the long sequence, 11 to 40 tokens, by the law of the sum
    assert found.steps[0].tally.effective >= 2


slip = 1 + Rational(1, 10**9)
WRONG: dict[str, tuple[Expr, Expr]] = {
    "a constant": (risk, risk + Rational(1, 1000)),
    "a factor": (hit, 2 * hit),
    "a sign": (risk, Delta**2 + 1 + hit),
    "a sign in an exponent": (scalar(exp(a * x) * cos(x)), exp(-(a**2) / 2) * scalar(cos(x + a))),
    "1e-9 relative, closed form": (linear_risk, linear_risk * slip),
    "1e-9 relative, expectation": (hit, hit * slip),
    "1e-9 relative, small part alone": (risk, Delta**2 + 1 - hit * slip),
    "three tokens on: (L-1)(L-2) counted as (L-1)^2 at L > 2": (squares, 3 * L + L * (L - 1) + (L - 1) * (L - 2)),
    "three tokens on: distinct pairs": (
        (L - 1) * (L - 2) * cubes,
        (L - 1) ** 2 * (1 + nu) * Heaviside(L - 2, 0),
    ),
    "four tokens on": (linear_risk, linear_risk + (L - 1) * (L - 2) * (L - 3) / 1000),
    "five tokens on": (hit, hit * (1 + (L - 1) * (L - 2) * (L - 3) * (L - 4) / 10000)),
    "only for noise other than 1": (risk, Delta + 1 - hit),
    "only at little noise": (
        Delta**2 + nu,
        Delta**2 + nu + Piecewise((Rational(1, 10), Delta < Rational(1, 2)), (0, True)),
    ),
    "only at strong signal": (linear_risk, Piecewise((linear_risk, nu < 10), (L / nu + Delta**2, True))),
    "only at strong signal, expectation": (hit, hit * Piecewise((1, nu < 10), (1 - exp(-nu), True))),
    "positivity of a assumed": (scalar(sqrt(a**2 * x**2)), a * scalar(sqrt(x**2))),
    "Gamma(k) forgotten": (1 / (1 + nu) ** 3, Integral(u**2 * exp(-u * (1 + nu)), (u, 0, oo))),
    "Laplace without the offset": (1 / (1 + nu) ** 3, Integral(u**2 / gamma(3) * exp(-u * nu), (u, 0, oo))),
    "a pairing too few": (SequenceExpectation(z[epsilon] ** 4 + Delta * xi**2, spiked), 2 + Delta),
    "odd moment kept": (SequenceExpectation(label**2, spiked), 1 + Delta**2 + Delta),
    "square outside of the expectation": (SequenceExpectation(p**2, spiked), hit**2),
    "Nishimori for a replica too many": (SequenceExpectation(Sum(Posterior(l, spiked) ** 3, (l, 1, L)), spiked), hit),
    "posterior of the other task": (hit, SequenceExpectation(Posterior(epsilon, maximum), spiked)),
    "weight forgotten": (hit, SequenceExpectation(p, bare)),
    "scale of the softmax": (hit, SequenceExpectation(Activation.of(epsilon, softmax, nu), spiked)),
    "noise of the label forgotten": (
        SequenceExpectation((label - ConditionalMean(label, spiked)) ** 2, spiked),
        SequenceExpectation((z[epsilon] - ConditionalMean(label, spiked)) ** 2, spiked),
    ),
    "a stationary point that is no minimum": (
        Minimum(a**4 - 2 * nu * a**2 + a / 3, a), (a**4 - 2 * nu * a**2 + a / 3).subs(a, 0) - Rational(1, 10)
    ),
    "Jensen for a random length": (LengthExpectation(1 / (L + nu), P_L), 1 / (LengthExpectation(L, P_L) + nu)),
    "a limit": (Limit(nu * L / (nu + L), nu, oo), L + 1),
    "a limit, by a millionth": (Limit(nu * L * (L - 1) / (L**2 + L * nu - nu), nu, oo), L + Rational(1, 10**6)),
    "Stein with the wrong function": (scalar(x * exp(-((x - a) ** 2))), scalar(2 * (x - a) * exp(-((x - a) ** 2)))),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_caught(name: str) -> None:
    found = checked(*WRONG[name])
    assert found.steps[0].verdict is Verdict.FALSE, found.steps[0]
    assert found.verdict is Verdict.FALSE
    assert " at " in found.steps[0].reason


def test_the_step_that_is_wrong_is_named_among_right_ones() -> None:
    item = Derivation(linear_risk, name="chain").apply(Say(lambda e: e.expand()))
    item = item.apply(Say(lambda e: e + (L - 2) / 10**6)).apply(Say(lambda e: e.factor()))
    found = check_derivation(item)
    assert [step.verdict for step in found.steps] == [Verdict.TRUE, Verdict.FALSE, Verdict.TRUE]


@pytest.mark.parametrize(("quoted", "verdict"), [(False, Verdict.FALSE), (True, Verdict.DIFFERS)])
def test_wrong_claims(quoted: bool, verdict: Verdict) -> None:
    item = Derivation(linear_risk, name="claims").apply(Say(lambda e: e.expand()))
    found = check_derivation(
        item.claim(linear_risk, "right").claim((L - 1) / nu, "misquoted", label="quoted" if quoted else "own")
    )
    assert [claim.verdict for claim in found.claims] == [Verdict.TRUE, verdict]
    assert found.claims[0].symbolic
    assert found.verdict is (Verdict.TRUE if quoted else Verdict.FALSE)


def test_unknown_is_no_pass() -> None:
    nowhere = Limit(sin(nu), nu, oo)
    found = checked(nowhere, nowhere + 1)
    assert found.steps[0].verdict is Verdict.UNKNOWN
    assert found.verdict is Verdict.UNKNOWN
    report = CheckReport((found,))
    assert not report.any_false
    assert report.verdict is Verdict.UNKNOWN
    assert report.counts()["effective"] == 0
    assert "unknown" in report.as_text()


def test_a_function_left_open_is_any_function() -> None:
    mystery = Function("mystery")(nu)
    assert checked(mystery, mystery + 1).steps[0].verdict is Verdict.FALSE
    assert checked((mystery + 1) ** 2, mystery**2 + 2 * mystery + 1).steps[0].verdict is Verdict.TRUE


def test_zero_on_both_sides_is_not_effective() -> None:
    found = checked(scalar(x * exp(-(x**2) * nu)), 3 * scalar(x * exp(-(x**2) * nu)))
    assert found.verdict is Verdict.UNKNOWN
    assert not found.steps[0].tally.effective


def test_the_start_is_simulated() -> None:
    found = check_derivation(Derivation(risk, name="start"))
    assert found.start is not None
    assert found.start.verdict is Verdict.TRUE
    assert all(abs(c.z) < 5 for c in found.start.comparisons if c.z is not None)


def test_remainders_widen_the_tolerance_and_no_more() -> None:
    series = 1 + nu
    options = {"ranges": {nu: (Rational(1, 20), Rational(1, 5))}}
    good = checked(exp(nu), series, remainder=nu**2, **options)
    assert good.steps[0].verdict is Verdict.TRUE
    bad = checked(exp(nu), series - nu / 2, remainder=nu**2, **options)
    assert bad.steps[0].verdict is Verdict.FALSE
    empty = checked(exp(nu), series, remainder=10 + nu, **options)
    assert empty.steps[0].verdict is Verdict.UNKNOWN


def test_report_in_processes_and_its_counts() -> None:
    items = [
        Derivation(linear_risk, name=f"item-{i}").apply(Say(lambda e, i=i: e.expand() + (nu if i == 1 else 0)))
        for i in range(3)
    ]
    seen: list[tuple[int, str]] = []
    report = check(items, jobs=2, progress=lambda done, name: seen.append((done, name)))
    assert [item.name for item in report.derivations] == ["item-0", "item-1", "item-2"]
    assert [item.verdict for item in report.derivations] == [Verdict.TRUE, Verdict.FALSE, Verdict.TRUE]
    assert sorted(done for done, _ in seen) == [1, 2, 3]
    counts = report.counts()
    assert counts["steps"] == {"true": 2, "false": 1}
    assert 0 < counts["effective"] <= counts["comparisons"]
    assert report.as_json()["verdict"] == "false"
    assert "item-1" in report.as_text()


def test_the_same_verdict_every_time() -> None:
    first, second = (checked(*GOOD["expand"]).as_json() for _ in range(2))
    first.pop("seconds"), second.pop("seconds")
    assert first == second


SLIPPED = """
from typing import final
from sympy import expand
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.model.symbols import L, nu

@final
class Miscount(Rule):
    name = "miscount"
    statement = "pairs"

    def rewrite(self, expr):
        return expand(expr) + {slip}

pairs = Derivation((L - 1) * (L - 2) * nu).apply(Miscount())
"""


@pytest.mark.parametrize(("slip", "verdict"), [("0", Verdict.TRUE), ("(L - 1) * (L - 2) / 10**8", Verdict.FALSE)])
def test_a_folder_whose_rules_live_in_its_own_files(tmp_path: Path, slip: str, verdict: Verdict) -> None:
    (tmp_path / "pairs.py").write_text(SLIPPED.format(slip=slip))
    (tmp_path / "again.py").write_text(SLIPPED.format(slip="0").replace("pairs =", "again ="))
    report = check(collect(tmp_path), jobs=2)
    assert {item.name: item.verdict for item in report.derivations} == {"again": Verdict.TRUE, "pairs": verdict}
    assert report.any_false is (verdict is Verdict.FALSE)
