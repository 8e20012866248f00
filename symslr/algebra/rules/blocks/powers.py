"""Powers of the length n: made from exponentials of log n, cancelled in quotients, and the largest factored out."""

from __future__ import annotations

from typing import final

from sympy import (
    Add,
    And,
    Expr,
    Gt,
    Max,
    Mul,
    Ne,
    Pow,
    S,
    Symbol,
    exp,
    expand,
    expand_power_base,
    factor_terms,
    fraction,
    latex,
    log,
    powsimp,
    together,
)

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.rules.blocks.places import bound_symbols


@final
class PowersOf(Rule):
    """Write exp(r log n) as n**r, for a positive ``size`` n."""

    name = "exponential of a logarithm"
    statement = r"e^{r\log n}=n^{r}"
    conditions = r"$n>0$"

    def __init__(self, size: Symbol) -> None:
        if not size.is_positive:
            raise self.refuse(f"found {size}; expected a positive number")
        self.size = size

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, exp), self._as_power)

    def _as_power(self, node: Expr) -> Expr:
        rate = expand(expand(node.args[0]) / log(self.size))
        return node if rate.has(log(self.size)) else self.size ** factor_terms(rate)


@final
class DivideThrough(Rule):
    """Divide numerator and denominator of a quotient by ``divisor``."""

    name = "divide through"
    statement = r"\frac{x}{y}=\frac{x/v}{y/v}"
    conditions = r"$v\ne0$"

    def __init__(self, divisor: Expr) -> None:
        if divisor.is_zero:
            raise self.refuse("found the divisor 0")
        self.divisor = divisor

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        if self.divisor.is_nonzero:
            return ()
        return (Hypothesis.of(Ne(self.divisor, 0)),)

    def rewrite(self, expr: Expr) -> Expr:
        if bound_symbols(expr) & self.divisor.free_symbols:
            raise self.refuse(f"the divisor {self.divisor} depends on an index, of which nothing is known")
        above, below = fraction(expr, exact=True)
        return _divide(above, self.divisor) / _divide(below, self.divisor)


@final
class CommonFactor(Rule):
    """Cancel the powers that every term of a quotient shares, splitting powers of products of positive numbers."""

    name = "common factor"
    statement = r"\frac{vx}{vy}=\frac{x}{y},\qquad (xy)^r=x^r y^r"
    conditions = r"$x,y\ge0$ where $r$ is not an integer; $v\ne0$, as the quotient exists"

    def rewrite(self, expr: Expr) -> Expr:
        for power in expr.atoms(Pow):
            factors = Mul.make_args(factor_terms(power.base))
            if len(factors) > 1 and not power.exp.is_integer and not all(f.is_nonnegative for f in factors):
                raise self.refuse(f"cannot split {power}: its factors are not known to be positive")
        above, below = fraction(_split_powers(expr))
        quotient = _split_powers(factor_terms(above) / factor_terms(below))
        above, below = fraction(factor_terms(quotient))
        return factor_terms(above) / _shorter(below)


@final
class LargestPower(Rule):
    """Take the largest power of ``size`` out of the logarithm of a sum of powers; what remains is bounded.

    The candidates are the terms with a positive coefficient; the rule gives an identity at every size, not only a limit.

    Args:
        size: n, a number above 1.
        others: numbers t that are powers of it too, t = n^(log t / log n).
    """

    name = "largest power"
    statement = r"\log\sum_i c_i n^{r_i}=r\log n+\log\sum_i c_i n^{r_i-r},\qquad r=\max_{c_i>0}r_i"
    conditions = r"$n>1$; the sum is positive"

    def __init__(self, size: Symbol, *others: Symbol) -> None:
        if not all(s.is_positive for s in (size, *others)):
            raise self.refuse(f"found {size}, {others}; expected positive numbers")
        self.size = size
        self.rates = {size: S.One, **{other: log(other) / log(size) for other in others}}

    def rewrite(self, expr: Expr) -> Expr:
        return expand(expr.replace(self._is_for_it, self._split), deep=False)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        found = [Hypothesis(f"${latex(self.size)}>1$", Gt(self.size, 1))]
        inside = [node.args[0] for node in expr.atoms(log) if self._is_for_it(node)]
        positive = And(*(Gt(total, 0) for total in inside if not total.is_positive))
        if positive != S.true:
            found.append(Hypothesis("positive numbers under the logarithms", positive))
        return tuple(found)

    def _is_for_it(self, node: Expr) -> bool:
        return isinstance(node, log) and node.has(self.size)

    def _split(self, node: Expr) -> Expr:
        if Gt(node.args[0], 0) == S.false:
            raise self.refuse(f"{node.args[0]} is not positive")
        above, below = (factor_terms(part) for part in fraction(together(node.args[0])))
        return self._logarithm(above) - self._logarithm(below)

    def _logarithm(self, total: Expr) -> Expr:
        terms = [self._power(term) for term in Add.make_args(expand(total))]
        positive = [r for factor, r in terms if factor.is_positive]
        if not positive:
            raise self.refuse(f"no term of {total} is known to be positive")
        largest = Max(*positive)
        return largest * log(self.size) + log(Add(*(factor * self.size ** expand(r - largest) for factor, r in terms)))

    def _power(self, term: Expr) -> tuple[Expr, Expr]:
        """(c, r) with term = c n**r."""
        factor, rate = S.One, S.Zero
        for f in Mul.make_args(term):
            base, power = f.as_base_exp()
            if base in self.rates:
                rate += power * self.rates[base]
            else:
                factor *= f
        return factor, rate


def _divide(total: Expr, divisor: Expr) -> Expr:
    return Add(*(_tidy(term / divisor) for term in Add.make_args(total)))


def _tidy(term: Expr) -> Expr:
    return powsimp(term).replace(
        lambda e: isinstance(e, Pow) and e.exp.is_Add, lambda e: e.base ** factor_terms(expand(e.exp))
    )


def _split_powers(expr: Expr) -> Expr:
    """(v x)**r as v**r x**r, with v the common factor of a sum."""
    inside = expr.replace(lambda e: isinstance(e, Pow), lambda e: factor_terms(e.base) ** e.exp)
    return expand_power_base(inside)


def _shorter(total: Expr) -> Expr:
    return min((total, expand(total)), key=lambda e: e.count_ops())
