"""The expectation node: E of a body under a law, kept unevaluated until a rule or an evaluator takes it up.

Three laws, one node each: a sequence with one relevant token, one scalar, a random length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from sympy import Add, Basic, Expr, Mul, S
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.binding import bound_subs
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, L


class Expectation(Expr):
    """Abstract: ``args = (body, ...law)``. Deterministic numbers pass through unchanged."""

    is_commutative = True
    is_real = True

    @property
    def body(self) -> Expr:
        return self.args[0]

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.body.is_nonnegative else None

    def with_body(self, body: Expr) -> Expr:
        """The same expectation of another body."""
        return self.func(body, *self.args[1:])

    @property
    def bound(self) -> frozenset[Basic]:
        """Symbols that the expectation integrates out."""
        raise NotImplementedError

    @property
    def subscript(self) -> str:
        """What the expectation is over, as it is typed behind E; empty where nothing is said."""
        raise NotImplementedError

    def below(self, printer: LatexPrinter) -> str:
        """The same in LaTeX."""
        return self.subscript

    def _sympystr(self, printer: StrPrinter) -> str:
        sign = f"E_{self.subscript}" if self.subscript else "E"
        return f"{sign}[{printer._print(self.body)}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        below, power = self.below(printer), "" if exp is None else f"^{{{exp}}}"
        sign = r"\mathbb{E}" + (f"_{{{below}}}" if below else "")
        return rf"{sign}\left[{printer._print(self.body)}\right]{power}"

    @property
    def free_symbols(self) -> set[Basic]:
        law = {s for arg in self.args[1:] for s in arg.free_symbols}
        return {s for s in (self.body.free_symbols | law) - self.bound if s.is_Symbol}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return bound_subs(self, self.bound, old, new)

    def _eval_derivative(self, symbol: Basic) -> Expr:
        law = {s for arg in self.args[1:] for s in arg.free_symbols}
        if symbol in law - self.bound:
            return None
        return self.with_body(self.body.diff(symbol))


def _summands(expr: Expr) -> list[Expr]:
    """The terms of a sum, or of a product with a sum as a factor; denominators are left as they are."""
    total = next((factor for factor in Mul.make_args(expr) if factor.is_Add), None)
    if total is None:
        return [expr]
    rest = Mul(*(factor for factor in Mul.make_args(expr) if factor is not total))
    return [part for term in total.args for part in _summands(rest * term)]


@final
class SequenceExpectation(Expectation):
    """E_g[body]: body in chi, z, xi, epsilon under a ``SequenceLaw``; chi[j], chi[k] are distinct other tokens."""

    def __new__(cls, body: Expr, law: SequenceLaw) -> Expr:
        body = exact(body, "body")
        return body if body.is_number else super().__new__(cls, body, law)

    @property
    def law(self) -> SequenceLaw:
        return self.args[1]

    @property
    def bound(self) -> frozenset[Basic]:
        return BOUND_IN_SEQUENCE

    @property
    def subscript(self) -> str:
        """0 for the unweighted law, g for a reweighted one."""
        return "0" if self.law.weight == S.One else "g"


@final
class ScalarExpectation(Expectation):
    """E[body] over one real ``variable`` with a ``ScalarLaw``."""

    def __new__(cls, body: Expr, variable: Expr, law: ScalarLaw) -> Expr:
        body = exact(body, "body")
        return body if body.is_number else super().__new__(cls, body, variable, law)

    @property
    def variable(self) -> Expr:
        return self.args[1]

    @property
    def law(self) -> ScalarLaw:
        return self.args[2]

    @property
    def bound(self) -> frozenset[Basic]:
        return frozenset({self.variable})

    @property
    def subscript(self) -> str:
        return str(self.variable)

    def _eval_derivative(self, symbol: Basic) -> Expr | None:
        """Of a sum term by term, with what does not depend on the token in front: so it is a sum over means of one product."""
        if super()._eval_derivative(symbol) is None:
            return None
        terms = (term.as_independent(self.variable, as_Add=False) for term in _summands(self.body.diff(symbol)))
        return Add(*(outside * self.with_body(inside) for outside, inside in terms))

    def below(self, printer: LatexPrinter) -> str:
        return str(printer._print(self.variable))


@final
class LengthExpectation(Expectation):
    """E_L[body]: ``law`` is a ``LengthLaw``, or the symbol ``P_L`` for a law left open (given in ``values`` later)."""

    def __new__(cls, body: Expr, law: LengthLaw | Basic) -> Expr:
        body = exact(body, "body")
        return body if body.is_number else super().__new__(cls, body, law)

    @property
    def law(self) -> LengthLaw | Basic:
        return self.args[1]

    @property
    def bound(self) -> frozenset[Basic]:
        return frozenset({L})

    @property
    def subscript(self) -> str:
        return "L"

    def formula(self) -> Expr:
        """The mean over lengths of the formula of what is averaged."""
        return LengthExpectation(self.body.doit(), self.law)

    def doit(self, **hints: object) -> Expr:
        """The finite sum sum_l P(l) body(l); unchanged while the law is open."""
        if not isinstance(self.law, LengthLaw):
            return self
        return sum((p * self.body.subs(L, length) for length, p in self.law), S.Zero)


def rewrite_expectations(expr: Expr, rewrite: Callable[[Any], Expr], kind: type = Expectation) -> Expr:
    """``expr`` with every expectation of ``kind`` rewritten, innermost first."""
    if not expr.args or not expr.has(Expectation):
        return expr
    expr = expr.func(*(rewrite_expectations(arg, rewrite, kind) for arg in expr.args))
    return rewrite(expr) if isinstance(expr, kind) else expr
