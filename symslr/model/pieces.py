"""Piecewise functions as sums of Max, Min and Heaviside, since SymPy moves the cases of a Piecewise out of sums over tokens.

``Sum(f(m)/Sum(Piecewise((g(m), m < 0), ...), m), m)`` comes back from SymPy's own constructor with the inner case distinction
moved outside, which is another number (``piecewise_fold`` does not see that m is bound).
"""

from __future__ import annotations

from sympy import Expr, Heaviside, Indexed, Interval, Max, Min, Piecewise, S, Symbol, Union, oo


def without_pieces(expr: Expr, what: str) -> Expr:
    """``expr`` with every Piecewise in one real variable written by Max, Min and, where it jumps, Heaviside.

    f on x < c and g beyond is f(min(x, c)) + g(max(x, c)) - f(c) + (jump), and so on from cut to cut.

    Raises:
        ValueError: for cases that are not intervals of one variable between numbers, or that leave a part undefined.
    """
    return expr.replace(lambda node: isinstance(node, Piecewise), lambda node: _joined(node, what))


def _joined(node: Piecewise, what: str) -> Expr:
    variable = _variable(node, what)
    letter = Symbol("x", real=True)
    pieces = _intervals(node.xreplace({variable: letter}), letter, f"{what} {node}")
    total = S.Zero
    for number, (value, low, high) in enumerate(pieces):
        total += value.subs(letter, Min(Max(letter, low), high))
        if number:  # so far the last piece stands at its end, this one at its start
            end = pieces[number - 1][0].subs(letter, low)
            begin = value.subs(letter, low)
            total += -begin + (begin - end) * Heaviside(letter - low, S.Half)
    return total.xreplace({letter: variable})


def _variable(node: Piecewise, what: str) -> Expr:
    found = set().union(*(_variables(condition) for _, condition in node.args))
    if len(found) != 1:
        raise ValueError(f"{what} {node}: its cases depend on {len(found)} variables; expected intervals of one")
    return found.pop()


def _variables(condition: Expr) -> set[Expr]:
    tokens = condition.atoms(Indexed)
    inside = set().union(*(token.free_symbols for token in tokens)) - tokens
    return tokens | {s for s in condition.free_symbols - inside - tokens if s.is_Symbol}


def _intervals(node: Piecewise, letter: Symbol, what: str) -> list[tuple[Expr, Expr, Expr]]:
    """(value, low, high) from left to right over the whole line."""
    try:
        pairs = node.as_expr_set_pairs(S.Reals)
    except NotImplementedError as refusal:
        raise ValueError(f"{what}: its cases are not intervals between numbers; write it with Max and Min") from refusal
    parts = []
    for value, region in pairs:
        for interval in region.args if isinstance(region, Union) else (region,):
            if isinstance(interval, Interval):
                parts.append((value, interval.start, interval.end))
            elif not interval.is_FiniteSet:  # a single point has no weight under a density
                raise ValueError(f"{what}: its cases are not intervals between numbers; write it with Max and Min")
    parts.sort(key=lambda part: part[1])
    ends = [-oo, *(high for _, _, high in parts)]
    if [low for _, low, _ in parts] != ends[:-1] or ends[-1] != oo:
        raise ValueError(f"{what}: found no value on a part of the line; end it with a case (value, True)")
    return parts
