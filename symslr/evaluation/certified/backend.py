"""The certified backend: proved enclosures in ball arithmetic. Every inequality is in docs/proofs.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import ceil, floor, log2
from time import perf_counter
from typing import TYPE_CHECKING, Any

from flint import arb, ctx
from mpmath import log10, mpf
from sympy import Abs, Basic, Expr, Function, Integral

from symslr.algebra.equal_forms import EqualForms
from symslr.evaluation.certified.exponential import laplace_integral
from symslr.evaluation.certified.normal_form import (
    LineToken,
    Monomial,
    TokenTerms,
    line_terms,
    normal_forms,
    token_terms,
)
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.balls import centre
from symslr.evaluation.numbers.elementary import elementary_ball
from symslr.expression.expectation import Expectation, LengthExpectation, ScalarExpectation
from symslr.expression.folded import Minimum
from symslr.expression.value import Kind, Value

if TYPE_CHECKING:
    from symslr.evaluation.certified.analytic.transform import Lines

BITS_PER_DIGIT = log2(10)
"""Bits in one decimal digit."""
MOST_PRECISION_FACTOR = 4
"""Where digits cancel, the working precision is raised to at most this multiple of the precision asked for."""
METHOD = "Arb: trapezoid rules in log u and on the line with proved bounds"


def evaluate_arb(expr: Expr, values: Mapping[Basic, Basic], digits: int, *, on_lines: bool = False) -> Value:
    """A proved enclosure of ``expr``: |true - value| <= error.

    Covers sums, products, quotients and elementary functions of parameters, one-token expectations of analytic
    functions, and Laplace integrals over one or two variables u in (0, oo) of products of powers of u, exp(-u o) and
    one-token expectations of f(x) exp(-u K(x)), f >= 0 and K > 0 analytic, under laws with an analytic density, to any
    integer power.

    Args:
        expr: in canonical form (``symslr.evaluation.plan``).
        values: exact SymPy numbers (and a ``LengthLaw`` for an open law of the length), one per free symbol.
        digits: significant digits asked for. Where cancellation or an exact zero keeps them out of reach at
            four times the precision, the enclosure is still true and ``digits`` of the result is smaller.
        on_lines: whether kernels other than exponentials under Gaussian laws may be integrated by quadrature on the real line.

    Raises:
        CannotEvaluate: where no proof is available.
    """
    begin = perf_counter()
    ways = (token_terms, line_terms) if on_lines else (token_terms,)
    enclosure = _Certified(substitute(expr, values), ways).enclosure(digits)
    value, error = centred(enclosure, digits)
    correct = digits if error == 0 else correct_digits(value, error)
    return Value(value, error, Kind.CERTIFIED, correct, METHOD, perf_counter() - begin)


class Modulus(Function):
    """|z| in place of SymPy's ``Abs``, which would integrate z numerically to find its sign."""

    nargs = 1
    is_nonnegative = True


def substitute(expr: Expr, values: Mapping[Basic, Basic]) -> Expr:
    """``expr`` with numbers for its symbols; of several equal forms (``EqualForms``) the first.

    Raises:
        CannotEvaluate: for an open law of the length, or an infinite number.
    """
    laws = {symbol: value for symbol, value in values.items() if not isinstance(value, Expr)}
    numbers = {symbol: value for symbol, value in values.items() if isinstance(value, Expr)}
    open_sums = expr.xreplace(laws).replace(LengthExpectation, lambda body, law: LengthExpectation(body, law).doit())
    if open_sums.has(LengthExpectation):
        raise CannotEvaluate("certified: the law of the length is open; give P_L in values")
    of_integrals = open_sums.replace(
        lambda node: isinstance(node, Abs) and node.has(Integral, ScalarExpectation), lambda node: Modulus(node.args[0])
    )
    result = of_integrals.xreplace(numbers).replace(EqualForms, lambda first, *_: first)
    infinite = [value for value in numbers.values() if not value.is_finite]
    if infinite:
        raise CannotEvaluate(f"certified: found the value {infinite[0]}; expected finite numbers")
    return result


class _Certified:
    """An expression without free symbols; the normal forms of its integrals are computed once and used at every precision."""

    def __init__(self, expr: Expr, ways: tuple[TokenTerms, ...]) -> None:
        self.expr = expr
        self.bits = 0
        self.forms = normal_forms(expr, ways)

    @cached_property
    def lines(self) -> Lines:
        """The line integrals of all normal forms; imported on first use, as exponential kernels do not need them."""
        from symslr.evaluation.certified.analytic.transform import Lines

        return Lines([term for terms in self.forms.values() for term in terms])

    def enclosure(self, digits: int) -> Any:
        """Raise the precision until the relative radius is below 10^-digits."""
        wanted = ceil(digits * BITS_PER_DIGIT) + 2
        self.bits = wanted + 4
        while True:
            with ctx.workprec(self.bits + 30):
                enclosure = self.descend(self.expr)
            if not enclosure.is_finite():
                raise CannotEvaluate(
                    "certified: found a division by an enclosure of zero or a value outside a domain, so no proof; "
                    "expected a smaller scale or signal, or no --certified for an estimate"
                )
            missing = 0 if enclosure.is_zero() else wanted - enclosure.rel_accuracy_bits()
            if missing <= 0 or self.bits >= MOST_PRECISION_FACTOR * wanted:
                return enclosure
            self.bits = min(self.bits + missing + 10, 2 * self.bits)

    def descend(self, expr: Expr) -> Any:
        if isinstance(expr, Integral):
            return self._laplace(expr)
        if isinstance(expr, ScalarExpectation):
            return sum((self._free(term) for term in self.forms[expr]), arb(0))
        if isinstance(expr, Minimum):
            raise CannotEvaluate(
                "certified: no proof is available here for a minimum that is searched; give the scale (--scale), or ask "
                "least_risk for an interval"
            )
        if isinstance(expr, Expectation):
            raise CannotEvaluate(f"certified: found {expr}, which is no expectation of a single token; reduce it first")
        return elementary_ball(expr, self.descend)

    def _free(self, term: Monomial) -> Any:
        """The value of a term without u."""
        value = self.descend(term.coefficient)
        for token, n in term.tokens.items():
            value *= self.lines.value(token, self.bits) ** n
        return value

    def _laplace(self, expr: Expr) -> Any:
        total = arb(0)
        for term in self.forms[expr]:
            coefficient = self.descend(term.coefficient)
            if not coefficient.is_zero():
                on_lines = any(isinstance(token, LineToken) for token in term.tokens)
                integral = self.lines.integral if on_lines else laplace_integral
                total += coefficient * integral(term, self.bits)
        return total


def centred(enclosure: Any, digits: int) -> tuple[mpf, mpf]:
    """(value, error): the midpoint rounded to about ``digits`` + 5 digits, and a bound of its distance to every point of the
    enclosure.
    """
    with ctx.workprec(ceil((digits + 5) * BITS_PER_DIGIT)):
        middle = (+enclosure).mid()
    with ctx.workprec(64):
        error = (arb(enclosure) - middle).abs_upper()
    return centre(middle), centre(error)


def correct_digits(value: mpf, error: mpf) -> int:
    """The largest n with error <= 10^-n |value| / 2."""
    return max(0, floor(log10(abs(value) / (2 * error)))) if value else 0
