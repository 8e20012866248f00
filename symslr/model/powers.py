"""How high the powers are of which an expression is a polynomial: where SymPy's own polynomials would fill the memory.

To them e^(0.123456789 x) is the power 123456789 of e^(x/10^9), and a dense polynomial has a place for every power below.
"""

from __future__ import annotations

from collections import Counter
from math import lcm

from sympy import Add, Expr, Mul, Pow, S, exp, factor

HIGHEST = 1000
"""Power up to which SymPy divides and factors sums of exponentials in a moment."""


def highest_power(expr: Expr) -> int:
    """The highest power, up or down, of anything that SymPy's polynomials take an expression for a polynomial in.

    It is a bound, found without multiplying out: what cancels is counted, and fractions are counted over their common denominator.
    0 for a number.
    """
    return max(_powers(expr).values(), default=0)


Generator = tuple[Expr, Expr, int]
"""(b, e, q), which stands for b^(e/q)."""


def _powers(expr: Expr) -> Counter[Generator]:
    """The highest power of every generator."""
    if expr.is_Rational:
        return Counter()
    if isinstance(expr, Mul) or (isinstance(expr, Add) and any(map(_has_denominator, expr.args))):
        return _multiplied([_powers(part) for part in expr.args])
    if isinstance(expr, Add):
        found: Counter[Generator] = Counter()
        for part in expr.args:
            found |= _powers(part)
        return found
    if isinstance(expr, exp):
        return sum((_of_term(S.Exp1, term) for term in Add.make_args(expr.exp.expand())), Counter())
    if isinstance(expr, Pow):
        if expr.exp.is_Integer:
            own, power = _powers(expr.base), abs(int(expr.exp))
            met = own if power == 1 else _multiplied([own, own])  # as many generators as the whole power has
            return Counter({generator: number * power // min(power, 2) for generator, number in met.items()})
        return sum((_of_term(expr.base, term) for term in Add.make_args(expr.exp)), Counter())
    return Counter({(expr, S.One, 1): 1})


def _has_denominator(expr: Expr) -> bool:
    """Whether SymPy brings a sum with this term over a common denominator."""
    if isinstance(expr, Pow) and expr.exp.is_Integer:
        return bool(expr.exp < 0) or _has_denominator(expr.base)
    return isinstance(expr, (Add, Mul)) and any(map(_has_denominator, expr.args))


def _multiplied(parts: list[Counter[Generator]]) -> Counter[Generator]:
    """The powers in a product.

    Where e^x meets e^(x/1000) in another factor both are powers of e^(x/1000); in a sum SymPy tells them apart.
    """
    bases = [{generator[:2] for generator in part} for part in parts]
    meeting = {base for base, count in Counter(base for own in bases for base in own).items() if count > 1}
    total = sum(parts, Counter())
    common = {base: lcm(*(q for *own, q in total if tuple(own) == base)) for base in meeting}
    found: Counter[Generator] = Counter()
    for (base, rest, q), power in total.items():
        least = common.get((base, rest), q)
        found[base, rest, least] += power * (least // q)
    return found


def _of_term(base: Expr, exponent: Expr) -> Counter[Generator]:
    """base^(p/q rest) is the power p of base^(rest/q)."""
    number, rest = exponent.as_coeff_Mul(rational=True)
    return Counter({(base, rest, number.q): abs(int(number.p))})


def factored(expr: Expr) -> Expr:
    """SymPy's ``factor``; the expression as it stands where that would lay out too high a power.

    A coefficient such as e^(-0.123456789^2/2) is the power 15241578750190521 of an exponential.
    """
    return factor(expr) if highest_power(expr) <= HIGHEST else expr
