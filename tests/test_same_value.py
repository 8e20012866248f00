"""The same request has the same value on the command line, in a study and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sympy import Abs, Symbol, exp

import symslr as s
from symslr.cli import main
from symslr.expression.value import Value
from symslr.model.symbols import chi, epsilon, i, j
from symslr.study.document import read_study
from symslr.study.registry import kind_named

FILES = {
    "PRIOR": '[task]\nprior = "2**(-l)"\nsignal = "1:2/3,-1:1/3"\nnoise = 0\n',
    "SUBSET": '[task]\nlocation = "subset(2)"\nlength = 4\nnoise = 0\n',
    "COINS": '[task]\nlocation = "independent(1/4)"\nlength = 3\nnoise = "1/2"\n',
    "CHAIN": '[task]\nkey_covariance = "rho**abs(i-j)"\nnoise = 0\n[values]\nrho = "1/2"\n',
    "WEIGHT": '[task]\nweight = "exp(s*chi[eps] - s**2/2)"\nlength = 3\nnoise = 0\n[values]\ns = 1\n',
    "LAWS": '[task]\nrelevant = "exp(-abs(x-1))/2"\nothers = "exp(-abs(x))/2"\nlength = 3\nnoise = 0\n',
    "KERNEL": '[attention]\nkernel = "exp(x) + g*x**2"\noffset = "1/2"\n[values]\ng = "1/3"\n',
}
RHO, TILT = Symbol("rho", real=True), Symbol("s", real=True)
SPIKED, MAX = s.SpikedSLR(length=3, noise=0), s.MaxSLR(length=3, noise=0)
PRIOR = s.Task(prior="2**(-l)", signal="1:2/3,-1:1/3", length=3, noise=0)
SUBSET = s.Task(location="subset(2)", length=4, noise=0)
COINS = s.Task(location="independent(1/4)", length=3, noise="1/2")
CHAIN = s.Task(key_covariance=RHO ** Abs(i - j), noise=0)
WEIGHT = s.Task(exp(TILT * chi[epsilon] - TILT**2 / 2), 3, 0)
LAWS = s.Task.from_token_laws(s.laplace(1), s.laplace(0), length=3, noise=0)
MIXED = s.SpikedSLR(length={1: "1/3", 2: "2/3"}, noise=0)
CONSTRUCTION = {"n": 256, "d": 66, "t": 4, "a0": "0.05", "a1": "1.1", "b": "0.1", "c": "0.9"}
SEPARATION = " ".join(f"--{name} {own}" for name, own in CONSTRUCTION.items())
FIT: dict[str, Any] = {"alpha": 4, "nu": 2}

REQUESTS: dict[str, Callable[[], Value]] = {
    "bayes --length 3 --nu 2": lambda: s.bayes_risk(SPIKED)(nu=2),
    "bayes --length 3 --nu 2 --digits 30": lambda: s.bayes_risk(SPIKED)(nu=2, digits=30),
    "bayes --length 3 --nu 2 --certified": lambda: s.bayes_risk(SPIKED)(nu=2, certified=True),
    "bayes --length 3 --nu 0": lambda: s.bayes_risk(SPIKED)(nu=0),
    "bayes --length 1000 --nu 2*log(999) --noise 1/3": lambda: s.bayes_risk(s.SpikedSLR(length=1000))(
        nu="2*log(999)", noise="1/3"
    ),
    "bayes --length 1:1/3,2:2/3 --nu 2": lambda: s.bayes_risk(MIXED)(nu=2),
    "bayes --task max --length 3 --nu 2": lambda: s.bayes_risk(MAX)(nu=2),
    "bayes --task max --length 3 --nu inf": s.bayes_risk(s.MaxSLR("oo", length=3, noise=0)),
    "bayes --task WEIGHT": lambda: s.bayes_risk(WEIGHT)(s=1),
    "bayes --task WEIGHT --certified --digits 20": lambda: s.bayes_risk(WEIGHT)(s=1, digits=20, certified=True),
    "bayes --task LAWS": s.bayes_risk(LAWS),
    "bayes --task PRIOR --length 3 --nu 2": lambda: s.bayes_risk(PRIOR)(nu=2),
    "bayes --task SUBSET --nu 2": lambda: s.bayes_risk(SUBSET)(nu=2),
    "bayes --task COINS --nu 2 --certified": lambda: s.bayes_risk(COINS)(nu=2, certified=True),
    "bayes --task CHAIN --length 5 --nu 2": lambda: s.bayes_risk(CHAIN)(length=5, nu=2, rho="1/2"),
    "risk --length 3 --nu 2": lambda: s.least_risk(SPIKED, "softmax")(nu=2),
    "risk --length 3 --nu 2 --scale 3/2": lambda: s.population_risk(SPIKED, "softmax")(nu=2, a="3/2"),
    "risk --length 8 --nu 2 --scale sqrt(2*log(L))": lambda: s.population_risk(
        s.SpikedSLR(length=8, noise=0), "softmax", "sqrt(2*log(L))"
    )(nu=2),
    "risk --length 3 --nu 2 --scale inf": lambda: s.population_risk(SPIKED, "softmax")(nu=2, a="oo"),
    "risk --length 1:1/3,2:2/3 --nu 2 --scale 1 --certified": lambda: s.population_risk(MIXED, "softmax")(
        nu=2, a=1, certified=True
    ),
    "risk --length 3 --nu 2 --attention linear": lambda: s.least_risk(SPIKED, "linear")(nu=2),
    "risk --length 3 --nu 2 --attention linear --scale 1": lambda: s.population_risk(SPIKED, "linear")(nu=2, a=1),
    "risk --length 3 --nu 2 --attention erf": lambda: s.least_risk(SPIKED, "erf")(nu=2),
    "risk --task max --length 3 --nu 2 --attention softplus": lambda: s.least_risk(MAX, "softplus")(nu=2),
    "risk --length 3 --nu 2 --attention softplus --bounds a:0:1": lambda: s.least_risk(
        SPIKED, "softplus", {"a": (0, 1)}
    )(nu=2),
    "risk --length 3 --nu 2 --attention sparsemax": lambda: s.least_risk(SPIKED, "sparsemax")(nu=2),
    "risk --length 3 --nu 2 --attention entmax --scale 1": lambda: s.population_risk(SPIKED, "entmax")(nu=2, a=1),
    "risk --length 3 --nu 2 --attention top(1) --scale 1": lambda: s.population_risk(SPIKED, "top(1)")(nu=2, a=1),
    "risk --length 3 --nu 2 --attention KERNEL": lambda: s.least_risk(
        SPIKED, s.Attention("exp(x) + x**2/3", offset="1/2")
    )(nu=2),
    "risk --length 3 --nu 2 --kernel x+1/4 --normalise none": lambda: s.least_risk(SPIKED, s.Attention("x+1/4", None))(
        nu=2
    ),
    "risk --length 3 --nu 2 --kernel 1+x**2 --offset 2 --scale 1": lambda: s.population_risk(
        SPIKED, s.Attention("1+x**2", offset=2)
    )(nu=2, a=1),
    "risk --task PRIOR --length 3 --nu 2 --attention softmax --offset free": lambda: s.least_risk(
        PRIOR, s.Attention("exp(x)", offset="free")
    )(nu=2),
    "risk --length 3 --nu 2 --bias=-l/2 --scale 1": lambda: s.population_risk(SPIKED, s.softmax.having(bias="-l/2"))(
        nu=2, a=1
    ),
    "risk --task PRIOR --length 3 --nu 2 --bias matched": lambda: s.least_risk(PRIOR, s.softmax.having(bias="matched"))(
        nu=2
    ),
    "risk --task PRIOR --length 3 --nu 2 --heads 2": lambda: s.least_risk(PRIOR, s.softmax.having(heads=2))(nu=2),
    "risk --task SUBSET --nu 2 --scale 1": lambda: s.population_risk(SUBSET, "softmax")(nu=2, a=1),
    "risk --task COINS --nu 2 --attention linear": lambda: s.least_risk(COINS, "linear")(nu=2),
    "risk --task CHAIN --length 2 --nu 2 --filter matched --scale 1": lambda: s.population_risk(
        CHAIN, s.softmax.having(filter="matched")
    )(length=2, nu=2, a=1, rho="1/2"),
    "risk --task LAWS --scale 1": lambda: s.population_risk(LAWS, "softmax")(a=1),
    "risk --task WEIGHT --scale 1": lambda: s.population_risk(WEIGHT, "softmax")(s=1, a=1),
    "optimal --length 3 --nu 2": lambda: s.bayes_risk(SPIKED)(nu=2),
    "optimal --task COINS --nu 2": lambda: s.bayes_risk(COINS)(nu=2),
    "finite --length 3 --nu 2 --rk .1 --rv .3 --alpha 4 --precision .1": lambda: s.fitted(
        SPIKED, "softmax", ridge=(0.1, 0.3), precision=0.1
    )(FIT),
    "finite --length 3 --nu 2 --alpha 4 --bayes-optimal": lambda: s.bayes_optimal(SPIKED)(FIT),
    f"separation {SEPARATION} --m 52": lambda: s.separation(**CONSTRUCTION)(m=52),
    f"separation {SEPARATION} --m 52 --kernel 1+x**2 --rival x**3": lambda: s.separation(
        "1+x**2", "x**3", **CONSTRUCTION
    )(m=52),
    f"separation {SEPARATION} --m 52 --digits 30": lambda: s.separation(**CONSTRUCTION, m=52)(digits=30),
}


def _said(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    for name, text in FILES.items():
        (folder / f"{name}.toml").write_text(text)
        command = command.replace(f" {name}", f" {folder / name}.toml")
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--json"])
    assert ended.value.code == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _numbers(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in ("value", "error", "kind", "digits")}


@pytest.mark.parametrize("request_", REQUESTS)
def test_one_request_has_one_value(request_: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = _said(request_, tmp_path, capsys)
    found = REQUESTS[request_]()
    (own,) = [said[name] for name in ("risk", "fixed_row") if name in said] or [said]
    assert _numbers(own) == _numbers(found.as_json())
    if own is said:
        assert said.get("exact") == found.exact
        best = {name: {key: at.as_json()[key] for key in ("value", "error")} for name, at in found.at.items()}
        assert said.get("best", {}) == best


STUDY = """
[[sweep]]
kind = "bayes"
task = ["spiked", "max"]
length = 3
nu = 2
[[sweep]]
kind = "risk"
attention = ["linear", "sparsemax"]
length = 3
nu = 2
[[sweep]]
kind = "risk"
task = "PRIOR.toml"
length = 3
nu = 2
scale = "3/2"
[[sweep]]
kind = "finite"
length = 3
nu = 2
alpha = 4
r_k = 0.1
r_v = 0.3
precision = 0.1
[[sweep]]
kind = "separation"
m = 52
"""
IN_PYTHON: list[Callable[[], Value]] = [
    lambda: s.bayes_risk(SPIKED)(nu=2, digits=15),
    lambda: s.bayes_risk(MAX)(nu=2, digits=15),
    lambda: s.least_risk(SPIKED, "linear")(nu=2),
    lambda: s.least_risk(SPIKED, "sparsemax")(nu=2),
    lambda: s.population_risk(PRIOR, "softmax", "3/2")(nu=2),
    lambda: s.fitted(SPIKED, "softmax", ridge=(0.1, 0.3), precision=0.1)(FIT),
    lambda: s.separation(**CONSTRUCTION)(m=52),
]


def test_a_study_has_the_same_values(tmp_path: Path) -> None:
    (tmp_path / "PRIOR.toml").write_text(FILES["PRIOR"])
    numbers = "\n".join(f"{name} = {own}" for name, own in CONSTRUCTION.items())
    (tmp_path / "study.toml").write_text(f"{STUDY}{numbers}\n")
    points = read_study(tmp_path / "study.toml")
    for point, ask in zip(points, IN_PYTHON, strict=True):
        answers = kind_named(point.kind).compute(dict(point.parameters), dict(point.files), point.seed)
        found = ask()
        own = answers["fixed_row" if point.kind == "separation" else "risk"]
        assert _numbers(own.as_json()) == _numbers(found.as_json())
        for name, at in found.at.items():
            assert _numbers(answers[name].as_json()) == _numbers(at.as_json())
