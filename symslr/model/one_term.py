"""Density times weight of one token as a sum of terms whose exponentials are one each, with the squares in them completed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

import mpmath
import numpy as np
from sympy import Abs, Add, Dummy, Expr, Mul, Pow, S, cosh, exp, expand_mul, expand_multinomial, lambdify, log, sinh

from symslr.model.float64 import DIGITS, compiled, letters
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x

DEEP = 60.0
"""Nats below the highest place, or the largest term, at which another counts for nothing."""

HIGHEST = 24
"""Power of a sum that is multiplied out, as that of a cosh."""


@lru_cache(maxsize=256)
def merged(law: SequenceLaw) -> Expr:
    """Density times weight as a sum in which the exponentials of a term are one: either may overflow by itself.

    What is taken of an exponential's argument, such as 10^12 (x - 1)^2, is left as it was written or is a square: multiplied out
    it would lose the digits of a narrow peak.
    """
    weight = law.relevant_factor
    assert weight is not None
    factor = weight.replace(lambda node: isinstance(node, (cosh, sinh)), lambda node: node.rewrite(exp))
    product = (law.base.density * factor).replace(_is_power_of_number, lambda node: exp(log(node.base) * node.exp))
    hidden = {node: Dummy(positive=True) for node in product.atoms(exp)}
    hidden |= {node: Dummy() for node in product.atoms(Pow) if node.base.is_Add and _is_kept(node.exp)}
    opened = expand_mul(expand_multinomial(product.xreplace(hidden)))
    back = {dummy: node for node, dummy in hidden.items()}
    while opened.has(*back):
        opened = opened.xreplace(back)
    return Add(*(_squared(term) for term in Add.make_args(opened)))


def _is_kept(power: Expr) -> bool:
    """Whether a power of a sum is left as it is: below a line, multiplied out, the tail of Student's law loses ten digits."""
    return bool(power.is_negative or (power.is_Integer and power > HIGHEST))


def _is_power_of_number(node: Expr) -> bool:
    """Whether a node is such as 10^(-10^12 x): multiplied out it would hold numbers with as many digits."""
    return node.is_Pow and node.base.is_positive and not node.base.has(x) and not isinstance(node, exp) and node.has(x)


def _squared(term: Expr) -> Expr:
    """A product with one exponential, of the sum of all exponents as ``_square`` writes it."""
    factors = Mul.make_args(term)
    exponent = _square(Add(*(part.exp for part in factors if isinstance(part, exp))))
    return Mul(exp(exponent), *(part for part in factors if not isinstance(part, exp)))


def _square(exponent: Expr) -> Expr:
    """A polynomial of degree 2 in x as c (x - m)^2 + h; other sums multiplied out, so that what cancels does so exactly."""
    if exponent.is_polynomial(x):
        expanded = exponent.expand()
        curvature, slope = expanded.coeff(x, 2), expanded.coeff(x, 1)
        rest = (expanded - curvature * x**2 - slope * x).expand()
        if not rest.has(x) and curvature.is_nonzero:
            height = (rest - slope**2 / (4 * curvature)).expand()
            return curvature * (x + slope / (2 * curvature)) ** 2 + height
    return exponent.expand() if exponent.is_Add else exponent


@lru_cache(maxsize=256)
def log_size(law: SequenceLaw, parameters: tuple[Expr, ...]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """log of the largest term of density times weight, and the sum of the sizes of what stands in its exponent.

    Of terms within ``DEEP`` of it the largest such sum.
    """
    found, sizes = [], []
    for term in Add.make_args(merged(law)):
        factors = Mul.make_args(term)
        exponent = Add(*(factor.exp for factor in factors if isinstance(factor, exp)))
        rest = Mul(*(factor for factor in factors if not isinstance(factor, exp)))
        number, rest = rest.as_independent(x, as_Add=False)
        if (height := log(Abs(number))) is S.ComplexInfinity:  # a sum over tokens of 0
            continue
        logs = Add(*map(_log_of_size, Mul.make_args(rest)))
        height = (height.evalf(DIGITS) if number.is_number else height) + logs
        found.append(exponent + height)
        sizes.append(Add(*(Abs(part) for part in Add.make_args(exponent))))
    functions = [(compiled((x, *parameters), f), compiled((x, *parameters), s)) for f, s in zip(found, sizes)]

    def largest(points: np.ndarray, *given: float) -> tuple[np.ndarray, np.ndarray]:
        heights, own = (
            np.array([np.broadcast_to(pair[k](points, *given), points.shape) for pair in functions]) for k in (0, 1)
        )
        top = np.fmax.reduce(heights)
        return top, np.fmax.reduce(np.where(heights >= top - DEEP, own, 0.0))

    return largest


def _log_of_size(factor: Expr) -> Expr:
    """log |factor|; of a power the power times the log of its base, which does not underflow."""
    base, power = factor.as_base_exp()
    return log(Abs(factor)) if power.has(x) else power * log(Abs(base))


def in_mpmath(expr: Expr, symbols: tuple[Expr, ...]) -> Callable[..., float]:
    """The same function where float64 overflows on the way; not a number where mpmath has none either."""

    @cache  # made where it is asked for: hardly any weight overflows
    def function() -> Callable[..., mpmath.mpf]:
        own = letters(symbols)
        return lambdify(list(own.values()), expr.xreplace(own), "mpmath")

    def at(*point: float) -> float:
        made = function()
        try:
            return float(made(*map(mpmath.mpf, point)))
        except (OverflowError, ZeroDivisionError, ValueError, TypeError):
            return float("nan")

    return at
