"""Options that name several numbers, and numbers that are formulas, give what the face gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import symslr as s
from symslr.cli.grids import axes
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation
from symslr.simulate.separation import attention_on, network, threshold
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


def test_fits_and_bayes_optimal_risks_over_alpha(tmp_path: Path) -> None:
    """Regression: --alpha took one number, and no table of a fit was drawn over it."""
    fit = ("--attention", "linear", "--length", "3", "--nu", "2", "--rk", "1", "--rv", "1", "--precision", "0.05")
    files = ("--csv", str(tmp_path / "t.csv"), "--plot", str(tmp_path / "p.pdf"))
    found = json.loads(_said("finite", *fit, "--alpha", "1:2:2", "--json", *files))
    curve = s.fitted(s.SpikedSLR(noise=0), "linear", ridge=1, precision=0.05).curve(length=[3], nu=[2], alpha=[1, 2])
    assert found == curve.rows()
    assert (tmp_path / "t.csv").read_text() == curve.to_csv()
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF")
    best = json.loads(_said("finite", "--length", "2", "--nu", "1,2", "--alpha", "1,3/2", "--bayes-optimal", "--json"))
    assert [(row["nu"], row["alpha"]) for row in best] == [(1, 1), (1, 1.5), (2, 1), (2, 1.5)]
    assert best[3:] == s.bayes_optimal(s.SpikedSLR(noise=0)).curve(length=[2], nu=[2], alpha=["3/2"]).rows()


def test_separation_over_widths(tmp_path: Path) -> None:
    """Regression: --m took one number."""
    network = {"n": 12, "d": 8, "t": 2, "a0": ".1", "a1": "1.5", "b": ".5", "c": ".2"}
    options = [word for name, own in network.items() for word in (f"--{name}", str(own))]
    said = _said("separation", *options, "--m", "4:12:3", "--json", "--csv", str(tmp_path / "t.csv"))
    curve = s.separation(**network).curve(m=[4, 8, 12], digits=15)
    assert json.loads(said) == curve.rows()
    assert (tmp_path / "t.csv").read_text() == curve.to_csv()
    assert "P(separates), one marked row\n  m " in _said("separation", *options, "--m", "4,8")


def test_the_event_of_separation_is_the_one_that_the_help_defines() -> None:
    """By all sign matrices: the rival is 0 on both data sets; that it does not do the same is more likely."""
    given = {"n": 12, "d": 8, "t": 2, "a0": ".1", "a1": "1.5", "b": ".5", "c": ".2", "m": 2, "margin": "1/3"}
    made = Separation(**given)
    bits = np.arange(2 ** (made.d * made.m))[:, None] >> np.arange(made.d * made.m) & 1
    signs = np.where(bits, 1.0, -1.0).reshape(-1, made.d, made.m)
    fires = {
        (kernel, which): network(attention_on(made, kernel, which, 0), signs, threshold(made)) > 0
        for kernel in (SOFTMAX_KERNEL, LINEAR_KERNEL)
        for which in (0, 1)
    }
    tells, rival_too = (fires[kernel, 1] & ~fires[kernel, 0] for kernel in (SOFTMAX_KERNEL, LINEAR_KERNEL))
    silent = ~fires[LINEAR_KERNEL, 0] & ~fires[LINEAR_KERNEL, 1]
    options = [word for name, own in given.items() for word in (f"--{name}", str(own))]
    assert float(json.loads(_said("separation", *options, "--json"))["fixed_row"]["value"]) == np.mean(tells & silent)
    assert 0 < np.mean(tells & silent) < np.mean(tells & ~rival_too)
    said = " ".join(_said("separation", "--help").replace("│", " ").split())
    assert "the network with --kernel is above 0 on D1 and 0 on D0, and the one with --rival is 0 on both" in said
    assert "the rival is not itself above 0 on D1 and 0 on D0" in said
