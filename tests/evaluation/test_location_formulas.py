"""Printed optimal attentions of laws of location, read as numbers, beside Bayes' rule on densities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sympy import Expr, S, lambdify

from symslr.expression.configuration import ConfigurationMean
from symslr.model.configuration import ConfigurationLaw
from symslr.model.symbols import L, chi, l
from symslr.simulate.configurations import ConfigurationSampler, explicit
from symslr.theory.located_attention import located_attention
from tests.evaluation.laws_of_location import (
    LAWS,
    Brute,
    law_called,
)


def _means_summed(weight: Expr) -> Expr:
    """Means over configurations written out, one term for each."""

    def summed(node: ConfigurationMean) -> Expr:
        drawn = ConfigurationSampler.of(ConfigurationLaw(node.prior, S.One))
        body = explicit(node.body)
        return sum((share * drawn.given(h, body) for h, share in enumerate(drawn.shares)), S.Zero)

    return weight.replace(lambda node: isinstance(node, ConfigurationMean), summed)


@pytest.mark.parametrize("name", LAWS)
def test_formulas_are_the_posterior(name: str) -> None:
    """The printed formula, read as numbers, beside Bayes' rule on densities."""
    law = law_called(name)
    if not isinstance(law.length, Expr):
        assert located_attention(law).weight == located_attention(replace(law, length=L)).weight
        return
    found, length, p = located_attention(law), int(law.length), law.signal.directions
    symbols = [chi[place] if p == 1 else chi[place, d + 1] for place in range(1, length + 1) for d in range(p)]
    numbers = np.random.default_rng(3).normal(size=(5, length, p))
    brute = Brute(law)
    known = brute.posterior_mean(numbers)
    inverse = brute.inverse
    for place in range(1, length + 1):
        at = _means_summed(found.weight.subs({l: place, L: length})).doit()
        named = {item: inverse[int(item.indices[0]) - 1, int(item.indices[1]) - 1] for item in _indexed(at, "K")}
        named |= {item: float(law.prior[int(item.indices[0]) - 1]) for item in _indexed(at, "pi")}  # type: ignore[index]
        away = {item: S.Zero for item in _indexed(at, "chi") if item not in symbols}
        function = lambdify(symbols, at.subs({**named, **away}), "numpy")
        mine = [float(function(*sequence.ravel())) for sequence in numbers]
        np.testing.assert_allclose(mine, known[:, place - 1], rtol=1e-9)


def _indexed(expr: Expr, base: str) -> list[Any]:
    from sympy import Indexed

    return [item for item in expr.atoms(Indexed) if str(item.base) == base]
