"""Minimisation by stationarity: where the derivative has one admissible zero, or no zero but a boundary."""

from __future__ import annotations

from typing import final

from sympy import (
    Add,
    Dummy,
    Expr,
    Sum,
    Symbol,
    cancel,
    count_ops,
    expand,
    factor,
    limit,
    numer,
    oo,
    solve,
    together,
)

from symslr.algebra.expectation import Expectation
from symslr.algebra.folded import Minimum
from symslr.algebra.rule import Rule
from symslr.model.symbols import L


@final
class Minimise(Rule):
    """Evaluate ``Minimum(body, variable)`` at the best of the stationary points and the ends of the range.

    Which of the candidates is lowest is decided by the sign of the differences under the symbols' assumptions; where
    that is undecided the rule refuses.
    """

    name = "minimisation"
    statement = r"\min_t F(t) = F(t_\star),\qquad F'(t_\star)=0 \text{ or } t_\star \text{ at the end of the range}"
    conditions = r"$F$ is differentiable and rational in $t$; $t_\star$ is the lowest of all candidates"

    def rewrite(self, expr: Expr) -> Expr:
        innermost = {node for node in expr.atoms(Minimum) if not node.body.has(Minimum)}
        return expr.xreplace({node: self.lowest(node)[1] for node in innermost})

    def lowest(self, node: Minimum) -> tuple[Expr, Expr]:
        """(minimiser, minimum).

        Raises:
            RuleRefused: when the body is not rational in the variable or no candidate is provably lowest.
        """
        t = node.variable
        random = {e: Dummy(positive=_positive(e), real=True) for e in node.body.atoms(Expectation) if not e.has(t)}
        whole = node.body.xreplace(random)
        body = together(whole)
        back = {d: e for e, d in random.items()}
        if not body.is_rational_function(t):
            raise self.refuse(f"{node.body} is not rational in {t}")
        slope = numer(together(body.diff(t)))
        inner = [s for s in solve(slope, t) if not s.has(t) and _admissible(s, t)]
        candidates = [(s, cancel(together(body.subs(t, s)))) for s in inner]
        candidates += [(end, limit(body, t, end)) for end in _ends(t)]
        candidates = [(s, value) for s, value in candidates if value not in (oo,)]
        for place, value in candidates:
            if all(_nonnegative(other - value, random) for _, other in candidates):
                return place.xreplace(back), _shortest(value, whole, t).xreplace(back)
        raise self.refuse(f"cannot decide which of {[str(v.xreplace(back)) for _, v in candidates]} is lowest")


def _shortest(value: Expr, body: Expr, t: Symbol) -> Expr:
    """The shorter of the expanded and the factored form, symbols that were added to the body left outside."""
    added = Add(*(term for term in Add.make_args(body) if not term.has(t) and not term.is_number))
    rest = cancel(together(value - added))
    return added + min((expand(rest), factor(rest)), key=count_ops)


def _nonnegative(difference: Expr, random: dict[Expr, Expr]) -> bool:
    """Whether a difference is provably >= 0, using that lengths and mean lengths are at least 1."""
    excess = {s: 1 + Dummy(nonnegative=True) for s in (L, *(d for e, d in random.items() if e.body == L))}
    return bool(factor(together(difference.xreplace(excess))).is_nonnegative)


def _positive(expr: Expr) -> bool | None:
    """True for the mean of a square that is not identically zero; None where nothing is known."""
    if isinstance(expr, Expectation):
        return _positive(expr.body)
    if isinstance(expr, Sum):
        return _positive(expr.function)
    base, power = expr.as_base_exp()
    return True if expr.is_positive or (power.is_even and base.is_real) else None


def _admissible(root: Expr, t: Symbol) -> bool:
    if root.is_real is False:
        return False
    return not (t.is_nonnegative and root.is_negative)


def _ends(t: Symbol) -> list[Expr]:
    return [0 * t, oo] if t.is_nonnegative else [-oo, oo]
