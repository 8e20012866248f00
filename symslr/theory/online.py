"""One-pass stochastic gradient descent of a student on a sequence model, as D grows.

A step takes a fresh sample X: w <- w - (gamma/D) (X^T d + lambda w), with w = W/sqrt(D), and d_l the slope of the loss in the
student's fields s_l = W^T x_l/sqrt(D). Time is t = gamma steps/D. The overlaps M = W^T W*/D and Q = W^T W/D then follow

    dM/dt = -E sum_l d_l z_l^T - lambda M,
    dQ/dt = -E sum_l (d_l s_l^T + s_l d_l^T) - 2 lambda Q + gamma E sum_l d_l d_l^T.

The chains are of one direction of the student, one of the teacher and one token. M is linear in what tokens and directions
contribute, and so is the second line in products of two directions: it holds for a matrix Q as it does for every a . Q a. Tokens
are orthogonal as D grows, so that no product of two of them is left.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, final

from sympy import Basic, Expr, Function, Limit, Symbol, oo, sqrt
from sympy.printing.latex import LatexPrinter

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Linearity, TakeLimit, Unfold
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.instance import FIELDS
from symslr.expression.quantity import Quantity
from symslr.model.scalar_law import normal

OVERLAP, LENGTH = Symbol("M", real=True), Symbol("Q", positive=True)
"""w . w* and |w|^2, the teacher's w* being of length 1."""
GAMMA, RIDGE = Symbol("gamma", positive=True), Symbol("lambda", nonnegative=True)
D = Symbol("D", integer=True, positive=True)
Z, ACROSS = Symbol("z", real=True), Symbol("eta", real=True)
"""A token along the teacher, and along what of the student is across it: standard normal."""

STUDENT = OVERLAP * Z + sqrt(LENGTH - OVERLAP**2) * ACROSS
"""s, the student's field."""
SLOPE = Function("d", real=True)(*FIELDS)
"""The slope of the loss in the student's field, at these fields of teacher and student; left open."""


def slope() -> Expr:
    """d at the fields of a token."""
    return SLOPE.subs(dict(zip(FIELDS, (Z, STUDENT))), simultaneous=True)


def over_fields(body: Expr) -> Expr:
    """The mean over the two fields of a token."""
    return ScalarExpectation(ScalarExpectation(body, ACROSS, normal()), Z, normal())


@final
class OnlineStep(Quantity):
    """The mean change of an overlap in one step in dimension D, per unit of time; ``args = (overlap, d)``, of M or of Q.

    In a frame along w*, along what of w is across it, and D - 2 directions outside, the step moves w by -(gamma/D)(x d + lambda w).
    The squares of the entries of x outside, of which d does not know, have the mean D - 2 together.
    """

    source: ClassVar[str] = "saad1995"
    domain: ClassVar[str] = r"$Q>M^2$, $D\geq2$"

    def definition(self) -> Expr:
        overlap, d = self.args
        rate, root = GAMMA / D, sqrt(LENGTH - OVERLAP**2)
        along = OVERLAP - rate * (d * Z + RIDGE * OVERLAP)
        across = root - rate * (d * ACROSS + RIDGE * root)
        after = along if overlap == OVERLAP else along**2 + across**2 + rate**2 * d**2 * (D - 2)
        return over_fields((after - overlap) * D / GAMMA)

    @property
    def free_symbols(self) -> set[Basic]:
        return self.definition().free_symbols

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"\frac{{\Delta {printer._print(self.args[0])}}}{{\Delta t}}"

    def _sympystr(self, printer: object) -> str:
        return f"OnlineStep({self.args[0]})"


@cache
def descent_chain(overlap: Symbol) -> Derivation:
    """dM/dt or dQ/dt of one-pass descent as D grows."""
    return (
        Derivation(Limit(OnlineStep(overlap, slope()), D, oo), name=f"online-{str(overlap).lower()}")
        .apply(Unfold(OnlineStep))
        .apply(Linearity())
        .apply(TakeLimit())
    )
