"""Places at which a function of ``x`` may have a feature, however narrow or far out, read off its expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sympy import Add, Derivative, DiracDelta, Expr, Mul, Poly, PolynomialError, Rational, S, Subs, exp
from sympy.core.numbers import Float

from symslr.model.breakpoints import bends, breakpoint_equations, solved
from symslr.model.float64 import compiled
from symslr.model.symbols import x

FURTHEST = 40.0
"""Logarithm of the furthest place; at half of that, a Gaussian's exponent has lost all digits."""

HALVINGS = 80
"""Of an interval in which a sign changes: more than float64 has digits."""

NEARLY_REAL = 1e-6
"""Imaginary part, over its size, of a root of a polynomial that may be a real one and rounding."""

MOST_ZEROS = 64
"""Of one equation; more are an oscillation, of which the first on either side of 0 are kept."""

HIGHEST = 60
"""Degree of a polynomial whose roots are asked for."""

SAME = 1e-13
"""Two places this near, over their size, are one."""


@dataclass(frozen=True)
class Place:
    """A place as an expression without ``x``, exact where it is known, and as a number."""

    exact: Expr
    number: float


def far_nodes(low: float, high: float, furthest: float = 14.5) -> np.ndarray:
    """Points of the support up to 1e6 in size (the logarithm of the furthest may be given), 1 % apart."""
    points = np.sinh(np.linspace(-furthest, furthest, 2 * int(100 * furthest) + 1))
    inside = points[(points > low) & (points < high)]
    return inside if inside.size else np.array([(low + high) / 2])


@lru_cache(maxsize=256)
def turning_equations(expr: Expr) -> tuple[Expr, ...]:
    """Equations among whose zeros are the places where a function of ``x`` peaks, bends or breaks.

    Those are where the argument of a function or the base of a power is 0 or turns, as for exp(-10^8 (x - 1)^2), what decides
    |.|, max, steps and cases, and where the factors of a term balance, as those of x^1000 exp(-1000 x) do at 1.
    """
    found = dict.fromkeys([*breakpoint_equations(expr, x), *(equation for _, equation in bends(expr, x))])
    for term in Add.make_args(expr):
        factors = [factor for factor in Mul.make_args(term) if factor.has(x)]
        if len(factors) > 1 or any(not isinstance(factor, exp) for factor in factors):
            found[Add(*(_slope_of_log(factor) for factor in factors))] = None
    plain = (own.replace(DiracDelta, lambda *_: S.Zero) for own in found if not own.has(Derivative, Subs))
    return tuple(own for own in plain if own.has(x) and not (own.is_positive or own.is_negative))


def _slope_of_log(factor: Expr) -> Expr:
    if isinstance(factor, exp):
        return factor.exp.diff(x)
    base, power = factor.as_base_exp()
    return power * base.diff(x) / base if not power.has(x) else factor.diff(x) / factor


def places(expr: Expr, values: Mapping[Expr, float], low: float, high: float) -> list[Place]:
    """The places of ``turning_equations`` inside an interval, at values of the other symbols, in increasing order."""
    exact_values = {symbol: Rational(value) for symbol, value in values.items()}
    found: list[Place] = []
    for equation in turning_equations(expr):
        zero = solved(equation, x)
        if zero is not None:
            at = zero.xreplace(exact_values)
            if at.is_comparable:
                found.append(Place(at, float(at)))
        else:
            found += (Place(Rational(at), at) for at in _zeros(equation, values, low, high))
    reach = float(np.exp(FURTHEST))
    inside = [place for place in found if low < place.number < high and abs(place.number) < reach]
    return apart(inside)


def apart(found: Iterable[Place]) -> list[Place]:
    """Places in increasing order, of those that are one to rounding the one whose expression is shortest."""
    kept: list[Place] = []
    for place in sorted(found, key=lambda place: (place.number, place.exact.count_ops())):
        if kept and place.number - kept[-1].number <= SAME * abs(place.number):
            kept[-1] = min(kept[-1], place, key=_size)
        else:
            kept.append(place)
    return kept


def _size(place: Place) -> tuple[int, int]:
    """How long an expression is: a root that was found by halving is a fraction of float64's many digits."""
    return sum(len(str(number)) for number in place.exact.atoms(Rational, Float)), place.exact.count_ops()


def _zeros(equation: Expr, values: Mapping[Expr, float], low: float, high: float) -> list[float]:
    """Real zeros of an equation that is not linear: roots of a polynomial, else changes of sign on points 1 % apart."""
    if equation.is_polynomial(x):
        try:
            polynomial = Poly(equation.xreplace({s: Rational(v) for s, v in values.items()}), x)
        except PolynomialError:
            return []
        if 0 < polynomial.degree() <= HIGHEST:
            return _roots(polynomial)
    function, given = compiled((x, *values), equation), tuple(values.values())

    def at(points: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            try:
                return np.broadcast_to(np.real(function(points, *given)), points.shape).astype(float)
            except (OverflowError, ZeroDivisionError):
                return np.full(points.shape, np.nan)

    points = _looked_at(low, high)
    signs = np.sign(at(points))
    exact = points[signs == 0]
    changes = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    changes = changes[np.argsort(np.abs(points[changes]), kind="stable")[:MOST_ZEROS]]
    left, right, below = points[changes], points[changes + 1], signs[changes]
    for _ in range(HALVINGS):
        middle = (left + right) / 2
        stays = np.sign(at(middle)) == below
        left, right = np.where(stays, middle, left), np.where(stays, right, middle)
    few = exact if len(exact) <= MOST_ZEROS else exact[:0]  # a function that is 0 on an interval has no place there
    return [float(place) for place in (*few, *right)]


def _looked_at(low: float, high: float) -> np.ndarray:
    """Points of an interval, 1 % apart, and ever nearer to 0 and to its finite ends."""
    near = np.geomspace(1e-12, 1.0, 1200)
    parts = [far_nodes(low, high, FURTHEST), -near, near]
    for end, side in ((low, 1.0), (high, -1.0)):
        if np.isfinite(end):
            parts.append(end + side * near * min(1.0, high - low))
    found = np.unique(np.concatenate(parts))
    return found[(found > low) & (found < high)]


def _roots(polynomial: Poly) -> list[float]:
    """Real roots of a polynomial with numbers, each once, to the last digits."""
    found = []
    for factor, _ in polynomial.sqf_list()[1]:
        coefficients = np.array([complex(c) for c in factor.all_coeffs()])
        if not np.all(np.isfinite(coefficients)):
            continue
        slope = np.polyder(coefficients)
        for root in np.roots(coefficients):
            if abs(root.imag) <= NEARLY_REAL * abs(root):
                at = float(root.real)
                for _ in range(3):
                    step = float((np.polyval(coefficients, at) / (np.polyval(slope, at) or np.inf)).real)
                    at -= step if abs(step) <= NEARLY_REAL * abs(at) else 0.0
                found.append(at)
    return found
