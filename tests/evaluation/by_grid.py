"""Bayes risks of a weight at two or three tokens by Gauss-Legendre panels, from the definition, in NumPy alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Expr, Sum, Symbol, lambdify, symbols

from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import L, chi, epsilon, x

PANELS = {2: (40, 16), 3: (12, 12)}
"""Panels and nodes in each, by the number of tokens."""


def line(base: ScalarLaw, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and masses of one token; panels meet at 0, and heavy tails are reached by sinh."""
    low, high = (float(end) for end in base.support)
    panels, order = PANELS[tokens]
    points, weights = np.polynomial.legendre.leggauss(order)
    reach = 9.0 if base == STANDARD_NORMAL else 5.0
    edges = np.linspace(max(low, -reach), min(high, reach), panels + 1)
    t = np.concatenate([(b + a) / 2 + (b - a) / 2 * points for a, b in itertools.pairwise(edges)])
    step = np.concatenate([(b - a) / 2 * weights for a, b in itertools.pairwise(edges)])
    if base != STANDARD_NORMAL and np.isinf(high):
        t, step = np.sinh(t), step * np.cosh(t)
    return t, step * (lambdify(x, base.density, "scipy")(t) + 0 * t)


def bayes_by_grid(weight: Expr, tokens: int, values: Mapping[Any, Any], base: ScalarLaw = STANDARD_NORMAL) -> float:
    """1 - E_0[g_1^2 / sum_m g_m] on a product grid."""
    t, mass = line(base, tokens)
    letters = symbols(f"t1:{tokens + 1}")
    named = {
        s: value for s in weight.free_symbols if isinstance(s, Symbol) for n, value in values.items() if n == s.name
    }
    at_length = weight.subs(L, tokens).subs(named).replace(lambda node: isinstance(node, Sum), lambda node: node.doit())
    grids = np.meshgrid(*[t] * tokens, indexing="ij", sparse=True)
    probability, found = np.ones(()), []
    for position in range(tokens):
        probability = probability * mass.reshape([-1 if i == position else 1 for i in range(tokens)])
        own = at_length.subs(epsilon, position + 1).xreplace({chi[i + 1]: letters[i] for i in range(tokens)})
        found.append(lambdify(letters, own, "scipy")(*grids) + 0 * sum(grids))
    total = sum(found)
    share = np.where(total > 0, found[0] ** 2 / np.where(total > 0, total, 1), 0)
    return float(1 - np.sum(probability * share))
