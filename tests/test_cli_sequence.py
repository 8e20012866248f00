"""``symslr thresholds`` and ``symslr bayes-optimal``: numbers with errors, and one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symslr.cli import main

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"


def _run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    shown = capsys.readouterr()
    return end.value.code, shown.out, shown.err


def test_thresholds_as_json(capsys) -> None:
    code, out, _ = _run(capsys, "thresholds", str(EXAMPLES / "product.toml"), "--json")
    (found,) = json.loads(out)["thresholds"]
    assert code == 0
    assert float(found["value"]) == pytest.approx(2.4674011002723395)
    assert found["direction"] == "u, v"
    assert float(found["error"]) < 1e-9


def test_bayes_optimal_at_one_alpha_and_along_several(capsys, tmp_path) -> None:
    path, csv = tmp_path / "linear.toml", tmp_path / "curve.csv"
    path.write_text('[model]\nteachers = ["u"]\nlength = 1\nlabel = "u[1]"\nnoise = 0.5')
    one = json.loads(_run(capsys, "bayes-optimal", str(path), "--alpha", "1", "--json")[1])
    assert float(one["overlaps"]["u"]["value"]) == pytest.approx(0.6097, abs=1e-3)
    code, out, _ = _run(capsys, "bayes-optimal", str(path), "--alpha", "0.5:1.5:3", "--csv", str(csv))
    assert code == 0
    assert out.count("alpha = ") == 3
    assert csv.read_text().splitlines()[0].startswith("alpha,quantity,value,error")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('teachers = ["u"]\nlength = 1\nlabel = "1"', "label: found a constant"),
        ('teachers = ["a","b","c","d"]\nlength = 1\nlabel = "a[1]"', "teachers: found 4 names; expected 1 to 3"),
        ('teachers = ["u"]\nlength = 5\nlabel = "sum(u[l]**2, l)"\nnoise = 1', "found 5 fields"),
        ('teachers = ["u"]\nlength = 1\nlabel = "u[1]"\nweight = "2"', "weight: found the mean 2"),
        ('teachers = ["u"]\nlength = 1', "found no label"),
    ],
)
def test_a_bad_model_gets_one_line(capsys, tmp_path, text, told) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(f"[model]\n{text}")
    for command in (["thresholds"], ["bayes-optimal", "--alpha", "1"]):
        code, out, err = _run(capsys, command[0], str(path), *command[1:])
        assert (code, out) == (2, "")
        assert told in err
        assert len(err.strip().splitlines()) == 1


def test_a_picture_of_an_unknown_kind_is_refused_first(capsys) -> None:
    code, _, err = _run(capsys, "bayes-optimal", str(EXAMPLES / "phase.toml"), "--alpha", "1", "--plot", "curve.gif")
    assert code == 2
    assert "--plot: found curve.gif" in err


def test_equations_stand_in_the_models_own_letters(capsys) -> None:
    code, out, _ = _run(capsys, "equations", str(EXAMPLES / "single_location.toml"), "--latex")
    assert code == 0
    for part in (
        r"y&=v_{\epsilon}",
        r"e^{k_{\epsilon} \sqrt{\nu} - \frac{\nu}{2}}",
        r"\hat Q&=\alpha",
        r"\frac{dM}{dt}",
    ):
        assert part in out
    assert out.count(r"\begin{align*}") == 1


def test_equations_name_derivations_that_there_are(capsys) -> None:
    code, out, _ = _run(capsys, "equations", str(EXAMPLES / "single_location.toml"), "--json")
    assert code == 0
    cited = {name for row in json.loads(out)["equations"] for name in row["by"]}
    assert {"bayes-optimal-force", "weak-recovery-own", "online-m", "online-q"} <= cited
    assert all(f'"name": "{name}"' in (ROOT / "derivations" / "_index.json").read_text() for name in cited)


def test_dynamics_begin_at_small_overlaps(capsys) -> None:
    code, out, _ = _run(capsys, "dynamics", str(EXAMPLES / "single_location.toml"), "--times", "0,1", "--json")
    first, last = json.loads(out)["points"]
    assert code == 0
    assert float(first["M[k,k]"]["value"]) == pytest.approx(0.01)
    assert float(last["M[v,v]"]["value"]) > 0.1


def test_a_fit_as_json(capsys, tmp_path) -> None:
    path = tmp_path / "linear.toml"
    path.write_text(
        '[model]\nteachers = ["u"]\nlength = 1\nlabel = "u[1]"\nnoise = 0.5\n[student]\nfields = ["w"]\npredictor = "w[1]"'
    )
    code, out, _ = _run(capsys, "fitted", str(path), "--alpha", "1,2", "--ridge", "1", "--json")
    points = json.loads(out)["points"]
    assert code == 0
    assert float(points[1]["V[w,w]"]["value"]) == pytest.approx(2**0.5 - 1, abs=2e-3)
    assert points[1]["stable"] is True
