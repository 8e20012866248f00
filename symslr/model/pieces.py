"""Piecewise functions as sums of Max, Min and Heaviside, since SymPy moves the cases of a Piecewise out of sums over tokens.

``Sum(f(m)/Sum(Piecewise((g(m), m < 0), ...), m), m)`` comes back from SymPy's own constructor with the inner case distinction
moved outside, which is another number (``piecewise_fold`` does not see that m is bound).
"""

from __future__ import annotations

import itertools

from sympy import Add, Expr, Heaviside, Indexed, Interval, Max, Min, Mul, Piecewise, S, Symbol, Union, oo


def without_pieces(expr: Expr, what: str) -> Expr:
    """``expr`` with every Piecewise in one real variable written by Max, Min and, where it jumps, Heaviside.

    f on x < c and g beyond is f(min(x, c)) + g(max(x, c)) - f(c) + (jump), and so on from cut to cut.

    Raises:
        ValueError: for cases that are not intervals of one variable between numbers, or that leave a part undefined.
    """
    return expr.replace(lambda node: isinstance(node, Piecewise), lambda node: _joined(node, what))


def density_without_pieces(expr: Expr, lower: Expr, upper: Expr, what: str) -> Expr:
    """A density on (lower, upper) as ``without_pieces`` writes it, but that it keeps its digits where it is small.

    f on x < c and g beyond is f(min(x, c)) g(max(x, c)) / f(c), with a jump as a factor, or where one is 0 at a cut
    f(min(x, c)) step(c - x) + g(max(x, c)) step(x - c): in f(min(x, c)) + g(max(x, c)) - f(c) the tails cancel.

    Raises:
        ValueError: as ``without_pieces``; a part of the line beyond the support needs no value.
    """
    if not expr.has(Piecewise):
        return expr
    return Add(
        *(
            Mul(
                *(
                    _multiplied(factor, lower, upper, what)
                    if isinstance(factor, Piecewise)
                    else without_pieces(factor, what)
                    for factor in Mul.make_args(term)
                )
            )
            for term in Add.make_args(expr)
        )
    )


def _multiplied(node: Piecewise, lower: Expr, upper: Expr, what: str) -> Expr:
    letter, variable, pieces = _pieces(node, what, (lower, upper))
    held = [value.subs(letter, Min(Max(letter, low), high)) for value, low, high in pieces]
    ends = [  # of one piece and of the next where they meet
        (before.subs(letter, low), after.subs(letter, low))
        for (before, _, _), (after, low, _) in itertools.pairwise(pieces)
    ]
    if all(end.is_finite and not end.is_zero for both in ends for end in both):
        steps = [
            (1 + (begin / end - 1) * Heaviside(letter - low, S.Half)) / begin
            for (end, begin), (_, low, _) in zip(ends, pieces[1:], strict=True)
        ]
        total = Mul(*held, *steps)
    else:
        after = [S.One, *(Heaviside(letter - low, S.Half) for _, low, _ in pieces[1:])]
        before = [*(Heaviside(high - letter, S.Half) for _, _, high in pieces[:-1]), S.One]
        total = Add(*(Mul(*factors) for factors in zip(held, after, before, strict=True)))
    return total.xreplace({letter: variable})


def _pieces(
    node: Piecewise, what: str, support: tuple[Expr, Expr] = (-oo, oo)
) -> tuple[Symbol, Expr, list[tuple[Expr, Expr, Expr]]]:
    """A letter in place of the variable of the cases, that variable, and (value, low, high) from left to right."""
    variable = _variable(node, what)
    letter = Symbol("x", real=True)
    return letter, variable, _intervals(node.xreplace({variable: letter}), letter, f"{what} {node}", support)


def _joined(node: Piecewise, what: str) -> Expr:
    letter, variable, pieces = _pieces(node, what)
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


def _intervals(node: Piecewise, letter: Symbol, what: str, support: tuple[Expr, Expr]) -> list[tuple[Expr, Expr, Expr]]:
    """(value, low, high) from left to right over the support, or the whole line where its ends are no numbers."""
    start, stop = support if all(end.is_number for end in support) else (-oo, oo)
    try:
        pairs = node.as_expr_set_pairs(Interval(start, stop))
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
    ends = [start, *(high for _, _, high in parts)]
    if [low for _, low, _ in parts] != ends[:-1] or ends[-1] != stop:
        raise ValueError(f"{what}: found no value on a part of the line; end it with a case (value, True)")
    return parts
