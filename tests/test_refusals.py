"""What the command line makes of a refusal that a library or the operating system words."""

from __future__ import annotations

import errno
from fractions import Fraction

import numpy as np
import pytest
from sympy import Rational, oo, symbols

from symslr.algebra.derivation import Derivation
from symslr.cli.application import _as_typed, _fail, _system
from symslr.evaluation import evaluate, least_risk, minimise
from symslr.evaluation.finite_sample import bayes_optimal, finite_sample, finite_sample_curve
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.symbols import x
from symslr.theory import bayes_risk, minimal_risk, population_risk

y = symbols("y", real=True)


@pytest.mark.parametrize(
    ("said", "typed", "told"),
    [
        ("digits: found 0", ["--digits", "0"], "--digits: found 0"),
        ("digits: found 0", ["--digits=0"], "--digits: found 0"),
        ("alpha: found -1", ["--alpha", "1,-1"], "--alpha: found -1"),
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
            lambda: population_risk(SpikedSLR(), 3),
            "attention: found int 3; expected Attention, such as softmax",
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


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.array([True, False]), "found True; expected a real number"),
        (np.array(True), "found True; expected a real number"),
        ([2.0, np.True_], "found np.True_; expected a real number"),
        (np.array([2, True], dtype=object), "found True; expected a real number"),
        (np.array([1 + 1j, 2]), "found (1+1j); expected a real number"),
        (np.array(["1", "2"]), "found '1'; expected a real number"),
        (["1", 2], "found '1'; expected a real number"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "found datetime.date(2020, 1, 1); expected a real number"),
        (MASKED, "found a masked array; expected one without masked numbers, as compressed() gives it"),
        (np.ma.masked, "found a masked array; expected one without masked numbers, as compressed() gives it"),
        ([1.0, np.ma.masked], "found masked; expected a real number"),
    ],
)
def test_only_real_numbers_are_read_from_an_array(given: object, told: str) -> None:
    """Regression: truth values were 1 and 0, text was a number, imaginary parts and masks were lost."""
    for call in (evaluate, lambda expr, values: minimise(expr, [y], values)):
        with pytest.raises(ValueError) as refused:
            call(x**2 + y**2 if call is not evaluate else x, {x: given})
        assert str(refused.value) == f"x: {told}"


@pytest.mark.parametrize("given", [True, np.True_, np.array(True), "1", np.ma.masked, np.array([1.0]), 1j])
def test_a_number_is_no_truth_value(given: object) -> None:
    expr = (x - 1) ** 2
    fit = SpikedSLR(noise=0), softmax, {"L": 2, "nu": 1}
    for call in (
        lambda: minimise(expr, [x], bounds={x: (-2, given)}),
        lambda: minimise(expr, [x], start={x: given}),
        lambda: evaluate(expr, {x: 1}, seconds=given),
        lambda: finite_sample(*fit, alpha=given, ridge=(1, 1)),
        lambda: finite_sample(*fit, alpha=1, ridge=(given, 1)),
        lambda: finite_sample(*fit, alpha=1, ridge=(1, 1), precision=given),
        lambda: finite_sample_curve(*fit, alphas=[given], ridge=(1, 1)),
        lambda: bayes_optimal(fit[0], fit[2], alpha=given),
    ):
        with pytest.raises(ValueError, match=r"found .*; expected"):
            call()


def test_numbers_of_every_kind_are_read() -> None:
    for given in ([Fraction(1, 2), Rational(3, 2)], np.ma.array([0.5, 1.5]), np.array([0.5, 1.5], dtype="f2")):
        assert evaluate(2 * x, {x: given}).value.tolist() == [1.0, 3.0]
    assert evaluate(2 * x, {x: np.array([[1, 2], [3, 4]], dtype="i1")}).value.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    for begun in (np.float64(1), np.int64(1), np.array(1.0), Rational(1), Fraction(1)):
        least, _ = minimise((x - 1) ** 2, [x], start={x: begun})
        assert abs(least.value) <= least.error
