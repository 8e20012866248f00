"""The symbols every room shares: one name, one meaning.

L       length of the sequence                    positive integer
nu      signal strength                           positive (nu = 0 is reached by substitution)
Delta   standard deviation of the label noise     nonnegative
a       scale of the key: chi = a chi*            real
m_v     overlap m_vv* of the value vector with v*;  R_v >= 0 its squared norm outside v*: q_vv = m_v**2 + R_v
x       argument of a kernel or of a token density
chi[i]  key projection of token i,  z[i] its value projection,  xi the label noise
zeta[i] the part of token i's value that is orthogonal to v*, N(0, 1) and independent of everything else
P_L     the law of a random length, left open
epsilon the hidden position;  j, k  distinct tokens other than epsilon;  l, m  summation indices
"""

from __future__ import annotations

from sympy import IndexedBase, Symbol

L = Symbol("L", integer=True, positive=True)
nu = Symbol("nu", positive=True)
Delta = Symbol("Delta", nonnegative=True)
a = Symbol("a", real=True)
c = Symbol("c", real=True)
x = Symbol("x", real=True)

chi = IndexedBase("chi", real=True)
z = IndexedBase("z", real=True)
zeta = IndexedBase("zeta", real=True)
xi = Symbol("xi", real=True)

m_v = Symbol("m_v", real=True)
R_v = Symbol("R_v", nonnegative=True)
P_L = Symbol("P_L")

epsilon = Symbol("epsilon", integer=True, positive=True)
j = Symbol("j", integer=True, positive=True)
k = Symbol("k", integer=True, positive=True)
l = Symbol("l", integer=True, positive=True)
m = Symbol("m", integer=True, positive=True)

OTHERS = (j, k)
"""Index symbols that stand for distinct tokens other than the relevant one."""

BOUND_IN_SEQUENCE = frozenset({chi.label, z.label, zeta.label, xi, epsilon, j, k, l, m})
"""Symbols that an expectation over sequences integrates out."""
