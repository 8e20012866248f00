"""Exact integration of polynomials against standard normals, in either arithmetic."""

from __future__ import annotations

from math import factorial

import numpy as np

from symslr.referee.arithmetic import Arithmetic, Array, Balls, CannotReferee

FEW_POINTS_DEGREE = 3
"""Up to which ``few_points`` are exact."""

MOST_NODES = 4096
"""Of a product of Gauss-Hermite rules."""


def gauss_hermite(arithmetic: Arithmetic, degree: int) -> tuple[Array, Array]:
    """Nodes and weights (sum 1) that integrate polynomials of ``degree`` exactly against N(0, 1).

    Nodes are the roots of He_n, weights (n-1)!/(n He_{n-1}(x)^2); float roots are polished by Newton's method.
    """
    n = degree // 2 + 1
    nodes = arithmetic.array([float(v) for v in np.polynomial.hermite_e.hermegauss(n)[0]])
    rounds = 2 + (arithmetic.bits // 50).bit_length() if isinstance(arithmetic, Balls) else 1
    for _ in range(rounds):
        nodes = nodes - _he(n, nodes) / (n * _he(n - 1, nodes))
        if isinstance(arithmetic, Balls):
            nodes = np.frompyfunc(lambda v: v.mid(), 1, 1)(nodes)
    below = _he(n - 1, nodes)
    return nodes, arithmetic.exact(factorial(n - 1)) / (n * below * below)


def polynomial_rule(arithmetic: Arithmetic, dimension: int, degree: int) -> tuple[Array, Array]:
    """Nodes and weights that integrate polynomials of this degree against N(0, I_d): few, or a product of Gauss-Hermite rules."""
    if degree <= FEW_POINTS_DEGREE:
        return few_points(arithmetic, dimension)
    nodes, weights = gauss_hermite(arithmetic, degree)
    if len(nodes) ** dimension > MOST_NODES:
        raise CannotReferee(
            f"a polynomial of degree {degree} in {dimension} variables takes more than {MOST_NODES} nodes"
        )
    places = np.indices((len(nodes),) * dimension).reshape(dimension, -1)
    return nodes[places].T, weights[places].prod(axis=0)


def few_points(arithmetic: Arithmetic, dimension: int) -> tuple[Array, Array]:
    """2 d points +- sqrt(d) e_i and equal weights, which integrate polynomials of total degree 3 against N(0, I_d).

    Shapes (2 d, d) and (2 d,). Source: Stroud, Approximate Calculation of Multiple Integrals (1971), E_n^{r^2} 3-1.
    """
    radius = arithmetic.call("sqrt", arithmetic.exact(dimension))
    points = arithmetic.array([0.0] * (2 * dimension * dimension)).reshape(2 * dimension, dimension)
    for i in range(dimension):
        points[2 * i, i], points[2 * i + 1, i] = radius, -radius
    return points, arithmetic.array([1.0] * (2 * dimension)) / (2 * dimension)


def _he(n: int, x: Array) -> Array:
    """He_n(x) by its recurrence."""
    before, now = x * 0, x * 0 + 1
    for k in range(n):
        before, now = now, x * now - k * before
    return now
