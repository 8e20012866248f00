"""Integrals over one Laplace variable after the other, against panels over the tokens themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import exp, oo

from symslr import MaxSLR, evaluate, population_risk
from symslr.evaluation.laplace import iterated
from symslr.model.attention import Attention
from symslr.model.catalogue import softmax1
from symslr.model.symbols import x
from tests.evaluation.pairs import risk_of_a_pair


@pytest.mark.parametrize(("scale", "nu"), [(84, oo), (46, 290), (200, 40)])
@pytest.mark.parametrize("offset", [1, 4])
def test_steep_kernels_with_an_offset(scale: int, nu: Any, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """exp(-u o) bends within 1/scale of one y; halved panels took 820 looks for a risk."""
    looked = 0

    def counted(sums: Any) -> Any:
        nonlocal looked
        looked += 1
        return refined(sums)

    refined = iterated.refined
    monkeypatch.setattr(iterated, "refined", counted)
    attention = softmax1 if offset == 1 else Attention(exp(x), offset=offset)
    found = evaluate(population_risk(MaxSLR(nu=nu, length=2, noise=0), attention, scale), backend="numpy")
    assert looked < 700  # of all integrals; halved panels took 820 in two of these cases
    expected = risk_of_a_pair(lambda y: y, scale, float(nu), np.log(offset), np.log(offset) / scale)
    assert found.error < 1e-9
    assert abs(float(found) - expected) <= float(found.error) + 1e-10
