"""Of which formulas a comparison at points judges: those of analytic nodes and of branch nodes, and no others.

A formula of analytic nodes that holds at points drawn at random holds around them. One with branches is compared on both sides of
every place where a branch changes, see ``symslr.check.branches``. A step of an author's rule, or a claim, that brings in a node
of another kind, such as 0**u, floor, Mod, binomial or a function of the author's, is unknown, whatever the comparisons say.
Outside of this is what differs only between the points that were drawn, such as a bump typed to be narrower than their distance;
the report says from where to where a parameter was drawn.
"""

from __future__ import annotations

import sympy as sp
from sympy import Basic, Expr, preorder_traversal
from sympy.core.function import AppliedUndef, UndefinedFunction
from sympy.core.relational import Relational
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean

ANALYTIC = (
    *(sp.Number, sp.NumberSymbol, sp.Symbol, sp.IndexedBase, sp.Indexed, sp.Tuple, sp.core.symbol.Str),
    *(sp.Add, sp.Mul, sp.Pow, sp.Sum, sp.Product, sp.Integral, sp.Derivative, sp.Limit),
    *(sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan),
    *(sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.asinh, sp.acosh, sp.atanh, sp.LambertW),
    *(sp.erf, sp.erfc, sp.erfi, sp.erfinv, sp.erfcinv, sp.Ei, sp.besselj, sp.besseli, sp.besselk, sp.zeta),
    *(sp.gamma, sp.factorial, sp.loggamma, sp.digamma, sp.lowergamma, sp.uppergamma, sp.beta),
)
"""Analytic functions, up to poles and branch cuts, and what is made of them; with every node of symslr's own."""

BRANCHES = (
    *(sp.Abs, sp.Max, sp.Min, sp.sign, sp.Heaviside, sp.KroneckerDelta),
    *(sp.Piecewise, ExprCondPair, Relational, Boolean),
)
"""Formulas with branches, whose deciders are drawn."""


def unjudged(before: Expr, after: Expr) -> str:
    """What a line brings in that a comparison at points does not judge, in words; empty where there is nothing."""
    known = {_kind(node) for node in preorder_traversal(before)}
    new = sorted({_kind(node) for node in preorder_traversal(after) if not _is_judged(node)} - known)
    if not new:
        return ""
    return f"brings in {', '.join(new)}, of which comparisons at points do not judge"


def _is_judged(node: Basic) -> bool:
    if isinstance(node, sp.Pow) and node.base.is_zero:
        return False
    if type(node).__module__ is not None and type(node).__module__.partition(".")[0] == "symslr":
        return True
    return isinstance(node, (*ANALYTIC, *BRANCHES)) or is_open(node)


def _kind(node: Basic) -> str:
    return "0**u" if isinstance(node, sp.Pow) and node.base.is_zero else type(node).__name__


def is_open(node: Basic) -> bool:
    """Whether a node is a function that is left open and nothing more, as ``Function`` makes it: it prints as what it is."""
    kind = type(node)
    if not (isinstance(node, AppliedUndef) and type(kind) is UndefinedFunction):
        return False
    own = vars(kind).keys() - vars(sp.Function("f")).keys()
    return not any(callable(vars(kind)[name]) for name in own)
