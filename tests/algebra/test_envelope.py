"""The envelope theorem: derivatives of minima against the derivative of the minimum."""

import pytest
from sympy import Derivative, Symbol, simplify

from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import Envelope, Minimise
from symslr.expression.folded import Minimum

t, u = Symbol("t", real=True), Symbol("u", real=True)
a, b = Symbol("a", positive=True), Symbol("b", positive=True)


@pytest.mark.parametrize("parameter", [a, b, u])
def test_the_slope_of_a_minimum(parameter):
    node = Minimum(a * (t - u) ** 2 + b * t**2, t)
    direct = Minimise().rewrite(node).diff(parameter)
    assert simplify(Envelope().rewrite(Derivative(node, parameter)) - direct) == 0


def test_it_refuses_second_derivatives_and_minima_at_infinity():
    node = Minimum(a * (t - u) ** 2, t)
    with pytest.raises(RuleRefused, match="no first derivative"):
        Envelope().rewrite(Derivative(node, a, a))
    with pytest.raises(RuleRefused, match="only approached"):
        Envelope().rewrite(Derivative(Minimum(a / (1 + t**2), t), a))
