"""Means over sequences by scrambled Sobol points, from the law's definition: no rule and nothing of the referee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc
from sympy import Dummy, Expr, Indexed, Sum, Symbol, lambdify

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import FOLDED
from symslr.model.symbols import chi, epsilon, eta, xi, z, zeta

FAMILIES = (chi, z, eta, zeta)
POINTS = 12
"""A power of two."""

SCRAMBLES = 4


def sobol(expr: Expr, values: Mapping[Any, Any], length: int) -> tuple[float, float]:
    """``expr`` at ``length`` tokens, a mean over scramblings and its standard error.

    The bodies are symmetric in the tokens other than epsilon, so that the relevant token may be the first.
    """
    fixed = expr.subs({symbol: values[str(symbol)] for symbol in expr.free_symbols if str(symbol) in values})
    fixed = fixed.subs(Symbol("L", integer=True, positive=True), length)
    nodes = sorted(fixed.atoms(SequenceExpectation), key=str)
    functions = {node: _compiled(node, length) for node in nodes}
    found = []
    for seed in range(SCRAMBLES):
        uniform = qmc.Sobol(4 * length + 1, rng=np.random.default_rng(seed)).random(2**POINTS)
        columns = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)).T
        means = {node: float(np.mean(function(*columns))) for node, function in functions.items()}
        found.append(float(fixed.xreplace(means)))
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(SCRAMBLES))


def _compiled(node: SequenceExpectation, length: int) -> Any:
    body = (node.law.weight * node.body).replace(lambda n: isinstance(n, FOLDED), lambda n: n.doit())
    body = body.replace(lambda n: isinstance(n, Sum), lambda n: n.doit()).subs(epsilon, 1)
    letters = [Dummy() for _ in range(4 * length)]
    at = {f[i + 1]: letters[number * length + i] for number, f in enumerate(FAMILIES) for i in range(length)}
    written = body.xreplace({item: at[item] for item in body.atoms(Indexed)})
    return lambdify([*letters, xi], written, modules=["scipy", "numpy"], cse=True)
