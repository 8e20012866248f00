"""A relation as a mathematician would print it: ``L > 1`` for ``L**2*(L - 1) > 0``; the relation itself is kept."""

from __future__ import annotations

from sympy import Add, And, Expr, Mul, S, latex, log, together
from sympy.core.relational import Equality, Relational
from sympy.logic.boolalg import Boolean

from symslr.model.powers import factored

SIGNS = {">": ">", ">=": r"\geq", "<": "<", "<=": r"\leq", "!=": r"\neq"}
LONG = 60
"""Operations from which a relation is printed as it is: to factor it would cost more than its print is worth."""
FLIPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "!=": "!="}


def readable(relation: Boolean) -> str:
    """LaTeX of an equivalent relation between shorter sides, or of the relation where no shorter one is found."""
    return ",\\; ".join(dict.fromkeys(_said(relation)))


def _said(relation: Boolean) -> list[str]:
    if isinstance(relation, And):
        return [said for part in sorted(relation.args, key=str) for said in _said(part)]
    if not isinstance(relation, Relational) or isinstance(relation, Equality):
        return [latex(relation)]
    if (relation.lhs.is_Symbol and relation.rhs.is_Symbol) or relation.count_ops() > LONG:
        return [latex(relation)]
    sign = relation.rel_op
    moved = relation.lhs - relation.rhs
    if sign in ("<", "<="):
        sign, moved = FLIPPED[sign], -moved
    shorter = _against_zero(factored(together(moved)), sign)
    return [latex(relation)] if shorter is None else shorter


def _against_zero(expr: Expr, sign: str) -> list[str] | None:
    """Relations that together say ``expr sign 0``; None where its factors leave the sign open."""
    above, below = expr.as_numer_denom()
    if not (below.is_nonzero if sign == "!=" else below.is_positive):
        return None
    number, rest = above.as_coeff_Mul()
    open_ones = [f for f in Mul.make_args(rest) if not (f.is_nonzero if sign == "!=" else f.is_positive)]
    if sign != "!=" and len(open_ones) != 1:
        return None
    if number.is_negative and sign != "!=":
        open_ones = [-open_ones[0]]
    return [said for one in open_ones for said in _of_factor(one, sign)] or None


def _of_factor(expr: Expr, sign: str) -> list[str]:
    base, power = expr.as_base_exp()
    root = power == S.Half and (base.is_real or sign == ">")
    if root or (power.is_number and power != 1 and base.is_real and sign == "!="):
        return _of_factor(base, sign)
    if isinstance(expr, log) and (expr.args[0].is_positive or (expr.args[0].is_nonnegative and sign == ">")):
        ratio = factored(together(expr.args[0] - 1))
        return _against_zero(ratio, sign) or [f"{latex(expr)} {SIGNS[sign]} 0"]
    terms = Add.make_args(expr.expand())
    left = Add(*(term for term in terms if not term.could_extract_minus_sign()))
    right = Add(*(-term for term in terms if term.could_extract_minus_sign()))
    longer = sign == "!=" and len(Add.make_args(left)) > len(Add.make_args(right)) and right != 0
    if longer or (left.is_number and not right.is_number):
        left, right, sign = right, left, FLIPPED[sign]
    return [f"{latex(left)} {SIGNS[sign]} {latex(right)}"]
