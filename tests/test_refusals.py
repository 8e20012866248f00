"""What the command line makes of a refusal that a library or the operating system words."""

from __future__ import annotations

import errno

import pytest
from sympy import oo

from symslr.algebra.derivation import Derivation
from symslr.cli.application import _as_typed, _fail, _system
from symslr.evaluation import evaluate, least_risk, minimise
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.symbols import x
from symslr.theory import bayes_risk, minimal_risk, population_risk


@pytest.mark.parametrize(
    ("said", "typed", "told"),
    [
        ("digits: found 0", ["--digits", "0"], "--digits: found 0"),
        ("digits: found 0", ["--digits=0"], "--digits: found 0"),
        ("alpha: found -1", ["--alphas", "1,-1"], "--alphas: found -1"),
        ("r_k: found 0", ["--rk", "0"], "--rk: found 0"),
        ("digits: found 0", ["--nu", "2"], "digits: found 0"),
        ("digits", ["--digits", "0"], "digits"),
    ],
)
def test_a_parameter_is_called_as_it_was_typed(said: str, typed: list[str], told: str) -> None:
    assert _as_typed(said, typed) == told


def test_an_error_of_the_system_says_what_to_give_instead() -> None:
    assert _system(OSError(errno.ENAMETOOLONG, "File name too long", "x")).startswith("x: found a name too long")
    assert _system(OSError(errno.ENOSPC, "No space left on device")).startswith("found no room on the disk")
    assert _system(OSError(errno.EIO, "Input/output error")) == "[Errno 5] Input/output error"


def test_a_long_path_is_not_echoed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        _fail(f"/{'x' * 5000}.toml: cannot be read")
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert told.endswith("x.toml: cannot be read\n")
    assert told.startswith("symslr: /xxx")
    assert len(told) < 200


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: bayes_risk(3), "task: found int 3; expected Task, such as SpikedSLR()"),
        (
            lambda: population_risk(SpikedSLR(), "softmax"),
            "attention: found str 'softmax'; expected Attention, such as softmax",
        ),
        (lambda: minimal_risk({}, softmax), "task: found dict {}; expected Task, such as SpikedSLR()"),
        (
            lambda: least_risk(SpikedSLR(), softmax, 3),
            'values: found int 3; expected Mapping, such as {"L": 3, "nu": 2}',
        ),
        (
            lambda: evaluate(bayes_risk(SpikedSLR()), [3]),
            'values: found list [3]; expected Mapping, such as {"L": 3, "nu": 2}',
        ),
        (lambda: Derivation(x).apply("Linearity"), "rule: found str 'Linearity'; expected Rule, such as Linearity()"),
        (lambda: minimise(x**2, x), "variables: found x; expected symbols such as [a, c]"),
        (lambda: minimise(x**2, [x], bounds={"x": (1, 2)}), "bounds: found 'x'; expected variables among x"),
        (
            lambda: minimise(x**2, [x], bounds={x: (2, 1)}),
            "bounds: found (2, 1) for x; expected finite ends LOW < HIGH",
        ),
        (
            lambda: minimise(x**2, [x], bounds={x: (1, oo)}),
            "bounds: found (1, oo) for x; expected finite ends LOW < HIGH",
        ),
        (lambda: minimise(x**2, [x], start={"x": 1}), "start: found {'x': 1}; expected a number for each of x"),
        (lambda: evaluate(x, {x: 1, "x": 2}), "values: found x twice, by name and by symbol; expected it once"),
        (lambda: evaluate(x, {x: 1}, seconds=-1), "seconds: found -1; expected a number above 0 and up to 1e+07"),
    ],
)
def test_an_argument_of_another_kind_is_told_what_is_expected(call, told: str) -> None:
    """Regression: 'int' object has no attribute 'law'."""
    with pytest.raises((TypeError, ValueError)) as refused:
        call()
    assert str(refused.value) == told
