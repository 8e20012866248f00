"""Integrals in which few of the tokens count."""

from __future__ import annotations

import numpy as np
import pytest

from symslr import MaxSLR, evaluate
from symslr.model.catalogue import softmax1
from symslr.theory import population_risk


@pytest.mark.parametrize("scale", [-50, -40])
def test_one_node_of_a_cut_line_counts_alone(scale: int) -> None:
    """Regression: a line cut to the tokens that count had no length, and the command ended in a traceback."""
    value = evaluate(population_risk(MaxSLR(nu=30, length=2, noise=0), softmax1), {"a": scale}, 6)
    tokens = np.arange(-8.5, 8.5, 0.008)
    mass = np.exp(-(tokens**2) / 2)
    own, other = tokens[:, None], tokens[None, :]
    both = 2 * np.outer(mass, mass) / mass.sum() ** 2 / (1 + np.exp(np.minimum(30 * (other - own), 700)))
    top = np.maximum(np.maximum(scale * own, scale * other), 0)
    parts = [np.exp(part - top) for part in (scale * own, scale * other, 0 * own)]
    near, far = (part / sum(parts) for part in parts[:2])
    expected = 1 - np.sum(both * near) ** 2 / np.sum(both * (near**2 + far**2))
    assert abs(float(value.value) - expected) <= float(value.error) + 1e-10
