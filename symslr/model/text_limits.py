"""How large an expression from text may grow, so that building it with SymPy stays fast.

SymPy evaluates while it builds: it folds rationals, collapses exp(n log r) to r^n, takes roots out of integers, and
settles signs by numerical evaluation, root isolation or minimal polynomials. Two lines of defence:

- `Limits` refuses operands whose next step could fold into a number of many digits, and results that are too large, not
  real, or zero only after cancellation. Numbers thus stay small, and no single call into C can be long.
- `bounded_work` counts function calls and stops SymPy when its search through the assumptions goes astray. A count,
  unlike a clock, does not depend on how busy the machine is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import CO_GENERATOR
from math import ceil
from types import FrameType
from typing import Any, NamedTuple

from sympy import (
    Add,
    Basic,
    E,
    Expr,
    Function,
    Indexed,
    Integer,
    Max,
    Min,
    Mul,
    Pow,
    Rational,
    Sum,
    Symbol,
    exp,
    log,
    pi,
)
from sympy.core.cache import clear_cache
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean, BooleanAtom

from symslr.model.text_numbers import cut

LARGEST_EXPONENT = 64
LARGEST_DENOMINATOR = 100
LARGEST_DEGREE = 128
LARGEST_ARGUMENT = 1000
MOST_BITS = 4096
MOST_NODES = 2000
DEEPEST_NESTING = 6
MOST_CALLS = 400_000
"""The heaviest text of the tests takes 260,000. The number moves with the order of terms and with what SymPy remembers."""


class UnfitError(ValueError):
    """An operand or a result that is refused; the caller knows its place in the text."""


class _OutOfWork(BaseException):
    """Raised inside SymPy, which catches Exception in places."""


@contextmanager
def bounded_work(calls: int = MOST_CALLS) -> Iterator[None]:
    """Stop the block after so many function calls.

    Raises:
        UnfitError: when the block was stopped.
    """

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        if event == "call":
            calls -= 1
            # Python drops what is raised while it closes a generator or runs a callback of its own, and the count too
            if calls < 0 and not frame.f_code.co_flags & CO_GENERATOR and _is_algebra(frame):
                raise _OutOfWork

    outer = sys.getprofile()
    if outer is not None and not callable(outer):  # cProfile is at work and could not be put back
        yield
        return
    sys.setprofile(count)
    try:
        yield
    except _OutOfWork:
        clear_cache()  # questions cut short are cached as "unknown"
        raise UnfitError("found an expression SymPy cannot simplify in bounded time; expected a simpler one") from None
    finally:
        sys.setprofile(outer)


def _is_algebra(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(("sympy.", "mpmath."))


class Extent(NamedTuple):
    """Size of a subexpression: tree nodes, polynomial degree, depth of functions inside functions."""

    nodes: int = 1
    degree: int = 1
    nesting: int = 0
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for one text; every distinct subexpression is measured once. Each method raises `UnfitError`."""

    _measured: dict[Basic, Extent] = field(default_factory=dict)

    def check(self, expression: Expr) -> Expr:
        """The expression, unless it is too large, not real, not finite, or zero only after cancellation."""
        self._measure(expression)
        return expression

    def power(self, base: Expr, exponent: Expr) -> Expr:
        """base ** exponent for |exponent| <= 64, or a symbolic exponent whose constants are as small."""
        if exponent.is_negative and base.is_Rational and base.is_zero:
            raise UnfitError("found a division by zero; expected a divisor other than 0")
        self._check_exponent(exponent)
        root, inner = base.as_base_exp()
        if (inner != 1 and not root.is_Rational) or not inner.is_Rational:
            self._check_exponent(inner * exponent)  # (b^i)^e = b^(i e), where i and e may hide numbers from each other
        return self.exp(exponent) if base == E else base**exponent

    def exp(self, argument: Expr) -> Expr:
        """exp of an argument without large constants; exp(n log r) = r^n is a power and limited like one."""
        self._check_logarithms(argument)
        return exp(self.argument(argument))

    def argument(self, argument: Expr, largest: int = LARGEST_ARGUMENT) -> Expr:
        """A function's argument without a large constant, by which SymPy would shift or which it would multiply out."""
        constant = argument if self._measure(argument).constant else argument.as_coeff_Add()[0]
        if abs(constant.evalf(15, maxn=30)) > largest:
            raise UnfitError(f"found a constant beyond {largest} inside; expected at most {largest} in size")
        return argument

    def real(self, argument: Expr) -> Expr:
        """An argument that cannot be complex, where abs, sign, max and min mean something else."""
        if argument.is_extended_real is not True:
            raise UnfitError(f"found {cut(str(argument))}, which may not be real; expected an argument that always is")
        return argument

    def _check_exponent(self, exponent: Expr) -> None:
        if not exponent.is_Rational:
            self.argument(exponent, LARGEST_EXPONENT)
            self._check_logarithms(exponent)
            return
        _at_most(LARGEST_EXPONENT, "the exponent {}", exponent)
        _at_most(LARGEST_DENOMINATOR, "an exponent of denominator {}", exponent.q)

    def _check_logarithms(self, exponent: Expr) -> None:
        for product in exponent.atoms(Mul):
            if product.has(log):
                self._check_exponent(product.as_coeff_Mul()[0])

    def _measure(self, part: Basic) -> Extent:
        if part not in self._measured:
            extent = self._extent(part)
            _at_most(MOST_NODES, "{} operations", extent.nodes)
            _at_most(LARGEST_DEGREE, "the degree {}", extent.degree)
            _at_most(DEEPEST_NESTING, "functions nested {} deep", extent.nesting)
            if extent.constant and not part.is_Rational:
                _check_constant(part)
            self._measured[part] = extent
        return self._measured[part]

    def _extent(self, part: Basic) -> Extent:
        if isinstance(part, Rational):
            _at_most(MOST_BITS, "an exact number of {} bits", part.p.bit_length() + part.q.bit_length())
            return Extent(degree=0, constant=True)
        if isinstance(part, Symbol | Indexed | BooleanAtom) or part in (pi, E):
            return Extent(constant=part in (pi, E))
        if not part.args or not isinstance(part, Add | Mul | Pow | Function | Max | Min | Sum | Boolean | ExprCondPair):
            raise UnfitError(f"found the result {cut(str(part))}; expected a finite real expression")
        inner = [self._measure(argument) for argument in (part.args[:1] if isinstance(part, Sum) else part.args)]
        nodes, nesting = 1 + sum(each.nodes for each in inner), max(each.nesting for each in inner)
        constant = isinstance(part, Expr) and not isinstance(part, Sum) and all(each.constant for each in inner)
        if isinstance(part, Pow) and part.exp.is_Rational:
            _at_most(LARGEST_DENOMINATOR, "an exponent of denominator {}", part.exp.q)
            root = inner[0]
            return Extent(nodes, ceil(abs(part.exp)) * root.degree, root.nesting + (not part.exp.is_Integer), constant)
        if isinstance(part, Pow | Function | Max | Min):
            return Extent(nodes, 1, nesting + 1, constant)
        degree = (sum if isinstance(part, Mul) else max)(each.degree for each in inner)
        return Extent(nodes, degree, nesting, constant)


def _at_most(largest: int, what: str, found: Any) -> None:
    if abs(found) > largest:
        raise UnfitError(f"found {what.format(cut(str(found)))}; expected at most {largest} in size")


def _check_constant(constant: Basic) -> None:
    """Refuse an irrational constant whose sign is hard to decide, or whose size is beyond a float's imagination."""
    value = constant.evalf(15, maxn=30)
    if not value.is_extended_real:
        raise UnfitError(f"found {cut(str(constant))}, which is not real; expected a finite real expression")
    if not value.is_Float or value._prec <= 1:
        raise UnfitError(f"found {cut(str(constant))}, which cancels to nearly zero; expected it simplified")
    if abs(value) > Integer(2) ** MOST_BITS:
        raise UnfitError(f"found a constant near {value:.3g}; expected at most 2**{MOST_BITS}")
