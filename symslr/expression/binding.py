"""Substitution in nodes that bind symbols, as an integral binds its variable."""

from __future__ import annotations

from collections.abc import Set

from sympy import Basic, Expr


def bound_subs(node: Expr, bound: Set[Basic], old: Basic, new: Basic) -> Basic | None:
    """What ``_eval_subs`` returns for a node that binds symbols: bound ones stay, and none is let in from outside.

    Raises:
        ValueError: when a bound symbol stands in what is put in.
    """
    if old.free_symbols & bound:
        return node
    captured = new.free_symbols & bound
    if captured and old.free_symbols & node.free_symbols:
        raise ValueError(f"{new} cannot replace {old} in {node}: {min(map(str, captured))} is bound there")
    return None
