"""The risk of an attention in the limit of large scales, from how its kernel grows on either side of 0.

With kappa(t) ~ c t^d e^(r t) for large t, and the like on the left, the attention tends to one without a scale as the scale grows:
to the largest token, to shares of c |x|^d, or to the one where a token is positive and to the other where none is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sympy import Abs, Add, Expr, Heaviside, Integer, Max, Rational, S, Sum, expand

from symslr.evaluation.numbers.exponent import exponential
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.exponential import constant_value
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, x
from symslr.model.task import Task
from symslr.theory.definitions import over_length
from symslr.theory.population import PopulationRisk

FAR = 2.0**14
"""Where a kernel is looked at, and twice and four times as far out: the next term of its growth is some 1/FAR of it."""
TOLD, FLAT, STEEP = 1e-3, 1e-6, 1e-2
"""How near a power lies to the fraction that it is, with ``EXACT`` for a constant; a rate that is none, and one that is."""
EXACT, LARGEST, MOST = 1e-6, 24, 1000.0
"""Of a constant, whose next term is taken off, the largest denominator of either, and the largest of them."""


@dataclass(frozen=True)
class Growth:
    """As constant t^power e^(rate t), of which only the sign of the rate is told; the constant only where that is 0."""

    rate: int
    power: Expr
    constant: Expr = S.One


@lru_cache(maxsize=512)
def growth(kernel: Expr, side: int) -> Growth | None:
    """How a positive kernel in x grows for x = side t; None where it is not seen to be a power times an exponential."""
    if kernel.free_symbols != {x}:
        return None
    places = FAR * np.array([1.0, 2.0, 4.0])
    try:
        with np.errstate(all="ignore"):
            _, logs = signed_log(kernel, (x,))(side * places)
            first, second, third = (np.asarray(logs, dtype=float) + 0.0 * places).tolist()
            power = _told((3.0 * second - 2.0 * first - third) / np.log(2.0), TOLD)
    except (ArithmeticError, TypeError, ValueError):
        return None
    if power is None:
        return None
    rate = (third - second - float(power) * np.log(2.0)) / (2.0 * FAR)
    if abs(rate) > STEEP:
        return Growth(int(np.sign(rate)), power)
    near, far = np.array([first, second]) - float(power) * np.log(places[:2])
    constant = _told(float(np.exp(2.0 * far - near)), EXACT) if abs(rate) < FLAT else None
    return Growth(0, power, constant) if constant else None


def _told(number: float, within: float) -> Expr | None:
    """The fraction that lies so near to a number."""
    if not abs(number) < MOST:
        return None
    found = Rational(number).limit_denominator(LARGEST)
    return found if abs(float(found) - number) <= within * max(1.0, abs(number)) else None


@lru_cache(maxsize=512)
def limit_of_large_scales(risk: PopulationRisk, side: int) -> Expr | None:
    """What a risk tends to as the scale goes to side times infinity; None where that is not known.

    Delta^2 + 1 - M^2/Q, with M = E sigma_eps and Q = E sum_l sigma_l^2 of the limit, by bounded convergence: the shares of a
    normalised attention lie between 0 and 1.
    """
    activation, law, noise, length = risk.args
    kernel, is_normalised, offset = activation.args[1:4]
    if is_normalised == 0 or offset != 0:
        return None
    right, left = growth(kernel, side), growth(kernel, -side)
    if right is None or left is None:
        return None
    if right.rate == left.rate == 0 and right.power == left.power > 0:
        positive, negative = (right, left)[::side]
        shares = positive.constant * Max(0, x) ** right.power + negative.constant * Max(0, -x) ** right.power
        if positive.constant == negative.constant:
            shares = Abs(x) ** right.power
        return PopulationRisk(_shares(shares), law, noise, length)
    largest = IsLargest.of(epsilon, L)
    if side > 0 and right.rate > 0 > left.rate:  # the larger of two tokens outweighs the other
        if law.selects_largest:
            return noise**2
        return noise**2 + 1 - over_length(SequenceExpectation(largest, law), length) ** 2
    is_above = right.rate > 0 or (right.power >= 0 and (left.rate < 0 or right.power > left.power))
    if (
        side < 0
        or left.power < 0
        or not (is_above and right.rate >= 0 >= left.rate and law.is_selection and is_even(law.base))
    ):
        return None
    # where a token is positive, all weight goes to those that are; a selection law has the same tokens as its base
    none, below = S.Half**L, SequenceLaw(law.weight, L, ScalarLaw(2 * law.base.density, law.base.lower, 0))
    parts = [_moments(Max(0, x) ** right.power if right.power else Heaviside(x), law)]
    if right.rate > 0:
        parts = [(SequenceExpectation(largest * Heaviside(chi[epsilon]), law), 1 - none)]
    if left.rate < 0:
        parts.append((SequenceExpectation(largest * Heaviside(-chi[epsilon]), law), none))
    else:
        parts.append(tuple(none * own for own in _moments(Abs(x) ** left.power, below)))
    hit, norm = (over_length(Add(*own), length) for own in zip(*parts))
    return noise**2 + 1 - hit**2 / norm


def _shares(kernel: Expr) -> Activation:
    """The attention of a kernel at scale 1."""
    return Activation(epsilon, kernel, Integer(1), S.Zero, S.One, L)


def _moments(kernel: Expr, law: SequenceLaw) -> tuple[Expr, Expr]:
    """E sigma_eps and E sum_l sigma_l^2 of such an attention under a selection law; 0 where the kernel vanishes at all tokens."""
    sigma = _shares(kernel)
    squares = Sum(sigma.at(l) ** 2, (l, 1, L))
    return SequenceExpectation(sigma, law), SequenceExpectation(squares, law.unweighted())


def is_even(law: ScalarLaw) -> bool:
    """Whether a token and its negative have the same law."""
    mirrored = law.density.xreplace({x: -x})
    return bool(law.lower == -law.upper and constant_value(law.density / mirrored) == 1)


def limit_of_scale(task: Task, attention: Attention) -> Expr | None:
    """The risk as the scale grows, where the largest token is the relevant one; None where it is not known.

    Under a kernel that is a sum of exponentials of rates r or more, kappa(a x)/kappa(a y) >= e^(a r (x - y)) for x > y. All weight
    then goes to the largest token, and the risk is Delta^2, the least there is. Beside an offset it goes there where that token is
    positive, and to the offset where it is not: M = Q = 1 - F(0)^L, and the risk is Delta^2 + E F(0)^L, with F(0) = 1/2 of an even
    law of tokens.
    """
    if (
        task.law.weight != L * IsLargest.of(epsilon, L)
        or not attention.is_normalised
        or not _is_steep(attention.kernel)
    ):
        return None
    if attention.offset == 0:
        return task.noise**2
    base = task.law.base
    if not attention.offset.is_positive or not is_even(base):
        return None
    return over_length(task.noise**2 + S.Half**L, task.length)


def _is_steep(kernel: Expr) -> bool:
    """Whether a kernel is a sum of exponentials of positive rates, each times a positive number."""
    terms = [exponential(term, x) for term in Add.make_args(expand(kernel))]
    return all(term is not None and term.rate.is_positive and term.constant.is_positive for term in terms)
