"""The certified backend: proved enclosures in ball arithmetic. Every inequality is in docs/proofs.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, floor, log, log2
from time import perf_counter
from typing import Any

from flint import arb, ctx
from mpmath import log10, mpf
from sympy import Abs, Basic, Expr, Function, Integral, Symbol

from symslr.algebra.equal_forms import EqualForms
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.form import grouped, laplace_form
from symslr.evaluation.nodes.node import outermost
from symslr.evaluation.numbers.balls import centre
from symslr.evaluation.numbers.elementary import elementary_ball
from symslr.evaluation.panels.in_balls import BallIntegrals
from symslr.evaluation.panels.lattice import laplace_integral
from symslr.evaluation.panels.line import enclosed_integral
from symslr.evaluation.panels.moments import Moments
from symslr.evaluation.panels.on_lattices import Monomial, normal_form
from symslr.expression.expectation import LengthExpectation, ScalarExpectation
from symslr.expression.value import Kind, Value

BITS_PER_DIGIT = log2(10)
"""Bits in one decimal digit."""
MOST_PRECISION_FACTOR = 4
"""Where digits cancel, the working precision is raised to at most this multiple of the precision asked for."""
METHOD = "Arb: trapezoid rule in log u, Gauss-Legendre panels for tokens, with proved bounds"


def evaluate_arb(expr: Expr, values: Mapping[Basic, Basic], digits: int, *, on_panels: bool = False) -> Value:
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
        on_panels: whether kernels other than exponentials under Gaussian laws may be integrated on Gauss-Legendre panels.

    Raises:
        CannotEvaluate: where no proof is available.
    """
    begin = perf_counter()
    enclosure = _enclosed(expr, frozenset(values.items()), on_panels).enclosure(digits)
    value, error = centred(enclosure, digits)
    correct = digits if error == 0 else correct_digits(value, error)
    return Value(value, error, Kind.CERTIFIED, correct, METHOD, perf_counter() - begin)


def are_on_lattices(expr: Expr, values: Mapping[Basic, Basic]) -> bool:
    """Whether all integrals are those of exponential kernels under Gaussian laws, which need no panels."""
    try:
        return isinstance(_enclosed(expr, frozenset(values.items()), False), Enclosed)
    except CannotEvaluate:
        return False


@lru_cache(maxsize=8)
def _enclosed(expr: Expr, values: frozenset[tuple[Basic, Basic]], on_panels: bool) -> Enclosed:
    return Enclosed(substitute(expr, dict(values)), on_panels)


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


class Enclosed:
    """An expression in numbers, and perhaps symbols whose values are balls, enclosed.

    Args:
        on_panels: whether integrals may be enclosed on panels, as they all are where there are ``symbols``.
    """

    def __init__(self, expr: Expr, on_panels: bool, symbols: tuple[Symbol, ...] = ()) -> None:
        self.expr, self.on_panels, self.bits = expr, on_panels, 0
        self.symbols, self.scope = symbols, dict[Expr, Any]()
        self.forms: dict[Expr, list[Monomial]] = {}
        on_lines = [node for node in outermost(expr, (Integral, ScalarExpectation)) if not self._has_normal_form(node)]
        integrals = [(node, laplace_form(node)) for node in on_lines if isinstance(node, Integral)]
        forms = [(node, form) for node, form in integrals if form is not None]
        self.groups = [
            (Moments(form, self.symbols), [forms[place][0] for place in own])
            for form, own in grouped([form for _, form in forms])
        ]
        self.known: dict[tuple[Expr, int], Any] = {}

    def _has_normal_form(self, node: Expr) -> bool:
        """Whether it is a sum over the functions phi of exponential kernels under Gaussian laws, the fastest to evaluate."""
        if self.symbols:  # the functions phi are for numbers
            return False
        try:
            self.forms[node] = normal_form(node)
        except CannotEvaluate:
            if not self.on_panels:
                raise
            return False
        return all(
            self._has_normal_form(part)
            for term in self.forms[node]
            for part in outermost(term.coefficient, (Integral, ScalarExpectation))
        )

    def at(self, values: Sequence[Any], digits: int) -> Any:
        """The expression at values of its symbols, balls, from integrals to so many digits.

        Raises:
            CannotEvaluate: where no proof is available.
        """
        self.scope, self.known = dict(zip(self.symbols, values)), {}
        self.bits = ceil(digits * BITS_PER_DIGIT) + 6
        with ctx.workprec(self.bits + 30):
            return self.descend(self.expr)

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
        if expr in self.scope:
            return self.scope[expr]
        if expr in self.forms and isinstance(expr, (Integral, ScalarExpectation)):
            return sum((self._term(term, isinstance(expr, Integral)) for term in self.forms[expr]), arb(0))
        if isinstance(expr, (Integral, ScalarExpectation)):
            if (expr, self.bits) not in self.known:
                self._enclose(expr)
            return self.known[expr, self.bits]
        return elementary_ball(expr, self.descend)

    def _term(self, term: Monomial, is_integral: bool) -> Any:
        coefficient = self.descend(term.coefficient)
        if coefficient.is_zero() or not is_integral:
            return coefficient
        return coefficient * laplace_integral(term, self.bits)

    def _enclose(self, expr: Expr) -> None:
        """Enclose an integral, with all that share its kernels, to the precision now wanted."""
        nats = self.bits * log(2)
        for moments, nodes in self.groups:
            if expr in nodes:
                sums = BallIntegrals(moments, list(self.scope.values()), nats).sums(*([1] if self.symbols else []))
                self.known |= {(node, self.bits): value + arb(0, error) for node, (value, error) in zip(nodes, sums)}
                return
        self.known[expr, self.bits] = enclosed_integral(expr, nats, self.scope)


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
