"""Minimisation by stationarity: where the derivative has one admissible zero, or no zero but a boundary."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Symbol, cancel, factor, limit, numer, oo, solve, together

from symslr.algebra.expectation import Expectation
from symslr.algebra.folded import Minimum
from symslr.algebra.rule import Rule


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
        return expr.replace(lambda node: isinstance(node, Minimum), self._evaluate)

    def _evaluate(self, node: Minimum) -> Expr:
        if node.body.has(Minimum):
            return node
        return factor(self.lowest(node)[1])

    def lowest(self, node: Minimum) -> tuple[Expr, Expr]:
        """(minimiser, minimum).

        Raises:
            RuleRefused: when the body is not rational in the variable or no candidate is provably lowest.
        """
        t = node.variable
        random = {e: Dummy(positive=_positive(e), real=True) for e in node.body.atoms(Expectation) if not e.has(t)}
        body = together(node.body.xreplace(random))
        back = {d: e for e, d in random.items()}
        if not body.is_rational_function(t):
            raise self.refuse(f"{node.body} is not rational in {t}")
        slope = numer(together(body.diff(t)))
        inner = [s for s in solve(slope, t) if not s.has(t) and _admissible(s, t)]
        candidates = [(s, cancel(together(body.subs(t, s)))) for s in inner]
        candidates += [(end, limit(body, t, end)) for end in _ends(t)]
        candidates = [(s, value) for s, value in candidates if value not in (oo,)]
        for place, value in candidates:
            differences = (factor(together(other - value)) for _, other in candidates)
            if all(d.is_nonnegative for d in differences):
                return place.xreplace(back), value.xreplace(back)
        raise self.refuse(f"cannot decide which of {[str(v.xreplace(back)) for _, v in candidates]} is lowest")


def _positive(node: Expectation) -> bool | None:
    return True if node.body.is_positive else None


def _admissible(root: Expr, t: Symbol) -> bool:
    if root.is_real is False:
        return False
    return not (t.is_nonnegative and root.is_negative)


def _ends(t: Symbol) -> list[Expr]:
    return [0 * t, oo] if t.is_nonnegative else [-oo, oo]
