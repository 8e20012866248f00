"""Where a number has a closed form the command line prints it, and --symbolic prints the formula."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mpmath import mp, mpf
from sympy import Integer

from symslr.cli import main


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--json"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    found: dict[str, object] = json.loads(out)
    return found


LINEAR = ("risk", "--attention", "linear", "--length")


@pytest.mark.parametrize(
    ("arguments", "exact"),
    [
        ((*LINEAR, "3", "--nu", "2"), "6/13"),
        ((*LINEAR, "3", "--nu", "2", "--noise", "1/2"), "37/52"),
        ((*LINEAR, "1:1/3,2:1/3,3:1/3", "--nu", "2"), "1/3"),
        (("bayes", "--length", "5", "--nu", "0"), "4/5"),
        (("risk", "--kernel", "1 + x**2", "--normalise", "none", "--length", "3", "--nu", "2"), "14/25"),
        (("risk", "--kernel", "1 + x", "--normalise", "none", "--scale", "0", "--length", "4", "--nu", "3"), "3/4"),
    ],
)
def test_an_exact_number_is_printed_with_any_digits(capsys, arguments: tuple[str, ...], exact: str) -> None:
    found = answer(capsys, *arguments, "--digits", "60")
    assert found["exact"] == exact
    assert "closed form" in str(found["method"])
    top, _, bottom = exact.partition("/")
    with mp.workdps(70):
        assert abs(mpf(str(found["value"])) - mpf(top) / mpf(bottom or 1)) < mpf(10) ** -59


def test_an_exact_number_with_roots_agrees_with_the_search(capsys) -> None:
    """E_x[e^{x/2}]^2 e^{sqrt 2} / ((L-1) E_x[e^x] + e^{sqrt 2} E_x[e^x]) at L = 3, by hand."""
    given = ("--kernel", "exp(x)", "--normalise", "none", "--length", "3", "--nu", "2")
    at_scale = answer(capsys, "risk", *given, "--scale", "1/2", "--digits", "30")
    with mp.workdps(40):
        shift = mp.exp(mp.sqrt(2))
        expected = 1 - shift * mp.exp(mpf(1) / 4) / (mp.exp(mpf(1) / 2) * (2 + shift))
        assert abs(mpf(str(at_scale["value"])) - expected) < mpf(10) ** -29
    assert "exact" in at_scale


def test_what_has_no_closed_form_is_not_called_exact(capsys) -> None:
    assert "exact" not in answer(capsys, "bayes", "--length", "2", "--nu", "1")
    assert "exact" not in answer(capsys, *LINEAR, "2", "--task", "max", "--nu", "inf")


def test_symbolic_prints_the_formula_in_text_and_latex(capsys) -> None:
    found = answer(capsys, "risk", "--attention", "linear", "--symbolic")
    assert found["formula"] == "Delta**2 + L*(L - 1)/(L**2 + L*nu - nu)"
    assert found["scale"] == "(L*sqrt(nu) - sqrt(nu))/L"
    assert r"\Delta^{2}" in str(found["latex"])
    assert "minimisation" in found["rules"]  # type: ignore[operator]
    at_two = answer(capsys, "risk", "--attention", "linear", "--symbolic", "--length", "2", "--noise", "0")
    assert at_two["formula"] == "2/(nu + 4)"
    law = ("--length", "2:1/2,5:1/2", "--noise", "0")
    assert answer(capsys, "risk", "--attention", "linear", "--symbolic", *law)["formula"] == "35/(10*nu + 49)"
    assert "E_L[" in str(answer(capsys, "risk", "--symbolic", *law)["formula"])  # a sum of integrals would say less
    assert answer(capsys, "bayes", "--symbolic")["formula"] == "Delta**2 - E_g[p[epsilon]] + 1"
    letters = answer(capsys, "bayes", "--symbolic", "--length", "3", "--nu", "4")["letters"]
    assert letters["g"]["formula"] == "exp(2*chi[epsilon] - 2)"  # type: ignore[index]
    assert letters["p[l]"]["formula"] == "exp(2*chi[l])/Sum(exp(2*chi[m]), (m, 1, 3))"  # type: ignore[index]
    softmax = answer(capsys, "risk", "--symbolic", "--task", "max", "--length", "2")
    assert str(softmax["formula"]).startswith("min_{a}(")


def test_symbolic_as_text_says_how(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["risk", "--symbolic", "--attention", "linear", "--task", "max"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert "  LaTeX: " in out
    assert "  at a = E_g[chi[epsilon]]" in out
    assert "\n  by definition, linearity," in out


def test_a_false_closed_form_of_an_own_attention_does_not_leave_the_house(capsys, monkeypatch) -> None:
    """The number of the rules is held against the evaluators' where task or attention are the user's own."""
    from symslr.theory.symbolic import Formula

    right = Formula.exact
    monkeypatch.setattr(Formula, "exact", lambda self, values: right(self, values) + Integer(10) ** -6)
    with pytest.raises(SystemExit) as ended:
        main(["risk", "--kernel", "1 + x**2", "--normalise", "none", "--length", "3", "--nu", "2"])
    assert ended.value.code == 2
    assert "a fault of symslr" in capsys.readouterr().err


@pytest.mark.parametrize(("kernel", "exact"), [("x + x**3", "1/2"), ("x**2 + x**4", "13/22")])
def test_a_closed_form_that_is_only_approached_at_scale_zero(capsys, kernel, exact) -> None:
    """The risk at 0 itself is 1, as the kernel vanishes there: that was held against the closed form.

    It tends to that of the leading term, 1 - (E kappa_eps)^2/E sum kappa^2: 1 - 2/(3 + 1) of x, and 1 - 3^2/(19 + 3) of x^2.
    """
    found = answer(capsys, "risk", "--kernel", kernel, "--normalise", "none", "--length", "2", "--nu", "2")
    assert (found["exact"], found["best"]["a"]["value"]) == (exact, "0.0")  # type: ignore[index]


@pytest.mark.parametrize("kernel", ["exp(x)", "exp(2*x)", "exp(x/2)"])
def test_closed_forms_are_held_against_evaluations_as_they_are(capsys, tmp_path, kernel) -> None:
    """Not as the nearest floats, which are an ulp apart where the evaluation is off by less: it is no fault then."""
    model = tmp_path / "narrow.toml"
    relevant = "exp(-2*x**2)*sqrt(2/pi)"
    model.write_text(f'[task]\nrelevant = "{relevant}"\nlength = "2"\nnoise = 0\n')
    found = answer(capsys, "risk", "--task", str(model), "--kernel", kernel, "--normalise", "none", "--scale", "1")
    assert "closed form" in str(found["method"])


@pytest.mark.parametrize("digits", [None, "20", "30"])
@pytest.mark.parametrize("command", ["bayes", "optimal"])
def test_a_density_that_vanishes_within_has_digits(capsys, tmp_path, command, digits) -> None:
    """p1/p0 = 3 (2x - 1)^2 on (0, 1) is 0 at a token; the Bayes risk at L = 2 is (3/2) (1 - pi/4)."""
    model = tmp_path / "valley.toml"
    model.write_text('[task]\nrelevant = "3*(2*x-1)**2"\nothers = "1"\nsupport = [0, 1]\nlength = "2"\nnoise = 0\n')
    found = answer(capsys, command, "--task", str(model), *(["--digits", digits] if digits else []))
    number = found if command == "bayes" else found["risk"]
    with mp.workdps(40):
        off = abs(mp.mpf(str(number["value"])) - 1.5 * (1 - mp.pi / 4))
        assert off <= mp.mpf(str(number["error"])) < mp.mpf(10) ** -int(digits or 12)


@pytest.mark.parametrize("command", ["bayes", "optimal"])
def test_digits_that_nobody_asked_for_are_those_that_there_are(capsys, tmp_path, command) -> None:
    """p1/p0 = 1 + sin(200 pi x) on (0, 1) vanishes at a hundred tokens: float64 has two digits, no other arithmetic any."""
    model = tmp_path / "waves.toml"
    model.write_text('[task]\nrelevant = "1+sin(200*pi*x)"\nothers = "1"\nsupport = [0, 1]\nlength = "2"\nnoise = 0\n')
    found = answer(capsys, command, "--task", str(model))
    number = found if command == "bayes" else found["risk"]
    w = 1 + np.sin(2 * np.pi * (np.arange(2000) + 0.5) / 2000)  # as over one period: E_0[w_1 w_2/(w_1 + w_2)]
    expected = float(np.mean(w[:, None] * w / (w[:, None] + w)))
    assert abs(float(number["value"]) - expected) <= float(number["error"]) < 1e-2
    more = ["bayes", "--task", str(model), "--digits", "20"]
    with pytest.raises(SystemExit) as ended:
        main(more)
    assert ended.value.code == 2


def test_a_signal_of_size_zero_needs_no_strength(capsys, tmp_path) -> None:
    model = tmp_path / "silent.toml"
    model.write_text('[task]\nsignal = "0:1"\nlength = "3"\nnoise = 0\n[values]\nnu = 2\n')
    for command in (("risk", "--attention", "softmax"), ("bayes",)):
        found = answer(capsys, *command, "--task", str(model))
        assert abs(float(str(found["value"])) - 2 / 3) < 1e-14


def test_a_place_that_is_only_approached_is_not_called_a_place(capsys) -> None:
    """Regression: "at a = 0.0, error 0.0"; at scale 0 the kernel vanishes and there is no risk."""
    with pytest.raises(SystemExit):
        main(["risk", "--length", "3", "--nu", "2", "--kernel", "sin(x)", "--normalise", "none"])
    assert capsys.readouterr().out.splitlines()[-1] == "  as a goes to 0"
