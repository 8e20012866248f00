"""Gradient flow of key and value, dk/dt = -D dE/dk and dv/dt = -D dE/dv, for a risk E(m, q) of their overlaps.

In coordinates of k/sqrt(D) and v/sqrt(D) along k*/sqrt(D), v*/sqrt(D) and two directions across: what follows dk/dt = -D dE/dk
follows minus the gradient there. Two directions are enough in any dimension, as the gradient of E lies in the span of k*, v*, k, v.
"""

from __future__ import annotations

from sympy import Add, Derivative, Expr, S, Symbol, sqrt

from symslr.expression.at import At
from symslr.expression.open_functions import OpenRisk
from symslr.model.symbols import ORDER_PARAMETERS, m_kk, m_kv, m_vk, m_vv, q_kk, q_kv, q_vv
from symslr.theory.landscape import ACROSS, ALONG, R_KK

KEY = tuple(Symbol(f"k_{i}", real=True) for i in range(1, 5))
VALUE = tuple(Symbol(f"v_{i}", real=True) for i in range(1, 5))
"""Coordinates of k and v along k*, v* and two directions across."""

OVERLAPS: dict[Symbol, Expr] = {
    m_kk: KEY[0],
    m_kv: KEY[1],
    m_vk: VALUE[0],
    m_vv: VALUE[1],
    q_kk: Add(*(k**2 for k in KEY)),
    q_vv: Add(*(v**2 for v in VALUE)),
    q_kv: Add(*(k * v for k, v in zip(KEY, VALUE))),
}
"""The order parameters of two vectors."""

PLACE: dict[Symbol, Expr] = dict(zip((*KEY, *VALUE), (m_kk, m_kv, sqrt(R_KK), S.Zero, m_vk, m_vv, ALONG, ACROSS)))
"""Vectors with given order parameters, which every pair of vectors is after a rotation that leaves k* and v*."""

RISK = OpenRisk(*ORDER_PARAMETERS)


def rate(overlap: Expr) -> Expr:
    """d/dt of a function of the coordinates along the flow: minus the inner product of its gradient and that of the risk."""
    risk = RISK.subs(OVERLAPS, simultaneous=True)
    moved = [x for x in (*KEY, *VALUE) if x in overlap.free_symbols]
    return At.of(-Add(*(Derivative(overlap, x) * Derivative(risk, x) for x in moved)), PLACE)
