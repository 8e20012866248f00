"""Integrals over one Laplace variable after the other, against panels over the tokens themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from sympy import exp, oo

from symslr import MaxSLR, evaluate, population_risk
from symslr.evaluation.laplace import iterated
from symslr.model.attention import Attention
from symslr.model.catalogue import softmax1
from symslr.model.symbols import x

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def panels(*centres: float) -> tuple[Any, Any]:
    """Gauss panels on [-9, 9] that become shorter towards every centre, as far as 2^-14."""
    sides = np.concatenate([[0.0], 2.0 ** np.arange(-14.0, 5.0)])
    ends = np.unique(np.clip(np.concatenate([[-9.0, 9.0], *(y + s * sides for y in centres for s in (-1, 1))]), -9, 9))
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1.0 + NODES)).ravel(), (half * WEIGHTS).ravel()


def by_tokens(scale: float, offset: float, selects: Any) -> float:
    """The risk of exp(a x)/(o + sum) with two tokens, the first of which is the relevant one with probability selects(x1 - x2)."""
    bends = float(np.log(offset)) / scale
    first, second = 0.0, 0.0
    for own, weight in zip(*panels(bends)):
        other, density = panels(own, bends)
        density = density * weight * np.exp(-(own**2 + other**2) / 2) / (2 * np.pi)
        logs = np.stack(np.broadcast_arrays(scale * own, scale * other, np.log(offset)))
        one, two, _ = np.exp(logs - logsumexp(logs, axis=0))
        first += float(np.sum(density * 2.0 * selects(own - other) * one))
        second += float(np.sum(density * (one**2 + two**2)))
    return 1.0 - first**2 / second


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
    selects = (lambda d: 1.0 * (d > 0)) if nu == oo else lambda d: expit(float(nu) * d)
    assert found.error < 1e-9
    assert abs(float(found) - by_tokens(scale, offset, selects)) <= float(found.error) + 1e-10
