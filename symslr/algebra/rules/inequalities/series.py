"""A function is at most another one whose power series has larger coefficients."""

from __future__ import annotations

from typing import final

from sympy import Eq, Expr, Mod, Piecewise, S, Symbol, Wild, fps, gammasimp, limit, oo, simplify

from symslr.algebra.bound import Bound
from symslr.model.powers import factored

p = Symbol("p", nonnegative=True)


@final
class SeriesComparison(Bound):
    """Replace ``smaller`` by ``larger``, two functions of ``variable``, at every argument.

    The coefficients come from the functions' power series. The first one is compared as a number; the ratio of one
    coefficient to the next must fall by at least as much in the smaller series, which gives the others by induction.

    Raises:
        RuleRefused: when the comparison of the series fails or cannot be decided.
    """

    name = "comparison of series"
    statement = r"0\le a_k\le b_k\ \text{for all }k\implies\sum_k a_k z^k\le\sum_k b_k z^k"
    conditions = r"both series converge for all $z$; $z\ge0$, or $z$ is real and all powers are even"

    def __init__(self, smaller: Expr, larger: Expr, variable: Symbol) -> None:
        self.smaller, self.larger, self.variable = smaller, larger, variable
        (first, second), self.period = self._coefficients()
        self._compare(first, second)

    def upper(self, term: Expr) -> Expr | None:
        argument = Wild("argument")
        found = term.match(self.smaller.subs(self.variable, argument)) if term.func == self.smaller.func else None
        if not found:
            return None
        place = found[argument]
        if not (place.is_nonnegative or (place.is_real and self.period % 2 == 0)):
            raise self.refuse(
                f"found {place}; expected an argument that is {'real' if self.period % 2 == 0 else '>= 0'}"
            )
        return self.larger.subs(self.variable, place)

    def _coefficients(self) -> tuple[tuple[Expr, Expr], int]:
        """Coefficients of z^(period p) of both series."""
        (first, period), (second, other) = (self._series(f) for f in (self.smaller, self.larger))
        if period != other:
            raise self.refuse(f"the powers of {self.smaller} and {self.larger} differ")
        return (first, second), period

    def _series(self, function: Expr) -> tuple[Expr, int]:
        series = fps(function, self.variable)
        formula = getattr(getattr(series, "ak", None), "formula", None)
        if formula is None or len(formula.free_symbols) > 1:
            raise self.refuse(f"{function} has no power series whose coefficients are known")
        (k,) = formula.free_symbols or {p}
        period = S.One
        if isinstance(formula, Piecewise):
            (formula, condition), *rest = formula.args
            remainder = condition.lhs if isinstance(condition, Eq) else None
            if not isinstance(remainder, Mod) or remainder.args[0] != k or [e for e, _ in rest] != [S.Zero]:
                raise self.refuse(f"the coefficients of {function} are {formula}; expected one formula for all")
            period = remainder.args[1]
        coefficient = gammasimp(formula.subs(k, period * p))
        if simplify(coefficient.subs(p, 0) - limit(function, self.variable, 0)) != 0:
            raise self.refuse(f"the series of {function} does not start at its value")
        return coefficient, int(period)

    def _compare(self, first: Expr, second: Expr) -> None:
        start, top = first.subs(p, 0), second.subs(p, 0)
        own, other = (gammasimp(c.subs(p, p + 1) / c) for c in (first, second))
        if not (start.is_nonnegative and (top - start).is_nonnegative and own.is_nonnegative):
            raise self.refuse(f"the series of {self.smaller} and {self.larger} start with {start} and {top}")
        gap = gammasimp(1 - own / other)
        if not (other.is_positive and simplify(factored(gap)).is_nonnegative):
            raise self.refuse(f"cannot show that the coefficients {first} stay below {second}")
        if any(limit(ratio, p, oo) != 0 for ratio in (own, other)):
            raise self.refuse(f"the series of {self.smaller} or {self.larger} does not converge everywhere")
