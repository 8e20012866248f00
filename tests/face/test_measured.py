"""A user's own Monte Carlo beside theory: its mean, its standard error, its z-score."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from mpmath import mpf
from scipy import stats

import symslr as s
from symslr.cli import main
from symslr.expression.value import Kind, Value
from symslr.simulate.sequences import orthogonal_frame

SPIKED = s.SpikedSLR(length=3, noise=0)
DIMENSION, SIZE = 8, 20_000


def _predicted(seed: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores of a softmax attention that knows k* and v*, and labels, of sequences that ``sample`` draws."""
    X, y, _ = s.sample(SPIKED, SIZE, dimension=DIMENSION, seed=seed, nu=2)
    k, v = orthogonal_frame(DIMENSION, 2, np.random.default_rng(seed))  # as ``sample`` draws them
    keys, values = (X @ direction / math.sqrt(DIMENSION) for direction in (k, v))
    weights = np.exp(scale * keys)
    return np.sum(weights / weights.sum(axis=1, keepdims=True) * values, axis=1), y


def test_sampled_sequences_beside_theory(tmp_path: Path) -> None:
    """The posterior mean has the Bayes risk; at half its scale it has not, and 20000 samples tell."""
    theory = s.bayes_risk(SPIKED)(nu=2)
    scores, y = _predicted(3, math.sqrt(2))
    found = s.measured({"scores": scores, "y": y}, seed=3)
    losses = (y - scores) ** 2
    assert float(found) == pytest.approx(losses.mean(), rel=1e-14)
    assert float(found.error) == pytest.approx(stats.sem(losses), rel=1e-3)
    assert found.method == f"mean of {SIZE} squared errors, seed 3"
    assert abs(found.z_score(theory)) < 4
    other, y = _predicted(3, 0.0)
    assert s.measured({"scores": other, "y": y}).z_score(theory) > 10
    # the same samples in every form
    np.savez(tmp_path / "s.npz", scores=scores, y=y, epoch=np.arange(3))
    rows = [f"{n},{a!r},{b!r}" for n, (a, b) in enumerate(zip(scores.tolist(), y.tolist()))]
    (tmp_path / "s.csv").write_text("\n".join(["name, scores ,y", *rows]) + "\n")
    for samples in (
        tmp_path / "s.npz",
        tmp_path / "s.csv",
        str(tmp_path / "s.csv"),
        losses,
        list(losses),
        {"losses": losses},
    ):
        again = s.measured(samples)
        assert (again.value, again.error) == (found.value, found.error)


def test_weighted_samples() -> None:
    """A law that cannot be drawn from: its importance weights multiply the losses."""
    task = s.Task("chi[eps]**2*L/sum(chi[l]**2, l)", 3, 0)
    X, y, _, weights = s.sample(task, SIZE, dimension=DIMENSION, seed=0, weighted=True)
    keys, values = (X @ own / math.sqrt(DIMENSION) for own in orthogonal_frame(DIMENSION, 2, np.random.default_rng(0)))
    scores = np.sum(keys**2 / np.sum(keys**2, axis=1, keepdims=True) * values, axis=1)
    found = s.measured({"scores": scores, "y": y, "weights": weights})
    assert "weighted squared errors" in found.method
    assert abs(found.z_score(s.bayes_risk(task)())) < 4


def test_a_mean_and_its_standard_error() -> None:
    found = s.measured(0.36, "1/500", size=1000, seed=7)
    assert (float(found), float(found.error), found.kind) == (0.36, 0.002, Kind.STATISTICAL)
    assert found.method == "as given, 1000 samples, seed 7"
    assert found.z_score(s.bayes_risk(SPIKED)(nu=2)) == pytest.approx((0.36 - 0.352423268884167) / 0.002)
    gap = found - s.bayes_risk(SPIKED)(nu=2)
    assert (float(gap.error), gap.kind) == (pytest.approx(0.002), Kind.STATISTICAL)


def test_few_samples_have_the_factor_of_student() -> None:
    """Intervals of two standard errors over three normal samples hold the mean in 95.45 per cent of cases, as over many."""
    rng = np.random.default_rng(0)
    held = [abs(s.measured(rng.standard_normal(3)).z_score(0)) < 2 for _ in range(4000)]
    assert abs(np.mean(held) - 0.9545) < 4 * math.sqrt(0.9545 * 0.0455 / len(held))


def _value(number: float, error: float, kind: Kind) -> Value:
    return Value(mpf(number), mpf(error), kind, 3, "test")


def test_z_scores() -> None:
    drawn, other = _value(1.0, 0.03, Kind.STATISTICAL), _value(0.5, 0.04, Kind.STATISTICAL)
    assert drawn.z_score(other) == pytest.approx(10)
    assert other.z_score(drawn) == pytest.approx(-10)
    assert drawn.z_score("7/10") == pytest.approx(10)
    for kind in (Kind.ESTIMATED, Kind.CERTIFIED):
        bound = _value(0.9, 0.04, kind)
        assert drawn.z_score(bound) == pytest.approx(2)  # the bound may explain .04 of .1
        assert bound.z_score(drawn) == pytest.approx(-2)
        assert drawn.z_score(_value(0.9, 0.2, kind)) == 0
        with pytest.raises(ValueError, match=r"z_score: found .* expected a standard error of one of them"):
            bound.z_score(bound + 1)
    with pytest.raises(ValueError, match="z_score: found"):
        _value(1.0, 0.0, Kind.STATISTICAL).z_score(2)
    several = Value(np.array([1.0, 2.0]), np.array([0.1, 0.2]), Kind.STATISTICAL, 1, "test")
    assert several.z_score(np.array([0.5, 3.0])) == pytest.approx([5, -5])


@pytest.mark.parametrize(
    ("samples", "error", "line"),
    [
        ([], None, "samples: found 0; expected two or more"),
        ([1.0], None, "samples: found 1; expected two or more"),
        ([1.0, math.nan, 2.0], None, "losses: found nan at sample 1; expected finite numbers"),
        ([1.0, 1.0], None, "samples: found 2 equal losses"),
        (np.ones((3, 2)), None, r"losses: found an array of shape \(3, 2\)"),
        ([[1.0], [1.0, 2.0]], None, "losses: .*; expected one number a sample"),
        (["a", "b"], None, "losses: found <U1 in place of numbers"),
        (None, None, "losses: found object in place of numbers"),
        ({"scores": [1.0, 2.0], "y": [1.0, 2.0, 3.0]}, None, "samples: found 2 scores and 3 y; expected as many"),
        ({"scores": [[1.0], [2.0]], "y": [1.0, 2.0]}, None, r"scores: found an array of shape \(2, 1\)"),
        ({"scores": [1.0, 2.0]}, None, "samples: found scores; expected scores and y, or losses"),
        ({"predictions": [1.0, 2.0]}, None, "samples: found predictions; expected scores and y, or losses"),
        ({"y": [1.0, 2], "scores": [1, 3.0], "losses": [1.0, 2]}, None, "samples: found y, scores, losses; expected"),
        ({}, None, "samples: found no column"),
        (0.36, None, "standard_error: found none beside the mean 0.36"),
        (0.36, 0, "standard_error: found 0; expected a positive number"),
        (0.36, -1, "standard_error: found -1; expected a positive number"),
        (0.36, math.nan, "standard_error: found nan"),
        (math.nan, 0.1, "mean: found nan"),
        (math.inf, 0.1, "mean: found inf; expected a finite number"),
        (0.36, math.inf, "standard_error: found inf; expected a positive number"),
        ("mean", 0.1, "mean"),
    ],
)
def test_bad_samples_have_one_line(samples: object, error: object, line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}") as refusal:
        s.measured(samples, error)
    assert "\n" not in str(refusal.value)


FILES = {
    "x.csv": ("a,b\n1,2\n", "found the columns a, b; expected scores and y, or losses"),
    "empty.csv": ("", "found the columns ; expected"),
    "header.csv": ("losses\n", "samples: found 0; expected two or more"),
    "word.csv": ("losses\n1\nhalf\n", "could not convert string 'half'"),
    "short.csv": ("y,scores\n1,2\n3\n", "expected a number in every row"),
    "nan.csv": ("losses\n1\nnan\n", "losses: found nan at sample 1"),
    "none.npz": ("no archive", "found no arrays of numbers"),
    "x.txt": ("1", "found .txt; expected an .npz or a .csv file"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_have_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, line = FILES[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r".") as refusal:
        s.measured(tmp_path / name)
    assert line in str(refusal.value)
    assert _status("compare", "--length", "3", "--nu", "2", "--samples", str(tmp_path / name)) == 2
    said = capsys.readouterr()
    assert line in said.err
    assert said.err.count("\n") == 1


def _status(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ("compare", "--length", "3", "--nu", "2")
    given = (*place, "--mean", ".36", "--standard-error", ".002")
    assert _status(*given) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "  z = 3.79 standard errors"
    assert _status(*given, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["z_score"], said["measured"]["kind"], said["kind"]) == ("3.79", "statistical", "certified")
    assert said["value"] == s.bayes_risk(SPIKED)(nu=2).as_json()["value"]
    losses = np.random.default_rng(1).exponential(size=500)
    np.savez(tmp_path / "l.npz", losses=losses)
    assert (
        _status(*place, "--attention", "linear", "--scale", "1/2", "--samples", str(tmp_path / "l.npz"), "--json") == 0
    )
    said = json.loads(capsys.readouterr().out)
    theory = s.population_risk(SPIKED, "linear")(nu=2, a="1/2")
    assert said["value"] == theory.as_json()["value"]
    assert said["z_score"] == f"{s.measured(losses).z_score(theory):.2f}"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--nu 2", "compare: found nothing; expected one of --formula, --mean and --samples"),
        ("--nu 2 --mean 1 --formula 1", "compare: found formula and mean; expected one"),
        ("--nu 2 --mean 1", "--standard-error: expected beside --mean"),
        ("--nu 2 --samples x.npz --standard-error 1", "--standard-error: expected beside --mean"),
        ("--nu 2 --mean 1 --standard-error 0", "--standard-error: found 0; expected a positive number"),
        ("--nu 2 --mean one --standard-error 1", "--mean: found 'one'; expected a number"),
        ("--mean 1 --standard-error 1", "no value for nu"),
        ("--nu 2 --samples no/such.csv", "--samples: found no file no/such.csv; expected one that exists"),
    ],
)
def test_bad_input_is_one_line(arguments: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _status("compare", "--length", "3", *arguments.split()) == 2
    said = capsys.readouterr()
    assert line in said.err
    assert (said.err.count("\n"), said.out) == (1, "")
