"""Laws of location on the command line: the optimal attention, its risk, and what other attentions lose."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from symslr import SpikedSLR, bayes_optimal, fitted, landscape, simulate_fit
from symslr.cli import main, options
from symslr.evaluation.routes import WEIGHT

CHAIN = """
[task]
location = "one"
prior = "2**(-l)"
key_covariance = "rho**abs(i-j)"
length = "3"
noise = 0
[values]
nu = 2
rho = "1/2"
"""
SIGNS = '[task]\nsignal = "1:1/2,-1:1/2"\nlength = 3\n[values]\nnu = 2\n'


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    status, out, err = run(capsys, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


@pytest.fixture
def chain(tmp_path: Path) -> str:
    path = tmp_path / "chain.toml"
    path.write_text(CHAIN)
    return str(path)


@pytest.fixture
def signs(tmp_path: Path) -> str:
    path = tmp_path / "signs.toml"
    path.write_text(SIGNS)
    return str(path)


def test_optimal_prints_the_formula_its_latex_and_its_risk(capsys, chain):
    found = said(capsys, "optimal", "--task", chain)
    assert found["attention"] == "softmax with a positional bias after a linear filter over positions"
    assert "chi[l - 1]" in found["formula"]
    assert found["latex"].startswith("a_l = ")
    assert found["risk"]["value"] == said(capsys, "bayes", "--task", chain)["value"]
    _, text, _ = run(capsys, "optimal", "--task", chain)
    assert text.splitlines()[0].endswith(found["attention"])
    assert f"Bayes risk {found['risk']['value']} at L=3, nu=2, rho=1/2" in text


def test_optimal_without_values_is_the_formula_alone(capsys):
    found = said(capsys, "optimal")
    assert found["formula"] == "exp(sqrt(nu)*chi[l])/Sum(exp(sqrt(nu)*chi[m]), (m, 1, L))"
    assert "risk" not in found


LAPLACE = '[task]\nrelevant = "exp(-abs(x-1))/2"\nothers = "exp(-abs(x))/2"\nlength = 3\nnoise = 0\n'


def test_the_optimal_attention_of_token_laws_and_of_any_weight(capsys, tmp_path):
    """The kernel p1/p0; the risk of that attention at scale 1 is the Bayes risk."""
    path = tmp_path / "laplace.toml"
    path.write_text(LAPLACE)
    found = said(capsys, "optimal", "--task", str(path))
    assert found["attention"].startswith("ratio of the laws")
    assert found["formula"] == "exp(-Abs(chi[l] - 1) + Abs(chi[l]))/Sum(exp(-Abs(chi[m] - 1) + Abs(chi[m])), (m, 1, 3))"
    matched = said(capsys, "risk", "--task", str(path), "--kernel", "exp(abs(x)-abs(x-1))", "--scale", "1")
    assert float(found["risk"]["value"]) == pytest.approx(float(matched["value"]), rel=1e-9)
    largest = said(capsys, "optimal", "--task", "max")
    assert (largest["attention"], largest["formula"]) == ("softmax", "exp(nu*chi[l])/Sum(exp(nu*chi[m]), (m, 1, L))")
    assert largest["no_risk"] == "needs a value of L, nu"


def test_optimal_prints_the_formula_where_the_risk_has_no_number(capsys, tmp_path):
    path = tmp_path / "many.toml"
    path.write_text(
        '[task]\nlocation = "subset(7)"\nsignal = "1:1/2,-1:1/2"\nkey_covariance = "1/(1+(i-j)**2)"\nlength=20\n[values]\nnu = 2\n'
    )
    found = said(capsys, "optimal", "--task", str(path))
    assert found["formula"].count("theta[") > 0
    assert "hidden configurations" in found["no_risk"]
    assert "risk" not in found
    _, text, _ = run(capsys, "optimal", "--task", str(path))
    assert "its risk has no number: " in text


def test_every_position_relevant_is_no_risk_at_one_of_the_lengths(capsys, tmp_path):
    path = tmp_path / "all.toml"
    path.write_text(
        '[task]\nlocation = "subset(2)"\nsignal = "(1,0):1/2,(0,1):1/2"\nlength = "2:1/2,3:1/2"\n[values]\nnu = 2\n'
    )
    mixed = said(capsys, "bayes", "--task", str(path))
    alone = said(capsys, "bayes", "--task", str(path), "--length", "3")
    assert abs(float(mixed["value"]) - float(alone["value"]) / 2) < 4 * (float(mixed["error"]) + float(alone["error"]))
    assert float(said(capsys, "bayes", "--task", str(path), "--length", "2")["value"]) == 0


def test_one_correlation_of_the_keys_is_more_signal(capsys, tmp_path):
    """A common shift changes nothing: nu at correlation rho is nu/(1 - rho) among independent keys."""
    path = tmp_path / "alike.toml"
    path.write_text("""[task]
key_covariance = "rho**sign(abs(i-j))"
length = "3"
[values]
rho = "1/3"
nu = 1
""")
    found = said(capsys, "bayes", "--task", str(path), "--digits", "20")
    plain = said(capsys, "bayes", "--length", "3", "--nu", "3/2", "--digits", "20")
    assert found["kind"] == plain["kind"] == "certified"
    assert abs(Decimal(found["value"]) - Decimal(plain["value"])) <= Decimal(found["error"]) + Decimal(plain["error"])


def test_options_win_over_the_file(capsys, chain):
    usual, stronger = (float(said(capsys, "bayes", "--task", chain, *nu)["value"]) for nu in ((), ("--nu", "4")))
    noisy = float(said(capsys, "bayes", "--task", chain, "--noise", "1")["value"])
    assert stronger < usual
    assert noisy == pytest.approx(usual + 1, rel=1e-12)


def test_the_matched_attention_loses_nothing_and_the_plain_one_something(capsys, chain):
    best = float(said(capsys, "bayes", "--task", chain)["value"])
    matched = said(capsys, "risk", "--task", chain, "--filter", "matched", "--bias", "matched")
    assert float(matched["value"]) == pytest.approx(best, rel=1e-8)
    assert float(matched["best"]["a"]["value"]) == pytest.approx(2**0.5, rel=1e-2)
    plain = said(capsys, "risk", "--task", chain, "--scale", "1.4", "--bias", "-l*log(2)")
    assert float(plain["value"]) > best + 1e-3
    assert plain["attention"] == "softmax (bias -l*log(2))"


def test_heads_on_a_law_that_is_a_plain_task(capsys, signs):
    """A law that reduces to a weight goes the old way, with proofs refused or given as there; its heads go the new one."""
    best = float(said(capsys, "bayes", "--task", signs)["value"])
    one = float(said(capsys, "risk", "--task", signs)["value"])
    two = said(capsys, "risk", "--task", signs, "--heads", "2")
    assert one == pytest.approx(2 / 3, abs=1e-9)
    assert float(two["value"]) == pytest.approx(best, rel=1e-9)
    assert {"a_1", "a_2", "c_2"} == set(two["best"])


def test_selections_on_spiked_slr(capsys):
    found = said(capsys, "risk", "--length", "3", "--nu", "2", "--attention", "top(3)", "--scale", "1")
    known = said(capsys, "risk", "--length", "3", "--nu", "2", "--scale", "1")
    assert float(found["value"]) == pytest.approx(float(known["value"]), rel=1e-7)


def test_selections_on_max_slr(capsys):
    found = said(capsys, "risk", "--task", "max", "--length", "3", "--nu", "2", "--attention", "top(3)", "--scale", "1")
    known = said(
        capsys, "risk", "--task", "max", "--length", "3", "--nu", "2", "--attention", "softmax", "--scale", "1"
    )
    assert abs(float(found["value"]) - float(known["value"])) < 5 * float(found["error"])
    assert (
        said(capsys, "risk", "--task", "max", "--length", "3", "--nu", "inf", "--attention", "entmax")["value"] == "0.0"
    )


REFUSED = [
    (
        ("risk", "--task", "max", "--length", "3", "--nu", "2", "--attention", "entmax", "--certified"),
        "--certified: not available",
    ),
    (
        ("risk", "--task", "max", "--length", "3", "--nu", "2", "--attention", "entmax", "--scale", "inf"),
        "--scale: found inf, which is not available",
    ),
    (("risk", "--length", "3", "--nu", "2", "--heads", "2", "--certified"), "--certified: not available"),
    (("risk", "--task", "max", "--length", "3", "--nu", "2", "--heads", "2"), "expected a law of location"),
    (("risk", "--length", "3", "--nu", "2", "--bias", "free"), "does not change a normalised attention"),
    (("risk", "--length", "3", "--nu", "2", "--bias", "unknown"), "unknown name 'unknown'"),
    (("risk", "--length", "3", "--nu", "2", "--attention", "sparsemax", "--heads", "2"), "separate heads"),
    (("risk", "--length", "3", "--nu", "2", "--separate"), "found one head"),
    (
        ("finite", "--length", "3", "--nu", "2", "--attention", "entmax", "--alpha", "4", "--rk", "1", "--rv", "1"),
        "expected one kernel of single keys",
    ),
    (("optimal", "--task", "max", "--nu", "inf"), "no function of a token over its sum"),
    (
        ("risk", "--length", "3", "--nu", "2", "--bias", "matched", "--filter", "matched", "--scale", "inf"),
        "top(1)",
    ),
]


@pytest.mark.parametrize(("arguments", "match"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED])
def test_what_is_refused_is_one_line(capsys, arguments, match):
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert match in err
    assert err.count("\n") == 1


FITS = ("finite", "--alpha", "2")
OF_A_WEIGHT = [
    (("landscape",), lambda task: landscape(task, "softmax")),
    ((*FITS, "--rk", "1", "--rv", "1"), lambda task: fitted(task, "softmax", ridge=1)(alpha=2)),
    ((*FITS, "--tuned"), lambda task: fitted(task, "softmax")(alpha=2)),
    (("finite", "--alpha", "1,2", "--tuned"), lambda task: fitted(task, "softmax").curve(alpha=[1, 2])),
    ((*FITS, "--bayes-optimal"), lambda task: bayes_optimal(task)(alpha=2)),
    ((*FITS, "--rk", "1", "--rv", "1"), lambda task: simulate_fit(task, "softmax", dimension=20, ridge=1)),
]


@pytest.mark.parametrize(("arguments", "in_python"), OF_A_WEIGHT)
def test_what_needs_a_weight_says_so_as_python_does(capsys, chain, arguments, in_python):
    status, out, err = run(capsys, *arguments, "--task", chain)
    assert (status, out) == (2, "")
    problem = options.OfTask(chain, None, None, None).problem()
    task = problem.task.at(problem.values)
    with pytest.raises(ValueError, match=re.escape(WEIGHT.words)) as refused:
        in_python(task)
    assert err == f"symslr: {refused.value}\n"
    assert WEIGHT.holds(SpikedSLR())


def test_a_proof_of_a_law_of_location_is_refused_with_the_reason(capsys, chain):
    status, _, err = run(capsys, "bayes", "--task", chain, "--certified")
    assert status == 2
    assert "no formula by one-token integrals" in err
