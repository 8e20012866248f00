"""Denominators that a rewriting loses: where one of them is zero the two lines differ."""

from __future__ import annotations

from sympy import Expr, Mul, Ne, Pow, factor, latex

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import OPAQUE


def cancelled(before: Expr, after: Expr) -> tuple[Hypothesis, ...]:
    """That what stood in a denominator before, and no longer does, is not zero.

    A line with a denominator has no meaning where that is zero, so one that stays needs no words.
    """
    kept = _denominators(after)
    lost = sorted(_denominators(before) - kept, key=str)
    return tuple(
        Hypothesis(rf"${latex(base)}\ne0$") if base.has(*OPAQUE) else Hypothesis.of(Ne(base, 0))
        for base in lost
        if not base.is_nonzero
    )


def _denominators(expr: Expr) -> set[Expr]:
    """Irreducible factors, up to sign, of what stands in denominators outside of sums and expectations."""
    if isinstance(expr, OPAQUE) or not expr.args or expr.is_Indexed:
        return set()
    found = set().union(*(_denominators(arg) for arg in expr.args))
    if isinstance(expr, Pow) and expr.exp.could_extract_minus_sign():
        parts = [expr.base] if expr.base.has(*OPAQUE) else Mul.make_args(factor(expr.base))
        bases = (part.as_base_exp()[0] for part in parts)
        found |= {-base if base.could_extract_minus_sign() else base for base in bases if not base.is_number}
    return found
