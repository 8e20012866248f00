"""The risk of an attention in the limit of large scales, from how its kernel grows as x goes to plus and minus infinity.

The kernel is taken to grow as kappa(t) ~ c t^d e^(r t), with constants of its own on either side. As the scale grows, the
attention then tends to one that has no scale: all weight on the largest token; weights in proportion to c |x|^d; or weights of
one form where a token is positive and of another form where no token is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import mpmath
import numpy as np
from sympy import (
    Abs,
    Add,
    Expr,
    Heaviside,
    Integral,
    Max,
    Rational,
    S,
    Sum,
    exp,
    expand,
    integrate,
    lambdify,
    log,
    simplify,
)

from symslr.evaluation.numbers.exponent import exponential
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.exponential import constant_value
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, l, x
from symslr.theory.definitions import over_length
from symslr.theory.population import PopulationRisk

PROBE = 2.0**14
"""A kernel is sampled at |x| = PROBE, 2 PROBE and 4 PROBE. There the next term of its growth is about 1/PROBE of the first."""
POWER_TOLERANCE = 1e-3
"""Largest distance, relative above 1, of a fitted power from the fraction that it is taken for."""
CONSTANT_TOLERANCE = 1e-6
"""The same for a fitted constant. It may be smaller: one step of Richardson extrapolation has removed the next term."""
ZERO_RATE = 1e-6
"""A fitted exponential rate below this, per unit of x, counts as 0."""
NONZERO_RATE = 1e-2
"""A fitted rate above this counts as an exponential. Between the two the growth is not known."""
LARGEST_DENOMINATOR = 24
"""Of the fractions that powers and constants are taken for."""
FAR_SHIFTS = (-4, -8)
"""Shifts at which it is seen whether a kernel tends to an exponential."""
LARGEST_FRACTION = 1000.0
"""Powers and constants from this size on are not recognised."""


@dataclass(frozen=True)
class Growth:
    """Growth as constant t^power e^(rate t).

    Attributes:
        rate: only its sign: -1, 0 or 1.
        power: d, a rational number.
        constant: c where the rate is 0; 1 elsewhere, where it is not determined.
    """

    rate: int
    power: Expr
    constant: Expr = S.One


@lru_cache(maxsize=512)
def growth(kernel: Expr, side: int) -> Growth | None:
    """How a positive kernel in x grows at x = side t as t goes to infinity, ``side`` being 1 or -1.

    Fitted to log kappa at three places. None where that is not recognised as a power times an exponential.
    """
    if kernel.free_symbols != {x}:
        return None
    places = PROBE * np.array([1.0, 2.0, 4.0])
    try:
        with np.errstate(all="ignore"):
            _, logs = signed_log(kernel, (x,))(side * places)
            first, second, third = (np.asarray(logs, dtype=float) + 0.0 * places).tolist()
            power = _nearest_fraction((3.0 * second - 2.0 * first - third) / np.log(2.0), POWER_TOLERANCE)
    except (ArithmeticError, TypeError, ValueError):
        return None
    if power is None:
        return None
    rate = (third - second - float(power) * np.log(2.0)) / (2.0 * PROBE)
    if abs(rate) > NONZERO_RATE:
        return Growth(int(np.sign(rate)), power)
    near, far = np.array([first, second]) - float(power) * np.log(places[:2])
    constant = _nearest_fraction(float(np.exp(2.0 * far - near)), CONSTANT_TOLERANCE) if abs(rate) < ZERO_RATE else None
    return Growth(0, power, constant) if constant else None


def _nearest_fraction(number: float, within: float) -> Expr | None:
    """The fraction of small denominator within ``within`` of a number (relative above 1); None where there is none."""
    if not abs(number) < LARGEST_FRACTION:
        return None
    found = Rational(number).limit_denominator(LARGEST_DENOMINATOR)
    return found if abs(float(found) - number) <= within * max(1.0, abs(number)) else None


@lru_cache(maxsize=512)
def limit_of_large_scales(risk: PopulationRisk, side: int) -> Expr | None:
    """The limit of a risk as the scale goes to plus (``side`` 1) or minus infinity (-1); None where it is not known.

    It is Delta^2 + 1 - M^2/Q with M = E sigma_eps and Q = E sum_l sigma_l^2 of the limiting attention sigma. The limit is taken
    inside the mean by bounded convergence, as the weights of a normalised attention lie between 0 and 1. Without a normaliser
    it is that of kappa(a x)/a^d.
    """
    activation, law, noise, length = risk.args
    kernel, is_normalised, offset = activation.args[1:4]
    found = _where_largest_is_relevant(risk) if side > 0 else None
    if found is not None or offset != 0:
        return found
    right, left = growth(kernel, side), growth(kernel, -side)
    if right is None or left is None:
        return None
    if is_normalised == 0 and max(right.rate, left.rate) <= 0:
        tops = [one for one in (right, left) if one.rate == 0]
        power = max((one.power for one in tops), default=-S.One)
        right, left = (one if one in tops and one.power == power else Growth(0, power, S.Zero) for one in (right, left))
    elif is_normalised == 0:
        return None
    if right.rate == left.rate == 0 and right.power == left.power >= 0:
        positive, negative = (right, left)[::side]
        shares = positive.constant * _above(x, right.power) + negative.constant * _above(-x, right.power)
        if positive.constant == negative.constant:
            shares = Abs(x) ** right.power
        return PopulationRisk(_attention_of(shares, is_normalised), law, noise, length)
    if is_normalised == 0:
        return None
    largest = IsLargest.of(epsilon, L)
    if side > 0 and right.rate > 0 > left.rate:  # the larger of two tokens outweighs the other
        if law.selects_largest:
            return noise**2
        return noise**2 + 1 - over_length(SequenceExpectation(largest, law), length) ** 2
    is_above = right.rate > 0 or (right.power >= 0 and (left.rate < 0 or right.power > left.power))
    if (
        side < 0
        or left.power < 0
        or not (is_above and right.rate >= 0 >= left.rate and is_even(law.base))
        or not (law.is_selection or law.relevant_factor is not None)
    ):
        return None
    # where a token is positive, all weight goes to those that are
    none = S.Half**L
    all_below = none if law.is_selection else 2 * none * SequenceExpectation(Heaviside(-chi[epsilon]), law)
    parts = [_moments(_above(x, right.power), law)]
    if right.rate > 0:
        parts = [(SequenceExpectation(largest * Heaviside(chi[epsilon]), law), 1 - all_below)]
    if left.rate < 0:
        parts.append((SequenceExpectation(largest * Heaviside(-chi[epsilon]), law), all_below))
    else:
        share = S.One if law.is_selection else _share_below(law)
        if share is None:
            return None
        below = SequenceLaw(law.weight / share, L, ScalarLaw(2 * law.base.density, law.base.lower, 0))
        parts.append(tuple(none * share * own for own in _moments(Abs(x) ** left.power, below)))
    hit, norm = (over_length(Add(*own), length) for own in zip(*parts))
    return noise**2 + 1 - hit**2 / norm


def _above(argument: Expr, power: Expr) -> Expr:
    """argument^power where the argument is positive, 0 elsewhere."""
    return Max(0, argument) ** power if power else Heaviside(argument)


def _share_below(law: SequenceLaw) -> Expr | None:
    """The mean of the weight where all tokens are negative; None where there is no formula for it."""
    found = 2 * integrate(law.base.density * law.relevant_factor, (x, law.base.lower, 0))
    return None if found.has(Integral) else simplify(found)


def _attention_of(kernel: Expr, is_normalised: Expr = S.One) -> Activation:
    """The attention of a kernel at scale 1, without an offset."""
    return Activation(epsilon, kernel, is_normalised, S.Zero, S.One, L)


def _moments(kernel: Expr, law: SequenceLaw) -> tuple[Expr, Expr]:
    """(E sigma_eps, E sum_l sigma_l^2) of the normalised attention of a kernel; a selection law leaves the second mean alone.

    Sequences at all of whose tokens the kernel vanishes count with sigma = 0.
    """
    sigma = _attention_of(kernel)
    squares = Sum(sigma.at(l) ** 2, (l, 1, L))
    return SequenceExpectation(sigma, law), SequenceExpectation(squares, law.unweighted() if law.is_selection else law)


def is_even(law: ScalarLaw) -> bool:
    """Whether a token and its negative have the same law."""
    mirrored = law.density.xreplace({x: -x})
    return bool(law.lower == -law.upper and constant_value(law.density / mirrored) == 1)


def _where_largest_is_relevant(risk: PopulationRisk) -> Expr | None:
    """The limit of a risk for a large scale where the relevant token is the largest one; None where it is not known.

    The kernel must be a sum of exponentials of positive rates. With r the least rate, kappa(a x)/kappa(a y) >= e^(a r (x - y))
    for x > y, so that all weight goes to the largest token and the risk tends to Delta^2, the least possible. With a positive
    offset the weight goes to that token only where it is positive, and to the offset elsewhere: M = Q = 1 - F(0)^L, and the
    risk tends to Delta^2 + E F(0)^L, with F(0) = 1/2 for an even law of tokens.
    """
    activation, law, noise, length = risk.args
    kernel, is_normalised, offset = activation.args[1:4]
    if not law.selects_largest or is_normalised == 0 or not is_sum_of_rising_exponentials(kernel):
        return None
    if offset == 0:
        return noise**2
    return over_length(noise**2 + S.Half**L, length) if offset.is_positive and is_even(law.base) else None


def is_sum_of_rising_exponentials(kernel: Expr) -> bool:
    """Whether a kernel is a sum of c e^(r x) with every c > 0 and r > 0."""
    terms = [exponential(term, x) for term in Add.make_args(expand(kernel))]
    return all(term is not None and term.rate.is_positive and term.constant.is_positive for term in terms)


def limit_of_far_shift(risk: PopulationRisk, variables: tuple[Expr, ...]) -> tuple[Expr, Expr] | None:
    """(the risk of e^x without a normaliser, the shift) where a kernel k(a x + c) tends to that; None for others.

    With p = (log k)'(c) and a = s/p, log k(c + a x) = log k(c) + s x + O(s^2 x^2 (log k)''(c)/p^2). The last term vanishes as c
    goes to minus infinity for 1 + erf, whose p is -2 c nearly: the least risk over a and c is at most that of e^(s x) over s.
    """
    activation = risk.args[0]
    kernel, is_normalised, offset = activation.args[1:4]
    if len(variables) != 2 or is_normalised == 1 or offset != 0:
        return None
    (shift,) = (own for own in variables if own != a)
    if (shift.has(x) or kernel.subs(shift, 0).subs(x, x + shift) != kernel) or kernel.free_symbols != {x, shift}:
        return None
    try:
        with mpmath.workdps(60):
            log_kernel = lambdify(shift, log(kernel.subs(x, 0)), "mpmath")
            bends = [
                (mpmath.diff(log_kernel, at, 1), mpmath.diff(log_kernel, at, 2) / mpmath.diff(log_kernel, at, 1) ** 2)
                for at in FAR_SHIFTS
            ]
    except (ArithmeticError, TypeError, ValueError):
        return None
    if not all(slope > 0 for slope, _ in bends) or not abs(bends[1][1]) < min(0.02, 0.5 * abs(bends[0][1])):
        return None
    return PopulationRisk(Activation(epsilon, exp(x), S.Zero, S.Zero, a, L), *risk.args[1:]), shift
