"""Checks that a user's formula has the form of a model: which symbols stand where, sums over all tokens."""

from __future__ import annotations

from collections.abc import Set

from sympy import Basic, Dummy, Expr, Indexed, Mod, S, Sum, ceiling, floor, frac
from sympy.core.function import AppliedUndef

from symslr.model.largest import IsLargest
from symslr.model.symbols import BOUND_IN_SEQUENCE, P_L, L, R_v, a, chi, epsilon, eta, m_v, x, xi, z, zeta

MEANINGS: dict[Basic, str] = {
    x: "the argument of a kernel or of a token density",
    a: "the scale of the key",
    m_v: "the overlap of the value vector",
    R_v: "the part of the value vector outside v*",
    P_L: "the law of the length",
    chi.label: "the key projections of the tokens",
    z.label: "the value projections of the tokens",
    zeta.label: "the values outside v*",
    eta.label: "the scores outside k* and v*",
    xi: "the label noise",
    epsilon: "the hidden position",
}
"""What a reserved symbol stands for; the other symbols bound in a sequence are token indices."""

RESERVED = BOUND_IN_SEQUENCE | MEANINGS.keys()


SHOWN, HEAD, TAIL = 64, 48, 12
"""Characters of an expression that stands whole in a line about it; of a longer one, those at its beginning and its end."""


def in_brief(expr: Basic) -> str:
    """An expression as a refusal shows it: no more of it than tells which it is."""
    text = str(expr)
    return text if len(text) <= SHOWN else f"{text[:HEAD]}...{text[-TAIL:]}"


def check_parameters(expr: Expr, what: str, allowed: Set[Basic] = frozenset()) -> None:
    """Refuse a reserved symbol outside ``allowed``, a function without a definition, and one with jumps without end.

    Raises:
        ValueError: naming the symbol, what it stands for, and how to mend it.
    """
    _check_symbols(expr.free_symbols - allowed, f"{what} {expr}", allowed)
    for step in sorted(expr.atoms(floor, ceiling, frac, Mod), key=str):
        raise ValueError(
            f"{what} {expr}: {step} jumps at infinitely many places; expected jumps at a few, by Heaviside, sign or Piecewise"
        )
    for function in sorted(expr.atoms(AppliedUndef), key=str):
        raise ValueError(f"{what} {expr}: {function.func} is not defined; expected functions that SymPy can evaluate")


def _check_symbols(symbols: Set[Basic], what: str, allowed: Set[Basic] = frozenset()) -> None:
    # values are given by name: another symbol a had that of the scale
    named = {str(symbol): symbol for symbol in MEANINGS}
    for symbol in sorted((one for one in symbols if one in RESERVED or str(one) in named), key=str):
        letter = named.get(str(symbol), symbol)
        other = f"symslr's own {symbol}, from symslr.model.symbols, or " if letter in allowed else ""
        meaning = MEANINGS.get(letter, "a token index")
        raise ValueError(f"{what}: mentions {symbol}, {meaning}; expected {other}a parameter of another name")


def check_weight(weight: Expr) -> None:
    """Refuse a weight that is no function of chi[epsilon] and of sums over all tokens, so that tokens are exchangeable.

    Raises:
        ValueError: naming what stands in the way.
    """
    bare = weight.xreplace(dict.fromkeys(weight.atoms(IsLargest), S.One))
    outside = bare.xreplace({total: Dummy() for total in bare.atoms(Sum)})
    parameters = _without_keys(outside, {epsilon}, weight).free_symbols
    for total in bare.atoms(Sum):
        if total.function.has(Sum) or len(total.limits) != 1 or tuple(total.limits[0][1:]) != (1, L):
            raise ValueError(
                f"weight {in_brief(weight)}: found {in_brief(total)}; expected single sums over all tokens, l = 1, ..., L"
            )
        token = total.limits[0][0]
        summand = _without_keys(total.function, {epsilon, token}, weight)
        if token in summand.free_symbols:
            raise ValueError(
                f"weight {in_brief(weight)}: {in_brief(total)} treats tokens by number; expected one that treats them alike"
            )
        parameters |= summand.free_symbols
    _check_symbols(parameters, f"weight {in_brief(weight)}")
    check_parameters(weight, "weight", allowed=RESERVED)


def _without_keys(expr: Expr, tokens: Set[Basic], weight: Expr) -> Expr:
    """``expr`` with the key projections of ``tokens`` replaced by letters; any other indexed quantity is refused."""
    for item in expr.atoms(Indexed):
        if item.base != chi or item.indices[0] not in tokens:
            raise ValueError(f"weight {in_brief(weight)}: mentions {item}; expected chi[epsilon] and sums over chi[l]")
    return expr.xreplace({item: Dummy() for item in expr.atoms(Indexed)})
