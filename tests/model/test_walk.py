"""A walk over the nodes of an expression meets each of them once."""

from sympy import Sum, exp, symbols

from symslr.model.walk import distinct_nodes

x, y, i, n = symbols("x y i n")


def test_every_node_is_met_once() -> None:
    for expr in (x, exp(exp(x) + y) * exp(x) ** 3 + y, Sum(exp(x * i), (i, 1, n)) + n):
        met = list(distinct_nodes(expr))
        assert met[0] == expr
        assert len(met) == len(set(met))
        assert set(met) == expr.atoms(object)
