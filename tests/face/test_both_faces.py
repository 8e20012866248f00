"""The same request has the same value on the command line and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import symslr as s
from symslr.cli import main
from symslr.expression.value import Value

LOC = '[task]\nprior = "2**(-l)"\nsignal = "1:2/3,-1:1/3"\nnoise = 0\n'
SPIKED, MAX = s.SpikedSLR(length=3, noise=0), s.MaxSLR(length=3, noise=0)
LAW = s.Task(prior="2**(-l)", signal="1:2/3,-1:1/3", length=3, noise=0)
REQUESTS: dict[str, Callable[[], Value]] = {
    "bayes --length 3 --nu 2": lambda: s.bayes_risk(SPIKED)(nu=2),
    "bayes --length 3 --nu 2 --digits 30": lambda: s.bayes_risk(SPIKED)(nu=2, digits=30),
    "bayes --length 3 --nu 0": lambda: s.bayes_risk(SPIKED)(nu=0),
    "bayes --task max --length 3 --nu 2": lambda: s.bayes_risk(MAX)(nu=2),
    "bayes --length 1:1/3,2:2/3 --nu 2": lambda: s.bayes_risk(s.SpikedSLR(length={1: "1/3", 2: "2/3"}, noise=0))(nu=2),
    "bayes --task LOC --length 3 --nu 2": lambda: s.bayes_risk(LAW)(nu=2),
    "risk --length 3 --nu 2": lambda: s.least_risk(SPIKED, "softmax")(nu=2),
    "risk --length 3 --nu 2 --scale 3/2": lambda: s.population_risk(SPIKED, "softmax")(nu=2, a="3/2"),
    "risk --length 3 --nu 2 --attention linear": lambda: s.least_risk(SPIKED, "linear")(nu=2),
    "risk --length 3 --nu 2 --attention linear --scale 1": lambda: s.population_risk(SPIKED, "linear")(nu=2, a=1),
    "risk --task max --length 3 --nu 2 --attention softplus": lambda: s.least_risk(MAX, "softplus")(nu=2),
    "risk --length 3 --nu 2 --attention sparsemax": lambda: s.least_risk(SPIKED, "sparsemax")(nu=2),
    "risk --length 3 --nu 2 --attention top(1) --scale 1": lambda: s.population_risk(SPIKED, "top(1)")(nu=2, a=1),
    "risk --length 3 --nu 2 --bias=-l/2 --scale 1": lambda: s.population_risk(SPIKED, s.softmax.having(bias="-l/2"))(
        nu=2, a=1
    ),
    "risk --task LOC --length 3 --nu 2 --bias matched": lambda: s.least_risk(LAW, s.softmax.having(bias="matched"))(
        nu=2
    ),
    "risk --length 3 --nu 2 --kernel x+1/4 --normalise none": lambda: s.least_risk(SPIKED, s.Attention("x+1/4", None))(
        nu=2
    ),
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_one_request_has_one_value(request_: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "loc.toml").write_text(LOC)
    with pytest.raises(SystemExit) as ended:
        main([*request_.replace("LOC", str(tmp_path / "loc.toml")).split(), "--json"])
    assert ended.value.code == 0
    said = json.loads(capsys.readouterr().out)
    found = REQUESTS[request_]()
    wanted = found.as_json()
    assert {name: said[name] for name in wanted if name != "seconds"} == {
        name: own for name, own in wanted.items() if name != "seconds"
    }
    assert said.get("exact") == found.exact
    assert {name: best["value"] for name, best in said.get("best", {}).items()} == {
        name: best.as_json()["value"] for name, best in found.at.items()
    }
