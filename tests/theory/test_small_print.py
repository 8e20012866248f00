"""Parts of the theory that a longer result hides: constants of densities, names, readings, what is derived once."""

from __future__ import annotations

from importlib import import_module

import pytest
from scipy.integrate import quad
from sympy import Expr, Rational, S, Sum, exp, lambdify, log

from symslr.algebra.equal_forms import EqualForms
from symslr.algebra.rules.blocks.powers import CommonFactor
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softmax1
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import normal
from symslr.model.separation import SOFTMAX_KERNEL, b, beta, n, t
from symslr.model.symbols import Delta, L, chi, l, m, nu, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, population_risk
from symslr.theory.configurations import _names
from symslr.theory.finite_sample_bayes import CHANNELS, LABEL, OWN, REST
from symslr.theory.landscape import ORDER_PARAMETERS, LandscapeRisk
from symslr.theory.located_attention import weighed_attention
from symslr.theory.separation.boundary import boundary_width
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.shares import shares
from symslr.theory.sequence import Q_HAT, PriorEntropy

module = import_module("symslr.theory.separation.shares")


def test_what_the_labels_and_the_keys_say_of_a_token_has_mean_one() -> None:
    values = {Delta: 0.6, nu: 1.7, OWN: 1, REST: 0}
    label = lambdify(LABEL, CHANNELS["v"].subs({**values, x: 0.3}))
    key = lambdify(x, CHANNELS["k"].subs(values) * normal().density)
    for density in (label, key):
        assert quad(density, -12, 12)[0] == pytest.approx(1, rel=1e-9)
    spread = quad(lambda y: (y - 0.3) ** 2 * label(y), -12, 12)[0]
    assert spread == pytest.approx(0.36, rel=1e-9)


def test_the_optimal_attention_of_a_weight() -> None:
    every = Sum(exp(nu**S.Half * chi[m]), (m, 1, L))
    spiked = weighed_attention(SpikedSLR())
    assert (spiked.weight, spiked.reading) == (exp(nu**S.Half * chi[l]) / every, "softmax")
    assert weighed_attention(SpikedSLR(length=3)).weight == spiked.weight.subs(L, 3)
    assert (
        weighed_attention(SpikedSLR(length=LengthLaw({2: Rational(1, 2), 5: Rational(1, 2)}))).weight == spiked.weight
    )
    ratio = weighed_attention(Task.from_token_laws(normal(0, 4), normal())).reading
    assert ratio.startswith("ratio of the laws")


def test_the_components_of_a_signal_are_numbered_where_there_are_several() -> None:
    assert (_names(1), _names(2)) == (["theta"], ["theta_1", "theta_2"])


def test_shares_of_any_kernel_are_derived_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def derived(kernel: Expr, cross: bool) -> object:
        asked.append(kernel)
        return module.Shares(kernel, cross, {})

    monkeypatch.setattr(module, "_derived", derived)
    for kernel in (exp(x), x, x**3, log(1 + exp(x)), x**x):
        module.shares.__wrapped__(kernel)
    assert asked == [exp(x), x, x**module.DEGREE, *[module.ANY_KERNEL(x)] * 2]


def test_order_parameters_that_change_places() -> None:
    one, two = ORDER_PARAMETERS[:2]
    plain, swapped = (LandscapeRisk.of(SpikedSLR(), linear, at).definition() for at in ({}, {one: two, two: one}))
    assert plain.subs({one: two, two: one}, simultaneous=True) == swapped != plain


@pytest.mark.parametrize("attention", [softmax, softmax1, linear], ids=str)
def test_only_a_normalised_attention_has_two_forms(attention: object) -> None:
    assert isinstance(population_risk(SpikedSLR(), attention).conditioned(), EqualForms) == (attention is not linear)


@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR(), SpikedSLR(length=3)], ids=["spiked", "max", "spiked-3"])
def test_the_least_risk_of_an_attention_that_can_be_the_posterior_is_that_of_bayes(task: Task) -> None:
    assert minimal_risk(task, softmax).conditioned() == bayes_risk(task).conditioned()


def test_an_overlap_is_put_into_what_it_is_for() -> None:
    own, put = PriorEntropy(Q_HAT).definition(), PriorEntropy(nu / 2).definition()
    assert put == own.subs(Q_HAT, nu / 2)
    assert put.free_symbols == {nu}


def test_the_width_of_a_boundary_is_inside_of_the_range_that_is_searched() -> None:
    """A row that reaches the threshold at the end of the range alone has none in it."""
    share = lambdify(b, shares(SOFTMAX_KERNEL)[Row.SIBLING, Column.OWN].subs({n: 64, t: 4, beta: 1.0}), "math")
    with pytest.raises(ValueError, match="found none for b below 4"):
        boundary_width(64, 4, 4.0 * share(4.0))
    assert boundary_width(64, 4, 4.0 * share(4.0) - 1e-9) == pytest.approx(4, abs=1e-8)


@pytest.mark.parametrize(("kernel", "named"), [(x**3, True), (1 + x**2, False), (module.ANY_KERNEL(x), False)], ids=str)
def test_the_share_of_a_kernel_without_a_name_is_left_as_the_sums_give_it(kernel: Expr, named: bool) -> None:
    rules = [step.rule for step in module.share_derivation(Row.MARKED, Column.OTHER, kernel).steps]
    assert any(isinstance(rule, CommonFactor) for rule in rules) == named
