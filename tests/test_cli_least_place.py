"""The place of a least risk under a law of location, and its error, where the posterior itself tells both."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from symslr.cli import main

PRIOR = '[task]\nprior = "l"\nlength = 3\nnoise = 0\n'
SIGNS = '[task]\nsignal = "1:1/2,-1:1/2"\nlength = 3\nnoise = 0\n'
MIXED = '[task]\nprior = "l"\nsignal = "1:1/3,-1/2:2/3"\nlength = 3\nnoise = 0\n'


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--json"])
    printed = capsys.readouterr()
    assert not ended.value.code, printed.err
    return json.loads(printed.out)


def holds(found: dict, exact: float | str) -> bool:
    """Whether a printed number with its error, and half of its last digit, holds another number."""
    value = Decimal(found["value"])
    rounding = Decimal(5) * Decimal(10) ** (int(value.as_tuple().exponent) - 1)
    return abs(value - Decimal(exact)) <= Decimal(found["error"]) + rounding


@pytest.mark.parametrize("nu", ["1e-6", "1", "30", "100"])
def test_softmax_with_the_matched_bias_is_the_posterior_at_root_nu(capsys, tmp_path: Path, nu: str) -> None:
    """At strong signals the risk is flat to its rounding, and its place known no better than that."""
    path = tmp_path / "prior.toml"
    path.write_text(PRIOR)
    task = ("--task", str(path), "--nu", nu)
    found, best = said(capsys, "risk", *task, "--bias", "log(l)"), said(capsys, "bayes", *task)
    assert best["kind"] == "certified"
    assert holds(found, best["value"])
    assert holds(found["best"]["a"], float(nu) ** 0.5)


@pytest.mark.parametrize("nu", ["1e-4", "1e-2", "1"])
def test_two_heads_for_a_signal_of_either_sign_are_the_posterior_at_root_nu(capsys, tmp_path: Path, nu: str) -> None:
    path = tmp_path / "signs.toml"
    path.write_text(SIGNS)
    task = ("--task", str(path), "--nu", nu)
    found, best = said(capsys, "risk", *task, "--heads", "2"), said(capsys, "bayes", *task)
    assert holds(found, best["value"])
    places = found["best"]
    first, second = sorted((places["a_1"], places["a_2"]), key=lambda one: Decimal(one["value"]))
    assert holds(first, -(float(nu) ** 0.5))
    assert holds(second, float(nu) ** 0.5)
    assert holds(places["c_2"], 1)


def test_a_bias_beside_a_scale_of_zero_is_not_known(capsys, tmp_path: Path) -> None:
    """All weights are alike at a = 0, whatever the bias; the value vector takes up their size."""
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    found = said(
        capsys, "risk", "--task", str(path), "--nu", "3", "--kernel", "exp(x)", "--offset", "1/2", "--bias", "free"
    )
    assert holds(found["best"]["a"], 0)
    assert found["best"]["b"]["error"] == "+inf"


def test_a_sampled_least_risk_is_no_larger_than_those_beside_it(capsys) -> None:
    """The risk of a selection at a scale that was known to a twentieth was printed as the least one: 8 errors above it."""
    task = ("--length", "5", "--nu", "2", "--attention", "sparsemax")
    least = said(capsys, "risk", *task)
    for scale in ("0.462", "0.4662", "0.47"):
        beside = said(capsys, "risk", *task, "--scale", scale)
        errors = Decimal(least["error"]) ** 2 + Decimal(beside["error"]) ** 2
        assert Decimal(least["value"]) - Decimal(beside["value"]) <= 4 * errors.sqrt()
    assert Decimal(least["best"]["a"]["error"]) < Decimal("0.01")
