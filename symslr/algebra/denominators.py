"""Denominators that a rewriting loses: where one of them is zero the two lines differ."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, Mul, Ne, Pow, latex

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import OPAQUE
from symslr.model.powers import factored


def cancelled(before: Expr, after: Expr, letters: Mapping[Expr, Expr] | None = None) -> tuple[Hypothesis, ...]:
    """That what stood in a denominator before, and no longer does, is not zero.

    A line with a denominator has no meaning where that is zero, so one that stays needs no words. Where ``letters`` stand
    for parts of the lines, what is zero is judged by the letters and said of the parts.
    """
    letters = letters or {}
    parts = {letter: part for part, letter in letters.items() if letter.is_Symbol}
    lost = _denominators(before.xreplace(letters)) - _denominators(after.xreplace(letters))
    said = sorted((base.xreplace(parts) for base in lost if not base.is_nonzero), key=str)
    return tuple(
        Hypothesis(rf"${latex(base)}\ne0$") if base.has(*OPAQUE) else Hypothesis.of(Ne(base, 0)) for base in said
    )


def _denominators(expr: Expr) -> set[Expr]:
    """Irreducible factors, up to sign, of what stands in denominators outside of sums and expectations."""
    if isinstance(expr, OPAQUE) or not expr.args or expr.is_Indexed:
        return set()
    found = set().union(*(_denominators(arg) for arg in expr.args))
    if isinstance(expr, Pow) and expr.exp.could_extract_minus_sign():
        parts = [expr.base] if expr.base.has(*OPAQUE) else Mul.make_args(factored(expr.base))
        bases = (part.as_base_exp()[0] for part in parts)
        found |= {-base if base.could_extract_minus_sign() else base for base in bases if not base.is_number}
    return found
