"""How high the powers are of which an expression is a polynomial: where SymPy's own polynomials would fill the memory.

To them e^(0.123456789 x) is the power 123456789 of e^(x/10^9), and a dense polynomial has a place for every power below.
"""

from __future__ import annotations

from collections import Counter

from sympy import Add, Expr, Mul, Pow, S, exp, factor

HIGHEST = 1000
"""Power up to which SymPy divides and factors sums of exponentials in a moment."""


def highest_power(expr: Expr) -> int:
    """The highest power, up or down, of anything that SymPy's polynomials take an expression for a polynomial in.

    What cancels is counted: it is a bound, found without multiplying out. 0 for a number.
    """
    return max(_powers(expr).values(), default=0)


def _powers(expr: Expr) -> Counter[Expr]:
    """The highest power of every generator."""
    if expr.is_Rational:
        return Counter()
    if isinstance(expr, (Add, Mul)):
        parts = [_powers(part) for part in expr.args]
        if isinstance(expr, Mul):
            return sum(parts, Counter())
        found: Counter[Expr] = Counter()
        for own in parts:
            found |= own
        return found
    if isinstance(expr, exp):
        return sum((_of_term(S.Exp1, term) for term in Add.make_args(expr.exp.expand())), Counter())
    if isinstance(expr, Pow):
        if expr.exp.is_Integer:
            return Counter({base: power * abs(int(expr.exp)) for base, power in _powers(expr.base).items()})
        return sum((_of_term(expr.base, term) for term in Add.make_args(expr.exp)), Counter())
    return Counter({expr: 1})


def _of_term(base: Expr, exponent: Expr) -> Counter[Expr]:
    """base^(p/q rest) is the power p of base^(rest/q)."""
    number, rest = exponent.as_coeff_Mul(rational=True)
    return Counter({Pow(base, rest / number.q, evaluate=False): abs(int(number.p))})


def factored(expr: Expr) -> Expr:
    """SymPy's ``factor``; the expression as it stands where that would lay out too high a power.

    A coefficient such as e^(-0.123456789^2/2) is the power 15241578750190521 of an exponential.
    """
    return factor(expr) if highest_power(expr) <= HIGHEST else expr
