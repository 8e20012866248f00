"""Two sides of an equation at one point, both by the referee: the verdict that their values and errors allow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mpmath import mp, mpf
from sympy import Expr, Limit, S

from symslr.check.numbers import REFEREE, Numbers, Outcome
from symslr.check.points import Point
from symslr.check.report import Comparison, Verdict

WORKING_DIGITS = 80

SAFETY = 10
"""Claimed errors are multiplied by this before a difference counts: the worst true ratio seen over the tests is 2. Standard
errors too: sixteen scramblings lie ten of them off once in 20 million."""

DIGITS_NEEDED = 10
"""A deterministic comparison says something from this many digits on: a relative slip of 1e-9 must show."""

DIGITS_OF_LIMITS = 5
"""The same where a limit is extrapolated."""

DIGITS_OF_SUMS, FEW = 6, 3
"""The same for more than so many tokens, where terms that cancel are as many as pairs of tokens."""

DIGITS_OF_SAMPLES = 3
"""The same where sequences too long for a grid are sampled."""

NOTHING = mpf("1e-9")
"""Below this a side vanishes."""

REMAINDER_NEEDED = mpf("0.2")
"""A step with a remainder says something where the remainder is at most this share of the value."""


def compare(
    left: Expr, right: Expr, point: Point, numbers: Numbers, remainder: Expr = S.Zero, relation: str = "="
) -> Comparison:
    """Both sides at one point, each read by its definition.

    Where ``relation`` is ``<=`` the left side may be smaller by any amount and must not be larger.
    """
    bound = _bound(remainder, point, numbers)
    if isinstance(bound, str):
        return _nothing(point, bound)
    found = [numbers.at(side, point) for side in (left, right)]
    limits = left.has(Limit) or right.has(Limit)
    case = _Case(point, bound, limits, (left == S.Zero) != (right == S.Zero), left == right, relation == "<=")
    if all(number.known for number in found):
        return _judge(found[0], found[1], case)
    known, other = sorted(found, key=lambda number: not number.known)
    if known.known and other.diverges:
        return _apart(point, known)
    return _nothing(point, "; ".join(dict.fromkeys(number.reason for number in found if number.reason)))


@dataclass(frozen=True)
class _Case:
    """What a judgement needs besides the two numbers.

    Attributes:
        bound: size of the remainder.
        limits: whether a limit is extrapolated.
        zero: whether one side, and one alone, is 0 as it stands.
        same: whether the two sides are one expression.
        one_sided: whether the left side may be smaller.
    """

    point: Point
    bound: mpf
    limits: bool
    zero: bool
    same: bool
    one_sided: bool = False


def _apart(point: Point, known: Outcome) -> Comparison:
    """Of a number and of an integral that diverges."""
    with mp.workdps(WORKING_DIGITS):
        reason = f"one side is {mp.nstr(known.value, 16)} and in the other an integral diverges at {point}"
    values = tuple((name, str(value)) for name, value in point.values.items())
    return replace(_nothing(point, reason), verdict=Verdict.FALSE, effective=True, values=values)


def _judge(left: Outcome, right: Outcome, case: _Case) -> Comparison:
    point, bound = case.point, case.bound
    statistical = left.statistical or right.statistical
    long = max(point.lengths, default=0) > FEW and "float" in left.method + right.method
    needed = min(
        DIGITS_OF_SAMPLES if statistical else DIGITS_NEEDED,
        DIGITS_OF_LIMITS if case.limits else DIGITS_NEEDED,
        DIGITS_OF_SUMS if long else DIGITS_NEEDED,
    )
    with mp.workdps(WORKING_DIGITS):
        difference = abs(left.value - right.value)
        scale = max(abs(left.value), abs(right.value))
        numerical = SAFETY * (left.error + right.error)
        if case.zero:  # a mean that is claimed to vanish is small beside the mean of the absolute value
            scale = max(scale, left.scale, right.scale)
        tolerance = numerical + bound
        digits = _digits(max(difference, numerical if bound == 0 else mpf(0)), scale)
        if scale > 0 and bound > 0:
            powerful = tolerance <= REMAINDER_NEEDED * scale
        else:
            powerful = scale > 0 and numerical <= scale * mpf(10) ** -needed
        wrong = left.value - right.value if case.one_sided else difference
        if wrong > tolerance:
            verdict, reason = Verdict.FALSE, f"{mp.nstr(left.value, 16)} and {mp.nstr(right.value, 16)} at {point}"
        elif scale <= numerical:
            verdict, reason = Verdict.UNKNOWN, f"both sides are 0 within {mp.nstr(numerical, 2)} at {point}"
        elif powerful:
            verdict, reason = Verdict.TRUE, ""
        elif bound > REMAINDER_NEEDED * scale:
            verdict, reason = (
                Verdict.UNKNOWN,
                f"the bound {mp.nstr(bound, 3)} says nothing of {_short(scale)} at {point}",
            )
        else:
            verdict, reason = Verdict.UNKNOWN, f"only {_digits(tolerance, scale)} digits at {point}"
    return Comparison(
        str(point),
        point.kind,
        (REFEREE, REFEREE),
        verdict,
        left.value,
        right.value,
        difference,
        tolerance,
        digits,
        effective=verdict is Verdict.FALSE or (verdict is Verdict.TRUE and not case.same),
        reason=reason,
        remainder=bound if bound > 0 else None,
        lengths=point.lengths,
        values=tuple((name, str(value)) for name, value in point.values.items()),
        methods=(left.method, right.method),
        statistical=statistical,
        vanishing=difference <= tolerance <= NOTHING and scale <= numerical,
        one_sided=case.one_sided,
        functions=tuple((name, str(formula)) for name, formula in point.functions.items()),
    )


def _bound(remainder: Expr, point: Point, numbers: Numbers) -> mpf | str:
    """The remainder's size at a point, or why it has none."""
    if remainder == S.Zero:
        return mpf(0)
    found = numbers.at(remainder, point)
    if not found.known:
        return f"no bound on the remainder at {point}: {found.reason}"
    with mp.workdps(WORKING_DIGITS):
        return abs(found.value) + found.error


def _digits(difference: mpf, scale: mpf) -> int:
    if scale == 0 or difference >= scale:
        return 0
    return 60 if difference == 0 else min(60, int(mp.log10(scale / difference)))


def _nothing(point: Point, reason: str) -> Comparison:
    return Comparison(str(point), point.kind, ("", ""), Verdict.UNKNOWN, reason=reason, lengths=point.lengths)


def _short(number: mpf) -> str:
    return str(mp.nstr(number, 3))
