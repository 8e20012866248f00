"""Options that name several numbers, and numbers that are formulas, give what the face gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import symslr as s
from symslr.cli.grids import axes
from tests.forked import answered


def _said(*arguments: str) -> str:
    status, out, errors = answered(arguments)
    assert (status, errors) == (0, "")
    return out


def test_axes() -> None:
    assert axes({"nu": "0:1:5", "length": "2,3", "scale": None}) == {
        "nu": ["0", "1/4", "1/2", "3/4", "1"],
        "length": ["2", "3"],
    }
    assert axes({"nu": "2", "length": "1:1/2,3:1/2"}) == {}
    for text in ("1:2", "1:2:1", "1:2:x", "a:2:3"):
        with pytest.raises(ValueError, match="--nu"):
            axes({"nu": text})


def test_a_table_has_the_values_of_the_face(tmp_path: Path) -> None:
    found = json.loads(_said("bayes", "--nu", "1:2:3", "--length", "2,3", "--json", "--csv", str(tmp_path / "t.csv")))
    curve = s.bayes_risk(s.SpikedSLR(noise=0)).curve(length=[2, 3], nu=["1", "3/2", "2"], digits=18)
    assert [row["value"][:17] for row in found] == [row["value"][:17] for row in curve.rows()]
    assert (tmp_path / "t.csv").read_text().count("\n") == 7


def test_a_picture_of_least_risks(tmp_path: Path) -> None:
    said = _said("risk", "--attention", "softplus", "--length", "3", "--nu", "1,2", "--plot", str(tmp_path / "p.pdf"))
    assert "at_a" in said
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF")


def test_a_number_may_be_a_formula() -> None:
    found = json.loads(_said("bayes", "--length", "3", "--nu", "2*log(999)", "--json"))
    assert abs(float(found["value"]) - float(s.bayes_risk(s.SpikedSLR("2*log(999)", 3, 0))())) < 1e-13
    at = json.loads(_said("risk", "--length", "3", "--nu", "2", "--scale", "sqrt(2*log(L))", "--json"))
    assert (
        abs(float(at["value"]) - float(s.population_risk(s.SpikedSLR(2, 3, 0), "softmax")(a="sqrt(2*log(3))"))) < 1e-12
    )
