"""The two deterministic routes to a number, each with a limit on its processor time."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from mpmath import isfinite, mp, mpf
from sympy import Derivative, Expr, Integral, Limit

from symslr.budget import OutOfTime, processor_time
from symslr.check.points import FLOAT_DIGITS, Point, written_out
from symslr.evaluation import Kind, evaluate
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Minimum
from symslr.expression.instance import instance
from symslr.expression.quantity import Quantity
from symslr.referee.plans import TooCostly
from symslr.referee.referee import measured
from symslr.referee.scan import Diverges

EVALUATOR = "evaluate"
REFEREE = "referee"

SECONDS_PER_VALUE = 5.0

EVALUATOR_SHARE = 0.2
"""Of the time for one value, what the evaluators may use: quick where they have a number at all, and never needed for a verdict."""

CLOSED_DIGITS = 50
"""Digits at which closed formulas are compared."""

SLACK = 1.2
"""The referee watches its own time; it is stopped from outside where it has this much more."""

MOST_OVERRUNS = 2
"""Lines of a derivation that may run out of time at one of the points that seldom succeed."""


@dataclass(frozen=True)
class Outcome:
    """What a route gave: a value, or the reason why there is none.

    Attributes:
        method: how the number was made, in words.
        statistical: whether its error is a standard error.
        scale: the mean of the absolute integrand, beside which a mean of 0 is to be seen; 0 where it is not known.
        diverges: whether there is no value because an integral diverges.
    """

    route: str
    value: mpf = field(default_factory=lambda: mpf("nan"))
    error: mpf = field(default_factory=lambda: mpf("nan"))
    reason: str = ""
    method: str = ""
    statistical: bool = False
    scale: mpf = field(default_factory=lambda: mpf(0))
    diverges: bool = False

    @property
    def known(self) -> bool:
        return bool(isfinite(self.value))


Key = tuple[str, Expr, tuple[tuple[str, str], ...], int]

_KNOWN: dict[Key, Outcome] = {}
"""Numbers that this process has: lines are shared by steps, by a chain and those that cite it, and by claims."""

MOST_KNOWN = 50_000


@dataclass
class Routes:
    """Values of expressions at points, each computed once, for all derivations that a process checks.

    Attributes:
        seconds: processor time for one value.
        until: ``time.process_time()`` after which nothing more is computed.
    """

    seconds: float
    until: float
    _refused: dict[Key, Outcome] = field(default_factory=dict)
    _overruns: Counter[tuple[str, str]] = field(default_factory=Counter)

    def value(self, route: str, expr: Expr, point: Point) -> Outcome:
        """The value of an expression at a point by one route."""
        expr = instance(expr, point.functions)
        if route == REFEREE and isinstance(expr, Expr):
            expr = _read_as(expr)
        values = tuple(sorted((n, str(v)) for n, v in point.for_expression(expr).items()))
        key = route, expr, values, point.digits
        known = _KNOWN.get(key) or self._refused.get(key)
        if known is None:
            known = self._compute(route, expr, point)
            if not known.known:
                self._refused[key] = known
                return known
            if len(_KNOWN) >= MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = known
            if route == REFEREE and point.digits > FLOAT_DIGITS and "balls" not in known.method:
                _KNOWN[route, expr, values, FLOAT_DIGITS] = (
                    known  # what floats gave is what they give where they are asked
                )
        return known

    def _compute(self, route: str, expr: Expr, point: Point) -> Outcome:
        share = point.patience if route == REFEREE else min(point.patience, EVALUATOR_SHARE)
        left = min(self.seconds * share, self.until - time.process_time())
        if left <= 0.2:
            return Outcome(route, reason="the time for this derivation is used up")
        if point.patience < 1 and self._overruns[route, str(point)] >= MOST_OVERRUNS:
            return Outcome(route, reason=f"{route}: out of time at other lines of this point")
        values = point.for_expression(expr)
        try:
            with processor_time(SLACK * left):
                digits = point.digits
                if route == REFEREE:
                    digits = CLOSED_DIGITS if is_closed(expr) else point.digits
                    found, scale = measured(expr, values, digits, seconds=left)
                else:
                    scale = 0.0
                    found = evaluate(expr, values, digits=point.digits)
        except (OutOfTime, TooCostly) as cost:
            self._overruns[route, str(point)] += 1
            if isinstance(cost, TooCostly):
                return Outcome(route, reason=f"{route}: {_short(cost)}")
            return Outcome(route, reason=f"{route}: out of time")
        except Diverges as refusal:
            return Outcome(route, reason=f"{route}: {_short(refusal)}", diverges=True)
        except ZeroDivisionError:
            return Outcome(route, reason=f"{route}: division by zero")
        except Exception as refusal:
            return Outcome(route, reason=f"{route}: {_short(refusal)}")
        if not (isfinite(found.value) and isfinite(found.error)):
            return Outcome(route, reason=f"{route}: not a finite number")
        with mp.workdps(CLOSED_DIGITS + 30):  # mpf rounds what it is given to the working precision
            value = mpf(found.value)
            # two passes may agree by accident to more digits than either has
            rounding = abs(value) * mpf(10) ** -(digits + 3 if "balls" in found.method else 15)
            error = mpf(found.error) + rounding
        return Outcome(route, value, error, "", found.method, found.kind is Kind.STATISTICAL, mpf(scale))


def _read_as(expr: Expr) -> Expr:
    """The expression as the referee reads it: a name is nothing but its definition, so both share a number."""
    written = written_out(expr)
    return written if isinstance(written, Expr) else expr


def _short(refusal: Exception) -> str:
    text = " ".join(str(refusal).split())
    kind = "" if isinstance(refusal, ValueError) else f"{type(refusal).__name__}: "
    return kind + (text if len(text) <= 160 else text[:157] + "...")


def is_elementary(expr: Expr) -> bool:
    """Whether an expression is a closed formula without an integral of any kind."""
    return not expr.has(Expectation, Integral, Minimum)


def is_closed(expr: Expr) -> bool:
    """Whether it is one even when names are unfolded, so that any number of digits costs nothing."""
    return is_elementary(expr) and not expr.has(Quantity, Limit, Derivative)
