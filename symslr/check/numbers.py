"""The referee's number for a line at a point, within a count of work: nothing else tells what a line is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mpmath import isfinite, mp, mpf
from sympy import Derivative, Expr, Integral, Limit

from symslr.check.points import FLOAT_DIGITS, Point, written_out
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Minimum
from symslr.expression.instance import instance
from symslr.expression.quantity import Quantity
from symslr.expression.value import Kind
from symslr.referee.arithmetic import CannotReferee
from symslr.referee.referee import measured
from symslr.referee.scan import Diverges
from symslr.referee.work import SECOND, TooCostly

REFEREE = "referee"

WORK_PER_VALUE = 5 * SECOND

CLOSED_DIGITS = 50
"""Digits at which closed formulas are compared."""

MOST_OVERRUNS = 2
"""Lines of a derivation that may take too much work at one of the points that seldom succeed."""


@dataclass(frozen=True)
class Outcome:
    """What the referee gave: a value, or the reason why there is none.

    Attributes:
        method: how the number was made, in words.
        statistical: whether its error is a standard error.
        scale: the mean of the absolute integrand, beside which a mean of 0 is to be seen; 0 where it is not known.
        diverges: whether there is no value because an integral diverges.
    """

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


@dataclass
class Numbers:
    """The numbers of one derivation: lines are shared by steps and claims, and each is read once at a point."""

    _known: dict[object, Outcome] = field(default_factory=dict)
    _overruns: Counter[str] = field(default_factory=Counter)

    def at(self, expr: Expr, point: Point) -> Outcome:
        """The value of an expression at a point."""
        expr = _read_as(instance(expr, point.functions))
        values = tuple(sorted((n, str(v)) for n, v in point.for_expression(expr).items()))
        key = expr, values, point.digits, point.patience
        if key not in self._known:
            found = self._known[key] = self._computed(expr, point)
            if found.known and "balls" not in found.method:  # what floats gave is what they give where they are asked
                self._known[expr, values, min(point.digits, FLOAT_DIGITS), point.patience] = found
        return self._known[key]

    def _computed(self, expr: Expr, point: Point) -> Outcome:
        if point.patience < 1 and self._overruns[str(point)] >= MOST_OVERRUNS:
            return Outcome(reason="referee: other lines of this point take too much work")
        digits = CLOSED_DIGITS if is_closed(expr) else point.digits
        try:
            found, scale = measured(expr, point.for_expression(expr), digits, WORK_PER_VALUE * point.patience)
        except Diverges as refusal:
            return Outcome(reason=f"referee: {_short(refusal)}", diverges=True)
        except ZeroDivisionError:
            return Outcome(reason="referee: division by zero")
        except CannotReferee as refusal:
            self._overruns[str(point)] += isinstance(refusal, TooCostly)
            return Outcome(reason=f"referee: {_short(refusal)}")
        except Exception as broken:  # of NumPy, SymPy or an author's node
            return Outcome(
                reason=f"referee: a node of this line has no number here ({type(broken).__name__}: {_short(broken)}); expected "
                "formulas of symslr's and SymPy's own nodes, defined at this point"
            )
        if not (isfinite(found.value) and isfinite(found.error)):
            return Outcome(reason="referee: not a finite number")
        with mp.workdps(CLOSED_DIGITS + 30):  # mpf rounds what it is given to the working precision
            value = mpf(found.value)
            # two passes may agree by accident to more digits than either has
            rounding = abs(value) * mpf(10) ** -(digits + 3 if "balls" in found.method else 15)
            error = mpf(found.error) + rounding
        return Outcome(value, error, "", found.method, found.kind is Kind.STATISTICAL, mpf(scale))


def _read_as(expr: Expr) -> Expr:
    """The expression as the referee reads it: a name is nothing but its definition, so both share a number."""
    written = written_out(expr)
    return written if isinstance(written, Expr) else expr


def _short(refusal: Exception) -> str:
    text = " ".join(str(refusal).split())
    return text if len(text) <= 160 else text[:157] + "..."


def is_elementary(expr: Expr) -> bool:
    """Whether an expression is a closed formula without an integral of any kind."""
    return not expr.has(Expectation, Integral, Minimum)


def is_closed(expr: Expr) -> bool:
    """Whether it is one even when names are unfolded, so that any number of digits costs nothing."""
    return is_elementary(expr) and not expr.has(Quantity, Limit, Derivative)
