"""Change of the variable of an integral."""

from __future__ import annotations

from typing import final

from sympy import Abs, Add, Expr, Integral, Mul, Symbol, exp, expand, limit, log, oo, sign

from symslr.algebra.bodies import at_token
from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation


@final
class Substitute(Rule):
    """Put v = f(y) into every integral over the range of f.

    Exponentials of y that come before the power of an expectation go into it, where the large ones meet the small ones.

    Args:
        function: f(y), monotone.
        variable: y.
        lower, upper: the ends of y.
    """

    name = "substitution"
    statement = r"\int_{f(a)}^{f(b)} h(v)\,\mathrm{d}v = \int_a^b h(f(y))\,f'(y)\,\mathrm{d}y"
    conditions = r"$f$ is differentiable and strictly monotone"

    def __init__(self, function: Expr, variable: Symbol, lower: Expr = -oo, upper: Expr = oo) -> None:
        self.function, self.variable, self.ends = function, variable, (lower, upper)

    def rewrite(self, expr: Expr) -> Expr:
        slope = self.function.diff(self.variable)
        if not (slope.is_positive or slope.is_negative):
            raise self.refuse(f"{self.function} is not known to be strictly monotone in {self.variable}")
        if self.variable in expr.free_symbols:
            raise self.refuse(f"{self.variable} has a meaning already in {expr}")
        low, high = (limit(self.function, self.variable, end, side) for end, side in zip(self.ends, "+-"))
        image = (low, high)[:: int(sign(slope))]

        def put_in(node: Integral) -> Expr:
            if len(node.limits) != 1 or tuple(node.limits[0][1:]) != image:
                return node
            body = at_token(node.function, node.variables[0], self.function, self) * Abs(slope)
            return Integral(_taken_inside(with_exponents_expanded(body)), (self.variable, *self.ends))

        return expr.replace(lambda node: isinstance(node, Integral), put_in)


def _taken_inside(product: Expr) -> Expr:
    """e^a E[h]^p = E[e^{a/p} h]^p for the first whole power of an expectation in a product."""
    factors = list(Mul.make_args(product))
    outside = next((f for f in factors if isinstance(f, exp)), None)
    powers = [f for f in factors if isinstance(f.as_base_exp()[0], ScalarExpectation) and f.as_base_exp()[1].is_Integer]
    if outside is None or not powers:
        return product
    node, power = powers[0].as_base_exp()
    if outside.free_symbols & node.bound:
        return product
    factor = exp(expand(outside.exp / power))
    inside = node.with_body(with_exponents_expanded(factor * node.body)) ** power
    return Mul(inside, *(f for f in factors if f not in (outside, powers[0])))


def with_exponents_expanded(expr: Expr) -> Expr:
    """``expr`` with one exponential in every product, its exponent multiplied out, so that equal ones compare equal."""
    if not expr.has(exp):
        return expr
    expr = expr.func(*(with_exponents_expanded(arg) if isinstance(arg, Expr) else arg for arg in expr.args))
    if isinstance(expr, exp):
        return exp(expand(expr.exp, power_exp=False))
    if not isinstance(expr, Mul):
        return expr
    plain = [factor for factor in expr.args if isinstance(factor, exp) and not factor.exp.has(exp)]
    rest = Mul(*(factor for factor in expr.args if factor not in plain))
    return Mul(rest, exp(Add(*(factor.exp for factor in plain))))


def exponentials_split(expr: Expr) -> Expr:
    """A product with one exponential for each term of an exponent; e^{a log v} is v^a."""
    return Mul(
        *(
            part
            for factor in Mul.make_args(expr)
            for part in (map(_power, Add.make_args(factor.exp)) if isinstance(factor, exp) else (factor,))
        )
    )


def _power(exponent: Expr) -> Expr:
    """e^exponent, which is v^a where the exponent is a log v with v > 0."""
    for factor in Mul.make_args(exponent):
        if isinstance(factor, log) and factor.args[0].is_positive:
            return factor.args[0] ** (exponent / factor)
    return exp(exponent)
