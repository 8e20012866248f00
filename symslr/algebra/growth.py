"""Bounds on the growth of a function on either half-line, C exp(q x^2 + r |x|) (1 + |x|)^d, read from its structure."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import (
    Abs,
    Add,
    Basic,
    Dummy,
    Expr,
    Lt,
    Max,
    Min,
    Mul,
    Poly,
    Pow,
    Rational,
    S,
    atan,
    cosh,
    erf,
    exp,
    expand,
    log,
    sign,
    sinh,
    tanh,
)
from sympy.logic.boolalg import Boolean

from symslr.algebra.positivity import bounded_below, is_nonnegative, is_positive
from symslr.algebra.token_bounds import BOUNDED, at_least_exponential
from symslr.model.symbols import x


class Undecided(ValueError):
    """The structure of a formula does not show how it grows."""


@dataclass(frozen=True)
class Growth:
    """|f| <= C exp(q t^2 + r t) (1 + t)^d as t -> oo; ``sharp`` where f does grow like that.

    q is infinite where f grows faster than every Gaussian falls.
    """

    q: Expr = S.Zero
    r: Expr = S.Zero
    d: Expr = S.Zero
    sharp: bool = False

    def __add__(self, other: Growth) -> Growth:
        return Growth(self.q + other.q, self.r + other.r, self.d + other.d, self.sharp and other.sharp)

    def times(self, power: Expr) -> Growth:
        return Growth(self.q * power, self.r * power, self.d * power, self.sharp)

    def join(self, other: Growth, *, sharp: bool) -> Growth:
        """The larger of the two, or what is larger than both where parameters decide."""
        for mine, theirs in ((self.q, other.q), (self.r, other.r), (self.d, other.d)):
            if (mine - theirs).is_extended_positive:
                return self
            if (mine - theirs).is_extended_negative:
                return other
            if mine != theirs:
                pairs = ((self.q, other.q), (self.r, other.r), (self.d, other.d))
                return Growth(*(Max(one, two) for one, two in pairs))
        return Growth(self.q, self.r, self.d, sharp and self.sharp and other.sharp)


def is_integrable(total: Growth) -> Boolean:
    """When the integral of a function of that growth converges at infinity, as a relation in its parameters."""
    if total.q is S.NaN:
        raise Undecided("both factors grow or fall faster than any Gaussian")
    if total.q.is_extended_negative:
        return S.true
    if total.q.is_extended_positive:
        return S.false
    if total.q != 0:
        return Lt(total.q, 0)
    if total.r.is_negative:
        return S.true
    if total.r.is_positive:
        return S.false
    return Lt(total.d, -1) if total.r == 0 else Lt(total.r, 0)


def growth(f: Expr, variable: Basic, side: int) -> Growth:
    """How f grows on one side of the line, ``variable`` = side * t.

    Raises:
        Undecided: where the structure does not show it, or where f may have a pole.
    """
    if variable not in f.free_symbols:
        return Growth(sharp=f.is_zero is not True)
    if f == variable:
        return Growth(d=S.One, sharp=True)
    if isinstance(f, Add):
        parts = [growth(arg, variable, side) for arg in f.args]
        alike = all(is_nonnegative(arg) for arg in f.args)
        largest = parts[0]
        for part in parts[1:]:
            largest = largest.join(part, sharp=alike)
        return largest
    if isinstance(f, Mul):
        total = Growth(sharp=True)
        for arg in f.args:
            total += growth(arg, variable, side)
        return total
    if isinstance(f, exp):
        return _exponent(f.exp, variable, side)
    if isinstance(f, Pow):
        return _power(f, variable, side)
    if isinstance(f, Abs):
        return growth(f.args[0], variable, side)
    if isinstance(f, (cosh, sinh)):
        return _exponent(Abs(f.args[0]), variable, side)
    if isinstance(f, (Max, Min)):
        parts = [growth(arg, variable, side) for arg in f.args]
        largest = parts[0]
        for part in parts[1:]:
            largest = largest.join(part, sharp=False)
        return Growth(largest.q, largest.r, largest.d)
    if isinstance(f, log) and is_positive(f.args[0]):
        inner = growth(f.args[0], variable, side)
        if inner.q.is_infinite or not (inner.sharp or at_least_exponential(f.args[0].xreplace({variable: x}))):
            raise Undecided(f"how {f} grows is not decided")
        if inner.q != 0:
            return Growth(d=2 * S.One)
        return Growth(d=Rational(1, 100) if inner.sharp and inner.r == 0 else S.One)
    if isinstance(f, BOUNDED):
        return Growth(sharp=isinstance(f, (tanh, erf, sign, atan)))
    raise Undecided(f"how {f} grows is not decided")


def _power(f: Expr, variable: Basic, side: int) -> Growth:
    base, power = f.args
    if power.free_symbols & {variable} or not power.is_real:
        raise Undecided(f"how {f} grows is not decided")
    inner = growth(base, variable, side)
    if power.is_nonnegative:
        return inner.times(power)
    if not (inner.sharp and bounded_below(base)):
        raise Undecided(f"{f} may have a pole")
    return inner.times(power)


def _exponent(f: Expr, variable: Basic, side: int) -> Growth:
    """exp(f), for f a polynomial of degree two in the variable and in absolute values of linear forms."""
    t = Dummy(positive=True)
    f = f.replace(lambda node: isinstance(node, Max), lambda node: _by_absolute(node, 1))
    f = f.replace(lambda node: isinstance(node, Min), lambda node: _by_absolute(node, -1))

    def outside(node: Expr) -> Expr:
        inner = expand(node.args[0])
        slope = inner.diff(variable)
        if slope.has(variable):
            raise Undecided(f"how exp({f}) grows is not decided")
        return Abs(slope) * side * variable

    f = expand(f.replace(lambda node: isinstance(node, Abs) and node.has(variable), outside))
    rest = Add(*(term for term in Add.make_args(f) if not (isinstance(term, BOUNDED) or term.func in BOUNDED)))
    rest = rest.xreplace({variable: side * t})
    if not rest.is_polynomial(t):
        rest = Add(*(term for term in Add.make_args(rest) if not _falls(term, t)))
    if not rest.is_polynomial(t):
        if is_nonnegative(-f):
            return Growth()
        if _outgrows_all(rest, t):
            return FASTEST
        raise Undecided(f"how exp({f}) grows is not decided")
    poly = Poly(rest, t)
    if poly.degree() > 2:
        if poly.LC().is_negative:
            return Growth(q=-S.One)  # faster than any Gaussian: a bound
        if poly.LC().is_positive:
            return FASTEST
        raise Undecided(f"how exp({f}) grows is not decided")
    return Growth(poly.coeff_monomial(t**2), poly.coeff_monomial(t), S.Zero, sharp=True)


FASTEST = Growth(q=S.Infinity, sharp=True)
"""Of exp(x^3) and exp(exp(x))."""


def _falls(term: Expr, t: Expr) -> bool:
    """Whether a term vanishes exponentially."""
    if term.is_polynomial(t):
        return False
    part = growth(term, t, 1)
    return bool(part.q.is_extended_negative or (part.q == 0 and part.r.is_negative))


def _outgrows_all(f: Expr, t: Expr) -> bool:
    """Whether a sum holds a positive term that grows exponentially, and no other that does."""
    parts = [(term, growth(term, t, 1)) for term in Add.make_args(f)]
    fast = [term for term, part in parts if part.q != 0 or part.r != 0]
    return (
        any(
            is_positive(term) and part.sharp and (part.q.is_extended_positive or (part.q == 0 and part.r.is_positive))
            for term, part in parts
        )
        and len(fast) == 1
    )


def _by_absolute(node: Expr, kind: int) -> Expr:
    one, *others = node.args
    two = node.func(*others) if len(others) > 1 else others[0]
    return (one + two + kind * Abs(one - two)) / 2
