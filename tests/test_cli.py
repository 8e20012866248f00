"""The command line as a user meets it: numbers as JSON, one line for bad input, exit status 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mpmath import mpf

from symslr.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def number(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    status, out, err = run(capsys, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_bayes_prints_decimal_strings(capsys):
    found = number(capsys, "bayes", "--task", "spiked", "--length", "3", "--nu", "2", "--digits", "30")
    assert found["value"].startswith("0.352423268884167107072769293457")  # two routes, THEORY.md section 4
    assert found["kind"] == "certified"  # what has a proof comes with it
    assert mpf(found["error"]) < mpf(10) ** -30


def test_a_number_of_many_zeros_is_printed_as_a_power_of_ten(capsys):
    """Regression: 300 zeros in the line of title."""
    title = run(capsys, "bayes", "--length", "1e40", "--nu", "1e-300", "--noise", "2e-100")[1].splitlines()[0]
    assert title == "Bayes risk, spiked task at L=1e40, nu=1e-300, Delta=2e-100"
    found = number(capsys, "risk", "--length", "1:1/1e30,3:999999999999999999999999999999/1e30", "--nu", "1e-50")
    assert (found["length"], found["values"]["nu"]) == ("1:1e-30,3:999999999999999999999999999999e-30", "1e-50")


def test_a_scale_whose_square_is_0_in_float64(capsys):
    """Regression: a warning of NumPy stood above the answer."""
    status, out, err = run(capsys, "risk", "--length", "2", "--nu", "2", "--scale", "1e-300")
    assert (status, err) == (0, "")
    assert out.splitlines()[1].startswith("  0.5000000")


def test_certified_and_estimated_agree(capsys):
    arguments = ("bayes", "--length", "100", "--nu", "5", "--digits")
    estimated, certified = number(capsys, *arguments, "12"), number(capsys, *arguments, "25", "--certified")
    assert estimated["kind"] == "estimated"
    assert certified["kind"] == "certified"
    spread = mpf(estimated["error"]) + mpf(certified["error"])
    assert abs(mpf(estimated["value"]) - mpf(certified["value"])) <= spread


def test_random_length_is_the_mean_of_fixed_lengths(capsys):
    mixed = number(capsys, "bayes", "--length", "2:1/4,5:3/4", "--nu", "1", "--noise", "1/2")
    two, five = (number(capsys, "bayes", "--length", n, "--nu", "1", "--noise", "1/2") for n in ("2", "5"))
    assert mpf(mixed["value"]) == pytest.approx((mpf(two["value"]) + 3 * mpf(five["value"])) / 4, rel=1e-12)


def test_linear_risk_is_the_closed_form(capsys):
    found = number(capsys, "risk", "--length", "3", "--nu", "1", "--attention", "linear")
    assert mpf(found["value"]) == pytest.approx(mpf(6) / 11, rel=1e-13)


def test_softmax_attains_bayes(capsys):
    for task in ("spiked", "max"):
        arguments = ("--task", task, "--length", "4", "--nu", "3", "--digits", "12")
        bayes, risk = number(capsys, "bayes", *arguments), number(capsys, "risk", *arguments)
        assert mpf(bayes["value"]) == pytest.approx(mpf(risk["value"]), rel=1e-11)


def test_best_scale_is_printed(capsys):
    """Linear attention on spiked-SLR: a = sqrt(nu) (L - 1)/L."""
    found = number(capsys, "risk", "--length", "3", "--nu", "2", "--attention", "linear", "--digits", "12")
    place = found["best"]["a"]
    assert abs(mpf(place["value"]) - 2 * mpf(2) ** 0.5 / 3) <= mpf(place["error"]) + mpf(10) ** -12
    status, out, _ = run(capsys, "risk", "--length", "3", "--nu", "2", "--digits", "12")
    assert status == 0
    assert "at a = 1.41421356" in out


def test_a_risk_that_is_finite_on_an_interval_has_a_least_value(capsys):
    """E[exp(4 a^2 x^2)] exists for |a| < 1/2 only; within bounds one of the two mirror images is found."""
    asked = ("risk", "--length", "3", "--nu", "2", "--kernel", "exp(x**2)", "--normalise", "none", "--digits", "8")
    free, bound = number(capsys, *asked), number(capsys, *asked, "--bounds", "a:0.1:0.45")
    assert abs(float(free["value"]) - float(bound["value"])) <= float(free["error"]) + float(bound["error"])
    assert abs(abs(float(free["best"]["a"]["value"])) - float(bound["best"]["a"]["value"])) < 1e-4
    assert float(bound["best"]["a"]["value"]) > 0


@pytest.mark.parametrize("text", ["b:1:2", "a:2:1", "a:0:inf", "a"])
def test_bounds_that_are_no_interval_are_refused(capsys, text):
    status, _, err = run(capsys, "risk", "--length", "3", "--nu", "2", "--bounds", text)
    assert status == 2
    assert "--bounds" in err
    assert err.count("\n") == 1


def test_linear_at_infinite_signal(capsys):
    found = number(capsys, "risk", "--task", "max", "--nu", "inf", "--length", "2", "--attention", "linear")
    assert mpf(found["value"]) == pytest.approx((1 - 1 / 3.141592653589793) / 2, rel=1e-12)


def test_model_file(capsys, tmp_path: Path):
    model = tmp_path / "spike.toml"
    model.write_text(
        '[task]\nweight = "exp(s*chi[eps] - s**2/2)"\nlength = 3\nnoise = 0\n'
        '[attention]\nkernel = "1 + exp(x)"\nnormalise = "sum"\n[values]\ns = 1\n'
    )
    own = number(capsys, "bayes", "--task", str(model))
    known = number(capsys, "bayes", "--length", "3", "--nu", "1")
    assert mpf(own["value"]) == pytest.approx(mpf(known["value"]), rel=1e-12)
    scaled = number(capsys, "risk", "--task", str(model), "--scale", "1", "--digits", "8")
    assert mpf(scaled["value"]) > mpf(own["value"])


OF_ONE_WEIGHT = """
[task]
weight = "1"
others = "(1 + s*(x**2 - 1)/2)*exp(-x**2/2)/sqrt(2*pi)"
length = 2
noise = 0
[values]
s = {}
"""


@pytest.mark.parametrize("command", [("bayes",), ("bayes", "--certified"), ("risk",), ("optimal",)])
def test_a_closed_form_does_not_hide_a_law_that_is_none(capsys, tmp_path: Path, command: tuple[str, ...]):
    (tmp_path / "model.toml").write_text(OF_ONE_WEIGHT.format(3))
    status, out, err = run(capsys, *command, "--task", str(tmp_path / "model.toml"))
    assert (status, out) == (2, "")
    assert "found the negative value" in err
    (tmp_path / "model.toml").write_text(OF_ONE_WEIGHT.format(1))
    assert run(capsys, *command, "--task", str(tmp_path / "model.toml"))[0] == 0


@pytest.mark.parametrize("kernel", ['kernel = "1 + erf(c + x)"\nnormalise = "none"', 'name = "erf"'])
def test_a_value_in_a_file_is_that_of_the_kernel(capsys, tmp_path: Path, kernel: str):
    """A shift that is given is not sought: 1 + erf(1 + x) does worse at every scale than erf attention at its best shift."""
    model = tmp_path / "shifted.toml"
    model.write_text(f"[attention]\n{kernel}\n[values]\nc = 1\n")
    asked = ("risk", "--length", "3", "--nu", "2", "--digits", "8")
    held = number(capsys, *asked, "--attention", str(model))
    plain = number(capsys, *asked, "--kernel", "1 + erf(1 + x)", "--normalise", "none")
    assert mpf(held["value"]) == pytest.approx(mpf(plain["value"]), rel=1e-7)
    assert held["attention"].endswith("(c = 1)")
    scaled = number(capsys, *asked, "--attention", str(model), "--scale", "1")
    assert mpf(scaled["value"]) > mpf(held["value"])


def test_a_value_that_no_formula_holds_is_refused(capsys, tmp_path: Path):
    model = tmp_path / "spike.toml"
    model.write_text('[task]\nweight = "exp(s*chi[eps] - s**2/2)"\nlength = 3\n[values]\ns = 1\nstrength = 2\n')
    with pytest.raises(SystemExit) as left:
        main(["bayes", "--task", str(model)])
    assert left.value.code == 2
    assert "[values]: found strength, which no formula of the file holds" in capsys.readouterr().err


BAD = [
    ("bayes", "--task", "foo", "--length", "3", "--nu", "1"),
    ("bayes", "--length", "3", "--nu", "-1"),
    ("bayes", "--length", "0", "--nu", "1"),
    ("bayes", "--length", "-2", "--nu", "1"),
    ("bayes", "--length", "2.5", "--nu", "1"),
    ("bayes", "--length", "1:1/3,2:1/3", "--nu", "1"),
    ("bayes", "--length", "1:1/2,1:1/2", "--nu", "1"),
    ("bayes", "--length", "3", "--nu", "1", "--digits", "-1"),
    ("bayes", "--length", "3", "--nu", "1", "--digits", "many"),
    ("bayes", "--length", "3", "--nu", "nan"),
    ("bayes", "--length", "3", "--nu", "inf"),
    ("bayes", "--length", "3", "--nu", "1", "--noise", "-1"),
    ("bayes", "--length", "3"),
    ("bayes", "--nu", "1"),
    ("bayes", "--length", "3", "--nu", "__import__('os').system('true')"),
    ("bayes", "--task", "missing.toml", "--length", "3"),
    ("risk", "--length", "3", "--nu", "1", "--attention", "hard"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "x"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "max(x,0)"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "().__class__"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "exp(x)", "--attention", "softmax"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "exp(x)", "--normalise", "maybe"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "exp(x)", "--offset", "-1"),
    ("risk", "--length", "3", "--nu", "1", "--kernel", "2"),
    ("derive", "no-such-derivation"),
    ("derive", "no/such/folder"),
    ("check", "no/such/folder"),
    ("bayes", "--frobnicate"),
    ("frobnicate",),
]


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_is_one_line_and_status_two(capsys, arguments):
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("symslr: ")
    assert err.count("\n") == 1


def test_a_folder_without_derivations(capsys, tmp_path: Path):
    for command in (
        ("check", str(tmp_path)),
        ("derive", str(tmp_path)),
        ("report", str(tmp_path), "--out", str(tmp_path / "out")),
    ):
        status, _, err = run(capsys, *command)
        assert (status, err.count("\n")) == (2, 1)
        assert not (tmp_path / "out").exists()


def test_derive_shows_every_rule(capsys):
    status, out, _ = run(capsys, "derive", "nishimori")
    assert status == 0
    assert "[change of measure]" in out
    status, out, _ = run(capsys, "derive", "nishimori", "--json")
    (found,) = json.loads(out)
    assert found["steps"][-1]["result"] == "E_g[h(epsilon, chi)]"
