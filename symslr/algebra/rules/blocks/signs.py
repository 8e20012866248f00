"""Random signs of one neuron: from all 2**d sign vectors to three signs and one binomial."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, Mod, S, Sum, Symbol, binomial, expand, floor
from sympy.core.relational import Relational
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.algebra.rule import Rule
from symslr.algebra.rules.blocks.columns import CLASSES, FIRST_COLUMN, LAST_COLUMN
from symslr.expression.quantity import Quantity

omega = Symbol("omega", integer=True, nonnegative=True)
"""Number of a sign vector, 0..2**d - 1."""
FIRST_SIGN, CLASS_SIGN, LAST_SIGN = (Symbol(f"u_{i}", integer=True, nonnegative=True) for i in (1, 2, 3))
PLUS_SIGNS = Symbol("s", integer=True, nonnegative=True)
"""Plus signs among the n/t - 1 classes other than the row's own."""


@final
class Sign(Quantity):
    """w_k of the sign vector number ``omega``: 1 - 2 (bit k-1 of omega); ``args = (omega, k)``."""

    source = "arXiv 2310.11685, section 6"

    @property
    def bound(self) -> frozenset[Basic]:
        return frozenset()

    @property
    def column(self) -> Expr:
        return self.args[1]

    def definition(self) -> Expr:
        vector, column = self.args
        return 1 - 2 * Mod(floor(vector / 2 ** (column - 1)), 2)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"Sign({', '.join(printer._print(arg) for arg in self.args)})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"w_{{{printer._print(self.column)}}}{power}"


def average_over_signs(body: Expr) -> Expr:
    """2**-d times the sum of ``body`` over all sign vectors, d = n/t + 2."""
    columns = CLASSES + 2
    return Sum(body, (omega, 0, 2**columns - 1)) / 2**columns


@final
class SignBlocks(Rule):
    """Sum over all sign vectors of a body in w_1, w of one class, w_d and the sum of all signs."""

    name = "sign blocks"
    statement = (
        r"\sum_{w\in\{\pm1\}^d}F\Bigl(w_1,w_g,w_d,\sum_k w_k\Bigr)=\sum_{u_1,u_2,u_3\in\{0,1\}}\sum_{s=0}^{n/t-1}"
        r"\binom{n/t-1}{s}F\Bigl(2u_1-1,2u_2-1,2u_3-1,2(u_1+u_2+u_3)-3+2s-\tfrac nt+1\Bigr)"
    )
    conditions = r"$F$ knows the other signs only through $\sum_k w_k$"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Sum) and node.limits[0][0] == omega, self._sum)

    def _sum(self, node: Sum) -> Expr:
        first, group, last = (2 * u - 1 for u in (FIRST_SIGN, CLASS_SIGN, LAST_SIGN))
        total = first + group + last + 2 * PLUS_SIGNS - CLASSES + 1
        body = node.function.replace(lambda e: isinstance(e, Sum) and isinstance(e.function, Sign), lambda e: total)
        places = {sign.column for sign in body.atoms(Sign)} - {FIRST_COLUMN, LAST_COLUMN}
        if len(places) > 1:
            raise self.refuse(f"the body looks at {len(places)} classes, {sorted(map(str, places))}; expected one")
        named = {FIRST_COLUMN: first, LAST_COLUMN: last, **dict.fromkeys(places, group)}
        body = body.replace(lambda e: isinstance(e, Sign), lambda e: named[e.column])
        if body.has(omega):
            raise self.refuse(f"{node.function} depends on the sign vector by more than its signs")
        signs = ((u, 0, 1) for u in (FIRST_SIGN, CLASS_SIGN, LAST_SIGN))
        return Sum(binomial(CLASSES - 1, PLUS_SIGNS) * body, (PLUS_SIGNS, 0, CLASSES - 1), *signs)


@final
class PositiveFactor(Rule):
    """Divide both sides of every inequality by a positive factor."""

    name = "positive factor"
    statement = r"vx>vy\iff x>y"
    conditions = r"$v>0$"

    def __init__(self, factor: Expr) -> None:
        self.factor = factor

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Relational), self._divide)

    def _divide(self, node: Relational) -> Expr:
        sides = (expand(expand(side) / self.factor) for side in node.args)
        return node.func(*sides)


@final
class BinomialTheorem(Rule):
    """Sum a binomial sum whose summand is geometric in the index; from 0, or from 1 by taking one term away."""

    name = "binomial theorem"
    statement = r"\sum_{s=0}^{N}\binom{N}{s}x^s y^{N-s}=(x+y)^N"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Sum), self._sum)

    def _sum(self, node: Sum) -> Expr:
        index, low, high = node.limits[0]
        if len(node.limits) != 1 or low not in (S.Zero, S.One) or not node.function.has(binomial(high, index)):
            return node
        body = expand(node.function / binomial(high, index), power_base=False, mul=False, multinomial=False)
        start = body.subs(index, 0)
        ratio = (body.subs(index, index + 1) / body).simplify()
        if ratio.has(index):
            raise self.refuse(f"{body} is not geometric in {index}")
        base = _root(start, high)
        total = (base + (base * ratio).simplify()) ** high
        return total - (start if low == 1 else 0)


def _root(power: Expr, degree: Expr) -> Expr:
    """b with b**degree = power, for a power or an exponential."""
    base, exponent = power.as_base_exp()
    root = base ** (exponent / degree).simplify()
    return root.simplify()
