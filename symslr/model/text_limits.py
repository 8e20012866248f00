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
from dataclasses import dataclass, field, replace
from inspect import CO_GENERATOR
from math import ceil
from types import FrameType
from typing import Any

from sympy import (
    Abs,
    Add,
    Basic,
    E,
    Expr,
    Heaviside,
    Indexed,
    Integer,
    Max,
    Min,
    Mul,
    Piecewise,
    Pow,
    Rational,
    Sum,
    Symbol,
    atan,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    gamma,
    log,
    pi,
    sign,
    sin,
    sinh,
    tanh,
)
from sympy.core.cache import clear_cache
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean, BooleanAtom

LARGEST_EXPONENT = 64
LARGEST_DENOMINATOR = 100
LARGEST_DEGREE = 128
LARGEST_ARGUMENT = 1000
MOST_BITS = 4096
MOST_NODES = 2000
DEEPEST_NESTING = 6
MOST_CALLS = 400_000
"""The heaviest text of the tests takes 260,000. The number moves with the order of terms and with what SymPy remembers."""

_FUNCTIONS = (
    Abs,
    Heaviside,
    Max,
    Min,
    Piecewise,
    atan,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    gamma,
    log,
    sign,
    sin,
    sinh,
    tanh,
)


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


@dataclass(frozen=True, slots=True)
class Extent:
    """Size of a subexpression: tree nodes, polynomial degree, depth of functions inside functions."""

    nodes: int = 1
    degree: int = 1
    nesting: int = 0
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for one text; every distinct subexpression is measured once."""

    _measured: dict[Basic, Extent] = field(default_factory=dict)

    def check(self, expression: Expr) -> Expr:
        """Return the expression, or say which limit it breaks.

        Raises:
            UnfitError: for a result that is too large, not real, not finite, or zero only after cancellation.
        """
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
        """Refuse a function argument with a large constant: SymPy would shift by it or multiply it out."""
        constant = argument if self._measure(argument).constant else argument.as_coeff_Add()[0]
        if abs(constant.evalf(15, maxn=30)) > largest:
            raise UnfitError(f"found a constant beyond {largest} inside; expected at most {largest} in size")
        return argument

    def real(self, argument: Expr) -> Expr:
        """Refuse an argument that may be complex, where abs, sign, max and min mean something else."""
        if argument.is_extended_real is not True:
            raise UnfitError(f"found {_brief(argument)}, which may not be real; expected an argument that always is")
        return argument

    def _check_exponent(self, exponent: Expr) -> None:
        if not exponent.is_Rational:
            self.argument(exponent, LARGEST_EXPONENT)
            self._check_logarithms(exponent)
        elif abs(exponent) > LARGEST_EXPONENT:
            raise UnfitError(f"found the exponent {_brief(exponent)}; expected at most {LARGEST_EXPONENT} in size")
        elif exponent.q > LARGEST_DENOMINATOR:
            raise UnfitError(
                f"found the exponent {_brief(exponent)}; expected a denominator up to {LARGEST_DENOMINATOR}"
            )

    def _check_logarithms(self, exponent: Expr) -> None:
        for product in exponent.atoms(Mul) if exponent.has(log) else ():
            if product.has(log):
                self._check_exponent(product.as_coeff_Mul()[0])

    def _measure(self, part: Basic) -> Extent:
        extent = self._measured.get(part)
        if extent is None:
            extent = self._extent(part)
            if extent.nodes > MOST_NODES:
                raise UnfitError(f"found more than {MOST_NODES} operations; expected a smaller expression")
            if extent.degree > LARGEST_DEGREE:
                raise UnfitError(f"found the degree {_brief(extent.degree)}; expected at most {LARGEST_DEGREE}")
            if extent.nesting > DEEPEST_NESTING:
                raise UnfitError(f"found functions nested {extent.nesting} deep; expected at most {DEEPEST_NESTING}")
            self._measured[part] = extent
        return extent

    def _extent(self, part: Basic) -> Extent:
        if isinstance(part, Rational):
            if int(abs(part.p)).bit_length() + int(part.q).bit_length() > MOST_BITS:
                raise UnfitError(f"found an exact number of more than {MOST_BITS} bits; expected a smaller one")
            return Extent(degree=0, constant=True)
        if part in (pi, E):
            return Extent(constant=True)
        if isinstance(part, Symbol | Indexed | BooleanAtom):
            return Extent()
        if not part.args:
            raise UnfitError(f"found the result {_brief(part)}; expected a finite real expression")
        inner = [self._measure(argument) for argument in (part.args[:1] if isinstance(part, Sum) else part.args)]
        extent = Extent(
            1 + sum(each.nodes for each in inner),
            max(each.degree for each in inner),
            max(each.nesting for each in inner),
            isinstance(part, Expr) and not isinstance(part, Sum) and all(each.constant for each in inner),
        )
        if isinstance(part, Mul):
            extent = replace(extent, degree=sum(each.degree for each in inner))
        elif isinstance(part, Pow) and part.exp.is_Rational:
            if part.exp.q > LARGEST_DENOMINATOR:
                raise UnfitError(
                    f"found the exponent {_brief(part.exp)}; expected a denominator up to {LARGEST_DENOMINATOR}"
                )
            degree = ceil(abs(part.exp)) * inner[0].degree
            extent = replace(extent, degree=degree, nesting=inner[0].nesting + (not part.exp.is_Integer))
        elif isinstance(part, (Pow, *_FUNCTIONS)):
            extent = replace(extent, degree=1, nesting=extent.nesting + 1)
        elif not isinstance(part, Add | Sum | Boolean | ExprCondPair):
            raise UnfitError(f"found the result {_brief(part)}; expected a finite real expression")
        if extent.constant:
            _check_constant(part)
        return extent


def _check_constant(constant: Basic) -> None:
    """Refuse an irrational constant whose sign is hard to decide, or whose size is beyond a float's imagination."""
    value = constant.evalf(15, maxn=30)
    if not value.is_extended_real:
        raise UnfitError(f"found {_brief(constant)}, which is not real; expected a finite real expression")
    if not value.is_Float or value._prec <= 1:
        raise UnfitError(f"found {_brief(constant)}, which cancels to nearly zero; expected it simplified")
    if abs(value) > Integer(2) ** MOST_BITS:
        raise UnfitError(f"found a constant near {value:.3g}; expected at most 2**{MOST_BITS}")


def _brief(found: object) -> str:
    try:
        text = str(found)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 40 else f"{text[:24]}...{text[-8:]}"
