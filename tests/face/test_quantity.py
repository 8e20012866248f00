"""Quantities are numbers that depend on parameters: they are added, multiplied, differentiated, and are formulas to SymPy."""

from __future__ import annotations

import pytest
import sympy
from sympy import Rational, Symbol

import symslr as s
from symslr.algebra.derivation import Derivation
from symslr.evaluation import CannotEvaluate
from symslr.expression.value import Kind
from symslr.symbols import nu

SPIKED = s.SpikedSLR(length=3, noise=0)
BAYES = s.bayes_risk(SPIKED)
SOFTMAX = s.population_risk(SPIKED, "softmax")
LINEAR = s.least_risk(SPIKED, "linear")
"""By its formula L (L - 1)/(L^2 + nu (L - 1)), 6/(9 + 2 nu)."""
PRIOR = s.bayes_risk(s.Task(length=3, prior="2 + 0*l", noise=0))
"""A law of location, of which no weight is known, and which is spiked."""


def test_values_are_put_together() -> None:
    made = [
        (2 * BAYES, 2 * BAYES(nu=2)),
        (BAYES - LINEAR, BAYES(nu=2) - LINEAR(nu=2)),
        (LINEAR / PRIOR - 1, LINEAR(nu=2) / PRIOR(nu=2) - 1),
        (nu * BAYES, 2 * BAYES(nu=2)),
        (-PRIOR + "1/3", Rational(1, 3) - PRIOR(nu=2)),
        (sympy.Integer(1) / BAYES, 1 / BAYES(nu=2)),
    ]
    for quantity, value in made:
        assert isinstance(quantity, s.Quantity)
        assert float(quantity(nu=2)) == pytest.approx(float(value), abs=1e-15)
        assert quantity.curve(nu=[1, 2]).values[1] == pytest.approx(float(value), abs=1e-15)


def test_a_number_without_parameters_is_a_quantity_too() -> None:
    """Regression: no names were taken for names that are not known."""
    task = s.Task(length=3, prior="2 + 0*l", nu=2, noise=0)
    gap = s.least_risk(task, "softmax") - s.bayes_risk(task)
    assert gap.parameters == set()
    assert abs(float(gap())) <= float(gap().error) < 1e-8


def test_a_difference_that_is_zero_has_its_error() -> None:
    """Softmax attains the Bayes risk at the scale sqrt(nu); a value by a mesh of the difference has no digits there."""
    gap = SOFTMAX - BAYES
    found = gap(nu=2, a="sqrt(nu)", digits=30)
    assert abs(float(found)) <= float(found.error) < 1e-29
    proved = gap(nu=2, a=1, certified=True)
    assert proved.kind is Kind.CERTIFIED
    assert abs(float(proved) - 0.0071040983697367) < 1e-14


def test_derivatives_by_the_rules_of_sums_products_and_quotients() -> None:
    """Against differences at wide steps; the linear risk has its formula."""
    for quantity in (2 * BAYES - LINEAR, BAYES * LINEAR, LINEAR / BAYES, nu * PRIOR):
        found = quantity.diff("nu")(nu=2)
        near, far = (float(quantity(nu=2 + h) - quantity(nu=2 - h)) / (2 * h) for h in (0.005, 0.01))
        assert abs(float(found) - (4 * near - far) / 3) < 1e-8
    assert abs(float(LINEAR.diff("nu")(nu=2)) + 12 / 169) < 1e-10
    assert LINEAR.formula().diff(nu).subs(nu, 2) == Rational(-12, 169)


def test_no_derivative_at_a_root() -> None:
    """d/dnu at nu = 0 is -(L - 1)/L^2: rules left 1/sqrt(nu) times a mean that vanishes, and -1/3 was "certified" at L = 3."""
    near = float(BAYES.diff("nu")(nu="1/1000000"))
    assert abs(near + 2 / 9) < 1e-5
    for quantity in (BAYES, 2 * BAYES, s.population_risk(SPIKED, "softmax", 1)):
        with pytest.raises(CannotEvaluate, match="no derivative at nu = 0, where its formula has sqrt"):
            quantity.diff("nu")(nu=0)
    assert float(s.bayes_risk(s.MaxSLR(length=3, noise=0)).diff("nu")(nu=0)) == 0


def test_parameters_that_a_derivative_has_lost_are_heard() -> None:
    open_noise, other = s.bayes_risk(s.SpikedSLR()), s.bayes_risk(s.SpikedSLR(length=2, noise=0))
    assert float(open_noise.diff("noise")(length=3, nu=2, noise=0.5)) == 1
    assert float(open_noise.diff("nu")(length=3, nu=2, noise=0.5)) == pytest.approx(float(BAYES.diff("nu")(nu=2)))
    gap = open_noise - other
    assert float(gap(length=3, nu=2, noise=0)) == pytest.approx(float(BAYES(nu=2) - other(nu=2)))
    assert float((other - open_noise)(length=3, nu=2, noise=0)) == -float(gap(length=3, nu=2, noise=0))
    assert float(open_noise.limit("nu", "oo")(length=3, noise=0)) == 0


def test_second_derivatives_and_powers() -> None:
    exact = float((6 / (9 + 2 * nu)).diff(nu, 2).subs(nu, 2))
    assert abs(float(LINEAR.diff("nu", 2)(nu=2)) - exact) < 1e-7
    assert float((BAYES**2)(nu=2)) == float(BAYES(nu=2) * BAYES(nu=2))
    assert float((BAYES**2).diff("nu")(nu=2)) == pytest.approx(2 * float(BAYES(nu=2)) * float(BAYES.diff("nu")(nu=2)))


def test_numbers_and_values_beside_a_quantity() -> None:
    """A number takes no proof away; a value counts with its error."""
    assert (nu * BAYES)(nu="1/3", digits=20).kind is Kind.CERTIFIED
    with pytest.raises(ValueError, match="only names, numbers"):
        (nu * BAYES)(nu="__import__('os')")
    assert (1 - BAYES)(nu=2, digits=20).kind is (-BAYES)(nu=2, digits=20).kind is Kind.CERTIFIED
    mine = s.measured(0.36, 0.002)
    assert (BAYES - mine)(nu=2).error == (BAYES(nu=2) - mine).error
    assert float((mine - BAYES)(nu=2)) == float(mine - BAYES(nu=2))


def test_what_an_interval_bounds_has_no_formula() -> None:
    """The least risk over 0 < a < 1/10 is not that of all scales, which its formula and derivation were."""
    within = s.least_risk(SPIKED, "linear", bounds={"a": (0, 0.1)})
    assert float(within(nu=2)) > float(LINEAR(nu=2)) + 0.1
    for ask in (within.formula, within.derivation, within.as_integral, lambda: within.compare_with("1/2")):
        with pytest.raises(ValueError, match="no formula; expected a call with values"):
            ask()


def test_what_is_made_of_quantities_rests_on_the_sources_of_both() -> None:
    network = s.separation(n=1024, d=258, t=4, a0="1/20", a1="11/10", b="1/5", c="4/5")
    for made in (2 * network, network - network, (2 * network)(m=4)):
        assert ("deng2023" in s.cite(made), "duranthon2025" in s.cite(made)) == (True, False)
    assert all(key in s.cite(network - BAYES) for key in ("deng2023", "duranthon2025"))
    assert "duranthon2025" in s.cite(SPIKED)


def test_no_derivative_is_a_silent_zero() -> None:
    for quantity in (BAYES, 2 * BAYES, BAYES - LINEAR, LINEAR, PRIOR, PRIOR / 2):
        for name in ("nu", Symbol("nu"), nu):
            assert float(quantity.diff(name)(nu=2)) != 0
        for name in ("mu", "a", Symbol("sigma")):
            with pytest.raises(ValueError, match=rf"diff: found {name}; expected one of nu$"):
                quantity.diff(name)
    assert float((SOFTMAX - BAYES).diff("a")(nu=2, a=1)) == pytest.approx(float(SOFTMAX.diff("a")(nu=2, a=1)))


def test_sympy_takes_a_quantity_for_its_definition() -> None:
    assert sympy.latex(BAYES) == r"\mathcal{E}_{\mathrm{Bayes}}"
    assert sympy.Eq(BAYES, LINEAR).lhs == BAYES.expr
    assert Derivation(BAYES - LINEAR).start == BAYES.expr - LINEAR.expr
    assert (2 * BAYES).formula() == 2 * BAYES.formula()
    assert s.evaluate(2 * BAYES, nu=2, backend="mpmath", digits=20).digits >= 20
    assert LINEAR.formula().equals(6 / (9 + 2 * nu))
    assert len({BAYES, s.bayes_risk(SPIKED)}) == 1


def test_the_risk_at_order_parameters() -> None:
    """Against what rules derive, by the evaluator, and the gradient; the derivative of a mesh is that of an interpolant."""
    risk, at = (
        s.landscape_risk(SPIKED, "softmax"),
        {"nu": 2, "m_kk": 1, "m_vv": 1, "q_kk": 2, "q_vv": "3/2", "m_vk": "1/4"},
    )
    derived = s.evaluate(risk.derivation().result, {**dict.fromkeys(("m_kv", "q_kv"), 0), **at}, digits=12)
    assert abs(float(risk(at) - derived)) <= float(risk(at).error) + float(derived.error) < 1e-9
    land = s.landscape(SPIKED, "softmax", nu=2)
    slope = land.risk_and_gradient(
        land.point({name: float(Rational(own)) for name, own in at.items() if name != "nu"})
    )[1][0]
    found = risk.diff("m_kk")(at)
    assert abs(float(found) - slope) <= float(found.error) + 1e-11 < 1e-7
    at_the_rim = risk.diff("m_kk")(nu=2, m_kk=-1, q_kk=1, m_vv=1, q_vv=1)
    assert float(at_the_rim) == pytest.approx(land.risk_and_gradient(land.point(m_kk=-1, q_kk=1, m_vv=1, q_vv=1))[1][0])
    along = risk.curve(nu=2, m_kk=[0, 1], m_vv=1, q_kk=1, q_vv=1).points[1]
    assert abs(float(along) - land.risk(m_kk=1, m_vv=1, q_kk=1, q_vv=1)) <= float(along.error)
    assert "c" in s.landscape_risk(SPIKED, "erf").parameters


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: (BAYES - LINEAR)(nu=2, b=3), "values: found b; expected nu"),
        (lambda: BAYES * {}, "unsupported operand"),
        (lambda: BAYES + True, "unsupported operand"),
        (lambda: BAYES + "1 +", "value"),
        ((SOFTMAX - s.separation(m=4)).formula, "no formula; expected a call with values"),
        (BAYES.diff, "diff: found no name"),
        (lambda: s.bayes_risk(s.SpikedSLR(noise=0)).diff("L"), "diff: found L, which is a whole number"),
        (lambda: s.bayes_risk(s.SpikedSLR(noise=0))(length=3, L=4, nu=2), "of which two are one"),
        (lambda: s.fitted(SPIKED, "softmax", ridge=1)(alpha=9, nu=2, digits=12), "digits: found for the test risk"),
        (lambda: s.least_risk(SPIKED, "softmax", bounds=None), "bounds: found NoneType"),
        (lambda: s.landscape_risk(SPIKED, "softmax")(nu=2, m_kk=2, q_kk=1), "expected q >= m m"),
        (lambda: s.landscape_risk(SPIKED, "softmax")(nu=2, m_zz=2), "unknown symbol 'm_zz'"),
        ((2 * BAYES).derivation, r"derivation: 2 \* \(Bayes risk, spiked\) has none"),
    ],
)
def test_bad_input_has_one_line(call: object, line: str) -> None:
    with pytest.raises((ValueError, TypeError), match=line) as refusal:
        call()  # type: ignore[operator]
    assert "\n" not in str(refusal.value)
