"""What comparisons at points judge, and rules of an author's that end the process or change what the check knows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import final

import pytest
from sympy import Abs, Eq, Expr, Function, Mod, Rational, S, Symbol, binomial, floor
from sympy.core.function import AppliedUndef, UndefinedFunction
from typer.testing import CliRunner

from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.check import Verdict, check
from symslr.check.check import check_derivation
from symslr.check.points import points
from symslr.check.replay import unclear
from symslr.check.untouched import remembered, touched
from symslr.cli.application import app
from symslr.model.symbols import a, nu
from symslr.referee import arithmetic
from symslr.referee.work import METER, SECOND

n = Symbol("n", integer=True, positive=True)


@final
class Told(Rule):
    """Does to a line what it was told."""

    name = "told"
    statement = "A = B"

    def __init__(self, told: Callable[[Expr, Symbol], Expr]) -> None:
        self.told = told

    def rewrite(self, expr: Expr) -> Expr:
        (symbol,) = expr.free_symbols
        return self.told(expr, symbol)


NOT_JUDGED = {
    "0**u": lambda e, s: e + S.Zero ** Abs(s - 3),
    "floor": lambda e, s: e * (1 + floor(s / 10**9)),
    "Mod": lambda e, s: e + Mod(s, 10**9) - s,
    "binomial": lambda e, s: e + binomial(s, 10**6),
}


@pytest.mark.parametrize("name", NOT_JUDGED)
def test_what_comparisons_do_not_judge_is_unknown_and_named(name: str) -> None:
    symbol = n if name in ("Mod", "binomial") else nu
    found = check_derivation(Derivation((symbol + 1) ** 2, name="odd").apply(Told(NOT_JUDGED[name])))
    assert found.verdict is not Verdict.TRUE
    assert found.verdict is Verdict.FALSE or f"brings in {name}" in found.steps[0].reason


def test_what_they_judge_is_true() -> None:
    found = check_derivation(Derivation((nu + 1) ** 2, name="even").apply(Told(lambda e, s: e.expand())))
    assert found.verdict is Verdict.TRUE


class Printed(AppliedUndef):
    """Prints what it is not."""

    def _sympystr(self, printer: object) -> str:
        return "0"


@pytest.mark.parametrize(
    "kind", [Printed, UndefinedFunction("kappa", __dict__={"_latex": lambda self, printer, exp=None: "0"})]
)
def test_a_function_that_prints_what_it_is_not_has_no_meaning(kind: type) -> None:
    assert "defined outside of symslr" in unclear(Derivation(kind(nu) * nu))
    assert not unclear(Derivation(Function("kappa", real=True)(nu) * nu))


def test_a_rule_that_ends_the_process_leaves_no_verdict() -> None:
    parent = os.getpid()

    def leave(expr: Expr, symbol: Symbol) -> Expr:
        if os.getpid() != parent:
            os._exit(0)
        return expr.expand()

    report = check([Derivation((nu + 1) ** 2, name="gone").apply(Told(leave))], jobs=1)
    assert report.any_stopped
    assert report.verdict is not Verdict.TRUE


def test_what_the_check_knows_is_compared_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    before = remembered()
    assert touched(before) == ()
    monkeypatch.setitem(arithmetic._FLOAT, "exp", abs)
    assert touched(before) == ("symslr.referee.arithmetic._FLOAT",)
    monkeypatch.undo()
    assert touched(before) == ()
    monkeypatch.setattr("symslr.check.points.KINDS", ())
    assert touched(before) == ("symslr.check.points.KINDS",)


def equality(condition: Eq) -> Derivation:
    @final
    class Under(Rule):
        name = "under"
        statement = "A = A"

        def rewrite(self, expr: Expr) -> Expr:
            return expr.expand()

        def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
            return (Hypothesis.of(condition),)

    return Derivation((a + nu) ** 2, name="equal").apply(Under())


def test_an_equality_is_checked_on_itself() -> None:
    item = equality(Eq(2 * a, nu / 3 + 1))
    found = points(item)
    assert len(found) > 3
    assert all(2 * p.values["a"] == p.values["nu"] / 3 + 1 for p in found)


def test_an_equality_that_cannot_be_drawn_is_said_at_once() -> None:
    began = METER.done
    found = check_derivation(equality(Eq(a**2 + nu**2, Rational(7, 3))))
    assert found.verdict is Verdict.UNKNOWN
    assert "an equality that no drawn numbers satisfy" in found.steps[0].reason
    assert METER.done - began < SECOND // 100


def test_a_file_that_ends_the_process_ends_no_check(tmp_path: Path) -> None:
    file = tmp_path / "gone.py"
    file.write_text("import os\nos._exit(0)\n")
    found = CliRunner().invoke(app, ["check", str(file)])
    assert isinstance(found.exception, ValueError)
    assert "a file that ends the process" in str(found.exception)
