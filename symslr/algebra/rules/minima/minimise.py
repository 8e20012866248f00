"""Minimisation by stationarity: the lowest of the stationary points and the ends of the range, poles ruled out."""

from __future__ import annotations

from functools import lru_cache
from typing import final

from sympy import (
    Add,
    Dummy,
    Expr,
    Poly,
    S,
    Sum,
    Symbol,
    cancel,
    count_ops,
    expand,
    fraction,
    limit,
    oo,
    together,
)
from sympy import sign as sympy_sign

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.zeros import Sign, Zero, ZerosUnknown, real_zeros
from symslr.expression.expectation import Expectation
from symslr.expression.folded import FOLDED, Minimum
from symslr.model.powers import factored
from symslr.model.symbols import L


@final
class Minimise(Rule):
    """Evaluate ``Minimum(body, variable)`` at the best of the stationary points and the ends of the range.

    Which of the candidates is lowest is decided by the sign of the differences under the symbols' assumptions; where
    that is undecided, where a stationary point may leave the range, or where the body may fall without bound at a pole,
    the rule refuses. A minimum at an infinite end is an infimum: it is approached.
    """

    name = "minimisation"
    statement = r"\min_t F(t) = F(t_\star),\qquad F'(t_\star)=0 \text{ or } t_\star \text{ at the end of the range}"
    conditions = r"$F$ is differentiable and rational in $t$; $t_\star$ is the lowest of all candidates"

    def rewrite(self, expr: Expr) -> Expr:
        innermost = {node for node in expr.atoms(Minimum) if not node.body.has(Minimum)}
        return expr.xreplace({node: self.lowest(node)[1] for node in innermost})

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        means = {node for found in expr.atoms(Minimum) for node in found.body.atoms(Expectation)}
        squares = [node for node in sorted(means, key=str) if not node.is_positive and _positive(node)]
        return Hypothesis.of_positive([node for node in squares if not any(node in other.args for other in squares)])

    def lowest(self, node: Minimum) -> tuple[Expr, Expr]:
        """(minimiser, minimum).

        Raises:
            RuleRefused: when the body is not rational in the variable or no candidate is provably lowest.
        """
        return _lowest(node)

    def _lowest(self, node: Minimum) -> tuple[Expr, Expr]:
        t = node.variable
        if not t.is_real or t.is_integer or t.is_nonpositive:
            raise self.refuse(f"the variable {t} is not known to run over all real or all nonnegative numbers")
        means = sorted(
            (e for e in node.body.atoms(Expectation, Sum) if not e.has(t)), key=str
        )  # the form must not vary
        random = {e: Dummy(positive=_positive(e), real=True) for e in means}
        back = {d: e for e, d in random.items()}
        whole = node.body.xreplace(random)
        if not whole.is_rational_function(t):
            raise self.refuse(f"{node.body} is not rational in {t}")
        if not whole.has(t):
            return _ends(t)[0], node.body
        body = cancel(together(whole))
        sign = _sign(random)
        try:
            slope = fraction(cancel(together(body.diff(t))))[0]
            stationary = [s for s in real_zeros(slope, t, sign) if _inside(s.place, t)]
            poles = [p for p in real_zeros(fraction(body)[1], t, sign) if _inside(p.place, t)]
        except ZerosUnknown as reason:
            raise self.refuse(str(reason)) from reason
        for pole in poles:
            if not _rises(body, pole, t, sign):
                raise self.refuse(f"{node.body} may fall without bound near {t} = {pole.place.xreplace(back)}")
        found = [(s.place, cancel(together(body.subs(t, s.place))), _certain(s, t)) for s in stationary]
        found += [(end, _settled(_at_end(body, t, end), sign), True) for end in _ends(t)]
        if any(value == -oo for _, value, _ in found):
            raise self.refuse(f"{node.body} falls without bound")
        found = [candidate for candidate in found if candidate[1] != oo]
        for place, value, certain in found:
            if certain and all(other == value or sign(other - value) in (0, 1) for _, other, _ in found):
                if place.is_infinite and not _keeps_degree(body, t):
                    raise self.refuse(f"{node.body} tends to another value where a leading coefficient vanishes")
                return place.xreplace(back), _shortest(value, whole, t).xreplace(back)
        raise self.refuse(f"cannot decide which of {[str(v.xreplace(back)) for _, v, _ in found]} is lowest")


_lowest = lru_cache(maxsize=512)(Minimise()._lowest)
"""Kept, as chains have minima in common."""


def _at_end(body: Expr, t: Symbol, end: Expr) -> Expr:
    """The limit of a rational function, at infinity that of its leading terms."""
    parts = fraction(body)
    if end.is_finite:
        return limit(body, t, end) if parts[1].subs(t, end) == 0 else body.subs(t, end)
    above, below = (Poly(part, t) for part in parts)
    power, leading = above.degree() - below.degree(), cancel(above.LC() / below.LC())
    if power > 0:
        return sympy_sign(leading) * end**power
    return leading if power == 0 else S.Zero


def _settled(value: Expr, sign: Sign) -> Expr:
    """A limit with the signs in it put in, where they are known."""
    signs = {node: S(known) for node in value.atoms(sympy_sign) if (known := sign(node.args[0])) in (1, -1)}
    return value.xreplace(signs)


def _shortest(value: Expr, body: Expr, t: Symbol) -> Expr:
    """The shorter of the expanded and the factored form, symbols that were added to the body left outside."""
    added = Add(*(term for term in Add.make_args(body) if not term.has(t) and not term.is_number))
    rest = cancel(together(value - added))
    return added + min((expand(rest), factored(rest)), key=count_ops)


def _sign(random: dict[Expr, Expr]) -> Sign:
    """Provable signs, using that lengths and mean lengths are at least 1."""
    excess = {s: 1 + Dummy(nonnegative=True) for s in (L, *(d for e, d in random.items() if e.args[0] == L))}

    def sign(expr: Expr) -> int | None:
        known = factored(together(expr.xreplace(excess)))
        if known.is_positive:
            return 1
        if known.is_nonnegative:
            return 0
        return -1 if known.is_negative else None

    return sign


def _positive(expr: Expr) -> bool | None:
    """True for the mean of a square that is not identically zero; None where nothing is known.

    A square of a sum with folded names in it may be: attention adds up to one.
    """
    if isinstance(expr, Expectation):
        return _positive(expr.body)
    if isinstance(expr, Sum):
        return _positive(expr.function)
    base, power = expr.as_base_exp()
    cancels = base.is_Add and base.has(Sum, *FOLDED)
    return True if expr.is_positive or (power.is_even and base.is_real and not cancels) else None


def _inside(place: Expr, t: Symbol) -> bool:
    """Whether a place may lie in the open range of ``t``; an end of the range is a candidate of its own."""
    return not (t.is_nonnegative and place.is_nonpositive)


def _certain(zero: Zero, t: Symbol) -> bool:
    return zero.real and bool(not t.is_nonnegative or zero.place.is_nonnegative)


def _rises(body: Expr, pole: Zero, t: Symbol, sign: Sign) -> bool:
    """Whether the body provably tends to +oo on both sides of a pole."""
    numerator, denominator = fraction(body)
    regular = cancel(denominator / (t - pole.place) ** pole.multiplicity)
    return pole.multiplicity % 2 == 0 and sign(factored((numerator * regular).subs(t, pole.place))) == 1


def _keeps_degree(body: Expr, t: Symbol) -> bool:
    """Whether the leading coefficients of numerator and denominator are not zero: the limit at infinity rests on them."""
    return all(bool(Poly(part, t).LC().is_nonzero) for part in fraction(body))


def _ends(t: Symbol) -> list[Expr]:
    return [S.Zero, oo] if t.is_nonnegative else [-oo, oo]
