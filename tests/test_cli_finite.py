"""``symslr finite``: numbers with errors, and one line for bad input."""

import json

import pytest

from symslr.cli import main


def _run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(["finite", *arguments])
    shown = capsys.readouterr()
    return end.value.code, shown.out, shown.err


SPIKED = ("--length", "3", "--nu", "2", "--alpha", "4")


def test_json_has_every_number_with_its_error(capsys):
    code, out, _ = _run(capsys, *SPIKED, "--attention", "linear", "--rk", "1", "--rv", "10", "--json")
    found = json.loads(out)
    assert code == 0
    assert float(found["risk"]["error"]) < 0.0021 * float(found["risk"]["value"])
    assert set(found["order_parameters"]) == {"m_k", "q_k", "V_k", "m_v", "q_v", "V_v"}
    assert float(found["change"]) < 1e-5


@pytest.mark.parametrize(("ridges", "stable"), [(("1", "10"), True), (("0.3", "0.5"), False)])
def test_json_says_whether_fits_follow_the_theory(capsys, ridges, stable):
    fit = ("--attention", "linear", "--noise", "0.3", "--rk", ridges[0], "--rv", ridges[1], "--precision", "0.05")
    found = json.loads(_run(capsys, *SPIKED, *fit, "--json")[1])
    assert found["stable"] is stable
    assert (float(found["replicon"]) < 1) is stable
    broken = "replica symmetry is broken" in _run(capsys, *SPIKED, *fit)[1]
    assert broken is not stable


def test_a_fit_with_many_minima_is_said_not_to_follow_the_theory(capsys):
    """Its replicon is below 1 and hardly a sample jumps: two fits that stay apart tell."""
    fit = ("--kernel", "1+x**2", "--normalise", "none", "--length", "2", "--nu", "2", "--alpha", "1.5")
    fit += ("--rk", "1", "--rv", "1", "--precision", "0.05")
    found = json.loads(_run(capsys, *fit, "--json")[1])
    assert float(found["replicon"]) < 1
    assert float(found["spread"]) > 0.5
    assert found["stable"] is False
    assert "replica symmetry is broken" in _run(capsys, *fit)[1]


def test_tuned_in_words(capsys):
    code, out, _ = _run(capsys, *SPIKED, "--attention", "linear", "--tuned", "--precision", "0.01")
    assert code == 0
    assert "r_k=" in out
    assert "overlap of the key with k*" in out


def test_bayes_optimal(capsys):
    code, out, _ = _run(capsys, *SPIKED, "--noise", "3/10", "--bayes-optimal", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["hard"] is False
    assert 0.09 < float(found["risk"]["value"]) < 1.09
    assert "overlap with k*" in _run(capsys, *SPIKED, "--noise", "3/10", "--bayes-optimal")[1]


CURVE = ("--length", "3", "--nu", "2", "--attention", "linear", "--rk", "1", "--rv", "10", "--precision", "0.01")


def test_several_alphas_in_words_and_as_json(capsys):
    code, out, _ = _run(capsys, *CURVE, "--alpha", "4,2")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["4", "2"]
    points = json.loads(_run(capsys, *CURVE, "--alpha", "4,2", "--json")[1])["points"]
    assert [point["alpha"] for point in points] == ["4.0", "2.0"]
    assert points[0]["branch"] == "informed"


def test_alphas_that_differ_are_told_apart(capsys):
    """Regression: six digits of each were printed, so that both lines were those of alpha = 2."""
    out = _run(capsys, *CURVE, "--alpha", "2,2.0000001")[1]
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["2.0", "2.0000001"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SPIKED, "--rk and --rv: found neither; expected both, or --tuned"),
        ((*SPIKED, "--rk", "1", "--rv", "0"), "--rv: found 0; expected a positive number"),
        ((*SPIKED, "--rk", "1", "--tuned"), "--tuned: found together with --rk or --rv"),
        ((*SPIKED, "--bayes-optimal", "--attention", "linear"), "--attention: found with --bayes-optimal"),
        (
            ("--length", "2:1/2,11:1/2", "--nu", "2", "--alpha", "4", "--tuned"),
            "--length: found 11; expected an integer",
        ),
        ((*SPIKED, "--rk", "1", "--rv", "1", "--branch", "best"), "--branch: found 'best'"),
        ((*CURVE,), "missing option '--alpha'"),
        ((*CURVE, "--alpha", "1,two"), "--alpha: found 'two'; expected a number such as 2"),
        ((*CURVE, "--alpha", ""), "--alpha: found ''; expected a number such as 2"),
        ((*CURVE, "--alpha", "1:2"), "--alpha: found '1:2'; expected LOW:HIGH:COUNT"),
        ((*CURVE, "--alpha", "1,1"), "--alpha: found 1, 1; expected distinct numbers"),
        ((*CURVE, "--alpha", "1,-1"), "--alpha: found -1; expected a positive number"),
        ((*CURVE, "--alpha", "1,2", "--branch", "informed"), "--branch: found with several --alpha"),
        (
            (*CURVE, "--alpha", "1", "--nu", "1,2", "--shift", "1"),
            "--shift: found 1; expected a finite number beside erf",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, message):
    code, out, err = _run(capsys, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert out == ""


def test_a_law_of_lengths_is_shown_as_it_was_written(capsys):
    law = ("--length", "1:1/2,2:1/2", "--nu", "2", "--alpha", "4")
    code, out, _ = _run(capsys, *law, "--attention", "linear", "--rk", "1", "--rv", "1", "--precision", "0.1")
    assert code == 0
    assert "L=1:1/2,2:1/2, nu=2, Delta=0, alpha=4" in out
    code, out, _ = _run(capsys, *law, "--noise", "0.5", "--bayes-optimal")
    assert code == 0
    assert "L=1:1/2,2:1/2, nu=2, Delta=1/2, alpha=4" in out


@pytest.mark.parametrize("kernel", ["sign(x)", "abs(x)", "exp(-abs(x))", "max(0,x)", "step(x)", "2 + elu(x)"])
def test_kernels_without_two_derivatives_are_refused(capsys, kernel):
    wanted = ("--kernel", kernel, "--normalise", "none", "--rk", "1", "--rv", "1")
    code, _, err = _run(capsys, *SPIKED, *wanted)
    assert code == 2
    assert "is not smooth" in err
    assert len(err.splitlines()) == 1


def test_printed_errors_are_not_rounded_down(capsys):
    fitted = (*SPIKED, "--attention", "linear", "--rk", "0.5", "--rv", "0.5")  # an error of 0.00149
    _, out, _ = _run(capsys, *fitted)
    printed = out.splitlines()[1].split()[:3]
    assert printed[:2] == ["0.9235", "±"]
    assert float(printed[2]) >= 0.00149
