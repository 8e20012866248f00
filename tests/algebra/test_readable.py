"""Relations in their shortest form say the same as the relation."""

from __future__ import annotations

import pytest
from sympy import Eq, Ne, S, log, sqrt, symbols
from sympy.logic.boolalg import Boolean

from symslr.algebra.readable import readable

L, n, t = symbols("L n t", integer=True, positive=True)
beta, m, q, theta = symbols("beta m q theta", real=True)
w = symbols("w", real=True, nonzero=True)


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        (L**2 * (L - 1) > 0, "L > 1"),
        (L - 2 >= 0, r"L \geq 2"),
        (sqrt(log(n)) > 0, "n > 1"),
        (n / t > 1, "n > t"),
        (1 - theta > 0, r"\theta < 1"),
        (-theta >= 0, r"\theta \leq 0"),
        (Ne(beta * sqrt(log(n)), 0), r"\beta \neq 0,\; n \neq 1"),
        (Ne(m**2 + theta**2 - q, 0), r"q \neq m^{2} + \theta^{2}"),
        (Ne(m**2 + theta**2 - 2 * beta * q, 0), r"2 \beta q \neq m^{2} + \theta^{2}"),
        (t <= n, r"t \leq n"),
        # the sign of these factors is open, so the relation stays
        (beta * theta > 0, r"\beta \theta > 0"),
        (1 / theta > 0, r"\frac{1}{\theta} > 0"),
        (w * theta > 0, r"\theta w > 0"),
        (Eq(2 * n, t), "2 n = t"),
        (log(theta) > 0, r"\log{\left(\theta \right)} > 0"),
    ],
)
def test_the_shortest_form_of_a_relation(relation: Boolean, said: str) -> None:
    assert readable(relation) == said


def test_what_is_no_relation_is_printed_as_it_is() -> None:
    assert readable(S.true) == r"\text{True}"
