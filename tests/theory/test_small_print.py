"""Parts of the theory that a longer result hides: constants of densities, names, readings, what is derived once."""

from __future__ import annotations

from importlib import import_module

import pytest
from scipy.integrate import quad
from sympy import Expr, Rational, S, Sum, exp, lambdify, log

from symslr.algebra.equal_forms import EqualForms
from symslr.model.catalogue import SpikedSLR, linear, softmax, softmax1
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import normal
from symslr.model.symbols import Delta, L, chi, l, m, nu, x
from symslr.model.task import Task
from symslr.theory import population_risk
from symslr.theory.configurations import _names
from symslr.theory.finite_sample_bayes import CHANNELS, FIELD, LABEL, OVERLAP, OWN, REST
from symslr.theory.landscape import ORDER_PARAMETERS, LandscapeRisk
from symslr.theory.located_attention import weighed_attention

module = import_module("symslr.theory.separation.shares")


def test_what_the_labels_and_the_keys_say_of_a_token_has_mean_one() -> None:
    values = {Delta: 0.6, nu: 1.7, OVERLAP: 0.4, OWN: 1, REST: 0}
    label = lambdify(LABEL, CHANNELS["v"].subs({**values, FIELD: 0.3}))
    key = lambdify(FIELD, CHANNELS["k"].subs(values) * normal(0, OVERLAP).density.subs({OVERLAP: 0.4, x: FIELD}))
    for density in (label, key):
        assert quad(density, -12, 12)[0] == pytest.approx(1, rel=1e-9)
    spread = quad(lambda y: (y - 0.3) ** 2 * label(y), -12, 12)[0]
    assert spread == pytest.approx(1 - 0.4 + 0.36, rel=1e-9)


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
