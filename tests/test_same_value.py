"""The same request has the same value on the command line, in a study and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sympy import Abs, Symbol, exp

import symslr as s
from symslr.cli import main
from symslr.cli.landscape import _shown
from symslr.evaluation.finite_sample import CurvePoint
from symslr.evaluation.landscape import Landscape
from symslr.evaluation.landscape.order import order_of
from symslr.evaluation.separation.report import PROBABILITIES, SeparationReport
from symslr.evaluation.sequence.bayes_optimal import BayesOptimal
from symslr.expression.value import Value
from symslr.model.symbols import chi, epsilon, i, j
from symslr.study.document import read_study
from symslr.study.point import Point
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
    "finite --length 3 --nu 2 --rk .1 --rv .3 --alpha 4 --precision .1 --branch informed --seed 1": lambda: s.fitted(
        SPIKED, "softmax", ridge=(0.1, 0.3), precision=0.1, branch="informed", seed=1
    )(FIT),
    "finite --length 3 --nu 2 --rk 1 --rv 10 --alpha 4 --precision .1 --attention erf --shift 1/2": lambda: s.fitted(
        SPIKED, "erf", ridge=(1, 10), precision=0.1
    )(FIT, c="1/2"),
    "finite --length 3 --nu 2 --rk 1 --rv 1 --alpha 1/2 --precision .1 --kernel x+1/4 --normalise none": lambda: (
        s.fitted(SPIKED, s.Attention("x+1/4", None), ridge=1, precision=0.1)(nu=2, alpha="1/2")
    ),
    "finite --task LAWS --rk 1 --rv 1 --alpha 4 --precision .1": lambda: s.fitted(
        LAWS, "softmax", ridge=1, precision=0.1
    )(alpha=4),
    "finite --length 3 --nu 2 --alpha 4 --bayes-optimal": lambda: s.bayes_optimal(SPIKED)(FIT),
    "finite --task max --length 3 --nu inf --noise 1 --alpha 4 --bayes-optimal --seed 1": lambda: s.bayes_optimal(
        s.MaxSLR("oo", length=3, noise=1), seed=1
    )(alpha=4),
    "finite --length 1:1/3,2:2/3 --nu 2 --alpha 4 --bayes-optimal": lambda: s.bayes_optimal(MIXED)(FIT),
    f"separation {SEPARATION} --m 52": lambda: s.separation(**CONSTRUCTION)(m=52),
    f"separation {SEPARATION} --m 52 --kernel 1+x**2 --rival x**3": lambda: s.separation(
        "1+x**2", "x**3", **CONSTRUCTION
    )(m=52),
    f"separation {SEPARATION} --m 52 --digits 30": lambda: s.separation(**CONSTRUCTION, m=52)(digits=30),
    f"separation {SEPARATION} --m 52 --margin 1/5 --beta 2": lambda: s.separation(**CONSTRUCTION)(
        m=52, margin="1/5", beta=2
    ),
    f"separation {SEPARATION} --m 52 --keys 1.1,.2,1/3": lambda: s.separation(
        keys=("1.1", 0.2, Fraction(1, 3)), **CONSTRUCTION
    )(m=52),
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


def _beside(found: Value) -> dict[str, Value]:
    """The other numbers of the fit, of the report or of the best estimator that a value is one number of."""
    if isinstance(found.result, CurvePoint):
        return {**found.at, "training_loss": found.result.fit.training_loss, "energy": found.result.fit.energy}
    if isinstance(found.result, SeparationReport):
        return {name: getattr(found.result, name) for name in PROBABILITIES}
    if isinstance(found.result, BayesOptimal):
        assert found.result.uninformed_risk is not None
        return {**found.at, "uninformed_risk": found.result.uninformed_risk}
    return {}


@pytest.mark.parametrize("request_", REQUESTS)
def test_one_request_has_one_value(request_: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = _said(request_, tmp_path, capsys)
    found = REQUESTS[request_]()
    (own,) = [said[name] for name in ("risk", "fixed_row") if name in said] or [said]
    assert _numbers(own) == _numbers(found.as_json())
    for name, value in _beside(found).items():
        assert _numbers(said.get("order_parameters", {}).get(name) or said[name]) == _numbers(value.as_json())
    if own is said:
        assert said.get("exact") == found.exact
        best = {name: {key: at.as_json()[key] for key in ("value", "error")} for name, at in found.at.items()}
        assert said.get("best", {}) == best


def _at_a_point(land: Landscape, **order: float) -> dict[str, Any]:
    found = land.confirmed(land.point(order))
    slopes = {name: _shown(*own) for name, *own in zip(land.names, found.gradient, found.gradient_errors)}
    parts = {"gradient": "value", "gradient_error": "error"}
    return {
        **_shown(found.risk, found.error),
        **{own: {name: shown[part] for name, shown in slopes.items()} for own, part in parts.items()},
    }


def _minima(land: Landscape) -> dict[str, Any]:
    found = []
    for own in land.minima():
        risk = land.confirmed(order_of(own.point))
        found.append({"kind": own.kind, "minimum": own.is_minimum, **_shown(risk.risk, risk.error)})
    return {"minima": found}


def _branches(points: list[CurvePoint]) -> dict[str, Any]:
    rows = [(str(point.alpha), fit) for point in points for fit in point.fits]
    return {"points": [{"alpha": at, "branch": fit.branch, "risk": _numbers(fit.risk.as_json())} for at, fit in rows]}


def _widths(delta: str, **construction: Any) -> dict[str, Any]:
    found: dict[str, Any] = s.separation(**construction)().result.widths(delta).as_json()
    return {"widths": found}


PLACE = {"m_kk": 1.0, "q_kk": 2.0, "q_vv": 2.0}
AT = "--at m_kk=1,q_kk=2,q_vv=2"
CURVE: dict[str, Any] = {"ridge": (1, 10), "precision": 0.05}
SEVERAL: dict[str, Callable[[], dict[str, Any]]] = {
    f"landscape --length 3 --nu 2 {AT}": lambda: _at_a_point(s.landscape(SPIKED, "softmax", nu=2), **PLACE),
    f"landscape --length 3 --nu 2 --noise 1/2 --attention erf {AT},c=.5": lambda: _at_a_point(
        s.landscape(s.SpikedSLR(length=3), "erf", nu=2, noise="1/2"), **PLACE, c=0.5
    ),
    f"landscape --length 1:1/3,2:2/3 --nu 2 --kernel 1+x**2 {AT}": lambda: _at_a_point(
        s.landscape(MIXED, s.Attention("1+x**2"), nu=2), **PLACE
    ),
    "landscape --length 3 --nu 2": lambda: _minima(s.landscape(SPIKED, "softmax", {"nu": 2})),
    "landscape --task max --length 3 --nu 2 --attention linear": lambda: _minima(s.landscape(MAX, "linear", nu=2)),
    "finite --length 3 --nu 2 --rk 1 --rv 10 --alpha 4,2 --precision .05 --attention linear": lambda: _branches(
        s.fitted_branches(SPIKED, "linear", nu=2, alpha=[4, 2], **CURVE)
    ),
    f"separation {SEPARATION} --m 52 --delta 1/100": lambda: _widths("1/100", **CONSTRUCTION, m=52),
}


@pytest.mark.parametrize("request_", SEVERAL)
def test_one_request_has_the_same_numbers(request_: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _holds(_said(request_, tmp_path, capsys), SEVERAL[request_]())


def _holds(said: Any, found: Any) -> None:
    """Whether all that was found is said."""
    if isinstance(found, dict):
        for name, own in found.items():
            _holds(said[name], own)
    elif isinstance(found, list):
        for own, one in zip(said, found, strict=True):
            _holds(own, one)
    else:
        assert said == found


def test_a_branch_is_the_fit_at_its_alpha() -> None:
    points = s.fitted_branches(SPIKED, "linear", nu=2, alpha=[4, 2], **CURVE)
    curve = s.fitted(SPIKED, "linear", nu=2, **CURVE).curve(alpha=[4, 2])
    assert [_numbers(point.fit.risk.as_json()) for point in points] == [_numbers(own.as_json()) for own in curve.points]


STUDY = """
[common]
length = 3
nu = 2
[[sweep]]
kind = "bayes"
task = ["spiked", "max"]
[[sweep]]
kind = "risk"
attention = ["linear", "sparsemax"]
[[sweep]]
kind = "risk"
task = "PRIOR.toml"
scale = "3/2"
[[sweep]]
kind = "finite"
alpha = 4
r_k = 0.1
r_v = 0.3
precision = 0.1
[[sweep]]
kind = "finite"
attention = "erf"
shift = 0.5
alpha = 4
r_k = 1
r_v = 1
branch = "informed"
precision = 0.1
seed = 1
[[sweep]]
kind = "bayes_optimal"
alpha = 4
seed = 1
[[sweep]]
kind = "erm"
alpha = 4
dimension = 20
r_k = 0.1
r_v = 0.3
seeds = "0,3"
fresh = 1000
[[sweep]]
kind = "erm"
attention = "erf"
alpha = 4
dimension = 20
r_k = 0.1
r_v = 0.3
replicates = 3
start = "random"
precision = "float32"
fresh = 1000
[[sweep]]
kind = "message_passing"
task = "max"
alpha = 2
dimension = 40
replicates = 3
damping = 0.25
[[sweep]]
kind = "separation"
m = 52
"""
IN_PYTHON: list[Callable[[Point], Value]] = [
    lambda _: s.bayes_risk(SPIKED)(nu=2, digits=15),
    lambda _: s.bayes_risk(MAX)(nu=2, digits=15),
    lambda _: s.least_risk(SPIKED, "linear")(nu=2),
    lambda _: s.least_risk(SPIKED, "sparsemax")(nu=2),
    lambda _: s.population_risk(PRIOR, "softmax", "3/2")(nu=2),
    lambda _: s.fitted(SPIKED, "softmax", ridge=(0.1, 0.3), precision=0.1)(FIT),
    lambda _: s.fitted(SPIKED, "erf", ridge=1, precision=0.1, branch="informed", seed=1)(FIT, c="1/2"),
    lambda _: s.bayes_optimal(SPIKED, seed=1)(FIT),
    lambda _: s.simulate_fit(SPIKED, "softmax", seeds=[0, 3], fresh=1000, **SIMULATED)(FIT),
    lambda point: s.simulate_fit(
        SPIKED, "erf", seeds=3, seed=point.seed, fresh=1000, start="random", dtype="float32", **SIMULATED
    )(FIT, c=0),
    lambda point: s.message_passing(MAX, dimension=40, seeds=3, seed=point.seed, damping=0.25)(nu=2, alpha=2),
    lambda _: s.separation(**CONSTRUCTION)(m=52),
]
SIMULATED: dict[str, Any] = {"dimension": 20, "ridge": (0.1, 0.3)}


def test_a_study_has_the_same_values(tmp_path: Path) -> None:
    (tmp_path / "PRIOR.toml").write_text(FILES["PRIOR"])
    numbers = "\n".join(f"{name} = {own}" for name, own in CONSTRUCTION.items())
    (tmp_path / "study.toml").write_text(f"{STUDY}{numbers}\n")
    points = read_study(tmp_path / "study.toml")
    for point, ask in zip(points, IN_PYTHON, strict=True):
        answers = kind_named(point.kind).compute(dict(point.parameters), dict(point.files), point.seed)
        found = ask(point)
        own = answers[{"separation": "fixed_row", "message_passing": "q_k"}.get(point.kind, "risk")]
        assert _numbers(own.as_json()) == _numbers(found.as_json())
        for name, at in {**_beside(found), **found.at}.items():
            assert name not in answers or _numbers(answers[name].as_json()) == _numbers(at.as_json())
        assert found.at.keys() <= answers.keys()
