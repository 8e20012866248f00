"""The symbols every room shares: one name, one meaning.

L       length of the sequence                    positive integer
nu      signal strength                           positive (nu = 0 is reached by substitution)
Delta   standard deviation of the label noise     nonnegative
a       scale of the key: chi = a chi*            real
m_v     overlap m_vv* of the value vector with v*;  R_v >= 0 its squared norm outside v*: q_vv = m_v**2 + R_v
x       argument of a kernel or of a token density
o       offset of a normaliser
chi[i]  key projection of token i,  z[i] its value projection,  xi the label noise
zeta[i] the part of token i's value that is orthogonal to v*, N(0, 1) and independent of everything else
eta[i]  the projection of token i on the part of k outside span(k*, v*), N(0, 1) and independent of everything else
m_kk, m_kv, m_vk, m_vv   overlaps of k (first letter k) and v (first letter v) with k* and v* (second letter)
q_kk, q_vv, q_kv         squared norms and inner product of k and v;  the seven order parameters, each divided by D
P_L     the law of a random length, left open
epsilon the hidden position;  j, k  distinct tokens other than epsilon;  l, m  summation indices
i, j    a pair of positions, in a covariance over positions
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import IndexedBase, Symbol

L = Symbol("L", integer=True, positive=True)
nu = Symbol("nu", positive=True)
Delta = Symbol("Delta", nonnegative=True)
a = Symbol("a", real=True)
c = Symbol("c", real=True)
o = Symbol("o", nonnegative=True)
x = Symbol("x", real=True)

chi = IndexedBase("chi", real=True)
z = IndexedBase("z", real=True)
zeta = IndexedBase("zeta", real=True)
eta = IndexedBase("eta", real=True)
xi = Symbol("xi", real=True)

m_v = Symbol("m_v", real=True)
R_v = Symbol("R_v", nonnegative=True)
P_L = Symbol("P_L")

m_kk = Symbol("m_kk", real=True)
m_vv = Symbol("m_vv", real=True)
m_kv = Symbol("m_kv", real=True)
m_vk = Symbol("m_vk", real=True)
q_kk = Symbol("q_kk", positive=True)
q_vv = Symbol("q_vv", nonnegative=True)
q_kv = Symbol("q_kv", real=True)

ORDER_PARAMETERS = (m_kk, m_vv, m_kv, m_vk, q_kk, q_vv, q_kv)
"""The seven order parameters of an attention with key k and value v."""

epsilon = Symbol("epsilon", integer=True, positive=True)
i = Symbol("i", integer=True, positive=True)
j = Symbol("j", integer=True, positive=True)
k = Symbol("k", integer=True, positive=True)
l = Symbol("l", integer=True, positive=True)
m = Symbol("m", integer=True, positive=True)

NAMES = {"length": "L", "noise": "Delta", "scale": "a"}
"""Names of parameters by which their symbols are also called."""


def by_name(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Values by symbol or name, by the name of the symbol.

    Raises:
        ValueError: for two values of one, as of L and length.
    """
    found = {NAMES.get(str(key), str(key)): own for key, own in values.items()}
    if len(found) < len(values):
        twice = sorted(map(str, values))
        raise ValueError(f"values: found {', '.join(twice)}, of which two are one; expected one of them")
    return found


TYPED = {symbol.name: symbol for symbol in (nu, L, Delta, a, c, o, x)}
"""What users type: a symbol of SymPy of one of these names, without assumptions, is ours."""

OTHERS = (j, k)
"""Index symbols that stand for distinct tokens other than the relevant one."""

BOUND_IN_SEQUENCE = frozenset({chi.label, z.label, zeta.label, eta.label, xi, epsilon, j, k, l, m})
"""Symbols that an expectation over sequences integrates out."""
