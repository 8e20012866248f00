"""Visits every distinct node of an expression once, where SymPy's own traversal revisits repeated parts."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Basic


def distinct_nodes(expr: Basic) -> Iterator[Basic]:
    """Every node of an expression, itself first; of equal ones the first that is met, however often they occur."""
    seen, waiting = {expr}, [expr]
    while waiting:
        node = waiting.pop()
        yield node
        for arg in node.args if isinstance(node, Basic) else ():
            if arg not in seen:
                seen.add(arg)
                waiting.append(arg)
