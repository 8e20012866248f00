"""Is this my formula: right ones, wrong ones, wrong ones by little or in a range that is seldom visited, and unknown ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sympy import Expr, floor

import symslr as s
from symslr.algebra.derivation import Derivation
from symslr.check.check import check_derivation
from symslr.check.report import DerivationCheck, Verdict
from symslr.cli import main
from symslr.face import agreement
from symslr.face.agreement import Answer, compare
from symslr.symbols import a, nu

SPIKED = s.SpikedSLR(length=3, noise=0)
LINEAR, BAYES = s.population_risk(SPIKED, "linear"), s.bayes_risk(SPIKED)
RIGHT = "1 - (1 + a*sqrt(nu))**2/(3 + 2*a*sqrt(nu) + a**2*(nu + 3))"
ANY_LENGTH = "Delta**2 + 1 - (1 + a*sqrt(nu))**2/(L + 2*a*sqrt(nu) + a**2*(nu + L))"
PRIOR = s.Task(length=2, prior="2**(-l)", noise=0)


@pytest.mark.parametrize(
    ("risk", "formula"),
    [
        (BAYES, BAYES.expr.conditioned()),
        (BAYES.diff("nu"), BAYES.expr.conditioned().diff(nu)),
        (s.bayes_risk(s.SpikedSLR(length={1: "1/3", 3: "2/3"}, noise=0)), 2 * BAYES.expr.conditioned() / 3),
        (s.bayes_risk(s.Task(length=3, noise=0)), BAYES.expr.conditioned()),  # which is spiked
    ],
    ids=["Bayes", "derivative", "random length", "location"],
)
def test_right_formulas(risk: s.Quantity, formula: Expr | str) -> None:
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
    assert BAYES.compare_with(BAYES.formula()).proved
    assert LINEAR.compare_with(RIGHT).proved
    assert s.population_risk(s.SpikedSLR(), "linear").compare_with(ANY_LENGTH).proved


def test_a_least_risk_that_no_rule_finds() -> None:
    """The referee minimises what rules derive of the risk: Proposition 4.2, and a kernel with a zero, whose risk is 0/0 there."""
    task = s.SpikedSLR(length=2, noise=0, nu=1)
    least = s.least_risk(task, "softmax")
    agrees = least.compare_with(s.bayes_risk(task).expr.conditioned())
    assert agrees
    assert not agrees.proved
    assert not least.compare_with("1/3")
    with_a_zero = s.least_risk(s.SpikedSLR(length=2, noise=0), s.Attention("x + x**2", None))
    assert with_a_zero.compare_with("(4*nu + 10)/(2*nu**2 + 9*nu + 12)").proved


def test_unknown_is_neither() -> None:
    found = LINEAR.compare_with(LINEAR.formula() + floor(nu / 10**9))
    assert repr(found).startswith("unknown: brings in floor")
    with pytest.raises(ValueError, match="compare_with: unknown: brings in floor"):
        bool(found)


def _with_false_step(item: Derivation) -> DerivationCheck:
    found = check_derivation(item)
    return replace(found, steps=(replace(found.steps[0], verdict=Verdict.FALSE, reason="1 and 2"), *found.steps[1:]))


def test_a_false_step_leaves_every_formula_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rules derive is what a formula is compared with: where that is wrong nothing is said of the formula."""
    assert compare(LINEAR, RIGHT)
    monkeypatch.setattr(agreement, "check_derivation", _with_false_step)
    assert compare(LINEAR, RIGHT).reason == "what rules derive is false by definition: 1 and 2"


def test_a_law_of_location_by_its_definition() -> None:
    risk = s.bayes_risk(PRIOR)
    assert not risk.compare_with("1 - nu/10")
    assert risk.compare_with(risk.expr.definition())
    assert risk.compare_with(risk.expr)
    given = s.bayes_risk(s.Task(nu="2", length=2, prior="2**(-l)", noise=0))
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
        (s.fitted(SPIKED, "softmax"), "1/2", "fitted to alpha D samples, spiked: no formula"),
        (s.population_risk(PRIOR, "softmax"), "1/2", "risk of softmax, location: no formula"),
    ],
)
def test_what_cannot_be_asked_has_one_line(risk: s.Quantity, formula: object, line: str) -> None:
    with pytest.raises((ValueError, TypeError), match=line) as refusal:
        risk.compare_with(formula)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)


COMMANDS = {
    f"--length 3 --noise 0 --attention linear --scale a --formula {RIGHT.replace(' ', '')}": (
        0,
        "agrees: proved equal",
    ),
    "--length 3 --noise 0 --attention linear --formula 6/(2*nu+9)": (0, "agrees: proved equal"),
    "--length 3 --nu 2 --noise 0 --attention linear --formula 6/13": (0, "agrees: proved equal"),
    "--noise 0 --formula 1-1/L": (1, "differs"),
    "--task LOC --length 2 --formula 1-1/nu": (1, "differs"),
    "--length 2 --noise 0 --kernel exp(x) --scale 1 --formula nu": (1, "differs"),
}


@pytest.mark.parametrize("request_", COMMANDS)
def test_on_the_command_line(request_: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "loc.toml").write_text('[task]\nprior = "2**(-l)"\nnoise = 0\n')
    wanted, words = COMMANDS[request_]
    arguments = ["compare", *request_.replace("LOC", str(tmp_path / "loc.toml")).split()]
    assert _status(arguments) == wanted
    heading, answer, *numbers = capsys.readouterr().out.splitlines()
    assert heading.endswith(f" task, and {arguments[-1]}")
    assert answer.startswith(f"  {words}")
    assert all(line.startswith("    ") for line in numbers)
    assert _status([*arguments, "--json"]) == wanted
    said = json.loads(capsys.readouterr().out)
    assert (said["answer"], said["proved"]) == (words.partition(":")[0], "proved" in words)


def test_both_faces_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    formula = "1-nu/10"
    _status(["compare", "--length", "3", "--noise", "0", "--scale", "a", "--formula", formula, "--json"])
    said, found = json.loads(capsys.readouterr().out), s.population_risk(SPIKED, "softmax").compare_with(formula)
    assert {name: said[name] for name in found.as_json()} == found.as_json()


def test_unknown_on_the_command_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As of ``symslr check`` the status is 3, or 0 where that is allowed."""
    monkeypatch.setattr(agreement, "check_derivation", _with_false_step)
    arguments = ["compare", "--noise", "0", "--attention", "linear", "--scale", "a", "--formula", "1"]
    assert _status(arguments) == 3
    assert capsys.readouterr().out.splitlines()[1].startswith("  unknown: what rules derive is false")
    assert _status([*arguments, "--allow-unknown"]) == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--length 3 --noise 0 --formula 1-mu", "formula '1-mu': column 3: unknown name 'mu'; known: nu, pi, E"),
        ("--length 3 --attention sparsemax --formula 1", "least risk of sparsemax, spiked: no formula"),
        ("--length 3 --heads 2 --separate --formula 1", ": no formula"),
        ("--length 3 --normalise none --formula 1", "--normalise: found without --kernel"),
        ("--length 3 --scale b --formula 1", "--scale 'b': column 1: found 'b'"),
        ("--length 0 --formula 1", "length"),
    ],
)
def test_bad_input_is_one_line(arguments: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _status(["compare", *arguments.split()]) == 2
    said = capsys.readouterr()
    assert line in said.err
    assert (said.err.count("\n"), said.out) == (1, "")


def _status(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code
