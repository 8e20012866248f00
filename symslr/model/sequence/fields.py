"""The fields of the tokens as symbols, and formulas in them with their sums over tokens written out."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, Indexed, IndexedBase, Integer, Sum, Symbol

from symslr.model.symbols import L, i, j, l, m
from symslr.model.text import parse_expression

INDICES = {"l": l, "m": m, "i": i, "j": j}
"""The token indices that a sum may run over; ``l`` alone may stand free, in a label with one output for each token."""

Fields = tuple[tuple[Symbol, ...], ...]
"""One symbol for each token (rows) and each direction (columns)."""


def fields_of(names: tuple[str, ...], length: int) -> Fields:
    """The symbol ``u_3`` for the field of the direction u at the token 3, and so on."""
    return tuple(tuple(Symbol(f"{name}_{l}", real=True) for name in names) for l in range(1, length + 1))


def read(
    text: str, names: tuple[str, ...], length: int, others: Mapping[str, Expr], what: str, free_index: str = ""
) -> Expr:
    """A formula as it is written: fields ``u[l]`` as ``Indexed``, sums over tokens as ``Sum`` to the symbol ``L``.

    Args:
        names: the directions, each of which takes an index.
        others: what further names mean.
        free_index: the index that may stand outside a sum.

    Raises:
        TextError: in one line, for text outside the whitelist.
    """
    families = {name: IndexedBase(name, real=True) for name in names}
    return parse_expression(
        text,
        {**families, "L": L, **INDICES, **others},
        bound_indices=tuple(INDICES),
        what=what,
        positions=length,
        free_index=free_index,
    )


def written_out(expr: Expr, fields: Mapping[str, tuple[Symbol, ...]], given: Mapping[Expr, Expr]) -> Expr:
    """The formula in the symbols of the fields: sums written out, values put in.

    Args:
        fields: by the name of a direction its fields at the tokens 1 to L.
        given: values of symbols, L among them; an index that has one is put in.

    Raises:
        ValueError: in one line, for an index outside 1 to L.
    """
    if isinstance(expr, Symbol):
        return given.get(expr, expr)
    if isinstance(expr, Indexed):
        at = written_out(expr.indices[0], fields, given)
        own = fields[str(expr.base.label)]
        if not (at.is_Integer and 1 <= at <= len(own)):
            raise ValueError(f"{expr}: found the index {at}; expected 1 to {len(own)}")
        return own[int(at) - 1]
    if isinstance(expr, Sum):
        index, first, last = expr.limits[0]
        last = written_out(last, fields, given)
        terms = (
            written_out(expr.function, fields, {**given, index: Integer(n)}) for n in range(int(first), int(last) + 1)
        )
        return sum(terms, Integer(0))
    return expr.func(*(written_out(part, fields, given) for part in expr.args)) if expr.args else expr
