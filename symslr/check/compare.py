"""Two sides of an equation at one point: the verdict that their values and errors allow."""

from __future__ import annotations

from dataclasses import dataclass

from mpmath import mp, mpf
from sympy import Expr, Limit, S

from symslr.check.points import Point
from symslr.check.report import Comparison, Verdict
from symslr.check.routes import EVALUATOR, REFEREE, Outcome, Routes, is_elementary

SAFETY = 10
"""Claimed errors are multiplied by this before a difference counts: the worst true ratio seen over the tests is 2."""

DIGITS_NEEDED = 10
"""A deterministic comparison says something from this many digits on: a relative slip of 1e-9 must show."""

DIGITS_OF_LIMITS = 5
"""The same where a limit is extrapolated."""

REMAINDER_NEEDED = mpf("0.2")
"""A step with a remainder says something where the remainder is at most this share of the value."""


def compare(
    left: Expr, right: Expr, point: Point, routes: Routes, remainder: Expr = S.Zero, relation: str = "="
) -> list[Comparison]:
    """Both sides at one point, crosswise: each side by the route that the other side does not take.

    Where only one route reaches a number on both sides, it is compared with itself: the referee still reads each side
    by its definition, but the comparison is marked as not independent. Where ``relation`` is ``<=`` the left side may be
    smaller by any amount and must not be larger.
    """
    a_left, a_right = (routes.value(EVALUATOR, side, point) for side in (left, right))
    b_left, b_right = (routes.value(REFEREE, side, point) for side in (left, right))
    conflict = _conflict(a_left, b_left) or _conflict(a_right, b_right)
    bound = _bound(remainder, point, routes)
    pairs = [pair for pair in ((b_left, a_right), (a_left, b_right)) if pair[0].known and pair[1].known]
    independent = bool(pairs)
    if not pairs:
        pairs = [pair for pair in ((b_left, b_right), (a_left, a_right)) if pair[0].known and pair[1].known]
    needed = DIGITS_OF_LIMITS if left.has(Limit) or right.has(Limit) else DIGITS_NEEDED
    elementary = is_elementary(left) and is_elementary(right)
    if not pairs or isinstance(bound, str):
        reason = bound if isinstance(bound, str) else _reason(b_left, b_right, a_left, a_right)
        return [Comparison(str(point), point.kind, ("", ""), Verdict.UNKNOWN, reason=reason, length=point.length)]
    case = _Case(point, bound, needed, left == right, relation == "<=")
    made = [_judge(pair, case, independent or elementary) for pair in pairs]
    if not conflict or all(c.verdict is not Verdict.FALSE for c in made):
        return made
    straight = [_judge(p, case, False) for p in ((a_left, a_right), (b_left, b_right)) if p[0].known and p[1].known]
    if straight and all(c.verdict is Verdict.FALSE for c in straight):
        return straight
    return [
        Comparison(
            str(point),
            point.kind,
            (REFEREE, EVALUATOR),
            Verdict.UNKNOWN,
            reason=f"the routes disagree about one side: {conflict}",
            length=point.length,
        )
    ]


@dataclass(frozen=True)
class _Case:
    """What a judgement needs besides the two numbers.

    Attributes:
        bound: size of the remainder.
        needed: digits from which on agreement says something.
        same: whether the two sides are one expression.
        one_sided: whether the left side may be smaller.
    """

    point: Point
    bound: mpf
    needed: int
    same: bool
    one_sided: bool = False


def _judge(pair: tuple[Outcome, Outcome], case: _Case, independent: bool) -> Comparison:
    left, right = pair
    point, bound, needed = case.point, case.bound, case.needed
    with mp.workdps(60):
        difference = abs(left.value - right.value)
        scale = max(abs(left.value), abs(right.value))
        rounding = scale * mpf(10) ** -(point.digits + 3 if point.digits > 15 else 14)
        numerical = SAFETY * (left.error + right.error) + rounding
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
        else:
            verdict, reason = Verdict.UNKNOWN, f"only {_digits(tolerance, scale)} digits at {point}"
    return Comparison(
        str(point),
        point.kind,
        (left.route, right.route),
        verdict,
        left.value,
        right.value,
        difference,
        tolerance,
        digits,
        effective=verdict is Verdict.FALSE or (verdict is Verdict.TRUE and not case.same),
        independent=independent,
        reason=reason,
        remainder=bound if bound > 0 else None,
        length=point.length,
    )


def _bound(remainder: Expr, point: Point, routes: Routes) -> mpf | str:
    """The remainder's size at a point, or why it has none."""
    if remainder == S.Zero:
        return mpf(0)
    for route in (REFEREE, EVALUATOR):
        found = routes.value(route, remainder, point)
        if found.known:
            return abs(found.value) + found.error
    return f"no bound on the remainder at {point}"


def _conflict(left: Outcome, right: Outcome) -> str:
    """Where the two routes contradict each other about one expression."""
    if not (left.known and right.known):
        return ""
    with mp.workdps(60):
        scale = max(abs(left.value), abs(right.value))
        if abs(left.value - right.value) <= SAFETY * (left.error + right.error) + scale * mpf(10) ** -14:
            return ""
        return f"{left.route} {mp.nstr(left.value, 16)}, {right.route} {mp.nstr(right.value, 16)}"


def _digits(difference: mpf, scale: mpf) -> int:
    if scale == 0 or difference >= scale:
        return 0
    return 60 if difference == 0 else min(60, int(mp.log10(scale / difference)))


def _reason(*outcomes: Outcome) -> str:
    return "; ".join(dict.fromkeys(o.reason for o in outcomes if o.reason)) or "no route reaches a number"
