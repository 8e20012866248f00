"""What a theorist types, for every kind of task: one listing, with values that are known otherwise."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mpf, workdps
from sympy import Integral, Symbol, erf, lambdify, log, sqrt

import symslr as s
from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.cli import main
from symslr.export.figures import COLOURS
from symslr.expression.value import Kind, Value
from symslr.model.scalar_law import laplace
from symslr.symbols import L, a, nu, x

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SPIKED = s.SpikedSLR(length=3, noise=0)
LOCATED = {
    "prior": s.Task(length=4, prior="2**(-l)", noise=0),
    "signs": s.Task(length=3, signal={1: "2/3", -1: "1/3"}, noise=0),
    "subset": s.Task(location="subset(2)", length=4, noise=0),
    "coins": s.Task(location="independent(1/4)", length=3, noise=0),
}
TASKS = {
    "spiked": SPIKED,
    "max": s.MaxSLR(length=3, noise=0),
    "own weight": s.Task("(1 + chi[eps]**2)*L/sum(1 + chi[l]**2, l)", 3, 0),
    "token laws": s.Task.from_token_laws(laplace(1), laplace(0), length=3, noise=0),
    **LOCATED,
}


def _open(task: s.Task) -> dict[str, object]:
    return {"nu": 2} if nu in task.free_symbols else {}


@pytest.mark.parametrize("name", TASKS)
def test_the_listing(name: str) -> None:
    """The Bayes risk, the risk of softmax at a scale, and its least one are in order, by the same calls for every task."""
    task = TASKS[name]
    given = _open(task)
    bayes = s.bayes_risk(task)(**given)
    least = s.least_risk(task, "softmax")(**given)
    at = s.population_risk(task, "softmax")(a="3/2", **given)
    for low, high in ((bayes, least), (least, at)):
        assert float(low.value - high.value) <= float(low.error + high.error)
    assert math.isfinite(least.at["a"].value)
    X, y, hidden, weights = s.sample(task, 50, dimension=8, seed=0, weighted=True, **given)
    assert X.shape == (50, X.shape[1], 8)
    assert (len(y), len(hidden), len(weights)) == (50, 50, 50)
    curve = s.bayes_risk(task).curve(**{k: [v] for k, v in given.items()})
    assert float(curve.values.ravel()[0]) == float(bayes)
    optimal = s.optimal_attention(task)
    assert "a_" in optimal.latex()
    if task.has_weight:
        attained = s.population_risk(task, optimal)(a=1, **given)
        assert abs(float(attained.value - bayes.value)) <= float(attained.error + bayes.error)


def test_known_values() -> None:
    assert abs(float(s.bayes_risk(SPIKED)(nu=2)) - 0.35242326888417) < 1e-13
    value = s.bayes_risk(SPIKED)(nu=2, digits=30)
    assert str(value).startswith("0.352423268884167107072769293457")
    # d Bayes/d nu at L = 3, nu = 2, also by differences
    slope = s.evaluate(s.bayes_risk(SPIKED).diff("nu"), nu=2)
    step = (s.bayes_risk(SPIKED)(nu=2.001) - s.bayes_risk(SPIKED)(nu=1.999)) / Fraction(1, 500)
    assert abs(float(slope) + 0.1077317246824) < 1e-11
    assert abs(float(step - slope)) < 1e-6
    for risk, given, name in (
        (s.bayes_risk(s.MaxSLR(length=3, noise=0)), {}, "nu"),
        (s.population_risk(s.MaxSLR(length=3, noise=0), "softplus"), {"nu": 2}, "a"),
    ):
        by_rule = s.evaluate(risk.diff(name), **given, **{name: 2})
        by_steps = (risk(**given, **{name: 2.001}) - risk(**given, **{name: 1.999})) / Fraction(1, 500)
        assert abs(float(by_rule - by_steps)) < 1e-6
        assert float(by_rule.error) < 1e-11


BY_WEIGHT = {"fitted", "bayes_optimal", "simulate_fit", "landscape"}
REFUSED = {
    "token laws": {"landscape", "bayes_optimal"},
    **{name: {"as_integral", *BY_WEIGHT} for name in ("prior", "subset", "coins")},
}
"""What a kind of task has not, and refuses in one line."""


@pytest.mark.parametrize("name", TASKS)
def test_the_rest_of_the_listing(name: str) -> None:
    task, given = TASKS[name], _open(TASKS[name])
    risk = s.bayes_risk(task)
    calls = {
        "latex": lambda: risk.latex() and risk.formula(),
        "as_integral": risk.as_integral,
        "derivation": risk.derivation,
        "diff": lambda: [s.population_risk(task, "softmax").diff("a"), *map(s.least_risk(task, "softmax").diff, given)],
        "compare": lambda: risk.compare_with(risk.formula() if name not in REFUSED else "1/2"),
        "moments": lambda: s.moments(task, "softmax", 1, **given),
        "posterior": lambda: s.posterior(task, np.zeros(int(task.length)), **given),
        "cite": lambda: s.cite(risk(**given)),
        "fitted": lambda: s.fitted(task, "softmax", ridge=0.1, precision=0.1)(alpha=9, **given),
        "bayes_optimal": lambda: s.bayes_optimal(task)(alpha=4, **given),
        "simulate_fit": lambda: s.simulate_fit(task, "softmax", ridge=0.1, dimension=20, seeds=2)(alpha=9, **given),
        "landscape": lambda: s.landscape(task, "softmax", **given).risk(m_kk=1, q_kk=1, m_vv=1, q_vv=1),
    }
    if name == "own weight":
        del calls["bayes_optimal"]  # 150 s
    refused = {}
    for what, call in calls.items():
        try:
            assert call() is not None
        except ValueError as line:
            refused[what] = str(line)
    assert not any("\n" in line for line in refused.values())
    assert refused.keys() == REFUSED.get(name, set())
    assert all("needs a weight" in refused[what] for what in BY_WEIGHT & refused.keys() if name in LOCATED)


def test_a_derivative_of_what_no_rule_differentiates() -> None:
    """Against a rule, where the least risk is the Bayes risk; a prior that is uniform; differences at wide steps."""
    rule = s.evaluate(s.bayes_risk(SPIKED).diff("nu"), nu=2)
    uniform = s.Task(length=3, prior="2 + 0*l", noise=0)
    for asked in (s.least_risk(SPIKED, "softmax"), s.bayes_risk(uniform)):
        found = asked.diff("nu")(nu=2)
        assert abs(float(found - rule)) <= float(found.error) + float(rule.error) < 1e-10
        assert found.kind is Kind.ESTIMATED
    risk = s.population_risk(LOCATED["prior"], "softmax")
    found = risk.diff("a")(nu=2, a=1)
    near, far = (float(risk(nu=2, a=1 + h) - risk(nu=2, a=1 - h)) / (2 * h) for h in (0.002, 0.004))
    assert abs(float(found) - (4 * near - far) / 3) <= float(found.error) < 1e-7


def test_a_symbol_is_one_by_any_name() -> None:
    """A derivative by a name, by a plain symbol, and by the formula's own are the same; another name is no silent 0."""
    risk = s.bayes_risk(s.SpikedSLR(noise=0))
    assert risk.diff("nu") == risk.diff(Symbol("nu")) == risk.diff(nu) != 0
    with pytest.raises(ValueError, match="diff: found mu; expected one of L, nu"):
        risk.diff("mu")
    assert (
        float(risk(length=3, nu=2)) == float(risk({L: 3, nu: 2})) == pytest.approx(float(s.evaluate(risk, L=3, nu=2)))
    )


def test_a_symbol_of_sympy_is_ours_by_its_name() -> None:
    assert s.SpikedSLR(length=Symbol("L"), nu=Symbol("nu"), noise=0) == s.SpikedSLR(noise=0)
    assert s.Attention(1 + Symbol("x") ** 4).kernel == s.Attention("1+x**4").kernel
    assert s.population_risk(SPIKED, "softmax", Symbol("a")) == s.population_risk(SPIKED, "softmax")


def test_what_the_task_has_already_may_be_said_again() -> None:
    for asked in (s.bayes_risk(SPIKED), s.least_risk(SPIKED, "softmax")):
        assert asked(nu=2, length=3, noise=0).value == asked(nu=2).value
    located = LOCATED["prior"]
    said, left_out = {"length": located.length, "noise": 0, **_open(located)}, _open(located)
    assert s.bayes_risk(located)(**said).value == s.bayes_risk(located)(**left_out).value


def test_a_name_of_a_parameter_or_a_kernel_as_text() -> None:
    within = s.least_risk(SPIKED, "log(1+exp(x))", bounds={"a": (0, 1)})(nu=2)
    assert float(within.at["a"]) == 1
    assert float(within) == pytest.approx(float(s.population_risk(SPIKED, "softplus", 1)(nu=2)), abs=1e-9)


def test_a_scale_is_a_formula_of_the_values() -> None:
    by_weight, by_law = s.SpikedSLR(noise=0), s.Task(length=4, prior="2**(-l)", noise=0)
    for task, length in ((by_weight, 3), (by_law, 4)):
        given = {"nu": 2} | ({"length": length} if task is by_weight else {})
        for text, number in (("sqrt(2*log(L))", math.sqrt(2 * math.log(length))), ("sqrt(nu)", math.sqrt(2))):
            found, known = (
                s.population_risk(task, "softmax", text)(given),
                s.population_risk(task, "softmax")(given, a=number),
            )
            assert abs(float(found - known)) < 1e-14
    with pytest.raises(ValueError, match="scale: found a, with no value for a; give one as a=2"):
        s.population_risk(SPIKED, "softmax")(nu=2)


def test_an_attention_by_its_name() -> None:
    for name in ("softmax", "softmax1", "linear", "erf", "softplus"):
        assert s.Attention(name) == getattr(s, name)
    assert s.Attention("exp(x)", "none") == s.Attention("exp(x)", None)
    assert repr(s.optimal_attention(LOCATED["prior"])).startswith("a[l] = ")
    assert s.Attention("softmax", offset=1).kernel == s.softmax.kernel
    by_formula = s.least_risk(SPIKED, 1 + x**2)(nu=2)
    assert float(by_formula) == float(s.least_risk(SPIKED, "1 + x**2")(nu=2))


def test_a_parameter_of_a_kernel_is_searched_where_it_has_bounds() -> None:
    """By tanh with a shift, whose least risk two searches find, and no scale and shift around has a lower one."""
    shifted = s.Attention("1 + tanh(c + x)", None)
    found = s.least_risk(SPIKED, shifted, bounds={"c": (-4, 4)})(nu=2)
    within = s.least_risk(SPIKED, s.Attention("1 + tanh(c + x)", None, bounds={"c": (-4, 4)}))(nu=2)
    assert abs(float(found - within)) < 1e-11
    at, shift = float(found.at["a"]), float(found.at["c"])
    for da, dc in ((0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1)):
        beside = s.population_risk(SPIKED, s.Attention(f"1 + tanh({shift + dc!r} + x)", None))(nu=2, a=at + da)
        assert float(beside) > float(found)


def test_evaluate_takes_what_answers_when_it_is_called() -> None:
    for asked in (s.least_risk(SPIKED, "softmax"), s.bayes_risk(LOCATED["prior"])):
        assert s.evaluate(asked, nu=2).value == asked(nu=2).value
    with pytest.raises(ValueError, match="backend: found 'numpy' for the least risk of softmax"):
        s.evaluate(s.least_risk(SPIKED, "softmax"), nu=2, backend="numpy")


def test_a_value_may_be_a_formula_of_others() -> None:
    risk = s.bayes_risk(s.SpikedSLR(noise=0))
    for length in (3, 7):
        assert float(risk(nu="2*log(L)", length=length)) == pytest.approx(
            float(risk(nu=2 * math.log(length), length=length))
        )
    assert s.bayes_risk(SPIKED)(nu="2*log(L)").value == risk(nu="2*log(L)", length=3).value
    at_scale = s.population_risk(SPIKED, "softmax")
    assert at_scale(nu="2*log(L)", a=1).value == at_scale(nu="2*log(3)", a=1).value
    by_scale = s.population_risk(SPIKED, "softmax")(a="sqrt(nu)", nu=2)
    assert abs(float(by_scale - s.bayes_risk(SPIKED)(nu=2))) < 1e-14


def test_a_random_length_has_its_risk_and_prints_its_mean() -> None:
    lengths = {2: "1/3", 3: "2/3"}
    for make in (s.SpikedSLR, lambda length, noise: s.Task(prior="2**(-l)", length=length, noise=noise)):
        random, parts = (
            s.bayes_risk(make(length=lengths, noise=0))(nu=2),
            [s.bayes_risk(make(length=n, noise=0))(nu=2) for n in (2, 3)],
        )
        assert float(random) == pytest.approx(float(parts[0] / 3 + parts[1] * 2 / 3), abs=1e-12)
    said = s.bayes_risk(s.SpikedSLR(length="2:1/3,3:2/3", noise=0))
    assert said == s.bayes_risk(s.SpikedSLR(length=lengths, noise=0))
    assert "E}_{L}" in s.bayes_risk(s.SpikedSLR(length=lengths, noise=0)).latex()


def test_text_is_a_formula_anywhere() -> None:
    assert s.Attention("gelu(x) + 1").kernel == x * (1 + erf(x / sqrt(2))) / 2 + 1
    assert s.SpikedSLR(nu="2*log(999)") == s.SpikedSLR(nu=2 * log(999))
    assert float(s.bayes_risk(SPIKED)(nu="1/3")) == float(s.bayes_risk(SPIKED)(nu=Fraction(1, 3)))
    for text in ("__import__('os')", "x.free_symbols", "lambda: 1", "1 +"):
        with pytest.raises(ValueError, match="kernel"):
            s.Attention(text)


def test_plain_integrals_are_the_formula() -> None:
    """SymPy's own integrals, lambdified, by SciPy's adaptive rule."""
    inner = lambdify((a, nu), s.population_risk(SPIKED, s.linear).as_integral())
    assert abs(inner(0.7, 2.0) - float(s.population_risk(SPIKED, s.linear)(a="7/10", nu=2))) < 1e-12
    risk = s.population_risk(SPIKED, s.Attention("1/(1 + x**2)", None))
    assert risk.as_integral().has(Integral)
    assert abs(lambdify((a, nu), risk.as_integral(), "scipy")(0.7, 2.0) - float(risk(a="7/10", nu=2))) < 1e-7
    with np.errstate(over="ignore"):  # regression: nan, where e^{-x^2/2} e^{-u e^{bx}} e^{bx} was three factors
        for bayes in map(s.bayes_risk, (SPIKED, s.MaxSLR(length=20, noise=0))):
            assert abs(lambdify(nu, bayes.as_integral(), "scipy")(2.0) - float(bayes(nu=2))) < 1e-8
        softmax = s.population_risk(SPIKED, "softmax")
        assert abs(lambdify((a, nu), softmax.as_integral(), "scipy")(0.7, 2.0) - float(softmax(a="7/10", nu=2))) < 1e-8


def test_a_curve_is_a_table(tmp_path: Path) -> None:
    curve = s.bayes_risk(s.SpikedSLR(noise=0)).curve(nu=np.linspace(0.5, 2, 3), length=[2, 3])
    assert curve.values.shape == (3, 2)
    frame = curve.to_dataframe()
    assert list(frame.columns) == ["nu", "length", "value", "error", "kind", "digits", "reason"]
    assert np.allclose(frame.value, curve.values.ravel(), rtol=1e-12)
    data = curve.to_xarray()
    assert float(data.value.sel(nu=2.0, length=3)) == float(s.bayes_risk(SPIKED)(nu=2.0))
    assert set(data) == {"value", "error", "kind", "digits", "reason"}
    assert "<table" in curve._repr_html_()
    best = s.least_risk(SPIKED, "softmax").curve(nu=[1, 4]).to_xarray()
    assert np.allclose(best.at_a, [1, 2], atol=1e-6)
    text = curve.to_csv(tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == text
    assert text.splitlines()[0] == "nu,length,value,error,kind,digits,reason"
    assert curve.to_latex().count(r"\\") == 7
    assert r"$\infty$ & " in s.population_risk(SPIKED, "linear").curve(nu=2, a=["oo"]).to_latex()
    assert curve.plot(tmp_path / "c.pdf")._repr_png_().startswith(b"\x89PNG")
    assert (tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")


def test_curves_in_one_picture_are_told_apart(tmp_path: Path) -> None:
    bayes, linear = s.bayes_risk(SPIKED), s.least_risk(SPIKED, "linear")
    strengths = [1, 2, 4]
    figure = bayes.curve(nu=strengths).plot(label="bayes")
    (axes,) = figure.axes
    assert (axes.get_ylabel(), axes.get_xlabel(), axes.get_legend()) == ("bayes", r"$\nu$", None)
    for label in ("linear", "once more", "and again"):
        assert linear.curve(nu=strengths).plot(tmp_path / "c.pdf", label, ax=axes) is figure
    assert (tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["Bayes", "linear", "once more", "and again"]
    assert axes.get_ylabel() == ""
    looks = {(str(own.get_color()), repr(own._dash_pattern)) for own in axes.lines}
    assert len(looks) == len(axes.lines) == len(axes.collections) == 4
    assert {own.get_color() for own in axes.lines[:2]} == {COLOURS["bayes"], COLOURS["linear"]}
    assert np.array_equal(axes.lines[1].get_ydata(), linear.curve(nu=strengths).values)
    several = s.bayes_risk(s.SpikedSLR(noise=0)).curve(nu=strengths, length=[2, 3]).plot(label="Bayes risk").axes[0]
    assert several.get_ylabel() == "Bayes risk"
    assert [text.get_text() for text in several.get_legend().get_texts()] == ["$L$ = 2", "$L$ = 3"]
    linear.curve(nu=strengths).plot(label="linear", ax=several)
    told = [text.get_text() for text in several.get_legend().get_texts()]
    assert told == ["Bayes risk, $L$ = 2", "Bayes risk, $L$ = 3", "linear"]
    with pytest.raises(ValueError, match=r"plot: found axes over \$\\nu\$ and a curve over \$L\$"):
        s.bayes_risk(s.SpikedSLR(nu=2, noise=0)).curve(length=[2, 3]).plot(ax=axes)


def test_curves_are_reckoned_with_point_by_point() -> None:
    strengths = [1, 2]
    bayes, linear = (own.curve(nu=strengths) for own in (s.bayes_risk(SPIKED), s.least_risk(SPIKED, "linear")))
    apart = linear - bayes
    for made, one, other in zip(apart.points, linear.points, bayes.points):
        assert made == one - other
        assert float(made.error) >= float(one.error + other.error)
    assert np.allclose(apart.values, linear.values - bayes.values)
    assert ((linear / bayes).points, (2 * bayes).points) == (
        [one / other for one, other in zip(linear.points, bayes.points)],
        [2 * own for own in bayes.points],
    )
    assert (1 - bayes / linear).points[0] == 1 - bayes.points[0] / linear.points[0]
    assert np.allclose((bayes + bayes.points[0]).values, bayes.values + float(bayes.points[0]), rtol=1e-14, atol=0)
    assert (1 / bayes).axes == bayes.axes
    broken = s.population_risk(SPIKED, s.Attention("exp(x)", None)).curve(nu=[2], a=[0, 10**40])
    for made in (broken - broken, 1 - broken, broken / 2):
        assert made.reasons == broken.reasons
    ((_, reason),) = ((bayes / (bayes.points[0] - bayes)).reasons).items()
    assert "does not exclude 0" in reason
    for other in (
        s.bayes_risk(SPIKED).curve(nu=[1, 3]),
        s.bayes_risk(s.SpikedSLR(noise=0)).curve(length=[3], nu=[1, 2]),
    ):
        with pytest.raises(ValueError, match="expected the same numbers on the same axes"):
            bayes - other
    with pytest.raises(TypeError):
        np.ones(2) * bayes


def test_a_point_that_fails_is_not_the_whole_curve() -> None:
    risk = s.population_risk(SPIKED, s.Attention("exp(x)", None))
    curve = risk.curve(nu=[2], a=[0, 10**40])
    assert math.isfinite(curve.values[0, 0])
    assert math.isnan(curve.values[0, 1])
    ((place, reason),) = curve.reasons.items()
    assert place == (2, 10**40)
    assert reason
    assert "nan" in curve.to_csv()
    assert curve.to_dataframe().value.isna().tolist() == [False, True]
    seen: list[tuple[int, int]] = []
    s.bayes_risk(SPIKED).curve(nu=[1, 2], progress=lambda *done: seen.append(done))
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(ValueError, match="nu: found an empty axis"):
        s.bayes_risk(SPIKED).curve(nu=[])
    bad = s.bayes_risk(s.SpikedSLR(noise=0)).curve(nu=[-1, 2], length=[3, 2.5])
    assert np.isnan(bad.values).tolist() == [[True, True], [False, True]]
    assert bad.reasons[-1, 3] == "nu: found -1; expected a number >= 0"
    with pytest.raises(ValueError, match=r"unknown symbol 'nuu'.*did you mean nu"):
        s.bayes_risk(SPIKED).curve(nuu=[1])


def _value(number: float, error: float, kind: Kind = Kind.ESTIMATED) -> Value:
    return Value(mpf(number), mpf(error), kind, 3, "test")


def test_values_are_numbers_with_errors() -> None:
    """Every error bounds what the ends of both intervals give; breaking a slope in one of them is seen here."""
    one, two = _value(2.0, 0.1), _value(-3.0, 0.2)
    ends = [(u, v) for u in (1.9, 2.0, 2.1) for v in (-3.2, -3.0, -2.8)]
    for made, of in (
        (one + two, lambda u, v: u + v),
        (one - two, lambda u, v: u - v),
        (one * two, lambda u, v: u * v),
        (one / two, lambda u, v: u / v),
        (3 - two, lambda u, v: 3 - v),
        (1 / one, lambda u, v: 1 / u),
        (one / 4, lambda u, v: u / 4),
    ):
        off = [abs(of(u, v) - float(made)) for u, v in ends]
        assert max(off) <= float(made.error) * (1 + 1e-12) <= 1.3 * max(off)
        assert made.kind is Kind.ESTIMATED
    far = _value(1.0, 0.03, Kind.STATISTICAL) - _value(0.5, 0.04, Kind.STATISTICAL)
    assert far.kind is Kind.STATISTICAL
    assert abs(float(far.error) - 0.05) < 1e-12
    assert one > two
    assert two < one < 2.2
    with pytest.raises(ValueError, match="not told apart"):
        bool(one < 2.05)
    with pytest.raises(ZeroDivisionError):
        1 / _value(0.1, 0.2)
    assert f"{s.bayes_risk(SPIKED)(nu=2):.6f}" == "0.352423"
    assert float(np.asarray(one)) == 2.0
    assert "0.352423268884167107072769293457".startswith(s.bayes_risk(SPIKED)(nu=2).latex()[:-1])
    assert _value(0.123456, 0.001).latex() == "0.123"
    assert sum([one, two]).value == -1
    assert abs(float((one**2).error) - 0.41) < 1e-12
    assert abs(float(one**-1) - 0.5) < 1e-15
    for power in (0.5, "1/3", -0.5, 3):
        p = float(Fraction(power))
        off = max(abs(end**p - 2.0**p) for end in (1.9, 2.1))
        assert off <= float((one**power).error) * (1 + 1e-12) <= 1.1 * off
    known = s.bayes_risk(SPIKED)(nu=2)
    assert (known**2).sources == (known**0.5).sources == known.sources != ()
    with pytest.raises(ValueError, match="expected a whole power"):
        two**0.5
    assert s.bayes_risk(SPIKED)(nu=2) == s.bayes_risk(SPIKED)(nu=2)
    both = s.bayes_risk(SPIKED)(nu=[1.0, 2.0]) + 1
    assert both.value.dtype == float
    assert s.MaxSLR(nu="inf") == s.MaxSLR(nu=math.inf)


def test_arithmetic_keeps_all_digits() -> None:
    """Regression: -v, 1 - v and v/3 of a proved value had the digits of float64 and the error of 33 digits."""
    value, fine = s.bayes_risk(SPIKED)(nu=2, digits=30), s.bayes_risk(SPIKED)(nu=2, digits=45).value
    with workdps(60):
        for made, truth in (
            (-value, -fine),
            (abs(-value), fine),
            (1 - value, 1 - fine),
            (value / 3, fine / 3),
            (2 / value, 2 / fine),
            (value - 0.1, fine - mpf(1) / 10),
            (value**3, fine**3),
            (value * "sqrt(2)", fine * mpf(2) ** 0.5),
        ):
            assert abs(made.value - truth) <= made.error < 1e-31
            assert made.kind is Kind.CERTIFIED
    one = _value(1.0, 0.1, Kind.STATISTICAL)
    assert abs(float((one**2).error) - 0.2) < 1e-12  # of one number, not of two independent ones
    assert float((one + one).error) == float((2 * one).error)
    assert float((one - one).error) < 1e-15
    with pytest.raises(ValueError, match="not told apart"):
        bool(one < 1.3)
    low, high = (s.bayes_risk(SPIKED)(nu=list(nus)) for nus in ((2.0, 3.0), (1.0, 2.0)))
    assert low < high
    assert not low > high
    assert not low > np.array([0.1, 0.3])
    assert isinstance(np.array([1.0, 2.0]) - one, Value)


def test_theory_beside_a_fit() -> None:
    fit = s.fitted(SPIKED, "softmax", nu=2, ridge=0.1)(alpha=4)
    drawn = s.simulate_fit(SPIKED, "softmax", nu=2, ridge=0.1, dimension=100, seeds=6)(alpha=4)
    assert abs(float((drawn - fit).value)) < 4 * float((drawn - fit).error)
    assert drawn.kind is Kind.STATISTICAL
    best = s.bayes_optimal(s.SpikedSLR(length=3, noise=0.5), nu=2)(alpha=4)
    assert 0 < float(best.at["q_k"]) < 1
    with pytest.raises(ValueError, match="no value for alpha"):
        s.fitted(SPIKED, "softmax", nu=2, ridge=0.1)()
    with pytest.raises(ValueError, match="ridge: found 'tunned'"):
        s.fitted(SPIKED, "softmax", ridge="tunned")


def test_separation_and_landscape() -> None:
    network = s.separation(n=1024, d=258, t=4, a0="1/20", a1="11/10", b="1/5", c="4/5")
    curve = network.curve(m=[4, 40])
    assert curve.values[0] < curve.values[1] < 1
    land = s.landscape(SPIKED, "softmax", nu=2)
    at = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    assert abs(land.risk(at) - 0.36248138283633) < 1e-9
    assert land.risk(m_kk=1, m_vv=1, q_kk=1, q_vv=1) == land.risk(at)
    flow = land.flow({"m_kk": 0.1, "m_vv": 0.1, "q_kk": 1, "q_vv": 1}, np.linspace(0, 50, 6)).to_dataframe()
    assert list(flow.columns) == ["time", *land.names, "risk"]
    assert flow.time.tolist() == [0, 10, 20, 30, 40, 50]
    assert (np.diff(flow.risk) < 0).all()
    bayes = float(s.bayes_risk(SPIKED)(nu=2))
    assert 0 < flow.risk.iloc[-1] - bayes < 1e-3
    with pytest.raises(ValueError, match="order parameters: found m_zz; expected some of m_kk"):
        land.risk(m_zz=1)


def test_selections_on_a_weight_and_on_a_law() -> None:
    on_weight = s.population_risk(SPIKED, "sparsemax")(nu=2, a=1)
    on_law = s.population_risk(s.Task(length=3, noise=0), "sparsemax")(nu=2, a=1)
    assert abs(float(on_weight) - float(on_law)) <= float(on_weight.error) + float(on_law.error)


def test_the_largest_token_at_any_length() -> None:
    """1 - P^2, P = int phi(x - sqrt(nu)) Phi(x)^(L-1) dx: 4 and 3 digits after 59 s and 41 s, by samples. Law and weight agree."""
    for length, strength, truth in ((8, 2, 0.724899459171311), (1000, 12, 0.657609882017062)):
        for task in (s.SpikedSLR(strength, length, 0), s.Task(nu=strength, length=length, noise=0)):
            found = s.least_risk(task, "top(1)")()
            assert abs(float(found) - truth) <= float(found.error) < 1e-12
            assert found.at["a"].method == "every a > 0"
    away = s.least_risk(s.Task(nu=2, length=3, signal={-1: 1}, noise=0), "top(1)")()
    assert away.at["a"].method == "every a < 0"
    assert abs(float(away) - 0.4446716141507) < 1e-12
    at_a_negative_scale = s.population_risk(SPIKED, "top(1)")(nu=2, a="-1/20")
    assert abs(float(at_a_negative_scale) - 0.99609198796263) < 1e-12
    both = s.least_risk(s.SpikedSLR(2, {1: "1/2", 3: "1/2"}, 0), "top(1)")()
    hit = (1 + math.sqrt(1 - 0.4446716141507387)) / 2
    assert abs(float(both) - (1 - hit**2)) < 1e-12


def test_chains_and_citations() -> None:
    chain = s.bayes_risk(SPIKED).derivation()
    assert chain.result == s.bayes_risk(SPIKED).formula()
    assert "Nishimori" in str(chain)
    said = s.cite(s.bayes_risk(SPIKED), s.separation())
    assert re.findall(r"@\w+\{(\w+)", said) == ["symslr", "duranthon2025", "deng2023"]
    with pytest.raises(TypeError, match="cite: found int"):
        s.cite(3)


def _cited(*results: object) -> list[str]:
    return re.findall(r"@\w+\{(\w+)", s.cite(*results))[1:]


def test_every_result_knows_its_sources() -> None:
    """What a number rests on is cited from the number; sums unite, and a mean that was measured rests on nothing here."""
    risk, network = s.bayes_risk(SPIKED), s.separation(n=1024, d=258, t=4, a0="1/20", a1="11/10", b="1/5", c="4/5")
    value, share, mine = risk(nu=2), network(m=4), s.measured(0.36, 0.002)
    paper, other = ["duranthon2025"], ["deng2023"]
    for result in (
        value,
        s.evaluate(risk, nu=2),
        risk.diff("nu")(nu=2),
        s.least_risk(SPIKED, "softmax")(nu=2),
        2 * risk + 1,
    ):
        assert _cited(result) == paper
    assert _cited(share) == other
    for made in (value + share, value * share, value - share, share.inverse() * value):
        assert sorted(_cited(made)) == sorted(paper + other)
    assert _cited(1 - share, abs(-share), share**3, 1 / share) == other
    assert _cited(mine) == []
    assert _cited(mine - value) == paper
    assert _cited(network.curve(m=[4, 40])) == other
    failing = s.population_risk(SPIKED, s.Attention("exp(x)", None)).curve(nu=[2], a=[0, 10**40])
    assert _cited(failing) == paper  # of a point that has a value
    assert _cited(s.landscape(SPIKED, "softmax", nu=2), s.optimal_attention(LOCATED["prior"])) == paper
    assert value == replace(value, sources=())


def test_derivations_and_sequence_models_know_theirs() -> None:
    chain = s.bayes_risk(SPIKED).derivation()
    assert _cited(chain) == list(
        dict.fromkeys(["duranthon2025", *(own.rule.source for own in chain.steps if own.rule.source)])
    )
    assert "nishimori1981" in _cited(chain)
    claimed = chain.claim(0.5, "deng2023, section 6")
    assert _cited(claimed) == [*_cited(chain), "deng2023"]
    assert _cited(Derivation(2 * s.bayes_risk(SPIKED)).apply(Cite(claimed))) == _cited(claimed)
    phase = s.SequenceModel(["u"], 1, "u[1]**2", noise="1/2")
    assert _cited(phase) == ["duranthon2025", "stein1981", "isserlis1918"]
    taught = s.SequenceModel.load(EXAMPLES / "single_location.toml")
    assert {*_cited(phase), "saad1995"} <= set(_cited(taught))  # one-pass descent of its student
    assert _cited(phase.bayes_optimal([1.0, 2.0])) == ["duranthon2025"]
    with pytest.raises(ValueError, match="found no entry for nobody2020"):
        s.cite(chain.claim(0.5, "nobody2020, Eq. 1"))


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: s.bayes_risk(s.SpikedSLR), "task: found the function SpikedSLR, which was not called"),
        (
            lambda: s.population_risk(SPIKED, "sigmoid"),
            r'attention: found \'sigmoid\'; did you mean Attention\("sigmoid\(x\)"\)',
        ),
        (lambda: s.least_risk(SPIKED, "sofmax"), 'did you mean "softmax"'),
        (s.bayes_risk(SPIKED), "no value for nu"),
        (lambda: s.bayes_risk(SPIKED)(2), "values: found int 2"),
        (lambda: s.bayes_risk(SPIKED).curve(nu=[[1, 2]]), "nu: found a table"),
        (lambda: s.bayes_risk(LOCATED["prior"]).diff("length"), "diff: found L, which is a whole number"),
        (lambda: s.least_risk(SPIKED, "softmax").diff("nu")(nu=0), "diff: found nu = 0, at the end of its range"),
        (
            lambda: s.fitted(SPIKED, "softmax", ridge=1, precision=0.1).diff("nu")(alpha=9, nu=2),
            "diff: found a value known by sampling",
        ),
        (s.separation(n=3), "separation: no value for d"),
        (lambda: s.fitted(SPIKED, "softmax", ridge=1)(alpha="x", nu=2), "alpha: found x"),
        (lambda: s.sample(s.SpikedSLR(noise=0), 3, dimension=4, seed=0, nu=2), "length: found none"),
        (
            lambda: s.sample(s.Task("chi[eps]**2*sum(chi[l]**2, l)/(L + 2)", 3, 0), 3, dimension=4, seed=0),
            "weighted=True",
        ),
        (lambda: s.SpikedSLR(nu=True), "nu: found True"),
        (lambda: s.landscape(s.SpikedSLR, "softmax"), "task: found the function SpikedSLR, which was not called"),
        (lambda: s.bayes_risk(SPIKED)(nu=2, length=4), "L: found 4, but the task has 3"),
        (lambda: s.least_risk(SPIKED, "softmax")(nu=[1, 2]), r"nu: found 2 numbers; expected one, or a curve"),
        (lambda: s.least_risk(SPIKED, "softplus").as_integral(), "as_integral: found a least value"),
        (lambda: s.bayes_risk(LOCATED["prior"]).limit("nu", "oo"), "limit: no rule gives that of LocationBayesRisk"),
        (lambda: s.Attention("1 + y"), "unknown name 'y'"),
    ],
)
def test_bad_input_has_one_line(call: object, line: str) -> None:
    with pytest.raises((ValueError, TypeError), match=line) as refusal:
        call()  # type: ignore[operator]
    assert "\n" not in str(refusal.value)


def test_a_series_at_strong_signal_or_one_line() -> None:
    risk = s.bayes_risk(SPIKED)
    first, second = (float(risk.series("nu", "oo", n).subs(nu, 200)) for n in (4, 5))
    assert abs(float(risk(nu=200)) - first) < 3 * abs(second - first)
    for other in (s.bayes_risk(s.MaxSLR(length=3, noise=0)), s.population_risk(SPIKED, "linear")):
        with pytest.raises(ValueError, match="series: no rule expands"):
            other.series("nu")


def test_no_limit_and_no_series_in_what_is_fixed() -> None:
    """Regression: the limit of a number was 0, its series another number."""
    for task in (s.SpikedSLR(2, 3, 0), s.Task("exp(2*chi[eps] - 2)", 3, 0)):
        with pytest.raises(ValueError, match="limit: no rule"):
            s.bayes_risk(task).limit("nu", "oo")
        with pytest.raises(ValueError, match="series: no rule"):
            s.bayes_risk(task).series("nu", "oo", 2)


def test_limits_that_rules_know_or_one_line() -> None:
    """As the scale grows softmax attends to the largest token, as max-SLR does when nu grows."""
    far = s.population_risk(SPIKED, "softmax").limit("a", "oo")
    near, nearer = (float(s.population_risk(SPIKED, "softmax", scale)(nu=2)) for scale in (60, 120))
    assert abs(float(s.evaluate(far, {"nu": 2})) - (2 * nearer - near)) < 1e-4
    assert s.bayes_risk(SPIKED).limit("nu", "oo") == SPIKED.noise**2
    strong = s.population_risk(s.MaxSLR(length=3, noise=0), "softplus").limit("nu", "oo")
    known = s.population_risk(s.MaxSLR("oo", 3, 0), "softplus")
    assert float(strong(a=2)) == float(known(a=2))
    assert float(s.bayes_risk(s.MaxSLR(length=3, noise=0)).limit("nu", "oo")()) == 0
    for name, point in (("nu", 0), ("L", "oo"), ("a", 1)):
        with pytest.raises(ValueError, match="limit: no rule gives that"):
            s.population_risk(SPIKED, "softmax").limit(name, point)


@pytest.mark.parametrize(
    ("what", "keys"),
    [
        ([], ["duranthon2025", "deng2023"]),
        (["max"], ["duranthon2025"]),
        ([str(EXAMPLES / "location.toml"), "separation-hoeffding"], ["duranthon2025", "hoeffding1963"]),
        ([str(EXAMPLES / "phase.toml")], ["duranthon2025", "stein1981", "isserlis1918"]),
    ],
)
def test_cite_on_the_command_line(what: list[str], keys: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cite", *what])
    assert re.findall(r"@\w+\{(\w+)", capsys.readouterr().out)[1:] == keys
